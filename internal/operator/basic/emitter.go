package basic

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// Emitter gathers the rows that an operator emits into batches. A full batch goes out at once, the rest with Flush. It
// belongs to the task's goroutine.
type Emitter[U any] struct {
	out  operator.Collector
	side string // "" is the main output
	pool *event.Pool[U]
	cur  *event.Records[U]
}

// NewEmitter returns an emitter to the main output, or to a side output if side is not empty. limit bounds the rows of a
// batch (operator.Context.BatchRows).
func NewEmitter[U any](out operator.Collector, side string, limit int) *Emitter[U] {
	return &Emitter[U]{out: out, side: side, pool: event.NewPool[U](limit)}
}

// Emit adds a row. An error comes from the consumer of the batch that became full.
func (e *Emitter[U]) Emit(v U, t int64) error {
	if e.cur == nil {
		e.cur = e.pool.Get()
	}
	e.cur.Append(v, t)
	if e.cur.Room() == 0 {
		return e.Flush()
	}
	return nil
}

// Flush sends what has been gathered.
func (e *Emitter[U]) Flush() error {
	b := e.cur
	if b == nil {
		return nil
	}
	e.cur = nil
	return e.send(b)
}

func (e *Emitter[U]) send(b *event.Records[U]) error {
	if e.side != "" {
		return e.out.EmitSide(e.side, b)
	}
	return e.out.Emit(b)
}

// Take returns an empty batch to be filled by hand; Send takes it.
func (e *Emitter[U]) Take() *event.Records[U] { return e.pool.Get() }

// Send moves a batch that was filled by hand to the output, behind what Emit has gathered. An empty batch is released.
func (e *Emitter[U]) Send(b *event.Records[U]) error {
	if err := e.Flush(); err != nil {
		b.Release()
		return err
	}
	if b.Len() == 0 {
		b.Release()
		return nil
	}
	return e.send(b)
}

// Drop releases what has been gathered, for Close after a failure.
func (e *Emitter[U]) Drop() {
	if e != nil && e.cur != nil {
		e.cur.Release()
		e.cur = nil
	}
}
