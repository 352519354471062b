package exchange

import (
	"math/rand/v2"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

// Output is one outgoing edge of a task: it spreads batches over the senders to the consuming subtasks. Small batches are
// joined in a partial batch for each target until it is full or Flush is called; a batch that is at least half full and
// has one target passes by reference.
//
// It belongs to the producing task's goroutine. Emit, Event and Flush block while a target has no room.
type Output struct {
	op      string
	part    Partition
	senders []Sender

	// partial holds the rows gathered for each target; open counts those that are not nil. A partial is never empty and
	// never full.
	partial []event.Batch
	open    int
	// whole is the number of live rows from which a batch passes by reference, 0 before the first batch.
	whole int
	next  int
	rand  *rand.Rand
	split splitter
	iota  []int32
	ended bool
	// hurry says that batches go beyond the bound; forced counts them for each target.
	hurry  bool
	forced []uint8
}

// hurryMax is how many batches a target may be sent beyond its bound while the task hurries.
const hurryMax = 16

// NewOutput returns an output over senders. op names the edge for messages.
func NewOutput(op string, part Partition, senders []Sender) *Output {
	if len(senders) == 0 || part.kind == forward && len(senders) != 1 {
		panic("exchange: " + op + ": wrong number of senders for " + part.String())
	}
	o := &Output{op: op, part: part, senders: senders, partial: make([]event.Batch, len(senders))}
	o.next = part.start % len(senders)
	if part.kind == shuffle {
		o.rand = newRand(part.seed)
	}
	return o
}

// Emit sends the rows of b, which moves, whatever is returned.
func (o *Output) Emit(b event.Batch) error {
	n := b.Len()
	if n == 0 {
		b.Release()
		return nil
	}
	if o.ended {
		panic("exchange: " + o.op + ": a batch after the end")
	}
	if o.whole == 0 {
		o.learn(b)
	}
	if len(o.senders) == 1 && o.part.kind != custom {
		return o.give(0, b, n)
	}
	switch o.part.kind {
	case keyed:
		return o.emitKeyed(b, n)
	case roundRobin, shuffle:
		return o.emitPortions(b, n)
	case broadcast:
		return o.emitAll(b, n)
	case custom:
		return o.emitCustom(b, n)
	}
	return o.give(0, b, n)
}

// learn sets whole from the room of a fresh batch.
func (o *Output) learn(b event.Batch) {
	fresh := b.New()
	o.whole = max(1, fresh.Room()/2)
	fresh.Release()
}

func (o *Output) emitKeyed(b event.Batch, n int) error {
	hashes := b.Hashes()
	if hashes == nil {
		b.Release()
		return errs.New(errs.CodeBug, errs.ClassBug, o.op, "a batch without key hashes on a keyed edge")
	}
	sel := b.Sel()
	o.split.size(n, len(o.senders))
	o.split.byKey(hashes, sel)
	return o.emitSplit(b, n, sel)
}

func (o *Output) emitCustom(b event.Batch, n int) error {
	o.split.size(n, len(o.senders))
	err := o.part.custom(b, o.split.targets)
	if err == nil {
		err = o.split.count()
	}
	if err != nil {
		b.Release()
		return errs.Wrap(err, errs.CodeUserFunction, errs.ClassFailTask, o.op, "custom partitioner")
	}
	return o.emitSplit(b, n, b.Sel())
}

// emitSplit copies each target's rows into its partial; targets and counts are filled in.
func (o *Output) emitSplit(b event.Batch, n int, sel []int32) error {
	if t := o.split.only(n); t >= 0 {
		return o.give(t, b, n)
	}
	o.split.sort(sel)
	from := int32(0)
	for t, end := range o.split.ends {
		if end > from {
			if err := o.copyRows(t, b, o.split.rows[from:end]); err != nil {
				b.Release()
				return err
			}
		}
		from = end
	}
	b.Release()
	return nil
}

// emitPortions sends a large batch to one target and spreads the rows of a small one.
func (o *Output) emitPortions(b event.Batch, n int) error {
	if n >= o.whole {
		return o.give(o.turn(), b, n)
	}
	// Every target gets n/p rows, and the first n%p of them one more; the next batch begins with those that got less.
	p := len(o.senders)
	rows := o.liveRows(b, n)
	start, each, more := o.next, n/p, n%p
	for k := 0; len(rows) > 0; k++ {
		t, size := (start+k)%p, each
		if k < more {
			size++
		}
		if o.rand != nil {
			t = o.rand.IntN(p)
		}
		if err := o.copyRows(t, b, rows[:size]); err != nil {
			b.Release()
			return err
		}
		rows = rows[size:]
	}
	o.next = (start + more) % p
	b.Release()
	return nil
}

// turn returns the target of the next whole batch.
func (o *Output) turn() int {
	if o.rand != nil {
		return o.rand.IntN(len(o.senders))
	}
	t := o.next
	if o.next++; o.next == len(o.senders) {
		o.next = 0
	}
	return t
}

// emitAll copies b for all targets but the last, which gets b itself.
func (o *Output) emitAll(b event.Batch, n int) error {
	last := len(o.senders) - 1
	for t := range last {
		var err error
		if n >= o.whole {
			// A copy of its own, so that the rows of a large batch do not end up in two.
			err = o.flush(t, false)
		}
		if err == nil {
			err = o.copyRows(t, b, o.liveRows(b, n))
		}
		if err == nil && n >= o.whole {
			err = o.flush(t, false)
		}
		if err != nil {
			b.Release()
			return err
		}
	}
	return o.give(last, b, n)
}

// give moves b, with n live rows, to target t: by reference if it is large, else into the partial.
func (o *Output) give(t int, b event.Batch, n int) error {
	if n >= o.whole {
		if err := o.flush(t, false); err != nil {
			b.Release()
			return err
		}
		return o.send(t, b)
	}
	if o.partial[t] == nil && b.Sel() == nil && b.Room() > 0 {
		o.partial[t] = b // it is as good as a fresh one
		o.open++
		return nil
	}
	err := o.copyRows(t, b, nil)
	b.Release()
	return err
}

// copyRows appends physical rows of b (all live ones if nil) to the partial of t, sending it when it is full.
func (o *Output) copyRows(t int, b event.Batch, rows []int32) error {
	left := len(rows)
	if rows == nil {
		left = b.Len()
	}
	for {
		dst := o.partial[t]
		if dst == nil {
			dst = b.New()
			o.partial[t] = dst
			o.open++
		}
		took := b.CopyTo(dst, rows)
		left -= took
		if dst.Room() == 0 {
			if err := o.flush(t, false); err != nil {
				return err
			}
		}
		if left == 0 {
			return nil
		}
		if rows == nil {
			rows = o.liveRows(b, left+took)
		}
		rows = rows[took:]
	}
}

// liveRows returns the physical numbers of b's n live rows.
func (o *Output) liveRows(b event.Batch, n int) []int32 {
	if sel := b.Sel(); sel != nil {
		return sel
	}
	for len(o.iota) < n {
		o.iota = append(o.iota, int32(len(o.iota)))
	}
	return o.iota[:n]
}

// flush sends the partial of t, if there is one.
func (o *Output) flush(t int, force bool) error {
	b := o.partial[t]
	if b == nil {
		return nil
	}
	o.partial[t] = nil
	o.open--
	if force {
		return o.senders[t].Force(event.OfBatch(b))
	}
	return o.send(t, b)
}

func (o *Output) send(t int, b event.Batch) error {
	if o.hurry && o.forced[t] < hurryMax {
		o.forced[t]++
		return o.senders[t].Force(event.OfBatch(b))
	}
	return o.senders[t].Send(event.OfBatch(b))
}

// Hurry says whether batches go beyond the bound from now on, a few for each target. A task hurries while it cuts: what its
// operators still hold back goes ahead of the barrier, which must not wait for a slow consumer.
func (o *Output) Hurry(on bool) {
	o.hurry = on
	if on && o.forced == nil {
		o.forced = make([]uint8, len(o.senders))
	}
	clear(o.forced)
}

// Flush sends the partial batches. A task calls it when the buffer timeout has passed since Pending became true, and when
// it has nothing else to do.
func (o *Output) Flush() error {
	for t := 0; o.open > 0 && t < len(o.partial); t++ {
		if err := o.flush(t, false); err != nil {
			return err
		}
	}
	return nil
}

// Pending reports whether rows wait in partial batches.
func (o *Output) Pending() bool { return o.open > 0 }

// Available reports whether no sender would block now. Where it is false, WaitOutput of the task's inbox waits for room.
// After it was true, Emit of one batch may still block, if its rows fill more than one partial of a target.
func (o *Output) Available() bool {
	for _, s := range o.senders {
		if !s.Available() {
			return false
		}
	}
	return true
}

// Event sends the partial batches and then ev, which carries no batch, to all targets. It does not wait for room if ev is a
// barrier: what precedes it goes beyond the bound, one batch a target.
func (o *Output) Event(ev event.Event) error {
	if ev.Kind == event.KindBatch {
		return o.Emit(ev.Batch)
	}
	if o.ended {
		panic("exchange: " + o.op + ": " + ev.Kind.String() + " after the end")
	}
	o.ended = ev.Kind == event.KindEnd
	force := ev.Kind == event.KindBarrier
	for t, s := range o.senders {
		if err := o.flush(t, force); err != nil {
			return err
		}
		if err := s.Send(ev); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the partial batches. The task calls it at its end; what should still arrive was sent by Flush or Event.
func (o *Output) Close() error {
	for t, b := range o.partial {
		if b != nil {
			b.Release()
			o.partial[t] = nil
		}
	}
	o.open = 0
	return nil
}
