package json

import (
	"bytes"
	"encoding/binary"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"math/bits"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/weir-stream/weir/format"
)

// scanner reads one line after another into rows of one layout. It returns false for whatever it cannot judge.
type scanner struct {
	// fields are the layout's, and behind them the unknown names that have been seen.
	fields []field
	byName map[string]int
	// follows[i+1] is the field that came behind field i last time; follows[0] is the first one.
	follows []int
	text    *format.Text
	scratch []byte
}

func (s *scanner) init(l *layout, text *format.Text) {
	s.text = text
	s.fields = append([]field(nil), l.fields...)
	s.byName = map[string]int{}
	s.follows = make([]int, fieldsMax+1)
	for i := range s.fields {
		s.byName[s.fields[i].name] = i
		s.follows[i+1] = min(i+1, len(s.fields)-1)
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// scan reads line, which has no space at its ends, into the zeroed row at base.
func (s *scanner) scan(base unsafe.Pointer, line []byte) bool {
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return false
	}
	i := skipSpace(line, 1)
	if i == len(line)-1 {
		return true
	}
	var seen uint64
	for before := 0; ; {
		n, at := s.name(line, i, before)
		if n < 0 || seen&(1<<uint(n)) != 0 {
			return false
		}
		seen |= 1 << uint(n)
		before = n + 1
		if i = at; i < len(line) && line[i] <= ' ' {
			i = skipSpace(line, i)
		}
		if i = s.value(&s.fields[n], base, line, i); i < 0 || i >= len(line) {
			return false
		}
		if line[i] <= ' ' {
			i = skipSpace(line, i)
		}
		switch {
		case line[i] == '}':
			return i == len(line)-1
		case line[i] != ',':
			return false
		}
		if i++; line[i] <= ' ' { // there is a '}' at the end of line
			i = skipSpace(line, i)
		}
	}
}

// name reads a member's name and colon at line[i:]. before is one more than the field of the member before, or 0.
func (s *scanner) name(line []byte, i, before int) (n, at int) {
	if len(s.fields) > 0 {
		n = s.follows[before]
		if key := s.fields[n].key; len(line)-i >= len(key) && string(line[i:i+len(key)]) == string(key) {
			return n, i + len(key)
		}
	}
	if line[i] != '"' {
		return -1, 0
	}
	end := bytes.IndexByte(line[i+1:], '"')
	if end < 0 {
		return -1, 0
	}
	name := line[i+1 : i+1+end]
	at = skipSpace(line, i+end+2)
	if at >= len(line) || line[at] != ':' {
		return -1, 0
	}
	n, ok := s.byName[string(name)]
	if !ok {
		if n = s.unknown(name); n < 0 {
			return -1, 0
		}
	}
	s.follows[before] = n
	return n, at + 1
}

// unknown makes a field for a name that the row does not have, so that it is skipped and told from its duplicates.
func (s *scanner) unknown(name []byte) int {
	if len(s.fields) == fieldsMax {
		return -1
	}
	for _, c := range name {
		if c < ' ' || c >= 0x7f || c == '\\' {
			return -1
		}
	}
	s.fields = append(s.fields, field{name: string(name), key: []byte(`"` + string(name) + `":`)})
	n := len(s.fields) - 1
	s.byName[string(name)] = n
	return n
}

// value reads the value at line[i:] into f and returns the index behind it, or -1.
func (s *scanner) value(f *field, base unsafe.Pointer, line []byte, i int) int {
	if i >= len(line) {
		return -1
	}
	c := line[i]
	if c == 'n' && f.kind != kindOther {
		if len(line)-i >= 4 && string(line[i:i+4]) == "null" {
			return i + 4
		}
		return -1
	}
	p := unsafe.Add(base, f.offset)
	at := -1
	switch f.kind {
	case kindInt:
		at = scanInt(p, f.bytes, line, i)
	case kindUint:
		at = scanUint(p, f.bytes, line, i)
	case kindString:
		at = s.string((*string)(p), line, i)
	case kindFloat:
		var v float64
		if v, at = scanFloat(line, i, f.bytes); at >= 0 {
			if f.bytes == 8 {
				*(*float64)(p) = v
			} else {
				*(*float32)(p) = float32(v)
			}
		}
	case kindBool:
		if at = literal(line, i, "true"); at >= 0 {
			*(*bool)(p) = true
		} else {
			at = literal(line, i, "false")
		}
	case kindTime:
		// Twenty bytes in quotes, of which ParseTime takes the one form that is RFC 3339 for everybody.
		if len(line)-i >= 22 && c == '"' && line[i+21] == '"' {
			if t, ok := format.ParseTime(line[i+1 : i+21]); ok {
				*(*time.Time)(p) = t
				at = i + 22
				break
			}
		}
		at = s.other(f, p, line, i)
	case kindSkip:
		return s.skip(line, i)
	default:
		return s.other(f, p, line, i)
	}
	if f.null && at >= 0 {
		*(*bool)(unsafe.Add(base, f.flagOffset)) = true
	}
	return at
}

func literal(line []byte, i int, word string) int {
	if len(line)-i >= len(word) && string(line[i:i+len(word)]) == word {
		return i + len(word)
	}
	return -1
}

// digits reads 1 to 18 digits without leading zeros.
func digits(line []byte, i int) (v int64, at int) {
	start := i
	for i < len(line) {
		d := line[i] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		i++
	}
	n := i - start
	if n == 0 || n > 18 || line[start] == '0' && n > 1 {
		return 0, -1
	}
	if i < len(line) && (line[i] == '.' || line[i] == 'e' || line[i] == 'E') {
		return 0, -1
	}
	return v, i
}

func scanInt(p unsafe.Pointer, size uint8, line []byte, i int) int {
	negative := line[i] == '-'
	if negative {
		i++
	}
	v, at := digits(line, i)
	if at < 0 {
		return -1
	}
	if negative {
		v = -v
	}
	switch size {
	case 8:
		*(*int64)(p) = v
		return at
	case 4:
		*(*int32)(p) = int32(v)
		if int64(int32(v)) == v {
			return at
		}
	case 2:
		*(*int16)(p) = int16(v)
		if int64(int16(v)) == v {
			return at
		}
	default:
		*(*int8)(p) = int8(v)
		if int64(int8(v)) == v {
			return at
		}
	}
	return -1
}

func scanUint(p unsafe.Pointer, size uint8, line []byte, i int) int {
	v, at := digits(line, i)
	if at < 0 || size < 8 && v>>(8*uint(size)) != 0 {
		return -1
	}
	switch size {
	case 8:
		*(*uint64)(p) = uint64(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	default:
		*(*uint8)(p) = uint8(v)
	}
	return at
}

// number checks JSON's grammar of numbers at line[i:]. m and fraction describe it if it is short and has no exponent.
func number(line []byte, i int) (at int, m uint64, fraction int, short bool) {
	start := i
	for i < len(line) && line[i]-'0' <= 9 {
		m = m*10 + uint64(line[i]-'0')
		i++
	}
	n := i - start
	if n == 0 || line[start] == '0' && n > 1 {
		return -1, 0, 0, false
	}
	if i < len(line) && line[i] == '.' {
		i++
		from := i
		for i < len(line) && line[i]-'0' <= 9 {
			m = m*10 + uint64(line[i]-'0')
			i++
		}
		if fraction = i - from; fraction == 0 {
			return -1, 0, 0, false
		}
	}
	short = n+fraction <= 15
	if i < len(line) && line[i]|0x20 == 'e' {
		short = false
		if i++; i < len(line) && (line[i] == '+' || line[i] == '-') {
			i++
		}
		from := i
		for i < len(line) && line[i]-'0' <= 9 {
			i++
		}
		if i == from {
			return -1, 0, 0, false
		}
	}
	return i, m, fraction, short
}

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// scanFloat reads a number. One division of exact values is rounded once and so gives the nearest float.
func scanFloat(line []byte, i int, size uint8) (v float64, at int) {
	start := i
	negative := line[i] == '-'
	if negative {
		i++
	}
	at, m, fraction, short := number(line, i)
	if at < 0 {
		return 0, -1
	}
	switch {
	case short && size == 8:
		v = float64(m) / pow10[fraction]
	case short && m <= 1<<24 && fraction <= 10:
		v = float64(float32(m) / float32(pow10[fraction]))
	default:
		// The string is not kept.
		v, err := strconv.ParseFloat(unsafe.String(&line[start], at-start), int(size)*8)
		if err != nil {
			return 0, -1
		}
		return v, at
	}
	if negative {
		v = -v
	}
	return v, at
}

// other lets json/v2 decode one value.
func (s *scanner) other(f *field, p unsafe.Pointer, line []byte, i int) int {
	at := extent(line, i)
	if at < 0 || json.Unmarshal(line[i:at], reflect.NewAt(f.typ, p).Interface()) != nil {
		return -1
	}
	return at
}

// skip checks a value that nobody wants and returns the index behind it.
func (s *scanner) skip(line []byte, i int) int {
	switch c := line[i]; {
	case c == '"':
		end, plain := stringEnd(line, i+1)
		if end < 0 || !plain {
			break
		}
		return end + 1
	case c == '-' || c-'0' <= 9:
		if c == '-' {
			i++
		}
		at, _, _, _ := number(line, i)
		return at
	case c == 't':
		return literal(line, i, "true")
	case c == 'f':
		return literal(line, i, "false")
	case c == 'n':
		return literal(line, i, "null")
	}
	at := extent(line, i)
	if at < 0 || !jsontext.Value(line[i:at]).IsValid() {
		return -1
	}
	return at
}

// extent finds the end of the value at line[i:] by brackets and quotes alone, and within a depth that is far below the
// limit of json/v2.
func extent(line []byte, i int) int {
	const depthMax = 64
	depth := 0
	for i < len(line) {
		switch line[i] {
		case '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			if i >= len(line) {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			if depth++; depth > depthMax {
				return -1
			}
		case '}', ']':
			if depth == 0 { // the end of the row: a scalar ends here
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// special marks, in the high bit of each byte of w, quotes, backslashes, control characters and bytes above 0x7f. Marks
// above the first one may be wrong.
func special(w uint64) uint64 {
	quote, back := w^'"'*lowBits, w^'\\'*lowBits
	return ((quote-lowBits)&^quote | (back-lowBits)&^back | (w-' '*lowBits)&^w | w) & highBits
}

// stringEnd finds the closing quote of a string whose text begins at line[i:]. plain is false if the text holds anything
// but printable ASCII; the index is then that of the first such byte.
func stringEnd(line []byte, i int) (end int, plain bool) {
	for i+8 <= len(line) {
		if m := special(binary.LittleEndian.Uint64(line[i:])); m != 0 {
			i += bits.TrailingZeros64(m) >> 3
			return i, line[i] == '"'
		}
		i += 8
	}
	for ; i < len(line); i++ {
		if c := line[i]; c == '"' || c == '\\' || c < ' ' || c >= 0x80 {
			return i, c == '"'
		}
	}
	return -1, false
}

// string reads a string into dst.
func (s *scanner) string(dst *string, line []byte, i int) int {
	if line[i] != '"' {
		return -1
	}
	i++
	if i+8 <= len(line) {
		w := binary.LittleEndian.Uint64(line[i:])
		if m := special(w); m != 0 {
			if n := bits.TrailingZeros64(m) >> 3; line[i+n] == '"' {
				*dst = s.text.Short(w&(1<<(8*uint(n))-1), n)
				return i + n + 1
			}
		}
	}
	end, plain := stringEnd(line, i)
	if end < 0 {
		return -1
	}
	if plain {
		*dst = s.text.String(line[i:end])
		return end + 1
	}
	return s.odd(dst, line, i, end)
}

// odd reads a string with escapes or bytes above 0x7f, whose text begins at line[i:] and is plain up to at.
func (s *scanner) odd(dst *string, line []byte, i, at int) int {
	s.scratch = append(s.scratch[:0], line[i:at]...)
	for at < len(line) {
		switch c := line[at]; {
		case c == '"':
			*dst = s.text.String(s.scratch)
			return at + 1
		case c < ' ':
			return -1
		case c == '\\':
			var n int
			if s.scratch, n = unescape(s.scratch, line[at:]); n < 0 {
				return -1
			}
			at += n
		case c < 0x80:
			s.scratch = append(s.scratch, c)
			at++
		default:
			r, n := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && n <= 1 {
				return -1
			}
			s.scratch = append(s.scratch, line[at:at+n]...)
			at += n
		}
	}
	return -1
}

// unescape appends what the escape at the start of b stands for, and returns its length or -1.
func unescape(dst, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return dst, -1
	}
	switch b[1] {
	case '"', '\\', '/':
		return append(dst, b[1]), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		r := hex4(b[2:])
		if r < 0 {
			return dst, -1
		}
		if r < 0xD800 || r > 0xDFFF {
			return utf8.AppendRune(dst, r), 6
		}
		if r > 0xDBFF || len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
			return dst, -1
		}
		low := hex4(b[8:])
		if low < 0xDC00 || low > 0xDFFF {
			return dst, -1
		}
		return utf8.AppendRune(dst, ((r-0xD800)<<10|(low-0xDC00))+0x10000), 12
	}
	return dst, -1
}

func hex4(b []byte) (r rune) {
	if len(b) < 4 {
		return -1
	}
	for _, c := range b[:4] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}
