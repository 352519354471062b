package joinop

import (
	"encoding/binary"
	"math"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/sat"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/timer"
)

// IntervalConfig describes an interval join: a left row at ta and a right row at tb of one key match if
// ta+Lower <= tb <= ta+Upper.
type IntervalConfig[K, A, B, U any] struct {
	// LeftKey and RightKey select a row's key, Keys encodes it.
	LeftKey  func(A) K
	RightKey func(B) K
	Keys     *codec.KeyCodec[K]
	// Lower and Upper are in ms, both inclusive, Lower <= Upper.
	Lower, Upper int64
	// LeftOuter and RightOuter say whether rows of that side without a match are emitted.
	LeftOuter, RightOuter bool
	// Match is called for each matching pair, and with one nil pointer for a row that is padded. The missing side's time is
	// event.NoTime. Pointers are borrowed for the call, in which alone out may be used.
	Match func(a *A, b *B, ta, tb int64, out *basic.Outlet[U]) error
	// LateLeft and LateRight are the names of the side outputs for late rows, or "".
	LateLeft, LateRight string
}

// NewInterval returns the operator. A pair's time is the later of its two. A padded row's time is the latest that a match
// of it could have had: when the watermark gets there the row can have no match any more, so padded rows are never late
// themselves.
//
// State: for each side a map of rows by key, its entries ordered by time and, within a time, by arrival. A row stays until
// the watermark reaches the time of the last row that it can match, for which there is a timer.
func NewInterval[K, A, B, U any](cfg IntervalConfig[K, A, B, U]) operator.Operator {
	o := &interval[K, A, B, U]{cfg: cfg, watermark: event.NoTime}
	o.left = half[K, A]{name: "left", key: cfg.LeftKey, lower: cfg.Lower, upper: cfg.Upper, outer: cfg.LeftOuter, lateSide: cfg.LateLeft, side: []byte{0}}
	o.right = half[K, B]{name: "right", key: cfg.RightKey, lower: -cfg.Upper, upper: -cfg.Lower, outer: cfg.RightOuter, lateSide: cfg.LateRight, side: []byte{1}}
	return o
}

type interval[K, A, B, U any] struct {
	cfg       IntervalConfig[K, A, B, U]
	ctx       *operator.Context
	em        *basic.Emitter[U]
	state     statebackend.Keyed
	timers    *timer.Timers
	left      half[K, A]
	right     half[K, B]
	watermark int64
	// arrivals numbers the rows that were kept, so that rows of one key and time are told apart.
	arrivals uint64

	out *basic.Outlet[U]
	now basic.Moment // of the pair at work

	// failing is what the user function is called with, for messages.
	failing struct {
		a *A
		b *B
	}
	keyBuf   []byte
	from, to []byte
	entry    []byte
	value    []byte
	found    []byte // entries to be changed after a Range, one behind the other
	foundVal []byte // their values, each behind its length
}

// half is one side of the join. A row at t matches rows of the other side in [t+lower, t+upper].
type half[K, T any] struct {
	name         string
	side         []byte // the namespace of its timers
	key          func(T) K
	lower, upper int64
	outer        bool
	lateSide     string
	late         *basic.LateRows[T]
	rows         basic.Stored[T]
	// kept maps time (8 bytes) and arrival (8 bytes) to flag and encoded row.
	kept statebackend.Map
	met  T // the row of this side that a match has found
	// leave is called for each row that leaves, and says in err what went wrong.
	leave func(entry, value []byte) bool
	err   error
}

const (
	flagAlone   = 0
	flagMatched = 1
	flagBytes   = 1
	entryBytes  = 16
)

func (h *half[K, T]) open(ctx *operator.Context, out operator.Collector, state statebackend.Keyed) (err error) {
	h.late = basic.NewLateRows[T](ctx, out, h.name, h.lateSide)
	if h.rows, err = basic.NewStored[T](ctx, "a row of the "+h.name+" input"); err != nil {
		return err
	}
	h.kept, err = state.Map(statebackend.Descriptor{Name: h.name, Kind: statebackend.KindMap, Ordered: true, Values: h.rows.Values(),
		Schema: h.rows.Schema(codec.Table{Prefix: flagBytes, Layout: "time, arrival -> flag, row"})})
	return err
}

func (o *interval[K, A, B, U]) Open(ctx *operator.Context, out operator.Collector) (err error) {
	o.ctx, o.em = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows)
	o.out = basic.NewOutlet(o.em, &o.now)
	width, _ := o.cfg.Keys.FixedWidth()
	if o.state, err = ctx.OpenState(width); err != nil {
		return err
	}
	o.timers = timer.New(nil)
	ctx.AddTimers("timers", snapshot.KindEventTimers, len(o.left.side), o.timers)
	o.watermark = ctx.WatermarkThen()
	if err := o.restoreArrivals(); err != nil {
		return err
	}
	if err := o.left.open(ctx, out, o.state); err != nil {
		return err
	}
	o.left.leave = leaver(o, &o.left, func(a *A, ta int64) error { return o.call(a, nil, ta, event.NoTime) })
	o.right.leave = leaver(o, &o.right, func(b *B, tb int64) error { return o.call(nil, b, event.NoTime, tb) })
	return o.right.open(ctx, out, o.state)
}

// arrivalsBlob is the number of rows that a subtask has kept so far.
const arrivalsBlob = "arrivals"

// Snapshot implements operator.Snapshotter.
func (o *interval[K, A, B, U]) Snapshot(cut *operator.Cut) error {
	cut.Blob(arrivalsBlob, o.ctx.Subtask, binary.LittleEndian.AppendUint64(nil, o.arrivals))
	return nil
}

// restoreArrivals begins above the numbers of all rows that are restored, so that no row takes the place of another.
func (o *interval[K, A, B, U]) restoreArrivals() error {
	for _, b := range o.ctx.Restored.Union(arrivalsBlob) {
		if len(b) != 8 {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, o.ctx.Place(), "the checkpoint is damaged: a number of arrivals of %d bytes", len(b))
		}
		o.arrivals = max(o.arrivals, binary.LittleEndian.Uint64(b))
	}
	return nil
}

func (o *interval[K, A, B, U]) Process(input int, b event.Batch) (err error) {
	if input == 0 {
		err = arrive(o, b.(*event.Records[A]), &o.left, &o.right, func(a *A, b *B, ta, tb int64) error { return o.match(a, b, ta, tb) })
	} else {
		err = arrive(o, b.(*event.Records[B]), &o.right, &o.left, func(b *B, a *A, tb, ta int64) error { return o.match(a, b, ta, tb) })
	}
	if err != nil {
		return err
	}
	return o.state.Err()
}

// match calls the user's function for a pair, or for a row alone.
func (o *interval[K, A, B, U]) match(a *A, b *B, ta, tb int64) error {
	o.now.Time = max(ta, tb)
	return o.call(a, b, ta, tb)
}

func (o *interval[K, A, B, U]) call(a *A, b *B, ta, tb int64) error {
	o.failing.a, o.failing.b = a, b
	if err := o.cfg.Match(a, b, ta, tb, o.out); err != nil {
		return err
	}
	o.failing.a, o.failing.b = nil, nil
	return o.now.Err
}

// arrive takes a batch of one side. A function of its own, so that both sides are of one piece.
func arrive[K, A, B, U, T, O any](o *interval[K, A, B, U], in *event.Records[T], me *half[K, T], other *half[K, O], match func(*T, *O, int64, int64) error) (err error) {
	defer in.Release()
	in.Compact()
	row := 0
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failed(p, err, func() (any, int64) { return in.Rows[row], in.Times[row] })
		}
	}()
	var m meeting[T]
	visit := visitor(o, other, &m, match)
	for row = range in.Rows {
		t := in.Times[row]
		if t == event.NoTime {
			return basic.NoTimeError(o.ctx, in.Rows[row], "give the source the option weir.EventTime")
		}
		if t <= o.watermark {
			if err := me.late.Take(in.Rows[row], t, o.watermark); err != nil {
				return err
			}
			continue
		}
		k := me.key(in.Rows[row])
		o.keyBuf = o.cfg.Keys.Append(o.keyBuf[:0], &k)
		key := statebackend.Key{Hash: in.Hash[row], Bytes: o.keyBuf}
		m.row, m.time, m.matched = &in.Rows[row], t, false
		if err := meet(o, key, me, other, &m, visit); err != nil {
			return err
		}
		if err := keep(o, key, me, &m, match); err != nil {
			return err
		}
	}
	return nil
}

// meeting is a row that is being matched with those of the other side.
type meeting[T any] struct {
	row     *T
	time    int64
	matched bool
	err     error
}

// visitor returns what is called for each row of the other side that the row of the meeting matches. It is made once a
// batch, so that a row costs no allocation.
func visitor[K, A, B, U, T, O any](o *interval[K, A, B, U], other *half[K, O], m *meeting[T], match func(*T, *O, int64, int64) error) func(entry, value []byte) bool {
	return func(entry, value []byte) bool {
		if m.err = other.rows.Decode(value[1:], &other.met); m.err != nil {
			return false
		}
		m.matched = true
		if other.outer && value[0] == flagAlone {
			o.found = append(o.found, entry...)
			o.foundVal = binary.AppendUvarint(o.foundVal, uint64(len(value)))
			o.foundVal = append(o.foundVal, value...)
		}
		m.err = match(m.row, &other.met, m.time, timeOf(entry))
		return m.err == nil
	}
}

// meet matches a row with the rows of the other side, and notes at those that they are not alone.
func meet[K, A, B, U, T, O any](o *interval[K, A, B, U], key statebackend.Key, me *half[K, T], other *half[K, O], m *meeting[T], visit func(entry, value []byte) bool) error {
	o.from = appendTime(o.from[:0], sat.Add(m.time, me.lower))
	o.found, o.foundVal = o.found[:0], o.foundVal[:0]
	other.kept.Range(key, nil, o.from, o.until(sat.Add(m.time, me.upper)), visit)
	if m.err != nil {
		return m.err
	}
	values := o.foundVal
	for at := 0; at < len(o.found); at += entryBytes {
		n, used := binary.Uvarint(values)
		value := values[used : used+int(n)]
		values = values[used+int(n):]
		value[0] = flagMatched
		other.kept.Put(key, nil, o.found[at:at+entryBytes], value)
	}
	return nil
}

// until encodes the end of a range that includes t.
func (o *interval[K, A, B, U]) until(t int64) []byte {
	if t == math.MaxInt64 {
		return nil
	}
	o.to = appendTime(o.to[:0], t+1)
	return o.to
}

// keep stores a row for rows of the other side that may come, or pads it at once if none can.
func keep[K, A, B, U, T, O any](o *interval[K, A, B, U], key statebackend.Key, me *half[K, T], m *meeting[T], match func(*T, *O, int64, int64) error) error {
	last := sat.Add(m.time, me.upper)
	if last <= o.watermark {
		if m.matched || !me.outer {
			return nil
		}
		return match(m.row, nil, m.time, event.NoTime)
	}
	o.arrivals++
	o.entry = binary.BigEndian.AppendUint64(appendTime(o.entry[:0], m.time), o.arrivals)
	flag := byte(flagAlone)
	if m.matched {
		flag = flagMatched
	}
	o.value = me.rows.Append(append(o.value[:0], flag), m.row)
	me.kept.Put(key, nil, o.entry, o.value)
	o.timers.Register(key, me.side, last)
	return nil
}

// Watermark implements operator.Operator.
func (o *interval[K, A, B, U]) Watermark(t int64) (err error) {
	o.watermark = t
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failed(p, err, func() (any, int64) { return nil, 0 })
		}
	}()
	err = o.timers.Advance(t, func(key statebackend.Key, side []byte, due int64) error {
		if side[0] == 0 {
			return expire(o, key, &o.left, due)
		}
		return expire(o, key, &o.right, due)
	})
	if err != nil {
		return err
	}
	return o.state.Err()
}

// leaver returns what is called for each row of a side that no row can match any more. It pads rows that nothing has
// matched and notes all of them in o.found. It is made once.
func leaver[K, A, B, U, T any](o *interval[K, A, B, U], h *half[K, T], pad func(*T, int64) error) func(entry, value []byte) bool {
	return func(entry, value []byte) bool {
		o.found = append(o.found, entry...)
		if !h.outer || value[0] == flagMatched {
			return true
		}
		if h.err = h.rows.Decode(value[1:], &h.met); h.err != nil {
			return false
		}
		t := timeOf(entry)
		o.now.Time = max(t, sat.Add(t, h.upper))
		h.err = pad(&h.met, t)
		return h.err == nil
	}
}

// expire forgets the rows of a key that no row can match any more.
func expire[K, A, B, U, T any](o *interval[K, A, B, U], key statebackend.Key, h *half[K, T], due int64) error {
	limit := int64(math.MaxInt64)
	if due != math.MaxInt64 {
		limit = sat.Add(due, -h.upper)
	}
	o.found = o.found[:0]
	h.kept.Range(key, nil, nil, o.until(limit), h.leave)
	if h.err != nil {
		return h.err
	}
	for at := 0; at < len(o.found); at += entryBytes {
		h.kept.Remove(key, nil, o.found[at:at+entryBytes])
	}
	return nil
}

// failedPair is how a pair that a function failed at shows in messages.
type failedPair[A, B any] struct {
	Left  A
	Right B
}

// failed names the operator and the rows in an error of the user's function.
func (o *interval[K, A, B, U]) failed(p any, err error, row func() (any, int64)) error {
	v, t := row()
	switch a, b := o.failing.a, o.failing.b; {
	case a != nil && b != nil:
		v, t = failedPair[A, B]{*a, *b}, o.now.Time
	case a != nil:
		v, t = *a, o.now.Time
	case b != nil:
		v, t = *b, o.now.Time
	}
	return operator.RowError(o.ctx, p, err, v, t)
}

// Flush implements operator.Flusher.
func (o *interval[K, A, B, U]) Flush() error {
	if err := o.em.Flush(); err != nil {
		return err
	}
	if err := o.left.late.Flush(); err != nil {
		return err
	}
	return o.right.late.Flush()
}

func (o *interval[K, A, B, U]) Close() error {
	o.em.Drop()
	o.left.late.Drop()
	o.right.late.Drop()
	if o.timers != nil {
		o.timers.Close()
		o.timers = nil
	}
	if o.state == nil {
		return nil
	}
	err := o.state.Close()
	o.state = nil
	return errs.Wrap(err, "", 0, o.ctx.Place(), "close of the state failed")
}
