package windowop

import (
	"slices"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/window"
)

// Config describes an operator that aggregates windows. U is the row that it emits.
type Config[K, T, A, R, U any] struct {
	// Window is any kind of windows.
	Window *window.Bound[T]
	// Key selects a row's key, Keys encodes it.
	Key  func(T) K
	Keys *codec.KeyCodec[K]
	// Aggregate is what is kept for each key.
	Aggregate Aggregate[T, A, R]
	// Make makes the row that is emitted.
	Make func(key K, w window.Window, r R) U
	// LateSide is the name of the side output for late rows, or "".
	LateSide string
	// NeedsRows says that a window from which an evictor has removed all rows has no result.
	NeedsRows bool
}

// New returns the operator that serves these windows best.
func New[K, T, A, R, U any](cfg Config[K, T, A, R, U]) operator.Operator {
	switch {
	case Fits(cfg.Window):
		return NewPanes(cfg)
	case FitsSessions[T, A](cfg.Window):
		return NewSessions(cfg)
	}
	return NewGeneral(GeneralConfig[K, T, U]{Window: cfg.Window, Key: cfg.Key, Keys: cfg.Keys, LateSide: cfg.LateSide, Function: cfg.Incremental()})
}

// Incremental is the aggregation as a function of General.
func (cfg Config[K, T, A, R, U]) Incremental() Function[K, T, U] {
	return Incremental(cfg.Aggregate, cfg.NeedsRows, func(c *Call[K], out *basic.Outlet[U]) Hooks[R] {
		return Hooks[R]{Fire: func(r R) error {
			out.Emit(cfg.Make(c.Key, c.Window, r))
			return c.Err
		}}
	})
}

// Fits reports whether Panes can serve windows of that kind.
func Fits[T any](b *window.Bound[T]) bool {
	return b.Grid != nil && b.Plain && b.EvictBefore == nil && b.EvictAfter == nil
}

// NewPanes returns the operator for tumbling and sliding windows with the plain trigger and no evictor.
func NewPanes[K, T, A, R, U any](cfg Config[K, T, A, R, U]) operator.Operator {
	return &panes[K, T, A, R, U]{cfg: cfg, grid: cfg.Window.Grid, processing: cfg.Window.Domain == window.ProcessingTime}
}

type panes[K, T, A, R, U any] struct {
	cfg        Config[K, T, A, R, U]
	grid       *window.Grid
	cursor     window.Cursor
	processing bool
	ctx        *operator.Context
	em         *basic.Emitter[U]
	late       *basic.LateRows[T]
	accs       *codec.Codec[A] // nil if accumulators lie in place
	keys       keyReader[K]
	time       int64      // the windows' own time: watermark, or processing time of the last firing
	ahead      []reached  // groups of keys that were further when they were cut
	loading    *pane[A]   // the pane that was loaded into last
	live       []*pane[A] // by rising start
	free       []*paged.Table
	expect     int              // keys of the last table that was taken back
	merged     *accumulators[A] // scratch of merging
	slices     *slider[A]       // nil unless panes are combined incrementally
	timer      func()           // cancels the processing-time timer

	// The key, if it is known, and the window that fires, for messages.
	firingKey []byte
	firing    window.Window
	acc       A // scratch of emit

	in      batchScratch[K]
	touched []touch[A] // panes that the present batch meets
	windows []window.Window
}

// pane is a stretch of time with its accumulators.
type pane[A any] struct {
	span window.Window
	last window.Window // the last window that the pane belongs to
	over int64         // when the pane may be forgotten
	accs accumulators[A]
}

// touch is a pane as one batch meets it.
type touch[A any] struct {
	span   window.Window
	pane   *pane[A] // nil if its rows go into no window
	refire []window.Window
	amend  bool // the pane has been combined with others already
	rows   []int32
}

func (o *panes[K, T, A, R, U]) Open(ctx *operator.Context, out operator.Collector) error {
	o.ctx, o.em = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows)
	o.late = basic.NewLateRows[T](ctx, out, "", o.cfg.LateSide)
	o.cursor = window.NewCursor(o.grid)
	o.keys, o.in = newKeyReader(o.cfg.Keys), newBatchScratch(o.cfg.Keys)
	c, err := codec.For[A]()
	if err != nil {
		return errs.Wrap(err, "", 0, ctx.Place(), "the accumulator cannot be kept as state")
	}
	if _, fixed := c.Fixed(); !fixed {
		o.accs = c
	}
	if o.grid.Sliced() && o.cfg.Window.Lateness == 0 {
		o.slices = newSlider(o)
	}
	return o.restorable(c)
}

// freeTables bounds the empty tables that are kept. They hold no memory, but know how many keys they had: sliding windows
// drop and make one for each pane.
const freeTables = 128

// newTable returns an empty table of accumulators.
func (o *panes[K, T, A, R, U]) newTable() accumulators[A] {
	a := accumulators[A]{codec: o.accs}
	if n := len(o.free); n > 0 {
		a.Table = o.free[n-1]
		o.free = o.free[:n-1]
		return a
	}
	cfg := paged.Config{KeyWidth: o.keys.width, Blobs: o.accs != nil, Expect: o.expect}
	if o.accs == nil {
		cfg.ValueWidth = a.width()
	}
	a.Table = paged.New(cfg)
	return a
}

// recycle takes a table back. Its memory returns to the pool of the process, from which the next pane takes it.
func (o *panes[K, T, A, R, U]) recycle(a accumulators[A]) {
	a.Reset()
	if len(o.free) < freeTables {
		o.free = append(o.free, a.Table)
		return
	}
	a.Table.Close()
}

func (o *panes[K, T, A, R, U]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	in.Compact()
	if o.processing {
		o.stamp(in)
	}
	if err := o.distribute(in); err != nil {
		return err
	}
	if err := o.takeInOrder(in); err != nil {
		return err
	}
	for i := range o.touched {
		t := &o.touched[i]
		if err := o.take(in, t); err != nil {
			return err
		}
		t.pane, t.refire, t.rows = nil, t.refire[:0], t.rows[:0]
	}
	o.touched = o.touched[:0]
	return o.arm()
}

// takeInOrder adds the batch's rows that make windows fire again, if they lie in several panes, one by one in the order of
// their arrival: what each firing shows must not depend on how rows were put into batches. Rows of other panes cannot be in
// these windows.
func (o *panes[K, T, A, R, U]) takeInOrder(in *event.Records[T]) error {
	again := 0
	for i := range o.touched {
		if o.mayRefire(&o.touched[i]) {
			again++
		}
	}
	if again < 2 {
		return nil
	}
	for {
		var first *touch[A]
		for i := range o.touched {
			t := &o.touched[i]
			if o.mayRefire(t) && len(t.rows) > 0 && (first == nil || t.rows[0] < first.rows[0]) {
				first = t
			}
		}
		if first == nil {
			return nil
		}
		rest := first.rows[1:]
		first.rows = first.rows[:1]
		if err := o.take(in, first); err != nil {
			return err
		}
		first.rows = rest
	}
}

// mayRefire reports whether rows of a pane may make windows fire again.
func (o *panes[K, T, A, R, U]) mayRefire(t *touch[A]) bool {
	return len(t.refire) > 0 || len(o.ahead) > 0
}

// stamp gives rows the processing time, which is their time in processing-time windows.
func (o *panes[K, T, A, R, U]) stamp(in *event.Records[T]) {
	now := o.ctx.Now()
	for i := range in.Times {
		in.Times[i] = now
	}
}

// distribute sorts the rows of a batch by pane. Most batches meet one or two.
func (o *panes[K, T, A, R, U]) distribute(in *event.Records[T]) error {
	var t *touch[A]
	for i, ts := range in.Times {
		if t == nil || ts < t.span.Start || ts >= t.span.End {
			if ts == event.NoTime {
				return operator.RowError(o.ctx, nil, errRowWithoutTime(o.ctx), in.Rows[i], ts)
			}
			t = o.touch(ts)
		}
		t.rows = append(t.rows, int32(i))
	}
	return nil
}

// touch returns the batch's entry for the pane of a time.
func (o *panes[K, T, A, R, U]) touch(ts int64) *touch[A] {
	for i := range o.touched {
		if t := &o.touched[i]; ts >= t.span.Start && ts < t.span.End {
			return t
		}
	}
	n := len(o.touched)
	o.touched = slices.Grow(o.touched, 1)[:n+1]
	t := &o.touched[n]
	t.span, t.pane, t.amend, t.refire, t.rows = o.cursor.Pane(ts), nil, false, t.refire[:0], t.rows[:0]
	o.windows = o.grid.WindowsOfPane(o.windows[:0], t.span)
	if len(o.windows) == 0 || o.cfg.Window.Late(o.windows[len(o.windows)-1], o.time) {
		return t
	}
	t.pane = o.paneAt(t.span, o.windows[len(o.windows)-1])
	t.amend = o.slices.holds(t.span.Start)
	for _, w := range o.windows {
		if w.MaxTimestamp() <= o.time && !o.cfg.Window.Late(w, o.time) {
			t.refire = append(t.refire, w)
		}
	}
	return t
}

// paneAt finds or makes the live pane of that span.
func (o *panes[K, T, A, R, U]) paneAt(span, last window.Window) *pane[A] {
	i, found := slices.BinarySearchFunc(o.live, span.Start, func(p *pane[A], start int64) int {
		return compare(p.span.Start, start)
	})
	if !found {
		if i > 0 {
			o.expect = o.live[i-1].accs.Len() // neighbours hold about as many keys
		}
		p := &pane[A]{span: span, last: last, over: o.cfg.Window.CleanupTime(last), accs: o.newTable()}
		o.live = slices.Insert(o.live, i, p)
	}
	return o.live[i]
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// take adds a batch's rows of one pane.
func (o *panes[K, T, A, R, U]) take(in *event.Records[T], t *touch[A]) (err error) {
	row := 0
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(o.ctx, p, nil, in.Rows[row], in.Times[row])
		}
	}()
	if t.pane == nil {
		for _, i := range t.rows {
			row = int(i)
			now := max(o.time, o.aheadOf(in.Hash[i]))
			if !o.cfg.Window.LateRow(in.Times[i], now) {
				continue // between two windows of a slide larger than the size
			}
			if err := o.late.Take(in.Rows[i], in.Times[i], now); err != nil {
				return err
			}
		}
		return nil
	}
	s := &o.in
	n := len(t.rows)
	if n == 0 {
		return nil
	}
	s.hashes = slices.Grow(s.hashes[:0], n)[:n]
	keys, key := s.Keys(n), o.cfg.Key
	for j, i := range t.rows {
		row = int(i)
		keys[j] = key(in.Rows[i])
		s.hashes[j] = in.Hash[i]
	}
	if len(o.ahead) > 0 {
		return o.takeAhead(in, t, keys, &row)
	}
	if o.accs != nil || t.amend || len(t.refire) > 0 {
		return o.takeEach(in, t, keys, &row)
	}
	s.find(t.pane.accs.Table)
	add := o.cfg.Aggregate.Add
	for j, i := range t.rows {
		row = int(i)
		add((*A)(s.out[j]), in.Rows[i])
	}
	return nil
}

// takeEach adds rows one by one: accumulators that must be encoded, and rows that make windows fire again.
func (o *panes[K, T, A, R, U]) takeEach(in *event.Records[T], t *touch[A], keys []K, row *int) error {
	s := &o.in
	for j, i := range t.rows {
		*row = int(i)
		s.buf = o.cfg.Keys.Append(s.buf[:0], &keys[j])
		if err := o.add(t, s.hashes[j], s.buf, &in.Rows[i]); err != nil {
			return err
		}
		for _, w := range t.refire {
			if err := o.refire(w, keys[j], s.hashes[j], s.buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a row to its pane, and to what the pane has been combined to.
func (o *panes[K, T, A, R, U]) add(t *touch[A], hash uint64, enc []byte, row *T) error {
	add := func(acc *A) { o.cfg.Aggregate.Add(acc, *row) }
	if err := t.pane.accs.update(hash, enc, add); err != nil || !t.amend {
		return err
	}
	return o.slices.amend(t.span.Start, hash, enc, add)
}

// refire emits a window again for one key.
func (o *panes[K, T, A, R, U]) refire(w window.Window, key K, hash uint64, enc []byte) error {
	var sum, scratch A
	for _, p := range o.panesOf(w) {
		acc, err := p.accs.read(hash, enc, &scratch)
		if err != nil {
			return err
		}
		if acc != nil {
			o.cfg.Aggregate.Merge(&sum, acc)
		}
	}
	return o.em.Emit(o.cfg.Make(key, w, o.cfg.Aggregate.Result(&sum)), w.MaxTimestamp())
}

// Flush implements operator.Flusher.
func (o *panes[K, T, A, R, U]) Flush() error {
	if err := o.em.Flush(); err != nil {
		return err
	}
	return o.late.Flush()
}

// Watermark implements operator.Operator.
func (o *panes[K, T, A, R, U]) Watermark(t int64) error {
	if o.processing {
		return nil
	}
	return o.advance(t)
}

// Finish implements operator.Finisher. Windows in processing time that the end of the input finds open fire, although
// their time has not come: their rows would be lost otherwise.
func (o *panes[K, T, A, R, U]) Finish() error {
	if !o.processing {
		return nil
	}
	return o.advance(event.MaxTime)
}

// arm sets the timer of the next window in processing time.
func (o *panes[K, T, A, R, U]) arm() error {
	if !o.processing || o.timer != nil || len(o.live) == 0 {
		return nil
	}
	w, ok := o.grid.NextEnding(max(o.time, o.live[0].span.Start-1))
	if !ok {
		return nil
	}
	// Not at the maximum timestamp: rows of that millisecond may still come.
	o.timer = o.ctx.Timers.At(w.End, func(now int64) error {
		o.timer = nil
		if err := o.advance(now - 1); err != nil {
			return err
		}
		return o.arm()
	})
	return nil
}

func (o *panes[K, T, A, R, U]) Close() error {
	o.em.Drop()
	o.late.Drop()
	if o.timer != nil {
		o.timer()
		o.timer = nil
	}
	for _, p := range o.live {
		p.accs.Close()
	}
	for _, t := range o.free {
		t.Close()
	}
	if o.merged != nil {
		o.merged.Close()
	}
	o.slices.close()
	o.live, o.free, o.merged, o.slices = nil, nil, nil, nil
	return nil
}
