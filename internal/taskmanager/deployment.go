package taskmanager

import (
	"context"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// deployment is what one Deploy of the master has become: the tasks of one failover region on this worker, or of all. It belongs
// to the goroutine of Run.
type deployment struct {
	w        *worker
	envelope rpc.Message // job, generation and term
	report   *reporter
	tasks    []ids.TaskID
	running  Running // nil until it is launched
	stopTask context.CancelFunc
	cause    error        // why it is cancelled; nil as long as it is not
	next     *rpc.Message // a deployment that waits for the end of this one, which the master knows to have ended
	stop     clock.Timer  // runs out when cancelled tasks take too long; nil if not set
	gone     bool
}

// launch has the tasks made, on a goroutine that waits for their end afterwards.
func (d *deployment) launch(ctx context.Context, dep Deployment) {
	w := d.w
	go func() {
		running, err := w.cfg.Launcher.Launch(ctx, dep, d.report)
		w.post(func() { d.onLaunched(running, err) })
		if err == nil {
			<-running.Done()
			w.post(func() { d.onDone(running) })
		}
	}()
}

// send queues a message of the deployment. An error of the connection shows up in loop.
func (d *deployment) send(b rpc.Body) {
	m := d.envelope
	m.Body = b
	_ = d.w.outbox.Put(m)
}

// usable reports whether the tasks are there and shall go on.
func (d *deployment) usable() bool { return d.running != nil && d.cause == nil }

func (d *deployment) onLaunched(running Running, err error) {
	switch {
	case d.gone: // given up as stuck
	case err != nil:
		if d.cause != nil {
			err = errs.Wrap(d.cause, errs.CodeCanceled, errs.ClassCanceled, "worker "+string(d.w.cfg.Worker), "cancelled while it deployed")
		}
		d.end()
		d.send(&rpc.DeployFailed{Failure: rpc.FailureOf(err)})
	case d.cause != nil: // cancelled meanwhile, and the launcher did not look
		d.running = running
		d.send(&rpc.Deployed{})
		running.Cancel(d.cause)
	default:
		d.running = running
		d.send(&rpc.Deployed{})
	}
}

// cancel stops the tasks.
func (d *deployment) cancel(cause error) {
	if d.cause != nil {
		return
	}
	d.cause = cause
	d.stopTask()
	if d.running != nil {
		d.running.Cancel(cause)
	}
	if d.w.cfg.CancellationTimeout > 0 {
		d.stop = d.w.cfg.Clock.AfterFunc(d.w.cfg.CancellationTimeout, func() { go d.w.post(d.onStuck) })
	}
}

// end forgets the deployment: nothing of it runs, and nothing is reported any more.
func (d *deployment) end() {
	d.gone, d.running = true, nil
	if d.stop != nil {
		d.stop.Stop()
	}
	d.stopTask()
	d.report.close()
	d.w.forget(d)
}

// onDone is the end of all tasks. Those that did not say how they ended are reported here, so that the master never waits
// for one that is gone.
func (d *deployment) onDone(running Running) {
	if d.gone || d.running != running {
		return
	}
	for _, t := range d.report.missing(d.tasks) {
		if d.cause != nil {
			d.report.Phase(t, rpc.PhaseCanceled, nil)
			continue
		}
		d.report.Phase(t, rpc.PhaseFailed, errs.New(errs.CodeBug, errs.ClassBug, "task "+t.String(), "it has ended without saying how"))
	}
	d.end()
}

// onStuck complains about tasks that did not stop, and gives them up.
func (d *deployment) onStuck() {
	if d.gone {
		return
	}
	w := d.w
	stacks := w.cfg.Stacks()
	stuck := d.report.missing(d.tasks)
	err := errs.New(errs.CodeTaskStuck, errs.ClassFailJob, "worker "+string(w.cfg.Worker),
		"tasks %v did not stop within %v (task.cancellation.timeout) after they were cancelled: user code does not return; see the stacks in the log",
		stuck, w.cfg.CancellationTimeout)
	w.cfg.Log.Error(err.Error(), "stacks", stacks)
	d.send(&rpc.TaskStacks{Tasks: stuck, Waited: w.cfg.CancellationTimeout, Stacks: stacks[:min(len(stacks), stackBytesMax)]})
	for _, t := range stuck {
		d.report.Phase(t, rpc.PhaseFailed, err)
	}
	d.next = nil
	d.end()
	w.end(err)
	w.result = err
	if w.cfg.OnStuck != nil {
		w.flush(context.Background())
		w.cfg.OnStuck(stuck, stacks)
	}
}
