package windowop

import (
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/window"
)

// content keeps what windows hold, by key and home (the window, or where a session's content is).
type content[K, T, U any] interface {
	// open makes the user's function, which emits to out.
	open(o *general[K, T, U], out *basic.Outlet[U]) (lifecycle, error)
	// add adds a row; fresh says that there was no content before.
	add(key statebackend.Key, home window.Window, row *T, ts int64) (fresh bool, err error)
	// merge moves the content of from into that of into.
	merge(key statebackend.Key, into, from window.Window) error
	// has reports whether there is any.
	has(key statebackend.Key, home window.Window) bool
	// fire calls the user's function for the window at work.
	fire(home window.Window) error
	clear(key statebackend.Key, home window.Window)
}

// accumulated keeps an accumulator for each window: in place if it has no pointers, else encoded.
type accumulated[K, T, A, R, U any] struct {
	agg   Aggregate[T, A, R]
	bind  func(c *Call[K], out *basic.Outlet[U]) Hooks[R]
	hooks Hooks[R]
	o     *general[K, T, U]
	state statebackend.Value
	codec *codec.Codec[A] // nil if accumulators lie in place
	buf   []byte
	ns    namespace
	acc   A // scratch: functions never see a place in the table that they could change unnoticed
	other A
}

func (s *accumulated[K, T, A, R, U]) open(o *general[K, T, U], out *basic.Outlet[U]) (lifecycle, error) {
	s.o = o
	c, err := codec.For[A]()
	if err != nil {
		return lifecycle{}, errs.Wrap(err, "", 0, o.ctx.Place(), "the accumulator cannot be kept as state")
	}
	width, fixed := c.Fixed()
	if !fixed || width == 0 {
		s.codec, width = c, 0
	}
	values, err := codec.ValuesOf[A]()
	if err != nil {
		return lifecycle{}, err
	}
	s.state, err = o.backend.Value(statebackend.Descriptor{Name: "windows/content", Width: width, NamespaceWidth: len(namespace{}), Values: values,
		Schema: codec.Table{Value: values.Schema, Namespace: Spaces(o.bound)}.Append(nil)})
	if err == nil {
		err = o.call.Call("the function's making", func() error {
			s.hooks = s.bind(&o.call, out)
			return nil
		})
	}
	return s.hooks.lifecycle(), err
}

// load copies the accumulator to acc, which becomes zero if there is none.
func (s *accumulated[K, T, A, R, U]) load(key statebackend.Key, home window.Window, acc *A) (bool, error) {
	var zero A
	*acc = zero
	s.ns = namespaceOf(home)
	b, ok := s.state.Get(key, s.ns[:])
	if !ok {
		return false, nil
	}
	if s.codec == nil {
		*acc = *(*A)(unsafe.Pointer(unsafe.SliceData(b)))
		return true, nil
	}
	_, err := s.codec.DecodeCopy(b, acc)
	return true, err
}

func (s *accumulated[K, T, A, R, U]) store(key statebackend.Key, home window.Window, acc *A) {
	s.ns = namespaceOf(home)
	if s.codec == nil {
		p, _ := s.state.Ref(key, s.ns[:])
		*(*A)(p) = *acc
		return
	}
	s.buf = s.codec.Append(s.buf[:0], acc)
	s.state.Put(key, s.ns[:], s.buf)
}

func (s *accumulated[K, T, A, R, U]) add(key statebackend.Key, home window.Window, row *T, _ int64) (fresh bool, err error) {
	s.o.doing = "the aggregation's Add"
	if s.codec == nil {
		s.ns = namespaceOf(home)
		p, created := s.state.Ref(key, s.ns[:])
		s.agg.Add((*A)(p), *row)
		return created, nil
	}
	had, err := s.load(key, home, &s.acc)
	if err != nil {
		return false, err
	}
	s.agg.Add(&s.acc, *row)
	s.store(key, home, &s.acc)
	return !had, nil
}

func (s *accumulated[K, T, A, R, U]) merge(key statebackend.Key, into, from window.Window) error {
	s.o.doing = "the aggregation's Merge"
	ok, err := s.load(key, from, &s.other)
	if !ok || err != nil {
		return err // it was purged
	}
	s.clear(key, from)
	if _, err = s.load(key, into, &s.acc); err != nil {
		return err
	}
	s.agg.Merge(&s.acc, &s.other)
	s.store(key, into, &s.acc)
	return nil
}

func (s *accumulated[K, T, A, R, U]) has(key statebackend.Key, home window.Window) bool {
	s.ns = namespaceOf(home)
	_, ok := s.state.Get(key, s.ns[:])
	return ok
}

func (s *accumulated[K, T, A, R, U]) fire(home window.Window) error {
	if _, err := s.load(s.o.key, home, &s.acc); err != nil {
		return err
	}
	s.o.doing = "the aggregation's Result"
	r := s.agg.Result(&s.acc)
	s.o.doing = "the window function"
	return s.hooks.Fire(r)
}

func (s *accumulated[K, T, A, R, U]) clear(key statebackend.Key, home window.Window) {
	s.ns = namespaceOf(home)
	s.state.Clear(key, s.ns[:])
}
