package connector

import (
	"context"
	"time"
)

// TwoPhase is implemented by sinks whose rows become visible by two-phase commit, each exactly once in what the job has
// written. At a barrier the Writer, which implements Preparer, makes durable and still invisible what came before it, and
// says in Committables how to make it visible. The engine keeps them in the checkpoint. Once the checkpoint's manifest is
// durable, the Committer makes the rows visible, as often as it takes. After a failure the committables of the checkpoint
// are committed again, those of epochs that never completed are lost with the rows of that time, which come again.
//
// A job without checkpoints prepares and commits once, at the end of its input.
type TwoPhase interface {
	// Committer makes the committer of one task. A nil Committer says that with these settings there is nothing to commit;
	// the writers are then treated as simple ones.
	Committer(ctx WriterContext) (Committer, error)
}

// Preparer is implemented by the writers of a TwoPhase sink.
type Preparer interface {
	// Prepare is called at each barrier, by the task's goroutine, behind Flush. It ends, or notes the state of, everything
	// written so far. When it returns, the rows written since the last call are durable; committables make them visible from
	// any process at any later time, without this writer; or they are covered by the state, from which a later writer goes
	// on. What is written afterwards must not become visible by what was prepared before.
	//
	// Prepare holds up the task's rows: it must not wait for anything slower than a disk's sync or one round trip. An error
	// ends the task.
	Prepare(at Barrier) (Prepared, error)
}

// Barrier says what a Prepare is for.
type Barrier struct {
	// Epoch is the checkpoint's number. Numbers rise over the whole life of a job, restarts included, and are never used
	// twice; it is 0 at the end of a job without checkpoints.
	Epoch uint64
	// Savepoint is true if the user owns the snapshot: it may be restored at any later time and more than once, so it is best
	// to have no unfinished work in its state.
	Savepoint bool
	// Final is true if no row follows. Prepare is not called again, and the state is of use only to tell a later run what
	// there was.
	Final bool
}

// Prepared is what Prepare answers. The engine takes the slices over.
type Prepared struct {
	// Committables are to be committed once the epoch, or a later one, is complete.
	Committables []Committable
	// State is a list of items that later writers get by Restored.State. At a restore the items of all writers are dealt out
	// evenly among the writers of then.
	State [][]byte
}

// Committable says how to make rows visible that were prepared.
type Committable struct {
	// Data is for the Committer. It is read by later versions of the program: give it a version.
	Data []byte
	// Range says in words which rows these are ("1,204 rows, 88,120 bytes, out/part-0-3.csv"): it is what a person is shown if
	// they cannot be committed.
	Range string
}

// Committer makes prepared rows visible. Commit and the methods of Sweeper are called by one goroutine at a time, which is
// not the task's; Close comes when none of them runs, and may come twice.
type Committer interface {
	// Commit commits requests, all of one epoch, and answers each of them at the same index. It must be idempotent: a request
	// may come again although it was carried out, in this process or another one, since an answer can be lost and a
	// checkpoint restored. Epochs come in their order, and none before all requests of the one before were carried out.
	// Commit may block; when ctx ends it returns soon, and what it answers then does not matter.
	Commit(ctx context.Context, requests []CommitRequest) []Answer
	// Close frees what the committer took. It commits nothing and aborts nothing.
	Close() error
}

// CommitRequest asks for one committable.
type CommitRequest struct {
	Committable
	// Epoch is the one it was prepared for.
	Epoch uint64
	// Attempt counts how often this process has asked before.
	Attempt int
	// Restored is true if the committable comes from a checkpoint that was restored: most of these are visible already.
	Restored bool
}

// Answer is what became of a request.
type Answer struct {
	Outcome Outcome
	// Err says why for CommitRetry and CommitFailed.
	Err error
}

// Outcome is the kind of an Answer. Whatever is not known for certain is CommitRetry.
type Outcome uint8

const (
	// CommitRetry asks to be asked again, after a while, without limit of number: the rows are not visible yet, or nobody
	// knows. It is the zero value, so that a request without an answer is never taken for committed.
	CommitRetry Outcome = iota
	// CommitDone says that the rows are visible by this call.
	CommitDone
	// CommitAlready says that the rows were visible before, and that this was checked.
	CommitAlready
	// CommitFailed says that the rows cannot become visible any more: the transaction has expired, the file is gone. The job
	// fails for good, with the error and the committable's Range.
	CommitFailed
)

var outcomeNames = [...]string{"retry", "done", "already done", "failed"}

// String returns the word for the outcome.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// Sweeper is implemented by committers that remove what dead attempts have left behind: files, open transactions.
type Sweeper interface {
	// Sweep is called once in each task, after the first checkpoint that the job has completed since the task was started.
	// What an earlier attempt has left and restored does not list is of no more use from then on, except to savepoints. A nil
	// restored says that the job started from nothing: then this holds for attempts with the same JobID only, since others
	// may have left checkpoints that somebody goes on from one day. Each task sweeps what it can tell to be its own share. An
	// error is logged; the job goes on.
	Sweep(ctx context.Context, restored *Restored) error
}

// Restored is what the checkpoint that a job goes on from holds of a sink.
type Restored struct {
	// Epoch is the checkpoint's, Parallelism that of the sink then.
	Epoch       uint64
	Parallelism int
	// State is this writer's share of the items that the writers of then have given; AllState are those of all.
	State, AllState [][]byte
	// AllCommittables are those of all tasks that were not known to be committed.
	AllCommittables []Committable
}

// Ticker is implemented by writers that have something to do as time goes by.
type Ticker interface {
	// TickEvery returns the interval, 0 for never. It is asked once.
	TickEvery() time.Duration
	// Tick is called by the task's goroutine about once an interval of processing time.
	Tick() error
}
