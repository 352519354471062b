package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
)

// corrupt is the error for bytes that no encoder wrote. what is the path of the value that was being read.
func corrupt(what string, err error) error {
	return errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailTask, "decode "+what, "")
}

func corruptf(what, format string, args ...any) error {
	return errs.New(errs.CodeCorrupt, errs.ClassFailTask, "decode "+what, format, args...)
}

// timeSize is the width of a time: seconds (8), nanoseconds (4), offset of the zone in seconds (4).
const timeSize = 16

func appendTime(dst []byte, t time.Time) []byte {
	_, offset := t.Zone()
	if offset != int(int32(offset)) {
		offset = 0 // no zone on earth; the instant is kept
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(t.Unix()))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(t.Nanosecond()))
	return binary.LittleEndian.AppendUint32(dst, uint32(int32(offset)))
}

var errNanos = errors.New("more than 999,999,999 nanoseconds in a time")

func readTime(src []byte) (time.Time, error) {
	sec, nano := int64(binary.LittleEndian.Uint64(src)), binary.LittleEndian.Uint32(src[8:])
	if nano > 999_999_999 {
		return time.Time{}, errNanos
	}
	return time.Unix(sec, int64(nano)).In(zone(int32(binary.LittleEndian.Uint32(src[12:])))), nil
}

// zones keeps one location for each quarter of an hour from -24 h to +24 h, so that decoding a local time does not
// allocate. Locations are made on first use; two goroutines may both make one, either will do.
var zones [2*96 + 1]atomic.Pointer[time.Location]

func zone(offset int32) *time.Location {
	if offset == 0 {
		return time.UTC
	}
	const quarter = 15 * 60
	i := int(offset)/quarter + 96
	if offset%quarter != 0 || i < 0 || i >= len(zones) {
		return time.FixedZone("", int(offset))
	}
	if l := zones[i].Load(); l != nil {
		return l
	}
	l := time.FixedZone("", int(offset))
	zones[i].Store(l)
	return l
}

// Tags of an address.
const (
	addrNone  = 0 // the zero Addr
	addrV4    = 4 // 4 bytes
	addrV6    = 6 // 16 bytes
	addrZoned = 7 // 16 bytes and the zone
)

func appendAddr(dst []byte, a netip.Addr) []byte {
	switch {
	case !a.IsValid():
		return append(dst, addrNone)
	case a.Is4():
		b := a.As4()
		return append(append(dst, addrV4), b[:]...)
	}
	b := a.As16()
	if z := a.Zone(); z != "" {
		return bin.AppendString(append(append(dst, addrZoned), b[:]...), z)
	}
	return append(append(dst, addrV6), b[:]...)
}

func readAddr(src []byte) (a netip.Addr, rest []byte, err error) {
	if len(src) == 0 {
		return a, src, bin.ErrShort
	}
	tag, rest := src[0], src[1:]
	switch tag {
	case addrNone:
		return a, rest, nil
	case addrV4:
		if len(rest) < 4 {
			return a, src, bin.ErrShort
		}
		return netip.AddrFrom4([4]byte(rest[:4])), rest[4:], nil
	case addrV6, addrZoned:
		if len(rest) < 16 {
			return a, src, bin.ErrShort
		}
		a = netip.AddrFrom16([16]byte(rest[:16]))
		if rest = rest[16:]; tag == addrV6 {
			return a, rest, nil
		}
		z, rest, err := bin.Bytes(rest)
		if err != nil {
			return a, src, err
		}
		if len(z) == 0 {
			return a, src, errors.New("empty zone in an address")
		}
		return a.WithZone(string(z)), rest, nil
	}
	return a, src, fmt.Errorf("unknown address tag %d", tag)
}

func readPrefix(src []byte) (p netip.Prefix, rest []byte, err error) {
	a, rest, err := readAddr(src)
	if err != nil {
		return p, src, err
	}
	if len(rest) == 0 {
		return p, src, bin.ErrShort
	}
	return makePrefix(a, rest[0], rest[1:])
}

// makePrefix makes a prefix of an address and the stored length, which is one more than the length; 0 is no prefix.
func makePrefix(a netip.Addr, bits byte, rest []byte) (netip.Prefix, []byte, error) {
	if a.Zone() != "" || int(bits)-1 > a.BitLen() || !a.IsValid() && bits > 0 {
		return netip.Prefix{}, rest, fmt.Errorf("no prefix of an address has the length %d", int(bits)-1)
	}
	return netip.PrefixFrom(a, int(bits)-1), rest, nil
}

func readAddrPort(src []byte) (a netip.AddrPort, rest []byte, err error) {
	addr, rest, err := readAddr(src)
	if err != nil {
		return a, src, err
	}
	if len(rest) < 2 {
		return a, src, bin.ErrShort
	}
	return netip.AddrPortFrom(addr, binary.LittleEndian.Uint16(rest)), rest[2:], nil
}

// appendBigInt writes twice the length of the magnitude, plus one if negative, and the magnitude, most significant
// byte first.
func appendBigInt(dst []byte, x *big.Int) []byte {
	n := (x.BitLen() + 7) / 8
	head := uint64(n) << 1
	if x.Sign() < 0 {
		head |= 1
	}
	dst = bin.AppendUvarint(dst, head)
	start := len(dst)
	dst = append(dst, make([]byte, n)...)
	x.FillBytes(dst[start:])
	return dst
}

// readBigInt sets *x anew; the digits that it had before may be shared and are left alone.
func readBigInt(src []byte, x *big.Int) (rest []byte, err error) {
	mag, neg, rest, err := bigIntBytes(src)
	if err != nil {
		return src, err
	}
	var fresh big.Int
	fresh.SetBytes(mag)
	if neg {
		fresh.Neg(&fresh)
	}
	*x = fresh
	return rest, nil
}

func bigIntBytes(src []byte) (mag []byte, neg bool, rest []byte, err error) {
	head, rest, err := bin.Uvarint(src)
	if err != nil {
		return nil, false, src, err
	}
	n := head >> 1
	if n > uint64(len(rest)) {
		return nil, false, src, bin.ErrShort
	}
	mag, neg = rest[:n], head&1 == 1
	if n > 0 && mag[0] == 0 || n == 0 && neg {
		return nil, false, src, errors.New("big number is not in its shortest form")
	}
	return mag, neg, rest[n:], nil
}

func readBigRat(src []byte, x *big.Rat) (rest []byte, err error) {
	var num, den big.Int
	if rest, err = readBigInt(src, &num); err != nil {
		return src, err
	}
	if rest, err = readBigInt(rest, &den); err != nil {
		return src, err
	}
	if den.Sign() <= 0 {
		return src, errors.New("denominator is not positive")
	}
	var fresh big.Rat
	fresh.SetFrac(&num, &den)
	*x = fresh
	return rest, nil
}

// widen reads a scalar of kind from out of src, which is long enough, and returns it as the bits of kind to. Complex
// numbers are not among them.
func widen(from, to Kind, src []byte) uint64 {
	var i int64
	switch from {
	case KindInt8:
		i = int64(int8(src[0]))
	case KindInt16:
		i = int64(int16(binary.LittleEndian.Uint16(src)))
	case KindInt32:
		i = int64(int32(binary.LittleEndian.Uint32(src)))
	case KindUint8:
		i = int64(src[0])
	case KindUint16:
		i = int64(binary.LittleEndian.Uint16(src))
	case KindUint32:
		i = int64(binary.LittleEndian.Uint32(src))
	case KindFloat32:
		return math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(src))))
	default:
		return binary.LittleEndian.Uint64(src)
	}
	switch to {
	case KindFloat32:
		return uint64(math.Float32bits(float32(i)))
	case KindFloat64:
		return math.Float64bits(float64(i))
	}
	return uint64(i)
}
