package codec

import (
	"encoding"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"time"
	"unsafe"

	"github.com/weir-stream/weir/internal/bin"
)

// decode runs prog over src from i on and stores into the value at p. It returns the index after what it read. What it
// stores aliases src.
func decode(prog []op, src []byte, i int, p unsafe.Pointer) (int, error) {
	for k := range prog {
		o := &prog[k]
		at := unsafe.Add(p, uintptr(o.off))
		left := len(src) - i
		if left < int(o.n) { // n is 0 where the length is not known beforehand
			return i, errCopy
		}
		switch o.code {
		case opCopy8:
			*(*uint64)(at) = binary.LittleEndian.Uint64(src[i:])
			i += 8
		case opString:
			if left > 0 && src[i] < 0x80 && int(src[i]) < left {
				b := src[i+1 : i+1+int(src[i])]
				*(*string)(at) = bin.Alias(b)
				i += 1 + len(b)
				continue
			}
			s, rest, err := bin.Text(src[i:])
			if err != nil {
				return i, corrupt(o.sub.path, err)
			}
			*(*string)(at) = s
			i = len(src) - len(rest)
		case opCopy16:
			*(*[16]byte)(at) = [16]byte(src[i:])
			i += 16
		case opCopy24:
			*(*[24]byte)(at) = [24]byte(src[i:])
			i += 24
		case opCopy32:
			*(*[32]byte)(at) = [32]byte(src[i:])
			i += 32
		case opCopy:
			copy(unsafe.Slice((*byte)(at), int(o.n)), src[i:])
			i += int(o.n)
		case opCopy1:
			*(*byte)(at) = src[i]
			i++
		case opCopy2:
			*(*uint16)(at) = binary.LittleEndian.Uint16(src[i:])
			i += 2
		case opCopy4:
			*(*uint32)(at) = binary.LittleEndian.Uint32(src[i:])
			i += 4
		default:
			rest, err := decodeRest(o, src[i:], at)
			if err != nil {
				return i, err
			}
			i = len(src) - len(rest)
		}
	}
	return i, nil
}

var (
	errCopy  = corrupt("fixed-width fields", bin.ErrShort)
	errBool  = errors.New("a bool is neither 0 nor 1")
	errNull  = errors.New("the null byte of a pointer is neither 0 nor 1")
	errOrder = errors.New("keys of a map are not in ascending order")
	errMany  = errors.New("more elements than the input can hold")
)

// decodeRest is the part of decode for what is not copied.
func decodeRest(o *op, src []byte, at unsafe.Pointer) (rest []byte, err error) {
	switch o.code {
	case opSkip:
		return src[o.n:], nil
	case opSkipSchema:
		rest, err = skip(o.sub.schema, src)
	case opWiden:
		rest, err = decodeWiden(o.sub, src, at)
	case opLoop:
		return decodeLoop(o.sub, o.sub.count, src, at)
	case opSlice, opSliceBulk:
		return decodeSlice(o, src, at)
	case opPointer:
		return decodePointer(o.sub, src, at)
	case opMap:
		return decodeMap(o.sub, src, at)
	case opBox:
		return decodeBox(o.sub, src, 0, at)
	default:
		rest, err = decodeLeaf(o, src, at)
	}
	if err != nil {
		return src, corrupt(o.sub.path, err)
	}
	return rest, nil
}

// memoryMax is more than any machine has: elements that are huge in memory and small in the encoding (most of their
// fields are not encoded) may not overflow a size.
const memoryMax = 1 << 46

// decodeLeaf reads what has no elements.
func decodeLeaf(o *op, src []byte, at unsafe.Pointer) (rest []byte, err error) {
	switch o.code {
	case opBool:
		if len(src) == 0 {
			return src, bin.ErrShort
		}
		if src[0] > 1 {
			return src, errBool
		}
		*(*bool)(at) = src[0] == 1
		return src[1:], nil
	case opBytes:
		var b []byte
		if b, rest, err = readBytes(src); err == nil {
			*(*[]byte)(at) = b
		}
	case opTime:
		if len(src) < timeSize {
			return src, bin.ErrShort
		}
		rest = src[timeSize:]
		*(*time.Time)(at), err = readTime(src)
	case opAddr:
		*(*netip.Addr)(at), rest, err = readAddr(src)
	case opPrefix:
		*(*netip.Prefix)(at), rest, err = readPrefix(src)
	case opAddrPort:
		*(*netip.AddrPort)(at), rest, err = readAddrPort(src)
	case opBigInt:
		rest, err = readBigInt(src, (*big.Int)(at))
	case opBigRat:
		rest, err = readBigRat(src, (*big.Rat)(at))
	case opOpaque:
		rest, err = readOpaque(o.sub.typ, src, at)
	}
	return rest, err
}

// readBytes reads a byte slice that may be nil.
func readBytes(src []byte) (b, rest []byte, err error) {
	n, rest, err := bin.Uvarint(src)
	switch {
	case err != nil:
		return nil, src, err
	case n == 0:
		return nil, rest, nil
	case n-1 > uint64(len(rest)):
		return nil, src, bin.ErrShort
	}
	return rest[: n-1 : n-1], rest[n-1:], nil
}

// readCount reads the count of a slice or map of elements that need at least least bytes each. It never promises more
// than src can hold; elements that need no bytes may be as many as an int can say.
func readCount(src []byte, least int) (n int, isNil bool, rest []byte, err error) {
	v, rest, err := bin.Uvarint(src)
	switch {
	case err != nil:
		return 0, false, src, err
	case v == 0:
		return 0, true, rest, nil
	case v-1 > math.MaxInt || least > 0 && v-1 > uint64(len(rest)/least):
		return 0, false, src, errMany
	}
	return int(v - 1), false, rest, nil
}

func decodeWiden(s *sub, src []byte, at unsafe.Pointer) ([]byte, error) {
	n := int(scalarSize[s.from])
	if len(src) < n {
		return src, bin.ErrShort
	}
	if s.from == KindComplex64 {
		re, im := binary.LittleEndian.Uint32(src), binary.LittleEndian.Uint32(src[4:])
		*(*complex128)(at) = complex(float64(math.Float32frombits(re)), float64(math.Float32frombits(im)))
		return src[n:], nil
	}
	bits := widen(s.from, s.to, src)
	switch scalarSize[s.to] {
	case 2:
		*(*uint16)(at) = uint16(bits)
	case 4:
		*(*uint32)(at) = uint32(bits)
	default:
		*(*uint64)(at) = bits
	}
	return src[n:], nil
}

func decodeLoop(s *sub, n int, src []byte, at unsafe.Pointer) (rest []byte, err error) {
	if len(s.prog) == 0 {
		return src, nil
	}
	i := 0
	for k := range uintptr(n) {
		if i, err = decode(s.prog, src, i, unsafe.Add(at, k*s.stride)); err != nil {
			return src, err
		}
	}
	return src[i:], nil
}

func decodeSlice(o *op, src []byte, at unsafe.Pointer) ([]byte, error) {
	s := o.sub
	n, isNil, rest, err := readCount(src, s.least)
	if err != nil {
		return src, corrupt(s.path, err)
	}
	if isNil {
		*(*sliceHeader)(at) = sliceHeader{}
		return rest, nil
	}
	if s.stride > 0 && uintptr(n) > memoryMax/s.stride {
		return src, corrupt(s.path, errMany)
	}
	data := s.makeSlice(o.code == opSliceBulk, n, at)
	if o.code == opSliceBulk {
		size := n * int(s.stride)
		copy(unsafe.Slice((*byte)(data), size), rest)
		return rest[size:], nil
	}
	return decodeLoop(s, n, rest, data)
}

// makeSlice stores a new slice of n elements at the slice at at and returns where the elements are.
func (s *sub) makeSlice(pointerFree bool, n int, at unsafe.Pointer) unsafe.Pointer {
	if pointerFree && s.stride > 0 {
		// Memory without pointers may be made as words, which costs no reflection and is aligned for everything.
		words := make([]uint64, (n*int(s.stride)+7)/8+1)
		data := unsafe.Pointer(unsafe.SliceData(words))
		*(*sliceHeader)(at) = sliceHeader{data, n, n}
		return data
	}
	data := reflect.MakeSlice(s.typ, n, n).UnsafePointer()
	*(*sliceHeader)(at) = sliceHeader{data, n, n}
	return data
}

func decodePointer(s *sub, src []byte, at unsafe.Pointer) ([]byte, error) {
	if len(src) == 0 {
		return src, corrupt(s.path, bin.ErrShort)
	}
	switch src[0] {
	case 0:
		*(*unsafe.Pointer)(at) = nil
		return src[1:], nil
	case 1:
	default:
		return src, corrupt(s.path, errNull)
	}
	return decodeBox(s, src, 1, at)
}

// decodeBox reads a value from src[i:] to memory of its own and stores the pointer to it.
func decodeBox(s *sub, src []byte, i int, at unsafe.Pointer) ([]byte, error) {
	target := reflect.New(s.typ.Elem()).UnsafePointer()
	i, err := decode(s.prog, src, i, target)
	if err != nil {
		return src, err
	}
	*(*unsafe.Pointer)(at) = target
	return src[i:], nil
}

func decodeMap(s *sub, src []byte, at unsafe.Pointer) ([]byte, error) {
	n, isNil, rest, err := readCount(src, 1+s.least)
	if err != nil {
		return src, corrupt(s.path, err)
	}
	if isNil {
		*(*unsafe.Pointer)(at) = nil
		return rest, nil
	}
	m := reflect.MakeMapWithSize(s.typ, n)
	// One key and one value serve for all entries: decoding sets everything that is encoded, and the rest stays zero.
	key, val := reflect.New(s.typ.Key()), reflect.New(s.typ.Elem())
	var last []byte
	for k := range n {
		kb, after, err := bin.Bytes(rest)
		if err != nil {
			return src, corrupt(s.path, err)
		}
		if k > 0 && !s.key.ascends(last, kb) {
			return src, corrupt(s.path, errOrder)
		}
		last = kb
		if err := s.key.decode(kb, key.UnsafePointer()); err != nil {
			return src, corrupt(s.path, err)
		}
		i, err := decode(s.prog, after, 0, val.UnsafePointer())
		if err != nil {
			return src, err
		}
		rest = after[i:]
		m.SetMapIndex(key.Elem(), val.Elem())
	}
	*(*unsafe.Pointer)(at) = m.UnsafePointer()
	return rest, nil
}

// readOpaque hands the type's own method a copy, because BinaryUnmarshaler may neither keep nor change its argument but
// not every type obeys.
func readOpaque(t reflect.Type, src []byte, at unsafe.Pointer) ([]byte, error) {
	b, rest, err := bin.Bytes(src)
	if err != nil {
		return src, err
	}
	v := reflect.New(t)
	if err := v.Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(append([]byte(nil), b...)); err != nil {
		return src, err
	}
	reflect.NewAt(t, at).Elem().Set(v.Elem())
	return rest, nil
}

// skip passes over one value of s without decoding it. Only lengths are checked.
func skip(s *Schema, src []byte) (rest []byte, err error) {
	if w, static := s.width(); static {
		if w > int64(len(src)) {
			return src, bin.ErrShort
		}
		return src[w:], nil
	}
	switch s.Kind {
	case KindString, KindOpaque:
		_, rest, err = bin.Bytes(src)
	case KindBytes:
		_, rest, err = readBytes(src)
	case KindAddr:
		_, rest, err = readAddr(src)
	case KindPrefix:
		_, rest, err = readPrefix(src)
	case KindAddrPort:
		_, rest, err = readAddrPort(src)
	case KindBigInt:
		_, _, rest, err = bigIntBytes(src)
	case KindBigRat:
		if _, _, rest, err = bigIntBytes(src); err == nil {
			_, _, rest, err = bigIntBytes(rest)
		}
	case KindPointer:
		if len(src) == 0 {
			return src, bin.ErrShort
		}
		if src[0] == 0 {
			return src[1:], nil
		}
		return skip(s.Elem, src[1:])
	case KindArray:
		return skipElems(s.Elem, s.Len, src)
	case KindStruct:
		for i := range s.Fields {
			if src, err = skip(s.Fields[i].Type, src); err != nil {
				return src, err
			}
		}
		return src, nil
	default:
		return skipCounted(s, src)
	}
	return rest, err
}

// skipCounted passes over a slice or a map.
func skipCounted(s *Schema, src []byte) ([]byte, error) {
	w, _ := s.Elem.width()
	if s.Kind == KindSlice {
		n, _, rest, err := readCount(src, int(w))
		if err != nil {
			return src, err
		}
		return skipElems(s.Elem, n, rest)
	}
	n, _, rest, err := readCount(src, int(w)+1)
	for range n {
		if err != nil {
			return src, err
		}
		if _, rest, err = bin.Bytes(rest); err == nil {
			rest, err = skip(s.Elem, rest)
		}
	}
	return rest, err
}

func skipElems(s *Schema, n int, src []byte) (rest []byte, err error) {
	w, static := s.width()
	if w > 0 && int64(n) > int64(len(src))/w {
		return src, bin.ErrShort
	}
	if static {
		return src[int64(n)*w:], nil
	}
	for rest = src; n > 0 && err == nil; n-- {
		rest, err = skip(s, rest)
	}
	return rest, err
}
