package csv

import (
	"bytes"
	"errors"
	"unsafe"
)

var (
	errBareQuote  = errors.New("a quote stands inside a field that does not begin with one")
	errAfterQuote = errors.New("text follows the closing quote")
	errOpenQuote  = errors.New("the closing quote is missing")
)

// quoted reads the record at data[p:] into the row at base, by the general path.
func (s *scanner) quoted(base unsafe.Pointer, data []byte, p int, last bool) (next int, status recordStatus) {
	fields := 0
	s.fail.err = nil
	next, status = s.general(data, p, last, func(n int, text []byte, quoted bool, at int) {
		fields++
		if n >= len(s.cols) || s.fail.err != nil {
			return
		}
		c := &s.cols[n]
		if c.kind == kindSkip {
			return
		}
		if err := c.set(base, text, quoted, s.opts.Nulls, s.pool); err != nil {
			// text may lie in the scratch memory, which the next field uses.
			s.fail = failure{col: n, at: at, text: bytes.Clone(text), err: err}
		}
	})
	if status != recordOK {
		return next, status
	}
	if fields != len(s.cols) {
		s.ragged(p, fields, bytes.TrimRight(data[p:next], "\r\n"))
		return next, recordBad
	}
	if s.fail.err != nil {
		return next, recordBad
	}
	return next, recordOK
}

// general finds the fields of the record at data[p:] and calls emit for each with its number, its text without quotes and
// escapes (valid during the call) and its place in data. For a bad record, next is behind the line with the fault.
func (s *scanner) general(data []byte, p int, last bool, emit func(n int, text []byte, quoted bool, at int)) (next int, status recordStatus) {
	i := p
	for n := 0; ; n++ {
		at := i
		var text []byte
		isQuoted := !s.opts.NoQuote && i < len(data) && data[i] == s.opts.Quote
		if isQuoted {
			text, i, status = s.quotedField(data, i, last)
		} else {
			text, i, status = s.bareField(data, i, last)
		}
		switch {
		case status == recordMore:
			return p, recordMore
		case status == recordBad:
			if next = lineEnd(data, i); data[next-1] != '\n' && !last {
				return p, recordMore
			}
			s.fail.col, s.fail.text = n, bytes.TrimRight(data[at:lineEnd(data, at)], "\r\n")
			return next, recordBad
		}
		emit(n, text, isQuoted, at)
		if i == len(data) {
			return i, recordOK
		}
		if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
			return i + 2, recordOK
		}
		if data[i] == '\n' {
			return i + 1, recordOK
		}
		if data[i] == '\r' { // the file ends with a carriage return
			return i + 1, recordOK
		}
		i++ // the delimiter
	}
}

func lineEnd(data []byte, i int) int {
	if i < len(data) {
		if k := bytes.IndexByte(data[i:], '\n'); k >= 0 {
			return i + k + 1
		}
	}
	return len(data)
}

// bareField reads an unquoted field; i stops at the delimiter, the line end ("\r" of "\r\n" included) or the end of data.
func (s *scanner) bareField(data []byte, start int, last bool) (text []byte, i int, status recordStatus) {
	escaped := false
	for i = start; i < len(data); i++ {
		switch c := data[i]; {
		case c == s.opts.Delimiter || c == '\n':
			if c == '\n' && i > start && data[i-1] == '\r' {
				i--
			}
			return s.unescape(data[start:i], escaped), i, recordOK
		case c == s.opts.Escape && s.opts.Escape != 0:
			escaped = true
			if i++; i < len(data) && data[i] == '\n' {
				i-- // an escape does not hide a line end outside quotes
			}
		case c == s.opts.Quote && !s.opts.NoQuote:
			s.fail = failure{at: start, want: "a field without stray quotes", err: errBareQuote}
			return nil, i, recordBad
		}
	}
	if !last {
		return nil, i, recordMore
	}
	i = len(data)
	if i > start && data[i-1] == '\r' {
		i--
	}
	return s.unescape(data[start:i], escaped), i, recordOK
}

func (s *scanner) unescape(text []byte, escaped bool) []byte {
	if !escaped {
		return text
	}
	s.scratch = s.scratch[:0]
	for i := 0; i < len(text); i++ {
		if text[i] == s.opts.Escape && i+1 < len(text) {
			i++
		}
		s.scratch = append(s.scratch, text[i])
	}
	return s.scratch
}

// quotedField reads a field that begins with a quote at data[start]; i stops behind its closing quote.
func (s *scanner) quotedField(data []byte, start int, last bool) (text []byte, i int, status recordStatus) {
	from := start + 1 // of the stretch that is not yet in scratch
	s.scratch = s.scratch[:0]
	for i = from; i < len(data); i++ {
		c := data[i]
		if c == s.opts.Escape && s.opts.Escape != 0 {
			s.scratch = append(s.scratch, data[from:i]...)
			i++
			from = i
			continue
		}
		if c != s.opts.Quote {
			if s.opts.Escape == 0 {
				k := bytes.IndexByte(data[i:], s.opts.Quote)
				if k < 0 {
					break
				}
				i += k - 1
			}
			continue
		}
		if i+1 < len(data) && data[i+1] == s.opts.Quote {
			s.scratch = append(s.scratch, data[from:i+1]...)
			i++
			from = i + 1
			continue
		}
		text = data[from:i]
		if from > start+1 {
			s.scratch = append(s.scratch, text...)
			text = s.scratch
		}
		return s.afterQuote(data, text, start, i+1, last)
	}
	if !last {
		return nil, len(data), recordMore
	}
	s.fail = failure{at: start, want: "a closing quote", err: errOpenQuote}
	// The rest of the file is not swallowed: reading goes on behind the line of the opening quote.
	return nil, start, recordBad
}

// afterQuote checks what stands behind a closing quote: i is the index behind it.
func (s *scanner) afterQuote(data, text []byte, start, i int, last bool) ([]byte, int, recordStatus) {
	left := len(data) - i
	switch {
	case left == 0 && !last || left == 1 && data[i] == '\r' && !last:
		return nil, i, recordMore
	case left == 0, data[i] == s.opts.Delimiter, data[i] == '\n', data[i] == '\r' && (left == 1 || data[i+1] == '\n'):
		return text, i, recordOK
	}
	s.fail = failure{at: start, want: "a delimiter or the line's end behind the closing quote", err: errAfterQuote}
	return nil, i, recordBad
}
