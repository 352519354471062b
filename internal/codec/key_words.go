package codec

import (
	"math/bits"
	"unsafe"
)

// Words stores the encodings of keys[i] into out[i], the first byte as the least significant, if every encoding has eight
// bytes. Otherwise it does nothing and returns false. out is at least as long as keys.
func (c *KeyCodec[K]) Words(keys []K, out []uint64) bool {
	if c.prog.width != 8 {
		return false
	}
	out = out[:len(keys)]
	switch c.fast {
	case hashInt64:
		for i := range keys {
			out[i] = bits.ReverseBytes64(*(*uint64)(unsafe.Pointer(&keys[i])) ^ 1<<63)
		}
	case hashUint64:
		for i := range keys {
			out[i] = bits.ReverseBytes64(*(*uint64)(unsafe.Pointer(&keys[i])))
		}
	default:
		var buf [8]byte
		for i := range keys {
			b := c.prog.encode(buf[:0], unsafe.Pointer(&keys[i]))
			out[i] = *(*uint64)(unsafe.Pointer(unsafe.SliceData(b)))
		}
	}
	return true
}
