package function

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-stream/weir/connector"
)

// Sink calls f for each row, one after the other within a subtask; several subtasks call it at once.
func Sink[T any](f func(ctx context.Context, row T) error) connector.Sink[T] {
	if f == nil {
		return sink[T]{}
	}
	return sink[T]{func(ctx context.Context, rows []T, _ []int64) error {
		for _, r := range rows {
			if err := f(ctx, r); err != nil {
				return fmt.Errorf("%w (at row %.400s)", err, fmt.Sprintf("%+v", r))
			}
		}
		return nil
	}}
}

// BatchSink calls f for each batch. times holds the rows' event times in ms, or connector.NoTime. f must keep neither slice.
func BatchSink[T any](f func(ctx context.Context, rows []T, times []int64) error) connector.Sink[T] {
	return sink[T]{f}
}

type sink[T any] struct {
	f func(ctx context.Context, rows []T, times []int64) error
}

// Name implements connector.Sink.
func (s sink[T]) Name() string { return "function" }

// Check implements connector.Checker.
func (s sink[T]) Check() error {
	if s.f == nil {
		return errors.New("function: the sink function is nil")
	}
	return nil
}

// Writer implements connector.Sink.
func (s sink[T]) Writer(ctx connector.WriterContext) (connector.Writer[T], error) {
	return writer[T]{s.f, ctx.Ctx}, s.Check()
}

type writer[T any] struct {
	f   func(context.Context, []T, []int64) error
	ctx context.Context
}

// Write implements connector.Writer.
func (w writer[T]) Write(rows []T, times []int64) error {
	if len(rows) == 0 {
		return nil
	}
	return w.f(w.ctx, rows, times)
}

// Flush implements connector.Writer.
func (w writer[T]) Flush() error { return nil }

// Close implements connector.Writer.
func (w writer[T]) Close() error { return nil }
