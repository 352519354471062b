package app

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/fs"
)

// Files makes a file system of the engine usable for connectors.
func Files(fsys fs.FS) connector.FileSystem { return files{fsys} }

type files struct{ fs.FS }

// Open implements connector.FileSystem.
func (f files) Open(name string) (connector.File, error) { return f.FS.Open(name) }

// Create implements connector.FileSystem; missing folders are made.
func (f files) Create(name string) (connector.WriteFile, error) {
	w, err := f.FS.Create(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.FS.MkdirAll(path.Dir(name)); err != nil {
			return nil, err
		}
		w, err = f.FS.Create(name)
	}
	return w, err
}

// Stat implements connector.FileSystem.
func (f files) Stat(name string) (connector.FileInfo, error) {
	info, err := f.FS.Stat(name)
	if err != nil {
		return connector.FileInfo{}, err
	}
	if m := info.Mode(); !m.IsRegular() && !m.IsDir() {
		// Its size says nothing: it would be taken for an empty file.
		return connector.FileInfo{}, fmt.Errorf("%s is a device, pipe or socket (%v) and no regular file: read it with function.Source", name, m)
	}
	return infoOf(name, info), nil
}

// List implements connector.FileSystem.
func (f files) List(dir string) ([]connector.FileInfo, error) {
	entries, err := f.FS.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []connector.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, infoOf(path.Join(dir, e.Name()), info))
	}
	slices.SortFunc(out, func(a, b connector.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func infoOf(name string, i fs.FileInfo) connector.FileInfo {
	return connector.FileInfo{Path: name, Size: i.Size(), ModTime: i.ModTime(), Dir: i.IsDir()}
}
