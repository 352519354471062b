package taskmanager_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// leftover is a deployment whose task has ended before all that belonged to it is gone.
type leftover struct {
	report taskmanager.Reporter
	task   ids.TaskID
	done   chan struct{}
}

func (l *leftover) Start()                        {}
func (l *leftover) AssignSplits(*rpc.SplitAssign) {}
func (l *leftover) AlignTo(*rpc.AlignTo)          {}
func (l *leftover) Checkpoint(rpc.Body)           { l.report.Checkpoint(&rpc.TaskDrained{Task: l.task}) }
func (l *leftover) Cancel(error) {
	l.report.Phase(l.task, rpc.PhaseCanceled, nil)
	time.AfterFunc(time.Second, func() { close(l.done) })
}
func (l *leftover) Done() <-chan struct{}    { return l.done }
func (l *leftover) Metrics() []rpc.OpMetrics { return nil }

// TestNextGeneration: the master deploys the next generation as soon as all tasks have ended; it waits for what they have left.
func TestNextGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var launched atomic.Int64 // the workers launch on goroutines of their own
		b := start(t, launch(func(_ context.Context, d taskmanager.Deployment, r taskmanager.Reporter) (taskmanager.Running, error) {
			launched.Add(1)
			return &leftover{report: r, task: d.Tasks[0], done: make(chan struct{})}, nil
		}))
		b.send(1, deploy())
		b.expect("Deployed")
		b.send(1, &rpc.CheckpointTrigger{Epoch: 1})
		b.expect("TaskDrained", "v0/0#0")
		b.send(1, &rpc.Cancel{Reason: "restart"})
		b.expect("TaskPhase", "v0/0#0", "canceled")
		next := deploy()
		next.Attempt = 1
		b.send(2, next)
		synctest.Wait()
		if n := launched.Load(); n != 1 {
			t.Errorf("%d deployments while the first is not gone", n)
		}
		b.expect("Deployed")
		b.send(1, &rpc.CheckpointTrigger{Epoch: 2}) // late, for the first
		b.send(2, &rpc.CheckpointTrigger{Epoch: 3})
		b.expect("TaskDrained", "v0/0#1")
		b.send(2, &rpc.Cancel{Reason: "end"})
		b.expect("TaskPhase", "v0/0#1", "canceled")
		b.end()
	})
}
