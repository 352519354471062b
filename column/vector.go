package column

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// Fixed are the Go types of values of fixed width.
type Fixed interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | Int128
}

// Int128 is a two's complement number of 128 bits, a value of kind Wide.
type Int128 struct {
	Lo uint64
	Hi int64
}

// Vector is one column of a batch. There are two ways to fill one. A producer of rows appends values by the methods Append... until
// the batch is full, which the caller watches with Batch.Room; an Append of another kind than the vector's panics. A kernel calls
// Begin and then sets values by their number, in any order and not necessarily all; what it does not set is undefined.
type Vector struct {
	kind Kind
	n    int
	// data holds values of fixed width, bits for Bool, Views for strings, spans for lists and maps; it is aligned to 8 bytes.
	data []byte
	// valid has a bit for each value, set if there is one. It means something only if nulls > 0.
	valid []byte
	nulls int

	text text
	// kids are the vectors of the children: as long as this one for a Struct, as long as all lists together otherwise.
	kids []Vector
}

// span is where a list lies in the child vector.
type span struct{ Offset, Len int32 }

// NewVector returns a vector for values that f describes, with room for rows of them.
func NewVector(f Field, rows int) Vector {
	v := Vector{kind: f.Kind}
	v.data = aligned(v.bytes(rows))
	for _, c := range f.Children {
		v.kids = append(v.kids, NewVector(c, rows))
	}
	return v
}

// bytes is how much of data n values take.
func (v *Vector) bytes(n int) int {
	if v.kind == Bool {
		return (n + 7) / 8
	}
	return n * v.kind.place()
}

// aligned returns n bytes at an address that fits any value.
func aligned(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// grow makes room for n values. Only children need it, and vectors that somebody uses outside a batch.
func (v *Vector) grow(n int) {
	if need := v.bytes(n); need > len(v.data) {
		d := aligned(max(need, 2*len(v.data)))
		copy(d, v.data)
		v.data = d
	}
}

// Kind returns the vector's kind.
func (v *Vector) Kind() Kind { return v.kind }

// Len returns the number of values, missing ones included.
func (v *Vector) Len() int { return v.n }

// Nulls returns how many values are missing, rows that a kernel has left out included.
func (v *Vector) Nulls() int { return v.nulls }

// Null reports whether value i is missing.
func (v *Vector) Null(i int) bool { return v.nulls > 0 && v.valid[i>>3]&(1<<(i&7)) == 0 }

// Validity returns the bitmap of the values that are there, lowest bit first, or nil if all are.
func (v *Vector) Validity() []byte {
	if v.nulls == 0 {
		return nil
	}
	return v.valid
}

// Values returns the values of a vector of fixed width; those of missing ones are undefined.
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
	case Int128:
		return Wide
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

// Bits returns the values of a Bool vector as a bitmap, lowest bit first. Bits behind the last value are undefined.
func (v *Vector) Bits() []byte {
	v.must(Bool)
	return v.data[:(v.n+7)/8]
}

// Span returns where list or map i lies in the child vectors.
func (v *Vector) Span(i int) (from, to int) {
	s := values[span](v, v.n)[i]
	return int(s.Offset), int(s.Offset) + int(s.Len)
}

// Child returns the vector of child i of a nested kind.
func (v *Vector) Child(i int) *Vector { return &v.kids[i] }

// Children returns the number of children.
func (v *Vector) Children() int { return len(v.kids) }

// Begin empties v and gives it n values, all there, to be set by their number. Until then strings and lists are empty, and others
// undefined: so whatever a vector holds where a value is missing or was not computed, it can be copied and written.
func (v *Vector) Begin(n int) {
	v.reset()
	v.grow(n)
	v.n = n
	if v.kind.text() || v.kind.spans() {
		clear(v.data[:v.bytes(n)])
	}
	if v.kind == Struct {
		for i := range v.kids {
			v.kids[i].Begin(n)
		}
	}
}

// SetNull makes value i missing. In vectors of fixed width it also becomes zero.
func (v *Vector) SetNull(i int) {
	if v.nulls == 0 {
		v.beginNulls(v.n)
	}
	mask := byte(1) << (i & 7)
	if v.valid[i>>3]&mask != 0 {
		v.valid[i>>3] &^= mask
		v.nulls++
	}
	v.zero(i)
}

// zero makes value i, which is missing, the zero one: rows with missing values are compared and hashed by their bytes.
func (v *Vector) zero(i int) {
	if v.kind == Bool {
		putBit(v.data, i, false)
		return
	}
	w := v.kind.place()
	clear(v.data[i*w : i*w+w])
}

// SetBool sets value i of a Bool vector.
func (v *Vector) SetBool(i int, x bool) { putBit(v.data, i, x) }

// SetSpan says that list or map i lies at [from, to) of the child vectors.
func (v *Vector) SetSpan(i, from, to int) {
	values[span](v, v.n)[i] = span{Offset: int32(from), Len: int32(to - from)}
}

// SetValidity makes those values missing that are missing in any of the given vectors, which are as long as v. It replaces what was
// noted before.
func (v *Vector) SetValidity(of ...*Vector) {
	v.nulls = 0
	for _, o := range of {
		switch {
		case o.nulls == 0:
		case v.nulls == 0:
			v.valid = append(v.valid[:0], o.valid[:(v.n+7)/8]...)
			v.nulls = o.nulls
		default:
			for i, b := range o.valid[:(v.n+7)/8] {
				v.valid[i] &= b
			}
			v.nulls = v.n - ones(v.valid, v.n)
		}
	}
}

// Swap exchanges the contents of two vectors of one kind: what an operator does that hands a column on.
func (v *Vector) Swap(o *Vector) {
	v.must(o.kind)
	*v, *o = *o, *v
}

// Append adds a value of fixed width to v.
func Append[T Fixed](v *Vector, x T) {
	v.must(kindOf(x))
	v.next()
	values[T](v, v.n)[v.n-1] = x
	v.noteValid(v.n-1, true)
}

// next makes place for another value.
func (v *Vector) next() {
	if v.bytes(v.n+1) > len(v.data) {
		v.grow(v.n + 1)
	}
	v.n++
}

// AppendBool adds a value to a Bool vector.
func (v *Vector) AppendBool(x bool) {
	v.must(Bool)
	v.next()
	putBit(v.data, v.n-1, x)
	v.noteValid(v.n-1, true)
}

// AppendNull adds a missing value.
func (v *Vector) AppendNull() {
	v.next()
	if v.kind == Struct {
		for i := range v.kids {
			v.kids[i].AppendNull()
		}
	}
	v.zero(v.n - 1)
	v.noteValid(v.n-1, false)
}

// EndList adds the list or map of the values that have been appended to the children since the last one.
func (v *Vector) EndList() {
	from := int32(0)
	for i := v.n - 1; i >= 0; i-- { // missing and empty lists lie nowhere
		if s := values[span](v, v.n)[i]; s.Len > 0 {
			from = s.Offset + s.Len
			break
		}
	}
	v.next()
	n := int32(v.kids[0].n) - from
	if n == 0 {
		from = 0
	}
	values[span](v, v.n)[v.n-1] = span{Offset: from, Len: n}
	v.noteValid(v.n-1, true)
}

// EndStruct adds the struct of the values that were appended to the children.
func (v *Vector) EndStruct() {
	v.must(Struct)
	v.n++
	v.noteValid(v.n-1, true)
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

// ones counts the set ones of the first n bits.
func ones(bitmap []byte, n int) int {
	count := 0
	for _, b := range bitmap[:n/8] {
		count += bits.OnesCount8(b)
	}
	if n&7 != 0 {
		count += bits.OnesCount8(bitmap[n/8] & (1<<(n&7) - 1))
	}
	return count
}

func bit(bits []byte, i int) bool { return bits[i>>3]&(1<<(i&7)) != 0 }

func (v *Vector) reset() {
	v.n, v.nulls = 0, 0
	if v.kind.text() {
		v.text.reset()
	}
	for i := range v.kids {
		v.kids[i].reset()
	}
}

// ClearValidity makes all values missing, for whoever then notes by SetValid those that are there.
func (v *Vector) ClearValidity() {
	v.nulls = v.n
	v.valid = v.valid[:0]
	for range (v.n + 7) / 8 {
		v.valid = append(v.valid, 0)
	}
}

// SetValid says that value i, which was missing, is there.
func (v *Vector) SetValid(i int) {
	v.valid[i>>3] |= 1 << (i & 7)
	v.nulls--
}
