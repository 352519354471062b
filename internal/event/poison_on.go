//go:build invariants || race

package event

import (
	"unsafe"

	"github.com/weir-stream/weir/column"
)

// poisonTime is what a released batch's times are overwritten with: a reader that comes too late sees a year that no row has.
const poisonTime = -0x5AFE5AFE5AFE

// released overwrites a batch that goes back to its pool, and panics if it is there already.
func released[T any](r *Records[T]) {
	if r.free {
		panic("event: a batch was released twice")
	}
	r.free = true
	var zero T
	size := unsafe.Sizeof(zero)
	if size > 0 && !r.pool.pointers && len(r.Rows) > 0 {
		mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(r.Rows))), uintptr(len(r.Rows))*size)
		for i := range mem {
			mem[i] = 0xDB
		}
	} else {
		clear(r.Rows)
	}
	for i := range r.Times {
		r.Times[i] = poisonTime
	}
	for i := range r.Hash {
		r.Hash[i] = 0xDBDBDBDBDBDBDBDB
	}
}

// taken marks a batch as in use again.
func taken[T any](r *Records[T]) { r.free = false }

// releasedColumns is released for columns.
func releasedColumns(c *Columns) {
	if c.free {
		panic("event: a batch was released twice")
	}
	c.free = true
	b := c.B
	for i := range b.Schema().Fields {
		scramble(b.Vector(i))
	}
	for i := range b.Times {
		b.Times[i] = poisonTime
	}
	for i := range b.Hashes {
		b.Hashes[i] = 0xDBDBDBDBDBDBDBDB
	}
}

// scramble overwrites a column's values; a batch that ReadWire refused may have no whole ones.
func scramble(v *column.Vector) {
	switch v.Kind() {
	case column.Int64:
		fill(column.Values[int64](v), -0x2424242424242425)
	case column.Int32:
		fill(column.Values[int32](v), -0x24242425)
	case column.Float64:
		fill(column.Values[float64](v), -1e300)
	case column.String, column.Bytes:
		fill(v.OwnText(), 0xDB) // other long strings may be in use elsewhere
		for i, w := range v.Views() {
			if w.Inline() {
				fill(v.Text(i), 0xDB)
			}
		}
	}
}

func fill[T any](s []T, x T) {
	for i := range s {
		s[i] = x
	}
}

// takenColumns marks a batch as in use again.
func takenColumns(c *Columns) { c.free = false }
