package basic

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// NewFilter returns an operator that keeps the rows for which f is true. It copies nothing: it narrows the selection.
func NewFilter[T any](f func(T) bool) operator.Operator { return &filter[T]{f: f} }

type filter[T any] struct {
	f   func(T) bool
	ctx *operator.Context
	out operator.Collector
}

func (o *filter[T]) Open(ctx *operator.Context, out operator.Collector) error {
	o.ctx, o.out = ctx, out
	return nil
}

func (o *filter[T]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	if err := o.narrow(in); err != nil {
		in.Release()
		return err
	}
	if in.Len() == 0 {
		in.Release()
		return nil
	}
	return o.out.Emit(in)
}

func (o *filter[T]) narrow(in *event.Records[T]) (err error) {
	row := 0
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(o.ctx, p, nil, in.Rows[row], in.Times[row])
		}
	}()
	f := o.f
	sel := in.Scratch()
	sel = sel[:cap(sel)]
	n := 0
	if in.Live == nil {
		for i := range in.Rows {
			row = i
			sel[n] = int32(i)
			if f(in.Rows[i]) {
				n++
			}
		}
	} else {
		for _, i := range in.Live {
			row = int(i)
			keep := f(in.Rows[i])
			sel[n] = i
			if keep {
				n++
			}
		}
	}
	in.Live = sel[:n]
	return nil
}

func (o *filter[T]) Watermark(int64) error { return nil }
func (o *filter[T]) Close() error          { return nil }
