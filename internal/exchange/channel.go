package exchange

import (
	"slices"
	"sync/atomic"

	"github.com/weir-stream/weir/internal/event"
)

// upstream is what feeds a channel. Its methods are called without any lock, from the consumer's task or whoever
// cancelled it, and must not block.
type upstream interface {
	// room says that the consumer took n batches since the last call.
	room(n int)
	// closed says that nothing will be taken any more.
	closed()
}

// channel is the queue of one input channel. All fields but credit are guarded by the inbox's mutex.
//
// Invariants: credit == depth - batches; between two entries that are batches or barriers lie at most one watermark and
// one idle or active event; place of the first entry + n is the place of the next event. A barrier that was taken ahead
// leaves an entry of KindNone at its place, so that nothing merges over it; the first entry is none.
type channel struct {
	// credit is how many batches may still be put in. It falls below zero by what was forced in ahead of a barrier.
	credit atomic.Int32

	ring    []event.Event // a power of two long
	head, n int
	first   uint64 // place of the entry at head

	// news are barriers whose arrival is still to be told.
	news []event.Barrier
	// capture is the epoch whose barrier is taken ahead, 0 if there is none.
	capture uint64
	// ahead is the place of that barrier plus one, once it is there, and 0 else.
	ahead uint64
	// cut is the place of the last barrier that was taken ahead: everything with a smaller number was sent before it.
	cut uint64
	// ordered says that no barrier of this channel overtakes.
	ordered bool

	depth   int
	batches int
	// taken counts the batches polled since the producer was last told of room.
	taken int
	// wanted says that the producer waits for room, or (always so for a remote one) wants to be told of all.
	wanted bool
	remote bool
	// held says that the consumer does not want to read this channel now.
	held  bool
	ended bool
	from  upstream
}

func (c *channel) at(i int) *event.Event { return &c.ring[(c.head+i)&(len(c.ring)-1)] }

func (c *channel) grow() {
	ring := make([]event.Event, max(8, 2*len(c.ring)))
	for i := range c.n {
		ring[i] = *c.at(i)
	}
	c.ring, c.head = ring, 0
}

// push appends ev, or merges it with the events without rows at the end of the queue.
func (c *channel) push(ev event.Event) {
	switch ev.Kind {
	case event.KindBatch:
		c.batches++
		c.credit.Add(-1)
	case event.KindWatermark:
		// A watermark ends idleness by itself, and two watermarks say no more than the larger one.
		if c.tailIs(event.KindIdle, event.KindActive) {
			c.n--
		}
		if c.tailIs(event.KindWatermark, event.KindWatermark) {
			tail := c.at(c.n - 1)
			tail.Time = max(tail.Time, ev.Time)
			return
		}
	case event.KindIdle, event.KindActive:
		if c.tailIs(event.KindIdle, event.KindActive) {
			c.at(c.n - 1).Kind = ev.Kind
			return
		}
	case event.KindBarrier:
		switch {
		case ev.Barrier.Epoch == c.capture:
			c.ahead = c.first + uint64(c.n) + 1
		case !c.ordered && ev.Barrier.Overtakes():
			c.news = append(c.news, ev.Barrier)
		}
	case event.KindEnd:
		c.ended = true
		if c.capture > 0 && c.ahead == 0 {
			c.ahead = c.first + uint64(c.n) + 1
		}
	}
	if c.n == len(c.ring) {
		c.grow()
	}
	c.n++
	*c.at(c.n - 1) = ev
}

// tailIs reports whether the last event of the queue has one of the two kinds.
func (c *channel) tailIs(a, b event.Kind) bool {
	if c.n == 0 {
		return false
	}
	k := c.at(c.n - 1).Kind
	return k == a || k == b
}

// pop removes the first event. The queue must not be empty.
func (c *channel) pop() event.Event {
	p := c.at(0)
	ev := *p
	p.Batch = nil
	c.skip()
	if ev.Kind == event.KindBatch {
		c.batches--
		c.taken++
		c.credit.Add(1)
	}
	for c.n > 0 && c.at(0).Kind == event.KindNone {
		c.skip()
	}
	return ev
}

func (c *channel) skip() {
	c.head = (c.head + 1) & (len(c.ring) - 1)
	c.n--
	c.first++
}

// urgent reports whether there is something that does not wait for the events in front of it.
func (c *channel) urgent() bool { return c.ahead > 0 || len(c.news) > 0 }

// popUrgent returns a barrier that is taken ahead, or the news of the end where that barrier cannot come any more, or else
// the news of a barrier that stays where it is.
func (c *channel) popUrgent() (ev event.Event, news bool) {
	if c.ahead == 0 {
		ev = event.OfBarrier(c.news[0])
		c.news = append(c.news[:0], c.news[1:]...)
		return ev, true
	}
	c.cut = c.ahead - 1
	p := c.at(int(c.cut - c.first))
	ev = *p
	c.ahead, c.capture = 0, 0
	if ev.Kind == event.KindEnd {
		return ev, true
	}
	p.Kind = event.KindNone
	for c.n > 0 && c.at(0).Kind == event.KindNone {
		c.skip()
	}
	return ev, false
}

// overtake has the barrier of epoch taken ahead of what is in front of it, now or when it comes.
func (c *channel) overtake(epoch uint64) {
	c.capture, c.ahead = epoch, 0
	for i := range c.n {
		if e := c.at(i); e.Kind == event.KindBarrier && e.Barrier.Epoch == epoch {
			c.ahead = c.first + uint64(i) + 1
			c.news = slices.DeleteFunc(c.news, func(b event.Barrier) bool { return b.Epoch == epoch })
			return
		}
	}
	if epoch > 0 && c.n > 0 && c.at(c.n-1).Kind == event.KindEnd {
		c.ahead = c.first + uint64(c.n)
	}
}

// roomToTell returns how many batches the producer should now be told were taken. Waking it for each would make both
// sides trade single batches; waking it when half of the queue is free lets each work on several.
func (c *channel) roomToTell() int {
	if !c.wanted || c.taken == 0 {
		return 0
	}
	if c.remote {
		if c.taken < max(1, c.depth/2) && c.batches > 0 && !c.held {
			return 0
		}
	} else {
		if c.batches >= c.depth || c.batches > c.depth/2 && !c.held {
			return 0
		}
		c.wanted = false
	}
	n := c.taken
	c.taken = 0
	return n
}

// overtaken appends to dst the rows and watermarks that the barrier taken ahead last has overtaken and that are still here.
func (c *channel) overtaken(dst []event.Event) []event.Event {
	for i := 0; i < c.n && c.first+uint64(i) < c.cut; i++ {
		if e := c.at(i); e.Kind == event.KindBatch || e.Kind == event.KindWatermark {
			dst = append(dst, *e)
		}
	}
	return dst
}

// drain empties the queue and appends its batches to dst.
func (c *channel) drain(dst []event.Batch) []event.Batch {
	for c.n > 0 {
		if ev := c.pop(); ev.Batch != nil {
			dst = append(dst, ev.Batch)
		}
	}
	c.news, c.ahead, c.capture = nil, 0, 0
	return dst
}
