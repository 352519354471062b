package json

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"unsafe"

	"github.com/weir-stream/weir/format"
)

type decoder[T any] struct {
	scanner scanner
	ctx     format.DecoderContext
	opts    Options
	fast    bool
	// offset is where the data of the present call begin in the file; line is the line that is read next.
	offset, line int64
	// overlong is true while the rest of a line above the limit is skipped.
	overlong bool
}

// Head implements format.Decoder: there may be a byte order mark.
func (d *decoder[T]) Head(data []byte, last bool) (n int, ok bool, err error) {
	if len(data) < 3 && !last {
		return 0, false, nil
	}
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		return 3, true, nil
	}
	return 0, true, nil
}

// SetPosition implements format.Decoder.
func (d *decoder[T]) SetPosition(offset, line int64) { d.offset, d.line = offset, line }

// Decode implements format.Decoder.
func (d *decoder[T]) Decode(rows []T, data []byte, last bool) (out []T, n int, err error) {
	p := 0
	for len(rows) < cap(rows) && p < len(data) && err == nil {
		end, next := bytes.IndexByte(data[p:], '\n'), len(data)
		switch {
		case end >= 0:
			end += p
			next = end + 1
		case last:
			end = len(data)
		case d.overlong:
			p = len(data)
			continue
		case len(data)-p > d.opts.RecordBytesMax:
			err = d.tooLong(p, data[p:])
			p = len(data)
			continue
		default:
			d.offset += int64(p)
			return rows, p, nil
		}
		line := trimSpace(data[p:end])
		if len(line) > 0 && !d.overlong {
			rows, err = d.row(rows, data, p, line)
		}
		d.overlong = false
		d.line++
		p = next
	}
	d.offset += int64(p)
	return rows, p, err
}

// row decodes one line into a new row behind rows.
func (d *decoder[T]) row(rows []T, data []byte, p int, line []byte) ([]T, error) {
	k := len(rows)
	rows = rows[:k+1]
	var zero T
	rows[k] = zero
	if d.fast && d.scanner.scan(unsafe.Pointer(&rows[k]), line) {
		return rows, nil
	}
	rows[k] = zero // the scanner may have begun
	err := json.Unmarshal(line, &rows[k])
	if err == nil {
		return rows, nil
	}
	rows[k] = zero
	return rows[:k], d.bad(data, p, line, err)
}

func (d *decoder[T]) tooLong(p int, data []byte) error {
	d.overlong = true
	return d.ctx.Bad(format.BadRecord{Where: d.ctx.Where, Line: d.line, Column: 1, Offset: d.offset + int64(p), Value: format.Clip(data),
		Want: fmt.Sprintf("a line of at most %d bytes", d.opts.RecordBytesMax), Raw: data})
}

// bad reports the line with what json/v2 says about it.
func (d *decoder[T]) bad(data []byte, p int, line []byte, err error) error {
	indent := bytes.Index(data[p:], line)
	b := format.BadRecord{Where: d.ctx.Where, Line: d.line, Column: int64(indent) + 1, Offset: d.offset + int64(p),
		Value: format.Clip(line), Want: "a JSON value", Raw: line, Err: err}
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	at := int64(-1)
	switch {
	case errors.As(err, &syntactic):
		at = syntactic.ByteOffset
		b.Field = string(syntactic.JSONPointer)
		b.Want = "valid JSON"
		b.Err = syntactic.Err
	case errors.As(err, &semantic):
		at = semantic.ByteOffset
		b.Field = string(semantic.JSONPointer)
		b.Want = "a value for a field of type " + fmt.Sprint(semantic.GoType)
		b.Err = semantic.Err
	}
	if at >= 0 && at <= int64(len(line)) {
		b.Column += at
		b.Value = format.Clip(line[at:])
		if semantic != nil && len(semantic.JSONValue) > 0 {
			b.Value = format.Clip(semantic.JSONValue)
		}
	}
	if len(b.Field) > 0 && b.Field[0] == '/' {
		b.Field = b.Field[1:]
	}
	return d.ctx.Bad(b)
}

// trimSpace cuts JSON's white space.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
