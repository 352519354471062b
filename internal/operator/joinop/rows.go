package joinop

import (
	"encoding/binary"
	"math"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator"
)

const arenaBytes = 16 << 10

// rows encodes the rows of one input and decodes them to values that outlive the state that they lay in.
type rows[T any] struct {
	codec *codec.Codec[T]
	fixed bool
	arena []byte // what decoded rows alias; it is filled and left to the garbage collector, never used again
}

func newRows[T any](ctx *operator.Context, side string) (rows[T], error) {
	c, err := codec.For[T]()
	if err != nil {
		return rows[T]{}, errs.Wrap(err, "", 0, ctx.Place(), "the %s rows cannot be kept as state", side)
	}
	_, fixed := c.Fixed()
	return rows[T]{codec: c, fixed: fixed}, nil
}

// decode reads a row from borrowed memory.
func (r *rows[T]) decode(enc []byte, v *T) error {
	if !r.fixed {
		enc = r.own(enc)
	}
	_, err := r.codec.Decode(enc, v)
	return err
}

func (r *rows[T]) own(enc []byte) []byte {
	if cap(r.arena)-len(r.arena) < len(enc) {
		r.arena = make([]byte, 0, max(arenaBytes, len(enc)))
	}
	at := len(r.arena)
	r.arena = append(r.arena, enc...)
	return r.arena[at:len(r.arena):len(r.arena)]
}

// appendTime appends a time so that the order of the bytes is the order of the times.
func appendTime(dst []byte, t int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(t)^1<<63)
}

func timeOf(enc []byte) int64 { return int64(binary.BigEndian.Uint64(enc) ^ 1<<63) }

// add adds two times, and stays at the end of the range instead of wrapping around.
func add(a, b int64) int64 {
	sum := a + b
	switch {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	}
	return sum
}
