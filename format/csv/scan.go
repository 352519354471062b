package csv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/weir-stream/weir/format"
)

// column is a column of the file with the field that takes it; kindSkip if none does.
type column struct {
	field
	fast kind
	// run is the number of columns without a field that begin here; 0 for one with a field.
	run int
}

// scanner reads records into rows by their address.
//
// A record of one line without escapes and without quotes inside of quotes goes the fast path, which parses each value where
// it stands; any other record goes the general path. Both give the same values.
type scanner struct {
	opts   Options
	fields []field
	cols   []column
	where  string
	report func(format.BadRecord) error
	pool   *format.Text

	// offset is where the data of the present call begin in the file; line is the line that is read next.
	offset, line int64
	// cleanTo is the index in the data up to which there is no quote or escape behind the present record.
	cleanTo int
	// odd is true when record has left a record to oddRecord.
	odd bool
	// overlong is true while the rest of a record above the limit is skipped.
	overlong bool
	fail     failure
	scratch  []byte
}

// failure is what is wrong with a record.
type failure struct {
	col  int // index of the column, or -1 for the record as a whole
	at   int // index in the data
	text []byte
	want string
	err  error
}

type recordStatus uint8

const (
	recordOK recordStatus = iota
	recordMore
	recordBad
	recordNone
	recordOdd
)

func newScanner(opts Options, fields []field, ctx format.DecoderContext) scanner {
	s := scanner{opts: opts, fields: fields, where: ctx.Where, report: ctx.Bad, pool: ctx.Text, line: 1}
	if s.report == nil {
		s.report = func(b format.BadRecord) error { return b }
	}
	if s.pool == nil {
		s.pool = new(format.Text)
	}
	return s
}

// SetPosition implements format.Decoder.
func (s *scanner) SetPosition(offset, line int64) { s.offset, s.line = offset, line }

// record reads the record at data[p:] into the zeroed row at base. ok says that there is a row; next == p without an error
// that more data is needed.
func (s *scanner) record(base unsafe.Pointer, data []byte, p int, last bool) (next int, ok bool, err error) {
	end := bytes.IndexByte(data[p:], '\n')
	if end < 0 {
		if !last {
			return s.unfinished(data, p)
		}
		end, next = len(data), len(data)
	} else {
		end += p
		next = end + 1
	}
	if end > p && data[end-1] == '\r' {
		end--
	}
	if end == p || data[p] == s.opts.Comment && s.opts.Comment != 0 || s.overlong {
		s.overlong = false
		s.line++
		return next, false, nil
	}
	plain := s.plain(data, p, end)
	if !plain && s.opts.Escape != 0 {
		s.odd = true
		return p, false, nil
	}
	switch s.fast(base, data, p, end, plain) {
	case recordOdd:
		s.odd = true
		return p, false, nil
	case recordBad:
		err = s.bad(data, p, next)
		s.line++
		return next, false, err
	}
	s.line++
	return next, true, nil
}

// oddRecord reads by the general path a record that the fast path has left; the row at base has been zeroed again.
func (s *scanner) oddRecord(base unsafe.Pointer, data []byte, p int, last bool) (next int, ok bool, err error) {
	s.odd = false
	next, status := s.quoted(base, data, p, last)
	if status == recordMore {
		return s.unfinished(data, p)
	}
	if status == recordBad {
		err = s.bad(data, p, next)
	}
	s.line += 1 + int64(bytes.Count(data[p:next-1], []byte{'\n'}))
	return next, status == recordOK && err == nil, err
}

// unfinished handles a record whose end is not in data: it asks for more, unless the record is too long already.
func (s *scanner) unfinished(data []byte, p int) (next int, ok bool, err error) {
	if s.overlong {
		return len(data), false, nil
	}
	if len(data)-p <= s.opts.RecordBytesMax {
		return p, false, nil
	}
	// Reading goes on behind the first line, where it would have gone on had there been no quote.
	next = len(data)
	if i := bytes.IndexByte(data[p:], '\n'); i >= 0 {
		next = p + i + 1
	} else {
		s.overlong = true
	}
	s.fail = failure{col: -1, at: p, text: data[p:next], want: fmt.Sprintf("a record of at most %d bytes (is a closing quote missing? otherwise raise RecordBytesMax)", s.opts.RecordBytesMax)}
	err = s.bad(data, p, next)
	if !s.overlong {
		s.line++
	}
	return next, false, err
}

// plain reports whether data[p:end] has neither quotes nor escapes. It looks some lines ahead, once for all of them.
func (s *scanner) plain(data []byte, p, end int) bool {
	if end <= s.cleanTo {
		return true
	}
	const ahead = 4 << 10
	from := max(p, s.cleanTo)
	to := min(len(data), max(end, from+ahead))
	s.cleanTo = to
	if !s.opts.NoQuote {
		if i := bytes.IndexByte(data[from:to], s.opts.Quote); i >= 0 {
			s.cleanTo = from + i
		}
	}
	if s.opts.Escape != 0 {
		if i := bytes.IndexByte(data[from:s.cleanTo], s.opts.Escape); i >= 0 {
			s.cleanTo = from + i
		}
	}
	return end <= s.cleanTo
}

// bad reports s.fail for the record data[p:next].
func (s *scanner) bad(data []byte, p, next int) error {
	f := &s.fail
	raw := bytes.TrimRight(data[p:next], "\r\n")
	before := data[p:max(f.at, p)]
	b := format.BadRecord{
		Where: s.where, Line: s.line + int64(bytes.Count(before, []byte{'\n'})),
		Column: int64(len(before) - bytes.LastIndexByte(before, '\n')),
		Offset: s.offset + int64(p), Value: format.Clip(f.text), Want: f.want, Raw: raw, Err: f.err,
	}
	if f.col >= 0 && f.col < len(s.cols) {
		c := &s.cols[f.col]
		b.Field = c.name
		if b.Want == "" {
			b.Want = c.want
			b.Want += c.nullHint(string(f.text))
		}
	}
	return s.report(b)
}

// nullHint is what to do about a text that usually means "missing".
func (f *field) nullHint(text string) string {
	switch text {
	case "", "NA", "N/A", "NULL", "null", `\N`:
	default:
		return ""
	}
	if f.null == nullNever {
		return fmt.Sprintf("; if the column may be missing, make field %s a types.Null and list the text in Options.Nulls", f.goName)
	}
	return "; if this means missing, list it in Options.Nulls"
}

// ragged fails a record that has the wrong number of fields.
func (s *scanner) ragged(p, got int, line []byte) {
	s.fail = failure{col: -1, at: p, text: fmt.Appendf(nil, "%d fields: %s", got, line), want: fmt.Sprintf("%d fields", len(s.cols))}
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// fieldEnd returns the index of the delimiter in data[i:end], or end. It looks at eight bytes at once.
func fieldEnd(data []byte, i, end int, delimiter byte) int {
	pattern := uint64(delimiter) * lowBits
	for i+8 <= len(data) {
		x := binary.LittleEndian.Uint64(data[i:]) ^ pattern
		if m := (x - lowBits) &^ x & highBits; m != 0 {
			return min(i+bits.TrailingZeros64(m)>>3, end)
		}
		if i += 8; i >= end {
			return end
		}
	}
	for i < end && data[i] != delimiter {
		i++
	}
	return i
}
