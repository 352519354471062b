package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/fs"
)

// A device says that it has no bytes; a job that read it would end at once and be taken for one that has read everything.
func TestDevicesAreRefused(t *testing.T) {
	files := app.Files(fs.Real{})
	if _, err := files.Stat("/dev/null"); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("/dev/null: %v", err)
	}
	if info, err := files.Stat(filepath.ToSlash(t.TempDir())); err != nil || !info.Dir {
		t.Errorf("a folder: %+v, %v", info, err)
	}
}
