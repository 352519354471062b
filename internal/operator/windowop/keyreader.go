package windowop

import (
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/operator/keyedstate"
)

// keyReader decodes keys that outlive their encoding.
type keyReader[K any] struct {
	codec *codec.KeyCodec[K]
	width int // 0 if keys vary
	arena keyedstate.Arena
}

func newKeyReader[K any](c *codec.KeyCodec[K]) keyReader[K] {
	r := keyReader[K]{codec: c}
	if w, fixed := c.FixedWidth(); fixed {
		r.width = w
	}
	return r
}

// read decodes a key. Its strings alias a copy of the encoding, because the table's memory is used again. Keys of fixed width
// hold no strings.
func (r *keyReader[K]) read(enc []byte, key *K) error {
	if r.width == 0 {
		enc = r.arena.Own(enc)
	}
	return r.codec.Decode(enc, key)
}
