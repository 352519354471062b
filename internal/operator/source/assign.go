package source

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/watermark"
)

// NewAssigner returns the operator that gives rows their event time in the middle of a job, and makes watermarks of what comes
// to its subtask as a source does for one split. Watermarks and idleness of the input end here, except for the final
// watermark.
func NewAssigner[T any](opt Options[T]) operator.Operator { return &assigner[T]{opt: opt} }

type assigner[T any] struct {
	opt   Options[T]
	ctx   *operator.Context
	out   operator.Collector
	stamp stamper[T]
	marks *watermark.Splits
	split watermark.SplitID
	timer func() // cancels the idle timer, nil if none is set
	idle  bool   // what was sent downstream last
	ended bool
	sent  int64 // when a watermark was looked at last, for Context.WatermarkInterval
}

func (o *assigner[T]) Open(ctx *operator.Context, out operator.Collector) error {
	o.ctx, o.out = ctx, out
	o.stamp.open(o.opt.Time, ctx, out)
	bound := o.opt.OutOfOrder.Milliseconds()
	o.marks = watermark.NewSplits(watermark.Strategy{
		New:       func() watermark.Generator { return &watermark.Bounded{Bound: bound} },
		IdleAfter: o.opt.Idle.Milliseconds(),
	}, watermark.None)
	o.split = o.marks.Add(ctx.Now())
	if err := o.restoreMark(); err != nil {
		return err
	}
	o.watch()
	return nil
}

func (o *assigner[T]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	in.Compact()
	if err := o.stamp.times(in); err != nil {
		in.Release()
		return err
	}
	if in.Len() == 0 {
		in.Release()
		return nil
	}
	if o.opt.NoWatermarks {
		return o.out.Emit(in)
	}
	now := o.ctx.Now()
	o.marks.Observe(o.split, in.Times, now)
	if err := o.active(); err != nil {
		in.Release()
		return err
	}
	o.marks.Block(true, now) // while nobody takes the rows, none can come
	err := o.out.Emit(in)
	now = o.ctx.Now()
	o.marks.Block(false, now)
	if every := o.ctx.WatermarkInterval.Milliseconds(); err != nil || every > 0 && now-o.sent < every {
		return err
	}
	o.sent = now
	return o.tick()
}

// tick sends what has changed about the watermark, and looks again when the subtask may have become idle.
func (o *assigner[T]) tick() error {
	if o.opt.NoWatermarks || o.ended {
		return nil
	}
	c := o.marks.Tick(o.ctx.Now())
	if c.Advanced {
		if err := o.ctx.EmitWatermark(c.Watermark); err != nil {
			return err
		}
	}
	if c.BecameIdle {
		o.idle = true
		return o.ctx.EmitIdle(true)
	}
	o.watch()
	return nil
}

// watch sets the timer for idleness.
func (o *assigner[T]) watch() {
	if o.timer != nil || o.opt.NoWatermarks {
		return
	}
	if at, ok := o.marks.NextDeadline(); ok {
		o.timer = o.ctx.Timers.At(max(at, o.ctx.Now()+1), func(int64) error {
			o.timer = nil
			return o.tick()
		})
	}
}

// active ends idleness.
func (o *assigner[T]) active() error {
	if !o.idle {
		return nil
	}
	o.idle = false
	return o.ctx.EmitIdle(false)
}

// Flush implements operator.Flusher: a watermark that the interval kept back is due when the input has run dry.
func (o *assigner[T]) Flush() error {
	if err := o.stamp.noTime.Flush(); err != nil {
		return err
	}
	return o.tick()
}

// Watermark lets nothing through but the end.
func (o *assigner[T]) Watermark(t int64) error {
	if t != event.MaxTime {
		return nil
	}
	o.ended = true
	if err := o.active(); err != nil {
		return err
	}
	if err := o.stamp.noTime.Flush(); err != nil {
		return err
	}
	return o.ctx.EmitWatermark(t)
}

// HoldsWatermark implements operator.WatermarkHolder.
func (o *assigner[T]) HoldsWatermark() {}

// InputIdle implements operator.StatusHandler.
func (o *assigner[T]) InputIdle(bool) error { return nil }

func (o *assigner[T]) Close() error {
	o.stamp.noTime.Drop()
	if o.timer != nil {
		o.timer()
		o.timer = nil
	}
	return nil
}
