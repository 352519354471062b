package exchange

import (
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

// entry is an event in a channel's queue.
type entry struct {
	ev event.Event
	// seen is the largest epoch for which Inflight has handed this event out.
	seen uint64
}

// overtaker is an unaligned barrier and its place: everything with a smaller number was sent before it.
type overtaker struct {
	barrier event.Barrier
	place   uint64
}

// channel is the queue of one input channel. All fields but credit are guarded by the inbox's mutex.
//
// Invariants: credit == depth - batches; between two entries that are batches or barriers lie at most one watermark and
// one idle or active event; place of the first entry + n is the place of the next event.
type channel struct {
	// credit is how many batches may still be put in. It falls below zero by what was forced in ahead of a barrier.
	credit atomic.Int32

	ring    []entry // a power of two long
	head, n int
	first   uint64 // place of the entry at head

	// lane holds unaligned barriers that were not polled yet.
	lane []overtaker
	// cut is the last unaligned barrier polled.
	cut overtaker
	// fence is the place of the last unaligned barrier delivered: entries before it are not merged with those after.
	fence uint64

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

func (c *channel) at(i int) *entry { return &c.ring[(c.head+i)&(len(c.ring)-1)] }

func (c *channel) grow() {
	ring := make([]entry, max(8, 2*len(c.ring)))
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
			tail.ev.Time = max(tail.ev.Time, ev.Time)
			tail.seen = 0
			return
		}
	case event.KindIdle, event.KindActive:
		if c.tailIs(event.KindIdle, event.KindActive) {
			tail := c.at(c.n - 1)
			tail.ev.Kind, tail.seen = ev.Kind, 0
			return
		}
	case event.KindBarrier:
		if ev.Barrier.Unaligned {
			c.fence = c.first + uint64(c.n)
			c.lane = append(c.lane, overtaker{ev.Barrier, c.fence})
			return
		}
	case event.KindEnd:
		c.ended = true
	}
	if c.n == len(c.ring) {
		c.grow()
	}
	c.n++
	*c.at(c.n - 1) = entry{ev: ev}
}

// tailIs reports whether the last event of the queue has one of the two kinds and was sent after every barrier.
func (c *channel) tailIs(a, b event.Kind) bool {
	if c.n == 0 || c.first+uint64(c.n) <= c.fence {
		return false
	}
	k := c.at(c.n - 1).ev.Kind
	return k == a || k == b
}

// pop removes the first event. The queue must not be empty.
func (c *channel) pop() entry {
	p := c.at(0)
	e := *p
	p.ev.Batch = nil
	c.head = (c.head + 1) & (len(c.ring) - 1)
	c.n--
	c.first++
	if e.ev.Kind == event.KindBatch {
		c.batches--
		c.taken++
		c.credit.Add(1)
	}
	return e
}

// overtakes reports whether an unaligned barrier may be polled now: no other barrier lies before its place.
func (c *channel) overtakes() bool {
	if len(c.lane) == 0 {
		return false
	}
	limit := min(uint64(c.n), c.lane[0].place-min(c.lane[0].place, c.first))
	for i := range int(limit) {
		if c.at(i).ev.Kind == event.KindBarrier {
			return false
		}
	}
	return true
}

// popLane removes the first unaligned barrier.
func (c *channel) popLane() event.Event {
	c.cut = c.lane[0]
	c.lane = append(c.lane[:0], c.lane[1:]...)
	return event.OfBarrier(c.cut.barrier)
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

// inflight appends to dst the events before the barrier of epoch that Inflight has not handed out for it yet.
func (c *channel) inflight(dst []event.Event, epoch uint64) []event.Event {
	end := c.first + uint64(c.n)
	if c.cut.barrier.Epoch == epoch {
		end = c.cut.place
	}
	for _, o := range c.lane {
		if o.barrier.Epoch == epoch {
			end = o.place
		}
	}
	for i := 0; i < c.n && c.first+uint64(i) < end; i++ {
		e := c.at(i)
		if e.ev.Kind == event.KindBarrier && e.ev.Barrier.Epoch >= epoch {
			break
		}
		if e.seen >= epoch || e.ev.Kind == event.KindBarrier || e.ev.Kind == event.KindEnd {
			continue
		}
		e.seen = epoch
		dst = append(dst, e.ev)
	}
	return dst
}

// drain empties the queue and appends its batches to dst.
func (c *channel) drain(dst []event.Batch) []event.Batch {
	for c.n > 0 {
		if e := c.pop(); e.ev.Batch != nil {
			dst = append(dst, e.ev.Batch)
		}
	}
	c.lane = nil
	return dst
}
