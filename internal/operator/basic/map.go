package basic

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// NewMap returns an operator that sends f of each row, with the row's time.
func NewMap[T, U any](f func(T) U) operator.Operator { return &mapper[T, U]{f: f} }

type mapper[T, U any] struct {
	f   func(T) U
	ctx *operator.Context
	em  *Emitter[U]
}

func (m *mapper[T, U]) Open(ctx *operator.Context, out operator.Collector) error {
	m.ctx, m.em = ctx, NewEmitter[U](out, "", ctx.BatchRows)
	return nil
}

func (m *mapper[T, U]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	n := in.Len()
	for from := 0; from < n; {
		out := m.em.Take()
		took, err := m.fill(out, in, from)
		if err != nil {
			out.Release()
			return err
		}
		from += took
		if err := m.em.Send(out); err != nil {
			return err
		}
	}
	return nil
}

// fill maps as many live rows of in as out has room for, starting with the live row number from.
func (m *mapper[T, U]) fill(out *event.Records[U], in *event.Records[T], from int) (n int, err error) {
	row := 0
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(m.ctx, p, nil, in.Rows[row], in.Times[row])
		}
	}()
	f := m.f
	n = min(in.Len()-from, out.Room())
	dst, times := out.Rows[:n], out.Times[:n]
	if in.Live == nil {
		src := in.Rows[from : from+n]
		for i := range src {
			row = from + i
			dst[i] = f(src[i])
		}
		copy(times, in.Times[from:from+n])
	} else {
		for i, j := range in.Live[from : from+n] {
			row = int(j)
			dst[i] = f(in.Rows[j])
			times[i] = in.Times[j]
		}
	}
	out.Rows, out.Times = dst, times
	return n, nil
}

func (m *mapper[T, U]) Watermark(int64) error { return nil }
func (m *mapper[T, U]) Close() error          { return nil }

// NewTryMap returns a map whose function may fail, which fails the task.
func NewTryMap[T, U any](f func(T) (U, error)) operator.Operator {
	return NewFlatMap(func(v T, t int64, em *Emitter[U]) error {
		u, err := f(v)
		if err != nil {
			return err
		}
		return em.Emit(u, t)
	})
}
