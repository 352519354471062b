package weir

import (
	"context"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/errs"
)

// EnableCheckpointing takes a checkpoint each interval, so that the job goes on from the latest one after a failure. Without
// execution.checkpointing.dir checkpoints are kept in the memory of this process and do not outlive it.
func (e *Env) EnableCheckpointing(interval time.Duration) *Env {
	return e.Set(config.CheckpointInterval.Key(), interval.String())
}

// Job is a job that runs. Its methods may be called from any goroutine.
type Job struct {
	cancel  context.CancelFunc
	control *app.Control // nil if the job could not be started
	done    chan struct{}
	result  *Result // this and err are set before done is closed
	err     error
}

// Start runs the job that env describes like Execute, and returns while it runs. The end of ctx cancels it.
func (e *Env) Start(ctx context.Context) *Job {
	ctx, cancel := context.WithCancel(ctx)
	j := &Job{cancel: cancel, done: make(chan struct{})}
	started := make(chan *app.Control, 1)
	e.started = func(c *app.Control) { started <- c }
	go func() {
		defer cancel()
		defer close(j.done)
		j.result, j.err = e.Execute(ctx)
	}()
	select {
	case j.control = <-started:
	case <-j.done:
		select { // a job may be over at once
		case j.control = <-started:
		default:
		}
	}
	return j
}

// Wait returns when the job has ended, what Execute returns.
func (j *Job) Wait() (*Result, error) {
	<-j.done
	return j.result, j.err
}

// Cancel ends the job. It does not wait for the end.
func (j *Job) Cancel() { j.cancel() }

// Savepoint takes a savepoint in a new directory below dir and returns its path when it is complete; "" is
// execution.checkpointing.savepoint-dir. The job goes on.
func (j *Job) Savepoint(ctx context.Context, dir string) (string, error) {
	if j.control == nil {
		return "", j.over()
	}
	return j.control.Savepoint(ctx, dir)
}

// Stop ends the job with a savepoint, from which it can be started again: nothing that it has read or emitted comes twice or
// is lost. It returns when the savepoint is complete; Wait waits for the end.
func (j *Job) Stop(ctx context.Context, dir string) (string, error) {
	if j.control == nil {
		return "", j.over()
	}
	return j.control.Stop(ctx, dir, false)
}

// Drain ends the job as if its sources had come to their ends: windows and timers fire, and then a savepoint is taken, like
// Stop's. It is for jobs that will not be gone on with, or only with their state.
func (j *Job) Drain(ctx context.Context, dir string) (string, error) {
	if j.control == nil {
		return "", j.over()
	}
	return j.control.Stop(ctx, dir, true)
}

func (j *Job) over() error {
	<-j.done
	return errs.Wrap(j.err, errs.CodeOf(j.err), errs.ClassUser, "", "the job could not be started")
}
