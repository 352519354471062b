package task

import (
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

// alignment waits until the barrier of one epoch has come on every open channel, and keeps those that have sent it from
// being read meanwhile.
type alignment struct {
	barrier event.Barrier // Epoch 0: none under way
	got     []bool
	ended   []bool
	missing int
}

func newAlignment(channels int) alignment {
	return alignment{got: make([]bool, channels), ended: make([]bool, channels)}
}

// barrier notes a barrier of a channel. A newer epoch replaces one that never completed: its producer gave it up.
func (t *Task) barrier(ch int, b event.Barrier) error {
	a := &t.align
	if b.Epoch < a.barrier.Epoch {
		return nil
	}
	if b.Epoch > a.barrier.Epoch {
		if a.missing > 0 {
			t.unblock()
		}
		a.barrier, a.missing = b, 0
		for i := range a.got {
			a.got[i] = false
			if !a.ended[i] {
				a.missing++
			}
		}
	}
	if a.got[ch] {
		return errs.New(errs.CodeBug, errs.ClassBug, t.place, "channel %d sent the barrier of epoch %d twice", ch, b.Epoch)
	}
	a.got[ch] = true
	a.missing--
	if a.missing > 0 {
		t.inbox.Block(ch)
		return nil
	}
	return t.aligned()
}

// barrierEnd counts an ended channel as one whose barrier has come.
func (t *Task) barrierEnd(ch int) error {
	a := &t.align
	a.ended[ch] = true
	if a.missing == 0 || a.got[ch] {
		return nil
	}
	if a.missing--; a.missing > 0 {
		return nil
	}
	return t.aligned()
}

func (t *Task) aligned() error {
	t.unblock()
	if err := t.links[0].barrier(t.align.barrier); err != nil {
		return err
	}
	t.dirty = true
	return nil
}

func (t *Task) unblock() {
	for ch, got := range t.align.got {
		if got {
			t.inbox.Unblock(ch)
		}
	}
}
