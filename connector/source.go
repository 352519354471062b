package connector

import (
	"context"
	"log/slog"
	"time"
)

// NoTime is the event time of a row that has none.
const NoTime int64 = -1 << 63

// Batch is the memory that a reader fills. It belongs to the engine; the reader may append to Rows and Times up to Rows'
// capacity during Poll and must keep neither.
type Batch[T any] struct {
	// Rows receives the rows.
	Rows []T
	// Times receives each row's event time in ms since the Unix epoch, or NoTime, if the connector knows one (a message's
	// timestamp). It stays empty or gets exactly as many entries as Rows.
	Times []int64
}

// Full reports whether no further row fits.
func (b *Batch[T]) Full() bool { return len(b.Rows) == cap(b.Rows) }

// Boundedness says whether a source ends by itself.
type Boundedness uint8

const (
	// Unbounded sources go on until the job is stopped.
	Unbounded Boundedness = iota
	// Bounded sources end.
	Bounded
)

// Split is a part of a source that one reader reads on its own. Its bytes are the connector's: what to read and, once
// reading has begun, from which position. They must stay readable for later versions of the connector.
type Split struct {
	// ID is unique within the source and stable over restarts.
	ID string
	// State is the connector's encoding of the split and the position in it.
	State []byte
}

// Source describes where rows of type T come from. It is a value of the plan: made when the job is built, used
// concurrently by readers, never changed.
type Source[T any] interface {
	// Name is the connector's name for plans and messages ("csv flights-*.csv").
	Name() string
	// Boundedness says whether the source ends by itself.
	Boundedness() Boundedness
	// Enumerator makes the source's one enumerator. restored is what Snapshot returned, or nil.
	Enumerator(ctx EnumeratorContext, restored []byte) (Enumerator, error)
	// Reader makes the reader of one task.
	Reader(ctx ReaderContext) (Reader[T], error)
}

// MaxParallelism is implemented by sources that cannot be read by more than that many readers (1 for a Go channel), and by
// sinks that cannot be written by more than that many writers (1 for a single file). 0 means no limit.
type MaxParallelism interface {
	MaxParallelism() int
}

// EnumeratorContext is what an enumerator knows of the job.
type EnumeratorContext struct {
	// Ctx ends with the job.
	Ctx context.Context
	// Parallelism is the number of readers.
	Parallelism int
	// FS is the file system of the job.
	FS FileSystem
	// Now returns the processing time.
	Now func() time.Time
	// Log is the source's logger.
	Log *slog.Logger
}

// Enumerator finds splits. It is called from one goroutine at a time.
type Enumerator interface {
	// Next returns a split for the reader that asks, if one is ready. ok is false when none is ready now: for good if done
	// is true, otherwise the engine asks again after wait. The engine may ask until ok is false and only then let anybody
	// read, so an enumerator must run dry at some point.
	Next(reader int) (s Split, ok, done bool, wait time.Duration, err error)
	// Return takes back splits whose reader has failed before it finished them.
	Return(reader int, splits []Split)
	// Snapshot returns the enumerator's state: what has been found and not yet handed out.
	Snapshot() ([]byte, error)
	// Close frees what the enumerator took.
	Close() error
}

// Status is what Poll found.
type Status uint8

const (
	// More means that Poll may be called again at once.
	More Status = iota
	// Waiting means that no row is ready; the engine calls Wait.
	Waiting
	// SplitDone means that the split named by Poll's result has been read to its end; there may be rows in the batch too.
	SplitDone
	// Done means that the reader has read all its splits and waits for another or the end.
	Done
)

// Reader reads splits in one source task. Poll, AddSplit, Pause, Snapshot and Close are called by one goroutine. Wait runs
// on another one; while it runs, Poll is not called, but the other methods may be, and AddSplit, Pause and Close make it
// return.
type Reader[T any] interface {
	// AddSplit gives the reader a split to read, from the position in its state.
	AddSplit(s Split) error
	// Poll appends rows of ONE split to b and returns that split's ID. It must not block for long (a disk read is fine, a
	// network wait is not: return Waiting).
	Poll(b *Batch[T]) (split string, st Status, err error)
	// Wait blocks until Poll may find something, AddSplit, Pause or Close was called, or ctx ends. (The engine ends ctx, too,
	// when it has something for the reader.)
	Wait(ctx context.Context) error
	// Pause says which splits must not be polled until further notice (their watermark is too far ahead of the others');
	// the reader polls the rest.
	Pause(splits map[string]bool)
	// Snapshot returns the splits that the reader owns, at their present positions.
	Snapshot() ([]Split, error)
	// Close frees what the reader took and makes a running Wait return.
	Close() error
}

// ReaderContext is what a reader knows of its task.
type ReaderContext struct {
	// Ctx ends when the task is cancelled.
	Ctx context.Context
	// Subtask counts from 0 below Parallelism.
	Subtask, Parallelism int
	// FS is the file system of the job.
	FS FileSystem
	// Now returns the processing time.
	Now func() time.Time
	// NewTimer returns a channel that receives once when d of processing time has passed, and a function that stops it. It
	// may be called from any goroutine.
	NewTimer func(d time.Duration) (fired <-chan time.Time, stop func() bool)
	// Log is the reader's logger.
	Log *slog.Logger
	// Bad reports a record that could not be decoded. If it returns an error the reader must return it from Poll (policy
	// fail, or a budget that is used up); if it returns nil the reader goes on with the next record.
	Bad func(BadRecord) error
}

// BadRecord is a record that could not be decoded, with everything a person needs to find and mend it.
type BadRecord struct {
	// Where is the file, topic and partition, or whatever the record came from.
	Where string
	// Line and Column count from 1; 0 where they make no sense. Column counts bytes.
	Line, Column int64
	// Offset is the record's position in bytes or messages.
	Offset int64
	// Field is the column or field that failed, or "".
	Field string
	// Value is the text that failed, cut to a length that can be printed.
	Value string
	// Want says what was expected instead ("a whole number", "20 fields").
	Want string
	// Raw is the whole record as it came in; valid during the call only.
	Raw []byte
	// Cause is the text of the error behind it, or "".
	Cause string
}
