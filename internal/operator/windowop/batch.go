package windowop

import (
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/operator/keyedstate"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// batchScratch is memory that is used again for each batch.
type batchScratch[K any] struct {
	*keyedstate.Batch[K]
	hashes []uint64
	out    []unsafe.Pointer
	buf    []byte // one encoded key
}

func newBatchScratch[K any](c *codec.KeyCodec[K]) batchScratch[K] {
	return batchScratch[K]{Batch: keyedstate.NewBatch(c)}
}

// find looks up the values of the keys, all at once, into out. Missing ones are created.
func (s *batchScratch[K]) find(t *paged.Table) {
	s.Encode()
	s.out = slices.Grow(s.out[:0], len(s.hashes))[:len(s.hashes)]
	s.Upsert(t, s.hashes, s.out)
}
