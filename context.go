package weir

import (
	"context"
	"log/slog"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator/processop"
	"github.com/weir-stream/weir/metric"
	"github.com/weir-stream/weir/state"
)

// Context is what a function can ask about the row or timer at work and about the subtask that it runs in. One belongs to
// one instance of a function: it may be kept from Open to Close, and used only by the goroutine that calls the function.
type Context struct{ rt *processop.Runtime }

// Context returns a context that ends when the job is cancelled. A function that blocks or runs long must watch it.
func (c *Context) Context() context.Context { return c.rt.Op.Ctx }

// Job returns the job's name.
func (c *Context) Job() string { return c.rt.Op.Job }

// Operator returns the operator's name.
func (c *Context) Operator() string { return c.rt.Op.Operator }

// Subtask returns the number of the subtask, from 0 below Parallelism.
func (c *Context) Subtask() int { return c.rt.Op.Subtask }

// Parallelism returns the number of the operator's subtasks.
func (c *Context) Parallelism() int { return c.rt.Op.Parallelism }

// Log returns a logger that carries the operator and the subtask.
func (c *Context) Log() *slog.Logger { return c.rt.Op.Log }

// Metrics returns the operator's metrics. Counters are added up over the subtasks in the job's Result.
func (c *Context) Metrics() metric.Group { return c.rt.Op.Metrics }

// Timestamp returns the event time of the row or event-time timer at work; ok is false if it has none.
func (c *Context) Timestamp() (t time.Time, ok bool) { return instant(c.rt.Time) }

// Watermark returns how far event time has come: no row at or before it is expected any more. ok is false before the first
// watermark. At the end of a bounded input it is the greatest time there is.
func (c *Context) Watermark() (t time.Time, ok bool) { return instant(c.rt.Watermark) }

func instant(ms int64) (time.Time, bool) {
	if ms == event.NoTime {
		return time.Time{}, false
	}
	return time.UnixMilli(ms).UTC(), true
}

// ProcessingTime returns the time of the engine's clock, which is read once a batch.
func (c *Context) ProcessingTime() time.Time { return time.UnixMilli(c.rt.Now()).UTC() }

// Side sends a row to a side output, with the time of the row or timer at work. Stream.Side reads it.
func (c *Context) Side[V any](tag Tag[V], v V) { processop.Side[V](c.rt, tag.name).Emit(v) }

// SideAt is Side with an event time of its own.
func (c *Context) SideAt[V any](tag Tag[V], v V, t time.Time) {
	processop.Side[V](c.rt, tag.name).EmitAt(v, t.UnixMilli())
}

// ListState opens a list that belongs to the subtask and not to a key. Call it in Open and keep the handle:
//
//	f.held = ctx.ListState(state.OperatorListOf[Order]("held"))
//
// Give the operator a name (Stream.Name): one without is found again only if the job's graph has not changed.
//
// What cannot be opened fails the job when Open returns.
func (c *Context) ListState[V any](d state.OperatorListDescriptor[V]) state.OperatorList[V] {
	l, err := state.OpenOperatorList(&c.rt.Lists, d)
	if err != nil {
		c.rt.Fail(errs.Wrap(err, errs.CodeSchema, errs.ClassUser, c.rt.Op.Place(), "the list state cannot be opened"))
	}
	return l
}

// KeyedContext is the Context of a function that works by key.
type KeyedContext[K any] struct {
	Context
	k *processop.Keyed[K]
}

// Key returns the key at work. There is none in Open and Close.
func (c *KeyedContext[K]) Key() K {
	key, ok := c.k.Key()
	if !ok {
		panic(errs.New(errs.CodeUserFunction, errs.ClassUser, c.Operator(), "Key was called while there is no key at work"))
	}
	return key
}

// State opens a state by key. Call it in Open and keep the handle:
//
//	f.count = ctx.State(state.ValueOf[int64]("count"))
//
// What cannot be opened fails the job when Open returns.
func (c *KeyedContext[K]) State[H any](d state.Descriptor[H]) H {
	store, err := c.k.Store()
	if err == nil {
		var h H
		if h, err = state.Open(store, d); err == nil {
			return h
		}
	}
	c.k.Fail(errs.Wrap(err, "", 0, c.k.Op.Place(), "the state cannot be opened"))
	var none H
	return none
}

// RegisterEventTimer has OnTimer called for the key at work when the watermark reaches t (in whole milliseconds). There is
// one timer for each key and time, however often it is registered. If the watermark is there already, the timer fires with the
// next one.
func (c *KeyedContext[K]) RegisterEventTimer(t time.Time) { c.k.RegisterEvent(t.UnixMilli()) }

// DeleteEventTimer takes a timer of the key at work back. If there is none it does nothing.
func (c *KeyedContext[K]) DeleteEventTimer(t time.Time) { c.k.DeleteEvent(t.UnixMilli()) }

// RegisterProcessingTimer has OnTimer called for the key at work when the engine's clock reaches t, or soon after. Timers
// whose time has not come when a bounded input ends do not fire; their number is logged.
func (c *KeyedContext[K]) RegisterProcessingTimer(t time.Time) { c.k.RegisterProcessing(t.UnixMilli()) }

// DeleteProcessingTimer takes a timer of the key at work back. If there is none it does nothing.
func (c *KeyedContext[K]) DeleteProcessingTimer(t time.Time) { c.k.DeleteProcessing(t.UnixMilli()) }
