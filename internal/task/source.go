package task

import (
	"context"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// runSource steps the source at the head until it has finished. Mails come first, so that a source that never runs dry
// still hears of splits, barriers and cancellation.
func (t *Task) runSource() error {
	progress := int64(event.NoTime)
	blocked := false
	if err := t.askForSplit(); err != nil {
		return err
	}
	for {
		if err := t.drainMail(); err != nil {
			return err
		}
		if err := t.room(); err != nil {
			return err
		}
		st := operator.SourceBlocked
		if !t.waiting {
			var err error
			t.current = t.links[0]
			before := t.links[0].progress()
			if st, err = t.source.Step(); err != nil {
				return err
			}
			// A step that found nothing must leave the task clean: it would flush for ever instead of waiting.
			t.dirty = t.dirty || t.links[0].progress() != before
		}
		if min, b := t.source.Progress(); t.cfg.OnProgress != nil && (min != progress || b != blocked) {
			progress, blocked = min, b
			t.cfg.OnProgress(0, min, b)
		}
		if err := t.askForSplit(); err != nil {
			return err
		}
		switch st {
		case operator.SourceReady:
			if err := t.tick(); err != nil {
				return err
			}
		case operator.SourceWaiting:
			t.startWait()
			if err := t.restSource(); err != nil {
				return err
			}
		case operator.SourceBlocked:
			if err := t.restSource(); err != nil {
				return err
			}
		case operator.SourceFinished:
			return t.finishSource()
		}
	}
}

// drainMail runs the mails that have come.
func (t *Task) drainMail() error {
	for t.inbox.HasMail() {
		item, ok, err := t.inbox.Poll()
		if err != nil || !ok {
			return err
		}
		if err := t.mail(item.Mail); err != nil {
			return err
		}
	}
	return nil
}

// progress is a figure that changes with everything that a source does.
func (l *link) progress() int64 {
	c := l.counts
	return c.RowsIn.Load() + c.Bad.Load() + c.WatermarkOut.Load()
}

// room waits until no output would block, and serves mails meanwhile.
func (t *Task) room() error {
	for !t.outputsAvailable() {
		if err := t.inbox.WaitOutput(t.deadline()); err != nil {
			return err
		}
		if err := t.drainMail(); err != nil {
			return err
		}
		if err := t.fireTimers(t.millis()); err != nil {
			return err
		}
	}
	return nil
}

func (t *Task) outputsAvailable() bool {
	for _, o := range t.outputs {
		if !o.Available() {
			return false
		}
	}
	return true
}

func (t *Task) restSource() error {
	if t.inbox.HasMail() {
		return nil
	}
	return t.rest()
}

func (t *Task) askForSplit() error {
	if t.source.WantSplit() && t.cfg.OnSplitWanted != nil {
		t.cfg.OnSplitWanted(0)
	}
	return nil
}

// startWait lets the source wait for data on a goroutine of its own, which reports back by mail.
func (t *Task) startWait() {
	if t.waiting {
		return
	}
	t.waiting = true
	ctx, cancel := context.WithCancel(t.ctx)
	t.stopWait = cancel
	t.waiters.Go(func() {
		err := t.source.Wait(ctx)
		cancel()
		t.Post(func() error {
			t.waiting = false
			if t.ctx.Err() != nil {
				return nil
			}
			return err
		})
	})
}

// wakeSource ends a Wait that is running, because there is something new for the source.
func (t *Task) wakeSource() {
	if t.waiting {
		t.stopWait()
	}
}

// finishSource sends the final watermark and ends the chain.
func (t *Task) finishSource() error {
	t.now = t.millis()
	if err := t.links[0].forward(event.MaxTime); err != nil {
		return err
	}
	return t.finish()
}
