package rpc

import (
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// Message is what a Conn carries: an envelope and a body.
type Message struct {
	// Job is the job that the message is about; zero in a worker's Hello when it does not know it yet.
	Job ids.JobID
	// Generation is the deployment that the message belongs to, of one failover region or of the whole job. A receiver drops
	// messages of one that it does not have.
	Generation ids.Generation
	// Term is the term of the leader that sent the message, or that the worker obeys.
	Term ids.Term
	// Body is one of the types below.
	Body Body
}

// Body is one of the message types of this package; the list is closed.
type Body interface {
	kind() kind
	code(c *coder)
}

// OpRef names one operator in one task: the operator at index Op of the chain of the task's vertex. It is stable for one
// plan only, which both sides have (checked by its fingerprint).
type OpRef struct {
	Task ids.TaskID
	Op   int32
}

// Phase is where a task is in its life. The numbers are part of the wire format.
type Phase uint8

// The phases of a task. Created and Deploying are known to the master alone, a worker reports the others.
const (
	PhaseCreated Phase = iota
	PhaseDeploying
	// PhaseReady: built and opened for its peers, waiting for Start.
	PhaseReady
	PhaseRunning
	// PhaseFinished: the input has ended and everything has been handed on.
	PhaseFinished
	PhaseCanceling
	PhaseCanceled
	PhaseFailed
)

var phaseNames = [...]string{"created", "deploying", "ready", "running", "finished", "canceling", "canceled", "failed"}

// String is the phase as it appears in logs.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "phase(?)"
}

// Ended reports whether a task in this phase has come to its end.
func (p Phase) Ended() bool { return p == PhaseFinished || p == PhaseCanceled || p == PhaseFailed }

// Split is a part of a source, opaque to the control plane.
type Split struct {
	ID    string
	State []byte
}

// WorkerAddr says where a worker takes data connections.
type WorkerAddr struct {
	Worker   ids.WorkerID
	DataAddr string // empty for the only worker of an embedded cluster
}

// Option is one option of the job, by its name in the configuration.
type Option struct {
	Key, Value string
}

// Count is one counter by name.
type Count struct {
	Name  string
	Value int64
}

// From worker to master.
type (
	// Hello is the first message on a connection.
	Hello struct {
		Worker   ids.WorkerID
		PID      int64
		DataAddr string
		// Fingerprint is that of the plan which the worker has built.
		Fingerprint string
		// Version is the engine's; master and worker must be of the same.
		Version string
	}
	// Deployed answers Deploy: all tasks of this worker are ready for their peers and for Start.
	Deployed struct{}
	// DeployFailed answers Deploy: nothing was started.
	DeployFailed struct {
		Failure *errs.Error
	}
	// TaskPhase says that a task has reached a phase. Failure is set with PhaseFailed only. The last Metrics and Side
	// messages of a task come before the phase that ends it.
	TaskPhase struct {
		Task    ids.TaskID
		Phase   Phase
		Failure *errs.Error
	}
	// SplitRequest asks for a split for a source that has none left to read.
	SplitRequest struct {
		Source OpRef
	}
	// SourceProgress tells how far a source with watermark alignment has come. It is sent when something changed.
	SourceProgress struct {
		Source OpRef
		// Watermark is the least one of the splits that are not idle; event.MinTime as long as one of them has none.
		Watermark int64
		// Idle: no split is active, Watermark means nothing.
		Idle bool
		// Blocked: all active splits are paused because they are too far ahead.
		Blocked bool
	}
	// Metrics are the present figures of operators of this worker. Figures are absolute, so a lost message costs nothing.
	Metrics struct {
		Operators []OpMetrics
	}
	// Side carries rows for the client (print, collect). Seq counts from 1 for each operator of each task.
	Side struct {
		Source  OpRef
		Seq     uint64
		Payload []byte
	}
	// Heartbeat says that the worker lives.
	Heartbeat struct{}
	// TaskStacks complains about tasks that did not stop within the cancellation timeout.
	TaskStacks struct {
		Tasks  []ids.TaskID
		Waited time.Duration
		Stacks string
	}
	// Goodbye is the last message of a worker that goes in order. A connection that ends without it has broken.
	Goodbye struct {
		Reason string
	}
	// CheckpointAck says that a task's part of an epoch is durable.
	CheckpointAck struct {
		Task  ids.TaskID
		Epoch ids.Epoch
		// Part is the task's part of the manifest, opaque to the control plane.
		Part []byte
		// Size is the bytes of the task's state in the epoch, Written those that were new in storage, InFlight those of rows
		// that the barrier has overtaken.
		Size, Written, InFlight int64
		// Aligned is how long the task waited for barriers, Cut how long it stood still, Stored how long the upload took.
		Aligned, Cut, Stored time.Duration
	}
	// CheckpointDecline says that a task has no part of an epoch and will have none.
	CheckpointDecline struct {
		Task    ids.TaskID
		Epoch   ids.Epoch
		Failure *errs.Error
	}
	// TaskDrained says that a task is at the end of its input and waits for the completion of an epoch that is triggered
	// from now on.
	TaskDrained struct {
		Task ids.TaskID
	}
)

// OpMetrics are the figures of one operator in one task.
type OpMetrics struct {
	Op OpRef
	// RowsIn and RowsOut count rows; Late and Bad those that went no further, because they came after the watermark or could
	// not be decoded.
	RowsIn, RowsOut, Late, Bad int64
	// Watermark is the operator's present one.
	Watermark int64
	// Busy, Idle and Backpressured are the three times of the task; set on the head of a chain, zero on the others.
	Busy, Idle, Backpressured time.Duration
	// Counters are further counts by name, sorted: rows dropped by reason, the counters of user functions.
	Counters []Count
}

// From master to worker.
type (
	// Deploy tells a worker what runs where. Both sides have the same job graph; tasks, channels and everything else follow
	// from it and from this placement.
	Deploy struct {
		// Self is the receiver's index in Workers.
		Self int32
		// Workers are all workers of the job.
		Workers []WorkerAddr
		// Placement[v][s] is the index of the worker that runs subtask s of vertex v.
		Placement [][]int32
		// Region are the tasks that are deployed, on all workers; empty means all tasks of the job. Attempts mean nothing.
		Region []ids.TaskID
		// Attempt is the attempt number of these tasks.
		Attempt int32
		// Options are the options of the job, sorted by key.
		Options []Option
		// Secret is what workers prove to each other on data connections; it is drawn anew for each job.
		Secret []byte
		// Restore is what the tasks start from.
		Restore Restore
	}
	// Start lets all tasks of the deployment run: every worker has said Deployed.
	Start struct{}
	// SplitAssign gives a source splits. With NoMore there will be none after these. A source with watermark alignment
	// is given all splits that are known in its first SplitAssign, which may be empty.
	SplitAssign struct {
		Source OpRef
		Splits []Split
		NoMore bool
	}
	// AlignTo tells a source how far its splits may go: one whose watermark is above Max pauses. Until the first one has
	// come, every split of a source with alignment is read until it has a watermark and pauses then.
	AlignTo struct {
		Vertex ids.VertexID
		Op     int32
		Max    int64
		// Slowest is the subtask that holds all the others back, -1 if it is of another source or there is none. It need not
		// wait for the master to learn of its own progress: it may go as far as its own lowest watermark and the drift
		// allow, but not above SlowestMax, where the next one would hold it back.
		Slowest    int32
		SlowestMax int64
	}
	// SideAck says that the client has taken the side rows of an operator up to Seq.
	SideAck struct {
		Source OpRef
		Seq    uint64
	}
	// Cancel stops all tasks of the deployment.
	Cancel struct {
		Reason string
	}
	// CheckpointTrigger starts an epoch at tasks that no barrier would reach otherwise. With a Target it goes to every worker,
	// also without tasks, because all tasks write there; a barrier may reach a task before the message reaches its worker.
	CheckpointTrigger struct {
		Epoch ids.Epoch
		// Purpose is an event.Purpose.
		Purpose uint8
		// Unaligned, Drain: see event.Barrier and checkpoint.Trigger.
		Unaligned, Drain bool
		// SwitchIn is the time from the receipt of the message until an aligned epoch turns unaligned; 0 is never.
		SwitchIn time.Duration
		// Target is the directory that a savepoint is written to; "" for checkpoints.
		Target string
		Tasks  []ids.TaskID
	}
	// CheckpointAbort says that an epoch was given up. Whole: what earlier epochs have written is lost, the next one writes all.
	CheckpointAbort struct {
		Epoch ids.Epoch
		Whole bool
		Tasks []ids.TaskID
	}
	// CheckpointComplete says that an epoch, and with it everything before, is durable: sinks commit. Stop: the tasks end.
	CheckpointComplete struct {
		Epoch ids.Epoch
		Stop  bool
		Tasks []ids.TaskID
	}
	// Shutdown ends the worker. With a Failure the worker was refused, and says so where it can.
	Shutdown struct {
		Failure *errs.Error
	}
)

// Restore names a complete checkpoint or savepoint. The zero value is the start from nothing.
type Restore struct {
	// Dir is the directory of the store that holds it; "" is the job's own.
	Dir string
	// Manifest is the name of the manifest's object in the store; "" starts from nothing.
	Manifest string
}

// Tasks lists the tasks that Deploy gives to its receiver, by vertex, then subtask.
func (b *Deploy) Tasks() []ids.TaskID {
	var out []ids.TaskID
	b.each(func(t ids.TaskID, worker int32) {
		if worker == b.Self {
			out = append(out, t)
		}
	})
	return out
}

// Members reports, for each of Workers, whether it has any of the tasks that are deployed.
func (b *Deploy) Members() []bool {
	out := make([]bool, len(b.Workers))
	b.each(func(_ ids.TaskID, worker int32) {
		if worker >= 0 && int(worker) < len(out) {
			out[worker] = true
		}
	})
	return out
}

// each calls f with the tasks that are deployed and their workers. Tasks that Placement does not have are left out.
func (b *Deploy) each(f func(t ids.TaskID, worker int32)) {
	if len(b.Region) == 0 {
		for v, workers := range b.Placement {
			for s, w := range workers {
				f(ids.TaskID{Vertex: ids.VertexID(v), Subtask: int32(s), Attempt: b.Attempt}, w)
			}
		}
		return
	}
	for _, t := range b.Region {
		if v, s := int(t.Vertex), int(t.Subtask); v >= 0 && v < len(b.Placement) && s >= 0 && s < len(b.Placement[v]) {
			t.Attempt = b.Attempt
			f(t, b.Placement[v][s])
		}
	}
}

// Option returns the value of an option and whether it is set.
func (b *Deploy) Option(key string) (string, bool) {
	for _, o := range b.Options {
		if o.Key == key {
			return o.Value, true
		}
	}
	return "", false
}

// FailureOf turns any error into one that a message can carry. An error without a code came out of user code.
func FailureOf(err error) *errs.Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*errs.Error); ok {
		return e
	}
	code := errs.CodeOf(err)
	if code == "" {
		code = errs.CodeUserFunction
	}
	return &errs.Error{Code: code, Class: errs.ClassOf(err), Err: err}
}
