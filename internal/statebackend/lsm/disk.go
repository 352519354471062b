package lsm

import (
	"errors"
	"io"
	"os"
	"path"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weir-stream/weir/internal/fs"
)

// failure is the first error of a backend. It may be set from any goroutine.
type failure struct {
	mu  sync.Mutex
	err error
	// is tells whether there is an error without the lock.
	is flag
}

func (f *failure) set(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		f.is.Store(true)
	}
}

func (f *failure) get() error {
	if !f.is.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

var errLost = errors.New("a file of the state store was not written whole, since an earlier write had failed")

// disk is the file system that Pebble sees. Syncs do nothing, because no file outlives the process. An operation that
// writes and fails is noted and reported as done, see the package's documentation; the files concerned then answer reads
// with errLost.
type disk struct {
	fs   fs.FS
	fail *failure
}

var _ vfs.FS = (*disk)(nil)

// noted passes on no failure of a write.
func (d *disk) noted(err error) { d.fail.set(err) }

func (d *disk) create(name string, open func(string) (fs.File, error)) (vfs.File, error) {
	if !d.fail.is.Load() {
		f, err := open(name)
		if err == nil {
			return &diskFile{d: d, f: f}, nil
		}
		d.noted(err)
	}
	return &diskFile{d: d, lost: true}, nil
}

// Create implements vfs.FS.
func (d *disk) Create(name string, _ vfs.DiskWriteCategory) (vfs.File, error) {
	return d.create(name, d.fs.Create)
}

// Link implements vfs.FS.
func (d *disk) Link(from, to string) error {
	d.noted(d.fs.Link(from, to))
	return nil
}

// Open implements vfs.FS. A file that is missing because it could not be made is there, and cannot be read.
func (d *disk) Open(name string, _ ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.fs.Open(name)
	switch {
	case err == nil:
		return &diskFile{d: d, f: f}, nil
	case d.fail.is.Load():
		return &diskFile{d: d, lost: true}, nil
	}
	return nil, err
}

// OpenReadWrite implements vfs.FS. Nothing that is used here calls it.
func (d *disk) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, &os.PathError{Op: "open for reading and writing", Path: name, Err: errors.ErrUnsupported}
}

// OpenDir implements vfs.FS: a directory is opened only to be synced.
func (d *disk) OpenDir(string) (vfs.File, error) { return &diskFile{d: d}, nil }

// Remove implements vfs.FS. A file that cannot be removed is removed with the directory.
func (d *disk) Remove(name string) error { return d.fs.Remove(name) }

// RemoveAll implements vfs.FS.
func (d *disk) RemoveAll(name string) error { return fs.RemoveAll(d.fs, name) }

// Rename implements vfs.FS.
func (d *disk) Rename(from, to string) error {
	d.noted(d.fs.Rename(from, to))
	return nil
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	_ = d.Remove(from)
	return d.Create(to, c)
}

// MkdirAll implements vfs.FS.
func (d *disk) MkdirAll(dir string, _ os.FileMode) error {
	d.noted(d.fs.MkdirAll(dir))
	return nil
}

// Lock implements vfs.FS: the Store has locked the directory above.
func (d *disk) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// List implements vfs.FS.
func (d *disk) List(dir string) ([]string, error) {
	entries, err := d.fs.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

type diskInfo struct{ fs.FileInfo }

// DeviceID implements vfs.FileInfo.
func (diskInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }

// Stat implements vfs.FS.
func (d *disk) Stat(name string) (vfs.FileInfo, error) {
	info, err := d.fs.Stat(name)
	if err != nil {
		return nil, err
	}
	return diskInfo{info}, nil
}

// PathBase implements vfs.FS.
func (d *disk) PathBase(name string) string { return path.Base(name) }

// PathJoin implements vfs.FS.
func (d *disk) PathJoin(elem ...string) string { return path.Join(elem...) }

// PathDir implements vfs.FS.
func (d *disk) PathDir(name string) string { return path.Dir(name) }

// GetDiskUsage implements vfs.FS.
func (d *disk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{}, vfs.ErrUnsupported
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return nil }

// diskFile is a file, a directory (f is nil), or one that could not be written (lost).
type diskFile struct {
	d    *disk
	f    fs.File
	lost bool
	size int64
}

var _ vfs.File = (*diskFile)(nil)

// Close implements vfs.File.
func (f *diskFile) Close() error {
	if f.f == nil {
		return nil
	}
	f.d.noted(f.f.Close())
	return nil
}

// Read implements vfs.File.
func (f *diskFile) Read(p []byte) (int, error) {
	if f.lost || f.f == nil {
		return 0, errLost
	}
	return f.f.Read(p)
}

// ReadAt implements vfs.File.
func (f *diskFile) ReadAt(p []byte, at int64) (int, error) {
	if f.lost || f.f == nil {
		return 0, errLost
	}
	return f.f.ReadAt(p, at)
}

// Write implements vfs.File.
func (f *diskFile) Write(p []byte) (int, error) {
	f.size += int64(len(p))
	if f.f == nil || f.lost {
		return len(p), nil
	}
	if f.d.fail.is.Load() {
		f.lost = true
	} else if _, err := f.f.Write(p); err != nil {
		f.lost = true
		f.d.noted(err)
	}
	return len(p), nil
}

// WriteAt implements vfs.File.
func (f *diskFile) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// Preallocate implements vfs.File.
func (f *diskFile) Preallocate(int64, int64) error { return nil }

// Stat implements vfs.File.
func (f *diskFile) Stat() (vfs.FileInfo, error) {
	if f.f == nil {
		return nil, errLost
	}
	info, err := f.f.Stat()
	if err != nil {
		return nil, err
	}
	return diskInfo{info}, nil
}

// Sync implements vfs.File.
func (f *diskFile) Sync() error { return nil }

// SyncTo implements vfs.File.
func (f *diskFile) SyncTo(int64) (bool, error) { return false, nil }

// SyncData implements vfs.File.
func (f *diskFile) SyncData() error { return nil }

// Prefetch implements vfs.File.
func (f *diskFile) Prefetch(int64, int64) error { return nil }

// Fd implements vfs.File.
func (f *diskFile) Fd() uintptr { return vfs.InvalidFd }
