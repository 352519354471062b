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

// Inflight is rows of one input channel, encoded by the codec of its edge.
type Inflight struct {
	// Gate is the head's input, Channel the channel in the order of the inbox.
	Gate, Channel int
	// Batches are encoded batches with their key hashes, in their order.
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
	// Inflight are the rows that this subtask's head has to take before any other, for the head of a chain only.
	Inflight []Inflight
}
