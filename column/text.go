package column

import (
	"bytes"
	"math/bits"
	"unsafe"
)

// A View is a string in a vector, in the form of Arrow's views: 4 bytes of length, and then either the string itself, if it has no more
// than 12 bytes, or its first 4 bytes, the number of the buffer in which it lies, and the offset there. So a string that is handed
// on, filtered or gathered is not copied, and most comparisons end in the first 8 bytes.
type View struct{ A, B uint64 }

// inline is the length up to which a string lies in its View.
const inline = 12

// Len returns the string's length in bytes.
func (w View) Len() int { return int(uint32(w.A)) }

// Inline reports whether the string lies in the View itself.
func (w View) Inline() bool { return w.Len() <= inline }

// text is what a vector of strings has beside its Views.
type text struct {
	// bufs are the buffers that the Views refer to. They are shared between vectors; their bytes never change.
	bufs [][]byte
	// own is the buffer that this vector appends to, bufs[at]; it is nil if there is none.
	own []byte
	at  int
	// shared says that another vector has Views into own: then its bytes stay after a reset.
	shared bool
	// size is the sum of the lengths of the strings appended or gathered.
	size int
}

// Buffers that strings are appended to begin small and double up to the largest.
const (
	smallBuffer = 4 << 10
	largeBuffer = 256 << 10
	// manyBuffers is how many buffers a vector may refer to before strings are copied instead: each keeps memory alive.
	manyBuffers = 64
)

func (t *text) reset() {
	own := t.own
	if t.shared {
		own = nil
	}
	clear(t.bufs)
	t.bufs, t.size, t.shared = t.bufs[:0], 0, false
	t.own = nil
	if own != nil {
		t.own, t.at = own[:0], 0
		t.bufs = append(t.bufs, t.own)
	}
}

// room returns a buffer to which n bytes can be appended, the vector's own.
func (t *text) room(n int) []byte {
	if t.own == nil || cap(t.own)-len(t.own) < n {
		size := max(n, smallBuffer)
		if t.own != nil {
			size = max(n, min(2*cap(t.own), largeBuffer))
		}
		t.own, t.at, t.shared = make([]byte, 0, size), len(t.bufs), false
		t.bufs = append(t.bufs, t.own)
	}
	return t.own
}

// put copies a string into the vector's buffers and returns its View.
func (t *text) put(s []byte) View {
	t.size += len(s)
	if len(s) <= inline {
		return short(s)
	}
	b := t.room(len(s))
	off := len(b)
	b = append(b, s...)
	t.own, t.bufs[t.at] = b, b
	return long(s, t.at, off)
}

// short returns the View of a string of at most 12 bytes.
func short(s []byte) View {
	var w View
	w.A = uint64(len(s))
	copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&w), 4)), inline), s)
	return w
}

func long(s []byte, buf, off int) View {
	return View{A: uint64(uint32(len(s))) | uint64(le32(s))<<32, B: uint64(uint32(buf)) | uint64(uint32(off))<<32}
}

func le32(s []byte) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// Views returns the places of a String or Bytes vector. Views of one vector mean
// something else in another: Gather takes the buffers along.
func (v *Vector) Views() []View {
	if !v.kind.text() {
		v.must(String)
	}
	return values[View](v, v.n)
}

// Text returns value i of a String or Bytes vector. It is borrowed until the batch is changed, and must not be changed.
func (v *Vector) Text(i int) []byte {
	if !v.kind.text() {
		v.must(String)
	}
	w := &values[View](v, v.n)[i]
	n := w.Len()
	if n <= inline {
		return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(w), 4)), n)
	}
	buf, off := uint32(w.B), int(w.B>>32)
	return v.text.bufs[buf][off : off+n : off+n]
}

// AppendString adds a value to a String or Bytes vector.
func (v *Vector) AppendString(s string) {
	v.AppendBytes(unsafe.Slice(unsafe.StringData(s), len(s)))
}

// AppendBytes adds a value to a String or Bytes vector.
func (v *Vector) AppendBytes(s []byte) {
	if !v.kind.text() {
		v.must(String)
	}
	v.next()
	values[View](v, v.n)[v.n-1] = v.text.put(s)
	v.noteValid(v.n-1, true)
}

// SetText copies s and makes it value i.
func (v *Vector) SetText(i int, s []byte) { values[View](v, v.n)[i] = v.text.put(s) }

// Extend makes value i a string of n bytes and returns them for the caller to fill at once.
func (v *Vector) Extend(i, n int) []byte {
	t := &v.text
	t.size += n
	if n <= inline {
		w := &values[View](v, v.n)[i]
		*w = View{A: uint64(n)}
		return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(w), 4)), n)
	}
	b := t.room(n)
	off := len(b)
	b = b[:off+n]
	t.own, t.bufs[t.at] = b, b
	values[View](v, v.n)[i] = View{A: uint64(uint32(n)), B: uint64(uint32(t.at)) | uint64(uint32(off))<<32}
	return b[off : off+n : off+n]
}

// Seal completes value i after Extend: it notes the first bytes of a long string.
func (v *Vector) Seal(i int) {
	w := &values[View](v, v.n)[i]
	if w.Len() > inline {
		w.A = w.A&(1<<32-1) | uint64(le32(v.Text(i)))<<32
	}
}

// AddBuffer makes v refer to a buffer whose bytes will never change, and returns its number for NewView.
func (v *Vector) AddBuffer(b []byte) int {
	v.text.bufs = append(v.text.bufs, b)
	return len(v.text.bufs) - 1
}

// NewView returns the View of s, which lies at off in buffer buf of the vector in which it will be put. Nothing is copied.
func NewView(s []byte, buf, off int) View {
	if len(s) <= inline {
		return short(s)
	}
	return long(s, buf, off)
}

// moved returns w for a vector in which the buffers of w's have numbers higher by move.
func (w View) moved(move uint32) View {
	if w.Len() > inline {
		w.B += uint64(move)
	}
	return w
}

// SameText reports whether value i of v and value j of o are the same string. Both are there.
func SameText(v *Vector, i int, o *Vector, j int) bool {
	a, b := values[View](v, v.n)[i], values[View](o, o.n)[j]
	if a.A != b.A {
		return false
	}
	if a.Len() <= inline {
		return a.B == b.B
	}
	return bytes.Equal(v.Text(i), o.Text(j))
}

// CompareText compares value i of v with value j of o by their bytes. Both are there.
func CompareText(v *Vector, i int, o *Vector, j int) int {
	a, b := values[View](v, v.n)[i], values[View](o, o.n)[j]
	if x, y := bits.ReverseBytes32(uint32(a.A>>32)), bits.ReverseBytes32(uint32(b.A>>32)); x != y {
		if x < y { // shorter strings are padded with 0, which is below or equal to any byte
			return -1
		}
		return 1
	}
	return bytes.Compare(v.Text(i), o.Text(j))
}

// OwnText returns the bytes that only v refers to: what a test may scramble when v's batch has been released.
func (v *Vector) OwnText() []byte {
	if v.text.shared {
		return nil
	}
	return v.text.own
}
