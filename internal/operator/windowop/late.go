package windowop

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
)

// lateRows counts late rows, logs samples of them and sends them to their side output if somebody reads it.
type lateRows[T any] struct {
	ctx  *operator.Context
	em   *basic.Emitter[T] // nil if nobody reads them
	side string
}

func newLateRows[T any](ctx *operator.Context, out operator.Collector, side string) *lateRows[T] {
	l := &lateRows[T]{ctx: ctx, side: side}
	if side != "" && ctx.SideWanted(side) {
		l.em = basic.NewEmitter[T](out, side, ctx.BatchRows)
	}
	return l
}

// take notes a late row. The log has the first one and then each that doubles their number.
func (l *lateRows[T]) take(row T, ts, watermark int64) error {
	n := l.ctx.Counts.Late.Load() + 1
	l.ctx.Counts.Late.Store(n)
	if n&(n-1) == 0 {
		l.ctx.Log.Warn("late row", "time", ts, "watermark", watermark, "so far", n, "read by a side output", l.em != nil)
	}
	if l.em == nil {
		return nil
	}
	return l.em.Emit(row, ts)
}

func (l *lateRows[T]) flush() error {
	if l == nil || l.em == nil {
		return nil
	}
	return l.em.Flush()
}

func (l *lateRows[T]) drop() {
	if l != nil {
		l.em.Drop()
	}
}

// finalTime is the watermark at the end of the input.
const finalTime = event.MaxTime
