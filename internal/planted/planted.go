package planted

import "sync/atomic"

// Mistake is a mistake that the engine can be made to make.
type Mistake uint32

// The mistakes.
const (
	none Mistake = iota
	// ManifestBeforeData acks a task's part of a checkpoint before its data objects are written, and goes on when that fails.
	ManifestBeforeData
	// CommitBeforeManifest lets sinks commit when all tasks have acked, before the manifest is durable.
	CommitBeforeManifest
	// RowOvertakesBarrier reads on behind a barrier while others are awaited.
	RowOvertakesBarrier
	// TimerDropped loses the first timer of each cut.
	TimerDropped
	// GroupsOffByOne restores a range of key groups without its last one.
	GroupsOffByOne
	// WatermarkForgotten restores operators without their watermarks.
	WatermarkForgotten
	// PositionBehind saves the position of each split as that of the checkpoint before.
	PositionBehind
	// SplitTwice lets enumerators hand out splits between their snapshot and the barrier.
	SplitTwice
	// CommittablesForgotten does not commit again what a restored checkpoint holds.
	CommittablesForgotten
	// StaleRestore restores the checkpoint before the newest.
	StaleRestore
	// InflightForgotten loses the rows in flight of unaligned checkpoints.
	InflightForgotten
	// DeletedTooEarly deletes objects that a retained manifest lists.
	DeletedTooEarly
	// EnumeratorForgotten leaves the enumerator of a source whose tasks have all finished out of the manifest.
	EnumeratorForgotten
	// DrainIgnored stops a job that is to be drained without that.
	DrainIgnored
	// ClaimDeletedEarly deletes a claimed savepoint when the first checkpoint begins, not when enough are complete.
	ClaimDeletedEarly
	// UnionDealtOut deals the elements of union lists out, as those of other lists.
	UnionDealtOut
	// ListTwice gives every subtask all elements of a list at another parallelism.
	ListTwice
	// BroadcastForgotten restores broadcast state in those subtasks only that were there before.
	BroadcastForgotten
	// TimeToLiveAnew restores states as if they had been written at the cut.
	TimeToLiveAnew
	// AbortedCommitted lets sinks commit a checkpoint that was given up.
	AbortedCommitted
	// OlderForgotten commits what was prepared for the complete checkpoint, and forgets what was prepared for those before.
	OlderForgotten
	// CutAtFirstBarrier cuts at the first barrier in the mode at-least-once.
	CutAtFirstBarrier
	// IdleTakenForEnd takes an input that is idle for one at its end.
	IdleTakenForEnd
	// WriterForgotten restores sinks without the state of their writers.
	WriterForgotten
	// DamageUnseen restores a checkpoint without looking whether all of it is there.
	DamageUnseen
	end
)

var names = [...]string{"none", "manifest before data", "commit before manifest", "row overtakes barrier", "timer dropped", "key groups off by one",
	"watermark forgotten", "position behind", "split twice", "committables forgotten", "stale restore", "in-flight rows forgotten", "deleted too early",
	"enumerator of a finished source forgotten", "drain ignored", "claimed savepoint deleted too early",
	"union list dealt out", "list restored twice", "broadcast state forgotten in new subtasks", "time to live begins anew", "aborted checkpoint committed",
	"committables of older checkpoints forgotten", "cut at the first barrier", "idle taken for the end", "writer's state forgotten", "damage unseen"}

// String is what the mistake is called in reports.
func (m Mistake) String() string { return names[m] }

// All lists the mistakes.
func All() []Mistake {
	var out []Mistake
	for m := none + 1; m < end; m++ {
		out = append(out, m)
	}
	return out
}

var present atomic.Uint32

// Is reports whether m is to be made.
func Is(m Mistake) bool { return Mistake(present.Load()) == m }

// Plant makes the engine make m until the test ends. It takes what only tests have.
func Plant(t interface{ Cleanup(func()) }, m Mistake) {
	present.Store(uint32(m))
	t.Cleanup(func() { present.Store(uint32(none)) })
}
