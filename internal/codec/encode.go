package codec

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"github.com/weir-stream/weir/internal/bin"
)

// encode runs prog over the value at p.
func encode(prog []op, dst []byte, p unsafe.Pointer) []byte {
	for i := range prog {
		o := &prog[i]
		at := unsafe.Add(p, uintptr(o.off))
		switch o.code {
		case opCopy8:
			dst = binary.LittleEndian.AppendUint64(dst, *(*uint64)(at))
		case opString:
			s := *(*string)(at)
			n := len(dst)
			if len(s) < 0x80 && len(s) < cap(dst)-n { // one check for length and content
				dst = dst[:n+1+len(s)]
				dst[n] = byte(len(s))
				copy(dst[n+1:], s)
				continue
			}
			dst = bin.AppendString(dst, s)
		case opCopy16:
			b := (*[16]byte)(at)
			dst = append(dst, b[:]...)
		case opCopy24:
			b := (*[24]byte)(at)
			dst = append(dst, b[:]...)
		case opCopy32:
			b := (*[32]byte)(at)
			dst = append(dst, b[:]...)
		case opCopy:
			dst = append(dst, unsafe.Slice((*byte)(at), int(o.n))...)
		case opCopy1:
			dst = append(dst, *(*byte)(at))
		case opCopy2:
			dst = binary.LittleEndian.AppendUint16(dst, *(*uint16)(at))
		case opCopy4:
			dst = binary.LittleEndian.AppendUint32(dst, *(*uint32)(at))
		case opLoop:
			for k := range uintptr(o.sub.count) {
				dst = encode(o.sub.prog, dst, unsafe.Add(at, k*o.sub.stride))
			}
		default:
			dst = encodeRest(o, dst, at)
		}
	}
	return dst
}

// encodeRest is the part of encode for what is not copied.
func encodeRest(o *op, dst []byte, at unsafe.Pointer) []byte {
	switch o.code {
	case opZero:
		n := len(dst)
		dst = slices.Grow(dst, int(o.n))[:n+int(o.n)]
		clear(dst[n:])
	case opBytes:
		b := *(*[]byte)(at)
		if b == nil {
			return append(dst, 0)
		}
		dst = append(bin.AppendUvarint(dst, uint64(len(b))+1), b...)
	case opTime:
		dst = appendTime(dst, *(*time.Time)(at))
	case opAddr:
		dst = appendAddr(dst, *(*netip.Addr)(at))
	case opPrefix:
		p := *(*netip.Prefix)(at)
		dst = append(appendAddr(dst, p.Addr()), byte(p.Bits()+1))
	case opAddrPort:
		a := *(*netip.AddrPort)(at)
		dst = binary.LittleEndian.AppendUint16(appendAddr(dst, a.Addr()), a.Port())
	case opBigInt:
		dst = appendBigInt(dst, (*big.Int)(at))
	case opBigRat:
		r := (*big.Rat)(at)
		dst = appendBigInt(appendBigInt(dst, r.Num()), r.Denom())
	case opOpaque:
		dst = appendOpaque(dst, reflect.NewAt(o.sub.typ, at))
	case opSlice, opSliceBulk:
		dst = encodeSlice(o, dst, (*sliceHeader)(at))
	case opPointer:
		target := *(*unsafe.Pointer)(at)
		if target == nil {
			return append(dst, 0)
		}
		dst = encode(o.sub.prog, append(dst, 1), target)
	case opMap:
		dst = encodeMap(o.sub, dst, reflect.NewAt(o.sub.typ, at).Elem())
	}
	return dst
}

// sliceHeader is the memory of a slice of any type.
type sliceHeader struct {
	data unsafe.Pointer
	len  int
	cap  int
}

func encodeSlice(o *op, dst []byte, h *sliceHeader) []byte {
	if h.data == nil {
		return append(dst, 0)
	}
	dst = bin.AppendUvarint(dst, uint64(h.len)+1)
	if o.code == opSliceBulk {
		return append(dst, unsafe.Slice((*byte)(h.data), uintptr(h.len)*o.sub.stride)...)
	}
	if len(o.sub.prog) == 0 {
		return dst
	}
	for i := range h.len {
		dst = encode(o.sub.prog, dst, unsafe.Add(h.data, uintptr(i)*o.sub.stride))
	}
	return dst
}

// encodeMap writes the entries in the order of their encoded keys, so that equal maps have equal bytes.
func encodeMap(s *sub, dst []byte, m reflect.Value) []byte {
	if m.IsNil() {
		return append(dst, 0)
	}
	type entry struct{ keyEnd, start, end int }
	dst = bin.AppendUvarint(dst, uint64(m.Len())+1)
	entries := make([]entry, 0, m.Len())
	var buf []byte
	key, val := reflect.New(s.typ.Key()), reflect.New(s.typ.Elem())
	for it := m.MapRange(); it.Next(); {
		key.Elem().SetIterKey(it)
		val.Elem().SetIterValue(it)
		e := entry{start: len(buf)}
		buf = s.key.encode(buf, key.UnsafePointer())
		e.keyEnd = len(buf)
		buf = encode(s.prog, buf, val.UnsafePointer())
		e.end = len(buf)
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if c := bytes.Compare(buf[a.start:a.keyEnd], buf[b.start:b.keyEnd]); c != 0 {
			return c
		}
		return bytes.Compare(buf[a.keyEnd:a.end], buf[b.keyEnd:b.end]) // several NaN keys
	})
	for _, e := range entries {
		dst = bin.AppendBytes(dst, buf[e.start:e.keyEnd])
		dst = append(dst, buf[e.keyEnd:e.end]...)
	}
	return dst
}

// appendOpaque panics with an error if the value refuses to be encoded; it is the user's method that failed.
func appendOpaque(dst []byte, v reflect.Value) []byte {
	b, err := v.Interface().(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic(fmt.Errorf("codec: MarshalBinary of %s: %w", v.Type().Elem(), err))
	}
	return bin.AppendBytes(dst, b)
}
