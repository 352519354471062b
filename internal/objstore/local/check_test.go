package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/objstore/local"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, name string
		ok         bool
	}{
		{"new/below", "job", true},
		{"new/below", "job", true},
		{"file", "job", false},
		{"file/below", "job", false},
		{"dangling", "job", false},
		{".", "file", false}, // the job's own directory is a file
	} {
		s, err := local.New(fs.Real{}, filepath.Join(dir, c.root), "w")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context(), c.name); (err == nil) != c.ok {
			t.Errorf("%s, %s: %v", c.root, c.name, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "new/below/job")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
