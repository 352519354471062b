package sink

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
)

// NewCollect returns the operator that sends whole batches to the process that started the job, encoded by
// basic.RecordsCodec.
func NewCollect[T any]() operator.Operator { return &collect[T]{} }

type collect[T any] struct {
	ctx   *operator.Context
	codec event.Codec
}

func (o *collect[T]) Open(ctx *operator.Context, _ operator.Collector) (err error) {
	o.ctx = ctx
	o.codec, err = basic.RecordsCodec[T]()
	return err
}

func (o *collect[T]) Process(_ int, b event.Batch) error {
	defer b.Release()
	buf, err := o.codec.Encode(nil, b) // a new buffer each time: the payload is handed over
	if err != nil {
		return err
	}
	return o.ctx.Side(buf)
}

func (o *collect[T]) Watermark(int64) error { return nil }
func (o *collect[T]) Close() error          { return nil }
