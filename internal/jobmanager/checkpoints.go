package jobmanager

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/rpc"
)

// checkpoints drives the checkpoint.Coordinator of a job: it carries out what that decides and tells it what happened. All of
// it belongs to the master's goroutine; what blocks runs on the goroutine of io, one call at a time, in order.
type checkpoints struct {
	m       *Master
	log     Checkpoints             // nil until the store is open
	coord   *checkpoint.Coordinator // nil until then
	opening bool
	io      ioQueue
	tick    clock.Timer
	queue   []checkpoint.Event // that wait for the one that is being handled
	busy    bool

	epochs   map[ids.Epoch]*underWay
	requests map[uint64]*request
	lastReq  uint64

	gone       bool                     // the storage has lost what complete epochs list: only while that is told
	lost       bool                     // another leader has the job
	running    bool                     // the coordinator has been told so
	point      *checkpoint.RestorePoint // nil as long as it is not known
	declined   error                    // why a task had no part of an epoch, the last time
	wasStopped ids.Epoch                // tasks restored from this stop end at once
}

// underWay is an epoch between its trigger and its end.
type underWay struct {
	Collected
	began       time.Time
	enumerators int                       // that have not been snapshotted yet
	open        bool                      // the store and all enumerators are done: triggers are sent
	waiting     []checkpoint.Trigger      // until then
	over        *checkpoint.WriteManifest // all tasks have finished before that: what follows then
	gates       []chan struct{}
	sums        LastCheckpoint
}

// request is what a user has asked for.
type request struct {
	answer chan<- requestAnswer // has room
	path   string
}

type requestAnswer struct {
	published Published
	err       error
}

func newCheckpoints(m *Master) *checkpoints {
	c := &checkpoints{m: m, epochs: map[ids.Epoch]*underWay{}, requests: map[uint64]*request{}}
	c.io.post, c.io.run = m.post, m.background.Go
	return c
}

// now is the coordinator's time.
func (c *checkpoints) now() time.Duration { return c.m.cfg.Clock.Since(c.m.began) }

// prepare finds out where the job goes on, or does nothing if that is under way or known. The end is Master.restored.
func (c *checkpoints) prepare() {
	switch {
	case c.opening:
	case c.coord == nil:
		c.opening = true
		c.open()
	case c.point != nil:
		c.load(*c.point)
	}
}

func (c *checkpoints) open() {
	ctx := c.m.life
	c.io.add(func() func() {
		log, found, err := c.m.cfg.Checkpoints.Store.Open(ctx)
		return func() { c.opened(log, found, err) }
	})
}

func (c *checkpoints) opened(log Checkpoints, found Found, err error) {
	c.opening = false
	if err == nil {
		cfg := c.m.cfg.Checkpoints.Config
		cfg.Term, cfg.Reserved, cfg.Completed = found.Term, found.Reserved, found.Completed
		c.coord, err = checkpoint.NewCoordinator(cfg)
	}
	if err != nil {
		c.coord = nil
		c.m.fail(storeError(err))
		return
	}
	c.log = log
	c.m.job.Term = found.Term
	c.step(checkpoint.Begin{})
}

// storeError gives an error of the store a code, if it has none.
func storeError(err error) error {
	if errs.CodeOf(err) != "" {
		return err
	}
	return errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, "checkpoints", "the storage of checkpoints failed")
}

// step tells the coordinator of an event and carries out its commands. What they cause waits until all are carried out.
func (c *checkpoints) step(e checkpoint.Event) {
	if c.coord == nil {
		return
	}
	c.queue = append(c.queue, e)
	if c.busy {
		return
	}
	c.busy = true
	for len(c.queue) > 0 {
		e := c.queue[0]
		c.queue = c.queue[1:]
		for _, cmd := range c.coord.Step(c.now(), e) {
			c.carryOut(cmd)
		}
	}
	c.busy = false
	c.wind()
}

// wind sets the timer to when the coordinator wants to hear of the time.
func (c *checkpoints) wind() {
	at, ok := c.coord.NextDeadline()
	if c.tick != nil {
		c.tick.Stop()
		c.tick = nil
	}
	if !ok {
		return
	}
	var t clock.Timer
	t = c.m.cfg.Clock.AfterFunc(max(0, at-c.now()), func() {
		c.m.post(func() {
			if c.tick == t {
				c.tick = nil
				c.step(checkpoint.Tick{})
			}
		})
	})
	c.tick = t
}

func (c *checkpoints) carryOut(cmd checkpoint.Command) {
	switch cmd := cmd.(type) {
	case checkpoint.ReserveEpochs:
		c.reserve(cmd.Through)
	case checkpoint.Trigger:
		c.trigger(cmd)
	case checkpoint.Abort:
		if c.lost { // its manifest may be there, for the next leader: what it lists must stay
			return
		}
		c.m.sendTasks(cmd.Tasks, func(tasks []ids.TaskID) rpc.Body {
			return &rpc.CheckpointAbort{Epoch: cmd.Epoch, Whole: c.gone, Tasks: tasks}
		})
	case checkpoint.NotifyComplete:
		c.m.sendTasks(cmd.Tasks, func(tasks []ids.TaskID) rpc.Body {
			return &rpc.CheckpointComplete{Epoch: cmd.Epoch, Stop: cmd.Stop, Tasks: tasks}
		})
	case checkpoint.WriteManifest:
		c.publish(cmd)
	case checkpoint.Forget:
		c.forget(cmd.Epoch)
	case checkpoint.Completed:
		c.completed(cmd)
	case checkpoint.Failed:
		c.failed(cmd)
	case checkpoint.Answer:
		c.answer(cmd)
	case checkpoint.FailJob:
		c.m.fail(c.failure(cmd))
	case checkpoint.RestorePoint:
		c.point = &cmd
		if c.m.wanted {
			c.load(cmd)
		}
	case checkpoint.StepDown:
		c.fenced()
	case checkpoint.Note:
		c.m.cfg.Log.Debug("checkpoints: " + cmd.Text)
	}
}

// fenced ends the job here: it is another leader's.
func (c *checkpoints) fenced() {
	c.lost = true
	c.m.fail(errs.New(errs.CodeFenced, errs.ClassFailJob, "job "+c.m.job.Name,
		"another process leads this job now, with the same name and the same execution.checkpointing.dir; this one ends, and its last results do not count"))
}

func (c *checkpoints) failure(cmd checkpoint.FailJob) error {
	e := errs.New(errs.CodeCheckpoint, errs.ClassFailTask, fmt.Sprintf("checkpoint %d", cmd.Epoch),
		"%s More checkpoints have failed than execution.checkpointing.tolerable-failed-checkpoints allows", cmd.Reason.Sentence())
	e.Err = c.declined
	return e
}

func (c *checkpoints) reserve(through ids.Epoch) {
	ctx := c.m.life
	c.io.add(func() func() {
		err := c.log.Reserve(ctx, through)
		return func() {
			if err == nil {
				c.step(checkpoint.Reserved{Through: through})
				return
			}
			c.m.cfg.Log.Warn("epochs could not be reserved", "err", err)
			c.step(checkpoint.ReserveFailed{Through: through, Fenced: errs.CodeOf(err) == errs.CodeFenced})
		}
	})
}

// trigger sends an epoch on its way. The first time it is prepared before: the store hears of it, and the enumerators are
// snapshotted and hand out nothing until it has been sent.
func (c *checkpoints) trigger(cmd checkpoint.Trigger) {
	epoch := ids.Epoch(cmd.Barrier.Epoch)
	u := c.epochs[epoch]
	if u != nil {
		if u.open {
			c.send(u, cmd)
		} else {
			u.waiting = append(u.waiting, cmd)
		}
		return
	}
	u = &underWay{Collected: Collected{Epoch: epoch, Purpose: cmd.Barrier.Purpose}, began: c.m.cfg.Clock.Now(), waiting: []checkpoint.Trigger{cmd}}
	c.epochs[epoch] = u
	c.m.figures.checkpoint(func(f *CheckpointFigures) { f.InProgress++ })
	c.m.cfg.Events.CheckpointBegin(events.CheckpointBegin{Job: c.m.job.ID, Epoch: epoch, Purpose: purposeName(u.Purpose)})
	ctx, target := c.m.life, cmd.Target
	c.io.add(func() func() {
		dir, err := c.log.Begin(ctx, epoch, u.Purpose, target)
		return func() {
			if c.epochs[epoch] != u {
				return
			}
			u.Target = dir
			if err != nil {
				c.refuse(u, err)
				return
			}
			c.snapshotEnumerators(u)
		}
	})
}

func (c *checkpoints) snapshotEnumerators(u *underWay) {
	for key, d := range c.m.splits {
		gate := make(chan struct{})
		u.gates = append(u.gates, gate)
		u.enumerators++
		d.snapshot(snapshotRequest{gate: gate, done: func(state []byte, err error) {
			c.m.post(func() { c.snapshotted(u, key, state, err) })
		}})
	}
	c.openIfReady(u)
}

func (c *checkpoints) snapshotted(u *underWay, key sourceKey, state []byte, err error) {
	if c.epochs[u.Epoch] != u {
		return
	}
	u.enumerators--
	if err != nil {
		c.refuse(u, errs.Wrap(err, errs.CodeSource, errs.ClassFailTask, c.m.job.operatorName(key), "the state of its enumerator cannot be taken"))
		return
	}
	c.m.splits[key].log.mark(u.Epoch)
	u.Sources = append(u.Sources, EnumeratorState{Vertex: ids.VertexID(key.vertex), Op: key.op, State: state})
	c.openIfReady(u)
}

// openIfReady sends the triggers, and lets splits be handed out again.
func (c *checkpoints) openIfReady(u *underWay) {
	if u.enumerators > 0 || u.open {
		return
	}
	u.open = true
	u.openGates()
	if u.over != nil {
		c.publish(*u.over)
		return
	}
	for _, cmd := range u.waiting {
		c.send(u, cmd)
	}
	u.waiting = nil
}

func (u *underWay) openGates() {
	for _, g := range u.gates {
		close(g)
	}
	u.gates = nil
}

// refuse declines an epoch that could not begin, in the name of one of the tasks.
func (c *checkpoints) refuse(u *underWay, err error) {
	c.declined = err
	if u.over != nil {
		c.step(checkpoint.ManifestFailed{Epoch: u.Epoch})
		return
	}
	c.step(checkpoint.Declined{Task: u.waiting[0].Tasks[0], Epoch: u.Epoch})
}

func (c *checkpoints) send(u *underWay, cmd checkpoint.Trigger) {
	in := time.Duration(0)
	if cmd.SwitchAt > 0 {
		in = max(1, cmd.SwitchAt-c.now())
	}
	body := func(tasks []ids.TaskID) rpc.Body {
		return &rpc.CheckpointTrigger{Epoch: u.Epoch, Purpose: uint8(cmd.Barrier.Purpose), Unaligned: cmd.Barrier.Unaligned, Drain: cmd.Drain && !planted.Is(planted.DrainIgnored),
			SwitchIn: in, Target: u.Target, Tasks: tasks}
	}
	told := c.m.sendTasks(cmd.Tasks, body)
	if u.Target == "" {
		return
	}
	for _, t := range c.m.job.tasks() {
		if u := (unit{t.Worker, t.Region}); !told[u] {
			told[u] = true
			c.m.send(u, body(nil))
		}
	}
}

// onAck takes a task's part.
func (c *checkpoints) onAck(b *rpc.CheckpointAck) {
	if u := c.epochs[b.Epoch]; u != nil {
		u.Parts = append(u.Parts, TaskPart{Task: b.Task, Part: b.Part})
		u.sums.Size += b.Size
		u.sums.Written += b.Written
		u.sums.InFlight += b.InFlight
	}
	c.step(checkpoint.Acked{Task: b.Task, Epoch: b.Epoch})
}

func (c *checkpoints) onDecline(b *rpc.CheckpointDecline) {
	if b.Failure != nil {
		c.declined = b.Failure
		c.m.cfg.Log.Warn("a task has no part of a checkpoint", "checkpoint", b.Epoch, "task", b.Task, "err", b.Failure)
	}
	c.step(checkpoint.Declined{Task: b.Task, Epoch: b.Epoch})
}

// publish writes the manifest.
func (c *checkpoints) publish(cmd checkpoint.WriteManifest) {
	u := c.epochs[cmd.Epoch]
	if !u.open { // its place and the enumerators are not known yet
		u.over = &cmd
		return
	}
	col := u.Collected
	col.Parts, col.Finished = nil, cmd.Finished
	acked := make(map[ids.TaskID]bool, len(cmd.Acked))
	for _, t := range cmd.Acked {
		acked[t] = true
	}
	for _, p := range u.Parts {
		if acked[p.Task] { // once, though an ack may have come twice
			delete(acked, p.Task)
			col.Parts = append(col.Parts, p)
		}
	}
	if planted.Is(planted.CommitBeforeManifest) {
		c.carryOut(checkpoint.NotifyComplete{Epoch: cmd.Epoch, Tasks: cmd.Acked})
	}
	ctx := c.m.life
	c.io.add(func() func() {
		p, err := c.log.Publish(ctx, col)
		return func() {
			switch {
			case err == nil:
				u.sums.Path = p.Path
				c.step(checkpoint.ManifestWritten{Epoch: cmd.Epoch})
			case ctx.Err() != nil: // nobody knows, and the job has ended
			default:
				c.declined = storeError(err)
				c.lost = c.lost || errs.CodeOf(err) == errs.CodeFenced
				c.m.cfg.Log.Warn("a manifest could not be written", "checkpoint", cmd.Epoch, "err", err)
				c.gone = errs.CodeOf(err) == errs.CodeGone
				c.step(checkpoint.ManifestFailed{Epoch: cmd.Epoch, Fenced: errs.CodeOf(err) == errs.CodeFenced, Gone: c.gone})
				c.gone = false
			}
		}
	})
}

func (c *checkpoints) forget(epoch ids.Epoch) {
	ctx := c.m.life
	c.io.add(func() func() {
		err := c.log.Forget(ctx, epoch)
		return func() {
			switch {
			case errs.CodeOf(err) == errs.CodeFenced:
				c.fenced()
			case err != nil:
				c.m.cfg.Log.Warn("an old checkpoint could not be deleted", "checkpoint", epoch, "err", err)
			}
		}
	})
}

func (c *checkpoints) completed(cmd checkpoint.Completed) {
	u := c.end(cmd.Epoch)
	if u == nil {
		return
	}
	if cmd.Purpose != event.PurposeSavepoint { // no job is restarted from its savepoints
		for _, d := range c.m.splits {
			d.log.complete(cmd.Epoch)
		}
	}
	now := c.m.cfg.Clock.Now()
	u.sums.Epoch, u.sums.Duration, u.sums.At = cmd.Epoch, now.Sub(u.began), now
	c.m.figures.checkpoint(func(f *CheckpointFigures) {
		f.Completed++
		f.Last = u.sums
	})
	c.m.cfg.Events.CheckpointEnd(events.CheckpointEnd{Job: c.m.job.ID, Epoch: cmd.Epoch, Bytes: u.sums.Size, Elapsed: u.sums.Duration})
	c.published(u)
}

func (c *checkpoints) failed(cmd checkpoint.Failed) {
	u := c.end(cmd.Epoch)
	if u == nil {
		return
	}
	u.openGates()
	if planted.Is(planted.AbortedCommitted) {
		for _, t := range c.m.liveTasks() {
			c.carryOut(checkpoint.NotifyComplete{Epoch: cmd.Epoch, Tasks: []ids.TaskID{t.ID}})
		}
	}
	err := errs.New(errs.CodeCheckpoint, errs.ClassFailTask, fmt.Sprintf("checkpoint %d", cmd.Epoch), "%s", cmd.Reason.Sentence())
	switch cmd.Reason {
	case checkpoint.ReasonSubsumed, checkpoint.ReasonRestarting, checkpoint.ReasonEnded:
		err.Class = errs.ClassCanceled // nothing is wrong with the checkpoint itself
	case checkpoint.ReasonExpired:
		err.Msg += fmt.Sprintf(" Missing: %v", c.m.job.names(cmd.Missing))
	case checkpoint.ReasonDeclined, checkpoint.ReasonManifest, checkpoint.ReasonGone:
		err.Err = c.declined
	}
	c.m.figures.checkpoint(func(f *CheckpointFigures) { f.Failed++ })
	c.m.cfg.Events.CheckpointEnd(events.CheckpointEnd{Job: c.m.job.ID, Epoch: cmd.Epoch, Err: err, Elapsed: c.m.cfg.Clock.Since(u.began)})
	if cmd.Reason == checkpoint.ReasonFenced {
		return // its manifest may be there, for the next leader
	}
	ctx, col := c.m.life, u.Collected
	c.io.add(func() func() {
		if err := c.log.Discard(ctx, col); err != nil && ctx.Err() == nil {
			c.m.cfg.Log.Warn("what a failed checkpoint has left could not be deleted", "checkpoint", col.Epoch, "err", err)
		}
		return func() {}
	})
}

func (c *checkpoints) end(epoch ids.Epoch) *underWay {
	u := c.epochs[epoch]
	if u != nil {
		delete(c.epochs, epoch)
		c.m.figures.checkpoint(func(f *CheckpointFigures) { f.InProgress-- })
	}
	return u
}

// load reads what the tasks start from.
func (c *checkpoints) load(p checkpoint.RestorePoint) {
	ctx, generation, alive, reset := c.m.life, c.m.nextGeneration(), c.m.goingOn(), c.m.resetting()
	damaged := c.m.damaged()
	c.m.restores++
	turn := c.m.restores
	if planted.Is(planted.StaleRestore) {
		p = checkpoint.RestorePoint{}
	}
	c.io.add(func() func() {
		r, err := c.log.Restore(ctx, p.Epoch, generation, alive, damaged)
		if err == nil {
			err = c.m.resetEnumerators(ctx, reset, r.Sources)
		}
		return func() {
			if turn != c.m.restores {
				return // another has been asked for
			}
			switch {
			case errs.CodeOf(err) == errs.CodeFenced:
				c.fenced()
				return
			case err != nil:
				c.m.fail(storeError(err))
				return
			}
			c.wasStopped = 0
			if p.Owned {
				c.wasStopped = p.Epoch
			}
			c.m.onRestored(r)
		}
	})
}

// started says that all tasks of a generation run.
func (c *checkpoints) started() {
	if c.coord == nil {
		return
	}
	c.running = true
	c.step(checkpoint.Running{Tasks: c.m.liveTasks()})
	if e := c.m.from.Epoch; e > 0 { // the sinks among what was restored commit again what they may not have committed
		c.m.sendTasks(c.m.scopeTasks(), func(tasks []ids.TaskID) rpc.Body {
			return &rpc.CheckpointComplete{Epoch: e, Stop: c.wasStopped == e, Tasks: tasks}
		})
	}
}

// restarting says that the tasks of the scope stop, and will run again. It comes again when the scope has grown.
func (c *checkpoints) restarting() {
	if c.coord == nil {
		return
	}
	e := checkpoint.Restarting{}
	if !c.m.machine.Whole() {
		e.Tasks = c.m.scopeTasks()
	}
	if c.running {
		c.running, c.point = false, nil
	}
	c.step(e)
}

// stopping reports whether tasks end, or may end, by a stop.
func (c *checkpoints) stopping() bool { return c.coord != nil && c.coord.Stopping() }

// finish waits for what is being written, and leaves the store in order. Nothing of the job runs any more.
func (c *checkpoints) finish(phase string) {
	if c.coord == nil {
		return
	}
	c.step(checkpoint.Ended{})
	if c.tick != nil {
		c.tick.Stop()
		c.tick = nil
	}
	if c.lost {
		return
	}
	ctx := c.m.life
	c.io.add(func() func() {
		err := c.log.End(ctx, phase)
		return func() {
			if err != nil {
				c.m.cfg.Log.Warn("the end of the job could not be noted in the storage of checkpoints", "err", err)
			}
		}
	})
}

func (c *checkpoints) idle() bool { return c.io.idle() }

// ask hands a user's request to the coordinator. The answer comes through the channel, which must have room for it.
func (c *checkpoints) ask(purpose event.Purpose, drain bool, target string, answer chan<- requestAnswer) {
	if c.coord == nil {
		answer <- requestAnswer{err: errs.New(errs.CodeCheckpoint, errs.ClassUser, "job "+c.m.job.Name,
			"no checkpoints or savepoints can be taken: %s", checkpoint.ReasonNotRunning.Sentence())}
		return
	}
	c.lastReq++
	c.requests[c.lastReq] = &request{answer: answer}
	c.step(checkpoint.Asked{Request: c.lastReq, Purpose: purpose, Drain: drain, Target: target})
}

// published remembers where an epoch is, for the answer that follows.
func (c *checkpoints) published(u *underWay) {
	for _, r := range c.requests {
		r.path = u.sums.Path // answers follow at once, and are one at a time
	}
}

func (c *checkpoints) answer(a checkpoint.Answer) {
	r := c.requests[a.Request]
	if r == nil {
		return
	}
	delete(c.requests, a.Request)
	if a.Reason == checkpoint.ReasonNone {
		r.answer <- requestAnswer{published: Published{Path: r.path, Epoch: a.Epoch}}
		return
	}
	e := errs.New(errs.CodeCheckpoint, errs.ClassFailTask, "job "+c.m.job.Name, "%s", a.Reason.Sentence())
	switch a.Reason {
	case checkpoint.ReasonDeclined, checkpoint.ReasonManifest, checkpoint.ReasonGone:
		e.Err = c.declined
	}
	r.answer <- requestAnswer{err: e}
}

func purposeName(p event.Purpose) string {
	switch p {
	case event.PurposeSavepoint:
		return "savepoint"
	case event.PurposeStop:
		return "stop"
	case event.PurposeRescale:
		return "rescale"
	}
	return "checkpoint"
}

// ioQueue runs what blocks, one after the other, on a goroutine that lives as long as there is something to do. It belongs to
// the master's goroutine.
type ioQueue struct {
	waiting []func() (then func())
	busy    bool
	run     func(func())
	post    func(func()) bool
}

// add runs f off the master's goroutine, and then what it returns on it.
func (q *ioQueue) add(f func() (then func())) {
	q.waiting = append(q.waiting, f)
	q.next()
}

func (q *ioQueue) next() {
	if q.busy || len(q.waiting) == 0 {
		return
	}
	f := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.busy = true
	q.run(func() {
		then := f()
		q.post(func() {
			q.busy = false
			then()
			q.next()
		})
	})
}

func (q *ioQueue) idle() bool { return !q.busy && len(q.waiting) == 0 }
