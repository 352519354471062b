package windowop

import "github.com/weir-stream/weir/internal/codec"

// keyReader decodes keys that outlive their encoding.
type keyReader[K any] struct {
	codec *codec.KeyCodec[K]
	width int    // 0 if keys vary
	arena []byte // encoded keys that decoded ones alias
}

func newKeyReader[K any](c *codec.KeyCodec[K]) keyReader[K] {
	r := keyReader[K]{codec: c}
	if w, fixed := c.FixedWidth(); fixed {
		r.width = w
	}
	return r
}

func (r *keyReader[K]) read(enc []byte, key *K) error { return r.codec.Decode(r.own(enc), key) }

const arenaBytes = 16 << 10

// own copies an encoded key to memory that is never used again, because the strings of a decoded key alias it and the
// table's memory is recycled. Keys of fixed width hold no strings.
func (r *keyReader[K]) own(enc []byte) []byte {
	if r.width != 0 {
		return enc
	}
	if cap(r.arena)-len(r.arena) < len(enc) {
		r.arena = make([]byte, 0, max(arenaBytes, len(enc)))
	}
	at := len(r.arena)
	r.arena = append(r.arena, enc...)
	return r.arena[at:len(r.arena):len(r.arena)]
}
