package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/objstore"
)

// makeTries bounds how often a Put makes a directory that a Delete has removed again.
const makeTries = 16

// Store implements objstore.Store.
type Store struct {
	fsys   fs.FS
	root   string
	writer string
	temps  atomic.Int64
}

var _ objstore.Store = (*Store)(nil)

// New returns the store below the directory root, which it makes when the first object is written.
//
// writer names whoever writes through this Store, in letters, digits and underscores. No other Store that may ever write
// below root has the same writer, not even one of another process or of an earlier run: it keeps their temporary files
// apart, and tells Sweep whose they are.
func New(fsys fs.FS, root, writer string) (*Store, error) {
	odd := func(r rune) bool { return r > 'z' || r != '_' && !plain(byte(r)) || strings.ContainsRune("-.=+@,", r) }
	if writer == "" || len(writer) > 64 || strings.ContainsFunc(writer, odd) {
		return nil, errs.New(errs.CodeBug, errs.ClassBug, "object store "+root,
			"the writer %q is not 1 to 64 letters, digits and underscores", writer)
	}
	return &Store{fsys: fsys, root: root, writer: writer}, nil
}

// file returns the path of the file that is or would be the object.
func (s *Store) file(name string) (string, error) {
	if err := objstore.CheckName(name); err != nil {
		return "", err
	}
	parts := []string{s.root}
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, escape(part))
	}
	return path.Join(parts...), nil
}

// Put implements objstore.Store.
func (s *Store) Put(ctx context.Context, name string, c objstore.Content) (objstore.Written, error) {
	return s.put(ctx, name, c, func(temp, file string) error { return s.fsys.Rename(temp, file) })
}

// PutIfAbsent implements objstore.Store.
func (s *Store) PutIfAbsent(ctx context.Context, name string, c objstore.Content) (objstore.Written, error) {
	return s.put(ctx, name, c, func(temp, file string) error {
		if err := s.fsys.Link(temp, file); err != nil {
			return err
		}
		// The object is there. That its temporary name stays is no failure: Sweep finds it.
		_ = s.fsys.Remove(temp)
		return nil
	})
}

func (s *Store) put(ctx context.Context, name string, c objstore.Content, publish func(temp, file string) error) (objstore.Written, error) {
	file, err := s.file(name)
	if err != nil {
		return objstore.Written{}, err
	}
	temp := path.Join(path.Dir(file), fmt.Sprintf("%s%s-%d", tempPrefix, s.writer, s.temps.Add(1)))
	w, err := s.write(ctx, name, temp, c)
	if err == nil {
		err = publish(temp, file)
	}
	if err != nil {
		if rmErr := s.fsys.Remove(temp); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
		return objstore.Written{}, s.explainWrite(err, file, name)
	}
	if err := s.syncUp(path.Dir(file)); err != nil {
		return objstore.Written{}, errs.Wrap(err, objstore.CodeUnavailable, errs.ClassRetry, "object "+name,
			"was written but its directory could not be synced, so a loss of power may take it back: write it again")
	}
	return w, nil
}

// write fills and syncs the temporary file.
func (s *Store) write(ctx context.Context, name, temp string, c objstore.Content) (objstore.Written, error) {
	if err := ctx.Err(); err != nil {
		return objstore.Written{}, err
	}
	var f fs.File
	for try := 0; ; try++ {
		err := s.fsys.MkdirAll(path.Dir(temp))
		if err == nil {
			f, err = s.fsys.Create(temp)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || try == makeTries {
			return objstore.Written{}, err
		}
	}
	w, err := fill(ctx, name, f, c)
	if err == nil {
		err = f.Sync()
	}
	return w, errors.Join(err, f.Close())
}

// largeBytes is from what size on an object goes to the device past the system's cache.
const largeBytes = 1 << 20

// fill writes the content, all at once if it is large and in memory.
func fill(ctx context.Context, name string, f fs.File, c objstore.Content) (objstore.Written, error) {
	if c.Size < largeBytes {
		return c.Copy(ctx, name, f)
	}
	b, w, ok, err := c.Held(name)
	if !ok {
		return c.Copy(ctx, name, f)
	}
	if err == nil {
		_, err = fs.WriteLarge(f, b)
	}
	return w, err
}

// syncUp makes the names in dir durable, and dir itself: every directory from it up to the root, and the root's own name.
// A process that died may have made any of them, so all are synced each time; one without news costs little.
func (s *Store) syncUp(dir string) error {
	for {
		// A directory may have been removed by a Delete since. Then so was the object.
		if err := s.fsys.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(dir) < len(path.Clean(s.root)) || dir == path.Dir(dir) {
			return nil
		}
		dir = path.Dir(dir)
	}
}

// Get implements objstore.Store.
func (s *Store) Get(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	file, err := s.file(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	f, err := s.fsys.Open(file)
	if err != nil {
		return nil, explain(err, name)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, errors.Join(explain(err, name), f.Close())
	case info.IsDir():
		f.Close()
		return nil, missing(name)
	case off < 0 || off > info.Size():
		f.Close()
		return nil, errs.New(objstore.CodeRange, errs.ClassBug, "object "+name, "has %d bytes, read from %d", info.Size(), off)
	}
	left := info.Size() - off
	if n >= 0 {
		left = min(left, n)
	}
	return &reader{ctx: ctx, f: f, name: name, at: off, left: left}, nil
}

// reader reads a part of a file. Objects do not shrink, so an early end is a fault.
type reader struct {
	ctx      context.Context
	f        fs.File
	name     string
	at, left int64
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.f.ReadAt(p[:min(int64(len(p)), r.left)], r.at)
	r.at += int64(n)
	r.left -= int64(n)
	if n > 0 || err == nil {
		return n, nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return 0, explain(err, r.name)
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.f.Close() }

// Stat implements objstore.Store.
func (s *Store) Stat(ctx context.Context, name string) (objstore.Info, error) {
	file, err := s.file(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return objstore.Info{}, err
	}
	info, err := s.fsys.Stat(file)
	if err != nil {
		return objstore.Info{}, explain(err, name)
	}
	if info.IsDir() {
		return objstore.Info{}, missing(name)
	}
	return objstore.Info{Name: name, Size: info.Size()}, nil
}

// List implements objstore.Store. It holds the names of one directory a level in memory.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		if err := s.list(ctx, s.root, "", prefix, yield); err != nil && !errors.Is(err, errStop) {
			yield(objstore.Info{}, explain(err, prefix))
		}
	}
}

var errStop = errors.New("the caller has seen enough")

// list yields what starts with prefix below dir, whose objects' names start with base.
func (s *Store) list(ctx context.Context, dir, base, prefix string, yield func(objstore.Info, error) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := s.fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A directory sorts as its name and the slash that follows it in every object's name below it.
	type entry struct{ name, file string }
	var found []entry
	for _, e := range entries {
		name, ok := unescape(e.Name())
		if !ok {
			continue
		}
		if name = base + name; e.IsDir() {
			name += "/"
		}
		if strings.HasPrefix(name, prefix) || e.IsDir() && strings.HasPrefix(prefix, name) {
			found = append(found, entry{name, path.Join(dir, e.Name())})
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range found {
		if strings.HasSuffix(e.name, "/") {
			if err := s.list(ctx, e.file, e.name, prefix, yield); err != nil {
				return err
			}
			continue
		}
		info, err := s.fsys.Stat(e.file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !yield(objstore.Info{Name: e.name, Size: info.Size()}, nil) {
			return errStop
		}
	}
	return nil
}

// Delete implements objstore.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	file, err := s.file(name)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if info, err := s.fsys.Stat(file); err == nil && info.IsDir() {
		return nil
	}
	// The directory is synced even if the file is gone: an earlier Delete may have failed to.
	if err := s.fsys.Remove(file); err != nil && !gone(err) {
		return explain(err, name)
	}
	dir := path.Dir(file)
	if err := s.fsys.SyncDir(dir); err != nil && !gone(err) {
		return explain(err, name)
	}
	for root := path.Clean(s.root); len(dir) > len(root); dir = path.Dir(dir) {
		// Remove would take a file too, if the deleted name lay below another object.
		if info, err := s.fsys.Stat(dir); err != nil || !info.IsDir() || s.fsys.Remove(dir) != nil {
			break
		}
	}
	return nil
}

// Sweep removes the temporary files of writers that are dead, and returns how many.
func (s *Store) Sweep(ctx context.Context, dead func(writer string) bool) (int, error) {
	return s.sweep(ctx, s.root, dead)
}

func (s *Store) sweep(ctx context.Context, dir string, dead func(writer string) bool) (n int, err error) {
	entries, err := s.fsys.ReadDir(dir)
	if gone(err) {
		return 0, nil
	}
	for _, e := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			break
		}
		file := path.Join(dir, e.Name())
		if e.IsDir() {
			var below int
			below, err = s.sweep(ctx, file, dead)
			n += below
			continue
		}
		writer, _, ok := strings.Cut(strings.TrimPrefix(e.Name(), tempPrefix), "-")
		if !strings.HasPrefix(e.Name(), tempPrefix) || !ok || !dead(writer) {
			continue
		}
		if err = s.fsys.Remove(file); err == nil {
			n++
		} else if gone(err) {
			err = nil
		}
	}
	return n, err
}

// explainWrite tells a name that cannot be beside another one from a failure of the file system.
func (s *Store) explainWrite(err error, file, name string) error {
	if errors.Is(err, fs.ErrNotExist) && errs.CodeOf(err) == "" {
		return errs.Wrap(err, errs.CodeIO, errs.ClassRetry, "object "+name, "its directory was deleted while it was written")
	}
	if !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.EISDIR) {
		return explain(err, name)
	}
	clash := func(what string) error {
		return errs.Wrap(err, objstore.CodeName, errs.ClassBug, "object "+name, "%s", what)
	}
	if info, statErr := s.fsys.Stat(file); statErr == nil && info.IsDir() {
		return clash("is a directory of other objects")
	}
	for dir := path.Dir(file); len(dir) > len(path.Clean(s.root)); dir = path.Dir(dir) {
		if info, statErr := s.fsys.Stat(dir); statErr == nil && !info.IsDir() {
			return clash("would lie below another object")
		}
	}
	return explain(err, name)
}

func missing(name string) error {
	return errs.New(objstore.CodeNotFound, errs.ClassFailTask, "object "+name, "does not exist")
}

// gone reports that a file is not there: neither it, nor perhaps its directory, or a file stands in the directory's place.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// explain gives an error of the file system the code and class of the contract.
func explain(err error, name string) error {
	op := "object " + name
	switch {
	case errs.CodeOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrExist):
		return errs.Wrap(err, objstore.CodeExists, errs.ClassFailTask, op, "exists already")
	case gone(err):
		return errs.Wrap(err, objstore.CodeNotFound, errs.ClassFailTask, op, "does not exist")
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return errs.Wrap(err, objstore.CodeNoSpace, errs.ClassRetry, op, "the disk is full: free space, or write elsewhere")
	case errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EPERM):
		return errs.Wrap(err, errs.CodeIO, errs.ClassFailJob, op, "the file system refuses it (PutIfAbsent needs hard links)")
	}
	return errs.Wrap(err, errs.CodeIO, errs.ClassRetry, op, "the file system failed")
}
