package fs

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// OpKind names an operation of FS or File.
type OpKind string

// The operations as Faulty reports them: first those of FS, then those of File.
const (
	OpOpen       OpKind = "open"
	OpCreate     OpKind = "create"
	OpOpenAppend OpKind = "append"
	OpRename     OpKind = "rename"
	OpLink       OpKind = "link"
	OpRemove     OpKind = "remove"
	OpMkdirAll   OpKind = "mkdir-all"
	OpReadDir    OpKind = "read-dir"
	OpStat       OpKind = "stat"
	OpSyncDir    OpKind = "sync-dir"
	OpRead       OpKind = "read"
	OpWrite      OpKind = "write"
	OpSync       OpKind = "sync"
	OpClose      OpKind = "close"
)

// Op is one operation about to be done.
type Op struct {
	Kind OpKind
	Name string
	To   string // the new name of OpRename and OpLink
	N    int64  // counts the operations of the Faulty, from 1
}

// String is the form in which tests list operations, without the number.
func (o Op) String() string {
	if o.To != "" {
		return fmt.Sprintf("%s %s -> %s", o.Kind, o.Name, o.To)
	}
	return fmt.Sprintf("%s %s", o.Kind, o.Name)
}

// ErrInjected is a ready error for the functions given to Faulty.
var ErrInjected = errors.New("injected fault")

// Torn is an error for OpWrite that lets the first Bytes bytes through before the write fails.
type Torn struct{ Bytes int }

// Error implements error.
func (t *Torn) Error() string {
	return fmt.Sprintf("injected fault: write torn after %d bytes", t.Bytes)
}

// Is makes a Torn an ErrInjected.
func (t *Torn) Is(target error) bool { return target == ErrInjected }

// Faulty wraps a file system. Before each operation it asks a function, and if that returns an error the operation is
// not done (but see Torn) and fails with it. A function that returns nil and notes the Op makes a trace.
type Faulty struct {
	inner FS
	fault func(Op) error
	n     atomic.Int64
}

// NewFaulty wraps inner. fault is called on the goroutine of each operation, so several may be in it at once.
// Seek and the Stat of a File touch no device and are not reported.
func NewFaulty(inner FS, fault func(Op) error) *Faulty {
	return &Faulty{inner: inner, fault: fault}
}

func (f *Faulty) ask(kind OpKind, name, to string) error {
	err := f.fault(Op{Kind: kind, Name: name, To: to, N: f.n.Add(1)})
	if err != nil {
		return pathError(string(kind), name, err)
	}
	return nil
}

func (f *Faulty) open(kind OpKind, name string, do func(string) (File, error)) (File, error) {
	if err := f.ask(kind, name, ""); err != nil {
		return nil, err
	}
	file, err := do(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f, name: name}, nil
}

// Open implements FS.
func (f *Faulty) Open(name string) (File, error) { return f.open(OpOpen, name, f.inner.Open) }

// Create implements FS.
func (f *Faulty) Create(name string) (File, error) { return f.open(OpCreate, name, f.inner.Create) }

// OpenAppend implements FS.
func (f *Faulty) OpenAppend(name string) (File, error) {
	return f.open(OpOpenAppend, name, f.inner.OpenAppend)
}

// Rename implements FS.
func (f *Faulty) Rename(from, to string) error {
	if err := f.ask(OpRename, from, to); err != nil {
		return err
	}
	return f.inner.Rename(from, to)
}

// Link implements FS.
func (f *Faulty) Link(from, to string) error {
	if err := f.ask(OpLink, from, to); err != nil {
		return err
	}
	return f.inner.Link(from, to)
}

// Remove implements FS.
func (f *Faulty) Remove(name string) error {
	if err := f.ask(OpRemove, name, ""); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// MkdirAll implements FS.
func (f *Faulty) MkdirAll(dir string) error {
	if err := f.ask(OpMkdirAll, dir, ""); err != nil {
		return err
	}
	return f.inner.MkdirAll(dir)
}

// ReadDir implements FS.
func (f *Faulty) ReadDir(dir string) ([]DirEntry, error) {
	if err := f.ask(OpReadDir, dir, ""); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(dir)
}

// Stat implements FS.
func (f *Faulty) Stat(name string) (FileInfo, error) {
	if err := f.ask(OpStat, name, ""); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// SyncDir implements FS.
func (f *Faulty) SyncDir(dir string) error {
	if err := f.ask(OpSyncDir, dir, ""); err != nil {
		return err
	}
	return f.inner.SyncDir(dir)
}

type faultyFile struct {
	File
	fs   *Faulty
	name string
}

// Read implements File.
func (f *faultyFile) Read(p []byte) (int, error) {
	if err := f.fs.ask(OpRead, f.name, ""); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

// ReadAt implements File.
func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(OpRead, f.name, ""); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// Write implements File.
func (f *faultyFile) Write(p []byte) (int, error) {
	err := f.fs.ask(OpWrite, f.name, "")
	if err == nil {
		return f.File.Write(p)
	}
	if torn := (*Torn)(nil); errors.As(err, &torn) {
		n, writeErr := f.File.Write(p[:min(torn.Bytes, len(p))])
		return n, errors.Join(err, writeErr)
	}
	return 0, err
}

// Sync implements File.
func (f *faultyFile) Sync() error {
	if err := f.fs.ask(OpSync, f.name, ""); err != nil {
		return err
	}
	return f.File.Sync()
}

// Close implements File. The file is closed even if the close is made to fail, as the system does.
func (f *faultyFile) Close() error {
	err := f.fs.ask(OpClose, f.name, "")
	return errors.Join(err, f.File.Close())
}
