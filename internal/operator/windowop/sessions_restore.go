package windowop

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// Sessions are saved as two states: by key the newest session, and a list of the older ones. The timer of a key is in front of
// its newest session, so timers are not saved by themselves.
//
//	newest   | timer i64 | start i64 | end i64 | accumulator |
//	older                | start i64 | end i64 | accumulator |  ...

const (
	newestState = "windows/newest"
	olderState  = "windows/older"
	spanBytes   = 16
)

// restorable registers both states.
func (o *sessions[K, T, A, R, U]) restorable() error {
	values, err := codec.ValuesOf[A]()
	if err != nil {
		return err
	}
	width := int(unsafe.Sizeof(o.acc))
	part := func(name string, kind snapshot.Kind, prefix int, layout string) operator.KeyedPart {
		return operator.KeyedPart{Values: values, State: snapshot.State{Name: name, Kind: kind, Width: prefix + width,
			Schema: codec.Table{Value: values.Schema, Prefix: prefix, Layout: layout}.Append(nil)}}
	}
	newest := part(newestState, snapshot.KindValue, 8+spanBytes, "timer and newest session")
	newest.Cut = func() (statebackend.Frozen, error) { return frozenNewest[A]{o.cells.Cut()}, nil }
	newest.Load = func(e *snapshot.Entry) error {
		if len(e.Value) != newest.State.Width {
			return o.corrupt(e)
		}
		return o.restore(e, int64(binary.LittleEndian.Uint64(e.Value)), e.Value[8:])
	}
	older := part(olderState, snapshot.KindList, spanBytes, "older sessions")
	older.Cut = func() (statebackend.Frozen, error) { return frozenOlder[A]{o.rest.Cut()}, nil }
	older.Load = func(e *snapshot.Entry) error {
		if len(e.Value) != older.State.Width {
			return o.corrupt(e)
		}
		return o.restore(e, event.MaxTime, e.Value)
	}
	o.ctx.AddKeyed(newest)
	o.ctx.AddKeyed(older)
	return nil
}

func (o *sessions[K, T, A, R, U]) corrupt(e *snapshot.Entry) error {
	return errs.New(errs.CodeCorrupt, errs.ClassFailJob, o.ctx.Place(), "the checkpoint is damaged: a session of %d bytes with a key of %d bytes", len(e.Value), len(e.Key))
}

// restore adds a session of an earlier run to its key.
func (o *sessions[K, T, A, R, U]) restore(e *snapshot.Entry, timer int64, saved []byte) error {
	if o.keys.width > 0 && len(e.Key) != o.keys.width {
		return o.corrupt(e)
	}
	var s session[A]
	s.start, s.end = int64(binary.LittleEndian.Uint64(saved)), int64(binary.LittleEndian.Uint64(saved[8:]))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&s.acc)), unsafe.Sizeof(s.acc)), saved[spanBytes:])
	p, _ := o.cells.Upsert(e.Hash, e.Key)
	c := (*cell[A])(p)
	o.load(c, e.Hash, e.Key)
	i, _ := slices.BinarySearchFunc(o.list, s.start, func(s session[A], start int64) int { return compare(s.start, start) })
	o.list = slices.Insert(o.list, i, s)
	o.store(c, e.Hash, e.Key)
	if timer < c.timer {
		o.plan(c, e.Hash, e.Key, timer)
	}
	return nil
}

func appendSession[A any](dst []byte, s *session[A]) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.start))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(s.end))
	return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(&s.acc)), unsafe.Sizeof(s.acc))...)
}

// frozenNewest is the cells at a cut.
type frozenNewest[A any] struct{ *paged.FrozenTable }

// Each implements statebackend.Frozen.
func (f frozenNewest[A]) Each(groups keygroup.Range, visit statebackend.Visit) {
	var buf []byte
	f.FrozenTable.Each(groups, func(hash uint64, key, value []byte) bool {
		c := (*cell[A])(unsafe.Pointer(unsafe.SliceData(value)))
		if c.live == 0 {
			return true
		}
		buf = appendSession(binary.LittleEndian.AppendUint64(buf[:0], uint64(c.timer)), &c.session)
		return visit(statebackend.Key{Hash: hash, Bytes: key}, nil, nil, buf)
	})
}

// Ordered implements statebackend.Ordered.
func (f frozenNewest[A]) Ordered() {}

// frozenOlder is the lists of older sessions at a cut.
type frozenOlder[A any] struct{ *paged.FrozenTable }

// Each implements statebackend.Frozen.
func (f frozenOlder[A]) Each(groups keygroup.Range, visit statebackend.Visit) {
	var buf []byte
	var list []session[A]
	f.FrozenTable.Each(groups, func(hash uint64, key, value []byte) bool {
		n := len(value) / int(unsafe.Sizeof(session[A]{}))
		list = slices.Grow(list[:0], n)[:n]
		copy(sessionMemory(list), value)
		for i := range list {
			buf = appendSession(buf[:0], &list[i])
			if !visit(statebackend.Key{Hash: hash, Bytes: key}, nil, nil, buf) {
				return false
			}
		}
		return true
	})
}

// Ordered implements statebackend.Ordered.
func (f frozenOlder[A]) Ordered() {}
