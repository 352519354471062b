package checkpoint

import (
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

// advance does what is due now, whatever the last event was.
func (c *Coordinator) advance() {
	for _, p := range slices.Clone(c.pending) {
		if !p.writing && c.now >= p.expires {
			c.fail(p, ReasonExpired)
		}
	}
	if c.restoring && c.reserved > c.cfg.Reserved && !slices.ContainsFunc(c.pending, func(p *pending) bool { return p.writing }) {
		c.restoring = false
		c.do(c.restorePoint())
	}
	c.reserve()
	if c.phase == running && !c.failed {
		c.startDue()
		c.reserve()
	}
}

// startDue triggers what may be triggered now: first what was asked for.
func (c *Coordinator) startDue() {
	for len(c.requests) > 0 && c.hasEpoch() && c.mayServe(c.requests[0]) {
		a := c.requests[0]
		c.requests = c.requests[1:]
		c.start(a, true)
	}
	for c.hasEpoch() && c.mayTrigger() {
		switch {
		case c.finalDue():
			if c.now < c.finalAfter {
				return
			}
		case c.cfg.Interval > 0 && c.now >= max(c.next, c.pauseUntil):
		default:
			return
		}
		c.next = c.now + c.cfg.Interval
		c.start(Asked{Purpose: event.PurposeCheckpoint}, false)
	}
}

// restorePoint is the newest epoch whose effects may be outside already.
func (c *Coordinator) restorePoint() RestorePoint {
	if len(c.complete) == 0 {
		return RestorePoint{}
	}
	newest := c.complete[len(c.complete)-1]
	return RestorePoint(newest)
}

func (c *Coordinator) hasEpoch() bool { return c.epoch < c.reserved }

// reserve keeps half a block of epochs in hand, so that a trigger does not wait for the storage.
func (c *Coordinator) reserve() {
	left := uint64(c.reserved - c.epoch)
	if c.reserving || c.now < c.reserveAt || left > uint64(c.cfg.EpochBlock)/2 {
		return
	}
	c.reserving = true
	c.do(ReserveEpochs{c.reserved + ids.Epoch(c.cfg.EpochBlock)})
}

// mayTrigger reports whether a checkpoint that nobody asked for may start.
func (c *Coordinator) mayTrigger() bool {
	return !c.stopping() && len(c.requests) == 0 && c.mayServe(Asked{Purpose: event.PurposeCheckpoint})
}

// mayServe reports whether a request may start: savepoints always, but with unaligned checkpoints one epoch is in flight at
// a time.
func (c *Coordinator) mayServe(a Asked) bool {
	if len(c.live()) == 0 {
		return false
	}
	if c.cfg.Unaligned {
		return len(c.pending) == 0
	}
	checkpoints := 0
	for _, p := range c.pending {
		if !p.savepoint() {
			checkpoints++
		}
	}
	return isSavepoint(a.Purpose) || checkpoints < c.cfg.ConcurrentMax
}

// finalDue reports whether all live tasks wait for a checkpoint before they may go.
func (c *Coordinator) finalDue() bool {
	return c.cfg.Final && c.finalDone == 0 && c.allDrained() &&
		!slices.ContainsFunc(c.pending, func(p *pending) bool { return p.final })
}

func (c *Coordinator) allDrained() bool {
	return len(c.tasks) > 0 && !slices.ContainsFunc(c.tasks, func(t member) bool { return !t.drained })
}

// start triggers the next epoch.
func (c *Coordinator) start(a Asked, byUser bool) {
	c.epoch++
	p := &pending{
		epoch: c.epoch, asked: a, byUser: byUser, expires: c.now + c.cfg.Timeout,
		barrier:   event.Barrier{Epoch: uint64(c.epoch), Purpose: a.Purpose},
		triggered: map[ids.TaskID]bool{}, acked: map[ids.TaskID]bool{},
		final: c.allDrained() && !isSavepoint(a.Purpose),
	}
	if c.cfg.Unaligned && a.Purpose == event.PurposeCheckpoint {
		if p.barrier.Unaligned = c.cfg.AlignedTimeout == 0; !p.barrier.Unaligned {
			p.switchAt = c.now + c.cfg.AlignedTimeout
		}
	}
	c.pending = append(c.pending, p)
	c.trigger(p)
}

// NextDeadline is when the driver has to send Tick, if nothing else happens before. It has no side effect.
func (c *Coordinator) NextDeadline() (at time.Duration, ok bool) {
	add := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if c.phase == closed {
		return 0, false
	}
	for _, p := range c.pending {
		if !p.writing {
			add(p.expires)
		}
	}
	if !c.reserving && c.reserveAt > c.now {
		add(c.reserveAt)
	}
	if c.phase != running || c.failed || !c.hasEpoch() || !c.mayTrigger() {
		return at, ok
	}
	if c.finalDue() {
		add(c.finalAfter)
	} else if c.cfg.Interval > 0 {
		add(max(c.next, c.pauseUntil))
	}
	return at, ok
}
