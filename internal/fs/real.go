package fs

import "os"

// Real is the operating system's file system. The zero value is ready. Relative names start at the working directory.
type Real struct{}

// Open implements FS.
func (Real) Open(name string) (File, error) { return file(os.Open(name)) }

// Create implements FS.
func (Real) Create(name string) (File, error) { return file(os.Create(name)) }

// OpenAppend implements FS.
func (Real) OpenAppend(name string) (File, error) {
	return file(os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666))
}

// Rename implements FS.
func (Real) Rename(from, to string) error { return os.Rename(from, to) }

// Link implements FS.
func (Real) Link(from, to string) error { return os.Link(from, to) }

// Remove implements FS.
func (Real) Remove(name string) error { return os.Remove(name) }

// MkdirAll implements FS.
func (Real) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o777) }

// ReadDir implements FS.
func (Real) ReadDir(dir string) ([]DirEntry, error) { return os.ReadDir(dir) }

// Stat implements FS.
func (Real) Stat(name string) (FileInfo, error) { return os.Stat(name) }

// TempDir returns the system's directory for temporary files.
func (Real) TempDir() string { return os.TempDir() }

// SyncDir implements FS.
func (Real) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := d.Sync(); err != nil {
		d.Close()
		return err
	}
	return d.Close()
}

// file keeps a nil *os.File from becoming a File that is not nil.
func file(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
