package jobmanager

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobfsm"
	"github.com/weir-stream/weir/internal/rpc"
)

// Result is what is left of a job that has ended.
type Result struct {
	// Phase is "finished", "failed" or "canceled".
	Phase string
	// Operators are the last figures of every operator.
	Operators []rpc.OpMetrics
	// Abandoned are tasks that never stopped.
	Abandoned []ids.TaskID
	// Duration is the time from Run's call to the end of the job.
	Duration time.Duration
}

// Master runs one job, once. New makes it, Run does everything. Calls from other goroutines wait for Run; if it turns out
// that the job cannot begin, Run with a context that has ended lets them go.
type Master struct {
	job     Job
	cfg     Config
	figures *figures
	inbox   chan func()     // what others ask the master's goroutine to do
	quit    chan struct{}   // closed when the inbox is not read any more
	life    context.Context // ends when Run does; the outboxes' own
	kill    context.CancelFunc

	// background are the goroutines that Run waits for, foreign those that run code from outside: Run waits for them too,
	// but not for ever.
	background, foreign sync.WaitGroup

	// All that follows belongs to the goroutine of Run.
	machine   *jobfsm.Machine
	align     *aligner
	splits    map[sourceKey]*dispenser
	sides     sides
	peers     map[*peer]bool
	workers   map[ids.WorkerID]*peer
	expected  map[ids.WorkerID]bool // true once it has joined
	addrs     map[ids.WorkerID]string
	deadlines map[jobfsm.Deadline]clock.Timer
	sideLife  context.Context // of sides: ends as soon as the job fails or is cancelled
	stopAll   context.CancelFunc
	began     time.Time
	steps     []jobfsm.Event // that wait for the one that is being handled
	stepping  bool
	ckpt      *checkpoints // nil if none are taken
	restarts
	regions  regions
	deployed bool // a generation has been
	draining bool
	phase    jobfsm.Phase // the last that was told

	deployment deployment
	end        *jobfsm.End
	cancelErr  error // what the cancellation was asked with
}

// New returns the master of a job. Job and what it refers to must not be changed any more.
func New(job Job, cfg Config) *Master {
	cfg.setDefaults()
	m := &Master{job: job, cfg: cfg, figures: newFigures(&job), inbox: make(chan func()), quit: make(chan struct{}),
		align: newAligner(&job), splits: map[sourceKey]*dispenser{}, peers: map[*peer]bool{}, workers: map[ids.WorkerID]*peer{},
		expected: map[ids.WorkerID]bool{}, addrs: map[ids.WorkerID]string{}, deadlines: map[jobfsm.Deadline]clock.Timer{}}
	m.machine = jobfsm.New(jobfsm.Config{Workers: job.Workers, Tasks: job.tasks(), Fingerprint: job.Fingerprint, Version: job.Version, Exits: cfg.Processes,
		Prepare: cfg.Checkpoints != nil, Restart: cfg.Restart != nil})
	m.sides = sides{sink: cfg.Sides, queues: map[sourceKey]chan sideItem{}, seq: map[rpc.OpRef]uint64{}}
	for _, w := range job.Workers {
		m.expected[w] = false
	}
	m.repeats.Where, m.stalls = m.whereRead, cfg.Stalls
	m.stalls.Where = m.whereRead
	m.regions = newRegions(&job)
	m.life, m.kill = context.WithCancel(context.Background())
	if cfg.Checkpoints != nil {
		m.ckpt = newCheckpoints(m)
	}
	m.restarts.io.post, m.restarts.io.run = m.post, m.background.Go
	return m
}

// Progress is how the job stands; it may be called from any goroutine, also after the end.
func (m *Master) Progress() Progress { return m.figures.progress() }

// Cancel ends the job. It may be called from any goroutine, during Run; it does not wait for the end.
func (m *Master) Cancel(reason string) {
	m.post(func() { m.step(jobfsm.CancelAsked{Reason: reason}) })
}

// WorkerExited says that the process of a worker has ended, and how. It may be called from any goroutine.
func (m *Master) WorkerExited(w ids.WorkerID, how error) {
	cause := errs.New(errs.CodeWorkerLost, errs.ClassFailTask, "worker "+string(w), "%v", how)
	var e *errs.Error
	if errors.As(how, &e) {
		cause = e
	}
	m.post(func() {
		m.dropExited(w, cause)
		m.step(jobfsm.WorkerExited{Worker: w, Cause: cause})
	})
}

// Savepoint takes a savepoint below the directory target, "" for the configured one, and returns when it is complete. It may
// be called from any goroutine, during Run.
func (m *Master) Savepoint(ctx context.Context, target string) (Published, error) {
	return m.request(ctx, event.PurposeSavepoint, false, target)
}

// Stop takes a savepoint like Savepoint after which the job ends as finished. With drain sources end first as if everything
// had been read: all timers fire, and the job cannot be gone on with.
func (m *Master) Stop(ctx context.Context, target string, drain bool) (Published, error) {
	return m.request(ctx, event.PurposeStop, drain, target)
}

// Checkpoint takes a checkpoint now.
func (m *Master) Checkpoint(ctx context.Context) (Published, error) {
	return m.request(ctx, event.PurposeCheckpoint, false, "")
}

func (m *Master) request(ctx context.Context, p event.Purpose, drain bool, target string) (Published, error) {
	over := func() error {
		return errs.New(errs.CodeCheckpoint, errs.ClassFailTask, "job "+m.job.Name, "%s", checkpoint.ReasonEnded.Sentence())
	}
	if m.ckpt == nil {
		return Published{}, errs.New(errs.CodeConfigInvalid, errs.ClassUser, "job "+m.job.Name,
			"it takes no checkpoints, so it cannot be saved: set execution.checkpointing.interval, or execution.checkpointing.dir")
	}
	answer := make(chan requestAnswer, 1)
	if !m.post(func() { m.ckpt.ask(p, drain, target, answer) }) {
		return Published{}, over()
	}
	select {
	case a := <-answer:
		return a.published, a.err
	case <-ctx.Done():
		return Published{}, context.Cause(ctx)
	case <-m.quit:
		select {
		case a := <-answer:
			return a.published, a.err
		default:
			return Published{}, over()
		}
	}
}

// post hands something to the master's goroutine; false means that the job is over.
func (m *Master) post(f func()) bool {
	select {
	case m.inbox <- f:
		return true
	case <-m.quit:
		return false
	}
}

// Run runs the job to its end; the end of ctx cancels it. The error is nil if the job has finished, of class canceled if
// it was cancelled, and else the cause of its failure. When Run returns, all connections are closed.
func (m *Master) Run(ctx context.Context) (Result, error) {
	m.began = m.cfg.Clock.Now()
	m.sideLife, m.stopAll = context.WithCancel(m.life)
	defer m.stopAll()
	m.tellBegin()
	m.step(jobfsm.Begin{})
	if m.ckpt != nil {
		m.prepare()
	}
	m.loop(ctx)
	res := Result{Phase: m.machine.Phase().String(), Abandoned: m.end.Abandoned, Duration: m.cfg.Clock.Since(m.began)}
	m.farewell()
	m.finishCheckpoints()
	m.close()
	res.Operators = m.figures.progress().Operators
	var err error
	switch m.machine.Phase() {
	case jobfsm.Finished:
	case jobfsm.Canceled:
		err = &errs.Error{Code: errs.CodeCanceled, Class: errs.ClassCanceled, Op: "job " + m.job.Name, Msg: "it was cancelled", Err: m.cancelErr}
	default:
		err = m.end.Cause
	}
	m.tellEnd(res, err)
	return res, err
}

// loop works until the job has ended.
func (m *Master) loop(ctx context.Context) {
	var heartbeat <-chan time.Time
	var look clock.Timer
	if m.cfg.HeartbeatTimeout > 0 {
		look = m.cfg.Clock.NewTimer(m.cfg.HeartbeatTimeout / 2)
		defer look.Stop()
		heartbeat = look.C()
	}
	asked := ctx.Done()
	for m.end == nil {
		select {
		case f := <-m.inbox:
			f()
			m.handleMore()
			m.checkDrained()
			for _, l := range m.align.limits() {
				m.announce(l)
			}
		case <-asked:
			asked = nil
			m.cancelErr = context.Cause(ctx)
			m.step(jobfsm.CancelAsked{Reason: "the job was cancelled: " + m.cancelErr.Error()})
		case <-heartbeat:
			m.lookForSilence()
			look.Reset(m.cfg.HeartbeatTimeout / 2)
		}
	}
}

// batchMax bounds how many waiting events are handled before limits of alignment are sent.
const batchMax = 256

// handleMore handles what is waiting already, so that one limit goes out for many reports.
func (m *Master) handleMore() {
	for range batchMax {
		select {
		case f := <-m.inbox:
			f()
		default:
			return
		}
	}
}

// announce sends a limit to every worker that runs the source.
func (m *Master) announce(l *rpc.AlignTo) {
	told := make(map[unit]bool, len(m.workers))
	for subtask := range m.job.Placement[l.Vertex] {
		if u := m.job.unitOf(ids.TaskID{Vertex: l.Vertex, Subtask: int32(subtask)}); !told[u] {
			told[u] = true
			m.send(u, l)
		}
	}
}

// step feeds the machine and executes what it answers.
func (m *Master) step(e jobfsm.Event) {
	m.steps = append(m.steps, e)
	if m.stepping {
		return // it follows the commands that are being executed
	}
	m.stepping = true
	for len(m.steps) > 0 {
		e := m.steps[0]
		m.steps = m.steps[1:]
		for _, c := range m.machine.Step(e) {
			m.execute(c)
		}
	}
	m.stepping = false
}

func (m *Master) fail(cause error) { m.step(jobfsm.MasterFailed{Cause: rpc.FailureOf(cause)}) }

func (m *Master) execute(c jobfsm.Command) {
	switch c := c.(type) {
	case jobfsm.Deploy:
		m.deploy(unit{c.Worker, c.Region})
	case jobfsm.Start:
		m.send(unit{c.Worker, c.Region}, &rpc.Start{})
	case jobfsm.Cancel:
		m.send(unit{c.Worker, c.Region}, &rpc.Cancel{Reason: c.Reason})
	case jobfsm.Shutdown:
		if p := m.workers[c.Worker]; p != nil {
			m.put(p, m.job.Generation, &rpc.Shutdown{Failure: c.Cause})
		}
	case jobfsm.Widened:
		m.widened()
	case jobfsm.Kill:
		if m.cfg.Kill != nil {
			m.cfg.Kill(c.Worker, c.Reason)
		}
		m.cfg.Log.Warn("killed a worker", "worker", c.Worker, "reason", c.Reason)
	case jobfsm.AskRestart:
		m.askRestart(c.Cause)
	case jobfsm.Replace:
		m.expected[c.Worker] = false
		if m.cfg.Replace != nil {
			m.cfg.Replace(c.Worker)
		}
	case jobfsm.DrainSides:
		m.draining = true // see loop
	case jobfsm.SetDeadline:
		m.setDeadline(c.Kind)
	case jobfsm.ClearDeadline:
		m.clearDeadline(c.Kind)
	case jobfsm.Enter:
		m.enter(c.Phase)
	case jobfsm.End:
		m.end = &c
	case jobfsm.Note:
		m.cfg.Log.Debug(c.Text)
	}
}

func (m *Master) enter(p jobfsm.Phase) {
	m.figures.setPhase(p.String())
	m.tellPhase(m.phase, p)
	m.phase = p
	switch p {
	case jobfsm.Deploying:
		if m.deployed {
			m.beginGeneration()
		}
	case jobfsm.Restarting:
		m.tellDeployEnd(errs.New(errs.CodeCanceled, errs.ClassCanceled, "", "the job is restarted"))
		m.fallen()
	case jobfsm.Failing, jobfsm.Canceling:
		m.stopAll()
		m.stopDelay()
	}
	if m.cfg.Phase != nil {
		m.cfg.Phase(p.String())
	}
	if p == jobfsm.Running {
		m.runs()
	}
}

func (m *Master) deploy(u unit) {
	if !m.deployed {
		m.beginGeneration()
	}
	m.tellDeployBegin()
	d := &rpc.Deploy{Placement: m.job.Placement, Attempt: m.machine.Attempt(u.region), Options: m.job.Options, Secret: m.job.Secret, Restore: m.from.Tasks}
	if len(m.regions.generation) > 1 {
		d.Region = m.regions.tasks[u.region]
	}
	for i, id := range m.job.Workers {
		d.Workers = append(d.Workers, rpc.WorkerAddr{Worker: id, DataAddr: m.addrs[id]})
		if id == u.worker {
			d.Self = int32(i)
		}
	}
	m.send(u, d)
}

func (m *Master) setDeadline(k jobfsm.Deadline) {
	m.clearDeadline(k)
	var t clock.Timer
	t = m.cfg.Clock.AfterFunc(m.cfg.deadline(k), func() {
		go m.post(func() {
			if m.deadlines[k] == t { // not cleared, nor set anew
				delete(m.deadlines, k)
				m.step(jobfsm.DeadlinePassed{Kind: k})
			}
		})
	})
	m.deadlines[k] = t
}

func (m *Master) clearDeadline(k jobfsm.Deadline) {
	if t := m.deadlines[k]; t != nil {
		t.Stop()
		delete(m.deadlines, k)
	}
}

// checkDrained tells the machine when the client has taken everything.
func (m *Master) checkDrained() {
	if m.draining && m.sides.pending == 0 {
		m.draining = false
		m.step(jobfsm.SidesTaken{})
	}
}

// farewell waits for the workers to go, but not for long. Those that have not said hello yet are sent away too.
func (m *Master) farewell() {
	for k := range m.deadlines {
		m.clearDeadline(k)
	}
	for p := range m.peers {
		if p.worker == "" {
			m.put(p, m.job.Generation, &rpc.Shutdown{})
		}
	}
	patience := m.cfg.Clock.NewTimer(m.cfg.ExitTimeout)
	defer patience.Stop()
	for len(m.peers) > 0 {
		select {
		case f := <-m.inbox:
			f()
		case <-patience.C():
			return
		}
	}
}

// finishCheckpoints waits for what is being written to the storage of checkpoints, and for the note of the job's end there.
func (m *Master) finishCheckpoints() {
	if m.ckpt == nil {
		return
	}
	m.ckpt.finish(m.machine.Phase().String())
	patience := m.cfg.Clock.NewTimer(finishTimeout)
	defer patience.Stop()
	for !m.ckpt.idle() {
		select {
		case f := <-m.inbox:
			f()
		case <-patience.C():
			m.cfg.Log.Error("the storage of checkpoints does not answer, so it does not know of the job's end", "job", m.job.Name)
			return
		}
	}
}

// finishTimeout bounds the wait for the storage of checkpoints at the end of the job.
const finishTimeout = 30 * time.Second

// close ends everything that was started.
func (m *Master) close() {
	close(m.quit)
	m.stopAll()
	for p := range m.peers {
		m.background.Go(func() { p.conn.Close() })
	}
	m.kill()
	m.background.Wait()
	back := make(chan struct{})
	go func() {
		m.foreign.Wait()
		close(back)
	}()
	patience := m.cfg.Clock.NewTimer(m.cfg.ExitTimeout)
	defer patience.Stop()
	select {
	case <-back:
	case <-patience.C():
		m.cfg.Log.Error("an enumerator or the client's function does not return although the job has ended", "job", m.job.Name)
	}
}
