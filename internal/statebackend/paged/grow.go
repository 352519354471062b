package paged

import (
	"iter"
	"unsafe"
)

// segmentBytesMax is the size of the cells of a segment from which it splits and no longer doubles: one huge page.
// Splitting one takes about a millisecond.
const segmentBytesMax = 1 << hugeClass

// newSegment returns an empty segment with the given number of cells (a power of two).
func (t *Table) newSegment(cells int, shift uint8) *segment {
	s := &segment{shift: shift}
	t.setCells(s, cells)
	return s
}

func (t *Table) setCells(s *segment, cells int) {
	t.unask(s)
	s.lazy = 0
	s.class = classOf(cells * int(t.cellBytes))
	s.cells = t.pool.get(s.class)
	s.mask = uint64(cells - 1)
	s.limit = cells / 4 * 3
	s.notice = s.limit
	if s.class == hugeClass {
		s.notice -= s.limit / 32
	}
	s.bits, s.image, s.past = nil, nil, nil
}

// approach is called when s comes near its limit, and at it. A split of s will take one more block of 2 MiB than it gives back.
func (t *Table) approach(s *segment) {
	if s.notice < s.limit {
		s.notice = s.limit
		s.asked = true
		t.pool.ask(1)
	}
}

func (t *Table) unask(s *segment) {
	if s.asked {
		s.asked = false
		t.pool.ask(-1)
	}
}

// grow makes room in s for the key with this hash, by doubling s or by splitting it in two.
func (t *Table) grow(s *segment, hash uint64) {
	t.growths++
	if s.lazy != 0 {
		t.setCells(s, s.lazy)
		t.link(s, hash>>t.shift-t.dirBase)
		return
	}
	cells := int(s.mask) + 1
	if 2*cells*int(t.cellBytes) <= t.segmentMax || !t.canSplit(s) {
		t.double(s, hash)
		return
	}
	t.split(s, hash)
	// All keys may have gone to the side of the new one.
	if s = t.segmentOf(hash); s.n >= s.limit {
		t.grow(s, hash)
	}
}

func (t *Table) double(s *segment, hash uint64) {
	old := *s
	t.setCells(s, 2*int(old.mask+1))
	t.follow(&old, s)
	t.eachCell(&old, func(cell unsafe.Pointer) {
		to := t.copyCell(s, cell)
		t.moved(&old, uintptr(cell)-uintptr(old.cells), s, uintptr(to)-uintptr(s.cells))
	})
	t.retireCells(&old, s)
	t.link(s, hash>>t.shift-t.dirBase)
}

// retireCells gives up the block of cells of old, which s has replaced. Cuts that need it keep the arena besides, since the
// table would go on writing to it, and s gets a copy of that.
func (t *Table) retireCells(old, s *segment) {
	if old.image == nil || !old.image.needed() {
		t.pool.put(old.cells, old.class)
		return
	}
	was := s.arena
	if a := &s.arena; a.base != nil {
		a.base = t.pool.getDirty(a.class)
		copyWords(a.base, was.base, uintptr(a.used))
	}
	if old.image.inherit() { // only now: the table reads neither any more
		return
	}
	t.pool.put(old.cells, old.class)
	if was.base != nil {
		t.pool.put(was.base, was.class)
	}
}

// copyCell copies a cell of another segment to its place in s, which has room, and returns the place.
func (t *Table) copyCell(s *segment, from unsafe.Pointer) unsafe.Pointer {
	p := *(*uint64)(from) & s.mask
	to := unsafe.Add(s.cells, uintptr(p)*t.cellBytes)
	for *(*uint64)(to) != 0 {
		p = (p + 1) & s.mask
		to = unsafe.Add(s.cells, uintptr(p)*t.cellBytes)
	}
	copyWords(to, from, t.cellBytes)
	return to
}

func copyWords(to, from unsafe.Pointer, n uintptr) {
	copy(unsafe.Slice((*uint64)(to), n/8), unsafe.Slice((*uint64)(from), n/8))
}

// canSplit reports whether the prefix of s may become one bit longer without a directory out of proportion: hashes that
// are not spread (or made to collide) would else double it again and again for nothing.
func (t *Table) canSplit(s *segment) bool {
	if s.shift == 0 {
		return false
	}
	return s.shift < t.shift || 2*len(t.dir) <= 16*t.nsegs+64
}

// split replaces s, to which the hash belongs, by two segments whose prefix is one bit longer.
func (t *Table) split(s *segment, hash uint64) {
	t.growths++
	if s.shift == t.shift {
		t.doubleDirectory()
	}
	first := t.firstOf(s, hash)
	cells := int(s.mask) + 1
	if cells > initialCells && s.n*2 < s.limit {
		cells /= 2 // split because of its arena
	}
	children := [2]*segment{t.newSegment(cells, s.shift-1), t.newSegment(cells, s.shift-1)}
	if s.arena.base != nil {
		t.splitArena(s, children)
	}
	t.follow(s, children[0])
	t.follow(s, children[1])
	bit := s.shift - 1
	t.eachCell(s, func(cell unsafe.Pointer) {
		c := children[*(*uint64)(cell)>>bit&1]
		to := t.copyCell(c, cell)
		t.moved(s, uintptr(cell)-uintptr(s.cells), c, uintptr(to)-uintptr(c.cells))
		c.n++
		if s.arena.base != nil {
			t.copyRefs(&s.arena, &c.arena, to)
		}
	})
	n := t.spanOf(first, s)
	t.free(s)
	t.nsegs++
	for i := first; i < first+n; i++ {
		c := children[(t.dirBase+uint64(i))<<t.shift>>bit&1]
		t.segs[i] = c
		t.dir[i] = slot{c.cells, c.mask}
	}
	for _, c := range children {
		if t.isLinked(c, first, n) {
			continue
		}
		// The range of key groups of the table ends before this half, so it can never hold a key.
		t.free(c)
		t.nsegs--
	}
}

func (t *Table) isLinked(c *segment, first, n int) bool {
	for i := first; i < first+n; i++ {
		if t.segs[i] == c {
			return true
		}
	}
	return false
}

// splitArena gives each child an arena of the size that its keys need.
func (t *Table) splitArena(s *segment, children [2]*segment) {
	var need [2]int
	bit := s.shift - 1
	t.eachCell(s, func(cell unsafe.Pointer) {
		need[*(*uint64)(cell)>>bit&1] += t.refBytes(cell)
	})
	for i, c := range children {
		if need[i] == 0 {
			continue
		}
		c.arena.class = max(classOf(need[i]+need[i]/8), minArenaClass)
		c.arena.base = t.pool.getDirty(c.arena.class)
	}
}

// doubleDirectory makes the directory distinguish one more bit.
func (t *Table) doubleDirectory() {
	lo, hi := t.bounds()
	shift := t.shift - 1
	base := lo >> shift
	n := int(hi>>shift-base) + 1
	dir, segs := make([]slot, n), make([]*segment, n)
	for i := range n {
		old := (base+uint64(i))>>1 - t.dirBase
		dir[i], segs[i] = t.dir[old], t.segs[old]
	}
	t.dir, t.segs, t.shift, t.dirBase = dir, segs, shift, base
}

// firstOf returns the first directory entry of s, to which the hash belongs.
func (t *Table) firstOf(s *segment, hash uint64) int {
	first := hash >> s.shift << (s.shift - t.shift)
	return int(max(first, t.dirBase) - t.dirBase)
}

// spanOf returns how many directory entries from i on belong to s, of which i is one.
func (t *Table) spanOf(i int, s *segment) int {
	width := uint64(1) << (s.shift - t.shift)
	// The first span may be cut off by the range of the table, so it is counted to the next multiple of its width.
	n := int(width - (t.dirBase+uint64(i))%width)
	return min(n, len(t.dir)-i)
}

// link makes the directory entries of s, one of which is i, agree with it.
func (t *Table) link(s *segment, i uint64) {
	width := uint64(1) << (s.shift - t.shift)
	at := (t.dirBase + i) &^ (width - 1)
	for p := max(at, t.dirBase); p < at+width && p-t.dirBase < uint64(len(t.dir)); p++ {
		t.dir[p-t.dirBase] = slot{s.cells, s.mask}
		t.segs[p-t.dirBase] = s
	}
}

// free gives the memory of s back, or to the cuts that need it.
func (t *Table) free(s *segment) {
	t.unask(s)
	if s.image == nil || !s.image.inherit() {
		if s.lazy == 0 {
			t.pool.put(s.cells, s.class)
		}
		if s.arena.base != nil {
			t.pool.put(s.arena.base, s.arena.class)
		}
	}
	*s = segment{shift: s.shift}
}

// segments returns every segment once with its first directory entry, in the order of the hash.
func (t *Table) segments() iter.Seq2[int, *segment] {
	return func(yield func(int, *segment) bool) {
		for i := 0; i < len(t.segs); {
			s := t.segs[i]
			n := t.spanOf(i, s)
			if !yield(i, s) {
				return
			}
			i += n
		}
	}
}

// eachCell calls f with every cell in use of s.
func (t *Table) eachCell(s *segment, f func(cell unsafe.Pointer)) {
	for p := uint64(0); p <= s.mask; p++ {
		if cell := unsafe.Add(s.cells, uintptr(p)*t.cellBytes); *(*uint64)(cell) != 0 {
			f(cell)
		}
	}
}

// Expect prepares for about n keys in all, of which the table has few yet, so that loading them grows no segment step by step.
// It does nothing once most keys are there, or while cuts or changes are remembered.
func (t *Table) Expect(n int) {
	if n <= 2*t.n || t.marks || t.track.on {
		return
	}
	old := make([]*segment, 0, t.nsegs)
	for _, s := range t.segments() {
		old = append(old, s)
	}
	t.segs, t.dir, t.n = nil, nil, 0
	t.growths++
	t.init(n)
	for _, s := range old {
		if s.n > 0 {
			t.eachCell(s, func(cell unsafe.Pointer) { t.adopt(s, cell) })
		}
		t.free(s)
	}
}

// adopt inserts a copy of a cell of another segment.
func (t *Table) adopt(from *segment, cell unsafe.Pointer) {
	hash := *(*uint64)(cell)
	to := t.insert(hash, t.at(hash))
	copyWords(to, cell, t.cellBytes)
	key, val := t.refs(&from.arena, cell)
	// The references say nothing until there is room, in case that making room looks at them.
	if t.keyWidth == 0 {
		*(*keyRef)(unsafe.Add(to, tagBytes)) = keyRef{}
	}
	var b *blob
	if t.blobs { // else the cell may be shorter than that
		b = (*blob)(unsafe.Add(to, t.valOff))
		*b = blob{user: b.user}
	}
	s := t.segmentOf(hash)
	if t.keyWidth == 0 {
		off := t.alloc(s, len(key))
		copy(s.arena.slice(off, uint32(len(key))), key)
		*(*keyRef)(unsafe.Add(to, tagBytes)) = keyRef{off: off, len: uint32(len(key))}
	}
	if t.blobs {
		b.off = t.alloc(s, len(val))
		b.len, b.cap = uint32(len(val)), uint32(round8(len(val))/8)
		copy(s.arena.slice(b.off, b.len), val)
	}
}
