package memory

import (
	"bytes"
	"context"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/xsync"
)

// Store implements objstore.Store.
type Store struct {
	mu struct {
		xsync.Mutex
		objects map[string][]byte
	}
}

var _ objstore.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	s := &Store{}
	s.mu.objects = map[string][]byte{}
	return s
}

// Put implements objstore.Store.
func (s *Store) Put(ctx context.Context, name string, c objstore.Content) (objstore.Written, error) {
	return s.put(ctx, name, c, true)
}

// PutIfAbsent implements objstore.Store.
func (s *Store) PutIfAbsent(ctx context.Context, name string, c objstore.Content) (objstore.Written, error) {
	return s.put(ctx, name, c, false)
}

func (s *Store) put(ctx context.Context, name string, c objstore.Content, replace bool) (objstore.Written, error) {
	if err := objstore.CheckName(name); err != nil {
		return objstore.Written{}, err
	}
	var b bytes.Buffer
	w, err := c.Copy(ctx, name, &b)
	if err != nil {
		return objstore.Written{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.mu.objects[name]; there && !replace {
		return objstore.Written{}, errs.New(objstore.CodeExists, errs.ClassFailTask, "object "+name, "exists already")
	}
	s.mu.objects[name] = b.Bytes()
	return w, nil
}

func (s *Store) find(ctx context.Context, name string) ([]byte, error) {
	if err := objstore.CheckName(name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.mu.objects[name]
	if !ok {
		return nil, errs.New(objstore.CodeNotFound, errs.ClassFailTask, "object "+name, "does not exist")
	}
	return b, nil
}

// Get implements objstore.Store.
func (s *Store) Get(ctx context.Context, name string, off, n int64) (io.ReadCloser, error) {
	b, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if off < 0 || off > int64(len(b)) {
		return nil, errs.New(objstore.CodeRange, errs.ClassBug, "object "+name, "has %d bytes, read from %d", len(b), off)
	}
	b = b[off:]
	if n >= 0 {
		b = b[:min(n, int64(len(b)))]
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Stat implements objstore.Store.
func (s *Store) Stat(ctx context.Context, name string) (objstore.Info, error) {
	b, err := s.find(ctx, name)
	if err != nil {
		return objstore.Info{}, err
	}
	return objstore.Info{Name: name, Size: int64(len(b))}, nil
}

// List implements objstore.Store. It yields the objects of one instant.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		s.mu.Lock()
		objects := maps.Clone(s.mu.objects)
		s.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(objstore.Info{}, err)
				return
			}
			if !yield(objstore.Info{Name: name, Size: int64(len(objects[name]))}, nil) {
				return
			}
		}
	}
}

// Delete implements objstore.Store.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := objstore.CheckName(name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.objects, name)
	return nil
}
