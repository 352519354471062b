package windowop

import (
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/window"
)

// rules says when windows fire and which rows they drop. It is the Bound's, or what a count window stands for.
type rules[T any] struct {
	trigger       window.TriggerOf[T]
	merging       window.MergingTrigger[T] // the same, for sessions
	before, after window.Evict[T]
	remembers     bool // the trigger has State
}

func rulesOf[T any](b *window.Bound[T]) rules[T] {
	r := rules[T]{trigger: b.Trigger, before: b.EvictBefore, after: b.EvictAfter, remembers: b.StateWords > 0}
	r.merging, _ = b.Trigger.(window.MergingTrigger[T])
	switch b.Kind {
	case window.KindCount:
		r.trigger, r.remembers = everyRows[T]{n: b.Rows, result: window.FireAndPurge}, true
	case window.KindCountSliding:
		r.trigger, r.remembers = everyRows[T]{n: b.EveryRows, result: window.Fire}, true
		size := int(b.Rows)
		r.before = func(e *window.Elements[T], _ window.Moment) { e.DropFirst(len(e.Rows) - size) }
	}
	return r
}

func (r *rules[T]) evicts() bool { return r.before != nil || r.after != nil }

// everyRows is the trigger of count windows.
type everyRows[T any] struct {
	n      int64
	result window.Result
}

func (t everyRows[T]) OnElement(_ T, _ int64, _ window.Window, ctx window.Context[T]) window.Result {
	s := ctx.State()
	count, _ := s.Get(0)
	if count+1 < t.n {
		s.Set(0, count+1)
		return window.Continue
	}
	s.Unset(0)
	return t.result
}

func (everyRows[T]) OnEventTime(int64, window.Window, window.Context[T]) window.Result {
	return window.Continue
}

func (everyRows[T]) OnProcessingTime(int64, window.Window, window.Context[T]) window.Result {
	return window.Continue
}

func (everyRows[T]) Clear(window.Window, window.Context[T]) {}

// triggerContext is what a trigger sees: the operator's present key, and one window. It keeps a copy of the trigger's memory
// from the first State to leave, so that the pointer does not point into a table.
type triggerContext[K, T, U any] struct {
	o        *general[K, T, U]
	states   statebackend.Value // nil if the trigger has no memory
	elements statebackend.Value // nil if the trigger keeps no row
	codec    *codec.Codec[T]
	buf      []byte

	w          window.Window
	ns         namespace
	loaded     bool
	state, was window.State
	// The timer set last for w, so that the operator need not set it again.
	lastDomain window.Domain
	lastTime   int64
	lastSet    bool
}

var _ window.Context[int] = (*triggerContext[int, int, int])(nil)

func (c *triggerContext[K, T, U]) open(backend statebackend.Keyed) (err error) {
	if c.o.rules.remembers {
		c.states, err = backend.Value(statebackend.Descriptor{Name: "windows/trigger", Width: int(unsafe.Sizeof(window.State{})), NamespaceWidth: len(namespace{}),
			Schema: codec.Table{Layout: "memory of a trigger", Namespace: Spaces(c.o.bound)}.Append(nil)})
		if err != nil {
			return err
		}
	}
	if c.o.bound.KeepsElement {
		if c.codec, err = codec.For[T](); err != nil {
			return errs.Wrap(err, "", 0, c.o.ctx.Place(), "the trigger keeps a row, and rows cannot be kept as state")
		}
		values, err := codec.ValuesOf[T]()
		if err != nil {
			return err
		}
		c.elements, err = backend.Value(statebackend.Descriptor{Name: "windows/element", NamespaceWidth: len(namespace{}), Values: values,
			Schema: codec.Table{Value: values.Schema, Namespace: Spaces(c.o.bound)}.Append(nil)})
		return err
	}
	return err
}

// enter makes the context speak for a window.
func (c *triggerContext[K, T, U]) enter(w window.Window) {
	c.w, c.ns = w, namespaceOf(w)
	c.loaded, c.lastSet = false, false
	c.state, c.was = window.State{}, window.State{}
}

// leave stores the trigger's memory if it has changed.
func (c *triggerContext[K, T, U]) leave() {
	if !c.loaded || c.state == c.was {
		return
	}
	if c.state == (window.State{}) {
		c.states.Clear(c.o.key, c.ns[:])
		return
	}
	p, _ := c.states.Ref(c.o.key, c.ns[:])
	*(*window.State)(p) = c.state
}

// drop forgets what the trigger remembers.
func (c *triggerContext[K, T, U]) drop() {
	if c.states != nil {
		c.states.Clear(c.o.key, c.ns[:])
	}
	if c.elements != nil {
		c.elements.Clear(c.o.key, c.ns[:])
	}
}

// has reports whether the trigger has just set a timer.
func (c *triggerContext[K, T, U]) has(d window.Domain, t int64) bool {
	return c.lastSet && c.lastDomain == d && c.lastTime == t
}

func (c *triggerContext[K, T, U]) Watermark() int64      { return c.o.watermark }
func (c *triggerContext[K, T, U]) ProcessingTime() int64 { return c.o.now }

func (c *triggerContext[K, T, U]) SetTimer(d window.Domain, t int64) {
	if d == window.ProcessingTime && c.o.draining {
		return
	}
	c.lastDomain, c.lastTime, c.lastSet = d, t, true
	c.o.timers[d].Register(c.o.key, c.ns[:], t)
}

func (c *triggerContext[K, T, U]) DeleteTimer(d window.Domain, t int64) {
	if d == c.o.bound.Domain && t == c.o.bound.CleanupTime(c.w) && t != event.MaxTime {
		return // the operator's own
	}
	c.lastSet = false
	c.o.timers[d].Delete(c.o.key, c.ns[:], t)
}

func (c *triggerContext[K, T, U]) State() *window.State {
	if !c.loaded && c.states != nil {
		c.loaded = true
		if b, ok := c.states.Get(c.o.key, c.ns[:]); ok {
			c.state = *(*window.State)(unsafe.Pointer(unsafe.SliceData(b)))
		}
		c.was = c.state
	}
	return &c.state
}

func (c *triggerContext[K, T, U]) Element() (row T, ok bool) {
	if c.elements == nil {
		return row, false
	}
	b, ok := c.elements.Get(c.o.key, c.ns[:])
	if !ok {
		return row, false
	}
	if _, err := c.codec.DecodeCopy(b, &row); err != nil {
		panic(err) // bytes that this operator wrote: the state is corrupt
	}
	return row, true
}

func (c *triggerContext[K, T, U]) SetElement(row T) {
	if c.elements == nil {
		return
	}
	c.buf = c.codec.Append(c.buf[:0], &row)
	c.elements.Put(c.o.key, c.ns[:], c.buf)
}
