package checkpoint

import (
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// Mode says what a failure may do to state.
type Mode uint8

const (
	// ExactlyOnce blocks (or captures) channels until the barrier has come on all.
	ExactlyOnce Mode = iota
	// AtLeastOnce never blocks a channel: rows behind a barrier may be part of the snapshot, and come again after a restore.
	AtLeastOnce
)

// String is the mode's name in transcripts.
func (m Mode) String() string {
	if m == AtLeastOnce {
		return "at-least-once"
	}
	return "exactly-once"
}

// Unlimited as Config.TolerableFailures lets a job go on whatever fails.
const Unlimited = -1

const (
	requestsMax        = 16 // requests that wait for their turn
	epochBlockDefault  = 64
	reserveRetry       = time.Second
	finalRetryPauseMin = 100 * time.Millisecond
	concurrentMaxUpper = 64
	timeoutDefault     = 10 * time.Minute
	abortedRememberMax = 16 // epochs an Aligner remembers as aborted before it saw a barrier
	trackedEpochsMax   = 64 // epochs an at-least-once Aligner follows at a time
)

// Config is what a Coordinator needs to know. The zero value of each field is its default.
type Config struct {
	Mode Mode
	// Unaligned lets barriers of checkpoints overtake rows; savepoints are always aligned.
	Unaligned bool
	// AlignedTimeout, with Unaligned, is how long after its trigger a checkpoint stays aligned; 0 is not at all.
	AlignedTimeout time.Duration
	// Interval is the time between triggers; 0 takes checkpoints only when asked to.
	Interval time.Duration
	// MinPause is the least time from the end of a checkpoint to the trigger of the next.
	MinPause time.Duration
	// Timeout bounds the time from the trigger to the last ack; 0 is ten minutes.
	Timeout time.Duration
	// ConcurrentMax bounds the checkpoints in flight; 0 is 1. Savepoints do not count.
	ConcurrentMax int
	// TolerableFailures is how many checkpoints in a row may fail before the job does; Unlimited never fails it.
	TolerableFailures int
	// Retain is how many completed checkpoints are kept; 0 is 1.
	Retain int
	// Final takes a checkpoint when every task has come to the end of its input.
	Final bool
	// EpochBlock is how many epochs are reserved at a time; 0 is 64.
	EpochBlock int

	// Term is the term of this leader.
	Term ids.Term
	// Reserved is the highest epoch that an earlier term has reserved, as found in storage.
	Reserved ids.Epoch
	// Completed are the job's completed epochs, as found in storage, rising.
	Completed []Completion
}

// Completion is a completed epoch that the job may be restored from.
type Completion struct {
	Epoch ids.Epoch
	// Owned by the user: the savepoint of a stop. It is never forgotten.
	Owned bool
}

// check fills in defaults and refuses what contradicts itself.
func (c *Config) check() error {
	bad := func(msg string, args ...any) error {
		return errs.New(errs.CodeConfigInvalid, errs.ClassUser, "execution.checkpointing", msg, args...)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"interval", c.Interval}, {"min-pause", c.MinPause}, {"timeout", c.Timeout}, {"aligned-checkpoint-timeout", c.AlignedTimeout}} {
		if d.d < 0 {
			return bad("%s is %v; it cannot be negative", d.name, d.d)
		}
	}
	if c.ConcurrentMax < 0 || c.Retain < 0 || c.EpochBlock < 0 || c.TolerableFailures < Unlimited {
		return bad("max-concurrent-checkpoints, num-retained and tolerable-failed-checkpoints cannot be negative (but -1 tolerates all)")
	}
	if c.ConcurrentMax > concurrentMaxUpper {
		return bad("max-concurrent-checkpoints is %d; the most is %d", c.ConcurrentMax, concurrentMaxUpper)
	}
	if c.ConcurrentMax > 1 && c.MinPause > 0 {
		return bad("min-pause cannot be kept with %d checkpoints in flight; set max-concurrent-checkpoints to 1 or min-pause to 0", c.ConcurrentMax)
	}
	if c.ConcurrentMax > 1 && c.Unaligned {
		return bad("unaligned checkpoints are taken one at a time; set max-concurrent-checkpoints to 1")
	}
	if c.Mode == AtLeastOnce && c.Unaligned {
		return bad("unaligned checkpoints need the mode exactly-once; at-least-once never waits for a barrier")
	}
	for i, done := range c.Completed {
		if done.Epoch > c.Reserved || i > 0 && done.Epoch <= c.Completed[i-1].Epoch {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "checkpoint",
				"completed epoch %d is out of order, or above the reserved %d; the checkpoint directory is damaged", done.Epoch, c.Reserved)
		}
	}
	c.ConcurrentMax = max(c.ConcurrentMax, 1)
	c.Retain = max(c.Retain, 1)
	if c.Timeout == 0 {
		c.Timeout = timeoutDefault
	}
	if c.EpochBlock == 0 {
		c.EpochBlock = epochBlockDefault
	}
	return nil
}
