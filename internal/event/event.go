package event

import (
	"fmt"
	"math"
	"time"
)

// NoTime is the event time of a row that has none.
const NoTime int64 = math.MinInt64

// MaxTime is the final watermark: nothing follows it but the end of the input.
const MaxTime int64 = math.MaxInt64

// Kind tells the forms of an Event apart.
type Kind uint8

const (
	// KindNone is the zero Event: nothing.
	KindNone Kind = iota
	// KindBatch carries rows.
	KindBatch
	// KindWatermark says that no row with an event time <= Time follows on this channel (late rows excepted).
	KindWatermark
	// KindIdle says that this channel sends nothing for a while and must not hold back watermarks.
	KindIdle
	// KindActive ends KindIdle; it comes before the first batch or watermark of a channel that was idle.
	KindActive
	// KindBarrier separates epochs.
	KindBarrier
	// KindEnd is the last event of a channel.
	KindEnd
)

var kindNames = [...]string{"none", "batch", "watermark", "idle", "active", "barrier", "end"}

// String returns the kind's name as transcripts print it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", k)
}

// Purpose says what a barrier is for.
type Purpose uint8

const (
	// PurposeFlush makes operators emit what they hold back (mini-batches), nothing else.
	PurposeFlush Purpose = iota
	// PurposeCheckpoint asks for a snapshot.
	PurposeCheckpoint
	// PurposeSavepoint asks for a snapshot that the user owns.
	PurposeSavepoint
	// PurposeStop asks for a savepoint after which the job ends.
	PurposeStop
	// PurposeRescale asks for a snapshot from which the job goes on at another parallelism.
	PurposeRescale
)

// Barrier separates the rows of one epoch from those of the next.
type Barrier struct {
	// Epoch numbers barriers from 1 within a job.
	Epoch uint64
	// SwitchAt is when an aligned barrier becomes an unaligned one, since the Unix epoch; 0 is never.
	SwitchAt time.Duration
	// Since is when the epoch was triggered, since the Unix epoch; 0 if nobody has noted it. It serves figures only.
	Since time.Duration
	// Purpose says what the barrier is for.
	Purpose Purpose
	// Unaligned barriers may overtake the batches in front of them.
	Unaligned bool
}

// Overtakes reports whether the barrier is or may become an unaligned one, so that its consumer wants to hear of it on arrival.
func (b Barrier) Overtakes() bool { return b.Unaligned || b.SwitchAt > 0 }

// Event is one item of a channel. It is passed by value; only the fields of its kind are set.
type Event struct {
	Kind    Kind
	Time    int64
	Batch   Batch
	Barrier Barrier
}

// OfBatch returns a batch event; the batch moves into it.
func OfBatch(b Batch) Event { return Event{Kind: KindBatch, Batch: b} }

// Watermark returns a watermark event.
func Watermark(t int64) Event { return Event{Kind: KindWatermark, Time: t} }

// OfBarrier returns a barrier event.
func OfBarrier(b Barrier) Event { return Event{Kind: KindBarrier, Barrier: b} }

// Idle returns the event of an input that falls silent.
func Idle() Event { return Event{Kind: KindIdle} }

// Active returns the event of an input that speaks again.
func Active() Event { return Event{Kind: KindActive} }

// End returns the event behind which an input has nothing more.
func End() Event { return Event{Kind: KindEnd} }

// Batch is a set of rows that moves through the runtime. See the package comment for who owns one.
//
// A batch belongs to one goroutine at a time. Row numbers are physical: they index the batch's storage, and the selection
// lists those that are live, in order.
type Batch interface {
	// Len returns the number of live rows.
	Len() int
	// Sel returns the physical numbers of the live rows in ascending order, or nil if all rows 0..Len()-1 are live. The
	// slice belongs to the batch and is valid until the batch moves.
	Sel() []int32
	// Hashes returns the key hash of each physical row, or nil if the stream is not keyed. It belongs to the batch.
	Hashes() []uint64
	// CopyTo appends the given physical rows (all live ones if rows is nil) to dst, a batch made by New of the same
	// stream. It stops when dst is full and returns how many rows it took.
	CopyTo(dst Batch, rows []int32) int
	// New returns an empty batch of the same row type with room for at least one row.
	New() Batch
	// Room returns how many further rows CopyTo would take.
	Room() int
	// Release gives the memory back. The batch must not be used afterwards.
	Release()
}

// Codec turns the batches of one stream into bytes and back, for edges that leave the process. Implementations are safe
// for use by one goroutine at a time.
type Codec interface {
	// Encode appends b's live rows with their times to dst. It does not release b.
	Encode(dst []byte, b Batch) ([]byte, error)
	// Decode returns a new batch with the rows of src. src may be reused by the caller afterwards.
	Decode(src []byte) (Batch, error)
}
