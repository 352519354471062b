package bin

import (
	"errors"
	"math/bits"
	"unsafe"
)

// Errors of the readers. They carry no position; the caller knows what it was reading.
var (
	ErrShort    = errors.New("input ends too early")
	ErrOverlong = errors.New("length is not in its shortest form or exceeds 64 bits")
)

// AppendUvarint appends v in base 128, least significant group first, high bit set on all bytes but the last.
func AppendUvarint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// UvarintLen is the number of bytes that AppendUvarint writes.
func UvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// Uvarint reads a number written by AppendUvarint and the input after it. A number written longer than needed is
// refused, so that one value has one form.
func Uvarint(src []byte) (v uint64, rest []byte, err error) {
	for i, b := range src {
		if b < 0x80 {
			if i == 9 && b > 1 || i > 0 && b == 0 {
				return 0, src, ErrOverlong
			}
			return v | uint64(b)<<(7*i), src[i+1:], nil
		}
		if i == 9 {
			return 0, src, ErrOverlong
		}
		v |= uint64(b&0x7f) << (7 * i)
	}
	return 0, src, ErrShort
}

// AppendString appends the length of s and s.
func AppendString(dst []byte, s string) []byte {
	return append(AppendUvarint(dst, uint64(len(s))), s...)
}

// AppendBytes appends the length of b and b.
func AppendBytes(dst []byte, b []byte) []byte {
	return append(AppendUvarint(dst, uint64(len(b))), b...)
}

// Bytes reads what AppendBytes or AppendString wrote. The result aliases src and has no spare capacity.
func Bytes(src []byte) (b, rest []byte, err error) {
	n, rest, err := Uvarint(src)
	if err != nil {
		return nil, src, err
	}
	if n > uint64(len(rest)) {
		return nil, src, ErrShort
	}
	return rest[:n:n], rest[n:], nil
}

// Text reads what AppendString wrote. The string aliases src: it changes when src does.
func Text(src []byte) (s string, rest []byte, err error) {
	b, rest, err := Bytes(src)
	return Alias(b), rest, err
}

// Alias is b as a string without a copy. The string changes when b does.
func Alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
