package fs

import (
	"errors"
	"io"
	"path"
	"slices"
)

type fileMode uint8

const (
	readable fileMode = 1 << iota
	writable
	appending
)

var errBadMode = errors.New("bad file descriptor")

// memFile is an open file of a Mem. at and closed are guarded by Mem.mu as the node is.
type memFile struct {
	fs     *Mem
	node   *memNode
	name   string
	mode   fileMode
	at     int64
	closed bool
}

// check says whether the file may be used for op in the given mode. The caller holds mu.
func (f *memFile) check(op string, mode fileMode) error {
	switch {
	case f.closed:
		return pathError(op, f.name, ErrClosed)
	case f.node.dir && mode != 0:
		return pathError(op, f.name, errIsDir)
	case f.mode&mode != mode:
		return pathError(op, f.name, errBadMode)
	}
	return nil
}

// Read implements File.
func (f *memFile) Read(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check("read", readable); err != nil {
		return 0, err
	}
	if f.at >= int64(len(f.node.data)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.node.data[f.at:])
	f.at += int64(n)
	return n, nil
}

// ReadAt implements File.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check("read", readable); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("readat", f.name, ErrInvalid)
	}
	n := copy(p, f.node.data[min(off, int64(len(f.node.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write implements File.
func (f *memFile) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check("write", writable); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil // and in particular does not fill a hole up to the position
	}
	n := f.node
	if f.mode&appending != 0 {
		f.at = int64(len(n.data))
	}
	end := f.at + int64(len(p))
	if grow := end - int64(len(n.data)); grow > 0 {
		old := len(n.data)
		n.data = slices.Grow(n.data, int(grow))[:end]
		clear(n.data[old:])
	}
	copy(n.data[f.at:], p)
	f.at, n.modified = end, f.fs.now()
	return len(p), nil
}

// Seek implements File.
func (f *memFile) Seek(offset int64, whence int) (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check("seek", 0); err != nil {
		return 0, err
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += int64(len(f.node.data))
	default:
		return 0, pathError("seek", f.name, ErrInvalid)
	}
	if offset < 0 {
		return 0, pathError("seek", f.name, ErrInvalid)
	}
	f.at = offset
	return offset, nil
}

// Stat implements File.
func (f *memFile) Stat() (FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check("stat", 0); err != nil {
		return nil, err
	}
	return f.node.info(path.Base(f.name)), nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check("sync", 0); err != nil {
		return err
	}
	f.node.synced = slices.Clone(f.node.data)
	return nil
}

// Close implements File.
func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check("close", 0); err != nil {
		return err
	}
	f.closed = true
	return nil
}
