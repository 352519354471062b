package weirtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/app"
)

// Run runs the whole job that build describes, on an embedded cluster with all its tasks and exchanges, until its sources
// have ended. A job that fails fails the test.
//
// The job runs in a bubble of testing/synctest: its time is virtual and moves on when everything waits, so that hours of
// windows, timers and timeouts take no time. If the test is in a bubble already, the job runs in that one.
func Run(t *testing.T, build func(*weir.Env) error, opts ...Option) *weir.Result {
	t.Helper()
	r, err := RunErr(t, build, opts...)
	if err != nil {
		t.Fatalf("weirtest: the job has failed: %v", err)
	}
	return r
}

// RunErr is Run for tests that want to see the job's error. The result is set as far as it is known.
func RunErr(t *testing.T, build func(*weir.Env) error, opts ...Option) (r *weir.Result, err error) {
	t.Helper()
	if inBubble() {
		return Begin(t, build, opts...).WaitErr()
	}
	synctest.Test(t, func(t *testing.T) { r, err = Begin(t, build, opts...).WaitErr() })
	return r, err
}

// Job is a job that runs while the test goes on. Its methods are for the test's goroutine.
type Job struct {
	t      testing.TB
	cancel context.CancelFunc
	done   chan struct{}

	// What follows is set before done is closed.
	result *weir.Result
	err    error
}

// Begin starts the job that build describes and returns while it runs, for tests that feed a Source and look at what comes
// out meanwhile. The test must be in a bubble:
//
//	synctest.Test(t, func(t *testing.T) {
//		job := weirtest.Begin(t, build)
//		src.Push(...)
//		job.Advance(time.Minute)
//		...
//	})
//
// The job is cancelled when the test ends.
func Begin(t testing.TB, build func(*weir.Env) error, opts ...Option) *Job {
	t.Helper()
	if !inBubble() {
		t.Fatal("weirtest: Begin needs virtual time: call it within synctest.Test, or use Run")
	}
	o := newOptions(0, opts)
	env := o.env(t)
	// Heartbeats of a cluster that cannot lose a worker would only cost real time while virtual time flies.
	env.Set(config.HeartbeatInterval.Key(), heartbeat.String()).Set(config.HeartbeatTimeout.Key(), (10 * heartbeat).String())
	if err := build(env); err != nil {
		t.Fatalf("weirtest: build has failed: %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), o.limit(), errLimit)
	j := &Job{t: t, cancel: cancel, done: make(chan struct{})}
	ctx = app.WithRunner(ctx, func(ctx context.Context, w app.World, plan *app.Plan) (*app.Result, error) {
		w.Log = logger(t)
		return app.Run(ctx, w, plan, app.RunOptions{MetricsEvery: heartbeat})
	})
	go func() {
		defer close(j.done)
		j.result, j.err = env.Execute(ctx)
		if cause := context.Cause(ctx); errors.Is(cause, errLimit) {
			j.err = cause
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-j.done
	})
	return j
}

const (
	heartbeat    = time.Hour
	defaultLimit = 10 * 365 * 24 * time.Hour
)

var errLimit = errors.New("weirtest: the job was still running when its virtual time was over: a source has not ended, or something waits for ever (see weirtest.Limit)")

// Limit sets how long a job may run in virtual time; without it, ten years.
func Limit(d time.Duration) Option { return func(o *options) { o.virtual = d } }

func (o *options) limit() time.Duration {
	if o.virtual > 0 {
		return o.virtual
	}
	return defaultLimit
}

// inBubble reports whether the calling goroutine is in a bubble of testing/synctest. It waits for the bubble's others.
func inBubble() (in bool) {
	defer func() {
		if recover() != nil {
			in = false
		}
	}()
	synctest.Wait()
	return true
}

// Settle returns when the job has done all that it can do now: everything in it waits for input or for a time to come.
func (j *Job) Settle() { synctest.Wait() }

// Advance lets virtual time go by and returns when all that came due has been done. What the test fed before is worked
// off first.
func (j *Job) Advance(d time.Duration) {
	synctest.Wait()
	synctest.Sleep(d)
}

// Ended reports whether the job has ended.
func (j *Job) Ended() bool {
	synctest.Wait()
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// Wait lets virtual time go by until the job has ended. A job that fails fails the test.
func (j *Job) Wait() *weir.Result {
	j.t.Helper()
	r, err := j.WaitErr()
	if err != nil {
		j.t.Fatalf("weirtest: the job has failed: %v", err)
	}
	return r
}

// WaitErr is Wait for tests that want to see the job's error.
func (j *Job) WaitErr() (*weir.Result, error) {
	<-j.done
	return j.result, j.err
}

// Cancel cancels the job. Wait returns when it has ended.
func (j *Job) Cancel() { j.cancel() }
