package csv

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-stream/weir/format"
)

// Head implements format.Decoder: it reads the byte order mark and, if there is one, the header.
func (s *scanner) Head(data []byte, last bool) (n int, ok bool, err error) {
	if len(data) < 3 && !last {
		return 0, false, nil
	}
	p := 0
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		p = 3
	}
	if s.opts.NoHeader {
		return p, true, nil
	}
	for {
		names, next, status := s.texts(data, p, last)
		switch {
		case status == recordMore && len(data)-p > s.opts.RecordBytesMax:
			return 0, false, fmt.Errorf("csv: %s: no end of the header in the first %d bytes: is this a text file?", s.where, len(data))
		case status == recordMore:
			return 0, false, nil
		case status == recordBad:
			return 0, false, fmt.Errorf("csv: %s: header: %s", s.where, s.fail.want)
		case status == recordNone && next == p: // end of data
			return 0, false, fmt.Errorf("csv: %s: the file is empty and has no header: give it one, or set NoHeader", s.where)
		case status == recordNone:
			p = next
			continue
		}
		return next, true, s.bind(names)
	}
}

// texts reads one record as texts, for headers.
func (s *scanner) texts(data []byte, p int, last bool) (names []string, next int, status recordStatus) {
	if p == len(data) {
		if last {
			return nil, p, recordNone
		}
		return nil, p, recordMore
	}
	if next, skip, more := s.skipLine(data, p, last); more {
		return nil, p, recordMore
	} else if skip {
		return nil, next, recordNone
	}
	next, status = s.general(data, p, last, func(_ int, text []byte, _ bool, _ int) { names = append(names, string(text)) })
	return names, next, status
}

// skipLine says whether the line at p is blank or a comment, and where the next one begins.
func (s *scanner) skipLine(data []byte, p int, last bool) (next int, skip, more bool) {
	end := bytes.IndexByte(data[p:], '\n')
	if end < 0 {
		if !last {
			return p, false, true
		}
		next, end = len(data), len(data)
	} else {
		end += p
		next = end + 1
	}
	if end > p && data[end-1] == '\r' {
		end--
	}
	return next, end == p || s.opts.Comment != 0 && data[p] == s.opts.Comment, false
}

// bind gives each column of the file its field.
func (s *scanner) bind(names []string) error {
	s.cols = make([]column, len(names))
	for i, n := range names {
		s.cols[i].field = field{name: n}
	}
	taken := make([]bool, len(names))
	for i := range s.fields {
		f := &s.fields[i]
		at := slices.Index(names, f.name)
		if at < 0 && !f.fixed {
			at = slices.IndexFunc(names, func(n string) bool { return fold(n) == fold(f.name) })
		}
		if at < 0 {
			if f.optional {
				continue
			}
			return fmt.Errorf("csv: %s: no column %q for field %s; the columns are %s%s", s.where, f.name, f.goName,
				list(names), format.DidYouMean(f.name, names))
		}
		if slices.Index(names[at+1:], names[at]) >= 0 {
			return fmt.Errorf("csv: %s: the header names the column %q twice, and field %s takes it", s.where, names[at], f.goName)
		}
		if taken[at] {
			return fmt.Errorf("csv: %s: two fields take the column %q, one of them %s: name the columns in csv tags", s.where, names[at], f.goName)
		}
		taken[at] = true
		s.cols[at] = column{field: *f, fast: s.fastKind(f)}
		s.cols[at].name = names[at]
	}
	for i, run := len(s.cols)-1, 0; i >= 0; i-- {
		if run++; s.cols[i].kind != kindSkip {
			run = 0
		}
		s.cols[i].run = run
	}
	return nil
}

// fastKind says how the fast path treats f; kindText stands for the general form.
func (s *scanner) fastKind(f *field) kind {
	if f.null == nullPointer {
		return kindText
	}
	if f.null == nullFlag {
		if f.kind == kindString {
			return kindText
		}
		// A null that is spelled like a number ("-999") must be looked at first.
		for _, n := range s.opts.Nulls {
			if n != "" && strings.IndexByte("+-.0123456789", n[0]) >= 0 {
				return kindText
			}
		}
	}
	switch f.kind {
	case kindInt, kindUint, kindFloat, kindString:
		return f.kind
	}
	return kindText
}

// fold maps names that differ in case or in separators to one.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

func list(names []string) string {
	const most = 30
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
