package fs_test

import (
	"errors"
	"io"
	"path"
	"slices"
	"testing"

	"github.com/weir-stream/weir/internal/fs"
)

// forms are the file systems that the conformance tests run on, each with the directory to work in.
func forms(t *testing.T) map[string]struct {
	fsys fs.FS
	dir  string
} {
	mem := fs.NewMem(nil)
	wrapped := fs.NewMem(nil)
	for _, m := range []*fs.Mem{mem, wrapped} {
		must(t, m.MkdirAll("/base"))
	}
	return map[string]struct {
		fsys fs.FS
		dir  string
	}{
		"real":   {fs.Real{}, t.TempDir()},
		"mem":    {mem, "/base"},
		"faulty": {fs.NewFaulty(wrapped, func(fs.Op) error { return nil }), "/base"},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, fsys fs.FS, name, text string) {
	t.Helper()
	f, err := fsys.Create(name)
	must(t, err)
	_, err = io.WriteString(f, text)
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
}

func mustRead(t *testing.T, fsys fs.FS, name string) string {
	t.Helper()
	b, err := fs.ReadFile(fsys, name)
	must(t, err)
	return string(b)
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func TestConformance(t *testing.T) {
	for name, form := range forms(t) {
		t.Run(name, func(t *testing.T) {
			t.Run("files", func(t *testing.T) { conformFiles(t, form.fsys, path.Join(form.dir, "files")) })
			t.Run("names", func(t *testing.T) { conformNames(t, form.fsys, path.Join(form.dir, "names")) })
			t.Run("glob", func(t *testing.T) { conformGlob(t, form.fsys, path.Join(form.dir, "glob")) })
			t.Run("write file", func(t *testing.T) { conformWriteFile(t, form.fsys, path.Join(form.dir, "whole")) })
		})
	}
}

func conformFiles(t *testing.T, fsys fs.FS, dir string) {
	must(t, fsys.MkdirAll(dir))
	name := dir + "/a"
	f, err := fsys.Create(name)
	must(t, err)
	_, err = io.WriteString(f, "0123456789")
	must(t, err)
	at, err := f.Seek(-4, io.SeekEnd)
	must(t, err)
	if at != 6 {
		t.Errorf("Seek = %d, want 6", at)
	}
	_, err = io.WriteString(f, "six")
	must(t, err)
	part := make([]byte, 4)
	if n, err := f.ReadAt(part, 8); n != 2 || err != io.EOF || string(part[:n]) != "x9" {
		t.Errorf("ReadAt across the end = %q, %v", part[:n], err)
	}
	_, err = f.Seek(12, io.SeekStart)
	must(t, err)
	_, err = io.WriteString(f, "!")
	must(t, err)
	info, err := f.Stat()
	must(t, err)
	if info.Size() != 13 || info.IsDir() || info.Name() != "a" {
		t.Errorf("Stat: %d bytes, dir %v, name %q", info.Size(), info.IsDir(), info.Name())
	}
	must(t, f.Close())
	wantErr(t, "second Close", f.Close(), fs.ErrClosed)
	_, err = f.Write([]byte("x"))
	wantErr(t, "Write after Close", err, fs.ErrClosed)
	if got, want := mustRead(t, fsys, name), "012345six9\x00\x00!"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	a, err := fsys.OpenAppend(name)
	must(t, err)
	_, err = io.WriteString(a, "+")
	must(t, err)
	must(t, a.Close())
	if got, want := mustRead(t, fsys, name), "012345six9\x00\x00!+"; got != want {
		t.Errorf("after append: %q, want %q", got, want)
	}
	open, err := fsys.Open(name)
	must(t, err)
	if _, err := open.Write([]byte("x")); err == nil {
		t.Error("Write to a file opened for reading succeeded")
	}
	must(t, fsys.Remove(name))
	if rest, err := io.ReadAll(open); err != nil || len(rest) != 14 {
		t.Errorf("reading a removed file: %d bytes, %v", len(rest), err)
	}
	must(t, open.Close())
}

func conformNames(t *testing.T, fsys fs.FS, dir string) {
	must(t, fsys.MkdirAll(dir+"/sub/deep"))
	must(t, fsys.MkdirAll(dir+"/sub")) // again is no error
	_, err := fsys.Open(dir + "/none")
	wantErr(t, "Open", err, fs.ErrNotExist)
	_, err = fsys.Create(dir + "/no/dir")
	wantErr(t, "Create without a directory", err, fs.ErrNotExist)
	_, err = fsys.Stat(dir + "/none")
	wantErr(t, "Stat", err, fs.ErrNotExist)
	wantErr(t, "Remove", fsys.Remove(dir+"/none"), fs.ErrNotExist)
	wantErr(t, "Rename", fsys.Rename(dir+"/none", dir+"/x"), fs.ErrNotExist)
	if fsys.Remove(dir+"/sub") == nil {
		t.Error("a directory that is not empty was removed")
	}
	if _, err := fsys.Create(dir + "/sub"); err == nil {
		t.Error("a directory was opened for writing")
	}
	if fsys.Rename(dir+"/sub", dir+"/sub/deep/into") == nil {
		t.Error("a directory was moved into itself")
	}
	mustWrite(t, fsys, dir+"/b", "new")
	mustWrite(t, fsys, dir+"/a", "old")
	if fsys.MkdirAll(dir+"/a/below") == nil {
		t.Error("a directory was made below a file")
	}
	if fsys.Rename(dir+"/b", dir+"/sub") == nil {
		t.Error("a file replaced a directory")
	}
	must(t, fsys.Rename(dir+"/b", dir+"/a"))
	if got := mustRead(t, fsys, dir+"/a"); got != "new" {
		t.Errorf("after Rename over it: %q", got)
	}
	must(t, fsys.SyncDir(dir))
	entries, err := fsys.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name()+"/")
		} else {
			names = append(names, e.Name())
		}
	}
	if want := []string{"a", "sub/"}; !slices.Equal(names, want) {
		t.Errorf("ReadDir = %q, want %q", names, want)
	}
	must(t, fs.RemoveAll(fsys, dir))
	must(t, fs.RemoveAll(fsys, dir))
	_, err = fsys.Stat(dir)
	wantErr(t, "Stat after RemoveAll", err, fs.ErrNotExist)
}

func conformGlob(t *testing.T, fsys fs.FS, dir string) {
	must(t, fsys.MkdirAll(dir+"/2013/01"))
	must(t, fsys.MkdirAll(dir+"/2014"))
	for _, name := range []string{"top.csv", "2013/a.csv", "2013/01/b.csv", "2013/01/c.json", "2014/d.csv"} {
		mustWrite(t, fsys, dir+"/"+name, "")
	}
	for pattern, want := range map[string][]string{
		"*.csv":      {"top.csv"},
		"*/*.csv":    {"2013/a.csv", "2014/d.csv"},
		"**/*.csv":   {"2013/01/b.csv", "2013/a.csv", "2014/d.csv", "top.csv"},
		"201[3]/**":  {"2013", "2013/01"},
		"2013/?.csv": {"2013/a.csv"},
		"top.csv":    {"top.csv"},
		"none/*.csv": nil,
		"top.csv/*":  nil,
	} {
		got, err := fs.Glob(fsys, dir+"/"+pattern)
		must(t, err)
		for i := range got {
			got[i] = got[i][len(dir)+1:]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
	_, err := fs.Glob(fsys, dir+"/[")
	wantErr(t, "malformed pattern", err, path.ErrBadPattern)
}

func conformWriteFile(t *testing.T, fsys fs.FS, dir string) {
	must(t, fsys.MkdirAll(dir))
	must(t, fs.WriteFile(fsys, dir+"/a", []byte("one")))
	must(t, fs.WriteFile(fsys, dir+"/a", []byte("two")))
	if got := mustRead(t, fsys, dir+"/a"); got != "two" {
		t.Errorf("got %q", got)
	}
	if entries, err := fsys.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v: the temporary file is left", len(entries), err)
	}
}

func TestCrashKeepsOnlyWhatWasSynced(t *testing.T) {
	m := fs.NewMem(nil)
	must(t, m.MkdirAll("d"))
	mustWrite(t, m, "d/kept", "durable")
	must(t, m.SyncDir("d"))
	mustWrite(t, m, "d/name-not-synced", "x")
	f, err := m.OpenAppend("d/kept")
	must(t, err)
	_, err = io.WriteString(f, " and not")
	must(t, err)
	must(t, m.Rename("d/kept", "d/renamed"))

	crashed := m.CrashClone()
	if got := mustRead(t, crashed, "d/kept"); got != "durable" {
		t.Errorf("got %q", got)
	}
	if entries, err := crashed.ReadDir("d"); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v; want only kept", len(entries), err)
	}
	if got := mustRead(t, m, "d/renamed"); got != "durable and not" {
		t.Errorf("the original changed: %q", got)
	}
}

// Whatever single operation fails or is torn, WriteFile leaves the old bytes or the new, also after a crash.
func TestWriteFileIsAtomicUnderFaults(t *testing.T) {
	for failAt := int64(1); ; failAt++ {
		mem := fs.NewMem(nil)
		must(t, fs.WriteFile(mem, "a", []byte("old bytes")))
		hit := false
		faulty := fs.NewFaulty(mem, func(op fs.Op) error {
			if op.N != failAt {
				return nil
			}
			hit = true
			if op.Kind == fs.OpWrite {
				return &fs.Torn{Bytes: 3}
			}
			return fs.ErrInjected
		})
		err := fs.WriteFile(faulty, "a", []byte("new bytes"))
		if !hit {
			must(t, err)
			if failAt != 7 {
				t.Errorf("WriteFile does %d operations, want 6", failAt-1)
			}
			return
		}
		wantErr(t, "WriteFile", err, fs.ErrInjected)
		for _, m := range []*fs.Mem{mem, mem.CrashClone()} {
			if got := mustRead(t, m, "a"); got != "old bytes" && got != "new bytes" {
				t.Errorf("fault %d leaves %q", failAt, got)
			}
		}
	}
}

func TestFaultyTracesTheOrderOfPublishing(t *testing.T) {
	var trace []string
	f := fs.NewFaulty(fs.NewMem(nil), func(op fs.Op) error {
		trace = append(trace, op.String())
		return nil
	})
	must(t, fs.WriteFile(f, "d", []byte("x")))
	want := []string{"create d.tmp", "write d.tmp", "sync d.tmp", "close d.tmp", "rename d.tmp -> d", "sync-dir ."}
	if !slices.Equal(trace, want) {
		t.Errorf("got %q, want %q", trace, want)
	}
}

// POSIX, rename: if both names are links to one file, nothing is done.
func TestRenameOverAnotherNameOfTheFile(t *testing.T) {
	for name, f := range forms(t) {
		t.Run(name, func(t *testing.T) {
			a, b := path.Join(f.dir, "one"), path.Join(f.dir, "other")
			w, err := f.fsys.Create(a)
			must(t, err)
			must(t, w.Close())
			must(t, f.fsys.Link(a, b))
			must(t, f.fsys.Rename(a, b))
			for _, n := range []string{a, b} {
				if _, err := f.fsys.Stat(n); err != nil {
					t.Errorf("%s is gone: %v", n, err)
				}
			}
		})
	}
}
