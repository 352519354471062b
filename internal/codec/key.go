package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
)

// KeyCodec encodes, decodes and hashes keys of type K. The encoding is stable (docs/format/key.md), injective, and
// ordered: comparing two encodings as bytes gives the order of the keys, field by field. Every key group, every table
// and every checkpoint depends on it. A KeyCodec is immutable and may be used from all goroutines.
type KeyCodec[K any] struct {
	prog   *keyProgram
	schema *Schema
	fast   hashPath
}

var keyCodecs sync.Map // reflect.Type of K -> *KeyCodec[K]

// KeyFor returns the codec for keys of type K, or an error that names the part of K that cannot be one. A key is what ==
// compares, so that unexported fields count, with three exceptions: -0 is 0, every NaN is one key, and a time is its
// instant in any zone.
func KeyFor[K any]() (*KeyCodec[K], error) {
	t := reflect.TypeFor[K]()
	if c, ok := keyCodecs.Load(t); ok {
		return c.(*KeyCodec[K]), nil
	}
	var b keyBuilder
	n, err := b.build(t, shortName(t), true)
	if err != nil {
		return nil, errs.Wrap(err, errs.CodeCodec, errs.ClassUser, "", "")
	}
	c := &KeyCodec[K]{prog: n.program(), schema: n.schema, fast: pickHashPath(n)}
	keyCodecs.Store(t, c)
	return c, nil
}

// Append appends the encoding of *k, which is not changed and not kept.
func (c *KeyCodec[K]) Append(dst []byte, k *K) []byte {
	return c.prog.encode(dst, unsafe.Pointer(k))
}

// Decode reads a key whose encoding is the whole of src. Strings in *k alias src, except those with a zero byte that
// are not the last part of the key. After an error *k is undefined.
func (c *KeyCodec[K]) Decode(src []byte, k *K) error {
	if err := c.prog.decode(src, noescape(unsafe.Pointer(k))); err != nil {
		return corrupt("key", err)
	}
	return nil
}

// FixedWidth is the length of every encoding, if all have the same.
func (c *KeyCodec[K]) FixedWidth() (int, bool) { return max(c.prog.width, 0), c.prog.width >= 0 }

// Schema describes the key. Keys of equal schemas have equal encodings.
func (c *KeyCodec[K]) Schema() *Schema { return c.schema }

func (p *keyProgram) encode(dst []byte, base unsafe.Pointer) []byte {
	for i := range p.ops {
		o := &p.ops[i]
		at := unsafe.Add(base, uintptr(o.off))
		switch o.code {
		case keyBool:
			dst = append(dst, *(*byte)(at))
		case keyUint:
			dst = appendUint(dst, loadUint(at, o.n), o.n)
		case keyInt:
			dst = appendUint(dst, loadUint(at, o.n)^1<<(8*o.n-1), o.n)
		case keyFloat:
			dst = appendUint(dst, orderFloat(at, o.n), o.n)
		case keyRaw:
			dst = append(dst, unsafe.Slice((*byte)(at), int(o.n))...)
		case keyText:
			dst = appendEscaped(dst, *(*string)(at))
		case keyTail:
			dst = append(dst, *(*string)(at)...)
		case keyTime:
			t := (*time.Time)(at)
			dst = binary.BigEndian.AppendUint64(dst, uint64(t.Unix())^1<<63)
			dst = binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond()))
		default:
			dst = encodeKeyAddr(o.code, dst, at)
		}
	}
	return dst
}

func encodeKeyAddr(code keyCode, dst []byte, at unsafe.Pointer) []byte {
	if code == keyPrefix {
		p := *(*netip.Prefix)(at)
		return append(appendKeyAddr(dst, p.Addr()), byte(p.Bits()+1))
	}
	a := *(*netip.Addr)(at)
	dst = appendKeyAddr(dst, a)
	switch {
	case !a.Is6():
	case code == keyAddr:
		dst = appendEscaped(dst, a.Zone())
	default:
		dst = append(dst, a.Zone()...)
	}
	return dst
}

// appendKeyAddr appends the tag and the bytes, which sort as Addr.Compare does.
func appendKeyAddr(dst []byte, a netip.Addr) []byte {
	switch {
	case a.Is4():
		b := a.As4()
		return append(append(dst, addrV4), b[:]...)
	case a.Is6():
		b := a.As16()
		return append(append(dst, addrV6), b[:]...)
	}
	return append(dst, addrNone)
}

func loadUint(at unsafe.Pointer, n uint32) uint64 {
	switch n {
	case 8:
		return *(*uint64)(at)
	case 4:
		return uint64(*(*uint32)(at))
	case 2:
		return uint64(*(*uint16)(at))
	}
	return uint64(*(*uint8)(at))
}

func storeUint(at unsafe.Pointer, n uint32, v uint64) {
	switch n {
	case 8:
		*(*uint64)(at) = v
	case 4:
		*(*uint32)(at) = uint32(v)
	case 2:
		*(*uint16)(at) = uint16(v)
	default:
		*(*uint8)(at) = uint8(v)
	}
}

func appendUint(dst []byte, v uint64, n uint32) []byte {
	switch n {
	case 8:
		return binary.BigEndian.AppendUint64(dst, v)
	case 4:
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	case 2:
		return binary.BigEndian.AppendUint16(dst, uint16(v))
	}
	return append(dst, byte(v))
}

func readUint(src []byte, n uint32) uint64 {
	switch n {
	case 8:
		return binary.BigEndian.Uint64(src)
	case 4:
		return uint64(binary.BigEndian.Uint32(src))
	case 2:
		return uint64(binary.BigEndian.Uint16(src))
	}
	return uint64(src[0])
}

// orderFloat is the float at at as an integer of n bytes that sorts as the float does: the sign bit flipped if
// positive, all bits if negative. -0 is taken as 0; every NaN as one, which sorts after +Inf.
func orderFloat(at unsafe.Pointer, n uint32) uint64 {
	if n == 4 {
		f := *(*float32)(at)
		b := math.Float32bits(f)
		switch {
		case f == 0:
			b = 0
		case f != f:
			b = 0x7fc00000
		}
		if b>>31 == 1 {
			return uint64(^b)
		}
		return uint64(b | 1<<31)
	}
	return orderFloat64(*(*float64)(at))
}

func orderFloat64(f float64) uint64 {
	b := math.Float64bits(f)
	switch {
	case f == 0:
		b = 0
	case f != f:
		b = 0x7ff8000000000000
	}
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// storeFloat undoes orderFloat.
func storeFloat(at unsafe.Pointer, n uint32, v uint64) error {
	top := uint64(1) << (8*n - 1)
	if v&top != 0 {
		v ^= top
	} else {
		v = ^v
	}
	was := v
	storeUint(at, n, was)
	got := orderFloat(at, n)
	if got&top != 0 {
		got ^= top
	} else {
		got = ^got
	}
	if n == 4 && uint32(got) != uint32(was) || n == 8 && got != was {
		return errors.New("a float is not in its canonical form")
	}
	return nil
}

// appendEscaped writes s so that another part can follow: a zero byte as 00 FF, and 00 00 at the end.
func appendEscaped(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			return append(append(dst, s...), 0, 0)
		}
		dst = append(append(dst, s[:i]...), 0, 0xff)
		s = s[i+1:]
	}
}

var errEscape = errors.New("a zero byte in a string is neither escaped nor its end")

// readEscaped undoes appendEscaped. The string aliases src unless it has zero bytes.
func readEscaped(src []byte) (s string, rest []byte, err error) {
	var own []byte
	for rest = src; ; {
		i := bytes.IndexByte(rest, 0)
		if i < 0 || i+1 >= len(rest) {
			return "", src, bin.ErrShort
		}
		mark := rest[i+1]
		switch {
		case mark == 0xff:
			own = append(append(own, rest[:i]...), 0)
			rest = rest[i+2:]
		case mark != 0:
			return "", src, errEscape
		case own == nil:
			return bin.Alias(rest[:i]), rest[i+2:], nil
		default:
			return string(append(own, rest[:i]...)), rest[i+2:], nil
		}
	}
}

// ascends says whether a key of a map may follow the last one.
func (p *keyProgram) ascends(last, next []byte) bool {
	c := bytes.Compare(last, next)
	return c < 0 || c == 0 && p.loose
}

var errLong = errors.New("bytes are left after the key")

// decode reads a key that is the whole of src.
func (p *keyProgram) decode(src []byte, base unsafe.Pointer) error {
	for i := range p.ops {
		o := &p.ops[i]
		at := unsafe.Add(base, uintptr(o.off))
		if int(o.n) > len(src) {
			return bin.ErrShort
		}
		var err error
		rest := src[o.n:]
		switch o.code {
		case keyBool:
			if src[0] > 1 {
				return errBool
			}
			*(*bool)(at) = src[0] == 1
		case keyUint:
			storeUint(at, o.n, readUint(src, o.n))
		case keyInt:
			storeUint(at, o.n, readUint(src, o.n)^1<<(8*o.n-1))
		case keyFloat:
			err = storeFloat(at, o.n, readUint(src, o.n))
		case keyRaw:
			copy(unsafe.Slice((*byte)(at), int(o.n)), src)
		case keyTime:
			nano := binary.BigEndian.Uint32(src[8:])
			if nano > 999_999_999 {
				return errNanos
			}
			*(*time.Time)(at) = time.Unix(int64(binary.BigEndian.Uint64(src)^1<<63), int64(nano)).UTC()
		case keyText:
			*(*string)(at), rest, err = readEscaped(src)
		case keyTail:
			*(*string)(at), rest = bin.Alias(src), nil
		case keyPrefix:
			*(*netip.Prefix)(at), rest, err = readKeyPrefix(src)
		default:
			*(*netip.Addr)(at), rest, err = readKeyAddr(o.code, src)
		}
		if err != nil {
			return err
		}
		src = rest
	}
	if len(src) > 0 {
		return errLong
	}
	return nil
}

func readKeyPrefix(src []byte) (p netip.Prefix, rest []byte, err error) {
	if len(src) > 0 && src[0] == addrZoned {
		return p, src, errors.New("a prefix has no zone")
	}
	return readPrefix(src)
}

func readKeyAddr(code keyCode, src []byte) (a netip.Addr, rest []byte, err error) {
	if len(src) > 0 && src[0] == addrZoned {
		return a, src, errors.New("unknown address tag 7")
	}
	a, rest, err = readAddr(src)
	if err != nil || !a.Is6() {
		return a, rest, err
	}
	zone := bin.Alias(rest)
	if code == keyAddr {
		if zone, rest, err = readEscaped(rest); err != nil {
			return a, src, err
		}
	} else {
		rest = nil
	}
	if zone != "" {
		a = a.WithZone(strings.Clone(zone))
	}
	return a, rest, nil
}
