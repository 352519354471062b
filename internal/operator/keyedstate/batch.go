package keyedstate

import (
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// Batch computes and encodes the keys of batches, in memory that it uses again.
type Batch[K any] struct {
	codec   *codec.KeyCodec[K]
	wide    bool // keys have eight bytes, which lie in words
	keys    []K
	words   []uint64
	buf     []byte
	offsets []uint32
}

// NewBatch returns scratch memory for keys of a codec.
func NewBatch[K any](c *codec.KeyCodec[K]) *Batch[K] {
	w, fixed := c.FixedWidth()
	return &Batch[K]{codec: c, wide: fixed && w == 8}
}

// Keys returns the slice to fill with the keys of n rows. Encode follows.
func (b *Batch[K]) Keys(n int) []K {
	b.keys = slices.Grow(b.keys[:0], n)[:n]
	return b.keys
}

// Encode encodes the keys that were filled in.
func (b *Batch[K]) Encode() {
	if b.wide {
		b.words = slices.Grow(b.words[:0], len(b.keys))[:len(b.keys)]
		b.codec.Words(b.keys, b.words)
		return
	}
	b.buf, b.offsets = b.buf[:0], append(b.offsets[:0], 0)
	for i := range b.keys {
		b.buf = b.codec.Append(b.buf, &b.keys[i])
		b.offsets = append(b.offsets, uint32(len(b.buf)))
	}
}

// Bytes returns the encoding of key i, borrowed until the next Keys.
func (b *Batch[K]) Bytes(i int) []byte {
	if b.wide {
		return unsafe.Slice((*byte)(unsafe.Pointer(&b.words[i])), 8)
	}
	return b.buf[b.offsets[i]:b.offsets[i+1]:b.offsets[i+1]]
}

const arenaBytes = 16 << 10

// Arena hands out copies of encoded keys that are never written again, because the strings of a decoded key alias its
// bytes.
type Arena struct{ buf []byte }

// Own returns a copy of b.
func (a *Arena) Own(b []byte) []byte {
	if cap(a.buf)-len(a.buf) < len(b) {
		a.buf = make([]byte, 0, max(arenaBytes, len(b)))
	}
	at := len(a.buf)
	a.buf = append(a.buf, b...)
	return a.buf[at:len(a.buf):len(a.buf)]
}

// Refs looks up the values of all keys in a state without namespaces.
func (b *Batch[K]) Refs(in statebackend.BatchValue, hashes []uint64, out []unsafe.Pointer, created []bool) {
	if b.wide {
		in.Refs64(hashes, b.words, out, created)
		return
	}
	in.Refs(hashes, b.buf, b.offsets, nil, out, created)
}

// Upsert looks up the values of all keys in a table, and makes the missing ones.
func (b *Batch[K]) Upsert(t *paged.Table, hashes []uint64, out []unsafe.Pointer) {
	if b.wide {
		t.UpsertBatch64(hashes, b.words, out, nil)
		return
	}
	t.UpsertBatch(hashes, b.buf, b.offsets, out, nil)
}
