package csv

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// fast reads the line data[p:end]. Values in an unusual spelling are handed to field.set; what that refuses fails the
// record. If the line is not plain, quoted fields without quotes inside are read here too; anything else is odd.
func (s *scanner) fast(base unsafe.Pointer, data []byte, p, end int, plain bool) recordStatus {
	delimiter := s.opts.Delimiter
	i := p
	last := len(s.cols) - 1
	for n := 0; n <= last; n++ {
		c := &s.cols[n]
		start := i
		at, done := -1, false
		if plain && c.run > 0 {
			// The delimiter behind the whole run is looked for; if the run is the last one there is none, and the last field's
			// start is looked for.
			n += c.run - 1
			need := c.run
			if n == last {
				need--
			}
			if i = nthDelimiter(data, i, end, delimiter, need); i == end && need > 0 {
				return s.raggedFast(data, p, end, plain)
			}
			if n == last {
				i = fieldEnd(data, i+min(need, 1), end, delimiter)
			}
		} else if !plain && i < end && data[i] == s.opts.Quote {
			k := bytes.IndexByte(data[i+1:end], s.opts.Quote)
			if at = i + k + 2; k < 0 || at < end && data[at] != delimiter {
				return recordOdd
			}
			if c.kind != kindSkip {
				if err := c.set(base, data[i+1:at-1], true, s.opts.Nulls, s.pool); err != nil {
					return s.failFast(data, p, end, failure{col: n, at: start, text: data[i+1 : at-1], err: err}, plain)
				}
			}
			i = at
		} else {
			if at, done = s.plainField(c, base, data, i, end); done {
				if i = at; c.null == nullFlag {
					*(*bool)(unsafe.Add(base, c.flagOffset)) = true
				}
			} else if i = fieldEnd(data, i, end, delimiter); c.kind != kindSkip {
				if err := c.set(base, data[start:i], false, s.opts.Nulls, s.pool); err != nil {
					return s.failFast(data, p, end, failure{col: n, at: start, text: data[start:i], err: err}, plain)
				}
			}
			if !plain && bytes.IndexByte(data[start:i], s.opts.Quote) >= 0 {
				return recordOdd
			}
		}
		if n == last {
			break
		}
		if i >= end {
			return s.raggedFast(data, p, end, plain)
		}
		i++
	}
	if i < end {
		return s.raggedFast(data, p, end, plain)
	}
	return recordOK
}

func (s *scanner) raggedFast(data []byte, p, end int, plain bool) recordStatus {
	if !plain {
		return recordOdd
	}
	s.ragged(p, bytes.Count(data[p:end], []byte{s.opts.Delimiter})+1, data[p:end])
	return recordBad
}

// nthDelimiter returns the index of the n-th delimiter in data[i:end], i for n = 0, and end if there are fewer.
func nthDelimiter(data []byte, i, end int, delimiter byte, n int) int {
	if n == 0 {
		return i
	}
	const low7 = 0x7f * lowBits
	pattern := uint64(delimiter) * lowBits
	for i+8 <= len(data) && i < end {
		// Here the marks must be exact, since they are counted: 0x80 where x has a zero byte, and nowhere else.
		x := binary.LittleEndian.Uint64(data[i:]) ^ pattern
		m := ^((x&low7 + low7) | x | low7)
		if k := bits.OnesCount64(m); k < n {
			n -= k
			i += 8
			continue
		}
		for ; n > 1; n-- {
			m &= m - 1
		}
		return min(i+bits.TrailingZeros64(m)>>3, end)
	}
	for ; i < end; i++ {
		if data[i] == delimiter {
			if n--; n == 0 {
				return i
			}
		}
	}
	return end
}

// plainField reads the usual spellings of the commonest kinds at data[i:]. done is false if the field needs another look.
func (s *scanner) plainField(c *column, base unsafe.Pointer, data []byte, i, end int) (at int, done bool) {
	p := unsafe.Add(base, c.offset)
	switch c.fast {
	case kindInt:
		at, v, ok := scanInt(data, i, end)
		if !ok || at < end && data[at] != s.opts.Delimiter {
			return i, false
		}
		shift := (64 - uint(c.bytes)*8) & 63
		if v<<shift>>shift != v {
			return i, false
		}
		storeInt(p, v, c.bytes)
		return at, true
	case kindString:
		return s.string((*string)(p), data, i, end), true
	case kindUint:
		at, v, ok := scanInt(data, i, end)
		if !ok || data[i] == '-' || at < end && data[at] != s.opts.Delimiter || c.bytes < 8 && v>>(uint(c.bytes)*8&63) != 0 {
			return i, false
		}
		storeInt(p, v, c.bytes)
		return at, true
	case kindFloat:
		at, v, ok := scanFloat(data, i, end, c.bytes)
		if !ok || at < end && data[at] != s.opts.Delimiter {
			return i, false
		}
		storeFloat(p, v, c.bytes)
		return at, true
	}
	return i, false
}

// failFast fails the record for a value, or for its number of fields if that is wrong too: then the value most likely
// belongs to another column. If there are quotes, they are looked at first.
func (s *scanner) failFast(data []byte, p, end int, f failure, plain bool) recordStatus {
	if !plain {
		return recordOdd
	}
	if got := bytes.Count(data[p:end], []byte{s.opts.Delimiter}) + 1; got != len(s.cols) {
		s.ragged(p, got, data[p:end])
		return recordBad
	}
	s.fail = f
	return recordBad
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
