package task

import (
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
)

// runInputs takes events from the inbox until all channels have ended.
func (t *Task) runInputs() error {
	for t.open > 0 && !t.leave {
		if stands, err := t.between(); stands || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		worked, err := t.takeInput()
		if err == nil && !worked {
			err = t.rest()
		}
		if err != nil {
			return err
		}
	}
	if t.leave {
		return nil
	}
	if t.outsider != nil {
		if err := t.outside(t.outsider.UnderWay); err != nil || t.leave {
			return err
		}
	}
	return t.endInputs()
}

// endInputs ends the chain behind the last event of the last channel, and says so to the machine of alignment only then: an
// epoch that waits for it is cut at the end.
func (t *Task) endInputs() error {
	if err := t.finish(); err != nil {
		return err
	}
	return t.decide(checkpoint.ChannelEnded{Channel: t.lastEnded})
}

// stand waits for the fate of a stop that the task has cut. It does nothing else: what it would do is not in the savepoint.
func (t *Task) stand() error {
	for t.stopAt != 0 && !t.leave {
		if err := t.inbox.WaitMail(exchange.Never); err != nil {
			return err
		}
		if err := t.drainMail(); err != nil {
			return err
		}
	}
	return nil
}

// linger waits, at the end of the input, for a complete epoch that holds what the task has done last.
func (t *Task) linger() error {
	if t.cfg.Checkpoints.OnDrained == nil {
		return nil
	}
	t.stopAt = 0
	t.cfg.Checkpoints.OnDrained()
	for !t.leave {
		if err := t.drainMail(); err != nil {
			return err
		}
		if t.leave {
			break
		}
		if err := t.inbox.Wait(exchange.Never); err != nil {
			return err
		}
	}
	return nil
}

// between is what comes before each event that the head takes: it waits for rows outside and for room. It reports that the task
// stands, so that nothing is to be taken.
func (t *Task) between() (stands bool, err error) {
	if t.stopAt != 0 {
		return true, t.stand()
	}
	if t.outsider != nil {
		if err := t.outside(t.outsider.Full); err != nil {
			return false, err
		}
	}
	return false, t.turn()
}

// takeInput handles the next mail or event; false if there is none.
func (t *Task) takeInput() (worked bool, err error) {
	item, ok, err := t.inbox.Poll()
	if err != nil || !ok {
		return false, err
	}
	if item.Mail != nil {
		return true, t.mail(item.Mail)
	}
	return true, t.event(item)
}

// outside serves mails and timers, and takes no input, while the head says so.
func (t *Task) outside(while func() bool) error {
	for while() {
		if err := t.drainMail(); err != nil || t.leave {
			return err
		}
		if err := t.turn(); err != nil {
			return err
		}
		if !while() {
			return nil
		}
		if t.dirty && t.flushes() {
			if err := t.flush(); err != nil {
				return err
			}
			continue // what a flush sets off may be another mail
		}
		if err := t.inbox.WaitMail(t.deadline()); err != nil {
			return err
		}
	}
	return nil
}

// event handles one event of a channel.
func (t *Task) event(item exchange.Item) error {
	head := t.links[0]
	if t.align.captured.channels > 0 && !item.News && t.align.captured.on[item.Channel] {
		if err := t.record(item.Channel, item.Event); err != nil {
			return err
		}
	}
	switch item.Event.Kind {
	case event.KindBatch:
		t.dirty = true
		return head.process(t.cfg.Gates[item.Channel], item.Event.Batch)
	case event.KindWatermark:
		// The queue leaves out what a watermark says by itself: that the channel is active.
		if err := t.advance(t.merger.Active(item.Channel)); err != nil {
			return err
		}
		return t.advance(t.merger.Watermark(item.Channel, item.Event.Time))
	case event.KindIdle:
		return t.advance(t.merger.Idle(item.Channel))
	case event.KindActive:
		return t.advance(t.merger.Active(item.Channel))
	case event.KindBarrier:
		return t.barrier(item.Channel, item.Event.Barrier, item.News)
	case event.KindEnd:
		if item.News {
			// The channel is recorded, and its barrier will not come: all that it still holds is in flight.
			return t.decide(checkpoint.BarrierCame{Channel: item.Channel, Barrier: event.Barrier{Epoch: t.align.captured.epoch}})
		}
		return t.endChannel(item.Channel)
	}
	return errs.New(errs.CodeBug, errs.ClassBug, t.place, "unknown event kind %v", item.Event.Kind)
}

// endChannel notes the end of a channel, and of its input when it was the last.
func (t *Task) endChannel(ch int) error {
	if t.open--; t.open > 0 {
		if err := t.decide(checkpoint.ChannelEnded{Channel: ch}); err != nil {
			return err
		}
	}
	if err := t.advance(t.merger.End(ch)); err != nil {
		return err
	}
	in := &t.inputs[t.cfg.Gates[ch]]
	if in.open--; in.open == 0 {
		if err := t.links[0].endInput(t.cfg.Gates[ch]); err != nil {
			return err
		}
	}
	t.lastEnded = ch
	return nil
}

func (t *Task) mail(f func() error) error {
	t.dirty = true
	return f()
}

// turn is what comes before each event of the input and each step of a source: it reads the clock, once for all that
// the event sets off, does what is due by it, and waits until the outputs take a batch.
func (t *Task) turn() error {
	t.now = t.millis()
	if err := t.passed(); err != nil {
		return err
	}
	if err := t.fireTimers(t.now); err != nil {
		return err
	}
	if t.dirty && t.flushes() && t.now-t.lastFlush >= t.cfg.BufferTimeout.Milliseconds() {
		if err := t.room(); err != nil {
			return err
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return t.room()
}

// room waits until no output would block, and serves mails and timers meanwhile. Were the task to wait within a Send,
// they would wait with it.
func (t *Task) room() error {
	if t.outputsAvailable() {
		return nil
	}
	if err := t.pressed(true); err != nil {
		return err
	}
	for !t.outputsAvailable() && !t.leave {
		if err := t.inbox.WaitOutput(t.deadline()); err != nil {
			return err
		}
		t.now = t.millis()
		if err := t.drainMail(); err != nil {
			return err
		}
		if err := t.passed(); err != nil {
			return err
		}
		if err := t.fireTimers(t.now); err != nil {
			return err
		}
	}
	return t.pressed(false)
}

// passed tells the machine of alignment that its deadline has come.
func (t *Task) passed() error {
	if t.align.deadline == 0 || t.now < t.align.deadline {
		return nil
	}
	return t.decide(checkpoint.Passed{})
}

// pressed tells a source about backpressure, which must not be taken for a lack of rows.
func (t *Task) pressed(on bool) error {
	if t.pressure == nil {
		return nil
	}
	above := t.enter(t.links[0])
	err := t.pressure.Backpressured(on)
	t.current = above
	return err
}

func (t *Task) outputsAvailable() bool {
	for _, o := range t.outputs {
		if !o.Available() {
			return false
		}
	}
	return true
}

// drainMail runs the mails that have come, and hears of barriers that do not wait for the rows in front of them.
func (t *Task) drainMail() error {
	for t.inbox.HasMail() {
		item, ok, err := t.inbox.Poll()
		if err != nil || !ok {
			return err
		}
		if item.Mail != nil {
			err = t.mail(item.Mail)
		} else {
			err = t.event(item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flushes reports whether batches that are not full are sent before the end at all.
func (t *Task) flushes() bool { return t.cfg.BufferTimeout >= 0 }

func (t *Task) flush() error {
	t.lastFlush, t.dirty = t.now, false
	err := t.links[0].flush()
	if err == nil && t.locator != nil {
		t.locator.Settled()
	}
	return err
}

// rest is called when there is nothing to do: flush, then wait.
func (t *Task) rest() error {
	if t.dirty && t.flushes() {
		return t.flush() // what a flush sets off may be more input: look again before waiting
	}
	return t.inbox.Wait(t.deadline())
}

// deadline returns when the next timer is due, in ns.
func (t *Task) deadline() int64 {
	at, ok := t.timers.next()
	if d := t.align.deadline; d > 0 && (!ok || d < at) {
		at, ok = d, true
	}
	if !ok || at > exchange.Never/int64(time.Millisecond) {
		return exchange.Never
	}
	return at * int64(time.Millisecond)
}

// finish ends the chain after its last event.
func (t *Task) finish() error {
	t.now = t.millis()
	t.over = true
	return t.links[0].finish()
}

// enter notes that the code of an operator runs from now on, for messages, and returns what ran before. It is put back
// by hand where the call returns, and left where it panics.
func (t *Task) enter(l *link) (above *link) {
	above = t.current
	t.current = l
	return above
}
