package taskmanager

import (
	"context"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// Deployment is what a worker shall run.
type Deployment struct {
	Job        ids.JobID
	Generation ids.Generation
	Term       ids.Term
	// Deploy is the master's message; it must not be changed.
	Deploy *rpc.Deploy
	// Tasks are the tasks of this worker, by vertex, then subtask. It may be empty.
	Tasks []ids.TaskID
}

// Launcher builds tasks out of the graph that this process has built itself. The composition root implements it.
type Launcher interface {
	// Launch builds all tasks of a deployment, opens their operators and loads their state, up to the point where Start makes
	// them run: what is refused is refused before any task of the job runs. Everything that peers connect to is there when
	// Launch returns. It runs on a goroutine of its own and may block; ctx ends when the deployment is cancelled meanwhile. If
	// it returns an error it has cleaned up, and nothing of the deployment runs.
	Launch(ctx context.Context, d Deployment, r Reporter) (Running, error)
}

// Running is a deployment that has been launched. Its methods are called by one goroutine, one at a time, and must not
// block. AssignSplits, AlignTo and Checkpoint may come before Start, and none of them comes after Cancel, except Metrics.
type Running interface {
	// Start lets the tasks run. It is called at most once.
	Start()
	// AssignSplits gives splits to a source task.
	AssignSplits(a *rpc.SplitAssign)
	// AlignTo limits how far the splits of a source may go, in all of this worker's subtasks of it.
	AlignTo(a *rpc.AlignTo)
	// Checkpoint hands the tasks what the master says of an epoch: rpc.CheckpointTrigger, CheckpointAbort, CheckpointComplete.
	Checkpoint(b rpc.Body)
	// Cancel makes every task stop soon. It may be called before Start, and is called at most once.
	Cancel(cause error)
	// Done is closed when every task has ended, its final phase has been reported and everything is cleaned up.
	Done() <-chan struct{}
	// Metrics are the present figures of all operators. The result belongs to the caller.
	Metrics() []rpc.OpMetrics
}

// Reporter is how tasks speak to the master. All methods may be called from any goroutine.
type Reporter interface {
	// Phase reports that a task has reached a phase: Running, Canceling, or an end (Finished, Canceled, Failed with its
	// error). It does not block. A task reports its last figures (Metrics) and side rows before its end.
	Phase(task ids.TaskID, phase rpc.Phase, failure error)
	// Metrics reports figures at once, besides the regular ones: the last ones of a task, before its end.
	Metrics(ops ...rpc.OpMetrics)
	// RequestSplit asks for a split. It does not block; the answer comes as AssignSplits.
	RequestSplit(source rpc.OpRef)
	// Progress reports how far a source with alignment has come. It does not block. Call it when something changed, at
	// most once a batch.
	Progress(p rpc.SourceProgress)
	// Side sends rows to the client and blocks while too many are under way: at most SideWindow payloads of one operator
	// of one task. One goroutine at a time may call it for one operator of a task. It takes payload over. The error is
	// that of ctx, or says that the worker is ending.
	Side(ctx context.Context, op rpc.OpRef, payload []byte) error
	// Checkpoint reports what a task has to say of an epoch: rpc.CheckpointAck, CheckpointDecline or TaskDrained. It does not
	// block. Nothing is sent after the deployment's end.
	Checkpoint(b rpc.Body)
}

// SideWindow is how many payloads of one operator of one task may be under way to the client.
const SideWindow = 4
