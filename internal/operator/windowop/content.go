package windowop

import (
	"iter"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/window"
)

// content keeps what windows hold, by key and home (the window, or where a session's content is).
type content[K, T, U any] interface {
	open(o *general[K, T, U]) error
	add(key statebackend.Key, home window.Window, row *T, ts int64) error
	// merge moves the content of from into that of into.
	merge(key statebackend.Key, into, from window.Window) error
	// has reports whether there is any.
	has(key statebackend.Key, home window.Window) bool
	// fire calls the user's function.
	fire(c *Call[K], home window.Window, em *basic.Emitter[U]) error
	clear(key statebackend.Key, home window.Window)
}

// Function is what is made of a window: Incremental or Whole.
type Function[K, T, U any] struct {
	content func(evicts bool) content[K, T, U]
}

// Incremental aggregates rows as they come. emit is called with the result when a window fires. With an evictor the rows
// are kept, and aggregated when the window fires; if the evictor leaves none, the result is that of no rows, unless
// needsRows says that there is none.
func Incremental[K, T, A, R, U any](agg Aggregate[T, A, R], needsRows bool, emit func(c *Call[K], r R, em *basic.Emitter[U]) error) Function[K, T, U] {
	return Function[K, T, U]{content: func(evicts bool) content[K, T, U] {
		if !evicts {
			return &accumulated[K, T, A, R, U]{agg: agg, emit: emit}
		}
		return &kept[K, T, U]{apply: func(c *Call[K], rows iter.Seq[T], em *basic.Emitter[U]) error {
			var acc A
			some := false
			for row := range rows {
				agg.Add(&acc, row)
				some = true
			}
			if !some && needsRows {
				return nil
			}
			return emit(c, agg.Result(&acc), em)
		}}
	}}
}

// Whole keeps the rows of a window and hands all of them to apply when it fires. rows can be ranged over several times, during
// the call.
func Whole[K, T, U any](apply func(c *Call[K], rows iter.Seq[T], em *basic.Emitter[U]) error) Function[K, T, U] {
	return Function[K, T, U]{content: func(bool) content[K, T, U] { return &kept[K, T, U]{apply: apply} }}
}

// accumulated keeps an accumulator for each window: in place if it has no pointers, else encoded.
type accumulated[K, T, A, R, U any] struct {
	agg   Aggregate[T, A, R]
	emit  func(c *Call[K], r R, em *basic.Emitter[U]) error
	o     *general[K, T, U]
	state statebackend.Value
	codec *codec.Codec[A] // nil if accumulators lie in place
	buf   []byte
	acc   A // scratch: functions never see a place in the table that they could change unnoticed
	other A
}

func (s *accumulated[K, T, A, R, U]) open(o *general[K, T, U]) error {
	s.o = o
	c, err := codec.For[A]()
	if err != nil {
		return errs.Wrap(err, "", 0, o.ctx.Place(), "the accumulator cannot be kept as state")
	}
	width, fixed := c.Fixed()
	if !fixed || width == 0 {
		s.codec, width = c, 0
	}
	s.state, err = o.backend.Value(statebackend.Descriptor{Name: "windows/content", Width: width, NamespaceWidth: len(namespace{})})
	return err
}

// load copies the accumulator to acc, which becomes zero if there is none.
func (s *accumulated[K, T, A, R, U]) load(key statebackend.Key, ns namespace, acc *A) (bool, error) {
	var zero A
	*acc = zero
	b, ok := s.state.Get(key, ns[:])
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

func (s *accumulated[K, T, A, R, U]) store(key statebackend.Key, ns namespace, acc *A) {
	if s.codec == nil {
		p, _ := s.state.Ref(key, ns[:])
		*(*A)(p) = *acc
		return
	}
	s.buf = s.codec.Append(s.buf[:0], acc)
	s.state.Put(key, ns[:], s.buf)
}

func (s *accumulated[K, T, A, R, U]) add(key statebackend.Key, home window.Window, row *T, _ int64) error {
	s.o.doing = "the aggregation's Add"
	ns := namespaceOf(home)
	if s.codec == nil {
		p, _ := s.state.Ref(key, ns[:])
		s.agg.Add((*A)(p), *row)
		return nil
	}
	if _, err := s.load(key, ns, &s.acc); err != nil {
		return err
	}
	s.agg.Add(&s.acc, *row)
	s.store(key, ns, &s.acc)
	return nil
}

func (s *accumulated[K, T, A, R, U]) merge(key statebackend.Key, into, from window.Window) error {
	s.o.doing = "the aggregation's Merge"
	ns := namespaceOf(from)
	ok, err := s.load(key, ns, &s.other)
	if !ok || err != nil {
		return err // it was purged
	}
	s.state.Clear(key, ns[:])
	ns = namespaceOf(into)
	if ok, err = s.load(key, ns, &s.acc); err != nil {
		return err
	}
	s.agg.Merge(&s.acc, &s.other)
	s.store(key, ns, &s.acc)
	return nil
}

func (s *accumulated[K, T, A, R, U]) has(key statebackend.Key, home window.Window) bool {
	ns := namespaceOf(home)
	_, ok := s.state.Get(key, ns[:])
	return ok
}

func (s *accumulated[K, T, A, R, U]) fire(c *Call[K], home window.Window, em *basic.Emitter[U]) error {
	if _, err := s.load(c.key, namespaceOf(home), &s.acc); err != nil {
		return err
	}
	s.o.doing = "the aggregation's Result"
	r := s.agg.Result(&s.acc)
	s.o.doing = "the window function"
	return s.emit(c, r, em)
}

func (s *accumulated[K, T, A, R, U]) clear(key statebackend.Key, home window.Window) {
	ns := namespaceOf(home)
	s.state.Clear(key, ns[:])
}
