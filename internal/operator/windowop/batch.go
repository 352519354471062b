package windowop

import (
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// batchScratch is memory that is used again for each batch.
type batchScratch[K any] struct {
	keys    []K
	words   []uint64
	hashes  []uint64
	out     []unsafe.Pointer
	buf     []byte
	offsets []uint32
}

// find looks up the values of the keys, all at once, into out. Missing ones are created.
func (s *batchScratch[K]) find(t *paged.Table, c *codec.KeyCodec[K], keyWidth int) {
	n := len(s.keys)
	s.out = slices.Grow(s.out[:0], n)[:n]
	if keyWidth == 8 {
		s.words = slices.Grow(s.words[:0], n)[:n]
		c.Words(s.keys, s.words)
		t.UpsertBatch64(s.hashes, s.words, s.out, nil)
		return
	}
	s.buf, s.offsets = s.buf[:0], append(s.offsets[:0], 0)
	for j := range s.keys {
		s.buf = c.Append(s.buf, &s.keys[j])
		s.offsets = append(s.offsets, uint32(len(s.buf)))
	}
	t.UpsertBatch(s.hashes, s.buf, s.offsets, s.out, nil)
}

// bytes is the encoding of key i, after find.
func (s *batchScratch[K]) bytes(i int32, keyWidth int) []byte {
	if keyWidth == 8 {
		return unsafe.Slice((*byte)(unsafe.Pointer(&s.words[i])), 8)
	}
	return s.buf[s.offsets[i]:s.offsets[i+1]:s.offsets[i+1]]
}
