package paged

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// image is one block of cells, with its arena, as outstanding cuts see it: what lies there now, and for every cell that has
// changed since a cut what it was then. Several cuts share the image of a block.
//
// Table and cuts meet here only. The table takes the lock for the first change of a cell after a cut and when it moves the
// arena; a reader takes it for a few microseconds at a time. A reader looks at cells without a bit only, and a cell gets
// its bit before it is written, so the table writes cells that have one without the lock.
type image struct {
	shape *shape
	mask  uint64
	class uint8

	mu    sync.Mutex
	cells unsafe.Pointer
	arena arena
	owned bool // the table has given cells and arena up: they end with the last cut
	cuts  []*FrozenTable
	// logs has one for each cut that a cut in cuts needs, oldest first. The table appends to the last one.
	logs []*undo
}

// Cut returns what the table holds now, readable from another goroutine while the table changes. It costs a moment a
// segment. Until the cut is released the first change of a cell copies it aside. Pointers into the table are invalid then.
func (t *Table) Cut() *FrozenTable { return t.cut(false) }

// cut is Cut, with a memory of changes if track is set.
func (t *Table) cut(track bool) *FrozenTable {
	if t.held == nil {
		t.held = new(atomic.Int32)
	}
	t.held.Add(1)
	t.seq++
	t.marks = true
	if track {
		t.beginInterval()
	}
	f := &FrozenTable{shape: t.shape, seq: t.seq, held: t.held, n: t.n,
		tracked: t.track.on, base: t.track.base, gone: slices.Clip(t.track.past), shared: t.track.shared}
	f.segs = make([]frozenSegment, 0, t.nsegs)
	for i, s := range t.segments() {
		t.endInterval(s)
		s.bits = nil
		if s.n == 0 && s.image == nil {
			continue
		}
		if s.image == nil {
			s.image = &image{shape: &f.shape, mask: s.mask, class: s.class, cells: s.cells, arena: s.arena}
		}
		if s.image.join(f, s.n > 0) {
			last := (t.dirBase+uint64(i+t.spanOf(i, s)))<<t.shift - 1
			f.segs = append(f.segs, frozenSegment{image: s.image, n: s.n, last: last, past: slices.Clip(s.past)})
		}
	}
	return f
}

// join starts the log of a cut, and lists the cut among those of m if it needs m.
func (m *image) join(f *FrozenTable, needed bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if needed {
		m.cuts = append(m.cuts, f)
	}
	if len(m.cuts) > 0 {
		m.logs = append(m.logs, &undo{seq: f.seq})
	}
	return needed
}

// leave says that a cut does not need m any more. What no cut needs is given back.
func (m *image) leave(f *FrozenTable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	keep := m.cuts[:0]
	for _, c := range m.cuts {
		if c != f {
			keep = append(keep, c)
		}
	}
	clear(m.cuts[len(keep):])
	m.cuts = keep
	for len(m.logs) > 0 && (len(keep) == 0 || m.logs[0].seq < keep[0].seq) {
		m.logs[0].free(m.shape.pool)
		m.logs = m.logs[1:]
	}
	if len(keep) > 0 || !m.owned {
		return
	}
	m.owned = false
	m.shape.pool.put(m.cells, m.class)
	if m.arena.base != nil {
		m.shape.pool.put(m.arena.base, m.arena.class)
	}
}

// needed reports whether a cut needs m. Once none does, none will: only a table that has m lets cuts join.
func (m *image) needed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.cuts) > 0
}

// inherit gives m the memory that the table gives up, and reports whether a cut needs it. The table must neither write to it
// afterwards nor read it: it is somebody else's as soon as the last cut has ended.
func (m *image) inherit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned = len(m.cuts) > 0
	return m.owned
}

// moveArena says that the bytes of the arena now lie elsewhere, at the same offsets.
func (m *image) moveArena(to *arena) {
	m.mu.Lock()
	m.arena = *to
	m.mu.Unlock()
}

// part gives the cuts of s a copy of its cells, because the references in them are about to change. It returns their image,
// nil if no cut needs it: the arena is theirs too, from cede on.
func (t *Table) part(s *segment) *image {
	m := s.image
	if m == nil {
		return nil
	}
	s.image = nil
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.cuts) == 0 {
		return nil
	}
	m.cells = t.pool.getDirty(m.class)
	copyWords(m.cells, s.cells, uintptr(m.mask+1)*t.cellBytes)
	s.bits = slices.Clone(s.bits) // what changes from now on is not in the logs of m
	return m
}

// cede leaves the arena that the table has had to the image that part returned, or to the pool if no cut needs it any more.
// The table has read it for the last time: a cut may end at any moment, and somebody else write to what it had.
func (t *Table) cede(m *image, old *arena) {
	if m != nil {
		if m.inherit() {
			return
		}
		t.pool.put(m.cells, m.class)
	}
	if old.base != nil {
		t.pool.put(old.base, old.class)
	}
}

// mark notes that the cell, which belongs to a key with this hash, is about to change. It comes before the change.
func (t *Table) mark(hash uint64, cell unsafe.Pointer) {
	if t.marks {
		t.markCell(t.segmentOf(hash), cell)
	}
}

// markCell is mark for a cell of s.
func (t *Table) markCell(s *segment, cell unsafe.Pointer) {
	if !t.marks {
		return
	}
	bit := (uintptr(cell) - uintptr(s.cells)) >> (t.bitShift & 63)
	if w := bit >> 6; w < uintptr(len(s.bits)) && s.bits[w]>>(bit&63)&1 != 0 {
		return
	}
	t.firstChange(s, cell, bit)
}

// firstChange is the first change of a cell since the last cut, or since s began.
func (t *Table) firstChange(s *segment, cell unsafe.Pointer, bit uintptr) {
	m := s.image
	if m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.cuts) == 0 {
			m, s.image = nil, nil
		}
	}
	if m == nil && !t.track.on {
		t.marks = t.held.Load() > 0
		return
	}
	t.track.fresh = true
	if s.bits == nil {
		s.bits = make([]uint64, t.bitWords(s))
	}
	if m != nil {
		log := m.logs[len(m.logs)-1]
		log.bits = s.bits
		log.add(&t.shape, &s.arena, cell, uintptr(cell)-uintptr(s.cells), m.class)
	}
	s.bits[bit>>6] |= 1 << (bit & 63)
}
