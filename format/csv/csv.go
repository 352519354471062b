package csv

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/weir-stream/weir/format"
)

// Format reads and writes rows of struct type T as CSV. Make it with New.
type Format[T any] struct {
	opts   Options
	fields []field
	err    error
}

// New compiles the format for T. What is wrong with T or the options is reported by Check.
func New[T any](opts Options) *Format[T] {
	f := &Format[T]{opts: opts.filled()}
	if f.err = f.opts.check(); f.err == nil {
		f.fields, f.err = compile(reflect.TypeFor[T]())
	}
	return f
}

// Name returns "csv".
func (f *Format[T]) Name() string { return "csv" }

// Check reports what is wrong with T or the options.
func (f *Format[T]) Check() error { return f.err }

// Splittable reports whether the options rule out newlines inside quotes.
func (f *Format[T]) Splittable() bool { return f.opts.OneLine || f.opts.NoQuote }

// Extension returns ".csv".
func (f *Format[T]) Extension() string { return ".csv" }

// Decoder makes a decoder.
func (f *Format[T]) Decoder(ctx format.DecoderContext) (format.Decoder[T], error) {
	if f.err != nil {
		return nil, f.err
	}
	d := &decoder[T]{scanner: newScanner(f.opts, f.fields, ctx)}
	if f.opts.NoHeader {
		names := f.opts.Columns
		if names == nil {
			for i := range f.fields {
				names = append(names, f.fields[i].name)
			}
		}
		if err := d.bind(names); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Encoder makes an encoder.
func (f *Format[T]) Encoder() (format.Encoder[T], error) {
	if f.err != nil {
		return nil, f.err
	}
	if len(f.opts.Nulls) == 0 {
		return nil, fmt.Errorf("csv: Options.Nulls is empty: give the text that a missing value is written as")
	}
	for i := range f.fields {
		if _, err := f.opts.appendText(nil, []byte(f.fields[i].name), i == 0, false); err != nil {
			return nil, fmt.Errorf("csv: column name %q: %w", f.fields[i].name, err)
		}
	}
	if len(f.fields) == 1 && f.fields[0].null != nullNever && f.opts.Nulls[0] == "" {
		return nil, fmt.Errorf("csv: a row of one missing value would be a blank line: give another text in Options.Nulls")
	}
	return &encoder[T]{opts: f.opts, fields: f.fields}, nil
}

type decoder[T any] struct{ scanner }

// Decode implements format.Decoder. Only the row's type differs from one decoder to another; the work is the scanner's.
func (d *decoder[T]) Decode(rows []T, data []byte, last bool) ([]T, int, error) {
	s := &d.scanner
	s.cleanTo = 0
	p := 0
	var err error
	for len(rows) < cap(rows) && p < len(data) {
		n := len(rows)
		rows = rows[:n+1]
		var zero T
		rows[n] = zero
		next, ok, rerr := s.record(unsafe.Pointer(&rows[n]), data, p, last)
		if s.odd {
			rows[n] = zero // the scanner had begun
			next, ok, rerr = s.oddRecord(unsafe.Pointer(&rows[n]), data, p, last)
		}
		if !ok {
			rows = rows[:n]
		}
		if rerr != nil {
			err = rerr
			break
		}
		if next == p {
			break
		}
		p = next
	}
	s.offset += int64(p)
	return rows, p, err
}
