package taskmanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// Config is what a worker is. Clock, Launcher and Worker are required; zero elsewhere means the default.
type Config struct {
	Worker ids.WorkerID
	// PID is the process id, for messages to people.
	PID int
	// DataAddr is where this worker takes data connections, "" for the only worker of an embedded cluster.
	DataAddr string
	// Fingerprint is that of the plan that this process has built.
	Fingerprint string
	// Version is the engine's.
	Version  string
	Clock    clock.Clock
	Log      *slog.Logger
	Launcher Launcher
	// HeartbeatInterval is the time between signs of life; 10 s if zero.
	HeartbeatInterval time.Duration
	// MetricsInterval is the time between reports of all figures; 1 s if zero.
	MetricsInterval time.Duration
	// CancellationTimeout is how long cancelled tasks may take to stop (`task.cancellation.timeout`); 180 s if zero, for
	// ever if negative.
	CancellationTimeout time.Duration
	// Stacks returns the stacks of all goroutines; runtime.Stack if nil.
	Stacks func() string
	// OnStuck is called once when tasks have not stopped in time, after the master was told (or could not be told). In a
	// process of its own the caller exits here. May be nil. Run returns an error afterwards.
	OnStuck func(tasks []ids.TaskID, stacks string)
}

// stackBytesMax bounds the stacks sent with a complaint.
const stackBytesMax = 1 << 20

// flushTimeout bounds the wait for the last messages to leave.
const flushTimeout = 2 * time.Second

func (c *Config) setDefaults() {
	setDefault(&c.HeartbeatInterval, 10*time.Second)
	setDefault(&c.MetricsInterval, time.Second)
	setDefault(&c.CancellationTimeout, 180*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Stacks == nil {
		c.Stacks = allStacks
	}
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
}

func allStacks() string {
	buf := make([]byte, stackBytesMax)
	return string(buf[:runtime.Stack(buf, true)])
}

// worker is the state of one Run.
type worker struct {
	cfg    Config
	conn   rpc.Conn
	outbox *rpc.Outbox
	todo   chan func()   // what the deployments' goroutines ask Run's to do
	quit   chan struct{} // closed when todo is not read any more

	envelope    rpc.Message     // job, generation and term of what was deployed last
	deployments []*deployment   // that have not ended
	life        context.Context // Run's

	ending bool  // Run returns as soon as nothing runs
	result error // what it returns then
}

// post hands something to the goroutine of Run, unless that has ended.
func (w *worker) post(f func()) {
	select {
	case w.todo <- f:
	case <-w.quit:
	}
}

type received struct {
	msg rpc.Message
	err error
}

// Run serves one master over conn until the master ends it, the connection breaks, or ctx ends. When it returns, every
// task it has started has stopped (or was reported as stuck), and conn is closed. It returns nil if the master has ended
// it in order, the master's reason if it was refused, and the cause of ctx if that has ended.
func Run(ctx context.Context, conn rpc.Conn, cfg Config) error {
	cfg.setDefaults()
	quit, in, sent := make(chan struct{}), make(chan received), make(chan error, 1)
	w := &worker{cfg: cfg, conn: conn, outbox: rpc.NewOutbox(conn, 0), todo: make(chan func()), quit: quit, life: ctx}
	sendCtx, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	var both sync.WaitGroup
	both.Go(func() { receive(conn, in, quit) })
	both.Go(func() { sent <- w.outbox.Run(sendCtx) })
	defer both.Wait()
	defer close(quit)
	defer conn.Close()
	defer stopSending()

	w.send(&rpc.Hello{Worker: cfg.Worker, PID: int64(cfg.PID), DataAddr: cfg.DataAddr, Fingerprint: cfg.Fingerprint, Version: cfg.Version})
	w.loop(ctx, in, sent)
	w.flush(sendCtx)
	return w.result
}

// receive reads the connection until it fails or quit is closed.
func receive(conn rpc.Conn, in chan<- received, quit <-chan struct{}) {
	for {
		m, err := conn.Recv()
		select {
		case in <- received{m, err}:
		case <-quit:
			return
		}
		if err != nil {
			return
		}
	}
}

func (w *worker) loop(ctx context.Context, in <-chan received, sent <-chan error) {
	heartbeat := w.cfg.Clock.NewTimer(w.cfg.HeartbeatInterval)
	metrics := w.cfg.Clock.NewTimer(w.cfg.MetricsInterval)
	defer heartbeat.Stop()
	defer metrics.Stop()
	ended := ctx.Done()
	for !w.ending || len(w.deployments) > 0 {
		select {
		case r := <-in:
			if r.err != nil {
				in = nil
				w.connectionEnded(r.err)
				continue
			}
			w.handle(r.msg)
		case err := <-sent:
			sent = nil
			if errs.CodeOf(err) != errs.CodePeerLost { // else Recv says so, after all that the master still had to say
				w.connectionEnded(err)
			}
		case f := <-w.todo:
			f()
		case <-heartbeat.C():
			w.send(&rpc.Heartbeat{})
			heartbeat.Reset(w.cfg.HeartbeatInterval)
		case <-metrics.C():
			w.sendMetrics()
			metrics.Reset(w.cfg.MetricsInterval)
		case <-ended:
			ended = nil
			w.end(context.Cause(ctx))
		}
	}
}

// send queues a message that is about no deployment. An error of the connection shows up in loop.
func (w *worker) send(b rpc.Body) {
	m := w.envelope
	m.Body = b
	_ = w.outbox.Put(m)
}

// flush says goodbye and waits for the last messages to leave, but not for long.
func (w *worker) flush(ctx context.Context) {
	reason := "end of the job"
	if w.result != nil {
		reason = w.result.Error()
	}
	w.send(&rpc.Goodbye{Reason: reason})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer w.cfg.Clock.AfterFunc(flushTimeout, cancel).Stop()
	_ = w.outbox.Close(ctx)
}

// end cancels what runs and makes Run return result after that.
func (w *worker) end(result error) {
	if w.ending {
		return
	}
	w.ending, w.result = true, result
	cause := result
	if cause == nil {
		cause = errs.Canceled
	}
	for _, d := range w.deployments {
		d.next = nil
		d.cancel(cause)
	}
}

func (w *worker) connectionEnded(err error) {
	if w.ending {
		return
	}
	if errors.Is(err, io.EOF) {
		err = errs.New(errs.CodePeerLost, errs.ClassFailTask, "worker "+string(w.cfg.Worker), "the master has closed the connection without ending the job")
	} else {
		err = errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "worker "+string(w.cfg.Worker), "the connection to the master is lost")
	}
	w.end(err)
}

func (w *worker) handle(m rpc.Message) {
	switch b := m.Body.(type) {
	case *rpc.Deploy:
		w.deploy(m, b)
		return
	case *rpc.Shutdown:
		if b.Failure != nil {
			w.end(b.Failure)
		} else {
			w.end(nil)
		}
		return
	}
	d := w.find(m)
	if d == nil && w.withdrawn(m) {
		return
	}
	if d == nil {
		w.cfg.Log.Debug("dropped a message of another deployment", "type", fmt.Sprintf("%T", m.Body), "generation", m.Generation)
		return
	}
	switch b := m.Body.(type) {
	case *rpc.Cancel:
		d.cancel(errs.New(errs.CodeCanceled, errs.ClassCanceled, "", "%s", b.Reason))
	case *rpc.SideAck:
		d.report.ack(b)
	case *rpc.Start:
		if d.usable() {
			d.running.Start()
		}
	case *rpc.SplitAssign:
		if d.usable() {
			d.running.AssignSplits(b)
		}
	case *rpc.AlignTo:
		if d.usable() {
			d.running.AlignTo(b)
		}
	case *rpc.CheckpointTrigger, *rpc.CheckpointAbort, *rpc.CheckpointComplete:
		if d.usable() {
			d.running.Checkpoint(b)
		}
	default:
		w.cfg.Log.Warn("a message that a worker does not expect", "type", fmt.Sprintf("%T", m.Body))
	}
}

// find returns the deployment that a message is about, or nil.
func (w *worker) find(m rpc.Message) *deployment {
	for _, d := range w.deployments {
		if d.envelope.Generation == m.Generation && d.envelope.Job == m.Job {
			return d
		}
	}
	return nil
}

// withdrawn takes the cancellation of a deployment that waits for the end of another one.
func (w *worker) withdrawn(m rpc.Message) bool {
	b, ok := m.Body.(*rpc.Cancel)
	if !ok {
		return false
	}
	for _, d := range w.deployments {
		if n := d.next; n != nil && n.Generation == m.Generation && n.Job == m.Job {
			d.next = nil
			m.Body = &rpc.DeployFailed{Failure: errs.New(errs.CodeCanceled, errs.ClassCanceled, "worker "+string(w.cfg.Worker), "%s", b.Reason)}
			_ = w.outbox.Put(m)
			return true
		}
	}
	return false
}

// over returns the deployment that has tasks which d deploys too, of another attempt; nil if there is none.
func (w *worker) over(d *rpc.Deploy) *deployment {
	wanted := map[ids.TaskID]bool{}
	for _, t := range d.Tasks() {
		t.Attempt = 0
		wanted[t] = true
	}
	for _, d := range w.deployments {
		for _, t := range d.tasks {
			t.Attempt = 0
			if wanted[t] {
				return d
			}
		}
	}
	return nil
}

func (w *worker) deploy(m rpc.Message, d *rpc.Deploy) {
	if w.ending {
		return
	}
	before := w.over(d)
	newer := m.Generation > w.envelope.Generation && m.Term >= w.envelope.Term
	if before != nil && before.next == nil && newer && before.running != nil && len(before.report.missing(before.tasks)) == 0 {
		w.note(m)
		before.next = &m // all tasks have ended, and what is left of them will be gone at once
		return
	}
	if before != nil || !newer {
		w.cfg.Log.Warn("refused a deployment", "generation", m.Generation, "present", w.envelope.Generation)
		m.Body = &rpc.DeployFailed{Failure: errs.New(errs.CodeBug, errs.ClassBug, "worker "+string(w.cfg.Worker),
			"generation %d of term %d was to be deployed over generation %d of term %d, which runs", m.Generation, m.Term, w.envelope.Generation, w.envelope.Term)}
		_ = w.outbox.Put(m)
		return
	}
	w.note(m)
	w.launch(m, d)
}

// note remembers the newest deployment.
func (w *worker) note(m rpc.Message) {
	w.envelope = rpc.Message{Job: m.Job, Generation: m.Generation, Term: m.Term}
}

func (w *worker) launch(m rpc.Message, d *rpc.Deploy) {
	n := &deployment{w: w, envelope: rpc.Message{Job: m.Job, Generation: m.Generation, Term: m.Term}, tasks: d.Tasks()}
	n.report = newReporter(w.outbox, n.envelope)
	launchCtx, cancel := context.WithCancel(w.life)
	n.stopTask = cancel
	w.deployments = append(w.deployments, n)
	n.launch(launchCtx, Deployment{Job: m.Job, Generation: m.Generation, Term: m.Term, Deploy: d, Tasks: n.tasks})
}

// forget takes a deployment out that has ended, and begins with the one that waits for that.
func (w *worker) forget(d *deployment) {
	w.deployments = slices.DeleteFunc(w.deployments, func(o *deployment) bool { return o == d })
	if m := d.next; m != nil && !w.ending {
		w.launch(*m, m.Body.(*rpc.Deploy))
	}
}

func (w *worker) sendMetrics() {
	for _, d := range w.deployments {
		if d.running == nil {
			continue
		}
		if ops := d.running.Metrics(); len(ops) > 0 {
			d.send(&rpc.Metrics{Operators: ops})
		}
	}
}
