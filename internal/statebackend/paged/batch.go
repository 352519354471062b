package paged

import "unsafe"

// UpsertBatch is Upsert for row i of hashes, whose key is buf[offsets[i]:offsets[i+1]], into out[i] and created[i]. All
// pointers are valid together, until the next call that may insert or delete. created may be nil. It returns the number
// of keys created.
func (t *Table) UpsertBatch(hashes []uint64, buf []byte, offsets []uint32, out []unsafe.Pointer, created []bool) int {
	n, growths := t.n, t.growths
	out, offsets = out[:len(hashes)], offsets[:len(hashes)+1]
	for lo := 0; lo < len(hashes); lo += touchRows {
		hi := min(lo+touchRows, len(hashes))
		t.touch(hashes[lo:hi], out[lo:hi])
		if t.keyWidth == 0 {
			t.touchKeys(hashes[lo:hi], out[lo:hi])
		}
		for i := lo; i < hi; i++ {
			v, c := t.Upsert(hashes[i], buf[offsets[i]:offsets[i+1]])
			out[i] = v
			if created != nil {
				created[i] = c
			}
		}
	}
	if t.growths != growths {
		for i, hash := range hashes {
			out[i] = t.Lookup(hash, buf[offsets[i]:offsets[i+1]])
		}
	}
	return t.n - n
}

// touchKeys reads the first byte of the key of every home cell whose tag agrees.
func (t *Table) touchKeys(hashes []uint64, cells []unsafe.Pointer) {
	sum := t.sink
	for i, hash := range hashes {
		hash = norm(hash)
		if *(*uint64)(cells[i]) != hash {
			continue
		}
		ref := (*keyRef)(unsafe.Add(cells[i], tagBytes))
		if ref.len > 0 {
			sum += uint64(*(*byte)(unsafe.Add(t.segmentOf(hash).arena.base, uintptr(ref.off)*8)))
		}
	}
	t.sink = sum
}

// touchBytesMax is the size up to which a blob is read as a whole ahead of its use. 64 of them fit the second-level cache, and a
// small map is searched all over.
const touchBytesMax = 512

// touchAll reads the cells of hashes and what they refer to, 64 at a time, so that the misses of these overlap.
func (t *Table) touchAll(hashes []uint64) {
	var cells [touchRows]unsafe.Pointer
	for len(hashes) > 0 {
		n := min(len(hashes), touchRows)
		t.touch(hashes[:n], cells[:n])
		if t.keyWidth == 0 || t.blobs {
			t.seek(hashes[:n], cells[:n])
		}
		if t.keyWidth == 0 {
			t.touchKeys(hashes[:n], cells[:n])
		}
		if t.blobs {
			t.touchBlobs(hashes[:n], cells[:n])
		}
		if t.marks {
			t.touchBits(hashes[:n], cells[:n])
		}
		hashes = hashes[n:]
	}
}

// seek moves on from home cells to the first cells with the tags of hashes, or to the empty cells where the search ends.
func (t *Table) seek(hashes []uint64, cells []unsafe.Pointer) {
	for i, hash := range hashes {
		hash = norm(hash)
		tag := *(*uint64)(cells[i])
		if tag == hash || tag == 0 {
			continue
		}
		at := t.at(hash)
		for p := hash & at.mask; tag != hash && tag != 0; {
			p = (p + 1) & at.mask
			cells[i] = unsafe.Add(at.cells, uintptr(p)*t.cellBytes)
			tag = *(*uint64)(cells[i])
		}
	}
}

// touchBlobs reads the blob of every cell whose tag agrees: all lines of a small one, the ends of a large one.
func (t *Table) touchBlobs(hashes []uint64, cells []unsafe.Pointer) {
	sum := t.sink
	for i, hash := range hashes {
		hash = norm(hash)
		if *(*uint64)(cells[i]) != hash {
			continue
		}
		if b := (*blob)(unsafe.Add(cells[i], t.valOff)); b.len > 0 {
			at := unsafe.Add(t.segmentOf(hash).arena.base, uintptr(b.off)*8)
			if b.len <= touchBytesMax {
				for off := uint32(64); off < b.len; off += 64 {
					sum += uint64(*(*byte)(unsafe.Add(at, off)))
				}
			}
			sum += uint64(*(*byte)(at)) + uint64(*(*byte)(unsafe.Add(at, b.len-1)))
		}
	}
	t.sink = sum
}
