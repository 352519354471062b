package collect

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weir-stream/weir/connector"
)

// Codec says how rows travel.
type Codec[T any] struct {
	// Append appends the encoding of a row.
	Append func(dst []byte, row T) ([]byte, error)
	// Decode reads what Append wrote. It may keep b.
	Decode func(b []byte) (T, error)
}

// Sink sends rows to the starting process and calls take there for each row: for the rows of one subtask in their order,
// never concurrently. time is the row's event time or connector.NoTime. An error of take fails the job; take may block,
// and the job then waits.
func Sink[T any](codec Codec[T], take func(subtask int, row T, time int64) error) connector.Sink[T] {
	return &sink[T]{codec: codec, take: take}
}

type sink[T any] struct {
	codec Codec[T]
	take  func(subtask int, row T, time int64) error
}

// Name implements connector.Sink.
func (s *sink[T]) Name() string { return "collect" }

// Check implements connector.Checker.
func (s *sink[T]) Check() error {
	if s.codec.Append == nil || s.codec.Decode == nil || s.take == nil {
		return errors.New("collect: the codec or the function that takes the rows is missing")
	}
	return nil
}

// Writer implements connector.Sink.
func (s *sink[T]) Writer(ctx connector.WriterContext) (connector.Writer[T], error) {
	return &writer[T]{append: s.codec.Append, send: ctx.Side}, s.Check()
}

var errPayload = errors.New("collect: a payload is damaged")

// TakeSide implements connector.SideTaker.
func (s *sink[T]) TakeSide(subtask int, p []byte, _ io.Writer) error {
	for len(p) > 0 {
		if len(p) < 9 {
			return errPayload
		}
		time := int64(binary.LittleEndian.Uint64(p))
		size, n := binary.Uvarint(p[8:])
		if n <= 0 || size > uint64(len(p)-8-n) {
			return errPayload
		}
		p = p[8+n:]
		row, err := s.codec.Decode(p[:size:size])
		if err != nil {
			return fmt.Errorf("collect: decode a row: %w", err)
		}
		if err := s.take(subtask, row, time); err != nil {
			return err
		}
		p = p[size:]
	}
	return nil
}

type writer[T any] struct {
	append func([]byte, T) ([]byte, error)
	send   func([]byte) error
	row    []byte
}

// Write implements connector.Writer.
func (w *writer[T]) Write(rows []T, times []int64) error {
	if len(rows) == 0 {
		return nil
	}
	var p []byte // a new one each time: whoever takes it may keep it
	for i := range rows {
		var err error
		if w.row, err = w.append(w.row[:0], rows[i]); err != nil {
			return fmt.Errorf("collect: encode a row: %w", err)
		}
		time := connector.NoTime
		if i < len(times) {
			time = times[i]
		}
		p = binary.LittleEndian.AppendUint64(p, uint64(time))
		p = binary.AppendUvarint(p, uint64(len(w.row)))
		p = append(p, w.row...)
	}
	return w.send(p)
}

// Flush implements connector.Writer.
func (w *writer[T]) Flush() error { return nil }

// Close implements connector.Writer.
func (w *writer[T]) Close() error { return nil }
