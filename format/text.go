package format

import (
	"encoding/binary"
	"unsafe"
)

const (
	textChunkBytes = 16 << 10
	// textAloneBytes is the length from which a string gets an allocation of its own, so that a chunk is not wasted and a
	// long string that is kept does not keep its neighbours.
	textAloneBytes = 2 << 10
	// textShortBytes is the length up to which equal strings share memory.
	textShortBytes = 8
	textShortBits  = 9
)

// Text makes strings out of memory that is used again. Many strings share one allocation (a chunk of 16 KiB that lives as
// long as any of them), and short strings that occur again and again (codes, names of days) are made once.
// Strings are never changed after they were handed out. The zero value is ready; it belongs to one goroutine.
type Text struct {
	chunk []byte
	// short remembers the last short string of each hash slot.
	short [1 << textShortBits]shortText
}

type shortText struct {
	key uint64
	s   string
}

// String returns a copy of b.
func (t *Text) String(b []byte) string {
	n := len(b)
	if n <= textShortBytes {
		var key [8]byte
		copy(key[:], b)
		return t.Short(binary.LittleEndian.Uint64(key[:]), n)
	}
	return t.copy(b)
}

// Short returns the string of the n lowest bytes of key, lowest first; n is at most 8 and the other bytes must be zero.
func (t *Text) Short(key uint64, n int) string {
	e := &t.short[(key*0x9E3779B97F4A7C15)>>(64-textShortBits)]
	// The length is compared too: "a" and "a\x00" have the same key.
	if e.key == key && len(e.s) == n {
		return e.s
	}
	if n == 0 {
		return ""
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], key)
	e.key, e.s = key, t.copy(b[:n])
	return e.s
}

func (t *Text) copy(b []byte) string {
	n := len(b)
	if n > cap(t.chunk)-len(t.chunk) {
		if n >= textAloneBytes {
			return string(b)
		}
		t.chunk = make([]byte, 0, textChunkBytes)
	}
	// Only bytes behind len(chunk) are written, and no string reaches there.
	at := len(t.chunk)
	t.chunk = append(t.chunk, b...)
	return unsafe.String(&t.chunk[at], n)
}
