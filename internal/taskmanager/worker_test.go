package taskmanager_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// The whole of a worker with a real master is tested in package jobmanager; here a test plays a master that does what a real
// one never would, or at moments that it seldom hits.

var job = ids.JobIDFrom("job")

// deploy is a deployment of task v0/0 on the only worker.
func deploy() *rpc.Deploy {
	return &rpc.Deploy{Workers: []rpc.WorkerAddr{{Worker: "w1"}}, Placement: [][]int32{{0}}}
}

// bench is a worker and the master's end of its connection.
type bench struct {
	t      *testing.T
	conn   rpc.Conn
	result chan error
}

func start(t *testing.T, l taskmanager.Launcher) *bench {
	master, worker := rpc.Pair()
	b := &bench{t: t, conn: master, result: make(chan error, 1)}
	go func() {
		b.result <- taskmanager.Run(t.Context(), worker, taskmanager.Config{Worker: "w1", PID: 7, Fingerprint: "f", Version: "v", Clock: clock.Real{}, Launcher: l})
	}()
	b.expect("&{Worker:w1 PID:7 DataAddr: Fingerprint:f Version:v}")
	return b
}

// send sends a message of a generation.
func (b *bench) send(g ids.Generation, body rpc.Body) {
	b.t.Helper()
	if err := b.conn.Send(rpc.Message{Job: job, Generation: g, Body: body}); err != nil {
		b.t.Error(err)
	}
}

// expect receives the next message that is not a heartbeat and looks for the parts in its print.
func (b *bench) expect(parts ...string) {
	b.t.Helper()
	for {
		m, err := b.conn.Recv()
		if err != nil {
			b.t.Fatalf("%v, want a message with %v", err, parts)
		}
		if _, ok := m.Body.(*rpc.Heartbeat); ok {
			continue
		}
		got := fmt.Sprintf("%T %+v", m.Body, m.Body)
		for _, p := range parts {
			if !strings.Contains(got, p) {
				b.t.Errorf("got %s, want it to have %q", got, p)
			}
		}
		return
	}
}

// end shuts the worker down.
func (b *bench) end() {
	b.t.Helper()
	b.send(0, &rpc.Shutdown{})
	b.expect("Goodbye")
	if err := <-b.result; err != nil {
		b.t.Errorf("Run: %v", err)
	}
	b.conn.Close()
}

// launch makes a function a Launcher.
type launch func(ctx context.Context, d taskmanager.Deployment, r taskmanager.Reporter) (taskmanager.Running, error)

func (l launch) Launch(ctx context.Context, d taskmanager.Deployment, r taskmanager.Reporter) (taskmanager.Running, error) {
	return l(ctx, d, r)
}

// silent is a deployment whose task says nothing, ever; it ends when it is cancelled or ended.
type silent struct {
	started, canceled int
	done              chan struct{}
}

func (s *silent) Start()                        { s.started++ }
func (s *silent) AssignSplits(*rpc.SplitAssign) {}
func (s *silent) AlignTo(*rpc.AlignTo)          {}
func (s *silent) Checkpoint(rpc.Body)           {}
func (s *silent) Cancel(error) {
	s.canceled++
	close(s.done)
}
func (s *silent) Done() <-chan struct{}    { return s.done }
func (s *silent) Metrics() []rpc.OpMetrics { return nil }

func (s *silent) Launch(context.Context, taskmanager.Deployment, taskmanager.Reporter) (taskmanager.Running, error) {
	return s, nil
}

// TestReportsForTheSilent: a task that ends without a word is reported all the same, so that the master does not wait for it.
func TestReportsForTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silent{done: make(chan struct{})}
		b := start(t, s)
		b.send(1, deploy())
		b.expect("Deployed")
		b.send(1, &rpc.Start{})
		b.send(1, &rpc.Cancel{Reason: "r"})
		b.send(1, &rpc.Cancel{Reason: "again"})
		b.expect("TaskPhase", "v0/0#0", "canceled")
		b.end()
		if s.started != 1 || s.canceled != 1 {
			t.Errorf("started %d times, cancelled %d times", s.started, s.canceled)
		}

		s = &silent{done: make(chan struct{})}
		b = start(t, s)
		b.send(1, deploy())
		b.expect("Deployed")
		close(s.done)
		b.expect("TaskPhase", "v0/0#0", "failed", "without saying how")
		b.end()
	})
}

func TestCancelWhileLaunching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, launch(func(ctx context.Context, _ taskmanager.Deployment, _ taskmanager.Reporter) (taskmanager.Running, error) {
			<-ctx.Done()
			return nil, errors.New("interrupted")
		}))
		b.send(1, deploy())
		b.send(1, &rpc.Cancel{Reason: "asked"})
		b.expect("DeployFailed", "job.canceled")
		b.end()

		// A launcher that does not look at its context: what it has launched is cancelled at once.
		s := &silent{done: make(chan struct{})}
		b = start(t, launch(func(ctx context.Context, _ taskmanager.Deployment, _ taskmanager.Reporter) (taskmanager.Running, error) {
			time.Sleep(time.Second)
			return s, nil
		}))
		b.send(1, deploy())
		b.send(1, &rpc.Cancel{Reason: "asked"})
		b.send(1, &rpc.Start{})
		b.expect("Deployed")
		b.expect("TaskPhase", "canceled")
		b.end()
		if s.started != 0 || s.canceled != 1 {
			t.Errorf("started %d times, cancelled %d times", s.started, s.canceled)
		}
	})
}

// TestGenerations: one deployment at a time, and none older than the last; what belongs to another one is dropped.
func TestGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *silent
		b := start(t, launch(func(context.Context, taskmanager.Deployment, taskmanager.Reporter) (taskmanager.Running, error) {
			s = &silent{done: make(chan struct{})}
			return s, nil
		}))
		b.send(0, &rpc.Start{}) // nothing is deployed
		b.send(2, deploy())
		b.expect("Deployed")
		b.send(3, deploy())
		b.expect("DeployFailed", "internal.bug")
		b.send(1, &rpc.Cancel{}) // late, of another deployment
		b.send(3, &rpc.Cancel{})
		synctest.Wait()
		if s.canceled != 0 {
			t.Error("cancelled by a message of another generation")
		}
		b.send(2, &rpc.Cancel{})
		b.expect("TaskPhase", "canceled")
		b.send(1, deploy())
		b.expect("DeployFailed", "internal.bug")
		b.send(3, deploy())
		b.expect("Deployed")
		b.send(3, &rpc.Hello{}) // not for a worker
		b.send(3, &rpc.Cancel{})
		b.expect("TaskPhase", "canceled")
		b.end()
	})
}

// TestRefused: the master's reason is what Run returns.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, &silent{})
		b.send(0, &rpc.Shutdown{Failure: errs.New(errs.CodePlanMismatch, errs.ClassFailJob, "", "another plan")})
		b.expect("Goodbye", "another plan")
		if err := <-b.result; errs.CodeOf(err) != errs.CodePlanMismatch {
			t.Error(err)
		}
		b.conn.Close()
	})
}

// TestSilentMaster: a master that hangs makes nobody wait for ever when the worker is told to go.
func TestSilentMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		master, worker := rpc.Pair()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(errors.New("told to go")) })
		err := taskmanager.Run(ctx, worker, taskmanager.Config{Worker: "w1", Clock: clock.Real{}, Launcher: &silent{}, HeartbeatInterval: time.Second})
		if err == nil || err.Error() != "told to go" {
			t.Error(err)
		}
		master.Close()
	})
}
