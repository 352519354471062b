package paged

import (
	"cmp"
	"slices"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/weir-stream/weir/internal/background"
	"github.com/weir-stream/weir/internal/keygroup"
)

// FrozenTable is a Table as it was at a cut. Its methods may be called from any goroutine, one at a time, while the table
// goes on changing or is closed.
type FrozenTable struct {
	shape shape
	seq   uint64
	segs  []frozenSegment // ascending; segments without a key are left out
	n     int
	held  *atomic.Int32
	view  *view
	done  bool

	tracked bool // the changes since the cut base and later ones are known
	base    uint64
	gone    []pastRemovals
	shared  *trackShared
}

type frozenSegment struct {
	image *image // nil once the segment was drained
	n     int
	last  uint64 // the largest hash that may be in it
	past  []pastBits
}

// Len returns the number of keys.
func (f *FrozenTable) Len() int { return f.n }

// Each calls f for every key whose group is in r until it returns false, in ascending order of groups. key and value are
// borrowed for the call; the value of a table of blobs is the blob.
func (f *FrozenTable) Each(r keygroup.Range, visit func(hash uint64, key, value []byte) bool) {
	if r.Len() == 0 {
		return
	}
	first, last := r.From.First(), (r.To - 1).Last()
	for i := f.segmentFor(first); i < len(f.segs); i++ {
		if !f.visit(i, r, visit) || f.segs[i].last >= last {
			return
		}
	}
}

// Drain calls f for every key as Each does, and gives back what the cut holds as it goes: what was visited costs the table
// nothing any more. Afterwards only Release may be called.
func (f *FrozenTable) Drain(visit func(hash uint64, key, value []byte) bool) {
	for i := range f.segs {
		if !f.visit(i, keygroup.All(), visit) {
			return
		}
		f.leave(i)
	}
}

// drained gives back all segments whose hashes are at most last.
func (f *FrozenTable) drained(last uint64) {
	for i := range f.segs {
		if f.segs[i].last > last {
			return
		}
		f.leave(i)
	}
}

func (f *FrozenTable) leave(i int) {
	if m := f.segs[i].image; m != nil {
		m.leave(f)
		f.segs[i].image = nil
	}
}

// Release gives back what the cut holds. It may be called twice.
func (f *FrozenTable) Release() {
	if f.done {
		return
	}
	f.done = true
	for i := range f.segs {
		f.leave(i)
	}
	f.segs, f.view, f.gone = nil, nil, nil
	f.held.Add(-1)
}

// segmentFor returns the first segment that may have a hash of at least hash.
func (f *FrozenTable) segmentFor(hash uint64) int {
	return sort.Search(len(f.segs), func(i int) bool { return f.segs[i].last >= hash })
}

// visit shows one segment.
func (f *FrozenTable) visit(i int, r keygroup.Range, visit func(hash uint64, key, value []byte) bool) bool {
	m := f.segs[i].image
	if m == nil {
		return true
	}
	v := f.viewOf()
	v.load(m, f.seq)
	return v.show(r, f.segs[i].n, visit)
}

func (f *FrozenTable) viewOf() *view {
	if f.view == nil {
		f.view = &view{shape: &f.shape}
	}
	return f.view
}

// show visits the cells of v whose group is in r.
func (v *view) show(r keygroup.Range, n int, visit func(hash uint64, key, value []byte) bool) bool {
	for _, off := range v.sort(r, n) {
		cell := v.cell(uintptr(off))
		key, val := v.refs(&v.arena, cell)
		if v.keyWidth != 0 {
			key = unsafe.Slice((*byte)(unsafe.Add(cell, tagBytes)), v.keyWidth)
		}
		if !v.blobs {
			val = unsafe.Slice((*byte)(unsafe.Add(cell, v.valOff)), v.valWidth)
		}
		if !visit(*(*uint64)(cell), key, val) {
			return false
		}
	}
	return true
}

// get appends the blob of a key, or nothing if its values are no blobs, to buf. It reports whether the key is there.
func (f *FrozenTable) get(hash uint64, key []byte, buf []byte) (_ []byte, ok bool) {
	hash = norm(hash)
	i := f.segmentFor(hash)
	if i == len(f.segs) || f.segs[i].image == nil {
		return buf, false
	}
	m := f.segs[i].image
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &f.shape
	for p := hash & m.mask; ; p = (p + 1) & m.mask {
		cell, k, v := m.at(f.seq, uintptr(p)*t.cellBytes)
		switch *(*uint64)(cell) {
		case 0:
			return buf, false
		case hash:
			if t.keyWidth != 0 {
				k = unsafe.Slice((*byte)(unsafe.Add(cell, tagBytes)), t.keyWidth)
			}
			if string(k) == string(key) {
				return append(buf, v...), true
			}
		}
	}
}

// at returns the cell at an offset as it was at a cut, and what it refers to. The lock is held.
func (m *image) at(seq uint64, off uintptr) (cell unsafe.Pointer, key, val []byte) {
	for _, u := range m.logs {
		if u.seq >= seq && u.has(m.shape, off) {
			_, cell, key, val, _ = m.shape.entry(u.find(m.shape, off))
			return cell, key, val
		}
	}
	cell = unsafe.Add(m.cells, off)
	key, val = m.shape.refs(&m.arena, cell)
	return cell, key, val
}

// view is a private copy of a segment as it was at a cut.
type view struct {
	*shape
	words []uint64
	size  uintptr // of the cells in bytes
	arena arena   // over bytes
	bytes []byte
	order []uint32 // where cells begin, in words
	sums  []uint32
	pace  background.Pace
}

// viewLockBytes is about how much a reader copies under the lock of an image.
const viewLockBytes = 32 << 10

func (v *view) cell(word uintptr) unsafe.Pointer { return unsafe.Pointer(&v.words[word]) }

// load makes v a copy of m as it was at the cut.
func (v *view) load(m *image, seq uint64) {
	v.size = uintptr(m.mask+1) * v.cellBytes
	v.words = slices.Grow(v.words[:0], int(v.size/8))[:v.size/8]
	v.bytes = v.bytes[:0]
	for off := uintptr(0); off < v.size; {
		m.mu.Lock()
		off = v.copyClean(m, seq, off)
		m.mu.Unlock()
		v.pace.Break()
	}
	v.overlayLogs(m, seq, nil)
	v.close()
}

// overlayLogs fills in the cells that have changed since the cut; of those with a bit in set, if it is not nil.
func (v *view) overlayLogs(m *image, seq uint64, set []uint64) {
	// Only the last log grows, and what it gets from now on was copied above or is in an older one.
	m.mu.Lock()
	var logs [][]undoChunk
	for _, u := range m.logs {
		if u.seq >= seq {
			logs = append(logs, slices.Clone(u.chunks))
		}
	}
	m.mu.Unlock()
	// What a cell was at an older cut comes last and wins.
	for _, chunks := range slices.Backward(logs) {
		v.overlay(chunks, set)
	}
}

// close ends the filling of v.
func (v *view) close() { v.arena = arena{base: unsafe.Pointer(unsafe.SliceData(v.bytes))} }

// changedSince returns the logs that have cells of a cut. The lock is held.
func (m *image) changedSince(seq uint64) []*undo {
	var logs []*undo
	for _, u := range m.logs {
		if u.seq >= seq && u.bits != nil {
			logs = append(logs, u)
		}
	}
	return logs
}

// copyClean copies cells from off on that have not changed since the cut and returns where to go on. The others are filled in
// by overlay.
func (v *view) copyClean(m *image, seq uint64, off uintptr) uintptr {
	logs := m.changedSince(seq)
	plain := v.keyWidth != 0 && !v.blobs
	n := (v.size - off) / v.cellBytes
	n = min(n, max(uintptr(v.lockBytes)/v.cellBytes, 1))
	if plain && logs == nil {
		copyWords(v.cell(off/8), unsafe.Add(m.cells, off), n*v.cellBytes)
		return off + n*v.cellBytes
	}
	copied := 0
	for end := off + n*v.cellBytes; off < end && copied < v.lockBytes; off += v.cellBytes {
		if slices.ContainsFunc(logs, func(u *undo) bool { return u.has(v.shape, off) }) {
			continue
		}
		cell := unsafe.Add(m.cells, off)
		key, val := v.refs(&m.arena, cell)
		v.put(off, cell, key, val)
		copied += len(key) + len(val)
	}
	return off
}

// put copies a cell and what it refers to.
func (v *view) put(off uintptr, from unsafe.Pointer, key, val []byte) {
	cell := v.cell(off / 8)
	copyWords(cell, from, v.cellBytes)
	if *(*uint64)(cell) == 0 {
		return
	}
	if v.keyWidth == 0 {
		(*keyRef)(unsafe.Add(cell, tagBytes)).off = v.append(key)
	}
	if v.blobs {
		(*blob)(unsafe.Add(cell, v.valOff)).off = v.append(val)
	}
}

func (v *view) append(b []byte) uint32 {
	at := len(v.bytes)
	v.bytes = append(v.bytes, b...)
	for len(v.bytes)&7 != 0 {
		v.bytes = append(v.bytes, 0)
	}
	return uint32(at / 8)
}

// overlay fills in what a log has saved; see overlayLogs.
func (v *view) overlay(chunks []undoChunk, set []uint64) {
	for _, c := range chunks {
		for at := 0; at < c.used; {
			off, cell, key, val, size := v.entry(unsafe.Add(c.p, at))
			bit := off >> v.bitShift
			if set == nil || bit>>6 < uintptr(len(set)) && set[bit>>6]>>(bit&63)&1 != 0 {
				v.put(off, cell, key, val)
			}
			at += size
		}
		v.pace.Break()
	}
}

// sort returns where the cells in use whose group is in r begin, ascending by group. n is about how many there are.
func (v *view) sort(r keygroup.Range, n int) []uint32 {
	v.order = slices.Grow(v.order[:0], n)
	lo, hi := keygroup.Group(keygroup.Count), keygroup.Group(0)
	for off := uintptr(0); off < v.size; off += v.cellBytes {
		tag := *(*uint64)(v.cell(off / 8))
		if tag == 0 {
			continue
		}
		if g := keygroup.Of(tag); r.Contains(g) {
			lo, hi = min(lo, g), max(hi, g)
			v.order = append(v.order, uint32(off/8))
		}
	}
	group := func(word uint32) keygroup.Group { return keygroup.Of(v.words[word]) }
	switch span := int(hi) - int(lo) + 1; {
	case span <= 1:
	case len(v.order) < span/4:
		slices.SortStableFunc(v.order, func(a, b uint32) int { return cmp.Compare(group(a), group(b)) })
	default:
		v.sums = slices.Grow(v.sums[:0], span+1+len(v.order))[:span+1+len(v.order)]
		sums, sorted := v.sums[:span+1], v.sums[span+1:]
		clear(sums)
		for _, w := range v.order {
			sums[group(w)-lo+1]++
		}
		for i := range span {
			sums[i+1] += sums[i]
		}
		for _, w := range v.order {
			at := &sums[group(w)-lo]
			sorted[*at] = w
			*at++
		}
		return sorted
	}
	return v.order
}
