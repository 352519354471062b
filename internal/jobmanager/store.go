package jobmanager

import (
	"context"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// CheckpointStore is where a job keeps what it goes on from.
type CheckpointStore interface {
	// Open wins a term above all that it finds, and lists what earlier terms have left. Every opening is of a new term.
	Open(ctx context.Context) (Checkpoints, Found, error)
}

// Checkpoints are the checkpoints of a job, in the hands of its leader. The methods may block for as long as the storage does,
// and are called by one goroutine at a time. Each returns only when its outcome is certain, or ctx has ended: a write whose
// answer was lost is resolved by reading back. An error of code errs.CodeFenced says that another leader has the job now.
type Checkpoints interface {
	// Begin says that an epoch is about to be triggered. For a savepoint or stop, target is the directory that the user has
	// named, "" for the configured one; the result is the one that the tasks write to, "" for a checkpoint.
	Begin(ctx context.Context, epoch ids.Epoch, purpose event.Purpose, target string) (dir string, err error)
	// Reserve makes the epochs up to through this term's, durably and only if no other term has them.
	Reserve(ctx context.Context, through ids.Epoch) error
	// Publish writes the manifest of an epoch; all that it lists is durable. A manifest of the same epoch and term that is there
	// already is success. A stop is published at its target first, and then among the job's own checkpoints.
	Publish(ctx context.Context, c Collected) (Published, error)
	// Discard takes away what the tasks have written for an epoch that failed, as far as they have said so.
	Discard(ctx context.Context, c Collected) error
	// Forget takes the manifest of an epoch away, and then what no other manifest lists.
	Forget(ctx context.Context, epoch ids.Epoch) error
	// Restore reads what generation goes on from: the manifest of a complete epoch of this job, or with epoch 0 the savepoint
	// that the job is started from; nothing if there is none. Those that are damaged, as tasks have found when they loaded
	// them, are passed over for an older one. No task of an earlier generation runs, but of those that are alive: they are of
	// regions that go on.
	Restore(ctx context.Context, epoch ids.Epoch, generation ids.Generation, alive []ids.Generation, damaged map[ids.Epoch]error) (Restored, error)
	// End leaves the store as the job's end, in that phase, asks for. Nothing is called after it.
	End(ctx context.Context, phase string) error
}

// Found is what a new leader has found.
type Found struct {
	// Term is the one that it has won.
	Term ids.Term
	// Reserved is the highest epoch that an earlier term has reserved.
	Reserved ids.Epoch
	// Completed are the complete epochs, rising.
	Completed []checkpoint.Completion
}

// Collected is an epoch that all tasks have acked.
type Collected struct {
	Epoch   ids.Epoch
	Purpose event.Purpose
	// Target is what Begin has returned.
	Target string
	// Parts are the parts of the tasks, by vertex, then subtask. Finished had ended before, and have none.
	Parts    []TaskPart
	Finished []ids.TaskID
	// Sources are the enumerators of all sources.
	Sources []EnumeratorState
}

// TaskPart is a task's part of a manifest, as its worker has encoded it.
type TaskPart struct {
	Task ids.TaskID
	Part []byte
}

// EnumeratorState is what the enumerator of a source remembers at an epoch.
type EnumeratorState struct {
	Vertex ids.VertexID
	Op     int32
	// State is connector.Enumerator's own encoding.
	State []byte
}

// Published is a manifest that is durable.
type Published struct {
	// Epoch is set by the master.
	Epoch ids.Epoch
	// Path is where it is, for people.
	Path string
	// Size is the bytes of all that it lists.
	Size int64
}

// Restored is what the master itself needs of a checkpoint, and what its tasks need to find it.
type Restored struct {
	// Epoch is 0 for a savepoint and for nothing.
	Epoch ids.Epoch
	// Tasks is handed to the workers.
	Tasks   rpc.Restore
	Sources []SourceRestore
}

// SourceRestore is what a source goes on from. A source that is not listed begins anew.
type SourceRestore struct {
	EnumeratorState
	// Parallelism is that of then.
	Parallelism int
	// Splits are those that readers had, at their positions, but those that were read to their end.
	Splits []PlacedSplit
}

// PlacedSplit is a split and the subtask that read it.
type PlacedSplit struct {
	rpc.Split
	Subtask int
}

// CheckpointFigures are what is known of the checkpoints and restarts of a job.
type CheckpointFigures struct {
	// Completed, Failed and InProgress count checkpoints and savepoints of this run.
	Completed, Failed, InProgress int64
	// Last is the last complete one.
	Last LastCheckpoint
	// Restored is the epoch that the present generation was restored from, 0 if none, at RestoredAt.
	Restored   ids.Epoch
	RestoredAt time.Time
	// Running is since when the present generation runs, zero before the first.
	Running time.Time
	// Restarts counts the restarts of this run; Restarting is when the one under way began, zero if none is.
	Restarts   int64
	Restarting time.Time
}

// LastCheckpoint describes a complete checkpoint.
type LastCheckpoint struct {
	Epoch    ids.Epoch
	Path     string
	Duration time.Duration
	// Size is the bytes of state in it, Written those that were new in storage, InFlight those of rows overtaken.
	Size, Written, InFlight int64
	// At is when it was complete.
	At time.Time
}
