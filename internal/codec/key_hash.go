package codec

import (
	"math/bits"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// hashPath is the way to the hash of a key without building its encoding on the heap.
type hashPath uint8

const (
	hashAny    hashPath = iota // encoded into a buffer on the stack; longer keys spill to the heap
	hashSmall                  // as hashAny, always short
	hashInt64                  // one signed word
	hashUint64                 // one unsigned word
	hashString                 // one string
	hashRaw                    // the memory is the encoding
)

func pickHashPath(n *keyNode) hashPath {
	short := pick(n.width >= 0 && n.width <= hashShortBytes, hashSmall, hashAny)
	if len(n.ops) != 1 || n.ops[0].off != 0 {
		return short
	}
	switch o := n.ops[0]; {
	case o.code == keyInt && o.n == 8:
		return hashInt64
	case o.code == keyUint && o.n == 8:
		return hashUint64
	case o.code == keyTail:
		return hashString
	case o.code == keyRaw:
		return hashRaw
	}
	return short
}

// Hash is xxh3-64 with seed 0 of the encoding of *k. It does not allocate unless the encoding has several parts and is
// longer than hashStackBytes.
func (c *KeyCodec[K]) Hash(k *K) uint64 {
	p := unsafe.Pointer(k)
	switch c.fast {
	case hashInt64:
		return hashWord(*(*uint64)(p) ^ 1<<63)
	case hashUint64:
		return hashWord(*(*uint64)(p))
	case hashString:
		return xxh3.HashString(*(*string)(p))
	}
	return c.prog.hash(p, c.fast)
}

// HashAll stores the hash of keys[i] into out[i]. out is at least as long as keys.
func (c *KeyCodec[K]) HashAll(keys []K, out []uint64) {
	out = out[:len(keys)]
	switch c.fast {
	case hashInt64:
		for i := range keys {
			out[i] = hashWord(*(*uint64)(unsafe.Pointer(&keys[i])) ^ 1<<63)
		}
	case hashUint64:
		for i := range keys {
			out[i] = hashWord(*(*uint64)(unsafe.Pointer(&keys[i])))
		}
	case hashString:
		for i := range keys {
			out[i] = xxh3.HashString(*(*string)(unsafe.Pointer(&keys[i])))
		}
	case hashRaw:
		for i := range keys {
			out[i] = c.prog.hash(unsafe.Pointer(&keys[i]), hashRaw)
		}
	default:
		var stack [hashStackBytes]byte // cleared once for all keys
		buf := stack[:0]
		for i := range keys {
			buf = c.prog.encode(buf[:0], unsafe.Pointer(&keys[i]))
			out[i] = xxh3.Hash(buf)
		}
	}
}

// HashEncoded is the hash of a key whose encoding is at hand.
func HashEncoded(key []byte) uint64 { return xxh3.Hash(key) }

// Buffers on the stack: for keys of a known small width, and for others. A longer encoding goes to the heap. There are
// two because a buffer is cleared at every call.
const (
	hashShortBytes = 48
	hashStackBytes = 256
)

func (p *keyProgram) hash(at unsafe.Pointer, fast hashPath) uint64 {
	switch fast {
	case hashRaw:
		return xxh3.Hash(unsafe.Slice((*byte)(at), p.width))
	case hashSmall:
		var buf [hashShortBytes]byte
		return xxh3.Hash(p.encode(buf[:0], at))
	}
	var buf [hashStackBytes]byte
	return xxh3.Hash(p.encode(buf[:0], at))
}

// hashWord is xxh3-64, seed 0, of the eight bytes of v in big-endian order: the algorithm's case for inputs of 4 to 8
// bytes with everything known put in. The test compares it with the library's.
func hashWord(v uint64) uint64 {
	const (
		flip  = 0x1cad21f72c81017c ^ 0xdb979083e96dd4de // the secret's bytes 8 to 15 xor 16 to 23
		prime = 0x9fb21c651e98df25
	)
	h := bits.RotateLeft64(bits.ReverseBytes64(v), 32) ^ flip
	h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
	h *= prime
	h ^= h>>35 + 8
	h *= prime
	return h ^ h>>28
}
