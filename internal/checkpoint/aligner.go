package checkpoint

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/planted"
)

// AlignerEvent is something that happened at a task. The list is closed.
type AlignerEvent interface{ alignerEvent() }

type (
	// BarrierCame says that the task has taken a barrier from a channel: behind all rows in front of it, or, if it is unaligned
	// or the channel is captured, ahead of them. SwitchAt is the instant at which the epoch becomes unaligned; 0 is never.
	BarrierCame struct {
		Channel  int
		Barrier  event.Barrier
		SwitchAt time.Duration
	}
	// BarrierSeen says that a barrier waits in a channel behind rows. An unaligned one must be told of when it comes, unless
	// the channel keeps its order.
	BarrierSeen struct {
		Channel  int
		Barrier  event.Barrier
		SwitchAt time.Duration
	}
	// ChannelEnded says that the task has taken the end of a channel.
	ChannelEnded struct{ Channel int }
	// Triggered says that the Coordinator has sent an epoch to this task itself: it has no channels, or all will end.
	Triggered struct {
		Barrier  event.Barrier
		SwitchAt time.Duration
	}
	// Aborted says that the Coordinator has given an epoch up.
	Aborted struct{ Epoch ids.Epoch }
	// Passed says that time has passed; the driver sends it at NextDeadline.
	Passed struct{}
)

func (BarrierCame) alignerEvent()  {}
func (BarrierSeen) alignerEvent()  {}
func (ChannelEnded) alignerEvent() {}
func (Triggered) alignerEvent()    {}
func (Aborted) alignerEvent()      {}
func (Passed) alignerEvent()       {}

// AlignerCommand is something that a task has to do at once, in order. The list is closed.
type AlignerCommand interface{ alignerCommand() }

type (
	// Block stops reading a channel.
	Block struct{ Channel int }
	// Unblock reads it again.
	Unblock struct{ Channel int }
	// Snapshot cuts the state. What operators hold back goes downstream first.
	Snapshot struct{ Barrier event.Barrier }
	// Forward sends the barrier downstream; an unaligned one overtakes what is queued there, which belongs to the snapshot.
	Forward struct{ Barrier event.Barrier }
	// Capture starts to record a channel: the rows that the task takes from now on up to CaptureEnd belong to the snapshot, and
	// are processed as well. If the channel holds the epoch's barrier, it is brought to the front now.
	Capture struct {
		Channel int
		Epoch   ids.Epoch
	}
	// CaptureEnd ends it. The rows that the barrier has overtaken, and are still queued, are the last that belong to it.
	CaptureEnd struct {
		Channel int
		Epoch   ids.Epoch
	}
	// Seal says that all in-flight rows of an unaligned epoch are known, if there are any: the task acks when state and rows
	// are durable.
	Seal struct{ Epoch ids.Epoch }
	// GiveUp drops everything of an epoch: captures, snapshot, upload.
	GiveUp struct{ Epoch ids.Epoch }
	// Remark is for the log: an event that changed nothing, and why.
	Remark struct{ Text string }
)

func (Block) alignerCommand()      {}
func (Unblock) alignerCommand()    {}
func (Snapshot) alignerCommand()   {}
func (Forward) alignerCommand()    {}
func (Capture) alignerCommand()    {}
func (CaptureEnd) alignerCommand() {}
func (Seal) alignerCommand()       {}
func (GiveUp) alignerCommand()     {}
func (Remark) alignerCommand()     {}

// alignment is one epoch under way at a task.
type alignment struct {
	barrier  event.Barrier
	switchAt time.Duration
	seen     bool // a barrier has come, or is queued
	over     bool // it is to be cut at once, and waits only for channels that keep their order
	cut      bool // unaligned: the snapshot is taken, and channels are captured
	got      []bool
	blocked  []bool
}

func (a *alignment) epoch() ids.Epoch { return ids.Epoch(a.barrier.Epoch) }

// Aligner decides, for one task, when its state is cut. It belongs to the task's goroutine.
type Aligner struct {
	mode    Mode
	out     []AlignerCommand
	now     time.Duration
	ended   []bool
	ordered []bool       // channels that are never captured
	current []*alignment // rising; at most one in the mode exactly-once
	done    ids.Epoch    // nothing up to this epoch is of interest: it was cut, or gave way to a newer one
	held    []Triggered  // wait for the epoch in front; a trigger comes beside the channels and does not replace it
	aborted []ids.Epoch  // above done, before any barrier of theirs
}

// NewAligner returns an Aligner for a task with so many input channels, over all its inputs.
func NewAligner(mode Mode, channels int) *Aligner {
	return &Aligner{mode: mode, ended: make([]bool, channels), ordered: make([]bool, channels)}
}

// KeepOrder says that a channel is never captured, because its rows could not be routed again: an unaligned epoch waits for
// its barrier as an aligned one does.
func (a *Aligner) KeepOrder(ch int) { a.ordered[ch] = true }

// Step takes an event that happened at now. The commands are valid until the next Step.
func (a *Aligner) Step(now time.Duration, e AlignerEvent) []AlignerCommand {
	a.now, a.out = max(a.now, now), a.out[:0]
	switch e := e.(type) {
	case BarrierCame:
		a.stepBarrier(e)
	case BarrierSeen:
		// Without a deadline there is nothing to decide, and another epoch may be in front. With one, a single epoch is in flight.
		if (e.SwitchAt > 0 || e.Barrier.Unaligned) && a.mode == ExactlyOnce {
			if al := a.enter(e.Barrier, e.SwitchAt); al != nil {
				al.seen = true
				al.over = al.over || e.Barrier.Unaligned
			}
		}
	case ChannelEnded:
		a.stepEnded(e.Channel)
	case Triggered:
		if a.mode == ExactlyOnce && len(a.current) > 0 && a.current[0].epoch() < ids.Epoch(e.Barrier.Epoch) && len(a.held) < trackedEpochsMax {
			a.held = append(a.held, e)
			break
		}
		a.stepTriggered(e)
	case Aborted:
		a.stepAborted(e.Epoch)
	case Passed:
	}
	for _, al := range slices.Clone(a.current) {
		al.over = al.over || al.switchAt > 0 && al.seen && a.now >= al.switchAt
		if al.over && !al.cut && a.mode == ExactlyOnce && !a.waits(al) {
			a.cut(al)
			a.finish(al)
		}
	}
	for len(a.current) == 0 && len(a.held) > 0 {
		e := a.held[0]
		a.held = a.held[1:]
		a.stepTriggered(e)
	}
	return a.out
}

// NextDeadline is when the driver has to send Passed, if nothing else happens before.
func (a *Aligner) NextDeadline() (at time.Duration, ok bool) {
	for _, al := range a.current {
		if al.switchAt > 0 && al.seen && !al.over && !al.cut && (!ok || al.switchAt < at) {
			at, ok = al.switchAt, true
		}
	}
	return at, ok
}

func (a *Aligner) do(c AlignerCommand) { a.out = append(a.out, c) }
func (a *Aligner) remark(format string, args ...any) {
	a.do(Remark{fmt.Sprintf(format, args...)})
}

// enter returns the alignment of an epoch, a new one if need be, and nil for an epoch that is over.
func (a *Aligner) enter(b event.Barrier, switchAt time.Duration) *alignment {
	epoch := ids.Epoch(b.Epoch)
	for _, al := range a.current {
		if al.epoch() == epoch {
			return al
		}
	}
	if epoch <= a.done || slices.Contains(a.aborted, epoch) {
		a.remark("epoch %d is over", epoch)
		return nil
	}
	if a.mode == ExactlyOnce && len(a.current) > 0 {
		al := a.current[0]
		if al.epoch() > epoch {
			a.remark("epoch %d has given way to %d", epoch, al.epoch())
			return nil
		}
		// Channels are in order, so whoever sends the newer barrier will never send the older one: it was given up.
		a.giveUp(al)
		a.pass(al.epoch())
	}
	if len(a.current) >= trackedEpochsMax {
		al := a.current[0]
		a.giveUp(al)
		a.pass(al.epoch())
	}
	if a.mode == ExactlyOnce {
		// Older epochs stay over, also when this one is aborted: their barriers may have been passed over meanwhile.
		a.pass(epoch - 1)
	}
	al := &alignment{barrier: b, switchAt: switchAt, got: make([]bool, len(a.ended)), blocked: make([]bool, len(a.ended))}
	a.current = append(a.current, al)
	slices.SortFunc(a.current, func(x, y *alignment) int { return int(int64(x.epoch()) - int64(y.epoch())) })
	return al
}

func (a *Aligner) stepBarrier(e BarrierCame) {
	if e.Channel < 0 || e.Channel >= len(a.ended) || a.ended[e.Channel] {
		a.remark("barrier of epoch %d on channel %d, which has ended", e.Barrier.Epoch, e.Channel)
		return
	}
	al := a.enter(e.Barrier, e.SwitchAt)
	if al == nil {
		return
	}
	if al.got[e.Channel] {
		a.remark("channel %d has sent epoch %d already", e.Channel, e.Barrier.Epoch)
		return
	}
	al.seen = true
	al.over = al.over || e.Barrier.Unaligned
	if e.Barrier.Unaligned && !al.cut && a.mode == ExactlyOnce && !a.ordered[e.Channel] && !a.waits(al) {
		a.cut(al)
	}
	al.got[e.Channel] = true
	if al.cut {
		a.do(CaptureEnd{e.Channel, al.epoch()})
	} else if a.mode == ExactlyOnce && a.missing(al) > 0 {
		al.blocked[e.Channel] = true
		a.do(Block{e.Channel})
	}
	a.finish(al)
}

func (a *Aligner) stepTriggered(e Triggered) {
	al := a.enter(e.Barrier, e.SwitchAt)
	if al == nil {
		return
	}
	al.seen = true
	al.over = al.over || e.Barrier.Unaligned
	a.finish(al)
}

func (a *Aligner) stepEnded(ch int) {
	if ch < 0 || ch >= len(a.ended) || a.ended[ch] {
		a.remark("channel %d has ended already", ch)
		return
	}
	a.ended[ch] = true
	for _, al := range slices.Clone(a.current) {
		if al.cut && !al.got[ch] {
			a.do(CaptureEnd{ch, al.epoch()})
		}
		a.finish(al)
	}
}

// missing counts the channels on which the barrier is still to come.
func (a *Aligner) missing(al *alignment) (n int) {
	for ch, got := range al.got {
		if !got && !a.ended[ch] {
			n++
		}
	}
	return n
}

// waits reports whether a barrier is still to come on a channel that keeps its order.
func (a *Aligner) waits(al *alignment) bool {
	for ch, got := range al.got {
		if !got && !a.ended[ch] && a.ordered[ch] {
			return true
		}
	}
	return false
}

// cut makes an epoch unaligned: the snapshot is taken now, and what the other channels hold in front of the barrier joins it.
func (a *Aligner) cut(al *alignment) {
	al.cut, al.barrier.Unaligned = true, true
	a.do(Snapshot{al.barrier})
	a.do(Forward{al.barrier})
	for ch, got := range al.got {
		if !got && !a.ended[ch] {
			a.do(Capture{ch, al.epoch()})
		}
	}
	a.unblock(al)
}

func (a *Aligner) unblock(al *alignment) {
	for ch, blocked := range al.blocked {
		if blocked {
			al.blocked[ch] = false
			a.do(Unblock{ch})
		}
	}
}

// finish ends an epoch when no barrier is missing.
func (a *Aligner) finish(al *alignment) {
	if a.missing(al) > 0 && !(a.mode == AtLeastOnce && planted.Is(planted.CutAtFirstBarrier)) || !slices.Contains(a.current, al) {
		return
	}
	if al.cut {
		a.do(Seal{al.epoch()})
	} else {
		a.do(Snapshot{al.barrier})
		a.do(Forward{al.barrier})
		a.unblock(al)
		if al.barrier.Unaligned {
			a.do(Seal{al.epoch()})
		}
	}
	a.remove(al)
	for _, older := range slices.Clone(a.current) {
		if older.epoch() < al.epoch() {
			a.giveUp(older)
		}
	}
	a.pass(al.epoch())
}

func (a *Aligner) remove(al *alignment) {
	a.current = slices.DeleteFunc(a.current, func(x *alignment) bool { return x == al })
}

// pass notes that nothing up to epoch is of interest any more.
func (a *Aligner) pass(epoch ids.Epoch) {
	a.done = max(a.done, epoch)
	a.aborted = slices.DeleteFunc(a.aborted, func(e ids.Epoch) bool { return e <= a.done })
}

func (a *Aligner) giveUp(al *alignment) {
	a.do(GiveUp{al.epoch()})
	a.unblock(al)
	a.remove(al)
}

func (a *Aligner) stepAborted(epoch ids.Epoch) {
	for _, al := range a.current {
		if al.epoch() == epoch {
			a.giveUp(al)
			break
		}
	}
	if epoch <= a.done {
		a.do(GiveUp{epoch}) // cut long ago: the upload is in vain
		return
	}
	if slices.Contains(a.aborted, epoch) {
		return
	}
	if len(a.aborted) == abortedRememberMax {
		a.aborted = a.aborted[1:]
	}
	a.aborted = append(a.aborted, epoch)
}
