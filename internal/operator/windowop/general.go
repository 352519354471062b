package windowop

import (
	"fmt"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/processop"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/timer"
	"github.com/weir-stream/weir/window"
)

// GeneralConfig describes a General operator. U is the row that it emits.
type GeneralConfig[K, T, U any] struct {
	// Window is any kind of windows.
	Window *window.Bound[T]
	// Key selects a row's key, Keys encodes it.
	Key  func(T) K
	Keys *codec.KeyCodec[K]
	// Function is what is made of a window. It belongs to one operator.
	Function Function[K, T, U]
	// LateSide is the name of the side output for late rows, or "".
	LateSide string
}

// NewGeneral returns an operator that keeps the content of each key and window by itself, asks the trigger at each row and
// timer, and registers a timer for the end of each.
func NewGeneral[K, T, U any](cfg GeneralConfig[K, T, U]) operator.Operator {
	o := &general[K, T, U]{cfg: cfg, bound: cfg.Window, rules: rulesOf(cfg.Window), plain: cfg.Window.Plain}
	o.trig.o = o
	return o
}

// general is described in docs/design/windows.md. What it keeps, by key and window:
//
//	content    accumulator or list of rows; for sessions by key and Home
//	states     the memory of the trigger, if it has any
//	elements   the row that a trigger remembers
//	sessions   by key alone: the live sessions, sorted
//	timers     of both clocks; the namespace is the window. The timer at Bound.CleanupTime is the operator's own.
type general[K, T, U any] struct {
	cfg   GeneralConfig[K, T, U]
	bound *window.Bound[T]
	rules rules[T]
	plain bool // the trigger is not asked: see general_plain.go

	ctx      *operator.Context
	em       *basic.Emitter[U]
	late     *basic.LateRows[T]
	backend  statebackend.Keyed
	content  content[K, T, U]
	sessions statebackend.Value // nil unless windows merge
	keys     keyReader[K]
	timers   [2]*timer.Timers // by window.Domain

	watermark, now int64
	armed          func() // cancels the callback at armedAt
	armedAt        int64
	draining       bool // at the end of the input: no new timers of the clock

	// What the present call is about. key is owned by keyBuf.
	key    statebackend.Key
	keyBuf []byte
	rowKey K
	ns     namespace
	window window.Window
	doing  string // the user function that runs, for messages

	windows []window.Window
	live    window.Sessions
	merge   window.Merge
	encoded []byte // scratch of storeSessions
	trig    triggerContext[K, T, U]
	from    []window.State
	fromPtr []*window.State
	call    Call[K]
	hooks   lifecycle
	opened  bool
}

func (o *general[K, T, U]) Open(ctx *operator.Context, out operator.Collector) (err error) {
	o.ctx, o.em = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows)
	o.late = basic.NewLateRows[T](ctx, out, "", o.cfg.LateSide)
	o.watermark, o.now = ctx.WatermarkThen(), ctx.Now()
	o.keys = newKeyReader(o.cfg.Keys)
	if o.backend, err = ctx.OpenState(o.keys.width); err != nil {
		return err
	}
	o.timers = [2]*timer.Timers{timer.New(nil), timer.New(nil)}
	ctx.AddTimers("windows/event-timers", snapshot.KindEventTimers, len(namespace{}), o.timers[window.EventTime])
	ctx.AddTimers("windows/processing-timers", snapshot.KindProcessingTimer, len(namespace{}), o.timers[window.ProcessingTime])
	o.call.Runtime = processop.NewRuntime(ctx, out)
	o.call.merging, o.call.backend, o.call.spaces = o.bound.Merging(), o.backend, Spaces(o.bound)
	if o.bound.Merging() {
		if o.sessions, err = o.backend.Value(statebackend.Descriptor{Name: "windows/sessions",
			Schema: codec.Table{Layout: "live sessions: window, home"}.Append(nil)}); err != nil {
			return err
		}
	}
	if err := o.trig.open(o.backend); err != nil {
		return err
	}
	o.content = o.cfg.Function.content(o.rules.evicts())
	if o.hooks, err = o.content.open(o, basic.NewOutlet(o.em, &o.call.Moment)); err != nil {
		return err
	}
	o.opened = true
	return o.call.Call("Open", o.hooks.open)
}

// Snapshot implements operator.Snapshotter: the function's lists.
func (o *general[K, T, U]) Snapshot(cut *operator.Cut) error { return o.call.Snapshot(cut) }

// AfterRestore implements operator.Restorer: timers of the clock that are overdue fire at once.
func (o *general[K, T, U]) AfterRestore() error {
	o.arm()
	return nil
}

func (o *general[K, T, U]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	in.Compact()
	o.now = o.ctx.Now()
	if err := o.rows(in); err != nil {
		return err
	}
	o.arm()
	return o.backend.Err()
}

// Watermark implements operator.Operator.
func (o *general[K, T, U]) Watermark(t int64) error {
	o.watermark, o.now = t, o.ctx.Now()
	return o.advance(window.EventTime, t)
}

// onClock is the callback of the clock. Timers for now itself wait: rows of this millisecond may still come, and belong to
// windows that end with it. (Flink adds the same millisecond.)
func (o *general[K, T, U]) onClock(now int64) error {
	o.armed = nil
	o.now = now
	return o.advance(window.ProcessingTime, now-1)
}

// arm asks for a call at the first timer of the clock.
func (o *general[K, T, U]) arm() {
	t, ok := o.timers[window.ProcessingTime].NextTime()
	if o.armed != nil {
		if ok && t == o.armedAt {
			return
		}
		o.armed()
		o.armed = nil
	}
	if ok && t != event.MaxTime {
		o.armedAt = t
		o.armed = o.ctx.Timers.At(t+1, o.onClock)
	}
}

// Finish implements operator.Finisher. Timers of the clock that the end of the input finds waiting fire, although their
// time has not come: the rows of their windows would be lost otherwise. A trigger that sets another one then is not heard.
func (o *general[K, T, U]) Finish() error {
	o.draining = true
	return o.advance(window.ProcessingTime, event.MaxTime)
}

// BlobStates implements operator.BlobStates.
func (o *general[K, T, U]) BlobStates(f func(blob string, keys *codec.Schema, values *codec.Values)) {
	if o.call.Runtime != nil {
		o.call.BlobStates(f)
	}
}

// Flush implements operator.Flusher.
func (o *general[K, T, U]) Flush() error {
	if err := o.em.Flush(); err != nil {
		return err
	}
	if o.call.Runtime != nil {
		if err := o.call.FlushSides(); err != nil {
			return err
		}
	}
	return o.late.Flush()
}

func (o *general[K, T, U]) Close() error {
	o.em.Drop()
	o.late.Drop()
	if o.call.Runtime != nil {
		o.call.DropSides()
	}
	var err error
	if o.opened {
		o.opened = false
		err = o.call.Call("Close", o.hooks.close)
	}
	if o.armed != nil {
		o.armed()
		o.armed = nil
	}
	for i, t := range o.timers {
		if t != nil {
			t.Close()
			o.timers[i] = nil
		}
	}
	if o.backend != nil {
		if berr := o.backend.Close(); err == nil {
			err = berr
		}
		o.backend = nil
	}
	return err
}

// failure makes an error of what a user function returned or panicked with. Call it from a deferred function.
func (o *general[K, T, U]) failure(p any, err error, row string) error {
	if failed := o.call.Failed(); failed != nil {
		p, err = nil, failed // what follows a failed call of the context is most likely its consequence
	}
	return operator.UserError(o.ctx, p, err, func() string {
		where := ""
		if o.doing != "" {
			where = " (in " + o.doing + ")"
			if o.window != (window.Window{}) {
				where += keyPlace(o.cfg.Keys, o.key.Bytes, o.window)
			}
		}
		return where + row
	})
}

// keyPlace names a key and a window for a message. The key is left out if it is none.
func keyPlace[K any](c *codec.KeyCodec[K], enc []byte, w window.Window) string {
	var key K
	if err := c.Decode(enc, &key); err != nil || enc == nil {
		return " (window " + w.String() + ")"
	}
	return fmt.Sprintf(" (key %+v, window %s)", key, w)
}
