package connector

import (
	"context"
	"log/slog"
	"time"
)

// Sink describes where rows of type T go. It is a value of the plan: made when the job is built, used concurrently by the
// tasks, never changed.
type Sink[T any] interface {
	// Name is the connector's name for plans and messages.
	Name() string
	// Writer makes the writer of one task.
	Writer(ctx WriterContext) (Writer[T], error)
}

// WriterContext is what a writer knows of its task.
type WriterContext struct {
	// Ctx ends when the task is cancelled; a blocked Write must then return.
	Ctx context.Context
	// Name is the operator's name in the job.
	Name string
	// Job is the job's name: with Name it is the same over all runs of the job. JobID is another one for each submission.
	Job, JobID string
	// Attempt differs between any two deployments of this task, also over restarts of the whole job: what an attempt creates
	// under its own Attempt and Subtask never clashes with anything.
	Attempt string
	// Checkpoints is true if the job takes checkpoints by itself: a two-phase sink commits at their completion, the last time
	// behind the end of the input. If it is false there is one commit, at the end, but for savepoints.
	Checkpoints bool
	// Restored is what the checkpoint holds that the job goes on from, nil if it starts from nothing. It must not be changed.
	Restored *Restored
	// Subtask counts from 0 below Parallelism.
	Subtask, Parallelism int
	// FS is the file system of the job.
	FS FileSystem
	// Now returns the processing time.
	Now func() time.Time
	// Log is the writer's logger.
	Log *slog.Logger
	// Side carries rows to the process that started the job, for sinks that hand results to the program (print, collect);
	// it is ordered per task and blocks when the program does not keep up.
	Side func(payload []byte) error
}

// Writer writes rows in one sink task. All methods are called by the task's goroutine.
type Writer[T any] interface {
	// Write takes a batch. The rows are the caller's and valid during the call only; times has the same length, with NoTime
	// where a row has none.
	Write(rows []T, times []int64) error
	// Flush makes what was written durable or visible, as far as the sink can (with two-phase commit: sends it on its way);
	// it is called before barriers, at the end of the input, and when the input has run dry.
	Flush() error
	// Close frees what the writer took. After an error or a cancellation it comes without Flush.
	Close() error
}

// WatermarkWriter is implemented by writers that want to see watermarks.
type WatermarkWriter interface {
	WriteWatermark(t int64) error
}

// Finisher is implemented by writers that have something to do when their input has ended for good (rename a file to its
// final name). It comes after the last Flush and before Close; after an error or a cancellation it does not come. With
// two-phase commit it does not come either: Prepare says when it is the last one.
type Finisher interface {
	Finish() error
}
