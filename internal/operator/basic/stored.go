package basic

import (
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator"
)

const arenaBytes = 16 << 10

// Stored encodes rows for a state backend and decodes them to values that outlive the state that they lay in. It belongs to
// the task's goroutine.
type Stored[T any] struct {
	codec *codec.Codec[T]
	// values is how rows of former schemas are read.
	values *codec.Values
	fixed  bool
	arena  []byte // what decoded rows alias; it is filled and left to the garbage collector, never used again
}

// NewStored returns the encoding of rows of T, or an error that says what of T cannot be kept. what names the rows in it.
func NewStored[T any](ctx *operator.Context, what string) (Stored[T], error) {
	c, err := codec.For[T]()
	if err != nil {
		return Stored[T]{}, errs.Wrap(err, "", 0, ctx.Place(), "%s cannot be kept as state", what)
	}
	values, err := codec.ValuesOf[T]()
	if err != nil {
		return Stored[T]{}, err
	}
	_, fixed := c.Fixed()
	return Stored[T]{codec: c, values: values, fixed: fixed}, nil
}

// Width is the size of every encoding, or 0 if they vary.
func (r *Stored[T]) Width() int {
	width, _ := r.codec.Fixed()
	return width
}

// Values is for a state's descriptor.
func (r *Stored[T]) Values() *codec.Values { return r.values }

// Schema is that of a table of such rows, for a state's descriptor. t has what else there is to say of the table.
func (r *Stored[T]) Schema(t codec.Table) []byte {
	t.Value = r.values.Schema
	return t.Append(nil)
}

// Append appends the encoding of a row.
func (r *Stored[T]) Append(dst []byte, v *T) []byte { return r.codec.Append(dst, v) }

// Decode reads a row from borrowed memory. Strings and byte slices in it alias memory that is never used again.
func (r *Stored[T]) Decode(enc []byte, v *T) error {
	if !r.fixed {
		enc = r.own(enc)
	}
	_, err := r.codec.Decode(enc, v)
	return err
}

func (r *Stored[T]) own(enc []byte) []byte {
	if cap(r.arena)-len(r.arena) < len(enc) {
		r.arena = make([]byte, 0, max(arenaBytes, len(enc)))
	}
	at := len(r.arena)
	r.arena = append(r.arena, enc...)
	return r.arena[at:len(r.arena):len(r.arena)]
}
