package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/local"
	"github.com/weir-stream/weir/internal/objstore/storetest"
)

var ctx = context.Background()

func open(t testing.TB, fsys fs.FS, root, writer string) *local.Store {
	t.Helper()
	s, err := local.New(fsys, root, writer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) objstore.Store { return open(t, fs.Real{}, t.TempDir(), "w1") })
	})
	t.Run("mem", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) objstore.Store { return open(t, fs.NewMem(nil), "/ckpt", "w1") })
	})
}

func TestWriterNames(t *testing.T) {
	for _, bad := range []string{"", "a-b", "a/b", "ü", "a.b", strings.Repeat("w", 65)} {
		if _, err := local.New(fs.NewMem(nil), "/", bad); err == nil {
			t.Errorf("the writer %q is accepted", bad)
		}
	}
}

// The file operations of each request are part of what is promised about crashes: a change of testdata is a change of that.
func TestFileOperations(t *testing.T) {
	var s *local.Store
	var trace strings.Builder
	var fail func(fs.Op) error
	datadriven.RunTest(t, "testdata/operations", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "new" {
			fail = func(fs.Op) error { return nil }
			s = open(t, fs.NewFaulty(fs.NewMem(nil), func(op fs.Op) error {
				fmt.Fprintln(&trace, op)
				return fail(op)
			}), "/ckpt", "w1")
			return "ok"
		}
		var name, at string
		d.ScanArgs(t, "name", &name)
		d.MaybeScanArgs(t, "fail", &at)
		trace.Reset()
		fail = func(op fs.Op) error {
			if string(op.Kind) == at {
				return syscall.ENOSPC
			}
			return nil
		}
		var err error
		c := objstore.Bytes([]byte(d.Input))
		switch d.Cmd {
		case "put":
			_, err = s.Put(ctx, name, c)
		case "put-if-absent":
			_, err = s.PutIfAbsent(ctx, name, c)
		case "delete":
			err = s.Delete(ctx, name)
		case "read":
			var b []byte
			if b, err = objstore.ReadAll(ctx, s, name, 100); err == nil {
				fmt.Fprintf(&trace, "%q\n", b)
			}
		default:
			t.Fatalf("unknown command %s", d.Cmd)
		}
		if err != nil {
			fmt.Fprintf(&trace, "%s (%v)\n", errs.CodeOf(err), errs.ClassOf(err))
		}
		return trace.String()
	})
}

// The machine loses its power, or the process dies, before each file operation of a write: the object is whole or absent
// (or the old one), and whole if the write returned nil. Sweep then leaves nothing else.
func TestCrash(t *testing.T) {
	const old, text = "the old bytes", "the new bytes, which are longer"
	dead := errors.New("the machine is off")
	for _, c := range []struct {
		name   string
		exists bool
		write  func(*local.Store) error
	}{
		{"put", false, func(s *local.Store) error { _, err := s.Put(ctx, "d/e/a", objstore.Bytes([]byte(text))); return err }},
		{"replace", true, func(s *local.Store) error { _, err := s.Put(ctx, "d/e/a", objstore.Bytes([]byte(text))); return err }},
		{"put if absent", false, func(s *local.Store) error {
			_, err := s.PutIfAbsent(ctx, "d/e/a", objstore.Bytes([]byte(text)))
			return err
		}},
	} {
		for _, power := range []bool{true, false} {
			for at := int64(1); ; at++ {
				mem := fs.NewMem(nil)
				if c.exists {
					if _, err := open(t, mem, "/ckpt", "w0").Put(ctx, "d/e/a", objstore.Bytes([]byte(old))); err != nil {
						t.Fatal(err)
					}
				}
				met := false
				err := c.write(open(t, fs.NewFaulty(mem, func(op fs.Op) error {
					if op.N >= at {
						met = true
						if op.Kind == fs.OpWrite && op.N == at {
							return errors.Join(dead, &fs.Torn{Bytes: 5})
						}
						return dead
					}
					return nil
				}), "/ckpt", "w1"))
				left := mem
				if power {
					left = mem.CrashClone()
				}
				checkLeft(t, fmt.Sprintf("%s, power %v, operation %d", c.name, power, at), left, err, c.exists, old, text)
				if !met {
					if err != nil {
						t.Fatalf("%s without a crash: %v", c.name, err)
					}
					break
				}
			}
		}
	}
}

func checkLeft(t *testing.T, what string, left *fs.Mem, err error, exists bool, old, text string) {
	t.Helper()
	s := open(t, left, "/ckpt", "w2")
	if _, sweepErr := s.Sweep(ctx, func(w string) bool { return w == "w1" }); sweepErr != nil {
		t.Fatalf("%s: Sweep: %v", what, sweepErr)
	}
	b, readErr := objstore.ReadAll(ctx, s, "d/e/a", 1000)
	switch {
	case readErr == nil && string(b) == text:
	case err == nil:
		t.Errorf("%s: the write succeeded; now %q, %v", what, b, readErr)
	case exists && string(b) == old:
	case !exists && objstore.Is(readErr, objstore.CodeNotFound):
	default:
		t.Errorf("%s: left %q, %v", what, b, readErr)
	}
	for _, dir := range []string{"/ckpt", "/ckpt/d", "/ckpt/d/e"} {
		entries, _ := left.ReadDir(dir)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				t.Errorf("%s: Sweep left %s", what, e.Name())
			}
		}
	}
}

// A writer that is alive keeps its temporary files.
func TestSweepAsksWhoIsDead(t *testing.T) {
	mem := fs.NewMem(nil)
	if err := mem.MkdirAll("/ckpt/d"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/ckpt/d/.tmp-w1-1", "/ckpt/d/.tmp-w2-1", "/ckpt/.tmp-w1-77", "/ckpt/.other"} {
		if err := fs.WriteFile(mem, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	n, err := open(t, mem, "/ckpt", "w3").Sweep(ctx, func(w string) bool { return w == "w1" })
	if n != 2 || err != nil {
		t.Errorf("Sweep = %d, %v, want 2", n, err)
	}
	left, err := fs.Glob(mem, "/ckpt/**/*")
	if got := strings.Join(left, " "); err != nil || got != "/ckpt/.other /ckpt/d /ckpt/d/.tmp-w2-1" {
		t.Errorf("left %s, %v", got, err)
	}
}

// What is large and in memory goes another way to the disk, with the same result and the same refusals.
func TestLargeObject(t *testing.T) {
	for what, fsys := range map[string]fs.FS{"real": fs.Real{}, "mem": fs.NewMem(nil)} {
		s := open(t, fsys, t.TempDir(), "w1")
		b := make([]byte, 5<<20+123)
		for i := range b {
			b[i] = byte(i >> 3 * 7)
		}
		for _, c := range []objstore.Content{objstore.Bytes(b), objstore.Summed(b, objstore.Checksum(b))} {
			w, err := s.Put(ctx, "large", c)
			if err != nil || w.Size != int64(len(b)) || w.CRC != objstore.Checksum(b) {
				t.Fatalf("%s: %+v, %v", what, w, err)
			}
			got, err := objstore.ReadAll(ctx, s, "large", 1<<30)
			if err != nil || !bytes.Equal(got, b) {
				t.Fatalf("%s: %d bytes, %v", what, len(got), err)
			}
		}
		if _, err := s.Put(ctx, "wrong", objstore.Summed(b, 1)); !objstore.Is(err, objstore.CodeContent) {
			t.Errorf("%s: a wrong checksum: %v", what, err)
		}
		if _, err := s.Stat(ctx, "wrong"); !objstore.Is(err, objstore.CodeNotFound) {
			t.Errorf("%s: it is there: %v", what, err)
		}
	}
}

// Somebody deletes the directory while an object is written. It is not there, and to write it again helps.
func TestDirectoryDeletedMeanwhile(t *testing.T) {
	mem := fs.NewMem(nil)
	deleted := false
	disk := fs.NewFaulty(mem, func(op fs.Op) error {
		if (op.Kind == fs.OpRename || op.Kind == fs.OpLink) && !deleted {
			deleted = true
			if err := errors.Join(mem.Remove(op.Name), mem.Remove("root/job")); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	s, err := local.New(disk, "root", "w")
	if err != nil {
		t.Fatal(err)
	}
	for _, put := range []func(context.Context, string, objstore.Content) (objstore.Written, error){s.Put, s.PutIfAbsent} {
		deleted = false
		if _, err := put(t.Context(), "job/a", objstore.Bytes([]byte("x"))); errs.ClassOf(err) != errs.ClassRetry || !strings.Contains(err.Error(), "its directory was deleted") {
			t.Errorf("got %v", err)
		}
		if _, err := put(t.Context(), "job/a", objstore.Bytes([]byte("x"))); err != nil {
			t.Error(err)
		}
		if err := s.Delete(t.Context(), "job/a"); err != nil {
			t.Error(err)
		}
	}
}
