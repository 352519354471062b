package paged

import "unsafe"

// Delete removes the key and reports whether it was there.
func (t *Table) Delete(hash uint64, key []byte) bool {
	hash = norm(hash)
	cell, _, found := t.find(hash, key)
	if !found {
		return false
	}
	s := t.segmentOf(hash)
	t.remove(s, (uintptr(cell)-uintptr(s.cells))/t.cellBytes)
	t.afterRemove(s, hash)
	return true
}

// Delete64 is Delete for a table with KeyWidth 8.
func (t *Table) Delete64(hash, key uint64) bool {
	return t.Delete(hash, unsafe.Slice((*byte)(unsafe.Pointer(&key)), 8))
}

// remove empties the cell at position i of s and closes the gap: each later cell of the run that may not be reached any
// more from its home slot moves back.
func (t *Table) remove(s *segment, at uintptr) {
	i := uint64(at)
	t.noteRemoval(s, i)
	s.arena.dead += t.refBytes(t.cellAt(s, i))
	s.n--
	t.n--
	t.markCell(s, t.cellAt(s, i))
	for j := (i + 1) & s.mask; ; j = (j + 1) & s.mask {
		cell := t.cellAt(s, j)
		tag := *(*uint64)(cell)
		if tag == 0 {
			break
		}
		// The cell may move to i unless its home lies cyclically in (i, j].
		if (j-tag)&s.mask >= (j-i)&s.mask {
			t.markCell(s, cell)
			copyWords(t.cellAt(s, i), cell, t.cellBytes)
			i = j
		}
	}
	clear(unsafe.Slice((*uint64)(t.cellAt(s, i)), t.cellBytes/8))
}

func (t *Table) cellAt(s *segment, i uint64) unsafe.Pointer {
	return unsafe.Add(s.cells, uintptr(i)*t.cellBytes)
}

// afterRemove gives memory back that deletions made superfluous.
func (t *Table) afterRemove(s *segment, hash uint64) {
	if s.n == 0 {
		if s.mask+1 > initialCells {
			t.unask(s)
			old := *s
			s.arena = arena{}
			t.growths++
			t.setCells(s, initialCells)
			t.link(s, hash>>t.shift-t.dirBase)
			t.free(&old)
		} else if s.arena.base != nil {
			cuts, old := t.part(s), s.arena
			s.arena = arena{}
			t.cede(cuts, &old)
		}
		return
	}
	if s.arena.dead > s.arena.used/2 && s.arena.used > 1<<minArenaClass {
		t.makeRoom(s, 0)
	}
}

// Sweep calls keep for every key and deletes those for which it returns false. keep must not write and
// not call the table. It returns how many keys were deleted.
func (t *Table) Sweep(keep func(hash uint64, key []byte, val unsafe.Pointer) bool) int {
	before := t.n
	for i, s := range t.segments() {
		if s.n == 0 {
			continue
		}
		t.sweepSegment(s, keep)
		t.afterRemove(s, (t.dirBase+uint64(i))<<t.shift)
	}
	return before - t.n
}

func (t *Table) sweepSegment(s *segment, keep func(uint64, []byte, unsafe.Pointer) bool) {
	// Begin behind an empty cell: then no run of cells crosses the end of the walk, and closing a gap brings only cells
	// to the current position that have not been seen.
	start := uint64(0)
	for *(*uint64)(t.cellAt(s, start)) != 0 {
		start++
	}
	for k := uint64(1); k <= s.mask; {
		i := (start + k) & s.mask
		cell := t.cellAt(s, i)
		tag := *(*uint64)(cell)
		if tag != 0 && !keep(tag, t.keyOf(s, cell), unsafe.Add(cell, t.valOff)) {
			t.remove(s, uintptr(i))
			continue
		}
		k++
	}
}

// Reset removes every key and gives all memory back to the pool. The table can be used again and expects as many keys as
// it held, so that the table of one window serves the next without growing step by step.
func (t *Table) Reset() {
	n := t.n
	t.Close()
	t.init(n)
}

// Close gives all memory back. The table must not be used afterwards, except for Reset. Closing twice is harmless.
func (t *Table) Close() {
	for _, s := range t.segments() {
		t.free(s)
	}
	if t.empty != nil {
		t.pool.put(t.empty, classOf(initialCells*int(t.cellBytes)))
		t.empty = nil
	}
	clear(t.segs)
	clear(t.dir)
	t.segs, t.dir = t.segs[:0], t.dir[:0]
	if t.track.on && t.n > 0 {
		t.track.fresh = true
		*t.track.gone = removals{lost: true}
	}
	t.n, t.nsegs = 0, 0
	t.growths++
}
