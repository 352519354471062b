package csv

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

type encoder[T any] struct {
	opts    Options
	fields  []field
	scratch []byte
}

// AppendHead implements format.Encoder.
func (e *encoder[T]) AppendHead(dst []byte) []byte {
	if e.opts.NoHeader {
		return dst
	}
	for i := range e.fields {
		if i > 0 {
			dst = append(dst, e.opts.Delimiter)
		}
		// A name that cannot be written is found by Encoder.
		dst, _ = e.opts.appendText(dst, []byte(e.fields[i].name), i == 0, false)
	}
	return append(dst, '\n')
}

// Append implements format.Encoder.
func (e *encoder[T]) Append(dst []byte, rows []T) ([]byte, error) {
	n := len(dst)
	for i := range rows {
		base := unsafe.Pointer(&rows[i])
		for k := range e.fields {
			if k > 0 {
				dst = append(dst, e.opts.Delimiter)
			}
			var err error
			if dst, err = e.value(dst, &e.fields[k], base, k == 0); err != nil {
				return dst[:n], fmt.Errorf("csv: row %d of the batch, field %s: %w", i, e.fields[k].goName, err)
			}
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

func (e *encoder[T]) value(dst []byte, f *field, base unsafe.Pointer, first bool) ([]byte, error) {
	p := unsafe.Add(base, f.offset)
	switch f.null {
	case nullFlag:
		if !*(*bool)(unsafe.Add(base, f.flagOffset)) {
			return append(dst, e.opts.Nulls[0]...), nil
		}
	case nullPointer:
		if p = *(*unsafe.Pointer)(p); p == nil {
			return append(dst, e.opts.Nulls[0]...), nil
		}
	}
	var err error
	if e.scratch, err = f.append(e.scratch[:0], p); err != nil {
		return dst, err
	}
	text := e.scratch
	// A text that looks like null is quoted, and so is the empty text of a row of one column: its line would be blank.
	quote := len(text) == 0 && len(e.fields) == 1
	if f.null != nullNever {
		for _, n := range e.opts.Nulls {
			if string(text) == n {
				if f.kind != kindString && f.kind != kindBytes {
					return dst, fmt.Errorf("the value %q means null: choose another text in Options.Nulls", text)
				}
				quote = true
			}
		}
	}
	if (f.kind == kindInt || f.kind == kindUint || f.kind == kindFloat) && !quote {
		return append(dst, text...), nil
	}
	return e.opts.appendText(dst, text, first, quote)
}

var errUnquotable = errors.New("the text holds a delimiter, quote or line end, and the dialect has neither quotes nor escape for it")

// appendText appends text, in quotes if it needs them.
func (o *Options) appendText(dst, text []byte, first, quote bool) ([]byte, error) {
	if first && len(text) > 0 && (o.Comment != 0 && text[0] == o.Comment || bytes.HasPrefix(text, []byte("\xEF\xBB\xBF"))) {
		quote = true
	}
	for _, c := range text {
		if c == o.Delimiter || c == '\n' || c == '\r' || c == o.Quote && !o.NoQuote || c == o.Escape && c != 0 {
			quote = true
			break
		}
	}
	if !quote {
		return append(dst, text...), nil
	}
	if o.NoQuote {
		return dst, errUnquotable
	}
	dst = append(dst, o.Quote)
	for _, c := range text {
		if c == o.Quote || c == o.Escape && c != 0 {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, o.Quote), nil
}

// append appends the text of the value at p.
func (f *field) append(dst []byte, p unsafe.Pointer) ([]byte, error) {
	switch f.kind {
	case kindInt:
		return strconv.AppendInt(dst, loadInt(p, f.bytes), 10), nil
	case kindUint:
		v := uint64(loadInt(p, f.bytes)) << (64 - 8*uint(f.bytes)) >> (64 - 8*uint(f.bytes))
		return strconv.AppendUint(dst, v, 10), nil
	case kindFloat:
		v, bits := 0.0, 64
		if f.bytes == 4 {
			v, bits = float64(*(*float32)(p)), 32
		} else {
			v = *(*float64)(p)
		}
		form := byte('f')
		if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
			form = 'e'
		}
		return strconv.AppendFloat(dst, v, form, -1, bits), nil
	case kindBool:
		return strconv.AppendBool(dst, *(*bool)(p)), nil
	case kindString:
		return append(dst, *(*string)(p)...), nil
	case kindBytes:
		return append(dst, *(*[]byte)(p)...), nil
	case kindDuration:
		return append(dst, (*(*time.Duration)(p)).String()...), nil
	case kindTime:
		return f.appendTime(dst, *(*time.Time)(p)), nil
	}
	text, err := reflect.NewAt(f.typ, p).Interface().(encoding.TextMarshaler).MarshalText()
	return append(dst, text...), err
}

func (f *field) appendTime(dst []byte, t time.Time) []byte {
	switch f.layout {
	case "unix":
		return strconv.AppendInt(dst, t.Unix(), 10)
	case "unixmilli":
		return strconv.AppendInt(dst, t.UnixMilli(), 10)
	case "":
		if f.zone != nil {
			t = t.In(f.zone)
		}
		return t.AppendFormat(dst, time.RFC3339Nano)
	}
	zone := f.zone
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).AppendFormat(dst, f.layout)
}

func loadInt(p unsafe.Pointer, size uint8) int64 {
	switch size {
	case 8:
		return *(*int64)(p)
	case 4:
		return int64(*(*int32)(p))
	case 2:
		return int64(*(*int16)(p))
	}
	return int64(*(*int8)(p))
}
