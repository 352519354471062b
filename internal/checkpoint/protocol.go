package checkpoint

import (
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

// Task is one task of the job, and the tasks whose rows it reads.
type Task struct {
	ID       ids.TaskID
	Upstream []ids.TaskID
}

// Event is something that happened to the Coordinator. The list is closed.
type Event interface{ event() }

type (
	// Begin reserves the first epochs of this term. It comes once.
	Begin struct{}
	// Running says that all tasks of the job run. It comes again after each restart, with new attempts of those that were
	// restarted.
	Running struct{ Tasks []Task }
	// Restarting says that tasks stop, and will run again from the epoch that RestorePoint names; empty means all tasks. It may
	// come again with further ones. Nothing is triggered until Running.
	Restarting struct{ Tasks []ids.TaskID }
	// Ended says that the job has come to its end, whichever.
	Ended struct{}
	// Asked is a request of a user: PurposeCheckpoint, PurposeSavepoint, PurposeStop or PurposeRescale. It is answered once.
	Asked struct {
		Request uint64
		Purpose event.Purpose
		// Drain, for a stop: the final watermark is sent first, and all timers fire.
		Drain bool
		// Target is the directory of a savepoint.
		Target string
	}
	// Acked says that a task's part of an epoch is durable.
	Acked struct {
		Task  ids.TaskID
		Epoch ids.Epoch
	}
	// Declined says that a task could not store its part.
	Declined struct {
		Task  ids.TaskID
		Epoch ids.Epoch
	}
	// Drained says that a task is at the end of its input and has sent its own end; it lives until an epoch that was
	// triggered after that is complete. Sent again, it asks again for the news of that completion.
	Drained struct{ Task ids.TaskID }
	// Finished says that a task is gone, and has nothing left to snapshot.
	Finished struct{ Task ids.TaskID }
	// ManifestWritten says that a manifest is durable.
	ManifestWritten struct{ Epoch ids.Epoch }
	// ManifestFailed says that a manifest is certainly not there and never will be. A write whose answer was lost must be
	// resolved first (by reading back). Fenced: another writer's manifest has the name. Gone: what it would have listed is lost.
	ManifestFailed struct {
		Epoch  ids.Epoch
		Fenced bool
		Gone   bool
	}
	// Reserved says that the epochs up to Through belong to this term, durably.
	Reserved struct{ Through ids.Epoch }
	// ReserveFailed says that they do not. Fenced: they belong to another term.
	ReserveFailed struct {
		Through ids.Epoch
		Fenced  bool
	}
	// Tick says that time has passed; the driver sends it at NextDeadline.
	Tick struct{}
)

func (Begin) event()           {}
func (Running) event()         {}
func (Restarting) event()      {}
func (Ended) event()           {}
func (Asked) event()           {}
func (Acked) event()           {}
func (Declined) event()        {}
func (Drained) event()         {}
func (Finished) event()        {}
func (ManifestWritten) event() {}
func (ManifestFailed) event()  {}
func (Reserved) event()        {}
func (ReserveFailed) event()   {}
func (Tick) event()            {}

// Command is something that the driver of the Coordinator has to do. The list is closed. Commands are carried out in
// order, and carrying one out twice does no more than once. Slices in commands belong to the driver.
type Command interface{ command() }

type (
	// ReserveEpochs makes the epochs up to Through this term's, durably and only if no other term has them.
	ReserveEpochs struct{ Through ids.Epoch }
	// Trigger starts an epoch at the tasks that no barrier would reach otherwise. A task ignores an epoch that it has begun.
	Trigger struct {
		Barrier event.Barrier
		Drain   bool
		// SwitchAt is when an aligned epoch becomes unaligned; 0 is never.
		SwitchAt time.Duration
		// Target is that of Asked.
		Target string
		Tasks  []ids.TaskID
	}
	// Abort tells tasks to give an epoch up.
	Abort struct {
		Epoch ids.Epoch
		Tasks []ids.TaskID
	}
	// WriteManifest publishes an epoch; everything that it lists is durable. The answer is ManifestWritten or ManifestFailed.
	// A stop is published at its target first, and then under the job's own directory, where the next leader looks.
	WriteManifest struct {
		Epoch   ids.Epoch
		Purpose event.Purpose
		Target  string
		// Acked took part; Finished were gone before.
		Acked, Finished []ids.TaskID
	}
	// NotifyComplete tells tasks that an epoch is complete; sinks commit it and all before. Stop: the tasks end now.
	NotifyComplete struct {
		Epoch ids.Epoch
		Stop  bool
		Tasks []ids.TaskID
	}
	// Forget takes the manifest of an epoch away; what only it lists becomes garbage.
	Forget struct{ Epoch ids.Epoch }
	// Completed reports the end of an epoch to the history.
	Completed struct {
		Epoch   ids.Epoch
		Purpose event.Purpose
	}
	// Failed reports the end of an epoch to the history, with the tasks that had not acked.
	Failed struct {
		Epoch   ids.Epoch
		Reason  Reason
		Missing []ids.TaskID
	}
	// Answer answers Asked. With ReasonNone the epoch is complete.
	Answer struct {
		Request uint64
		Epoch   ids.Epoch
		Reason  Reason
	}
	// FailJob restarts the job, by its restart strategy.
	FailJob struct {
		Epoch  ids.Epoch
		Reason Reason
	}
	// RestorePoint names the epoch to restart from, once that is certain. 0 is the start of the job.
	RestorePoint struct {
		Epoch ids.Epoch
		Owned bool
	}
	// StepDown says that this leader is none any more.
	StepDown struct{}
	// Note is for the log: an event that changed nothing, and why.
	Note struct{ Text string }
)

func (ReserveEpochs) command()  {}
func (Trigger) command()        {}
func (Abort) command()          {}
func (WriteManifest) command()  {}
func (NotifyComplete) command() {}
func (Forget) command()         {}
func (Completed) command()      {}
func (Failed) command()         {}
func (Answer) command()         {}
func (FailJob) command()        {}
func (RestorePoint) command()   {}
func (StepDown) command()       {}
func (Note) command()           {}
