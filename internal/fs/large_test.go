package fs_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/weir-stream/weir/internal/fs"
)

// Whatever the length, the position and the place in memory, the file has what was written, before and after other writes.
func TestWriteLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 10<<20)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for what, c := range map[string]struct {
		fsys fs.FS
		name string
	}{"the system's": {fs.Real{}, filepath.Join(t.TempDir(), "f")}, "in memory": {fs.NewMem(nil), "/f"}, "/dev/shm": {fs.Real{}, "/dev/shm/weir-large-test"}} {
		for _, n := range []int{0, 1, 4095, 4096, 4097, 1 << 20, 9<<20 + 77} {
			for _, at := range []int{0, 8, 4096} {
				for _, before := range []string{"", "before"} {
					f, err := c.fsys.Create(c.name)
					if err != nil {
						t.Skip(what, err) // no /dev/shm here
					}
					want := append([]byte(before), noise[at:at+n]...)
					want = append(want, "after"...)
					_, err = f.Write([]byte(before))
					if err == nil {
						var m int
						if m, err = fs.WriteLarge(f, noise[at:at+n]); m != n {
							t.Errorf("%d bytes of %d", m, n)
						}
					}
					if err == nil {
						_, err = f.Write([]byte("after"))
					}
					if err != nil {
						t.Fatal(what, n, at, err)
					}
					if err := f.Close(); err != nil {
						t.Fatal(err)
					}
					if got, err := fs.ReadFile(c.fsys, c.name); err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%s: %d bytes from %d: %d read, %d wanted, %v", what, n, at, len(got), len(want), err)
					}
					_ = c.fsys.Remove(c.name)
				}
			}
		}
	}
}
