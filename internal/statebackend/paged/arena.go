package paged

import (
	"fmt"
	"math"
	"unsafe"
)

// keyRef is the key of a cell when keys vary in size: bytes in the segment's arena. off counts units of 8 bytes.
type keyRef struct {
	off, len uint32
}

// blob is the value of a cell when values vary in size. off and cap count units of 8 bytes; user is free for the owner of
// the table (a list keeps its number of elements there).
type blob struct {
	off, len, cap, user uint32
}

// arena is a stretch of memory that is filled from the front. What is given up is only counted; compaction copies the
// rest into a new block.
type arena struct {
	base  unsafe.Pointer
	used  int // bytes, a multiple of 8
	dead  int // bytes of used that nothing refers to
	class uint8
}

const (
	minArenaClass = 7
	// arenaSplitBytes is the size from which a segment splits because of its arena, so that compacting it stays short.
	arenaSplitBytes = 1 << 20
	blobMax         = math.MaxUint32
)

// slice returns n bytes at off. The capacity ends there, so that an append by a careless caller copies.
func (a *arena) slice(off, n uint32) []byte {
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Add(a.base, uintptr(off)*8)), n)
}

func (a *arena) size() int {
	if a.base == nil {
		return 0
	}
	return 1 << a.class
}

// alloc returns the offset of n fresh bytes in the arena of s. It may move all bytes of the arena, but no cell.
// The bytes are not zeroed.
func (t *Table) alloc(s *segment, n int) uint32 {
	if n > blobMax {
		panic(fmt.Sprintf("paged: %d bytes in one value or key, the limit is %d", n, uint64(blobMax)))
	}
	n = round8(n)
	if s.arena.used+n > s.arena.size() {
		t.makeRoom(s, n)
	}
	off := s.arena.used
	s.arena.used += n
	return uint32(off / 8)
}

// makeRoom moves the arena of s to a block with room for n more bytes, without what is dead.
func (t *Table) makeRoom(s *segment, n int) {
	old := s.arena
	live := old.used - old.dead
	want := live + n
	if want > 1<<minArenaClass {
		want += want / 4 // so that a full arena of which a little is dead is not compacted again at once
	}
	class := max(classOf(want), minArenaClass)
	block := t.pool.getDirty(class)
	if old.dead == 0 {
		if old.used > 0 {
			copy(unsafe.Slice((*byte)(block), old.used), unsafe.Slice((*byte)(old.base), old.used))
		}
		s.arena = arena{base: block, used: old.used, class: class}
		if s.image != nil {
			s.image.moveArena(&s.arena)
		}
	} else {
		cuts := t.part(s) // before references change
		s.arena = arena{base: block, class: class}
		t.eachCell(s, func(cell unsafe.Pointer) { t.copyRefs(&old, &s.arena, cell) })
		t.cede(cuts, &old)
		return
	}
	if old.base != nil {
		t.pool.put(old.base, old.class)
	}
}

// copyRefs copies what the cell refers to from one arena to another that has room, and points the cell there.
func (t *Table) copyRefs(from, to *arena, cell unsafe.Pointer) {
	if t.keyWidth == 0 {
		ref := (*keyRef)(unsafe.Add(cell, tagBytes))
		ref.off = to.append(from.slice(ref.off, ref.len), round8(int(ref.len)))
	}
	if t.cfg.Blobs {
		b := (*blob)(unsafe.Add(cell, t.valOff))
		b.off = to.append(from.slice(b.off, b.len), int(b.cap)*8)
	}
}

func (a *arena) append(b []byte, room int) uint32 {
	off := a.used
	if len(b) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Add(a.base, off)), len(b)), b)
	}
	a.used += room
	return uint32(off / 8)
}

// refBytes returns how many bytes of the arena the cell refers to.
func (t *Table) refBytes(cell unsafe.Pointer) int {
	n := 0
	if t.keyWidth == 0 {
		n += round8(int((*keyRef)(unsafe.Add(cell, tagBytes)).len))
	}
	if t.cfg.Blobs {
		n += int((*blob)(unsafe.Add(cell, t.valOff)).cap) * 8
	}
	return n
}

// GetBytes returns the blob of the key. It is borrowed (see Table) and must not be written.
func (t *Table) GetBytes(hash uint64, key []byte) ([]byte, bool) {
	hash = norm(hash)
	cell, _, found := t.find(hash, key)
	if !found {
		return nil, false
	}
	t.last = finger{hash, cell, t.growths}
	b := (*blob)(unsafe.Add(cell, t.valOff))
	return t.segmentOf(hash).arena.slice(b.off, b.len), true
}

// PutBytes sets the blob of the key and reports whether the key is new. value is copied and must not point into this
// table.
func (t *Table) PutBytes(hash uint64, key, value []byte) (created bool) {
	hash = norm(hash)
	v, created := t.again(hash, key)
	b := (*blob)(v)
	s := t.segmentOf(hash)
	if len(value) > int(b.cap)*8 {
		s.arena.dead += int(b.cap) * 8
		*b = blob{user: b.user} // refers to nothing while room is made
		b.off = t.alloc(s, len(value))
		b.cap = uint32(round8(len(value)) / 8)
	}
	b.len = uint32(len(value))
	copy(s.arena.slice(b.off, b.len), value)
	t.shrinkBlob(s, b)
	t.settle(s, hash)
	return created
}

// again is Upsert for a key that was probably read just before.
func (t *Table) again(hash uint64, key []byte) (val unsafe.Pointer, created bool) {
	f := &t.last
	// The cell may hold another key by now, but it is a cell as long as its block is there.
	if f.hash == hash && f.growths == t.growths && *(*uint64)(f.cell) == hash && t.keyIs(hash, f.cell, key) {
		t.mark(hash, f.cell)
		return unsafe.Add(f.cell, t.valOff), false
	}
	return t.Upsert(hash, key)
}

// shrinkBlob gives up the tail of a blob that uses less than half of its room.
func (t *Table) shrinkBlob(s *segment, b *blob) {
	if need := uint32(round8(int(b.len)) / 8); need < b.cap/2 {
		s.arena.dead += int(b.cap-need) * 8
		b.cap = need
	}
}

// AppendBytes adds value to the end of the key's blob, which begins empty, and returns the blob's counter of appends.
// Room grows by doubling, so n appends copy a blob log n times.
func (t *Table) AppendBytes(hash uint64, key, value []byte) (count uint32, created bool) {
	hash = norm(hash)
	v, created := t.Upsert(hash, key)
	b := (*blob)(v)
	s := t.segmentOf(hash)
	old := int(b.len)
	copy(t.extend(hash, s, b, old+len(value))[old:], value)
	b.user++
	count = b.user
	t.settle(s, hash)
	return count, created
}

// moveBlob gives the blob a place with room bytes.
func (t *Table) moveBlob(s *segment, b *blob, room int) {
	// alloc may move the arena; the blob is still referred to by its cell, so its old bytes move along.
	off := t.alloc(s, room)
	copy(s.arena.slice(off, b.len), s.arena.slice(b.off, b.len))
	s.arena.dead += int(b.cap) * 8
	b.off, b.cap = off, uint32(round8(room)/8)
}

// findBlob returns the blob of the key with its segment, or nil. Both stay in place until a key is inserted or deleted.
func (t *Table) findBlob(hash uint64, key []byte) (*segment, *blob) {
	hash = norm(hash)
	cell, _, found := t.find(hash, key)
	if !found {
		return nil, nil
	}
	return t.segmentOf(hash), (*blob)(unsafe.Add(cell, t.valOff))
}

// markBlob is mark for the cell of a blob.
func (t *Table) markBlob(hash uint64, b *blob) {
	if t.marks {
		t.mark(norm(hash), unsafe.Add(unsafe.Pointer(b), -int(t.valOff)))
	}
}

// resize makes the blob n bytes long and returns it for writing: its old bytes as far as they fit, then bytes of any
// value. A blob that grows gets room to grow further. Other slices of the arena are invalid then.
func (t *Table) resize(hash uint64, s *segment, b *blob, n int) []byte {
	t.markBlob(hash, b)
	if n > int(b.cap)*8 {
		t.moveBlob(s, b, (n+n/4+63)&^63)
	}
	b.len = uint32(n)
	return s.arena.slice(b.off, b.len)
}

// extend is resize with room for as much again, for blobs that only grow.
func (t *Table) extend(hash uint64, s *segment, b *blob, n int) []byte {
	t.markBlob(hash, b)
	if n > int(b.cap)*8 {
		t.moveBlob(s, b, max(n, min(2*int(b.len), blobMax-7)))
	}
	b.len = uint32(n)
	return s.arena.slice(b.off, b.len)
}

// BlobCount returns the counter that AppendBytes keeps, 0 for a missing key.
func (t *Table) BlobCount(hash uint64, key []byte) uint32 {
	cell, _, found := t.find(norm(hash), key)
	if !found {
		return 0
	}
	return (*blob)(unsafe.Add(cell, t.valOff)).user
}

// addBlobCount adds to the counter that AppendBytes keeps. The key must be there.
func (t *Table) addBlobCount(hash uint64, key []byte, delta int) {
	b := (*blob)(t.Mutate(hash, key))
	b.user = uint32(int(b.user) + delta)
}

// settle restores the bounds of an arena after a change: at most half dead, and not so large that moving it is felt.
func (t *Table) settle(s *segment, hash uint64) {
	if s.arena.dead > s.arena.used/2 && s.arena.used > 1<<minArenaClass {
		t.makeRoom(s, 0)
	}
	if s.arena.used > t.arenaSplit && s.n >= 16 && t.canSplit(s) {
		t.split(s, hash)
	}
}
