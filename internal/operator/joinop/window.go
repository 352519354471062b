package joinop

import (
	"fmt"
	"math"
	"slices"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/timer"
	"github.com/weir-stream/weir/window"
)

// WindowConfig describes a window join or coGroup of two keyed streams.
type WindowConfig[K, A, B, U any] struct {
	// Left and Right are one spec bound to the rows of either side; FitsWindow says which are served.
	Left  *window.Bound[A]
	Right *window.Bound[B]
	// LeftKey and RightKey select a row's key, Keys encodes it.
	LeftKey  func(A) K
	RightKey func(B) K
	Keys     *codec.KeyCodec[K]
	// NeedLeft and NeedRight say that a window without rows of that side has no result.
	NeedLeft, NeedRight bool
	// Apply is called with the rows of both sides, in the order of arrival, when a window fires. The slices are borrowed for
	// the call, in which alone out may be used.
	Apply func(key K, w window.Window, left []A, right []B, out *basic.Outlet[U]) error
	// LateLeft and LateRight are the names of the side outputs for late rows, or "".
	LateLeft, LateRight string
}

// FitsWindow returns why windows of that kind cannot join two streams, or "".
func FitsWindow[T any](b *window.Bound[T]) string {
	switch {
	case b.Trigger == nil:
		return "count windows cannot join two streams, since they count one: use window.Global() with a trigger"
	case b.EvictBefore != nil || b.EvictAfter != nil:
		return "an evictor works on the rows of one stream: drop rows in the function that gets both sides"
	case b.KeepsElement:
		return "a trigger that remembers a row works on one stream: use OnEventTime, OnCount or a timed trigger"
	}
	return ""
}

// NewWindow returns the operator. A window's results have its maximum timestamp. Both sides share one trigger for each key
// and window, and sessions merge over the rows of both.
//
// State, by key and window: a list of encoded rows for each side, the words of the trigger; by key: the live sessions.
func NewWindow[K, A, B, U any](cfg WindowConfig[K, A, B, U]) operator.Operator {
	o := &windows[K, A, B, U]{cfg: cfg, watermark: event.NoTime, next: math.MaxInt64, alarmAt: math.MaxInt64}
	o.left = pile[K, A]{name: "left", key: cfg.LeftKey, bound: cfg.Left, lateSide: cfg.LateLeft}
	o.right = pile[K, B]{name: "right", key: cfg.RightKey, bound: cfg.Right, lateSide: cfg.LateRight}
	o.left.trigger.host, o.right.trigger.host = o, o
	o.merging, o.processing = cfg.Left.Merging(), cfg.Left.Domain == window.ProcessingTime
	return o
}

type windows[K, A, B, U any] struct {
	cfg        WindowConfig[K, A, B, U]
	ctx        *operator.Context
	em         *basic.Emitter[U]
	left       pile[K, A]
	right      pile[K, B]
	merging    bool
	processing bool
	watermark  int64

	state    statebackend.Keyed
	triggers statebackend.Value // nil if the trigger remembers nothing
	sessions statebackend.Value // nil unless windows merge
	timers   [2]*timer.Timers   // by window.Domain
	// next is not after the first processing-time timer, alarmAt is when alarm will be called; MaxInt64 is never.
	next, alarmAt int64
	alarm         func() // cancels it

	out    *basic.Outlet[U]
	moment basic.Moment // of the window at work

	// failing is the window that the user's function is called for, for messages.
	failing   failedWindow[K]
	isFailing bool
	keyBuf    []byte
	ns        []byte // scratch for a window's namespace
	home      []byte // scratch for the namespace of a window's content
	timerNS   []byte
	blank     window.State // of triggers that remember nothing
	windows   []window.Window
	live      window.Sessions
	merge     window.Merge
	states    []window.State
	olds      []*window.State
	sessBuf   []byte
}

// pile is what one side keeps of a window.
type pile[K, T any] struct {
	name     string
	key      func(T) K
	bound    *window.Bound[T]
	lateSide string
	late     *basic.LateRows[T]
	rows     basic.Stored[T]
	list     statebackend.List
	enc      []byte
	out      []T
	take     func(enc []byte) bool // adds a row to out
	err      error                 // of take
	trigger  triggerContext[K, T]
	moved    []byte // scratch of move
	ends     []int
}

// failedWindow is how a window that a function failed at shows in messages.
type failedWindow[K any] struct {
	Key         K
	Window      window.Window
	Left, Right int // rows
}

func (h *pile[K, T]) open(ctx *operator.Context, out operator.Collector, state statebackend.Keyed) (err error) {
	h.late = basic.NewLateRows[T](ctx, out, h.name, h.lateSide)
	h.take = func(enc []byte) bool {
		n := len(h.out)
		h.out = slices.Grow(h.out, 1)[:n+1]
		h.err = h.rows.Decode(enc, &h.out[n])
		return h.err == nil
	}
	if h.rows, err = basic.NewStored[T](ctx, "a row of the "+h.name+" input"); err != nil {
		return err
	}
	h.list, err = state.List(statebackend.Descriptor{Name: h.name, Kind: statebackend.KindList, Width: h.rows.Width(), NamespaceWidth: nsBytes,
		Values: h.rows.Values(), Schema: h.rows.Schema(codec.Table{Namespace: spaces(h.bound)})})
	return err
}

// load decodes the rows of a window into h.out.
func (h *pile[K, T]) load(key statebackend.Key, home []byte) error {
	clear(h.out)
	h.out = h.out[:0]
	h.list.Each(key, home, h.take)
	return h.err
}

// move appends the content of one window to that of another.
func (h *pile[K, T]) move(key statebackend.Key, from, to []byte) {
	h.moved, h.ends = h.moved[:0], h.ends[:0]
	h.list.Each(key, from, func(enc []byte) bool {
		h.moved = append(h.moved, enc...)
		h.ends = append(h.ends, len(h.moved))
		return true
	})
	start := 0
	for _, end := range h.ends {
		h.list.Append(key, to, h.moved[start:end])
		start = end
	}
	h.list.Clear(key, from)
}

// nsBytes is the size of a window's namespace: start and end, in the order of time.
const nsBytes = 16

// spaces says in the schema of a state by window what the windows are.
func spaces[T any](b *window.Bound[T]) string {
	return b.Kind.String() + " window in " + b.Domain.String()
}

func appendWindow(dst []byte, w window.Window) []byte {
	return appendTime(appendTime(dst, w.Start), w.End)
}

func windowOf(ns []byte) window.Window {
	return window.Window{Start: timeOf(ns), End: timeOf(ns[8:])}
}

func (o *windows[K, A, B, U]) Open(ctx *operator.Context, out operator.Collector) (err error) {
	o.ctx, o.em = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows)
	o.out = basic.NewOutlet(o.em, &o.moment)
	width, _ := o.cfg.Keys.FixedWidth()
	if o.state, err = ctx.OpenState(width); err != nil {
		return err
	}
	o.watermark = ctx.WatermarkThen()
	o.timers = [2]*timer.Timers{timer.New(nil), timer.New(nil)}
	ctx.AddTimers("event-timers", snapshot.KindEventTimers, nsBytes, o.timers[window.EventTime])
	ctx.AddTimers("processing-timers", snapshot.KindProcessingTimer, nsBytes, o.timers[window.ProcessingTime])
	if o.cfg.Left.StateWords > 0 {
		o.triggers, err = o.state.Value(statebackend.Descriptor{Name: "trigger", Kind: statebackend.KindValue, Width: stateBytes, NamespaceWidth: nsBytes,
			Schema: codec.Table{Layout: "memory of a trigger", Namespace: spaces(o.cfg.Left)}.Append(nil)})
		if err != nil {
			return err
		}
	}
	if o.merging {
		if o.sessions, err = o.state.Value(statebackend.Descriptor{Name: "sessions", Kind: statebackend.KindValue,
			Schema: codec.Table{Layout: "live sessions: window, home"}.Append(nil)}); err != nil {
			return err
		}
	}
	if err := o.left.open(ctx, out, o.state); err != nil {
		return err
	}
	return o.right.open(ctx, out, o.state)
}

// AfterRestore implements operator.Restorer: timers of the clock that are overdue fire at once.
func (o *windows[K, A, B, U]) AfterRestore() error {
	if t, ok := o.timers[window.ProcessingTime].NextTime(); ok {
		o.next = t
		o.arm()
	}
	return nil
}

func (o *windows[K, A, B, U]) Process(input int, b event.Batch) (err error) {
	if input == 0 {
		err = gather(o, b.(*event.Records[A]), &o.left)
	} else {
		err = gather(o, b.(*event.Records[B]), &o.right)
	}
	if err != nil {
		return err
	}
	o.arm()
	return o.state.Err()
}

// gather adds a batch of one side to its windows.
func gather[K, A, B, U, T any](o *windows[K, A, B, U], in *event.Records[T], h *pile[K, T]) (err error) {
	defer in.Release()
	in.Compact()
	row := 0
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failed(p, err, func() (any, int64) { return in.Rows[row], in.Times[row] })
		}
	}()
	now := int64(0)
	if o.processing {
		now = o.ctx.Now()
	}
	for row = range in.Rows {
		v, t := &in.Rows[row], in.Times[row]
		if o.processing {
			t = now
		}
		if t == event.NoTime && (h.bound.Grid != nil || o.merging) {
			return basic.NoTimeError(o.ctx, *v, "give the source the option weir.EventTime, or use .ProcessingTime() windows")
		}
		k := h.key(*v)
		o.keyBuf = o.cfg.Keys.Append(o.keyBuf[:0], &k)
		taken, err := place(o, statebackend.Key{Hash: in.Hash[row], Bytes: o.keyBuf}, v, t, h)
		if err != nil {
			return err
		}
		if !taken && (o.merging || h.bound.LateRow(t, o.watermark)) {
			if err := h.late.Take(*v, t, o.watermark); err != nil {
				return err
			}
		}
	}
	return nil
}

// place adds a row to each of its windows that is not over, and reports whether there was one.
func place[K, A, B, U, T any](o *windows[K, A, B, U], key statebackend.Key, v *T, t int64, h *pile[K, T]) (taken bool, err error) {
	if o.windows, err = h.bound.Assign(o.windows[:0], *v, t); err != nil {
		return false, err
	}
	h.enc = h.rows.Append(h.enc[:0], v)
	for _, w := range o.windows {
		home := w
		if o.merging {
			var live window.LiveSession
			if live, err = o.session(key, w); err != nil {
				return taken, err
			}
			w, home = live.Window, homeOf(live)
		}
		if h.bound.Late(w, o.watermark) {
			if o.merging {
				o.live.Remove(w)
				o.storeSessions(key)
			}
			continue
		}
		taken = true
		o.home = appendWindow(o.home[:0], home)
		h.list.Append(key, o.home, h.enc)
		o.ns = appendWindow(o.ns[:0], w)
		r := h.bound.Trigger.OnElement(*v, t, w, h.trigger.at(key, w, o.memory(key)))
		if err := o.decide(key, w, home, r); err != nil {
			return taken, err
		}
		if over := o.cfg.Left.CleanupTime(w); over != math.MaxInt64 {
			o.setTimer(o.domain(), key, w, over)
		}
	}
	return taken, nil
}

// homeOf names the place of a session's content.
func homeOf(s window.LiveSession) window.Window { return window.Window{Start: s.Home, End: s.Home} }

func (o *windows[K, A, B, U]) domain() window.Domain { return o.cfg.Left.Domain }

// decide does what a trigger said.
func (o *windows[K, A, B, U]) decide(key statebackend.Key, w, home window.Window, r window.Result) error {
	if r == window.Continue {
		return nil
	}
	o.home = appendWindow(o.home[:0], home)
	if r.Fires() {
		if err := o.fire(key, w); err != nil {
			return err
		}
	}
	if r.Purges() {
		o.left.list.Clear(key, o.home)
		o.right.list.Clear(key, o.home)
	}
	return nil
}

// fire emits the results of the window whose content lies at o.home.
func (o *windows[K, A, B, U]) fire(key statebackend.Key, w window.Window) error {
	na, nb := o.left.list.Count(key, o.home), o.right.list.Count(key, o.home)
	if na+nb == 0 || na == 0 && o.cfg.NeedLeft || nb == 0 && o.cfg.NeedRight {
		return nil
	}
	if err := o.left.load(key, o.home); err != nil {
		return err
	}
	if err := o.right.load(key, o.home); err != nil {
		return err
	}
	var k K
	enc := key.Bytes
	if _, fixed := o.cfg.Keys.FixedWidth(); !fixed {
		enc = slices.Clone(enc) // strings in k alias it
	}
	if err := o.cfg.Keys.Decode(enc, &k); err != nil {
		return err
	}
	o.moment.Time = w.MaxTimestamp()
	o.failing, o.isFailing = failedWindow[K]{k, w, na, nb}, true
	if err := o.cfg.Apply(k, w, o.left.out, o.right.out, o.out); err != nil {
		return err
	}
	o.isFailing = false
	return o.moment.Err
}

// Watermark implements operator.Operator.
func (o *windows[K, A, B, U]) Watermark(t int64) error {
	o.watermark = t
	if err := o.advance(window.EventTime, t); err != nil {
		return err
	}
	o.arm()
	return nil
}

// advance fires the timers of one clock up to t.
func (o *windows[K, A, B, U]) advance(d window.Domain, t int64) (err error) {
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failed(p, err, func() (any, int64) { return nil, 0 })
		}
	}()
	if err := o.timers[d].Advance(t, func(key statebackend.Key, ns []byte, due int64) error { return o.due(d, key, windowOf(ns), due) }); err != nil {
		return err
	}
	return o.state.Err()
}

// due handles a timer of a window. A window that has merged into another since is not there any more.
func (o *windows[K, A, B, U]) due(d window.Domain, key statebackend.Key, w window.Window, t int64) error {
	home := w
	if o.merging {
		o.loadSessions(key)
		live, ok := o.live.Find(w)
		if !ok {
			return nil
		}
		home = homeOf(live)
	}
	o.ns = appendWindow(o.ns[:0], w)
	ctx := o.left.trigger.at(key, w, o.memory(key))
	var r window.Result
	if d == window.EventTime {
		r = o.cfg.Left.Trigger.OnEventTime(t, w, ctx)
	} else {
		r = o.cfg.Left.Trigger.OnProcessingTime(t, w, ctx)
	}
	if err := o.decide(key, w, home, r); err != nil {
		return err
	}
	if d == o.domain() && t == o.cfg.Left.CleanupTime(w) && !w.IsGlobal() {
		o.forget(key, w, home)
	}
	return nil
}

// forget drops everything that is kept for a window.
func (o *windows[K, A, B, U]) forget(key statebackend.Key, w, home window.Window) {
	o.home = appendWindow(o.home[:0], home)
	o.left.list.Clear(key, o.home)
	o.right.list.Clear(key, o.home)
	o.clearTrigger(key, w)
	if o.merging {
		o.live.Remove(w)
		o.storeSessions(key)
	}
}

// failed names the operator and the window or row in an error of a user's function.
func (o *windows[K, A, B, U]) failed(p any, err error, row func() (any, int64)) error {
	v, t := row()
	if o.isFailing {
		v, t = o.failing, o.moment.Time
	}
	return operator.RowError(o.ctx, p, err, v, t)
}

// Finish implements operator.Finisher. Windows in processing time that the end of the input finds open fire, although
// their time has not come: their rows would be lost otherwise.
func (o *windows[K, A, B, U]) Finish() error {
	if !o.processing {
		return nil
	}
	var open []byte // key and window of each cleanup timer; the timers change while windows fire
	var hashes []uint64
	var ends []int
	o.timers[window.ProcessingTime].All(func(key statebackend.Key, ns []byte, t int64) bool {
		if t == o.cfg.Left.CleanupTime(windowOf(ns)) {
			open = append(append(open, ns...), key.Bytes...)
			hashes, ends = append(hashes, key.Hash), append(ends, len(open))
		}
		return true
	})
	start := 0
	for i, end := range ends {
		key := statebackend.Key{Hash: hashes[i], Bytes: open[start+nsBytes : end]}
		w := windowOf(open[start:])
		start = end
		if err := o.finishWindow(key, w); err != nil {
			return err
		}
	}
	return nil
}

func (o *windows[K, A, B, U]) finishWindow(key statebackend.Key, w window.Window) (err error) {
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failed(p, err, func() (any, int64) { return nil, 0 })
		}
	}()
	return o.due(window.ProcessingTime, key, w, o.cfg.Left.CleanupTime(w))
}

// Flush implements operator.Flusher.
func (o *windows[K, A, B, U]) Flush() error {
	if err := o.em.Flush(); err != nil {
		return err
	}
	if err := o.left.late.Flush(); err != nil {
		return err
	}
	return o.right.late.Flush()
}

func (o *windows[K, A, B, U]) Close() error {
	o.em.Drop()
	o.left.late.Drop()
	o.right.late.Drop()
	if o.alarm != nil {
		o.alarm()
		o.alarm = nil
	}
	for i, t := range o.timers {
		if t != nil {
			t.Close()
			o.timers[i] = nil
		}
	}
	if o.state == nil {
		return nil
	}
	err := o.state.Close()
	o.state = nil
	return errs.Wrap(err, "", 0, o.ctx.Place(), "close of the state failed")
}

// String returns the windows' description.
func (o *windows[K, A, B, U]) String() string { return fmt.Sprintf("join over %s", o.cfg.Left.Text) }
