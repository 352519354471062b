package print

import (
	"fmt"
	"io"
	"strconv"

	"github.com/weir-stream/weir/connector"
)

// Option changes how rows are printed.
type Option func(*options)

type options struct {
	label string
	to    io.Writer
}

// Label puts a text in front of each line.
func Label(label string) Option { return func(o *options) { o.label = label } }

// To prints to w, in the process in which the subtask runs, instead of where the program prints. Each batch is one call of
// Write; the subtasks call it concurrently.
func To(w io.Writer) Option { return func(o *options) { o.to = w } }

// Sink prints rows: by their String method if they have one, otherwise as fmt's %+v does.
func Sink[T any](opts ...Option) connector.Sink[T] {
	return Func(func(dst []byte, row T) []byte { return fmt.Appendf(dst, "%+v", row) }, opts...)
}

// Func prints what text appends for each row.
func Func[T any](text func(dst []byte, row T) []byte, opts ...Option) connector.Sink[T] {
	s := &sink[T]{text: text}
	for _, f := range opts {
		f(&s.opts)
	}
	return s
}

type sink[T any] struct {
	opts options
	text func(dst []byte, row T) []byte
}

// Name implements connector.Sink.
func (s *sink[T]) Name() string { return "print" }

// Writer implements connector.Sink.
func (s *sink[T]) Writer(ctx connector.WriterContext) (connector.Writer[T], error) {
	prefix := s.opts.label
	if ctx.Parallelism > 1 {
		if prefix != "" {
			prefix += ":"
		}
		prefix += strconv.Itoa(ctx.Subtask + 1)
	}
	if prefix != "" {
		prefix += "> "
	}
	w := &writer[T]{text: s.text, prefix: prefix, send: ctx.Side}
	if to := s.opts.to; to != nil {
		w.send = func(b []byte) error {
			_, err := to.Write(b)
			return err
		}
	}
	return w, nil
}

// TakeSide implements connector.SideTaker.
func (s *sink[T]) TakeSide(_ int, payload []byte, out io.Writer) error {
	_, err := out.Write(payload)
	return err
}

type writer[T any] struct {
	text   func([]byte, T) []byte
	prefix string
	send   func([]byte) error
}

// Write implements connector.Writer.
func (w *writer[T]) Write(rows []T, _ []int64) error {
	if len(rows) == 0 {
		return nil
	}
	var b []byte // a new one each time: whoever takes it may keep it
	for _, r := range rows {
		b = append(b, w.prefix...)
		b = append(w.text(b, r), '\n')
	}
	return w.send(b)
}

// Flush implements connector.Writer.
func (w *writer[T]) Flush() error { return nil }

// Close implements connector.Writer.
func (w *writer[T]) Close() error { return nil }
