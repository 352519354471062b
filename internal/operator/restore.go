package operator

import (
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/timer"
)

// Snapshotter is implemented by operators with state that is neither in the backend of Context.OpenState nor a KeyedPart: those
// are cut by the task itself.
type Snapshotter interface {
	// Snapshot adds to cut what the operator has to remember at the barrier. Rows that are held back have been flushed. It is
	// part of the synchronous cut: it copies and does no I/O.
	Snapshot(cut *Cut) error
}

// Restorer is implemented by operators that have something to do when their state has been loaded: after Open, before the
// first row, watermark or timer. It is not called if the job starts from nothing.
type Restorer interface {
	AfterRestore() error
}

// BlobStates is implemented by operators that keep states of the user's as blobs, for the plan of a restore.
type BlobStates interface {
	// BlobStates calls f with each that is open: the name of its blobs, which begin with their schemas, the schema of its keys
	// or nil, and its values.
	BlobStates(f func(blob string, keys *codec.Schema, values *codec.Values))
}

// CompletionListener is implemented by operators that act on the fate of checkpoints (two-phase commit).
type CompletionListener interface {
	// CheckpointComplete says that the manifest of epoch is durable, and with it everything up to epoch. It may come late,
	// twice, or not at all, and then for a later epoch.
	CheckpointComplete(epoch uint64) error
	// CheckpointAborted says that epoch will never be complete.
	CheckpointAborted(epoch uint64) error
}

// Cut is the state of one operator's subtask at a barrier.
type Cut struct {
	// Barrier is the one that asks for the cut. Final is set at the end of the input: nothing follows this cut.
	Barrier event.Barrier
	Final   bool

	// Parts are the keyed states; the task adds those of the backend and of KeyedPart.
	Parts []statebackend.Part
	// Blobs are the operator's own bytes.
	Blobs []snapshot.Blob
	// Positions are a source's splits.
	Positions []snapshot.Position
	// Watermark is the event time that the operator had reached; the task sets it.
	Watermark int64
}

// Blob adds bytes under a name, which the cut keeps. Several of one name are a list, in the order of adding.
func (c *Cut) Blob(name string, subtask int, data []byte) {
	c.Blobs = append(c.Blobs, snapshot.Blob{Name: name, Subtask: subtask, Data: data})
}

// Release gives back what the parts hold.
func (c *Cut) Release() {
	for _, p := range c.Parts {
		p.Data.Release()
	}
}

// KeyedPart is keyed state that an operator keeps by itself (timers, tables of panes).
type KeyedPart struct {
	// State is its name, kind, widths and schema (a codec.Table). The name must differ from those in the backend.
	State snapshot.State
	// Values is how values of former schemas are read, as in statebackend.Descriptor.
	Values *codec.Values
	// Cut freezes it. It is called on the task's goroutine.
	Cut func() (statebackend.Frozen, error)
	// Load takes each entry of the subtask's key groups at a restore, after Open and before AfterRestore.
	Load transfer.Sink
}

// AddTimers registers timers as keyed state, in Open. nsWidth is the width of their namespaces, or
// statebackend.VariableNamespace.
func (c *Context) AddTimers(name string, kind snapshot.Kind, nsWidth int, t *timer.Timers) {
	c.AddKeyed(KeyedPart{
		State: snapshot.State{Name: name, Kind: kind, NamespaceWidth: nsWidth},
		Cut:   t.Cut,
		Load:  t.Sink(),
	})
}

// WatermarkThen returns the event time at which the operator begins: where the run before was at the cut, or event.NoTime. Rows
// at or before it are late, as they would have been then.
func (c *Context) WatermarkThen() int64 {
	if c.Restored == nil {
		return event.NoTime
	}
	return c.Restored.Watermark
}

// Restored is what an earlier run has left for an operator.
type Restored struct {
	// Epoch is that of the checkpoint.
	Epoch uint64
	// Watermark is the least event time over the subtasks of then, event.NoTime if one had none.
	Watermark int64
	// Parallelism is that of then.
	Parallelism int
	// Blobs are those of all subtasks of then, in the order of the manifest. They must not be changed.
	Blobs []snapshot.Blob
	// Positions are a source's, of all subtasks.
	Positions []snapshot.Position
}

// Union returns the blobs of a name of all subtasks of then: union list state.
func (r *Restored) Union(name string) [][]byte {
	if r == nil {
		return nil
	}
	var out [][]byte
	for _, b := range r.Blobs {
		if b.Name == name {
			out = append(out, b.Data)
		}
	}
	return out
}

// Even returns this subtask's share of the blobs of a name: list state. They are dealt out evenly in their order; at the
// parallelism of then each subtask gets its own, since others may go on without being restored.
func (r *Restored) Even(name string, subtask, parallelism int) [][]byte {
	if r != nil && r.Parallelism == parallelism {
		var own [][]byte
		for _, b := range r.Blobs {
			if b.Name == name && b.Subtask == subtask {
				own = append(own, b.Data)
			}
		}
		return own
	}
	all := r.Union(name)
	return all[len(all)*subtask/parallelism : len(all)*(subtask+1)/parallelism]
}
