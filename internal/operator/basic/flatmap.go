package basic

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// NewFlatMap returns an operator whose function emits any number of rows for each. A returned error fails the task.
func NewFlatMap[T, U any](f func(v T, t int64, em *Emitter[U]) error) operator.Operator {
	return &flatMap[T, U]{f: f}
}

type flatMap[T, U any] struct {
	f   func(v T, t int64, em *Emitter[U]) error
	ctx *operator.Context
	em  *Emitter[U]
}

func (m *flatMap[T, U]) Open(ctx *operator.Context, out operator.Collector) error {
	m.ctx, m.em = ctx, NewEmitter[U](out, "", ctx.BatchRows)
	return nil
}

func (m *flatMap[T, U]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	if err := EachRow(m.ctx, in, func(row *T, t int64) error { return m.f(*row, t, m.em) }); err != nil {
		return err
	}
	return m.em.Flush()
}

func (m *flatMap[T, U]) Watermark(int64) error { return nil }

func (m *flatMap[T, U]) Close() error {
	m.em.Drop()
	return nil
}

// EachRow calls f for each live row of in, and turns a panic or an error that has no place yet into one that names the
// operator and the row.
func EachRow[T any](ctx *operator.Context, in *event.Records[T], f func(row *T, t int64) error) (err error) {
	row := 0
	defer func() {
		if p := recover(); p != nil || err != nil {
			if row < len(in.Rows) {
				err = operator.RowError(ctx, p, err, in.Rows[row], in.Times[row])
			} else {
				err = operator.RowError(ctx, p, err, nil, 0)
			}
		}
	}()
	if in.Live == nil {
		for row = range in.Rows {
			if err = f(&in.Rows[row], in.Times[row]); err != nil {
				return err
			}
		}
		return nil
	}
	for _, i := range in.Live {
		row = int(i)
		if err = f(&in.Rows[i], in.Times[i]); err != nil {
			return err
		}
	}
	return nil
}

// NewEmitMap returns a flatMap whose function gets a function to emit with. The first error behind an emit ends the batch.
func NewEmitMap[T, U any](f func(v T, emit func(U))) operator.Operator {
	return NewTryEmitMap(func(v T, emit func(U)) error {
		f(v, emit)
		return nil
	})
}

// NewTryEmitMap is NewEmitMap with a function that may fail.
func NewTryEmitMap[T, U any](f func(v T, emit func(U)) error) operator.Operator {
	var (
		em   *Emitter[U]
		now  int64
		sunk error
	)
	emit := func(u U) {
		if sunk == nil {
			sunk = em.Emit(u, now)
		}
	}
	return NewFlatMap(func(v T, t int64, e *Emitter[U]) error {
		em, now = e, t
		if err := f(v, emit); err != nil {
			return err
		}
		return sunk
	})
}
