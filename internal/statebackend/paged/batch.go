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

// touchBlobs reads the ends of the blob of every home cell whose tag agrees.
func (t *Table) touchBlobs(hashes []uint64, cells []unsafe.Pointer) {
	sum := t.sink
	for i, hash := range hashes {
		hash = norm(hash)
		if *(*uint64)(cells[i]) != hash {
			continue
		}
		if b := (*blob)(unsafe.Add(cells[i], t.valOff)); b.len > 0 {
			at := unsafe.Add(t.segmentOf(hash).arena.base, uintptr(b.off)*8)
			sum += uint64(*(*byte)(at)) + uint64(*(*byte)(unsafe.Add(at, b.len-1)))
		}
	}
	t.sink = sum
}
