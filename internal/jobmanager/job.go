package jobmanager

import (
	"context"
	"log/slog"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobfsm"
	"github.com/weir-stream/weir/internal/restart"
	"github.com/weir-stream/weir/internal/rpc"
)

// Job is what a Master runs: facts about the plan, made by the composition root.
type Job struct {
	ID         ids.JobID
	Name       string
	Generation ids.Generation
	Term       ids.Term
	// Fingerprint is that of the plan; a worker with another one is refused.
	Fingerprint string
	// Version is the engine's; a worker of another one is refused.
	Version string
	// Workers are the workers that the job needs, all of them.
	Workers []ids.WorkerID
	// Placement[v][s] is the index in Workers of the worker that runs subtask s of vertex v.
	Placement [][]int32
	// Regions[v][s] is the failover region of subtask s of vertex v, counted from 0: no row goes from one region to another, and a
	// failure restarts only those that it concerns. nil: all tasks are one region.
	Regions [][]int32
	// VertexNames are for messages to people ("flights -> filter"); may be shorter than Placement.
	VertexNames []string
	// Options are sent to the workers, sorted by key.
	Options []rpc.Option
	// Secret is sent to the workers, for their data connections.
	Secret []byte
	// Sources are the job's sources; one that is not listed gets no splits.
	Sources []Source
	// Upstream lists the tasks that a task reads from; attempts mean nothing. May be nil if no checkpoints are taken.
	Upstream func(ids.TaskID) []ids.TaskID
}

// tasks lists all tasks with their workers, by vertex, then subtask.
func (j *Job) tasks() []jobfsm.PlacedTask {
	var out []jobfsm.PlacedTask
	for v, workers := range j.Placement {
		for s, w := range workers {
			out = append(out, jobfsm.PlacedTask{Task: ids.TaskID{Vertex: ids.VertexID(v), Subtask: int32(s)}, Worker: j.Workers[w]})
			if j.Regions != nil {
				out[len(out)-1].Region = int(j.Regions[v][s])
			}
		}
	}
	return out
}

// operatorName names an operator for people.
func (j *Job) operatorName(k sourceKey) string {
	if int(k.vertex) < len(j.VertexNames) {
		return j.VertexNames[k.vertex]
	}
	return ids.VertexID(k.vertex).String()
}

// valid reports whether an operator reference from outside names a task of the job.
func (j *Job) valid(r rpc.OpRef) bool {
	v, s := r.Task.Vertex, r.Task.Subtask
	return v >= 0 && int(v) < len(j.Placement) && s >= 0 && int(s) < len(j.Placement[v])
}

// Source is one source operator of the plan.
type Source struct {
	// Vertex and Op name the operator in each of the vertex's tasks.
	Vertex ids.VertexID
	Op     int32
	// Name is the operator's, for messages.
	Name string
	// Group is the name of the source's watermark alignment group, "" if it does not take part in any. The sources of a
	// group may run ahead of the slowest one by MaxDrift.
	Group    string
	MaxDrift time.Duration
	// Eager deals out all splits up front, as in a group, although there is none.
	Eager bool
}

// Enumerators finds splits, for all sources of the job.
type Enumerators interface {
	// Next returns a split for the reader in the given subtask of a source, if one is ready. done says that there will be
	// none any more; otherwise it is asked again after wait. It is called from one goroutine at a time for one source, and
	// may block until ctx ends.
	Next(ctx context.Context, vertex ids.VertexID, op int32, subtask int) (s rpc.Split, ok, done bool, wait time.Duration, err error)
	// Snapshot returns the state of the enumerator of a source. It is called as Next is.
	Snapshot(ctx context.Context, vertex ids.VertexID, op int32) ([]byte, error)
	// Reset makes sources begin again: those with a state, which Snapshot has returned, from that, the others anew. No other call
	// for them is under way.
	Reset(ctx context.Context, sources []Source, states []EnumeratorState) error
}

// SideSink takes the rows that operators send to the client.
type SideSink interface {
	// Rows takes one payload. Those of one operator of one task come in order; one operator's come from one goroutine at a
	// time, those of different operators concurrently. It may block as long as it likes (the tasks are held back), until
	// ctx ends. An error fails the job.
	Rows(ctx context.Context, op rpc.OpRef, payload []byte) error
}

// Config is how a Master works. The zero value of each field but Clock is a sensible default.
type Config struct {
	Clock clock.Clock
	Log   *slog.Logger
	// Events is told of everything that happens to the job and its workers, by the goroutine of Run.
	Events events.Listener
	// Enumerators may be nil if the job has no sources.
	Enumerators Enumerators
	// Describe says in words where the next record of a split is, "" if nobody knows. It may read files for it, and is called
	// once at most, when the job ends because of a record. May be nil.
	Describe func(vertex ids.VertexID, op int32, s rpc.Split) string
	// Sides may be nil: side rows are then acknowledged and forgotten.
	Sides SideSink
	// JoinTimeout is how long workers may take until they have connected and deployed; 60 s if zero.
	JoinTimeout time.Duration
	// StopTimeout is how long a cancelled job may take to stop before its workers are killed. It is the second line behind
	// the workers' own cancellation timeout, and must be longer; 200 s if zero.
	StopTimeout time.Duration
	// HeartbeatTimeout is the silence after which a worker is taken for lost though its connection stands; 50 s if zero,
	// never if negative.
	HeartbeatTimeout time.Duration
	// ExitTimeout is how long the master waits for the exit of a process whose connection broke, to tell the reason, and
	// for the goodbyes of the workers at the end of the job; 500 ms if zero.
	ExitTimeout time.Duration
	// Processes says that workers are processes whose ends are told by WorkerExited.
	Processes bool
	// Checkpoints says how checkpoints are taken, and where they are. Nil takes none.
	Checkpoints *CheckpointConfig
	// Restart decides what happens after a failure. Nil fails the job.
	Restart restart.Strategy
	// Stalls ends what the strategy would restart without use.
	Stalls restart.Stalls
	// Replace starts another process in the place of a worker's that has ended. It must not block. Its errors come as the exit
	// of the worker. nil if workers cannot be replaced: then a job that has lost one fails.
	Replace func(worker ids.WorkerID)
	// Kill ends a worker process that does not end by itself. It must not block. nil if workers cannot be killed.
	Kill func(worker ids.WorkerID, reason string)
	// Stuck is told of tasks that do not stop although they were cancelled, with the stacks of their process. It must not
	// block. May be nil: it is an event anyway.
	Stuck func(worker ids.WorkerID, stuck *rpc.TaskStacks)
	// Phase is told of each change of the job's phase, in order, by the goroutine of Run. It must not block. May be nil.
	Phase func(phase string)
}

// CheckpointConfig is how checkpoints are taken.
type CheckpointConfig struct {
	// Config is that of the coordinator, without what the store finds.
	Config checkpoint.Config
	Store  CheckpointStore
}

func (c *Config) setDefaults() {
	setDefault(&c.JoinTimeout, 60*time.Second)
	setDefault(&c.StopTimeout, 200*time.Second)
	setDefault(&c.HeartbeatTimeout, 50*time.Second)
	setDefault(&c.ExitTimeout, 500*time.Millisecond)
	c.Events = c.Events.EnsureDefaults()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

func setDefault(d *time.Duration, v time.Duration) {
	if *d == 0 {
		*d = v
	}
}

func (c *Config) deadline(d jobfsm.Deadline) time.Duration {
	switch d {
	case jobfsm.DeadlineJoin:
		return c.JoinTimeout
	case jobfsm.DeadlineStop:
		return c.StopTimeout
	default:
		return c.ExitTimeout
	}
}
