package fs_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/fs"
)

// The law: whatever is done, Mem answers as the operating system does: the same bytes, the same names, and an error
// where there is one, of the same kind if it is one that callers ask for.
func TestMemAgreesWithTheOperatingSystem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "agree")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		pair := [2]*walker{
			{fsys: fs.Real{}, dir: dir, open: map[int]fs.File{}},
			{fsys: fs.NewMem(nil), dir: "/", open: map[int]fs.File{}},
		}
		defer pair[0].closeAll()
		names := rapid.SampledFrom([]string{"a", "b", "d", "d/a", "d/e", "d/e/f", "a/x", ".", "d/../b"})
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			s := step{
				op:   rapid.SampledFrom(stepOps).Draw(t, "op"),
				name: names.Draw(t, "name"),
				to:   names.Draw(t, "to"),
				file: rapid.IntRange(0, 2).Draw(t, "file"),
				n:    rapid.IntRange(0, 9).Draw(t, "n"),
			}
			want, got := pair[0].do(s), pair[1].do(s)
			if want != got {
				t.Fatalf("step %d %+v:\nsystem %s\nmem    %s", i, s, want, got)
			}
		}
		if want, got := pair[0].tree("."), pair[1].tree("."); want != got {
			t.Fatalf("trees differ:\nsystem %s\nmem    %s", want, got)
		}
	})
}

var stepOps = []string{"open", "create", "append", "write", "write", "read", "readat", "seek", "close", "stat", "size",
	"rename", "rename", "link", "remove", "mkdir", "mkdir", "list", "syncdir"}

// step is one thing to do. file numbers one of the files that are held open.
type step struct {
	op, name, to string
	file, n      int
}

// walker does steps on one file system and tells the outcome as a text that both must agree on.
type walker struct {
	fsys fs.FS
	dir  string
	open map[int]fs.File
}

func (w *walker) at(name string) string { return path.Join(w.dir, name) }

func (w *walker) closeAll() {
	for _, f := range w.open {
		f.Close()
	}
}

func (w *walker) do(s step) string {
	switch s.op {
	case "open", "create", "append":
		return w.openFile(s)
	case "rename":
		if s.name == "." || s.to == "." {
			return "left out: Mem's is the root"
		}
		return kind(w.fsys.Rename(w.at(s.name), w.at(s.to)))
	case "link":
		if s.name == "." || s.to == "." {
			return "left out: Mem's is the root"
		}
		err := w.fsys.Link(w.at(s.name), w.at(s.to))
		return fmt.Sprint(kind(err), errors.Is(err, fs.ErrExist))
	case "remove":
		if path.Clean(s.name) == "." {
			return "left out: Mem's is the root"
		}
		return kind(w.fsys.Remove(w.at(s.name)))
	case "mkdir":
		return kind(w.fsys.MkdirAll(w.at(s.name)))
	case "stat":
		info, err := w.fsys.Stat(w.at(s.name))
		if err != nil {
			return kind(err)
		}
		return describe(info)
	case "list":
		entries, err := w.fsys.ReadDir(w.at(s.name))
		names := make([]string, 0, len(entries))
		for _, e := range entries {
			names = append(names, fmt.Sprint(e.Name(), e.IsDir()))
		}
		return fmt.Sprint(names, kind(err))
	case "syncdir":
		if info, err := w.fsys.Stat(w.at(s.name)); err == nil && !info.IsDir() {
			return "left out: the system lets a file be synced as a directory"
		}
		return kind(w.fsys.SyncDir(w.at(s.name)))
	}
	f := w.open[s.file]
	if f == nil {
		return "no file"
	}
	return w.useFile(f, s)
}

func (w *walker) openFile(s step) string {
	open := map[string]func(string) (fs.File, error){"open": w.fsys.Open, "create": w.fsys.Create, "append": w.fsys.OpenAppend}
	f, err := open[s.op](w.at(s.name))
	if err != nil {
		return kind(err)
	}
	if old := w.open[s.file]; old != nil {
		old.Close()
	}
	w.open[s.file] = f
	return "opened"
}

func (w *walker) useFile(f fs.File, s step) string {
	info, err := f.Stat()
	if err == nil && info.IsDir() && s.op != "close" {
		return "a directory"
	}
	switch s.op {
	case "write":
		n, err := f.Write([]byte(strings.Repeat("x", s.n)))
		return fmt.Sprint(n, kind(err))
	case "read":
		b := make([]byte, s.n)
		n, err := io.ReadFull(f, b)
		return fmt.Sprintf("%q %s", b[:n], kind(err))
	case "readat":
		b := make([]byte, 3)
		n, err := f.ReadAt(b, int64(s.n))
		return fmt.Sprintf("%q %s", b[:n], kind(err))
	case "seek":
		at, err := f.Seek(int64(s.n-4), s.n%3)
		return fmt.Sprint(at, kind(err))
	case "size":
		if err != nil {
			return kind(err)
		}
		return fmt.Sprint(info.Size())
	case "close":
		return kind(f.Close())
	}
	return ""
}

// tree is all that is there, with its bytes.
func (w *walker) tree(name string) string {
	info, err := w.fsys.Stat(w.at(name))
	if err != nil {
		return kind(err)
	}
	if !info.IsDir() {
		b, err := fs.ReadFile(w.fsys, w.at(name))
		return fmt.Sprintf("%s=%q%s ", name, b, kind(err))
	}
	entries, err := w.fsys.ReadDir(w.at(name))
	parts := []string{name, "{"}
	for _, e := range entries {
		parts = append(parts, w.tree(path.Join(name, e.Name())))
	}
	return strings.Join(append(parts, "}", kind(err)), "")
}

func describe(info fs.FileInfo) string {
	if info.IsDir() {
		return "directory"
	}
	return fmt.Sprint("file of ", info.Size())
}

// kind is what callers ask of an error.
func kind(err error) string {
	if err == nil {
		return ""
	}
	asked := []error{fs.ErrNotExist, fs.ErrClosed, io.EOF, io.ErrUnexpectedEOF}
	if i := slices.IndexFunc(asked, func(e error) bool { return errors.Is(err, e) }); i >= 0 {
		return asked[i].Error()
	}
	return "error"
}
