package conntest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-stream/weir/connector"
)

// FS is a file system in memory for tests. It may be used by several goroutines. Its clock stands still but for one second
// a change.
type FS struct {
	mu    sync.Mutex
	files map[string]*memFile
	now   time.Time
	// open counts files that were opened or created and not closed.
	open int
	// Fail, if not nil, is asked before each operation ("open", "create", "rename", "remove", "stat", "list", "read",
	// "write", "sync", "close") and makes it fail with the error that it returns. Set it before use.
	Fail func(op, path string) error
}

type memFile struct {
	data []byte
	mod  time.Time
}

// NewFS returns a file system that holds files, by path.
func NewFS(files map[string]string) *FS {
	f := &FS{files: map[string]*memFile{}, now: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	for p, text := range files {
		f.Put(p, text)
	}
	return f
}

var _ connector.FileSystem = (*FS)(nil)

// Put writes a file at once.
func (f *FS) Put(p, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(path.Clean(p), []byte(text))
}

func (f *FS) put(p string, data []byte) {
	f.now = f.now.Add(time.Second)
	f.files[p] = &memFile{data: data, mod: f.now}
}

// Truncate cuts a file in place, also for those who have it open.
func (f *FS) Truncate(p string, size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(time.Second)
	m := f.files[path.Clean(p)]
	m.data, m.mod = m.data[:size], f.now
}

// Files returns all files by path.
func (f *FS) Files() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]string{}
	for p, m := range f.files {
		out[p] = string(m.data)
	}
	return out
}

// OpenFiles returns how many files are open.
func (f *FS) OpenFiles() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

func (f *FS) fail(op, p string) error {
	if f.Fail == nil {
		return nil
	}
	return f.Fail(op, p)
}

// Open implements connector.FileSystem.
func (f *FS) Open(p string) (connector.File, error) {
	p = path.Clean(p)
	if err := f.fail("open", p); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files[p] == nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	f.open++
	return &readFile{fs: f, path: p, file: f.files[p]}, nil
}

// Create implements connector.FileSystem.
func (f *FS) Create(p string) (connector.WriteFile, error) {
	p = path.Clean(p)
	if err := f.fail("create", p); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(p, nil)
	f.open++
	return &writeFile{fs: f, path: p, file: f.files[p]}, nil
}

// Rename implements connector.FileSystem.
func (f *FS) Rename(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	if err := f.fail("rename", from); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.files[from]
	if m == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	delete(f.files, from)
	f.files[to] = m
	return nil
}

// Remove implements connector.FileSystem.
func (f *FS) Remove(p string) error {
	p = path.Clean(p)
	if err := f.fail("remove", p); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files[p] == nil {
		return &fs.PathError{Op: "remove", Path: p, Err: fs.ErrNotExist}
	}
	delete(f.files, p)
	return nil
}

// Stat implements connector.FileSystem. A folder exists if a file lies below it.
func (f *FS) Stat(p string) (connector.FileInfo, error) {
	p = path.Clean(p)
	if err := f.fail("stat", p); err != nil {
		return connector.FileInfo{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.files[p]; m != nil {
		return connector.FileInfo{Path: p, Size: int64(len(m.data)), ModTime: m.mod}, nil
	}
	if p == "." || p == "/" {
		return connector.FileInfo{Path: p, Dir: true}, nil
	}
	for name := range f.files {
		if strings.HasPrefix(name, p+"/") {
			return connector.FileInfo{Path: p, Dir: true}, nil
		}
	}
	return connector.FileInfo{}, &fs.PathError{Op: "stat", Path: p, Err: fs.ErrNotExist}
}

// List implements connector.FileSystem.
func (f *FS) List(dir string) ([]connector.FileInfo, error) {
	dir = path.Clean(dir)
	if err := f.fail("list", dir); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	} else if dir == "/" {
		prefix = "/"
	}
	found := map[string]connector.FileInfo{}
	for name, m := range f.files {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || prefix == "" && strings.HasPrefix(name, "/") {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			found[first] = connector.FileInfo{Path: prefix + first, Dir: true}
		} else {
			found[first] = connector.FileInfo{Path: name, Size: int64(len(m.data)), ModTime: m.mod}
		}
	}
	var out []connector.FileInfo
	for _, i := range found {
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b connector.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	if len(out) == 0 {
		return nil, &fs.PathError{Op: "list", Path: dir, Err: fs.ErrNotExist}
	}
	return out, nil
}

var errClosed = errors.New("the file is closed")

type readFile struct {
	fs     *FS
	path   string
	file   *memFile
	at     int64
	closed bool
}

func (r *readFile) Read(b []byte) (int, error) {
	n, err := r.ReadAt(b, r.at)
	r.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (r *readFile) ReadAt(b []byte, at int64) (int, error) {
	if r.closed {
		return 0, errClosed
	}
	if err := r.fs.fail("read", r.path); err != nil {
		return 0, err
	}
	r.fs.mu.Lock()
	defer r.fs.mu.Unlock()
	return bytes.NewReader(r.file.data).ReadAt(b, at)
}

func (r *readFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		r.fs.mu.Lock()
		offset += int64(len(r.file.data))
		r.fs.mu.Unlock()
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek to %d", offset)
	}
	r.at = offset
	return offset, nil
}

func (r *readFile) Close() error { return closeFile(r.fs, &r.closed, r.path) }

type writeFile struct {
	fs     *FS
	path   string
	file   *memFile
	closed bool
}

func (w *writeFile) Write(b []byte) (int, error) {
	if w.closed {
		return 0, errClosed
	}
	if err := w.fs.fail("write", w.path); err != nil {
		return 0, err
	}
	w.fs.mu.Lock()
	defer w.fs.mu.Unlock()
	w.file.data = append(w.file.data[:len(w.file.data):len(w.file.data)], b...)
	return len(b), nil
}

func (w *writeFile) Sync() error { return w.fs.fail("sync", w.path) }

func (w *writeFile) Close() error { return closeFile(w.fs, &w.closed, w.path) }

func closeFile(f *FS, closed *bool, p string) error {
	if *closed {
		return errClosed
	}
	*closed = true
	f.mu.Lock()
	f.open--
	f.mu.Unlock()
	return f.fail("close", p)
}
