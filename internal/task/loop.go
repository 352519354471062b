package task

import (
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
)

// runInputs takes events from the inbox until all channels have ended.
func (t *Task) runInputs() error {
	open := len(t.cfg.Gates)
	for open > 0 {
		if t.outsider != nil {
			if err := t.outside(t.outsider.Full); err != nil {
				return err
			}
		}
		item, ok, err := t.inbox.Poll()
		if err != nil {
			return err
		}
		if !ok {
			if err := t.rest(); err != nil {
				return err
			}
			continue
		}
		if item.Mail != nil {
			if err := t.mail(item.Mail); err != nil {
				return err
			}
			continue
		}
		ended, err := t.event(item)
		if err != nil {
			return err
		}
		if ended {
			open--
		}
		if err := t.tick(); err != nil {
			return err
		}
	}
	if t.outsider != nil {
		if err := t.outside(t.outsider.UnderWay); err != nil {
			return err
		}
	}
	return t.finish()
}

// outside serves mails and timers, and takes no input, while the head says so.
func (t *Task) outside(while func() bool) error {
	for while() {
		if err := t.drainMail(); err != nil {
			return err
		}
		if !while() {
			return nil
		}
		now := t.millis()
		t.now = now
		if err := t.fireTimers(now); err != nil {
			return err
		}
		if t.dirty {
			if err := t.flush(now); err != nil {
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

// event handles one event of a channel and reports whether the channel has ended.
func (t *Task) event(item exchange.Item) (ended bool, err error) {
	head := t.links[0]
	switch item.Event.Kind {
	case event.KindBatch:
		t.dirty = true
		return false, head.process(t.cfg.Gates[item.Channel], item.Event.Batch)
	case event.KindWatermark:
		return false, t.advance(t.merger.Watermark(item.Channel, item.Event.Time))
	case event.KindIdle:
		return false, t.advance(t.merger.Idle(item.Channel))
	case event.KindActive:
		return false, t.advance(t.merger.Active(item.Channel))
	case event.KindBarrier:
		return false, t.barrier(item.Channel, item.Event.Barrier)
	case event.KindEnd:
		return true, t.endChannel(item.Channel)
	}
	return false, errs.New(errs.CodeBug, errs.ClassBug, t.place, "unknown event kind %v", item.Event.Kind)
}

// endChannel notes the end of a channel, and of its input when it was the last.
func (t *Task) endChannel(ch int) error {
	if err := t.barrierEnd(ch); err != nil {
		return err
	}
	if err := t.advance(t.merger.End(ch)); err != nil {
		return err
	}
	in := &t.inputs[t.cfg.Gates[ch]]
	if in.open--; in.open == 0 {
		return t.links[0].endInput(t.cfg.Gates[ch])
	}
	return nil
}

func (t *Task) mail(f func() error) error {
	t.now = t.millis()
	t.dirty = true
	return f()
}

// tick does what is due by the clock while the input does not run dry.
func (t *Task) tick() error {
	now := t.millis()
	t.now = now
	if err := t.fireTimers(now); err != nil {
		return err
	}
	if t.dirty && now-t.lastFlush >= t.cfg.BufferTimeout.Milliseconds() {
		return t.flush(now)
	}
	return nil
}

func (t *Task) flush(now int64) error {
	t.lastFlush, t.dirty = now, false
	return t.links[0].flush()
}

// rest is called when there is nothing to do: flush, then wait.
func (t *Task) rest() error {
	now := t.millis()
	t.now = now
	if err := t.fireTimers(now); err != nil {
		return err
	}
	if t.dirty {
		return t.flush(now) // what a flush sets off may be more input: look again before waiting
	}
	return t.inbox.Wait(t.deadline())
}

// deadline returns when the next timer is due, in ns.
func (t *Task) deadline() int64 {
	at, ok := t.timers.next()
	if !ok || at > exchange.Never/int64(time.Millisecond) {
		return exchange.Never
	}
	return at * int64(time.Millisecond)
}

// finish ends the chain after its last event.
func (t *Task) finish() error {
	t.now = t.millis()
	return t.links[0].finish()
}
