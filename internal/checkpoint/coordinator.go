package checkpoint

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

// phase is where the job is, as far as checkpoints are concerned.
type phase uint8

const (
	created    phase = iota // until Begin
	waiting                 // no tasks yet
	running                 // epochs are triggered
	restarting              // until the next Running
	closed                  // ended, or fenced
)

// member is what the Coordinator knows of a task.
type member struct {
	Task
	drained, finished bool
}

// pending is an epoch that has been triggered and is not complete.
type pending struct {
	epoch     ids.Epoch
	asked     Asked // Request is valid if byUser
	byUser    bool
	barrier   event.Barrier
	switchAt  time.Duration
	expires   time.Duration
	triggered map[ids.TaskID]bool
	acked     map[ids.TaskID]bool
	final     bool // every task was at the end of its input at the trigger
	writing   bool // all have acked; from here on only the storage decides
}

// savepoint reports whether the epoch is the user's. Such epochs are neither subsumed nor counted.
func (p *pending) savepoint() bool { return isSavepoint(p.barrier.Purpose) }

func isSavepoint(p event.Purpose) bool {
	return p == event.PurposeSavepoint || p == event.PurposeStop
}

// Coordinator decides when epochs are triggered, and which are complete. It belongs to one goroutine. See the package
// comment for its laws.
type Coordinator struct {
	cfg   Config
	phase phase
	out   []Command
	now   time.Duration

	tasks    []member // in the order of Running
	pending  []*pending
	complete []Completion // rising
	requests []Asked

	epoch      ids.Epoch // the last that was triggered
	reserved   ids.Epoch // the last that this term may trigger
	reserving  bool
	reserveAt  time.Duration // not before
	next       time.Duration // the next periodic trigger
	pauseUntil time.Duration
	finalAfter time.Duration
	finalDone  ids.Epoch // the complete epoch that lets drained tasks go
	failures   int       // in a row
	stopped    bool      // a stop is complete
	restoring  bool      // RestorePoint is owed
	failed     bool      // FailJob has been said and nothing came of it yet
}

// NewCoordinator returns a Coordinator for a leader; it waits for Begin.
func NewCoordinator(cfg Config) (*Coordinator, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Coordinator{
		cfg: cfg, complete: slices.Clone(cfg.Completed), epoch: cfg.Reserved, reserved: cfg.Reserved,
	}, nil
}

// Step takes an event that happened at now, and returns what is to be done. now never falls; its origin is the driver's.
func (c *Coordinator) Step(now time.Duration, e Event) []Command {
	c.now, c.out = max(c.now, now), nil
	if c.phase == closed {
		c.stepClosed(e)
		return c.out
	}
	if e, asked := e.(Asked); asked && c.phase == created {
		c.do(Answer{Request: e.Request, Reason: ReasonNotRunning})
		return c.out
	}
	if _, begin := e.(Begin); begin != (c.phase == created) {
		c.note("%T out of place", e)
		return c.out
	}
	switch e := e.(type) {
	case Begin:
		c.phase, c.restoring = waiting, true
		c.retain()
	case Running:
		c.stepRunning(e)
	case Restarting:
		c.stepRestarting(e)
	case Ended:
		c.close(ReasonEnded)
	case Asked:
		c.stepAsked(e)
	case Acked:
		c.stepAcked(e)
	case Declined:
		c.stepDeclined(e)
	case Drained:
		c.stepDrained(e)
	case Finished:
		c.stepFinished(e)
	case ManifestWritten:
		c.stepWritten(e)
	case ManifestFailed:
		c.stepUnwritten(e)
	case Reserved:
		c.stepReserved(e)
	case ReserveFailed:
		c.stepReserveFailed(e)
	case Tick:
	}
	if c.phase != closed {
		c.advance()
	}
	return c.out
}

func (c *Coordinator) do(cmd Command)               { c.out = append(c.out, cmd) }
func (c *Coordinator) note(format string, a ...any) { c.do(Note{fmt.Sprintf(format, a...)}) }

// stepClosed answers what must be answered. A manifest that a fenced or ended leader wrote may be durable: it is a fact of
// the storage, and the next leader's to find.
func (c *Coordinator) stepClosed(e Event) {
	if e, ok := e.(Asked); ok {
		c.do(Answer{Request: e.Request, Reason: ReasonNotRunning})
		return
	}
	c.pending = slices.DeleteFunc(c.pending, func(p *pending) bool {
		switch e := e.(type) {
		case ManifestWritten:
			if p.epoch == e.Epoch {
				c.do(Completed{p.epoch, p.barrier.Purpose})
				c.answer(p, ReasonNone)
				return true
			}
		case ManifestFailed:
			if p.epoch == e.Epoch {
				c.do(Failed{Epoch: p.epoch, Reason: ReasonManifest})
				c.answer(p, ReasonManifest)
				return true
			}
		}
		return false
	})
}

func (c *Coordinator) stepRunning(e Running) {
	if c.phase == running {
		c.note("running already")
		return
	}
	if c.restoring {
		// The driver has started tasks without waiting for the restore point: what they restored may not be the latest.
		panic("checkpoint: Running before RestorePoint")
	}
	c.phase, c.stopped, c.failed, c.failures, c.finalDone = running, false, false, 0, 0
	tasks := make([]member, len(e.Tasks))
	for i, t := range e.Tasks {
		if m := c.member(t.ID); m != nil { // it has gone on meanwhile
			tasks[i] = *m
		}
		tasks[i].Task = t
	}
	c.tasks = tasks
	c.next, c.pauseUntil, c.finalAfter = c.now+c.cfg.Interval, c.now, c.now
}

func (c *Coordinator) stepRestarting(e Restarting) {
	switch c.phase {
	case running:
		c.phase, c.restoring = restarting, true
		c.cancel(ReasonRestarting)
	case restarting:
	default:
		c.note("not running")
		return
	}
	if len(e.Tasks) == 0 {
		c.tasks = nil
		return
	}
	c.tasks = slices.DeleteFunc(c.tasks, func(t member) bool { return slices.Contains(e.Tasks, t.ID) })
}

// close ends everything that is not in the storage's hands.
func (c *Coordinator) close(r Reason) {
	c.cancel(r)
	c.phase = closed
}

// cancel fails all epochs and requests, but those whose manifest is being written: these may become durable, and then the
// files they list must be there.
func (c *Coordinator) cancel(r Reason) {
	for _, p := range slices.Clone(c.pending) {
		if !p.writing {
			c.fail(p, r)
		}
	}
	for _, a := range c.requests {
		c.do(Answer{Request: a.Request, Reason: r})
	}
	c.requests = nil
}

func (c *Coordinator) stepAsked(e Asked) {
	refuse := ReasonNone
	switch {
	case e.Purpose == event.PurposeFlush || e.Purpose > event.PurposeRescale:
		refuse = ReasonPurpose
	case c.phase != running:
		refuse = ReasonNotRunning
	case c.stopping():
		refuse = ReasonStopping
	case len(c.requests) >= requestsMax:
		refuse = ReasonQueueFull
	}
	if refuse != ReasonNone {
		c.do(Answer{Request: e.Request, Reason: refuse})
		return
	}
	c.requests = append(c.requests, e)
}

// stopping reports whether a stop is asked for, under way or complete.
func (c *Coordinator) stopping() bool {
	return c.stopped ||
		slices.ContainsFunc(c.pending, func(p *pending) bool { return p.barrier.Purpose == event.PurposeStop }) ||
		slices.ContainsFunc(c.requests, func(a Asked) bool { return a.Purpose == event.PurposeStop })
}

// Stopping reports whether a stop is asked for, under way or complete: then tasks end by it, or have sent the final watermark.
func (c *Coordinator) Stopping() bool { return c.phase == running && c.stopping() }

func (c *Coordinator) find(epoch ids.Epoch) *pending {
	for _, p := range c.pending {
		if p.epoch == epoch {
			return p
		}
	}
	return nil
}

func (c *Coordinator) member(id ids.TaskID) *member {
	for i := range c.tasks {
		if c.tasks[i].ID == id {
			return &c.tasks[i]
		}
	}
	return nil
}

func (c *Coordinator) stepAcked(e Acked) {
	p := c.find(e.Epoch)
	switch {
	case p == nil:
		c.note("late ack of epoch %d by %v", e.Epoch, e.Task)
	case c.member(e.Task) == nil:
		c.note("ack of epoch %d by unknown task %v", e.Epoch, e.Task)
	case p.acked[e.Task]:
		c.note("%v has acked epoch %d already", e.Task, e.Epoch)
	case p.writing:
		c.note("ack of epoch %d by %v, which counted as finished", e.Epoch, e.Task)
	default:
		p.acked[e.Task] = true
		c.write(p)
	}
}

// write publishes an epoch that every unfinished task has acked.
func (c *Coordinator) write(p *pending) {
	if p.writing || len(c.missing(p)) > 0 {
		return
	}
	p.writing = true
	cmd := WriteManifest{Epoch: p.epoch, Purpose: p.barrier.Purpose, Target: p.asked.Target}
	for _, t := range c.tasks {
		if p.acked[t.ID] {
			cmd.Acked = append(cmd.Acked, t.ID)
		} else {
			cmd.Finished = append(cmd.Finished, t.ID)
		}
	}
	c.do(cmd)
}

func (c *Coordinator) missing(p *pending) (out []ids.TaskID) {
	for _, t := range c.tasks {
		if !t.finished && !p.acked[t.ID] {
			out = append(out, t.ID)
		}
	}
	return out
}

func (c *Coordinator) stepDeclined(e Declined) {
	p := c.find(e.Epoch)
	if p == nil || p.writing || c.member(e.Task) == nil {
		c.note("late decline of epoch %d by %v", e.Epoch, e.Task)
		return
	}
	c.fail(p, ReasonDeclined)
}

func (c *Coordinator) stepDrained(e Drained) {
	t := c.member(e.Task)
	switch {
	case t == nil || t.finished:
		c.note("unknown task %v drained", e.Task)
	case t.drained && c.finalDone > 0:
		c.do(NotifyComplete{Epoch: c.finalDone, Tasks: []ids.TaskID{e.Task}})
	case t.drained:
		c.note("%v has drained already", e.Task)
	default:
		t.drained = true
		c.reroot()
	}
}

func (c *Coordinator) stepFinished(e Finished) {
	t := c.member(e.Task)
	if t == nil || t.finished {
		c.note("unknown task %v finished", e.Task)
		return
	}
	t.finished, t.drained = true, true
	c.reroot()
	for _, p := range slices.Clone(c.pending) {
		c.write(p)
	}
}

// reroot triggers the epochs under way at tasks that a barrier cannot reach any more, because the last task in front of
// them has sent its end before the barrier.
func (c *Coordinator) reroot() {
	for _, p := range c.pending {
		if !p.writing {
			c.trigger(p)
		}
	}
}

// trigger sends the barrier of an epoch to each root that does not have it: a live task with nothing in front of it but ends.
func (c *Coordinator) trigger(p *pending) {
	var roots []ids.TaskID
	for _, t := range c.tasks {
		if t.finished || p.triggered[t.ID] || p.acked[t.ID] {
			continue
		}
		if slices.ContainsFunc(t.Upstream, func(id ids.TaskID) bool { m := c.member(id); return m != nil && !m.drained }) {
			continue
		}
		p.triggered[t.ID] = true
		roots = append(roots, t.ID)
	}
	if len(roots) > 0 {
		c.do(Trigger{Barrier: p.barrier, Drain: p.asked.Drain, SwitchAt: p.switchAt, Target: p.asked.Target, Tasks: roots})
	}
}

func (c *Coordinator) live() (out []ids.TaskID) {
	for _, t := range c.tasks {
		if !t.finished {
			out = append(out, t.ID)
		}
	}
	return out
}

func (c *Coordinator) drop(p *pending) {
	c.pending = slices.DeleteFunc(c.pending, func(q *pending) bool { return q == p })
	if !p.savepoint() {
		c.pauseUntil = c.now + c.cfg.MinPause
	}
}

func (c *Coordinator) answer(p *pending, r Reason) {
	if p.byUser {
		c.do(Answer{Request: p.asked.Request, Epoch: p.epoch, Reason: r})
	}
}

// stepWritten is the only way to completion.
func (c *Coordinator) stepWritten(e ManifestWritten) {
	p := c.find(e.Epoch)
	if p == nil || !p.writing {
		c.note("manifest of epoch %d written, which nobody waits for", e.Epoch)
		return
	}
	c.drop(p)
	c.do(Completed{p.epoch, p.barrier.Purpose})
	c.answer(p, ReasonNone)
	if p.barrier.Purpose == event.PurposeSavepoint {
		return
	}
	stop := p.barrier.Purpose == event.PurposeStop
	newest := len(c.complete) == 0 || c.complete[len(c.complete)-1].Epoch < p.epoch
	c.complete = append(c.complete, Completion{p.epoch, stop})
	slices.SortFunc(c.complete, func(a, b Completion) int { return int(int64(a.Epoch) - int64(b.Epoch)) })
	c.failures = 0
	if newest {
		for _, q := range slices.Clone(c.pending) {
			if q.epoch < p.epoch && !q.writing && !q.savepoint() {
				c.fail(q, ReasonSubsumed)
			}
		}
		c.stopped = c.stopped || stop
		if p.final {
			c.finalDone = p.epoch
		}
		if tasks := c.live(); len(tasks) > 0 { // while others are restarted, too
			c.do(NotifyComplete{Epoch: p.epoch, Stop: stop, Tasks: tasks})
		}
	}
	c.retain()
}

// retain forgets the completed checkpoints beyond the newest Config.Retain.
func (c *Coordinator) retain() {
	excess := -c.cfg.Retain
	for _, done := range c.complete {
		if !done.Owned {
			excess++
		}
	}
	c.complete = slices.DeleteFunc(c.complete, func(done Completion) bool {
		if done.Owned || excess <= 0 {
			return false
		}
		excess--
		c.do(Forget{done.Epoch})
		return true
	})
}

func (c *Coordinator) stepUnwritten(e ManifestFailed) {
	p := c.find(e.Epoch)
	if p == nil || !p.writing {
		c.note("manifest of epoch %d failed, which nobody waits for", e.Epoch)
		return
	}
	p.writing = false
	switch {
	case e.Fenced:
		c.stepDown()
	case e.Gone:
		c.fail(p, ReasonGone)
	default:
		c.fail(p, ReasonManifest)
	}
}

func (c *Coordinator) stepDown() {
	c.close(ReasonFenced)
	c.do(StepDown{})
}

// fail gives an epoch up.
func (c *Coordinator) fail(p *pending, r Reason) {
	missing := c.missing(p)
	c.drop(p)
	if tasks := c.live(); len(tasks) > 0 {
		c.do(Abort{p.epoch, tasks})
	}
	c.do(Failed{p.epoch, r, missing})
	c.answer(p, r)
	if p.final {
		c.finalAfter = c.now + max(c.cfg.MinPause, finalRetryPauseMin)
	}
	if r == ReasonRestarting || r == ReasonEnded || r == ReasonFenced {
		return
	}
	if p.asked.Drain {
		// The final watermark is out and timers have fired: there is no way on but from the latest checkpoint.
		c.failJob(p.epoch, r)
		return
	}
	if p.savepoint() || !r.counts() {
		return
	}
	c.failures++
	if c.cfg.TolerableFailures != Unlimited && c.failures > c.cfg.TolerableFailures {
		c.failJob(p.epoch, r)
	}
}

func (c *Coordinator) failJob(epoch ids.Epoch, r Reason) {
	if !c.failed && c.phase == running {
		c.failed = true
		c.do(FailJob{epoch, r})
	}
}

func (c *Coordinator) stepReserved(e Reserved) {
	c.reserving = false
	c.reserved = max(c.reserved, e.Through)
}

func (c *Coordinator) stepReserveFailed(e ReserveFailed) {
	if !c.reserving {
		c.note("late answer about epochs up to %d", e.Through)
		return
	}
	if e.Fenced {
		c.stepDown()
		return
	}
	c.reserving, c.reserveAt = false, c.now+reserveRetry
}
