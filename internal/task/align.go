package task

import (
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/planted"
)

// This file drives the task's checkpoint.Aligner: it tells it what the channels and the owner say, and carries out what it
// decides, on the task's goroutine.

// aligning is what the task knows of the epochs under way.
type aligning struct {
	machine *checkpoint.Aligner
	// deadline is when the machine wants to hear of the time, in ms; 0 is never.
	deadline int64
	// since is when the first barrier or trigger of the epoch under way came, in ns.
	since time.Duration
	epoch uint64
	// cut is the snapshot that waits for its in-flight rows, or nil.
	cut      *Snapshot
	captured captured
}

// decide tells the machine of an event and does what it wants.
func (t *Task) decide(e checkpoint.AlignerEvent) error {
	now := t.instant()
	for _, c := range t.align.machine.Step(now, e) {
		if err := t.carryOut(c); err != nil {
			return err
		}
	}
	if s := t.align.cut; s != nil && t.align.captured.channels == 0 {
		t.seal(s)
	}
	t.align.deadline = 0
	if at, ok := t.align.machine.NextDeadline(); ok {
		// In whole ms, as the task reads the clock.
		t.align.deadline = max(1, (int64(at)+999_999)/1_000_000)
	}
	return nil
}

// instant is the present in the terms of SwitchAt: since the Unix epoch.
func (t *Task) instant() time.Duration { return time.Duration(t.cfg.Clock.Now().UnixNano()) }

func (t *Task) carryOut(c checkpoint.AlignerCommand) error {
	switch c := c.(type) {
	case checkpoint.Block:
		if !planted.Is(planted.RowOvertakesBarrier) {
			t.inbox.Block(c.Channel)
		}
	case checkpoint.Unblock:
		t.inbox.Unblock(c.Channel)
	case checkpoint.Snapshot:
		if s := t.align.cut; s != nil { // one event may let several epochs be cut: the one before is whole
			t.seal(s)
		}
		return t.snapshot(c.Barrier)
	case checkpoint.Forward:
		return t.forwardBarrier(c.Barrier)
	case checkpoint.Capture:
		if t.align.cut != nil { // else the task has declined
			t.capture(c.Channel, uint64(c.Epoch))
		}
	case checkpoint.CaptureEnd:
		return t.captureEnd(c.Channel, uint64(c.Epoch))
	case checkpoint.Seal: // which decide sees by itself
	case checkpoint.GiveUp:
		t.giveUp(uint64(c.Epoch))
	case checkpoint.Remark:
		t.cfg.Log.Debug("checkpoint", "task", t.place, "remark", c.Text)
	}
	return nil
}

// began notes when the first sign of an epoch came.
func (t *Task) began(b event.Barrier) {
	if b.Epoch <= t.align.epoch {
		return
	}
	t.align.epoch, t.align.since = b.Epoch, t.instant()
	if b.Since > 0 {
		t.startDelay.Store(max(0, int64(t.align.since-b.Since)))
	}
}

// barrier notes a barrier that a channel has brought, or that waits in it.
func (t *Task) barrier(ch int, b event.Barrier, news bool) error {
	t.began(b)
	if news {
		return t.decide(checkpoint.BarrierSeen{Channel: ch, Barrier: b, SwitchAt: b.SwitchAt})
	}
	return t.decide(checkpoint.BarrierCame{Channel: ch, Barrier: b, SwitchAt: b.SwitchAt})
}

// Trigger starts an epoch at this task: one without inputs, or whose inputs will all end. drain, for a stop, lets a source end
// first, as if it had read everything. switchAt is when the epoch becomes unaligned, since the Unix epoch; 0 is never. It may
// be called at any time, and does nothing for an epoch that has begun. It returns false after the task's end.
func (t *Task) Trigger(b event.Barrier, drain bool, switchAt time.Duration) bool {
	b.SwitchAt = switchAt
	if b.Since == 0 {
		b.Since = t.instant()
	}
	return t.Post(func() error {
		if drain && t.source != nil && !t.over {
			t.wakeSource()
			if err := t.endSource(); err != nil {
				return err
			}
		}
		t.began(b)
		return t.decide(checkpoint.Triggered{Barrier: b, SwitchAt: switchAt})
	})
}

// Abort says that an epoch was given up. A task that has stopped at it goes on.
func (t *Task) Abort(epoch uint64) bool {
	return t.Post(func() error {
		if t.stopAt == epoch {
			t.stopAt = 0
		}
		if err := t.decide(checkpoint.Aborted{Epoch: ids.Epoch(epoch)}); err != nil {
			return err
		}
		return t.tellFate(epoch, false)
	})
}

// Complete says that an epoch, and with it everything before, is complete. stop ends the task. It may come late, twice, or not
// at all, and then for a later epoch.
func (t *Task) Complete(epoch uint64, stop bool) bool {
	return t.Post(func() error {
		if err := t.tellFate(epoch, true); err != nil {
			return err
		}
		if stop || t.finalCut != 0 && epoch >= t.finalCut {
			t.leave = true
			t.wakeSource()
		}
		return nil
	})
}

// giveUp drops what the task holds of an epoch and
// tells the owner, whose upload may be under way.
func (t *Task) giveUp(epoch uint64) {
	if s := t.align.cut; s != nil && s.Barrier.Epoch == epoch {
		t.align.cut = nil
		s.Release()
	}
	if t.align.captured.epoch == epoch {
		t.dropCapture()
	}
	if f := t.cfg.Checkpoints.OnGivenUp; f != nil {
		f(epoch)
	}
}
