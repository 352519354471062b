package basic

import (
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// LateRows counts the late rows of one input, tells samples of them and sends them to their side output if somebody reads
// it. It belongs to the task's goroutine.
type LateRows[T any] struct {
	ctx  *operator.Context
	em   *Emitter[T] // nil if nobody reads them
	what string
}

// NewLateRows returns the late rows of an input. what names the input in the log; side is the side output, or "".
func NewLateRows[T any](ctx *operator.Context, out operator.Collector, what, side string) *LateRows[T] {
	l := &LateRows[T]{ctx: ctx, what: what}
	if side != "" && ctx.SideWanted(side) {
		l.em = NewEmitter[T](out, side, ctx.BatchRows)
	}
	return l
}

// Take notes a late row. Told are the first one and then each that doubles their number.
func (l *LateRows[T]) Take(row T, ts, watermark int64) error {
	n := l.ctx.Counts.Late.Load() + 1
	l.ctx.Counts.Late.Store(n)
	if n&(n-1) == 0 {
		l.ctx.NoteLate(l.what, ts, watermark, l.em != nil)
	}
	if l.em == nil {
		return nil
	}
	return l.em.Emit(row, ts)
}

// Flush sends what has been gathered.
func (l *LateRows[T]) Flush() error {
	if l == nil || l.em == nil {
		return nil
	}
	return l.em.Flush()
}

// Drop releases what has been gathered, for Close after a failure.
func (l *LateRows[T]) Drop() {
	if l != nil {
		l.em.Drop()
	}
}

// NoTimeError is the error for a row without event time in an operator that needs one.
func NoTimeError[T any](ctx *operator.Context, row T, advice string) error {
	return operator.RowError(ctx, nil, errs.New(errs.CodeRecordTimestamp, errs.ClassFailJob, ctx.Place(),
		"row %+v has no event time: %s", row, advice), row, event.NoTime)
}
