package task

import (
	"context"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// runSource steps the source at the head until it has finished. Mails come first, so that a source that never runs dry
// still hears of splits, barriers and cancellation.
func (t *Task) runSource() error {
	if err := t.askForSplit(); err != nil {
		return err
	}
	for !t.over && !t.leave {
		if t.stopAt != 0 {
			if err := t.stand(); err != nil {
				return err
			}
			continue
		}
		if err := t.turn(); err != nil {
			return err
		}
		if err := t.drainMail(); err != nil {
			return err
		}
		if t.over || t.leave || t.stopAt != 0 {
			continue
		}
		st, err := t.stepSource()
		if err != nil {
			return err
		}
		switch st {
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
			return t.endSource()
		}
	}
	return nil
}

// stepSource takes one step of the source and reports what others want to know of it.
func (t *Task) stepSource() (operator.SourceStatus, error) {
	st, err := t.step()
	if err != nil {
		return st, err
	}
	if min, b := t.source.Progress(); t.cfg.OnProgress != nil && (min != t.reported || b != t.blocked) {
		t.reported, t.blocked = min, b
		t.cfg.OnProgress(0, min, b)
	}
	return st, t.askForSplit()
}

// step lets the source emit, unless its Wait is running.
func (t *Task) step() (operator.SourceStatus, error) {
	if t.waiting {
		return operator.SourceBlocked, nil
	}
	head := t.links[0]
	above := t.enter(head)
	before := head.progress()
	st, err := t.source.Step()
	t.current = above
	// A step that found nothing must leave the task clean: it would flush for ever instead of waiting.
	t.dirty = t.dirty || head.progress() != before
	return st, err
}

// progress is a figure that changes with everything that a source does.
func (l *link) progress() int64 {
	c := l.counts
	return c.RowsIn.Load() + c.Bad.Load() + c.WatermarkOut.Load()
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
		err := t.wait(ctx)
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

// wait calls the source's Wait, on a goroutine of its own, where a panic would end the process.
func (t *Task) wait(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = operator.UserError(t.links[0].ctx, p, nil, func() string { return " (in the source's Wait)" })
		}
	}()
	return t.source.Wait(ctx)
}

// wakeSource ends a Wait that is running, because there is something new for the source.
func (t *Task) wakeSource() {
	if t.waiting {
		t.stopWait()
	}
}

// located adds to the failure of a function on a row how far the source of the chain has come.
func (t *Task) located(err error) error {
	e, ok := err.(*errs.Error)
	if !ok || t.locator == nil {
		return err
	}
	switch e.Code {
	case errs.CodeUserPanic, errs.CodeUserFunction, errs.CodeRecordTimestamp:
	default:
		return err
	}
	if where := t.locator.Where(t.passesOn(e.Op)); where != "" {
		return e.Positioned(where)
	}
	return err
}

// passesOn reports whether the row at which the operator at a place has failed is of the batch that the source emitted last:
// nothing between the two holds rows back, nor does the operator keep any.
func (t *Task) passesOn(place string) bool {
	for i, l := range t.links {
		switch {
		case l.ctx != nil && l.ctx.Place() == place:
			return l.backend == nil && len(l.parts) == 0
		case i > 0 && l.flusher != nil:
			return false
		}
	}
	return false
}

// endSource sends the final watermark and ends the chain.
func (t *Task) endSource() error {
	if err := t.links[0].forward(event.MaxTime); err != nil {
		return err
	}
	return t.finish()
}
