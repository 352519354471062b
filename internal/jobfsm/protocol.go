package jobfsm

import (
	"fmt"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// Phase is where a job is in its life.
type Phase uint8

// The phases of a job; see the package comment.
const (
	Created Phase = iota
	Deploying
	Running
	Finishing
	Finished
	Failing
	Failed
	Canceling
	Canceled
	Restarting
)

var phaseNames = [...]string{"created", "deploying", "running", "finishing", "finished", "failing", "failed", "canceling", "canceled", "restarting"}

// String is the phase as it appears in logs.
func (p Phase) String() string { return phaseNames[p] }

// Ended reports whether the job has come to its end.
func (p Phase) Ended() bool { return p == Finished || p == Failed || p == Canceled }

// stopping reports whether the job waits for its tasks to stop.
func (p Phase) stopping() bool { return p == Failing || p == Canceling || p == Restarting }

// TaskPhase is where a task is in its life.
type TaskPhase uint8

// The phases of a task. Tasks start in TaskCreated; the worker reports those from TaskRunning on.
const (
	TaskCreated TaskPhase = iota
	TaskDeploying
	TaskReady
	TaskRunning
	TaskFinished
	TaskCanceling
	TaskCanceled
	TaskFailed
)

var taskPhaseNames = [...]string{"created", "deploying", "ready", "running", "finished", "canceling", "canceled", "failed"}

// String is the phase as it appears in logs.
func (p TaskPhase) String() string {
	if int(p) < len(taskPhaseNames) {
		return taskPhaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", p)
}

// Ended reports whether the task has come to its end.
func (p TaskPhase) Ended() bool { return p == TaskFinished || p == TaskCanceled || p == TaskFailed }

// Event is something that happened. The list is closed.
type Event interface{ event() }

type (
	// Begin starts the job.
	Begin struct{}
	// WorkerJoined says that a worker has connected, with the plan it has built.
	WorkerJoined struct {
		Worker               ids.WorkerID
		Fingerprint, Version string
	}
	// WorkerLost says that a worker's connection broke, or that it has been silent for too long.
	WorkerLost struct {
		Worker ids.WorkerID
		Cause  *errs.Error
	}
	// WorkerExited says that a worker's process has ended, and how. Only with Config.Exits.
	WorkerExited struct {
		Worker ids.WorkerID
		Cause  *errs.Error
	}
	// Deployed says that all tasks that a worker has of a region are ready.
	Deployed struct {
		Worker ids.WorkerID
		Region int
	}
	// DeployFailed says that a worker runs none of its tasks of a region.
	DeployFailed struct {
		Worker ids.WorkerID
		Region int
		Cause  *errs.Error
	}
	// TaskMoved says that a task has reached a phase. Cause is set for TaskFailed.
	TaskMoved struct {
		Worker ids.WorkerID
		Task   ids.TaskID
		Phase  TaskPhase
		Cause  *errs.Error
	}
	// MasterFailed is a failure on the master's own side: an enumerator, the client's sink.
	MasterFailed struct{ Cause *errs.Error }
	// CancelAsked says that somebody wants the job to end.
	CancelAsked struct{ Reason string }
	// Widen says that regions cannot be restarted without the others, and why: all of them are.
	Widen struct{ Reason string }
	// Decided answers AskRestart. Without Restart the job fails with Cause.
	Decided struct {
		Restart bool
		Cause   *errs.Error
	}
	// Ready says that it is known where the tasks go on, and that they may be deployed. It is awaited before the first
	// deployment with Config.Prepare, and before each later one.
	Ready struct{}
	// SidesTaken says that the client has taken all side rows; the answer to DrainSides.
	SidesTaken struct{}
	// DeadlinePassed says that a deadline that was set, and not cleared, has passed.
	DeadlinePassed struct{ Kind Deadline }
)

func (Begin) event()          {}
func (WorkerJoined) event()   {}
func (WorkerLost) event()     {}
func (WorkerExited) event()   {}
func (Deployed) event()       {}
func (DeployFailed) event()   {}
func (TaskMoved) event()      {}
func (MasterFailed) event()   {}
func (CancelAsked) event()    {}
func (Widen) event()          {}
func (Decided) event()        {}
func (Ready) event()          {}
func (SidesTaken) event()     {}
func (DeadlinePassed) event() {}

// Deadline is a kind of deadline; the driver knows how long each is.
type Deadline uint8

const (
	// DeadlineJoin bounds the time until all workers have connected and deployed.
	DeadlineJoin Deadline = iota
	// DeadlineStop bounds the time that tasks may take to stop.
	DeadlineStop
	// DeadlineExplain bounds the wait for the reason of a lost worker.
	DeadlineExplain
)

var deadlineNames = [...]string{"join", "stop", "explain"}

// String is the name of the deadline.
func (d Deadline) String() string { return deadlineNames[d] }

// Command is something that the driver has to do. The list is closed. Commands are executed in order.
type Command interface{ command() }

type (
	// Deploy sends a worker its tasks of a region.
	Deploy struct {
		Worker ids.WorkerID
		Region int
	}
	// Start lets the tasks of a region on a worker run.
	Start struct {
		Worker ids.WorkerID
		Region int
	}
	// Cancel stops the tasks of a region on a worker.
	Cancel struct {
		Worker ids.WorkerID
		Region int
		Reason string
	}
	// Shutdown ends a worker; with a Cause it has been refused.
	Shutdown struct {
		Worker ids.WorkerID
		Cause  *errs.Error
	}
	// Kill ends the process of a worker by force, if it has one.
	Kill struct {
		Worker ids.WorkerID
		Reason string
	}
	// Widened says that these regions go with those that are stopped already: the scope has grown.
	Widened struct{ Regions []int }
	// AskRestart asks whether the scope is restarted after a failure; all its tasks have ended. The answer is Decided, and after
	// that, if the job is restarted, Ready.
	AskRestart struct{ Cause *errs.Error }
	// Replace asks for another worker of the name: the former is gone for good.
	Replace struct{ Worker ids.WorkerID }
	// DrainSides asks for SidesTaken as soon as the client has taken all side rows.
	DrainSides struct{}
	// SetDeadline asks for DeadlinePassed after the time that belongs to the kind. It replaces an earlier one of the kind.
	SetDeadline struct{ Kind Deadline }
	// ClearDeadline takes SetDeadline back.
	ClearDeadline struct{ Kind Deadline }
	// Enter says that the job has entered a phase.
	Enter struct{ Phase Phase }
	// End says that the job has ended, in the phase entered last. Cause is set if it failed. Abandoned are tasks that never
	// stopped.
	End struct {
		Cause     *errs.Error
		Abandoned []ids.TaskID
	}
	// Note is for the log: an event that changed nothing, and why.
	Note struct{ Text string }
)

func (Deploy) command()        {}
func (Start) command()         {}
func (Cancel) command()        {}
func (Shutdown) command()      {}
func (Kill) command()          {}
func (Widened) command()       {}
func (AskRestart) command()    {}
func (Replace) command()       {}
func (DrainSides) command()    {}
func (SetDeadline) command()   {}
func (ClearDeadline) command() {}
func (Enter) command()         {}
func (End) command()           {}
func (Note) command()          {}
