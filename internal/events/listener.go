package events

import (
	"time"

	"github.com/weir-stream/weir/internal/ids"
)

// Listener has a function for each event. Those left nil are not told; EnsureDefaults makes them harmless to call.
type Listener struct {
	// JobBegin: the job was accepted; nothing is deployed.
	JobBegin func(JobBegin)
	// JobPhase: the job passed from one phase of its life to another.
	JobPhase func(JobPhase)
	// JobEnd: the job reached its last phase. Follows JobBegin exactly once.
	JobEnd func(JobEnd)

	// DeployBegin: a generation of the job is about to be handed to workers.
	DeployBegin func(DeployBegin)
	// DeployEnd: every task of the generation runs, or the deployment failed. Follows DeployBegin exactly once.
	DeployEnd func(DeployEnd)
	// TaskPhase: an attempt passed from one phase to another.
	TaskPhase func(TaskPhase)
	// TaskStuck: a task that was told to stop still runs; repeated while it does.
	TaskStuck func(TaskStuck)

	// WorkerConnected: a worker has joined and may be given tasks.
	WorkerConnected func(WorkerConnected)
	// WorkerLost: a worker is gone, asked to or not.
	WorkerLost func(WorkerLost)
	// WorkerExited: the process of a worker has ended.
	WorkerExited func(WorkerExited)

	// SplitAssigned: a reader was given a split.
	SplitAssigned func(SplitAssigned)
	// SplitFinished: a reader has read a split to its end.
	SplitFinished func(SplitFinished)
	// AlignmentPauseBegin: a source stopped reading because it is too far ahead of others in event time.
	AlignmentPauseBegin func(AlignmentPause)
	// AlignmentPauseEnd: it reads again. Follows AlignmentPauseBegin, unless the task ends meanwhile.
	AlignmentPauseEnd func(AlignmentPause)

	// BadRecord: a record could not be decoded or has no valid time. Sampled by the emitter, which counts all of them.
	BadRecord func(BadRecord)
	// LateRecords: rows came behind the watermark. Sampled by the emitter.
	LateRecords func(LateRecords)

	// JobRestart: the job has failed, and all tasks of the regions that the failure concerns have stopped; they run again after a
	// delay.
	JobRestart func(JobRestart)

	// CheckpointBegin: a barrier was sent out.
	CheckpointBegin func(CheckpointBegin)
	// CheckpointEnd: the checkpoint is durable, or was given up. Follows CheckpointBegin exactly once.
	CheckpointEnd func(CheckpointEnd)
}

// JobBegin tells what will run.
type JobBegin struct {
	Job         ids.JobID
	Name        string
	Fingerprint string
	Vertices    int
	Tasks       int
}

// JobPhase tells of a step in a job's life. Phases are named as Flink's job states ("RUNNING").
type JobPhase struct {
	Job      ids.JobID
	From, To string
	Err      error // why, when it was a failure
}

// JobEnd tells how a job ended.
type JobEnd struct {
	Job     ids.JobID
	Name    string
	Phase   string // FINISHED, CANCELED or FAILED
	Err     error  // nil unless FAILED
	Elapsed time.Duration
}

// DeployBegin tells how a generation is spread.
type DeployBegin struct {
	Job        ids.JobID
	Generation ids.Generation
	Tasks      int
	Workers    int
}

// DeployEnd tells how the deployment went.
type DeployEnd struct {
	Job        ids.JobID
	Generation ids.Generation
	Err        error // nil when every task runs
	Elapsed    time.Duration
}

// TaskPhase tells of a step in the life of an attempt. Phases are named as Flink's task states.
type TaskPhase struct {
	Job         ids.JobID
	Task        ids.TaskID
	Name        string // the vertex
	Parallelism int
	Worker      ids.WorkerID
	From, To    string
	Err         error // why, when it was a failure
}

// TaskStuck tells where a task hangs.
type TaskStuck struct {
	Job   ids.JobID
	Task  ids.TaskID
	Name  string
	Since time.Duration // since it was told to stop
	Stack string        // of the task's goroutine
}

// WorkerConnected tells of a new worker.
type WorkerConnected struct {
	Worker ids.WorkerID
	Addr   string
	Slots  int
}

// WorkerLost tells why a worker is gone.
type WorkerLost struct {
	Worker ids.WorkerID
	Err    error // nil when it left in order
	Tasks  int   // how many ran there
}

// WorkerExited tells how a process ended.
type WorkerExited struct {
	Worker ids.WorkerID
	Err    error // nil when it ended in order
}

// SplitAssigned tells who reads what.
type SplitAssigned struct {
	Job      ids.JobID
	Operator string
	Subtask  int
	Split    string
}

// SplitFinished tells what was read.
type SplitFinished struct {
	Job      ids.JobID
	Operator string
	Subtask  int
	Split    string
	Rows     int64
}

// AlignmentPause tells which source waits for the others.
type AlignmentPause struct {
	Job       ids.JobID
	Operator  string
	Subtask   int
	Group     string // of aligned sources
	Watermark int64  // ms: how far this source is
	Limit     int64  // ms: how far it may go
}

// BadRecord tells of a record that does not become a row.
type BadRecord struct {
	Job      ids.JobID
	Operator string
	Subtask  int
	Where    string // file, line and column; topic, partition and offset
	Reason   error
	Action   string // fail, skip or quarantine
	Total    int64  // how many there were so far in this subtask
}

// LateRecords tells of rows behind the watermark.
type LateRecords struct {
	Job       ids.JobID
	Operator  string
	Subtask   int
	Input     string // "" for operators with one
	Read      bool   // a side output takes them; else they are dropped
	Total     int64  // how many there were so far in this subtask
	Time      int64  // ms: event time of one of them
	Watermark int64  // ms
}

// JobRestart tells why a job is restarted.
type JobRestart struct {
	Job    ids.JobID
	Number int64 // counts from 1 in this run
	Cause  error
	Delay  time.Duration
	// Regions are restarted, Of is how many the job has; the tasks of the others go on.
	Regions, Of int
}

// CheckpointBegin tells what the barrier is for.
type CheckpointBegin struct {
	Job     ids.JobID
	Epoch   ids.Epoch
	Purpose string // checkpoint, savepoint, stop, rescale
}

// CheckpointEnd tells what came of it.
type CheckpointEnd struct {
	Job     ids.JobID
	Epoch   ids.Epoch
	Bytes   int64
	Err     error // nil when the checkpoint is durable; of class canceled when it gave way to something else
	Elapsed time.Duration
}
