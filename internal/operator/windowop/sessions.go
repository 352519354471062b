package windowop

import (
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/timer"
	"github.com/weir-stream/weir/window"
)

// FitsSessions reports whether Sessions can serve these windows with accumulators of type A.
func FitsSessions[T, A any](b *window.Bound[T]) bool {
	if !b.Merging() || !b.Plain || b.Domain != window.EventTime || b.EvictBefore != nil || b.EvictAfter != nil {
		return false
	}
	c, err := codec.For[A]()
	if err != nil {
		return false
	}
	_, fixed := c.Fixed()
	return fixed
}

// NewSessions returns the operator for sessions in event time with the plain trigger, no evictor, and accumulators without
// pointers.
func NewSessions[K, T, A, R, U any](cfg Config[K, T, A, R, U]) operator.Operator {
	return &sessions[K, T, A, R, U]{cfg: cfg, lateness: cfg.Window.Lateness}
}

// sessions keeps one cell a key, which holds the key's newest session; others, which only disorder makes, lie in rest.
//
// A key has one timer, at the first time at which something is to be done for any of its sessions, or before: a session
// that grows leaves it where it is, and when it fires too early it is set anew. So a row costs a lookup and no timer.
type sessions[K, T, A, R, U any] struct {
	cfg      Config[K, T, A, R, U]
	lateness int64
	ctx      *operator.Context
	em       *basic.Emitter[U]
	late     *basic.LateRows[T]
	keys     keyReader[K]
	cells    *paged.Table
	rest     *paged.Table // key -> []session
	timers   *timer.Timers

	watermark int64
	in        batchScratch[K]
	empties   []int32      // rows of the batch whose cell was made in vain
	list      []session[A] // scratch: the sessions of a key by rising start
	acc       A            // scratch
	// The session at work, for messages.
	key []byte
	at  window.Window
}

// session is a session and what it has gathered.
type session[A any] struct {
	start, end int64
	acc        A
}

// cell is what a key has in place. Its session is the one with the latest start.
type cell[A any] struct {
	live  int64 // number of sessions
	timer int64 // not later than the first act
	session[A]
}

func (o *sessions[K, T, A, R, U]) Open(ctx *operator.Context, out operator.Collector) error {
	o.ctx, o.em = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows)
	o.late = basic.NewLateRows[T](ctx, out, "", o.cfg.LateSide)
	o.keys, o.in = newKeyReader(o.cfg.Keys), newBatchScratch(o.cfg.Keys)
	o.watermark = ctx.WatermarkThen()
	o.cells = paged.New(paged.Config{KeyWidth: o.keys.width, ValueWidth: int(unsafe.Sizeof(cell[A]{}))})
	o.rest = paged.New(paged.Config{KeyWidth: o.keys.width, Blobs: true})
	o.timers = timer.New(nil)
	return o.restorable()
}

func (o *sessions[K, T, A, R, U]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	in.Compact()
	if err := o.rows(in); err != nil {
		return err
	}
	for _, i := range o.empties {
		key := o.in.Bytes(int(i))
		if c := (*cell[A])(o.cells.Lookup(in.Hash[i], key)); c != nil && c.live == 0 {
			o.cells.Delete(in.Hash[i], key)
		}
	}
	o.empties = o.empties[:0]
	return nil
}

func (o *sessions[K, T, A, R, U]) rows(in *event.Records[T]) (err error) {
	row := 0
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = operator.RowError(o.ctx, p, err, in.Rows[row], in.Times[row])
		}
	}()
	s := &o.in
	keys := s.Keys(len(in.Rows))
	s.hashes = in.Hash
	for row = range in.Rows {
		keys[row] = o.cfg.Key(in.Rows[row])
	}
	s.find(o.cells)
	b, gap, dynamic := o.cfg.Window, o.cfg.Window.Gap, o.cfg.Window.GapOf != nil
	for row = range in.Rows {
		ts := in.Times[row]
		if ts == event.NoTime {
			return errRowWithoutTime(o.ctx)
		}
		w := window.Window{Start: ts, End: ts + gap}
		if dynamic || w.End < ts {
			if w, err = b.Session(in.Rows[row], ts); err != nil {
				return err
			}
		}
		c := (*cell[A])(s.out[row])
		if c.live == 1 && w.Start <= c.end && c.start <= w.End && o.watermark < w.End-1 {
			// Nearly all rows: the session lives, and is not over at the row's own end. It grows to hold it.
			o.cfg.Aggregate.Add(&c.acc, in.Rows[row])
			c.start, c.end = min(c.start, w.Start), max(c.end, w.End)
			if c.end-1 < c.timer {
				o.plan(c, in.Hash[row], s.Bytes(row), c.end-1)
			}
			continue
		}
		if err = o.row(c, &in.Rows[row], int32(row), in.Hash[row], w); err != nil {
			return err
		}
	}
	return nil
}

// row takes a row in the general way.
func (o *sessions[K, T, A, R, U]) row(c *cell[A], row *T, i int32, hash uint64, w window.Window) error {
	key := o.in.Bytes(int(i))
	o.load(c, hash, key)
	// Ends rise with starts. The sessions that w touches are list[from:to].
	from, to := 0, 0
	merged := w
	for from < len(o.list) && o.list[from].end < w.Start {
		from++
	}
	for to = from; to < len(o.list) && o.list[to].start <= w.End; to++ {
		merged.Start, merged.End = min(merged.Start, o.list[to].start), max(merged.End, o.list[to].end)
	}
	if to == from {
		if o.cfg.Window.Late(w, o.watermark) {
			if c.live == 0 {
				o.empties = append(o.empties, i)
			}
			return o.late.Take(*row, w.Start, o.watermark)
		}
		o.list = slices.Insert(o.list, from, session[A]{})
		to = from + 1
	}
	into := &o.list[from]
	for j := from + 1; j < to; j++ {
		o.cfg.Aggregate.Merge(&into.acc, &o.list[j].acc)
	}
	o.cfg.Aggregate.Add(&into.acc, *row)
	into.start, into.end = merged.Start, merged.End
	var err error
	if into.end-1 <= o.watermark {
		err = o.emit(key, into)
	}
	o.list = slices.Delete(o.list, from+1, to)
	o.store(c, hash, key)
	if next := o.next(o.watermark); c.timer > next {
		o.plan(c, hash, key, next)
	}
	return err
}

// plan sets the timer of a key.
func (o *sessions[K, T, A, R, U]) plan(c *cell[A], hash uint64, key []byte, t int64) {
	c.timer = t
	o.timers.Register(statebackend.Key{Hash: hash, Bytes: key}, nil, t)
}

// next is the first time behind t at which something is to be done for a session of the list.
func (o *sessions[K, T, A, R, U]) next(t int64) int64 {
	next := int64(event.MaxTime)
	for i := range o.list {
		end := o.list[i].end - 1
		if end <= t {
			end = window.CleanupTime(window.Window{Start: o.list[i].start, End: o.list[i].end}, o.lateness)
		}
		if end > t {
			next = min(next, end)
		}
	}
	return next
}

// load makes list the sessions of a key.
func (o *sessions[K, T, A, R, U]) load(c *cell[A], hash uint64, key []byte) {
	o.list = o.list[:0]
	if c.live > 1 {
		b, _ := o.rest.GetBytes(hash, key)
		o.list = slices.Grow(o.list, int(c.live))[:c.live-1]
		copy(sessionMemory(o.list), b)
	}
	if c.live > 0 {
		o.list = append(o.list, c.session)
	}
}

// store is the reverse of load.
func (o *sessions[K, T, A, R, U]) store(c *cell[A], hash uint64, key []byte) {
	n := len(o.list)
	if n > 1 {
		o.rest.PutBytes(hash, key, sessionMemory(o.list[:n-1]))
	} else if c.live > 1 {
		o.rest.Delete(hash, key)
	}
	if c.live == 0 {
		c.timer = event.MaxTime
	}
	c.live = int64(n)
	if n > 0 {
		c.session = o.list[n-1]
	}
}

// sessionMemory is the sessions as bytes. They hold no pointers.
func sessionMemory[A any](list []session[A]) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(list[0])))
}

// Watermark implements operator.Operator.
func (o *sessions[K, T, A, R, U]) Watermark(t int64) (err error) {
	o.watermark = t
	o.key = o.key[:0]
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = operator.UserError(o.ctx, p, err, o.place)
		}
	}()
	return o.timers.Advance(t, o.fire)
}

// fire is called for the timer of a key.
func (o *sessions[K, T, A, R, U]) fire(k statebackend.Key, _ []byte, t int64) error {
	c := (*cell[A])(o.cells.Mutate(k.Hash, k.Bytes))
	if c == nil {
		return nil
	}
	if c.live == 1 && o.lateness == 0 {
		switch end := c.end - 1; {
		case end > t: // it has grown
			o.plan(c, k.Hash, k.Bytes, end)
			return nil
		case end == t:
			err := o.emit(k.Bytes, &c.session)
			o.cells.Delete(k.Hash, k.Bytes)
			return err
		}
	}
	o.load(c, k.Hash, k.Bytes)
	for i := range o.list {
		if o.list[i].end-1 == t {
			if err := o.emit(k.Bytes, &o.list[i]); err != nil {
				return err
			}
		}
	}
	o.list = slices.DeleteFunc(o.list, func(s session[A]) bool {
		return o.cfg.Window.Late(window.Window{Start: s.start, End: s.end}, t)
	})
	o.store(c, k.Hash, k.Bytes)
	if len(o.list) == 0 {
		o.cells.Delete(k.Hash, k.Bytes)
		return nil
	}
	o.plan(c, k.Hash, k.Bytes, o.next(t))
	return nil
}

// emit sends the result of a session.
func (o *sessions[K, T, A, R, U]) emit(enc []byte, s *session[A]) error {
	o.key, o.at = append(o.key[:0], enc...), window.Window{Start: s.start, End: s.end}
	var key K
	if err := o.keys.read(enc, &key); err != nil {
		return err
	}
	o.acc = s.acc // Result may change it
	return o.em.Emit(o.cfg.Make(key, o.at, o.cfg.Aggregate.Result(&o.acc)), o.at.MaxTimestamp())
}

// place names the session at work for a message.
func (o *sessions[K, T, A, R, U]) place() string { return keyPlace(o.cfg.Keys, o.key, o.at) }

// Flush implements operator.Flusher.
func (o *sessions[K, T, A, R, U]) Flush() error {
	if err := o.em.Flush(); err != nil {
		return err
	}
	return o.late.Flush()
}

func (o *sessions[K, T, A, R, U]) Close() error {
	o.em.Drop()
	o.late.Drop()
	if o.cells != nil {
		o.cells.Close()
		o.rest.Close()
		o.timers.Close()
		o.cells = nil
	}
	return nil
}
