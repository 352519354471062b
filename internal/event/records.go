package event

import (
	"sync"
	"unsafe"
)

// Limits of a batch of typed rows. Larger batches leave the L2 cache, smaller ones pay for the hand-over.
const (
	// MaxRows is the largest number of rows of a Records batch.
	MaxRows = 512
	// MaxBytes bounds the memory of a Records batch's rows; wide rows get fewer of them.
	MaxBytes = 32 << 10
	minRows  = 16
)

// CapOf returns how many rows of size bytes one batch holds, at most limit if limit > 0.
func CapOf(size uintptr, limit int) int {
	n := MaxRows
	if size > 0 {
		n = min(n, max(minRows, MaxBytes/int(size)))
	}
	if limit > 0 {
		n = min(n, limit)
	}
	return n
}

// Records is a batch of typed rows with their event times.
//
// Rows, Times and (on keyed streams) Hash have the same length; Times may be empty on a stream that has no event time, in
// which case every row's time is NoTime. Fields are exported for the operators that the facade instantiates, which own the
// batch they are given.
type Records[T any] struct {
	// Rows holds the rows in the order of arrival.
	Rows []T
	// Times holds the rows' event times in ms since the Unix epoch. It always has the length of Rows.
	Times []int64
	// Hash holds the rows' key hashes; it is empty unless the stream is keyed.
	Hash []uint64
	// Live holds the selection; nil means all rows.
	Live []int32

	sel  []int32 // storage that Live is made from, kept over reuse
	pool *Pool[T]
	//lint:ignore U1000 used by the forms of poison.go that build tags select
	free bool // in the pool; kept by builds with the invariants or race tag only
}

// Len implements Batch.
func (r *Records[T]) Len() int {
	if r.Live != nil {
		return len(r.Live)
	}
	return len(r.Rows)
}

// Sel implements Batch.
func (r *Records[T]) Sel() []int32 { return r.Live }

// Hashes implements Batch.
func (r *Records[T]) Hashes() []uint64 {
	if len(r.Hash) == 0 {
		return nil
	}
	return r.Hash
}

// Room implements Batch.
func (r *Records[T]) Room() int { return cap(r.Rows) - len(r.Rows) }

// New implements Batch.
func (r *Records[T]) New() Batch { return r.pool.Get() }

// Pool returns the pool that r came from.
func (r *Records[T]) Pool() *Pool[T] { return r.pool }

// Append adds a row; the caller has checked Room.
func (r *Records[T]) Append(row T, t int64) {
	r.Rows = append(r.Rows, row)
	r.Times = append(r.Times, t)
}

// Scratch returns an empty selection vector with room for every row. The operator that owns the batch fills it with
// ascending row numbers and assigns it to Live; filling it while reading the present Live is allowed, since a filter never
// writes ahead of what it reads.
func (r *Records[T]) Scratch() []int32 {
	if cap(r.sel) < len(r.Rows) {
		r.sel = make([]int32, 0, cap(r.Rows))
	}
	return r.sel[:0]
}

// CopyTo implements Batch.
func (r *Records[T]) CopyTo(dst Batch, rows []int32) int {
	d := dst.(*Records[T])
	room := d.Room()
	keyed := len(r.Hash) != 0
	if rows == nil {
		rows = r.Live
	}
	if rows == nil {
		n := min(room, len(r.Rows))
		d.Rows = append(d.Rows, r.Rows[:n]...)
		d.Times = append(d.Times, r.Times[:n]...)
		if keyed {
			d.Hash = append(d.Hash, r.Hash[:n]...)
		}
		return n
	}
	n := min(room, len(rows))
	at := len(d.Rows)
	d.Rows, d.Times = d.Rows[:at+n], d.Times[:at+n]
	out, times := d.Rows[at:], d.Times[at:]
	for i, j := range rows[:n] {
		out[i] = r.Rows[j]
		times[i] = r.Times[j]
	}
	if keyed {
		d.Hash = d.Hash[:at+n]
		hash := d.Hash[at:]
		for i, j := range rows[:n] {
			hash[i] = r.Hash[j]
		}
	}
	return n
}

// Compact drops the rows that are not live, so that Live is nil afterwards.
func (r *Records[T]) Compact() {
	if r.Live == nil {
		return
	}
	for i, j := range r.Live {
		r.Rows[i], r.Times[i] = r.Rows[j], r.Times[j]
		if len(r.Hash) != 0 {
			r.Hash[i] = r.Hash[j]
		}
	}
	n := len(r.Live)
	r.Rows, r.Times = r.Rows[:n], r.Times[:n]
	if len(r.Hash) != 0 {
		r.Hash = r.Hash[:n]
	}
	r.Live = nil
}

// Release implements Batch.
func (r *Records[T]) Release() {
	if r.pool != nil {
		r.pool.put(r)
	}
}

// Pool recycles the batches of one row type, last in first out, so that the memory taken next is the memory still in the
// cache. Get may be called from one goroutine and Release from another.
type Pool[T any] struct {
	cap      int
	pointers bool

	mu   sync.Mutex
	free []*Records[T]
}

// poolFree bounds the batches that a pool keeps; what is released beyond goes to the garbage collector.
const poolFree = 64

// NewPool returns a pool of batches of at most limit rows (0: the default for the type's size).
func NewPool[T any](limit int) *Pool[T] {
	var zero T
	return &Pool[T]{cap: CapOf(unsafe.Sizeof(zero), limit), pointers: hasPointers[T]()}
}

// Cap returns the number of rows of the pool's batches.
func (p *Pool[T]) Cap() int { return p.cap }

// Get returns an empty batch.
func (p *Pool[T]) Get() *Records[T] {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		r := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		taken(r)
		return r
	}
	p.mu.Unlock()
	return &Records[T]{
		Rows:  make([]T, 0, p.cap),
		Times: make([]int64, 0, p.cap),
		Hash:  make([]uint64, 0, p.cap),
		pool:  p,
	}
}

func (p *Pool[T]) put(r *Records[T]) {
	released(r)
	if p.pointers {
		clear(r.Rows)
	}
	r.Rows, r.Times, r.Hash, r.Live = r.Rows[:0], r.Times[:0], r.Hash[:0], nil
	p.mu.Lock()
	if len(p.free) < poolFree {
		p.free = append(p.free, r)
	}
	p.mu.Unlock()
}
