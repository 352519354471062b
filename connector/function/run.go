package function

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/weir-stream/weir/connector"
)

// ringRows is the capacity of the ring between a function and its reader.
const ringRows = 1024

// run is one call of a source function. Its goroutine, the producer, writes rows into a ring; the reader's goroutine takes
// them out.
//
// head and tail only grow; rows head <= i < tail are in the ring at i modulo its size. The producer alone writes tail and the
// rows behind it, the reader alone writes head and clears what it has taken. Each of the two sets its flag (full, hungry)
// before it looks at the other's counter for the last time and goes to sleep, and the other looks at the flag after it has
// moved its counter; so one of them sees the other.
type run[T any] struct {
	id    string
	state splitState // Emitted counts what the reader has taken; of the reader's goroutine
	r     *reader[T]

	ring       []T
	head, tail atomic.Int64
	full       atomic.Bool
	space      chan struct{}
	skip       int64 // rows to drop at the start; of the producer

	ended atomic.Bool   // set when no more rows come, and err is set
	done  chan struct{} // closed behind the last act of the producer
	err   error
}

func start[T any](r *reader[T], id string, st splitState) *run[T] {
	run := &run[T]{id: id, state: st, r: r, ring: make([]T, ringRows), space: make(chan struct{}, 1), skip: st.Emitted, done: make(chan struct{})}
	go run.produce()
	return run
}

func (u *run[T]) produce() {
	defer func() {
		if p := recover(); p != nil {
			u.err = fmt.Errorf("function: the source function panicked: %v\n%s", p, debug.Stack())
		}
		u.ended.Store(true)
		u.wakeReader()
		close(u.done)
	}()
	if err := u.r.src.f(u.r.ctx, u.state.Split, u.state.Splits, u.emit); err != nil {
		u.err = fmt.Errorf("function: the source function failed: %w", err)
	}
}

func (u *run[T]) wakeReader() {
	if u.r.hungry.Load() && u.r.hungry.CompareAndSwap(true, false) {
		u.r.wake.Up()
	}
}

// emit is called by the user's function.
func (u *run[T]) emit(row T) error {
	if err := u.r.ctx.Err(); err != nil {
		return err
	}
	if u.skip > 0 {
		u.skip--
		return nil
	}
	t := u.tail.Load()
	for t-u.head.Load() == ringRows {
		u.full.Store(true)
		if t-u.head.Load() < ringRows {
			break
		}
		select {
		case <-u.space:
		case <-u.r.ctx.Done():
			return u.r.ctx.Err()
		}
	}
	u.ring[t%ringRows] = row
	u.tail.Store(t + 1)
	u.wakeReader()
	return nil
}

// take moves rows into b. ended says that there are none left and will be none.
func (u *run[T]) take(b *connector.Batch[T]) (n int, ended bool) {
	over := u.ended.Load() // before tail: what was emitted before the end is seen below
	h, t := u.head.Load(), u.tail.Load()
	for ; h < t && !b.Full(); h++ {
		slot := &u.ring[h%ringRows]
		b.Rows = append(b.Rows, *slot)
		var zero T
		*slot = zero
		n++
	}
	u.state.Emitted += int64(n)
	u.head.Store(h)
	if n > 0 && u.full.Load() && u.full.CompareAndSwap(true, false) {
		select {
		case u.space <- struct{}{}:
		default:
		}
	}
	return n, over && h == t
}
