package operator

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/metric"
)

// Collector takes what an operator emits. Emit moves the batch. It may block until the consumer has room for one batch,
// and returns errs.Canceled when the task is cancelled meanwhile, or the error of a chained operator; the caller returns
// it at once.
type Collector interface {
	// Emit sends a batch to the main output.
	Emit(b event.Batch) error
	// EmitSide sends a batch to the side output of that name. Rows for a side output that nobody reads are counted and
	// released.
	EmitSide(name string, b event.Batch) error
}

// Operator is one step of a job, one instance a subtask.
type Operator interface {
	// Open prepares the operator. The context and the collector stay valid until Close.
	Open(ctx *Context, out Collector) error
	// Process takes a batch of the given input (0 for operators with one). The batch moves to the operator.
	Process(input int, b event.Batch) error
	// Watermark says that event time has reached t over all inputs; it rises strictly from call to call. The operator emits
	// what t makes due; the task forwards the watermark itself after the call, unless the operator implements
	// WatermarkHolder.
	Watermark(t int64) error
	// Close frees what Open took. It is called exactly once by the task but must tolerate a second call and a failed Open.
	Close() error
}

// Maker makes the operator instance of one subtask. It is what graph.Node.Factory holds.
type Maker func() Operator

// Hasher fills in the key hashes of a batch: it is what an edge's keyed partition holds. It belongs to one goroutine.
type Hasher func(b event.Batch)

// HasherMaker makes the Hasher of one producing task. It is what graph.Partition.Fn holds for keyed edges.
type HasherMaker func() Hasher

// Chooser fills targets (one for each live row, in order) with the consumer's subtask, 0 <= target < n. It belongs to one
// goroutine.
type Chooser func(b event.Batch, n int, targets []int32)

// ChooserMaker makes the Chooser of one producing task. It is what graph.Partition.Fn holds for custom edges.
type ChooserMaker func() Chooser

// CodecMaker makes the codec of an edge's batches; it is what graph.Edge.Codec holds. It fails for row types that have
// no encoding, which matters only where the edge leaves the process.
type CodecMaker func() (event.Codec, error)

// InputEnder is implemented by operators that act when one of their inputs has ended.
type InputEnder interface {
	EndInput(input int) error
}

// Finisher is implemented by operators that emit something when all inputs have ended, after the final watermark.
type Finisher interface {
	Finish() error
}

// Flusher is implemented by operators that hold rows back for the sake of larger batches. Flush emits them; it is called
// when the input has run dry, before barriers, and at least once a buffer timeout.
type Flusher interface {
	Flush() error
}

// WatermarkHolder is implemented by operators that delay or replace the watermark behind them (timestamp assigners, async
// operators with rows in flight). The task calls Watermark as usual, does not forward it, and forwards what the operator
// passes to Context.EmitWatermark.
type WatermarkHolder interface {
	HoldsWatermark()
}

// Outsider is implemented by operators that have rows under way outside the task's goroutine (async I/O). What comes back
// comes by Context.Mailbox. The task asks after each event; only the head of a chain is asked.
type Outsider interface {
	// Full reports that no more input may come for now. The task then serves mails and timers alone.
	Full() bool
	// UnderWay reports that something is still to come back. The task does not finish the operator before that has.
	UnderWay() bool
}

// StatusHandler is implemented by operators that decide on idleness themselves; others have it forwarded.
type StatusHandler interface {
	InputIdle(idle bool) error
}

// TimerHolder is implemented by operators whose users register timers, for tests that count them.
type TimerHolder interface {
	// PendingTimers returns how many timers of event time and of processing time are registered, over all keys.
	PendingTimers() (event, processing int)
}

// Timers is how an operator asks to be called at a processing time. Calls run on the task's goroutine, never inside another
// method of the operator.
type Timers interface {
	// At calls f on the task's goroutine at the processing time t (ms) or soon after. The returned function cancels it.
	At(t int64, f func(now int64) error) (cancel func())
}

// Mailbox lets other goroutines run something on the task's goroutine.
type Mailbox interface {
	// Post enqueues f and never blocks. After the task has ended f is dropped and Post returns false. An error from f fails
	// the task.
	Post(f func() error) bool
}

// SourceStatus is what a source's Step found.
type SourceStatus uint8

const (
	// SourceReady: Step may be called again at once.
	SourceReady SourceStatus = iota
	// SourceWaiting: nothing to read now; the task calls Wait, and Step after it.
	SourceWaiting
	// SourceBlocked: there is no split to read, or watermark alignment keeps all of them from being read; AlignTo or
	// AddSplits will end it.
	SourceBlocked
	// SourceFinished: all splits are read and no more will come.
	SourceFinished
)

// Source is an operator without input. The task calls Step instead of Process.
type Source interface {
	Operator
	// Step emits at most one batch and the watermarks it causes.
	Step() (SourceStatus, error)
	// Wait blocks until Step may find something or ctx ends, which it also does when one of the methods below is called. It
	// runs on a goroutine of its own; the task does not call Step meanwhile.
	Wait(ctx context.Context) error
	// AddSplits gives the source splits to read; last says that no more will come.
	AddSplits(splits []connector.Split, last bool) error
	// AlignTo says up to which watermark splits may be read at present (watermark alignment). own is event.NoTime unless this
	// task is the slowest of its group: then splits may also be read up to the task's own lowest watermark plus the drift, but
	// not beyond own.
	AlignTo(max, own int64) error
	// Progress returns the lowest watermark over the source's unfinished splits, MaxTime if it has none that counts, and
	// whether alignment keeps it from reading.
	Progress() (min int64, blocked bool)
	// WantSplit reports, once for each time, that the source has nothing left to read and asks for a split.
	WantSplit() bool
}

// PressureListener is implemented by sources that must not take the time in which nothing downstream has room for one in
// which there was nothing to read. It is called when such a time begins and when it has ended.
type PressureListener interface {
	Backpressured(on bool) error
}

// Locator is implemented by sources that can say what they have read last, for the message about a row that made a function of
// their chain fail.
type Locator interface {
	// Settled says that no operator of the chain holds back rows that it has emitted or taken so far.
	Settled()
	// Where tells what was read since, or only the batch that came last, and up to where; "" if that is nothing. It is called
	// once, after a failure and before Close, and may block for files.
	Where(batch bool) string
}

// Counts holds what every operator counts. The task's goroutine adds to them; anybody reads.
type Counts struct {
	RowsIn, RowsOut, BatchesIn, BatchesOut atomic.Int64
	// Late counts rows that came behind the watermark, Bad records that failed to decode, NoTime rows without event time.
	Late, Bad, NoTime atomic.Int64
	// Unread counts rows emitted to a side output that nobody reads.
	Unread atomic.Int64
	// WatermarkIn and WatermarkOut are the last watermarks that went in and out.
	WatermarkIn, WatermarkOut atomic.Int64
}

// Context is what an operator knows of where it runs. It is made by the task and valid from Open to Close; all its
// functions are for the task's goroutine unless they say otherwise.
type Context struct {
	// Ctx ends when the task is cancelled; functions that block outside the engine's sight must watch it.
	Ctx context.Context
	// JobID is the job's.
	JobID ids.JobID
	// Job, Vertex and Operator name the place; Operator is the name that metrics and errors show.
	Job, Vertex, Operator string
	// Subtask counts from 0 below Parallelism.
	Subtask, Parallelism int
	// Attempt differs between any two deployments of this subtask, over restarts of the job too.
	Attempt string
	// Checkpoints says that the job takes checkpoints by itself, FinalCheckpoint that one is taken behind the end of its
	// input, for whose completion the task waits.
	Checkpoints, FinalCheckpoint bool
	// BatchRows bounds the rows of a batch; 0 is the default of the row type.
	BatchRows int
	// WatermarkInterval is how often at most a source sends its watermark while rows keep coming; 0 is behind each batch.
	WatermarkInterval time.Duration
	// Now returns the processing time in ms. It is cheap enough once a batch, not once a row.
	Now func() int64
	// Timers schedules processing-time callbacks.
	Timers Timers
	// Mailbox runs functions on this task's goroutine.
	Mailbox Mailbox
	// Counts is the operator's standing counters; it adds to them once a batch.
	Counts *Counts
	// Metrics is where user functions count.
	Metrics metric.Group
	// Events is who listens to what happens here; see NoteLate and its like.
	Events events.Listener
	// Log is the operator's logger; it carries job, operator and subtask.
	Log *slog.Logger
	// EmitWatermark forwards a watermark; for WatermarkHolders only.
	EmitWatermark func(t int64) error
	// EmitIdle forwards idleness; for StatusHandlers only.
	EmitIdle func(idle bool) error
	// SideWanted reports whether anybody reads the side output of that name.
	SideWanted func(name string) bool
	// OpenState opens the operator's keyed state backend, at most once, in Open. The backend holds the key groups of this
	// subtask. The operator closes it in Close.
	OpenState func(keyWidth int) (statebackend.Keyed, error)
	// AddKeyed registers keyed state outside the backend, in Open. The task cuts and loads it with the rest.
	AddKeyed func(p KeyedPart)
	// Restored is what an earlier run has left, nil if the job starts from nothing. Keyed state is loaded by the task.
	Restored *Restored
	// FS is the job's file system.
	FS connector.FileSystem
	// Clock is the processing time, for connectors.
	Clock clock.Clock
	// Side sends a payload to the process that started the job: rows for print and collect. It blocks while that process
	// does not keep up, and keeps the order of one operator's subtask.
	Side func(payload []byte) error
}

// Place returns "operator (subtask+1/parallelism)" for messages.
func (c *Context) Place() string { return Place(c.Operator, c.Subtask, c.Parallelism) }
