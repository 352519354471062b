package task

import (
	"encoding/binary"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/statebackend"
)

// watermarkOutBlob is what the task keeps of an operator whose output has another watermark than its input.
const watermarkOutBlob = "weir.watermark-out"

// snapshot lets the operators flush, head first, and cuts each behind what it has flushed. Nothing else of the task runs
// meanwhile: neither mails nor timers.
func (t *Task) snapshot(b event.Barrier) error {
	start := t.instant()
	if err := t.hurry(); err != nil {
		return err
	}
	t.dirty = true
	if b.Purpose == event.PurposeFlush {
		return nil
	}
	if b.Purpose == event.PurposeStop && !t.over {
		t.stopAt = b.Epoch
	}
	if t.over && t.finalCut == 0 {
		t.finalCut = b.Epoch
	}
	s := &Snapshot{Barrier: b, Final: t.over, Aligned: max(0, start-t.align.since)}
	for _, l := range t.links {
		op, err := l.cut(b, t.over)
		if err == nil {
			s.Ops = append(s.Ops, op)
			continue
		}
		s.Release()
		return t.decline(b.Epoch, err, l)
	}
	if err := t.keepReplay(s); err != nil {
		s.Release()
		return t.decline(b.Epoch, err, t.links[0])
	}
	s.Cut = t.instant() - start
	t.cutFor.Store(int64(s.Cut))
	t.align.cut = s
	return nil
}

// hurry makes the operators emit what they hold back, head first, without waiting for room downstream.
func (t *Task) hurry() error {
	for _, o := range t.outputs {
		o.Hurry(true)
		defer o.Hurry(false)
	}
	for _, l := range t.links {
		if err := l.flushOwn(); err != nil {
			return err
		}
	}
	return nil
}

// decline tells the owner that there is no cut. State that cannot be read any more is the end of the task.
func (t *Task) decline(epoch uint64, err error, l *link) error {
	if l.backend != nil && l.backend.Err() != nil || t.cfg.Checkpoints.OnDeclined == nil {
		return err
	}
	t.cfg.Checkpoints.OnDeclined(epoch, err)
	return nil
}

// seal hands the snapshot over: it is whole.
func (t *Task) seal(s *Snapshot) {
	if t.align.captured.epoch == s.Barrier.Epoch {
		s.Aligned = max(0, t.instant()-t.align.since-s.Cut)
		t.takeCaptured(s)
	}
	t.align.cut = nil
	t.alignedFor.Store(int64(s.Aligned))
	if f := t.cfg.Checkpoints.OnSnapshot; f != nil {
		f(s)
		return
	}
	s.Release()
}

// forwardBarrier sends a barrier to the consumers. Behind an end there is none: who is behind this task is triggered by itself.
func (t *Task) forwardBarrier(b event.Barrier) error {
	if t.over {
		return nil
	}
	for _, l := range t.links {
		for _, targets := range [][]target{l.main, l.sides} {
			for i := range targets {
				if out := targets[i].out; out != nil {
					if err := out.Event(event.OfBarrier(b)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// cut freezes the state of the operator.
func (l *link) cut(b event.Barrier, final bool) (OpSnapshot, error) {
	c := &operator.Cut{Barrier: b, Final: final, Watermark: l.reached()}
	out := OpSnapshot{Cut: c, KeyWidth: l.keyWidth, KeySchema: l.t.cfg.Ops[l.at].KeySchema}
	err := l.cutInto(c)
	if err != nil {
		c.Release()
		return OpSnapshot{}, l.failed(err, "the snapshot of epoch %d failed", b.Epoch)
	}
	return out, nil
}

func (l *link) cutInto(c *operator.Cut) error {
	if l.backend != nil {
		if err := l.backend.Err(); err != nil {
			return err
		}
		parts, err := statebackend.CutOf(l.backend)
		if err != nil {
			return err
		}
		c.Parts = append(c.Parts, parts...)
	}
	for _, p := range l.parts {
		data, err := p.Cut()
		if err != nil {
			return err
		}
		c.Parts = append(c.Parts, statebackend.Part{State: p.State, Data: data})
	}
	for _, k := range l.kept {
		c.Parts = append(c.Parts, k.part())
	}
	if l.holds {
		if out := l.counts.WatermarkOut.Load(); out != event.NoTime {
			c.Blob(watermarkOutBlob, int(l.t.cfg.ID.Subtask), binary.LittleEndian.AppendUint64(nil, uint64(out)))
		}
	}
	s, ok := l.op.(operator.Snapshotter)
	if !ok {
		return nil
	}
	above := l.t.enter(l)
	err := s.Snapshot(c)
	l.t.current = above
	return err
}

// reached is the event time that the operator has seen, or made if it is a source.
func (l *link) reached() int64 {
	if l.at == 0 && l.t.source != nil {
		return l.counts.WatermarkOut.Load()
	}
	return l.counts.WatermarkIn.Load()
}

// tellFate tells the operators that an epoch is complete, or never will be, head first.
func (t *Task) tellFate(epoch uint64, complete bool) error {
	for _, l := range t.links {
		c, ok := l.op.(operator.CompletionListener)
		if !ok {
			continue
		}
		above := t.enter(l)
		var err error
		if complete {
			err = c.CheckpointComplete(epoch)
		} else {
			err = c.CheckpointAborted(epoch)
		}
		t.current = above
		if err != nil {
			return l.failed(err, "the end of epoch %d", epoch)
		}
	}
	return nil
}

// AlignmentTime is how long the last alignment took: from the first sign of the epoch to the last barrier.
func (t *Task) AlignmentTime() time.Duration { return time.Duration(t.alignedFor.Load()) }

// SyncDuration is how long the task stood still for its last cut.
func (t *Task) SyncDuration() time.Duration { return time.Duration(t.cutFor.Load()) }

// StartDelay is the time from the trigger of the last epoch to its first sign at the task.
func (t *Task) StartDelay() time.Duration { return time.Duration(t.startDelay.Load()) }
