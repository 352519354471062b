package task

import (
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// Checkpoints is how a task takes part in checkpoints. The functions are called on the task's goroutine and must not block.
type Checkpoints struct {
	// Mode is the job's.
	Mode checkpoint.Mode
	// OnSnapshot takes the task's part of an epoch, whole: it uploads it, releases it, and acks. From then on the snapshot is
	// the callee's.
	OnSnapshot func(s *Snapshot)
	// OnDeclined is told that the task cannot take part in an epoch.
	OnDeclined func(epoch uint64, err error)
	// OnGivenUp is told that an epoch was given up: an upload under way may stop, and its files can go.
	OnGivenUp func(epoch uint64)
	// OnDrained is told that the task is at the end of its input and has sent its own end. It lives until Complete tells it of
	// an epoch that was triggered later. nil lets the task end at once: no checkpoints are taken.
	OnDrained func()
	// Stopped is the epoch of a stop that the task is restored from to see it finished, 0 if it goes on: the task takes nothing
	// and waits for Complete. Others may have left already.
	Stopped uint64
	// Periodic says that checkpoints are taken by themselves, not only when somebody asks for a savepoint.
	Periodic bool
	// InflightMax bounds the bytes of rows that one snapshot of the task holds in flight; 0 is the default. Beyond it the task
	// declines the epoch.
	InflightMax int64
}

// InflightMaxDefault is the bound of rows in flight in one snapshot of a task.
const InflightMaxDefault = 256 << 20

// Route says how rows of a channel that were in flight find the subtask that takes them after a restore.
type Route uint8

const (
	// RouteNone: they cannot be routed again. The channel's barriers overtake nothing.
	RouteNone Route = iota
	// RouteKeyed: by the key group of each row, whose hash the batches hold.
	RouteKeyed
	// RouteAny: any subtask may take them.
	RouteAny
)

// Channel is what unaligned checkpoints need to know of an input channel.
type Channel struct {
	Route Route
	// Codec encodes and decodes the rows; the channels of an edge may share one. nil is as RouteNone.
	Codec event.Codec
}

// Snapshot is a task's part of an epoch.
type Snapshot struct {
	Barrier event.Barrier
	// Ops are the operators of the chain, head first.
	Ops []OpSnapshot
	// Inflight are rows that the barrier has overtaken.
	Inflight []Inflight
	// Final says that the task was at the end of its input: nothing comes behind the snapshot.
	Final bool
	// Aligned is how long the alignment took, Cut how long the synchronous part.
	Aligned, Cut time.Duration
}

// OpSnapshot is the part of one operator.
type OpSnapshot struct {
	*operator.Cut
	// KeyWidth is that of its keyed state, KeySchema the codec's schema of its keys: Op.KeySchema.
	KeyWidth  int
	KeySchema []byte
}

// Inflight is what a barrier has overtaken.
type Inflight struct {
	// Gate and Channel are 0: Batches say where they belong.
	Gate, Channel int
	// Batches are rows and watermarks in their order, in the task's own form. The order over several elements counts, too.
	Batches [][]byte
}

// Release gives back what the cuts hold.
func (s *Snapshot) Release() {
	for _, op := range s.Ops {
		op.Cut.Release()
	}
}

// OpRestore is what an operator of a task is restored from.
type OpRestore struct {
	Restored *operator.Restored
	// Load gives every entry of keyed state in groups to the sinks, by the name of the state. It is called on the task's
	// goroutine after Open. A state without a sink is one that the operator has not opened: the entries go to other.
	Load func(groups keygroup.Range, sinks map[string]transfer.Sink, other func(s *snapshot.State) (transfer.Sink, error)) error
	// States are the keyed states in the checkpoint, KeyWidth and KeySchema the width and the schema of their keys.
	States    []snapshot.State
	KeyWidth  int
	KeySchema []byte
	// Inflight is what was in flight, for the head of a chain only: that of this subtask if the vertex has the parallelism of
	// then (Restored.Parallelism), and else that of all subtasks of then, in their order. The task takes its share of it.
	Inflight []Inflight
}
