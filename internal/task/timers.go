package task

import "container/heap"

// timerQueue holds the processing-time callbacks of a task's operators. It belongs to the task's goroutine.
type timerQueue struct {
	heap timerHeap
	seq  int64
}

type timer struct {
	at   int64
	seq  int64 // equal times fire in the order of registration
	f    func(now int64) error
	of   *link // whose timer it is
	slot int   // place in the heap, -1 once fired or cancelled
}

// linkTimers are the timers of one operator.
type linkTimers struct{ l *link }

// At implements operator.Timers.
func (x linkTimers) At(at int64, f func(now int64) error) (cancel func()) {
	q := &x.l.t.timers
	q.seq++
	t := &timer{at: at, seq: q.seq, f: f, of: x.l}
	heap.Push(&q.heap, t)
	return func() {
		if t.slot >= 0 {
			heap.Remove(&q.heap, t.slot)
		}
	}
}

func (q *timerQueue) next() (at int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// fireTimers calls the timers that are due. One that is set by a firing for a time already due fires in the same call,
// but never more than those that were due when it began times two, so that an operator that always sets another cannot
// starve the input.
func (t *Task) fireTimers(now int64) error {
	for budget := 2*len(t.timers.heap) + 1; budget > 0; budget-- {
		at, ok := t.timers.next()
		if !ok || at > now {
			return nil
		}
		due := heap.Pop(&t.timers.heap).(*timer)
		t.dirty = true
		above := t.enter(due.of)
		err := due.f(now)
		t.current = above
		if err != nil {
			return err
		}
	}
	return nil
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].slot, h[j].slot = i, j
}
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.slot = len(*h)
	*h = append(*h, t)
}
func (h *timerHeap) Pop() any {
	old := *h
	n := len(old) - 1
	t := old[n]
	old[n] = nil
	*h = old[:n]
	t.slot = -1
	return t
}
