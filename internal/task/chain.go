package task

import (
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Op describes one operator of a chain.
type Op struct {
	// Name is the operator's label.
	Name string
	// Make makes the instance.
	Make operator.Maker
	// KeySchema is the codec's schema of the keys of its state, nil without keys. It goes into snapshots.
	KeySchema []byte
	// Next lists the operators of the same chain that this one feeds.
	Next []Next
	// Outputs lists the edges that leave the task from this operator.
	Outputs []Output
}

// Next is a hand-over within the chain.
type Next struct {
	// To is the consumer's index in the chain.
	To int
	// Side is the producer's side output, or "".
	Side string
	// Hash fills in key hashes on a keyed hand-over, or is nil.
	Hash operator.HasherMaker
	// Codec makes the codec of the rows. It is for those that were in flight to the consumer when that was the head of a
	// chain. nil: there can be none.
	Codec operator.CodecMaker
}

// Output is an edge to other tasks.
type Output struct {
	// To sends to the consumer's subtasks.
	To *exchange.Output
	// Side is the producer's side output, or "".
	Side string
	// Hash fills in key hashes on a keyed edge, or is nil.
	Hash operator.HasherMaker
}

// target is where an operator's output goes: a chained operator or an exchange.
type target struct {
	side string
	next *link
	out  *exchange.Output
	// hash is made by makeHash when the task opens: both run user code.
	hash     operator.Hasher
	makeHash operator.HasherMaker
}

func (g *target) take(b event.Batch) error {
	if g.hash != nil {
		g.hash(b)
	}
	if g.next != nil {
		return g.next.process(0, b)
	}
	return g.out.Emit(b)
}

// link is an operator at its place in the chain. It is the operator's Collector.
type link struct {
	t       *Task
	op      operator.Operator
	flusher operator.Flusher // nil if the operator holds nothing back
	ctx     *operator.Context
	counts  *operator.Counts
	metrics *userMetrics
	name    string
	at      int // place in the chain
	main    []target
	sides   []target
	holds   bool // the operator emits watermarks itself
	opened  bool

	backend statebackend.Keyed // nil if the operator has opened none
	// ownBackend says that the task has opened it, for state that nobody knows any more.
	ownBackend bool
	keyWidth   int
	parts      []operator.KeyedPart
	kept       []keptState
	from       *OpRestore // nil if it starts from nothing
	// lastTime is the last watermark that came in and was a time, event.NoTime before.
	lastTime int64
}

func (l *link) makeHashers() {
	for _, targets := range [][]target{l.main, l.sides} {
		for i := range targets {
			if g := &targets[i]; g.makeHash != nil {
				g.hash = g.makeHash()
			}
		}
	}
}

// process hands a batch to the operator.
func (l *link) process(input int, b event.Batch) error {
	add(&l.counts.RowsIn, int64(b.Len()))
	add(&l.counts.BatchesIn, 1)
	above := l.t.enter(l)
	err := l.op.Process(input, b)
	l.t.current = above
	return err
}

// Emit implements operator.Collector.
func (l *link) Emit(b event.Batch) error {
	add(&l.counts.RowsOut, int64(b.Len()))
	add(&l.counts.BatchesOut, 1)
	return fanOut(l.main, b)
}

// EmitSide implements operator.Collector.
func (l *link) EmitSide(name string, b event.Batch) error {
	if see := l.t.cfg.OnSide; see != nil {
		see(l.at, name, b)
	}
	readers := 0
	for i := range l.sides {
		if l.sides[i].side == name {
			readers++
		}
	}
	if readers == 0 {
		add(&l.counts.Unread, int64(b.Len()))
		b.Release()
		return nil
	}
	for i := range l.sides {
		if l.sides[i].side != name {
			continue
		}
		if readers--; readers == 0 {
			return l.sides[i].take(b)
		}
		if err := takeCopy(&l.sides[i], b); err != nil {
			b.Release()
			return err
		}
	}
	return nil
}

// wanted reports whether anybody reads the side output.
func (l *link) wanted(name string) bool {
	if l.t.cfg.OnSide != nil {
		return true
	}
	for i := range l.sides {
		if l.sides[i].side == name {
			return true
		}
	}
	return false
}

// fanOut moves b to the last target and copies to the others.
func fanOut(to []target, b event.Batch) error {
	if len(to) == 0 {
		b.Release()
		return nil
	}
	last := len(to) - 1
	for i := range to[:last] {
		if err := takeCopy(&to[i], b); err != nil {
			b.Release()
			return err
		}
	}
	return to[last].take(b)
}

// takeCopy hands a copy of b's live rows to the target.
func takeCopy(to *target, b event.Batch) error {
	c := b.New()
	if c.Room() >= b.Len() {
		b.CopyTo(c, nil)
		return to.take(c)
	}
	rows := b.Sel()
	if rows == nil {
		rows = ascending(b.Len())
	}
	for {
		n := b.CopyTo(c, rows)
		rows = rows[n:]
		if err := to.take(c); err != nil || len(rows) == 0 {
			return err
		}
		c = b.New()
	}
}

var rowNumbers = func() (all [event.MaxRows]int32) {
	for i := range all {
		all[i] = int32(i)
	}
	return all
}()

// ascending returns the row numbers 0..n-1; they must not be changed.
func ascending(n int) []int32 {
	if n <= len(rowNumbers) {
		return rowNumbers[:n]
	}
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// each calls f for every target of the link.
func (l *link) each(f func(g *target) error) error {
	for i := range l.main {
		if err := f(&l.main[i]); err != nil {
			return err
		}
	}
	for i := range l.sides {
		if err := f(&l.sides[i]); err != nil {
			return err
		}
	}
	return nil
}

// failed gives an error of the operator's life cycle a place; what an operator returned without a code is a user's.
func (l *link) failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if errs.CodeOf(err) != "" {
		return errs.Wrap(err, "", 0, l.ctx.Place(), format, args...)
	}
	return errs.Wrap(err, errs.CodeUserFunction, errs.ClassFailTask, l.ctx.Place(), format, args...)
}

// watermark brings event time to the operator and, behind what it caused, to its consumers. What is no news is dropped: after a
// restore the inputs begin below what the operator has seen.
func (l *link) watermark(t int64) error {
	if t <= l.counts.WatermarkIn.Load() {
		return nil
	}
	l.counts.WatermarkIn.Store(t)
	l.passed(t)
	above := l.t.enter(l)
	err := l.op.Watermark(t)
	l.t.current = above
	if err != nil || l.holds {
		return err
	}
	return l.forward(t)
}

// forward sends a watermark to the operator's consumers, unless it is no news to them: an operator that holds watermarks
// may say the final one itself.
func (l *link) forward(t int64) error {
	if t <= l.counts.WatermarkOut.Load() {
		return nil
	}
	l.counts.WatermarkOut.Store(t)
	l.t.dirty = true
	if err := l.flushOwn(); err != nil {
		return err
	}
	return l.each(func(g *target) error {
		if g.next != nil {
			return g.next.watermark(t)
		}
		return g.out.Event(event.Watermark(t))
	})
}

// idle tells the operator or its consumers that the input has become idle or active.
func (l *link) idle(idle bool) error {
	if h, ok := l.op.(operator.StatusHandler); ok {
		above := l.t.enter(l)
		err := h.InputIdle(idle)
		l.t.current = above
		return err
	}
	return l.forwardIdle(idle)
}

func (l *link) forwardIdle(idle bool) error {
	ev := event.Active()
	if idle {
		ev = event.Idle()
	}
	return l.each(func(g *target) error {
		if g.next != nil {
			return g.next.idle(idle)
		}
		return g.out.Event(ev)
	})
}

// flushOwn emits what the operator itself holds back.
func (l *link) flushOwn() error {
	if l.flusher == nil {
		return nil
	}
	above := l.t.enter(l)
	err := l.flusher.Flush()
	l.t.current = above
	return err
}

// flush emits what the operator, its consumers in the chain, and its outputs hold back.
func (l *link) flush() error {
	if err := l.flushOwn(); err != nil {
		return err
	}
	return l.each(func(g *target) error {
		if g.next != nil {
			return g.next.flush()
		}
		return g.out.Flush()
	})
}

// endInput tells the operator that one of its inputs has ended.
func (l *link) endInput(input int) error {
	e, ok := l.op.(operator.InputEnder)
	if !ok {
		return nil
	}
	above := l.t.enter(l)
	err := e.EndInput(input)
	l.t.current = above
	return err
}

// finish ends the operator and then its consumers, whose only input it is.
func (l *link) finish() error {
	if f, ok := l.op.(operator.Finisher); ok {
		above := l.t.enter(l)
		err := f.Finish()
		l.t.current = above
		if err != nil {
			return err
		}
	}
	if err := l.flushOwn(); err != nil {
		return err
	}
	return l.each(func(g *target) error {
		if g.next == nil {
			return g.out.Event(event.End())
		}
		if err := g.next.endInput(0); err != nil {
			return err
		}
		return g.next.finish()
	})
}
