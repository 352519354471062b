package json

import (
	"reflect"

	"github.com/weir-stream/weir/format"
)

// recordBytesMax is the default of Options.RecordBytesMax.
const recordBytesMax = 16 << 20

// Options change how JSON lines are read. The zero value is the default.
type Options struct {
	// RecordBytesMax bounds a line; 0 means 16 MiB.
	RecordBytesMax int
}

// Format reads and writes rows of type T as JSON lines. Make it with New.
type Format[T any] struct {
	opts   Options
	layout *layout
	err    error
}

// New compiles the format for T. What is wrong with T is reported by Check.
func New[T any](opts Options) *Format[T] {
	if opts.RecordBytesMax <= 0 {
		opts.RecordBytesMax = recordBytesMax
	}
	f := &Format[T]{opts: opts}
	f.layout, f.err = compile(reflect.TypeFor[T]())
	return f
}

// Name returns "json".
func (f *Format[T]) Name() string { return "json" }

// Check reports what is wrong with T.
func (f *Format[T]) Check() error { return f.err }

// Splittable returns true: JSON has no newline within a string.
func (f *Format[T]) Splittable() bool { return true }

// Extension returns ".jsonl".
func (f *Format[T]) Extension() string { return ".jsonl" }

// Decoder makes a decoder.
func (f *Format[T]) Decoder(ctx format.DecoderContext) (format.Decoder[T], error) {
	if f.err != nil {
		return nil, f.err
	}
	d := &decoder[T]{ctx: ctx, opts: f.opts, line: 1, fast: f.layout.decodeFast}
	if d.ctx.Bad == nil {
		d.ctx.Bad = func(b format.BadRecord) error { return b }
	}
	if d.ctx.Text == nil {
		d.ctx.Text = new(format.Text)
	}
	d.scanner.init(f.layout, d.ctx.Text)
	return d, nil
}

// Encoder makes an encoder.
func (f *Format[T]) Encoder() (format.Encoder[T], error) {
	if f.err != nil {
		return nil, f.err
	}
	return &encoder[T]{layout: f.layout}, nil
}
