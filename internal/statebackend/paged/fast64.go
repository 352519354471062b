package paged

import "unsafe"

// Lookup64 is Lookup for a table with KeyWidth 8; the key is the eight bytes of key, least significant first.
func (t *Table) Lookup64(hash, key uint64) unsafe.Pointer {
	hash = norm(hash)
	at := t.at(hash)
	for p := hash & at.mask; ; p = (p + 1) & at.mask {
		cell := unsafe.Add(at.cells, uintptr(p)*t.cellBytes)
		tag := *(*uint64)(cell)
		if tag == hash && *(*uint64)(unsafe.Add(cell, tagBytes)) == key {
			return unsafe.Add(cell, tagBytes+8)
		}
		if tag == 0 {
			return nil
		}
	}
}

// Upsert64 is Upsert for a table with KeyWidth 8; the key is the eight bytes of key, least significant first.
func (t *Table) Upsert64(hash, key uint64) (val unsafe.Pointer, created bool) {
	hash = norm(hash)
	at := t.at(hash)
	for p := hash & at.mask; ; p = (p + 1) & at.mask {
		cell := unsafe.Add(at.cells, uintptr(p)*t.cellBytes)
		tag := *(*uint64)(cell)
		if tag == hash && *(*uint64)(unsafe.Add(cell, tagBytes)) == key {
			if t.marks {
				t.mark(hash, cell)
			}
			return unsafe.Add(cell, tagBytes+8), false
		}
		if tag == 0 {
			return t.create64(hash, key, at), true
		}
	}
}

func (t *Table) create64(hash, key uint64, at *slot) unsafe.Pointer {
	cell := t.insert(hash, at)
	*(*uint64)(unsafe.Add(cell, tagBytes)) = key
	return unsafe.Add(cell, tagBytes+8)
}

// touchRows is how many rows of a batch are touched before they are probed: enough to keep a core's dozen misses in
// flight all the time, few enough for the touched lines to be in the first-level cache when they are probed.
const touchRows = 64

// UpsertBatch64 is Upsert64 for row i of hashes and keys into out[i] and created[i]. All pointers are valid together,
// until the next call that may insert or delete. created may be nil. It returns the number of keys created.
func (t *Table) UpsertBatch64(hashes, keys []uint64, out []unsafe.Pointer, created []bool) int {
	n, growths := t.n, t.growths
	keys, out = keys[:len(hashes)], out[:len(hashes)]
	if created != nil {
		created = created[:len(hashes)]
		clear(created)
	}
	marks := t.marks
	for lo := 0; lo < len(hashes); lo += touchRows {
		hi := min(lo+touchRows, len(hashes))
		h, k, o := hashes[lo:hi], keys[lo:hi], out[lo:hi]
		t.touch(h, o)
		if marks {
			t.touchBits(h, o)
		}
		for i, cell := range o {
			// After a growth the home cells of this block are stale and must not be read.
			if t.growths == growths &&
				*(*uint64)(cell) == h[i] && *(*uint64)(unsafe.Add(cell, tagBytes)) == k[i] && h[i] != 0 {
				if marks {
					t.mark(h[i], cell)
				}
				o[i] = unsafe.Add(cell, tagBytes+8)
				continue
			}
			v, c := t.Upsert64(h[i], k[i])
			o[i] = v
			if c && created != nil {
				created[lo+i] = true
			}
		}
	}
	if t.growths != growths {
		// A segment moved, and with it perhaps what the first rows point to. It is rare enough to look all up again.
		for i, hash := range hashes {
			out[i] = t.Lookup64(hash, keys[i])
		}
	}
	return t.n - n
}

// touchBits reads the bits of the home cells.
func (t *Table) touchBits(hashes []uint64, cells []unsafe.Pointer) {
	sum := t.sink
	for i, hash := range hashes {
		s := t.segmentOf(hash)
		if bit := (uintptr(cells[i]) - uintptr(s.cells)) >> (t.bitShift & 63); bit>>6 < uintptr(len(s.bits)) {
			sum += s.bits[bit>>6]
		}
	}
	t.sink = sum
}

// touch stores the home cell of every hash in cells and reads its tag, so that the misses overlap.
func (t *Table) touch(hashes []uint64, cells []unsafe.Pointer) {
	cells = cells[:len(hashes)]
	dir, shift, base, width := t.dir, t.shift, t.dirBase, t.cellBytes
	sum := uint64(0)
	if len(dir) == 1 {
		// Small tables are in the cache, where the work of finding the segment would be felt.
		at := dir[0]
		for i, hash := range hashes {
			cells[i] = unsafe.Add(at.cells, uintptr(hash&at.mask)*width)
		}
		return
	}
	for i, hash := range hashes {
		at := &dir[hash>>(shift&63)-base] // shift is 64 only when there is one entry
		cell := unsafe.Add(at.cells, uintptr(hash&at.mask)*width)
		cells[i] = cell
		sum += *(*uint64)(cell)
	}
	t.sink = sum
}
