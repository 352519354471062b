package json

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

type encoder[T any] struct{ layout *layout }

// AppendHead implements format.Encoder: there is none.
func (e *encoder[T]) AppendHead(dst []byte) []byte { return dst }

// Append implements format.Encoder.
func (e *encoder[T]) Append(dst []byte, rows []T) ([]byte, error) {
	n := len(dst)
	for i := range rows {
		var err error
		if e.layout.encodeFast {
			dst, err = e.layout.append(dst, unsafe.Pointer(&rows[i]))
		} else {
			dst, err = appendOther(dst, &rows[i])
		}
		if err != nil {
			return dst[:n], fmt.Errorf("json: row %d of the batch: %w", i, err)
		}
		dst = append(dst, '\n')
	}
	return dst, nil
}

func appendOther(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	return append(dst, b...), err
}

func (l *layout) append(dst []byte, base unsafe.Pointer) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range l.fields {
		f := &l.fields[i]
		p := unsafe.Add(base, f.offset)
		missing := f.null && !*(*bool)(unsafe.Add(base, f.flagOffset))
		if (f.omitZero || f.omitEmpty) && f.omitted(p, missing) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.key...)
		if missing {
			dst = append(dst, "null"...)
			continue
		}
		var err error
		if dst, err = f.append(dst, p); err != nil {
			return dst, fmt.Errorf("field %q: %w", f.name, err)
		}
	}
	return append(dst, '}'), nil
}

// omitted follows json/v2: omitzero leaves out zero values, omitempty what would be written as null, "", {} or [].
func (f *field) omitted(p unsafe.Pointer, missing bool) bool {
	if f.null {
		return missing
	}
	if f.omitEmpty && f.kind == kindString && *(*string)(p) == "" {
		return true
	}
	return f.omitZero && f.zero(p)
}

func (f *field) zero(p unsafe.Pointer) bool {
	switch f.kind {
	case kindString:
		return *(*string)(p) == ""
	case kindTime:
		return (*time.Time)(p).IsZero()
	case kindBool:
		return !*(*bool)(p)
	case kindFloat:
		// -0 counts as zero for json/v2.
		if f.bytes == 4 {
			return *(*float32)(p) == 0
		}
		return *(*float64)(p) == 0
	}
	return loadInt(p, f.bytes) == 0
}

var errNotFinite = errors.New("NaN and infinity have no form in JSON")

func (f *field) append(dst []byte, p unsafe.Pointer) ([]byte, error) {
	switch f.kind {
	case kindInt:
		return strconv.AppendInt(dst, loadInt(p, f.bytes), 10), nil
	case kindUint:
		shift := 64 - 8*uint(f.bytes)
		return strconv.AppendUint(dst, uint64(loadInt(p, f.bytes))<<shift>>shift, 10), nil
	case kindFloat:
		if f.bytes == 4 {
			return appendFloat(dst, float64(*(*float32)(p)), 32)
		}
		return appendFloat(dst, *(*float64)(p), 64)
	case kindBool:
		return strconv.AppendBool(dst, *(*bool)(p)), nil
	case kindString:
		return appendString(dst, *(*string)(p))
	case kindTime:
		if t := *(*time.Time)(p); t.Location() == time.UTC && t.Year() >= 0 && t.Year() < 10000 {
			dst = append(dst, '"')
			dst = t.AppendFormat(dst, time.RFC3339Nano)
			return append(dst, '"'), nil
		}
	}
	return appendOther(dst, reflect.NewAt(f.typ, p).Interface())
}

// appendFloat writes a number as ECMAScript does.
func appendFloat(dst []byte, v float64, bits int) ([]byte, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return dst, errNotFinite
	}
	form := byte('f')
	if a := math.Abs(v); a != 0 && (bits == 64 && (a < 1e-6 || a >= 1e21) || bits == 32 && (float32(a) < 1e-6 || float32(a) >= 1e21)) {
		form = 'e'
	}
	dst = strconv.AppendFloat(dst, v, form, -1, bits)
	// Go writes two digits of exponent at least, ECMAScript one.
	if n := len(dst); form == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, nil
}

func appendString(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return jsontext.AppendQuote(dst, s)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
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
