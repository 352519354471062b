//go:build invariants || race

package event

import "unsafe"

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
