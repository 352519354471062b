package fs

import (
	"errors"
	iofs "io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	errIsDir    = errors.New("is a directory")
	errNotDir   = syscall.ENOTDIR // callers ask for it, as they do of the system
	errNotEmpty = errors.New("directory not empty")
)

// Mem is a file system in memory. Relative names start at its root. Construct it with NewMem.
//
// Beside what is there it keeps what was synced; CrashClone returns a file system that holds just that.
type Mem struct {
	mu   sync.Mutex
	root *memNode
	now  func() time.Time
}

// memNode is a file or a directory; everything in it is guarded by Mem.mu.
type memNode struct {
	dir      bool
	data     []byte
	synced   []byte // data as of the last Sync
	children map[string]*memNode
	durable  map[string]*memNode // children as of the last SyncDir
	modified time.Time
}

func newMemDir() *memNode {
	return &memNode{dir: true, children: map[string]*memNode{}, durable: map[string]*memNode{}}
}

// NewMem returns an empty file system. now gives the time of modification; nil leaves it zero.
func NewMem(now func() time.Time) *Mem {
	if now == nil {
		now = func() time.Time { return time.Time{} }
	}
	return &Mem{root: newMemDir(), now: now}
}

// CrashClone returns a file system of what would be left after the machine had lost its power now: the names of the
// last SyncDir of each directory and the bytes of the last Sync of each file. Like a journaling file system, and
// unlike POSIX's letter, MkdirAll is durable at once.
func (m *Mem) CrashClone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Mem{root: m.root.survivors(), now: m.now}
}

func (n *memNode) survivors() *memNode {
	if !n.dir {
		kept := slices.Clone(n.synced)
		return &memNode{data: kept, synced: slices.Clone(kept), modified: n.modified}
	}
	d := newMemDir()
	d.modified = n.modified
	for name, child := range n.durable {
		d.children[name] = child.survivors()
	}
	d.durable = maps.Clone(d.children)
	return d
}

// split cuts a name into its parts; the root has none.
func split(name string) []string {
	clean := strings.Trim(path.Clean("/"+strings.ReplaceAll(name, "\\", "/")), "/")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "/")
}

// walk finds the node of parts. The caller holds mu.
func (m *Mem) walk(parts []string) (*memNode, error) {
	n := m.root
	for _, part := range parts {
		if !n.dir {
			return nil, errNotDir
		}
		if n = n.children[part]; n == nil {
			return nil, ErrNotExist
		}
	}
	return n, nil
}

// parent finds the directory that holds, or would hold, name, and the last part. The caller holds mu.
func (m *Mem) parent(name string) (*memNode, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", ErrInvalid
	}
	d, err := m.walk(parts[:len(parts)-1])
	if err == nil && !d.dir {
		err = errNotDir
	}
	return d, parts[len(parts)-1], err
}

func pathError(op, name string, err error) error {
	return &iofs.PathError{Op: op, Path: name, Err: err}
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(name))
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &memFile{fs: m, node: n, name: name, mode: readable}, nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	return m.openToWrite(name, readable|writable, true)
}

// OpenAppend implements FS.
func (m *Mem) OpenAppend(name string) (File, error) {
	return m.openToWrite(name, writable|appending, false)
}

func (m *Mem) openToWrite(name string, mode fileMode, empty bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, last, err := m.parent(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	n := d.children[last]
	switch {
	case n == nil:
		n = &memNode{modified: m.now()}
		d.children[last] = n
	case n.dir:
		return nil, pathError("open", name, errIsDir)
	case empty:
		n.data, n.modified = nil, m.now()
	}
	return &memFile{fs: m, node: n, name: name, mode: mode}, nil
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func (m *Mem) rename(from, to string) error {
	oldDir, oldLast, err := m.parent(from)
	if err != nil {
		return err
	}
	newDir, newLast, err := m.parent(to)
	if err != nil {
		return err
	}
	n := oldDir.children[oldLast]
	if n == nil {
		return ErrNotExist
	}
	if n.dir && slices.Equal(split(to)[:min(len(split(from)), len(split(to)))], split(from)) && len(split(to)) > len(split(from)) {
		return ErrInvalid // a directory into itself
	}
	switch target := newDir.children[newLast]; {
	case target == nil:
	case target.dir:
		return ErrExist
	case target == n:
		return nil // two names of one file: POSIX leaves both
	case n.dir:
		return errNotDir
	}
	delete(oldDir.children, oldLast)
	newDir.children[newLast] = n
	return nil
}

// Link implements FS.
func (m *Mem) Link(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.link(from, to); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: err}
	}
	return nil
}

func (m *Mem) link(from, to string) error {
	n, err := m.walk(split(from))
	if err != nil {
		return err
	}
	d, last, err := m.parent(to)
	switch {
	case err != nil:
		return err
	case d.children[last] != nil:
		return ErrExist
	case n.dir:
		return errIsDir
	}
	d.children[last] = n
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, last, err := m.parent(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	switch n := d.children[last]; {
	case n == nil:
		return pathError("remove", name, ErrNotExist)
	case len(n.children) > 0:
		return pathError("remove", name, errNotEmpty)
	}
	delete(d.children, last)
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, part := range split(dir) {
		child := n.children[part]
		if child == nil {
			child = newMemDir()
			child.modified = m.now()
			n.children[part], n.durable[part] = child, child
		}
		if !child.dir {
			return pathError("mkdir", dir, errNotDir)
		}
		n = child
	}
	return nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(dir string) ([]DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(dir))
	if err == nil && !n.dir {
		err = errNotDir
	}
	if err != nil {
		return nil, pathError("open", dir, err)
	}
	entries := make([]DirEntry, 0, len(n.children))
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		entries = append(entries, iofs.FileInfoToDirEntry(n.children[name].info(name)))
	}
	return entries, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(name))
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return n.info(path.Base(name)), nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(split(dir))
	if err == nil && !n.dir {
		err = errNotDir
	}
	if err != nil {
		return pathError("sync", dir, err)
	}
	n.durable = maps.Clone(n.children)
	return nil
}

// info describes the node as of now. The caller holds mu.
func (n *memNode) info(name string) FileInfo {
	return memInfo{name: name, size: int64(len(n.data)), dir: n.dir, modified: n.modified}
}

type memInfo struct {
	name     string
	size     int64
	dir      bool
	modified time.Time
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.modified }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) Sys() any           { return nil }

func (i memInfo) Mode() iofs.FileMode {
	if i.dir {
		return iofs.ModeDir | 0o777
	}
	return 0o666
}
