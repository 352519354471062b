package source

import (
	"maps"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/watermark"
)

// open prepares the merger of the splits' watermarks.
func (o *reader[T]) open() error {
	bound := o.opt.OutOfOrder.Milliseconds()
	o.marks = watermark.NewSplits(watermark.Strategy{
		New:       func() watermark.Generator { return &watermark.Bounded{Bound: bound} },
		IdleAfter: o.opt.Idle.Milliseconds(),
	}, o.ctx.WatermarkThen())
	o.ids, o.names, o.read = map[string]watermark.SplitID{}, map[watermark.SplitID]string{}, map[string]int64{}
	o.limit, o.own, o.held = event.MaxTime, event.NoTime, event.NoTime
	if o.opt.Drift > 0 {
		o.limit = event.NoTime // until every split of the group has shown its first rows
	}
	return o.restoreMarks()
}

// watermarks reports whether the source makes any.
func (o *reader[T]) watermarks() bool { return o.opt.Time != nil && !o.opt.NoWatermarks }

// wake says downstream that rows come, if it was told that none would.
func (o *reader[T]) wake() error {
	if !o.idle {
		return nil
	}
	return o.send(o.marks.Tick(o.ctx.Now()), true)
}

// tick sends what has changed about the watermark, and looks again when the next split may have become idle.
func (o *reader[T]) tick() error {
	if !o.watermarks() {
		return nil
	}
	now := o.ctx.Now()
	if err := o.send(o.marks.Tick(now), false); err != nil {
		return err
	}
	if o.timer != nil || o.opt.Idle <= 0 {
		return nil
	}
	if at, ok := o.marks.NextDeadline(); ok {
		o.timer = o.ctx.Timers.At(max(at, now+1), func(int64) error {
			o.timer = nil
			return o.tick()
		})
	}
	return nil
}

// tickOften is tick behind a batch of rows, which many are: it may leave the watermark for later.
func (o *reader[T]) tickOften() error {
	if every := o.ctx.WatermarkInterval.Milliseconds(); every > 0 {
		now := o.ctx.Now()
		if now-o.sent < every {
			return nil
		}
		o.sent = now
	}
	return o.tick()
}

// Backpressured implements operator.PressureListener: a split whose rows are not read because nobody takes them is not idle.
func (o *reader[T]) Backpressured(on bool) error {
	o.marks.Block(on, o.ctx.Now())
	if on {
		return nil
	}
	return o.tick()
}

// waitIdle makes a reader without splits idle after the idle time. Until then it holds the watermark back, since the split
// that it waits for may be an old one.
func (o *reader[T]) waitIdle() {
	if !o.watermarks() || o.opt.Idle <= 0 || o.timer != nil || o.idle {
		return
	}
	o.timer = o.ctx.Timers.At(o.ctx.Now()+o.opt.Idle.Milliseconds(), func(int64) error {
		o.timer = nil
		o.marks.Expect(len(o.ids) > 0)
		return o.tick()
	})
}

// send forwards a change. Before the rows of a batch only the end of idleness may be sent, not the watermark that the rows
// themselves cause.
func (o *reader[T]) send(c watermark.Change, before bool) error {
	if o.idle && (c.BecameActive || before) {
		o.idle = false
		if err := o.ctx.EmitIdle(false); err != nil {
			return err
		}
	}
	if c.Advanced {
		if before {
			o.held = c.Watermark
		} else {
			o.held = event.NoTime
			if err := o.ctx.EmitWatermark(c.Watermark); err != nil {
				return err
			}
		}
	} else if !before && o.held != event.NoTime {
		t := o.held
		o.held = event.NoTime
		if err := o.ctx.EmitWatermark(t); err != nil {
			return err
		}
	}
	if c.BecameIdle {
		o.idle = true
		return o.ctx.EmitIdle(true)
	}
	return nil
}

// splitDone forgets a split that has been read to its end.
func (o *reader[T]) splitDone(name string) error {
	id, ok := o.ids[name]
	if !ok {
		return nil
	}
	o.ctx.NoteSplitFinished(name, o.read[name])
	delete(o.read, name)
	o.marks.Remove(id)
	delete(o.ids, name)
	delete(o.names, id)
	if o.paused[name] { // its first batch was also its last: it must not count among those that wait
		o.paused = maps.Clone(o.paused)
		delete(o.paused, name)
	}
	if len(o.ids) == 0 {
		return nil // nothing says how far event time has come, until the next split or the end
	}
	if err := o.tick(); err != nil {
		return err
	}
	return o.align()
}

// align pauses the splits that are too far ahead and resumes those that no longer are.
func (o *reader[T]) align() error {
	if o.opt.Drift <= 0 {
		return nil
	}
	defer o.noteHalt()
	pause, resume := o.marks.Align(o.bound(), o.ctx.Now(), o.pause, o.resume)
	o.pause, o.resume = pause, resume
	if len(pause) == 0 && len(resume) == 0 {
		return nil
	}
	next := maps.Clone(o.paused)
	if next == nil {
		next = map[string]bool{}
	}
	for _, id := range pause {
		next[o.names[id]] = true
	}
	for _, id := range resume {
		delete(next, o.names[id])
	}
	o.paused = next
	o.r.Pause(next)
	return nil
}

// noteHalt tells when alignment has stopped the source or lets it go on.
func (o *reader[T]) noteHalt() {
	if now := o.blocked(); now != o.halted {
		o.halted = now
		low, _ := o.marks.Slowest()
		o.ctx.NotePause(now, low, o.bound())
	}
}

// blocked reports whether alignment keeps every open split from being read.
func (o *reader[T]) blocked() bool { return len(o.ids) > 0 && len(o.paused) == len(o.ids) }

// AlignTo implements operator.Source.
func (o *reader[T]) AlignTo(limit, own int64) error {
	o.limit, o.own = limit, own
	return o.align()
}

// bound is the watermark up to which splits may be read now.
func (o *reader[T]) bound() int64 {
	low, ok := o.marks.Slowest()
	if !ok || low == event.NoTime || o.own == event.NoTime {
		return o.limit
	}
	return max(o.limit, min(o.own, low+o.opt.Drift.Milliseconds()))
}

// Progress implements operator.Source.
func (o *reader[T]) Progress() (low int64, blocked bool) {
	if len(o.ids) == 0 && !o.last && !o.idle {
		return event.NoTime, false // what it will be given is not known
	}
	low, ok := o.marks.Slowest()
	if !ok {
		return event.MaxTime, false
	}
	return low, o.blocked()
}
