package checkpoint

import "fmt"

// Reason says why an epoch failed or a request was refused. The list is closed.
type Reason uint8

const (
	// ReasonNone is the zero Reason: nothing failed.
	ReasonNone Reason = iota
	// ReasonExpired is the timeout.
	ReasonExpired
	// ReasonDeclined is a task that could not snapshot.
	ReasonDeclined
	// ReasonManifest is a manifest that could not be written.
	ReasonManifest
	// ReasonGone is that the storage has lost what earlier checkpoints have written.
	ReasonGone
	// ReasonSubsumed is a newer checkpoint.
	ReasonSubsumed
	// ReasonRestarting is a restart of the job.
	ReasonRestarting
	// ReasonEnded is the end of the job.
	ReasonEnded
	// ReasonFenced is a leader of a higher term.
	ReasonFenced
	// ReasonNotRunning refuses a request.
	ReasonNotRunning
	// ReasonStopping refuses a request.
	ReasonStopping
	// ReasonQueueFull refuses a request.
	ReasonQueueFull
	// ReasonPurpose refuses a request.
	ReasonPurpose
	reasonCount
)

var reasonNames = [reasonCount]string{"none", "expired", "declined", "manifest", "gone", "subsumed", "restarting", "ended", "fenced",
	"not-running", "stopping", "queue-full", "purpose"}

var reasonSentences = [reasonCount]string{
	ReasonNone:       "Nothing failed.",
	ReasonExpired:    "Not every task had stored its snapshot within the checkpoint timeout; look at the tasks that are missing.",
	ReasonDeclined:   "A task could not take or store its snapshot.",
	ReasonManifest:   "The snapshots are stored, but their manifest could not be written; look at the storage.",
	ReasonGone:       "What earlier checkpoints have written is gone from the storage; the next checkpoint writes everything anew.",
	ReasonSubsumed:   "A newer checkpoint completed first, so this one is of no use any more.",
	ReasonRestarting: "The job restarts, and the tasks that took part are gone.",
	ReasonEnded:      "The job has ended.",
	ReasonFenced:     "Another leader of a higher term coordinates the job now.",
	ReasonNotRunning: "The job is not running; ask again when it is.",
	ReasonStopping:   "The job is stopping with a savepoint, and nothing may follow that one.",
	ReasonQueueFull:  "Too many savepoints and checkpoints are waiting; ask again when some have ended.",
	ReasonPurpose:    "Only a checkpoint, a savepoint, a stop or a rescale can be asked for.",
}

// String is the reason's name in logs and transcripts.
func (r Reason) String() string {
	if r < reasonCount {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", r)
}

// Sentence says the reason to a user.
func (r Reason) Sentence() string {
	if r < reasonCount {
		return reasonSentences[r]
	}
	return r.String()
}

// counts reports whether a failed checkpoint uses up Config.TolerableFailures. A slow checkpoint does not: it widens what
// would be replayed, and is reported, but must not fail a job that is only behind. Nor does one that finds the storage emptied: a
// restart would find nothing to go on from, and the next checkpoint heals it.
func (r Reason) counts() bool { return r == ReasonDeclined || r == ReasonManifest }
