package windowop

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/window"
)

// kept keeps every row of a window, encoded, in the order of arrival: its time (8 bytes, little endian) and the row.
type kept[K, T, U any] struct {
	bind  func(c *Call[K], out *basic.Outlet[U]) Hooks[iter.Seq[T]]
	hooks Hooks[iter.Seq[T]]
	o     *general[K, T, U]
	list  statebackend.List
	codec *codec.Codec[T]
	buf   []byte
	ns    namespace
	rows  []T // scratch of evicting
	times []int64
}

const timeBytes = 8

func (s *kept[K, T, U]) open(o *general[K, T, U], out *basic.Outlet[U]) (lifecycle, error) {
	s.o = o
	c, err := codec.For[T]()
	if err != nil {
		return lifecycle{}, errs.Wrap(err, "", 0, o.ctx.Place(), "the rows of these windows cannot be kept as state")
	}
	s.codec = c
	width, fixed := c.Fixed()
	if fixed {
		width += timeBytes
	}
	values, err := codec.ValuesOf[T]()
	if err != nil {
		return lifecycle{}, err
	}
	s.list, err = o.backend.List(statebackend.Descriptor{Name: "windows/content", Width: width, NamespaceWidth: len(namespace{}), Values: values,
		Schema: codec.Table{Value: values.Schema, Prefix: timeBytes, Layout: "time, row", Namespace: Spaces(o.bound)}.Append(nil)})
	if err == nil {
		err = o.call.Call("the function's making", func() error {
			s.hooks = s.bind(&o.call, out)
			return nil
		})
	}
	return s.hooks.lifecycle(), err
}

func (s *kept[K, T, U]) encode(dst []byte, row *T, ts int64) []byte {
	return s.codec.Append(binary.LittleEndian.AppendUint64(dst, uint64(ts)), row)
}

func (s *kept[K, T, U]) add(key statebackend.Key, home window.Window, row *T, ts int64) (fresh bool, err error) {
	s.o.doing = "encoding the row"
	s.buf = s.encode(s.buf[:0], row, ts)
	fresh = s.o.plain && !s.has(key, home) // nobody else asks
	s.ns = namespaceOf(home)
	s.list.Append(key, s.ns[:], s.buf)
	return fresh, nil
}

func (s *kept[K, T, U]) merge(key statebackend.Key, into, from window.Window) error {
	source, target := namespaceOf(from), namespaceOf(into)
	var moved [][]byte // own copies: the list's memory moves as it grows
	s.list.Each(key, source[:], func(e []byte) bool {
		moved = append(moved, slices.Clone(e))
		return true
	})
	s.list.Clear(key, source[:])
	for _, e := range moved {
		s.list.Append(key, target[:], e)
	}
	return nil
}

func (s *kept[K, T, U]) has(key statebackend.Key, home window.Window) bool {
	s.ns = namespaceOf(home)
	return s.list.Count(key, s.ns[:]) > 0
}

func (s *kept[K, T, U]) clear(key statebackend.Key, home window.Window) {
	s.ns = namespaceOf(home)
	s.list.Clear(key, s.ns[:])
}

func (s *kept[K, T, U]) fire(home window.Window) error {
	ns := namespaceOf(home)
	if s.o.rules.evicts() {
		return s.fireEvicting(ns)
	}
	var failed error
	over := false
	rows := func(yield func(T) bool) {
		if over {
			return
		}
		s.list.Each(s.o.key, ns[:], func(e []byte) bool {
			var row T
			if _, failed = s.codec.DecodeCopy(e[timeBytes:], &row); failed != nil {
				return false
			}
			return yield(row)
		})
	}
	s.o.doing = "the window function"
	err := s.hooks.Fire(rows)
	over = true
	if failed != nil {
		return failed
	}
	return err
}

// fireEvicting takes the rows out of the list, lets the evictor drop some before and after the function, and stores what is
// left.
func (s *kept[K, T, U]) fireEvicting(ns namespace) (err error) {
	s.rows, s.times = s.rows[:0], s.times[:0]
	s.list.Each(s.o.key, ns[:], func(e []byte) bool {
		var row T
		if _, err = s.codec.DecodeCopy(e[timeBytes:], &row); err != nil {
			return false
		}
		s.rows, s.times = append(s.rows, row), append(s.times, int64(binary.LittleEndian.Uint64(e)))
		return true
	})
	if err != nil {
		return err
	}
	defer clear(s.rows)
	e := window.Elements[T]{Rows: s.rows, Times: s.times}
	at := window.Moment{Window: s.o.call.Window, Watermark: s.o.watermark, ProcessingTime: s.o.now}
	if s.o.rules.before != nil {
		s.o.doing = "the evictor"
		s.o.rules.before(&e, at)
	}
	s.o.doing = "the window function"
	if err := s.hooks.Fire(slices.Values(e.Rows)); err != nil {
		return err
	}
	if s.o.rules.after != nil {
		s.o.doing = "the evictor"
		s.o.rules.after(&e, at)
	}
	if len(e.Rows) == len(s.rows) {
		return nil
	}
	left := make([][]byte, len(e.Rows))
	for i := range e.Rows {
		left[i] = s.encode(nil, &e.Rows[i], e.Times[i])
	}
	s.list.Put(s.o.key, ns[:], left)
	return nil
}
