package clock

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Virtual is a clock that moves only when told. Construct it with NewVirtual.
type Virtual struct {
	mu struct {
		sync.Mutex
		now     time.Time
		seq     uint64
		pending timerHeap
		changed chan struct{} // closed and replaced whenever pending grows
	}
	// advance makes concurrent calls of Advance take turns, so that the order of firing stays certain.
	advance sync.Mutex
}

// NewVirtual returns a clock that stands at start.
func NewVirtual(start time.Time) *Virtual {
	v := &Virtual{}
	v.mu.now = start.Round(0) // without the monotonic reading: differences are taken from the wall time we set
	v.mu.changed = make(chan struct{})
	return v
}

// Now implements Clock.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.now
}

// Since implements Clock.
func (v *Virtual) Since(t time.Time) time.Duration { return v.Now().Sub(t) }

// NewTimer implements Clock.
func (v *Virtual) NewTimer(d time.Duration) Timer {
	t := &virtualTimer{clock: v, c: make(chan time.Time, 1), index: -1}
	t.Reset(d)
	return t
}

// AfterFunc implements Clock. f runs on the goroutine that calls Advance; with a d of zero or less it waits for the
// next call of Advance, even by zero.
func (v *Virtual) AfterFunc(d time.Duration, f func()) Timer {
	t := &virtualTimer{clock: v, f: f, index: -1}
	t.Reset(d)
	return t
}

// Sleep implements Clock.
func (v *Virtual) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, v, d) }

// Advance moves the clock by d, firing on the way what comes due, in order; while a timer fires the clock stands at
// that timer's instant. Timers that are set on the way and come due within d fire as well. A negative d panics.
// Advance must not be called by a function of AfterFunc.
func (v *Virtual) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: Virtual.Advance by a negative duration")
	}
	v.advance.Lock()
	defer v.advance.Unlock()
	v.runUntil(v.Now().Add(d))
}

// AdvanceTo moves the clock to t as Advance does. If t lies in the past nothing happens.
func (v *Virtual) AdvanceTo(t time.Time) {
	v.advance.Lock()
	defer v.advance.Unlock()
	if !t.Before(v.Now()) {
		v.runUntil(t.Round(0))
	}
}

// Next is the instant of the next timer, and false if none is set.
func (v *Virtual) Next() (time.Time, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.mu.pending) == 0 {
		return time.Time{}, false
	}
	return v.mu.pending[0].due, true
}

// Pending is the number of timers that are set, sleepers included.
func (v *Virtual) Pending() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.mu.pending)
}

// AwaitPending blocks until at least n timers are set, so that a test can be sure that the code it drives has come to
// wait. It returns ctx's error if that is done first.
func (v *Virtual) AwaitPending(ctx context.Context, n int) error {
	for {
		v.mu.Lock()
		enough, changed := len(v.mu.pending) >= n, v.mu.changed
		v.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (v *Virtual) runUntil(end time.Time) {
	for {
		v.mu.Lock()
		if len(v.mu.pending) == 0 || v.mu.pending[0].due.After(end) {
			v.mu.now = end
			v.mu.Unlock()
			return
		}
		t := heap.Pop(&v.mu.pending).(*virtualTimer)
		if t.due.After(v.mu.now) {
			v.mu.now = t.due
		}
		if t.f == nil {
			t.c <- v.mu.now // has room: Reset and Stop empty it
		}
		v.mu.Unlock()
		if t.f != nil {
			t.f()
		}
	}
}

type virtualTimer struct {
	clock *Virtual
	c     chan time.Time
	f     func()
	// due, seq and index belong to clock.mu. index is the place in the heap, -1 when not set.
	due   time.Time
	seq   uint64
	index int
}

func (t *virtualTimer) C() <-chan time.Time { return t.c }

func (t *virtualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.unset()
}

func (t *virtualTimer) Reset(d time.Duration) bool {
	v := t.clock
	v.mu.Lock()
	defer v.mu.Unlock()
	was := t.unset()
	if d <= 0 && t.f == nil {
		t.c <- v.mu.now
		return was
	}
	v.mu.seq++
	t.due, t.seq = v.mu.now.Add(max(d, 0)), v.mu.seq
	heap.Push(&v.mu.pending, t)
	close(v.mu.changed)
	v.mu.changed = make(chan struct{})
	return was
}

// unset takes the timer off the heap and empties its channel. As with Go's timers an instant that nobody has received
// counts as not fired. The caller holds clock.mu.
func (t *virtualTimer) unset() bool {
	select {
	case <-t.c:
		return true
	default:
	}
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.clock.mu.pending, t.index)
	return true
}

// timerHeap orders by instant, and among equals by the order of setting.
type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].seq < h[j].seq
	}
	return h[i].due.Before(h[j].due)
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*virtualTimer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = -1
	return t
}
