package column

import (
	"fmt"
	"unsafe"
)

// Fixed are the Go types of values of fixed width.
type Fixed interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Vector is one column of a batch. Values are appended by the methods Append... until the batch is full, which the caller watches
// with Batch.Room; an Append of another kind than the vector's panics.
type Vector struct {
	kind Kind
	n    int
	// data holds values of fixed width, or bits for Bool. It has room for the batch's capacity and is aligned to 8 bytes.
	data []byte
	// offsets has n+1 entries for strings: value i is text[offsets[i]:offsets[i+1]].
	offsets []int32
	text    []byte
	// valid has a bit for each value, set if there is one. It means something only if nulls > 0.
	valid []byte
	nulls int
}

// makeVector allocates room for rows values.
func makeVector(k Kind, rows int) Vector {
	v := Vector{kind: k}
	switch {
	case k.text():
		v.offsets = make([]int32, 1, rows+1)
	case k == Bool:
		v.data = aligned((rows + 7) / 8)
	default:
		v.data = aligned(rows * k.Width())
	}
	return v
}

// aligned returns n bytes at an address that fits any value.
func aligned(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// Kind returns the vector's kind.
func (v *Vector) Kind() Kind { return v.kind }

// Len returns the number of values, missing ones included.
func (v *Vector) Len() int { return v.n }

// Nulls returns how many values are missing.
func (v *Vector) Nulls() int { return v.nulls }

// Null reports whether value i is missing.
func (v *Vector) Null(i int) bool { return v.nulls > 0 && v.valid[i>>3]&(1<<(i&7)) == 0 }

// Values returns the values of a vector of fixed width; those of missing ones are zero.
func Values[T Fixed](v *Vector) []T {
	var zero T
	v.must(kindOf(zero))
	return values[T](v, v.n)
}

// values returns the first n places of the data as T, whatever the vector's kind of that width.
func values[T any](v *Vector, n int) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(v.data))), n)
}

func kindOf(v any) Kind {
	switch v.(type) {
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case float32:
		return Float32
	}
	return Float64
}

func (v *Vector) must(k Kind) {
	if v.kind != k {
		panic(fmt.Sprintf("column: a %v vector is used as %v", v.kind, k))
	}
}

// Bool returns value i of a Bool vector.
func (v *Vector) Bool(i int) bool {
	v.must(Bool)
	return v.data[i>>3]&(1<<(i&7)) != 0
}

// Text returns value i of a String or Bytes vector. It is borrowed until the batch is changed.
func (v *Vector) Text(i int) []byte {
	if !v.kind.text() {
		v.must(String)
	}
	return v.text[v.offsets[i]:v.offsets[i+1]:v.offsets[i+1]]
}

// Append adds a value of fixed width to v.
func Append[T Fixed](v *Vector, x T) {
	v.must(kindOf(x))
	v.n++
	values[T](v, v.room())[v.n-1] = x
	v.noteValid(v.n-1, true)
}

// room is how many values of fixed width fit.
func (v *Vector) room() int { return len(v.data) / v.kind.Width() }

// AppendBool adds a value to a Bool vector.
func (v *Vector) AppendBool(x bool) {
	v.must(Bool)
	v.n++
	putBit(v.data, v.n-1, x)
	v.noteValid(v.n-1, true)
}

// AppendString adds a value to a String or Bytes vector.
func (v *Vector) AppendString(s string) {
	if !v.kind.text() {
		v.must(String)
	}
	v.text = append(v.text, s...)
	v.endText()
	v.noteValid(v.n-1, true)
}

// AppendBytes adds a value to a String or Bytes vector.
func (v *Vector) AppendBytes(b []byte) {
	v.AppendString(unsafe.String(unsafe.SliceData(b), len(b)))
}

func (v *Vector) endText() {
	v.n++
	v.offsets = append(v.offsets, int32(len(v.text)))
}

// AppendNull adds a missing value.
func (v *Vector) AppendNull() {
	switch {
	case v.kind.text():
		v.endText()
	case v.kind == Bool:
		v.n++
		putBit(v.data, v.n-1, false)
	default:
		v.n++
		w := v.kind.Width()
		clear(v.data[(v.n-1)*w : v.n*w])
	}
	v.noteValid(v.n-1, false)
}

// noteValid notes whether value i, the last one, is there.
func (v *Vector) noteValid(i int, ok bool) {
	if v.nulls == 0 {
		if ok {
			return
		}
		v.beginNulls(i)
	}
	if !ok {
		v.nulls++
	}
	for len(v.valid) <= i>>3 {
		v.valid = append(v.valid, 0)
	}
	putBit(v.valid, i, ok)
}

// beginNulls makes a bitmap in which the first n values are there.
func (v *Vector) beginNulls(n int) {
	v.valid = v.valid[:0]
	for range (n + 7) / 8 {
		v.valid = append(v.valid, 0xFF)
	}
}

func putBit(bits []byte, i int, on bool) {
	if on {
		bits[i>>3] |= 1 << (i & 7)
	} else {
		bits[i>>3] &^= 1 << (i & 7)
	}
}

func bit(bits []byte, i int) bool { return bits[i>>3]&(1<<(i&7)) != 0 }

func (v *Vector) reset() {
	v.n, v.nulls, v.text = 0, 0, v.text[:0]
	if v.offsets != nil {
		v.offsets = append(v.offsets[:0], 0)
	}
}
