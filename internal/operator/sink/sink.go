package sink

import (
	"fmt"
	"runtime/debug"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// New returns the operator that writes to sink.
func New[T any](sink connector.Sink[T]) operator.Operator { return &writer[T]{sink: sink} }

type writer[T any] struct {
	sink  connector.Sink[T]
	ctx   *operator.Context
	w     connector.Writer[T]
	marks connector.WatermarkWriter // nil if the writer does not want watermarks
	dirty bool
}

func (o *writer[T]) Open(ctx *operator.Context, _ operator.Collector) error {
	o.ctx = ctx
	w, err := o.sink.Writer(connector.WriterContext{Ctx: ctx.Ctx, Subtask: ctx.Subtask, Parallelism: ctx.Parallelism,
		FS: ctx.FS, Now: ctx.Clock.Now, Log: ctx.Log, Side: ctx.Side, Name: ctx.Operator})
	if err != nil {
		return o.failed("open", err)
	}
	o.w = w
	o.marks, _ = w.(connector.WatermarkWriter)
	return nil
}

func (o *writer[T]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	in.Compact()
	o.dirty = true
	return o.call("write", func() error { return o.w.Write(in.Rows, in.Times) })
}

func (o *writer[T]) Watermark(t int64) error {
	if o.marks == nil {
		return nil
	}
	return o.call("write a watermark", func() error { return o.marks.WriteWatermark(t) })
}

// Flush implements operator.Flusher.
func (o *writer[T]) Flush() error {
	if !o.dirty {
		return nil
	}
	o.dirty = false
	return o.call("flush", o.w.Flush)
}

// Finish implements operator.Finisher. The writer learns that its input is complete, before Close.
func (o *writer[T]) Finish() error {
	f, ok := o.w.(connector.Finisher)
	if !ok {
		return nil
	}
	return o.call("finish", f.Finish)
}

func (o *writer[T]) Close() error {
	if o.w == nil {
		return nil
	}
	w := o.w
	o.w = nil
	return o.call("close", w.Close)
}

// call runs a method of the writer and gives its error or panic a place.
func (o *writer[T]) call(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &errs.Error{Code: errs.CodeUserPanic, Class: errs.ClassFailTask, Op: o.ctx.Place(),
				Msg: fmt.Sprintf("%s: panic in %s: %v\n%s", o.sink.Name(), what, p, operator.TrimStack(debug.Stack()))}
		}
	}()
	return o.failed(what, f())
}

func (o *writer[T]) failed(what string, err error) error {
	if err == nil || errs.IsCanceled(err) {
		return err
	}
	if o.ctx.Ctx.Err() != nil {
		return errs.Canceled
	}
	return errs.Wrap(err, errs.CodeSink, errs.ClassFailTask, o.ctx.Place(), "%s: %s failed", o.sink.Name(), what)
}
