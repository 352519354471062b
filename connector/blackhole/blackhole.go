package blackhole

import "github.com/weir-stream/weir/connector"

// Sink takes rows and does nothing with them.
func Sink[T any]() connector.Sink[T] { return sink[T]{} }

type sink[T any] struct{}

// Name implements connector.Sink.
func (sink[T]) Name() string { return "blackhole" }

// Writer implements connector.Sink.
func (sink[T]) Writer(connector.WriterContext) (connector.Writer[T], error) { return writer[T]{}, nil }

type writer[T any] struct{}

// Write implements connector.Writer.
func (writer[T]) Write([]T, []int64) error { return nil }

// Flush implements connector.Writer.
func (writer[T]) Flush() error { return nil }

// Close implements connector.Writer.
func (writer[T]) Close() error { return nil }
