package csv

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// fast reads the plain line data[p:end]. Values in an unusual spelling are handed to field.set; what that refuses fails
// the record.
func (s *scanner) fast(base unsafe.Pointer, data []byte, p, end int) bool {
	delimiter := s.opts.Delimiter
	i := p
	last := len(s.cols) - 1
	for n := range s.cols {
		c := &s.cols[n]
		start := i
		done := false
		switch c.fast {
		case kindSkip:
			i, done = fieldEnd(data, i, end, delimiter), true
		case kindInt:
			if at, v, ok := scanInt(data, i, end); ok && (at == end || data[at] == delimiter) {
				shift := (64 - uint(c.bytes)*8) & 63
				if v<<shift>>shift == v {
					storeInt(unsafe.Add(base, c.offset), v, c.bytes)
					i, done = at, true
				}
			}
		case kindString:
			i, done = s.string((*string)(unsafe.Add(base, c.offset)), data, i, end), true
		case kindUint:
			if at, v, ok := scanInt(data, i, end); ok && v >= 0 && data[i] != '-' && (at == end || data[at] == delimiter) {
				if c.bytes == 8 || v>>(uint(c.bytes)*8&63) == 0 {
					storeInt(unsafe.Add(base, c.offset), v, c.bytes)
					i, done = at, true
				}
			}
		case kindFloat:
			if at, v, ok := scanFloat(data, i, end, c.bytes); ok && (at == end || data[at] == delimiter) {
				storeFloat(unsafe.Add(base, c.offset), v, c.bytes)
				i, done = at, true
			}
		}
		if done {
			if c.null == nullFlag {
				*(*bool)(unsafe.Add(base, c.flagOffset)) = true
			}
		} else {
			i = fieldEnd(data, i, end, delimiter)
			if err := c.set(base, data[start:i], false, s.opts.Nulls, s.pool); err != nil {
				return s.failFast(data, p, end, n, start, i, err)
			}
		}
		if n == last {
			break
		}
		if i >= end {
			s.ragged(p, n+1, data[p:end])
			return false
		}
		i++
	}
	if i < end {
		s.ragged(p, count(data[p:end], delimiter)+1, data[p:end])
		return false
	}
	return true
}

// failFast fails the record for the value data[start:i] of column n, or for its number of fields if that is wrong too:
// then the value most likely belongs to another column.
func (s *scanner) failFast(data []byte, p, end, n, start, i int, err error) bool {
	if got := count(data[p:end], s.opts.Delimiter) + 1; got != len(s.cols) {
		s.ragged(p, got, data[p:end])
		return false
	}
	s.fail = failure{col: n, at: start, text: data[start:i], err: err}
	return false
}

func count(line []byte, b byte) (n int) {
	for _, x := range line {
		if x == b {
			n++
		}
	}
	return n
}

// string stores the text of the field at data[i:], and returns its end. Up to eight bytes are found, compared and looked
// up as one word.
func (s *scanner) string(dst *string, data []byte, i, end int) int {
	if i+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[i:])
		x := w ^ uint64(s.opts.Delimiter)*lowBits
		n := bits.TrailingZeros64((x-lowBits)&^x&highBits) >> 3
		n = min(n, end-i)
		if n < 8 {
			*dst = s.pool.Short(w&(1<<(8*uint(n))-1), n)
			return i + n
		}
	}
	at := fieldEnd(data, i, end, s.opts.Delimiter)
	*dst = s.pool.String(data[i:at])
	return at
}

// scanInt reads an optional minus and up to 18 digits at data[i:end].
func scanInt(data []byte, i, end int) (at int, v int64, ok bool) {
	data = data[:end]
	negative := i < len(data) && data[i] == '-'
	if negative {
		i++
	}
	start := i
	for i < len(data) {
		d := data[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		i++
	}
	if negative {
		v = -v
	}
	// Eighteen digits cannot overflow; what is longer has wrapped and is not used.
	return i, v, i > start && i-start <= 18
}

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// scanFloat reads digits with at most one point. A whole number that the float holds exactly, divided by a power of ten
// that it holds exactly, is rounded once: the result is the nearest float, as strconv's is.
func scanFloat(data []byte, i, end int, size uint8) (at int, v float64, ok bool) {
	data = data[:end]
	negative := i < len(data) && data[i] == '-'
	if negative {
		i++
	}
	var m uint64
	digits, fraction, point := 0, 0, false
	for i < len(data) {
		c := data[i]
		if d := c - '0'; d <= 9 {
			m = m*10 + uint64(d)
			digits++
			if point {
				fraction++
			}
		} else if c == '.' && !point {
			point = true
		} else {
			break
		}
		i++
	}
	if digits == 0 || digits > 15 {
		return i, 0, false
	}
	if size == 4 {
		if m > 1<<24 || fraction > 10 {
			return i, 0, false
		}
		v = float64(float32(m) / float32(pow10[fraction]))
	} else {
		v = float64(m) / pow10[fraction]
	}
	if negative {
		v = -v
	}
	return i, v, true
}
