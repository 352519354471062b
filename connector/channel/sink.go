package channel

import (
	"context"
	"errors"

	"github.com/weir-stream/weir/connector"
)

// Sink sends rows into c. It waits as long as nobody takes them, or until the job is cancelled. It never closes c: the
// program does when the job has ended.
func Sink[T any](c chan<- T) connector.Sink[T] { return sink[T]{c} }

type sink[T any] struct{ c chan<- T }

// Name implements connector.Sink.
func (s sink[T]) Name() string { return "channel" }

// InProcess implements connector.InProcess.
func (s sink[T]) InProcess() bool { return true }

// Check implements connector.Checker.
func (s sink[T]) Check() error {
	if s.c == nil {
		return errors.New("channel: the channel is nil, into which nothing ever goes")
	}
	return nil
}

// Writer implements connector.Sink.
func (s sink[T]) Writer(ctx connector.WriterContext) (connector.Writer[T], error) {
	return &writer[T]{c: s.c, ctx: ctx.Ctx}, s.Check()
}

type writer[T any] struct {
	c   chan<- T
	ctx context.Context
}

// Write implements connector.Writer.
func (w *writer[T]) Write(rows []T, _ []int64) error {
	for _, r := range rows {
		select {
		case w.c <- r:
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
	return nil
}

// Flush implements connector.Writer.
func (w *writer[T]) Flush() error { return nil }

// Close implements connector.Writer.
func (w *writer[T]) Close() error { return nil }
