package taskmanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
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

	envelope rpc.Message // job, generation and term of what is deployed
	report   *reporter   // of the present deployment, nil before the first
	tasks    []ids.TaskID
	running  Running
	launched chan launchResult // nil unless a launch is under way
	stopTask context.CancelFunc
	cause    error        // why the deployment is cancelled; nil as long as it is not
	next     *rpc.Message // a deployment that waits for the end of this one, which the master knows to have ended
	stop     clock.Timer  // runs out when cancelled tasks take too long; nil if not set

	ending bool  // Run returns as soon as nothing runs
	result error // what it returns then
}

type launchResult struct {
	running Running
	err     error
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
	w := &worker{cfg: cfg, conn: conn, outbox: rpc.NewOutbox(conn, 0)}
	quit, in, sent := make(chan struct{}), make(chan received), make(chan error, 1)
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
	for !w.ending || w.running != nil || w.launched != nil {
		var done <-chan struct{}
		if w.running != nil {
			done = w.running.Done()
		}
		var stop <-chan time.Time
		if w.stop != nil {
			stop = w.stop.C()
		}
		select {
		case r := <-in:
			if r.err != nil {
				in = nil
				w.connectionEnded(r.err)
				continue
			}
			w.handle(ctx, r.msg)
		case err := <-sent:
			sent = nil
			if errs.CodeOf(err) != errs.CodePeerLost { // else Recv says so, after all that the master still had to say
				w.connectionEnded(err)
			}
		case l := <-w.launched:
			w.onLaunched(l)
		case <-done:
			w.onDone()
			if m := w.next; m != nil {
				w.next = nil
				w.deploy(ctx, *m, m.Body.(*rpc.Deploy))
			}
		case <-stop:
			w.onStuck()
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

// send queues a message of the present deployment. An error of the connection shows up in loop.
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
	w.cancel(cause)
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

func (w *worker) handle(ctx context.Context, m rpc.Message) {
	switch b := m.Body.(type) {
	case *rpc.Deploy:
		w.deploy(ctx, m, b)
		return
	case *rpc.Shutdown:
		if b.Failure != nil {
			w.end(b.Failure)
		} else {
			w.end(nil)
		}
		return
	}
	if m.Job != w.envelope.Job || m.Generation != w.envelope.Generation || w.running == nil && w.launched == nil {
		w.cfg.Log.Debug("dropped a message of another deployment", "type", fmt.Sprintf("%T", m.Body), "generation", m.Generation)
		return
	}
	switch b := m.Body.(type) {
	case *rpc.Cancel:
		w.cancel(errs.New(errs.CodeCanceled, errs.ClassCanceled, "", "%s", b.Reason))
	case *rpc.SideAck:
		w.report.ack(b)
	case *rpc.Start:
		if w.usable() {
			w.running.Start()
		}
	case *rpc.SplitAssign:
		if w.usable() {
			w.running.AssignSplits(b)
		}
	case *rpc.AlignTo:
		if w.usable() {
			w.running.AlignTo(b)
		}
	case *rpc.CheckpointTrigger, *rpc.CheckpointAbort, *rpc.CheckpointComplete:
		if w.usable() {
			w.running.Checkpoint(b)
		}
	default:
		w.cfg.Log.Warn("a message that a worker does not expect", "type", fmt.Sprintf("%T", m.Body))
	}
}

// usable reports whether the tasks are there and shall go on.
func (w *worker) usable() bool { return w.running != nil && w.cause == nil }

func (w *worker) deploy(ctx context.Context, m rpc.Message, d *rpc.Deploy) {
	if w.ending {
		return
	}
	if w.running != nil && m.Generation > w.envelope.Generation && m.Term >= w.envelope.Term && len(w.report.missing(w.tasks)) == 0 {
		w.next = &m // all tasks have ended, and what is left of them will be gone at once
		return
	}
	if w.running != nil || w.launched != nil || m.Generation < w.envelope.Generation || m.Term < w.envelope.Term {
		w.cfg.Log.Warn("refused a deployment", "generation", m.Generation, "present", w.envelope.Generation)
		m.Body = &rpc.DeployFailed{Failure: errs.New(errs.CodeBug, errs.ClassBug, "worker "+string(w.cfg.Worker),
			"generation %d of term %d was to be deployed over generation %d of term %d, which runs", m.Generation, m.Term, w.envelope.Generation, w.envelope.Term)}
		_ = w.outbox.Put(m)
		return
	}
	w.envelope = rpc.Message{Job: m.Job, Generation: m.Generation, Term: m.Term}
	w.cause = nil
	w.tasks = d.Tasks()
	w.report = newReporter(w.outbox, w.envelope)
	launchCtx, cancel := context.WithCancel(ctx)
	w.stopTask = cancel
	launched := make(chan launchResult, 1)
	w.launched = launched
	dep := Deployment{Job: m.Job, Generation: m.Generation, Term: m.Term, Deploy: d, Tasks: w.tasks}
	go func() {
		running, err := w.cfg.Launcher.Launch(launchCtx, dep, w.report)
		launched <- launchResult{running, err}
	}()
}

func (w *worker) onLaunched(l launchResult) {
	w.launched = nil
	switch {
	case l.err != nil:
		w.stopTimer()
		w.stopTask()
		w.report.close()
		err := l.err
		if w.cause != nil {
			err = errs.Wrap(w.cause, errs.CodeCanceled, errs.ClassCanceled, "worker "+string(w.cfg.Worker), "cancelled while it deployed")
		}
		w.send(&rpc.DeployFailed{Failure: rpc.FailureOf(err)})
	case w.cause != nil: // cancelled meanwhile, and the launcher did not look
		w.running = l.running
		w.send(&rpc.Deployed{})
		w.running.Cancel(w.cause)
	default:
		w.running = l.running
		w.send(&rpc.Deployed{})
	}
}

// cancel stops the deployment, if there is one.
func (w *worker) cancel(cause error) {
	if w.cause != nil || w.running == nil && w.launched == nil {
		return
	}
	w.cause = cause
	w.stopTask()
	if w.running != nil {
		w.running.Cancel(cause)
	}
	if w.cfg.CancellationTimeout > 0 {
		w.stop = w.cfg.Clock.NewTimer(w.cfg.CancellationTimeout)
	}
}

func (w *worker) stopTimer() {
	if w.stop != nil {
		w.stop.Stop()
		w.stop = nil
	}
}

// onDone is the end of all tasks. Those that did not say how they ended are reported here, so that the master never waits
// for one that is gone.
func (w *worker) onDone() {
	w.stopTimer()
	w.stopTask()
	for _, t := range w.report.missing(w.tasks) {
		if w.cause != nil {
			w.report.Phase(t, rpc.PhaseCanceled, nil)
			continue
		}
		w.report.Phase(t, rpc.PhaseFailed, errs.New(errs.CodeBug, errs.ClassBug, "task "+t.String(), "it has ended without saying how"))
	}
	w.report.close()
	w.running = nil
}

// onStuck complains about tasks that did not stop, and gives them up.
func (w *worker) onStuck() {
	w.stop = nil
	stacks := w.cfg.Stacks()
	stuck := w.report.missing(w.tasks)
	err := errs.New(errs.CodeTaskStuck, errs.ClassFailJob, "worker "+string(w.cfg.Worker),
		"tasks %v did not stop within %v (task.cancellation.timeout) after they were cancelled: user code does not return; see the stacks in the log",
		stuck, w.cfg.CancellationTimeout)
	w.cfg.Log.Error(err.Error(), "stacks", stacks)
	w.send(&rpc.TaskStacks{Tasks: stuck, Waited: w.cfg.CancellationTimeout, Stacks: stacks[:min(len(stacks), stackBytesMax)]})
	for _, t := range stuck {
		w.report.Phase(t, rpc.PhaseFailed, err)
	}
	w.report.close()
	w.running, w.launched = nil, nil
	w.ending, w.result = true, err
	if w.cfg.OnStuck != nil {
		w.flush(context.Background())
		w.cfg.OnStuck(stuck, stacks)
	}
}

func (w *worker) sendMetrics() {
	if w.running == nil {
		return
	}
	if ops := w.running.Metrics(); len(ops) > 0 {
		w.send(&rpc.Metrics{Operators: ops})
	}
}
