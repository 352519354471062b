package fs

import (
	"errors"
	"io"
	iofs "io/fs"
	"path"
	"slices"
	"strings"
)

// FileInfo describes a file, DirEntry an entry of a directory, as in io/fs.
type (
	FileInfo = iofs.FileInfo
	DirEntry = iofs.DirEntry
)

// The errors that every form answers to under errors.Is.
var (
	ErrNotExist = iofs.ErrNotExist
	ErrExist    = iofs.ErrExist
	ErrClosed   = iofs.ErrClosed
	ErrInvalid  = iofs.ErrInvalid
)

// FS is a file system. All methods may be called from any goroutine; all may block for as long as the device does.
type FS interface {
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Create opens a file for reading and writing, emptied if it exists. The directory must exist.
	Create(name string) (File, error)
	// OpenAppend opens a file for writing at its end, and creates it if it does not exist.
	OpenAppend(name string) (File, error)
	// Rename gives a file or directory another name. A file replaces an existing file of that name in one step. An
	// existing directory is never replaced, and a directory replaces nothing.
	Rename(from, to string) error
	// Link gives a file a second name in one step. An existing name is never replaced: that is ErrExist, for all but one
	// of several callers at once. A file system without hard links refuses it.
	Link(from, to string) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// MkdirAll creates a directory and the missing ones above it. An existing directory is no error.
	MkdirAll(dir string) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(dir string) ([]DirEntry, error)
	// Stat describes what name leads to.
	Stat(name string) (FileInfo, error)
	// SyncDir makes the names in a directory durable: files created, renamed and removed in it.
	SyncDir(dir string) error
}

// File is an open file. ReadAt may be called from several goroutines at once; the rest by one at a time.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Seeker
	// Stat describes the file.
	Stat() (FileInfo, error)
	// Sync makes the bytes written so far durable.
	Sync() error
	// Close ends the use of the file. It does not sync. Closing twice is ErrClosed.
	Close() error
}

// ReadFile reads a whole file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// WriteFile writes a file that a crash leaves whole or not at all: beside it under a temporary name, synced, renamed,
// and the directory synced. On an error the old file is untouched.
func WriteFile(fsys FS, name string, data []byte) error {
	temp := name + ".tmp"
	f, err := fsys.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(temp))
	}
	return fsys.SyncDir(dirOf(name))
}

// RemoveAll deletes a file, or a directory with all it holds. That nothing of the name exists is no error.
func RemoveAll(fsys FS, name string) error {
	info, err := fsys.Stat(name)
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := fsys.ReadDir(name)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := RemoveAll(fsys, path.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	return fsys.Remove(name)
}

// Glob lists the names that match pattern, sorted. A part between slashes is matched as path.Match does; a part `**`
// stands for any number of directories, none included. That nothing matches, or that a directory cannot be found, is
// no error; a malformed pattern is path.ErrBadPattern.
func Glob(fsys FS, pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	pattern = path.Clean(strings.ReplaceAll(pattern, "\\", "/"))
	base := "."
	if strings.HasPrefix(pattern, "/") {
		base, pattern = "/", strings.TrimLeft(pattern, "/")
	}
	found, err := glob(fsys, base, strings.Split(pattern, "/"), nil)
	if err != nil {
		return nil, err
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// glob appends to found what lies under dir and matches parts.
func glob(fsys FS, dir string, parts []string, found []string) ([]string, error) {
	if len(parts) == 0 {
		return append(found, dir), nil
	}
	part, rest := parts[0], parts[1:]
	if part != "**" && !strings.ContainsAny(part, "*?[") {
		name := path.Join(dir, part)
		if _, err := fsys.Stat(name); err != nil {
			return found, ignoreMissing(err)
		}
		return glob(fsys, name, rest, found)
	}
	if info, err := fsys.Stat(dir); err != nil || !info.IsDir() {
		return found, ignoreMissing(err)
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return found, ignoreMissing(err)
	}
	if part == "**" {
		if found, err = glob(fsys, dir, rest, found); err != nil {
			return found, err
		}
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch ok, _ := path.Match(part, e.Name()); {
		case part == "**" && e.IsDir():
			found, err = glob(fsys, name, parts, found)
		case part != "**" && ok:
			found, err = glob(fsys, name, rest, found)
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	return err
}

func dirOf(name string) string { return path.Dir(strings.ReplaceAll(name, "\\", "/")) }
