package paged

import "unsafe"

// undo keeps what the cells of a block were at a cut, each from the moment of its first change on. An entry is
//
//	[ offset of the cell | cell | key, if keys vary | value, if it is a blob ]
//
// each rounded up to 8 bytes, so that it can be read without the arena.
type undo struct {
	seq    uint64   // of the cut
	bits   []uint64 // the cells that have an entry; nil stands for none
	chunks []undoChunk
	index  map[uintptr]unsafe.Pointer // offset -> entry, as far as a reader has asked
	listed undoPlace
}

type undoChunk struct {
	p     unsafe.Pointer
	used  int
	class uint8
}

// undoPlace is a position in the chunks of an undo.
type undoPlace struct{ chunk, off int }

// undoClass is the class of most chunks.
const undoClass = 15

// add saves a cell at an offset in a block of a class.
func (u *undo) add(t *shape, a *arena, cell unsafe.Pointer, off uintptr, class uint8) {
	key, val := t.refs(a, cell)
	n := 8 + int(t.cellBytes) + round8(len(key)) + round8(len(val))
	e := u.room(t.pool, n, class)
	*(*uint64)(e) = uint64(off)
	copyWords(unsafe.Add(e, 8), cell, t.cellBytes)
	to := unsafe.Slice((*byte)(e), n)[8+t.cellBytes:]
	copy(to, key)
	copy(to[round8(len(key)):], val)
}

// refs returns what the cell refers to in an arena.
func (t *shape) refs(a *arena, cell unsafe.Pointer) (key, val []byte) {
	if *(*uint64)(cell) == 0 {
		return nil, nil
	}
	if t.keyWidth == 0 {
		ref := (*keyRef)(unsafe.Add(cell, tagBytes))
		key = a.slice(ref.off, ref.len)
	}
	if t.blobs {
		b := (*blob)(unsafe.Add(cell, t.valOff))
		val = a.slice(b.off, b.len)
	}
	return key, val
}

func (u *undo) room(p *Pool, n int, class uint8) unsafe.Pointer {
	if last := len(u.chunks) - 1; last >= 0 {
		if c := &u.chunks[last]; c.used+n <= 1<<c.class {
			c.used += n
			return unsafe.Add(c.p, c.used-n)
		}
	}
	c := undoChunk{used: n, class: max(classOf(n), min(undoClass, class))}
	c.p = p.getDirty(c.class)
	u.chunks = append(u.chunks, c)
	return c.p
}

func (u *undo) free(p *Pool) {
	for _, c := range u.chunks {
		p.put(c.p, c.class)
	}
	u.chunks, u.index = nil, nil
}

// has reports whether the cell at an offset has an entry.
func (u *undo) has(t *shape, off uintptr) bool {
	bit := off >> t.bitShift
	return bit>>6 < uintptr(len(u.bits)) && u.bits[bit>>6]>>(bit&63)&1 != 0
}

// entry takes an entry apart: the offset of its cell, the cell, what it refers to, and the size of all.
func (t *shape) entry(e unsafe.Pointer) (off uintptr, cell unsafe.Pointer, key, val []byte, size int) {
	off, cell = uintptr(*(*uint64)(e)), unsafe.Add(e, 8)
	size = 8 + int(t.cellBytes)
	if *(*uint64)(cell) == 0 {
		return off, cell, nil, nil, size
	}
	if t.keyWidth == 0 {
		key = bytesAt(e, size, (*keyRef)(unsafe.Add(cell, tagBytes)).len)
		size += round8(len(key))
	}
	if t.blobs {
		val = bytesAt(e, size, (*blob)(unsafe.Add(cell, t.valOff)).len)
		size += round8(len(val))
	}
	return off, cell, key, val, size
}

func bytesAt(p unsafe.Pointer, at int, n uint32) []byte {
	if n == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Add(p, at)), n)
}

// find returns the entry of the cell at an offset, which must have one.
func (u *undo) find(t *shape, off uintptr) unsafe.Pointer {
	if u.index == nil {
		u.index = map[uintptr]unsafe.Pointer{}
	}
	for u.listed.chunk < len(u.chunks) {
		c := &u.chunks[u.listed.chunk]
		for u.listed.off < c.used {
			e := unsafe.Add(c.p, u.listed.off)
			at, _, _, _, size := t.entry(e)
			u.index[at] = e
			u.listed.off += size
		}
		if u.listed.chunk == len(u.chunks)-1 {
			break
		}
		u.listed = undoPlace{chunk: u.listed.chunk + 1}
	}
	return u.index[off]
}
