package csv

import (
	"encoding"
	"errors"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"github.com/weir-stream/weir/format"
)

var errRange = errors.New("out of range")

// set parses text into f of the row at base. quoted says that the text stood in quotes. text may be memory that is used
// again. It is the general form of what the fast path does for common spellings.
func (f *field) set(base unsafe.Pointer, text []byte, quoted bool, nulls []string, pool *format.Text) error {
	if f.null != nullNever && !(quoted && (f.kind == kindString || f.kind == kindBytes)) {
		for _, n := range nulls {
			if string(text) == n {
				return nil // the row was zeroed before
			}
		}
	}
	p := unsafe.Add(base, f.offset)
	switch f.null {
	case nullPointer:
		v := reflect.New(f.typ).UnsafePointer()
		if err := f.parse(v, text, pool); err != nil {
			return err
		}
		*(*unsafe.Pointer)(p) = v
	case nullFlag:
		if err := f.parse(p, text, pool); err != nil {
			return err
		}
		*(*bool)(unsafe.Add(base, f.flagOffset)) = true
	default:
		return f.parse(p, text, pool)
	}
	return nil
}

// parse stores the value that text spells at p.
func (f *field) parse(p unsafe.Pointer, text []byte, pool *format.Text) error {
	// s is used only until parse returns; what is kept is copied.
	s := unsafe.String(unsafe.SliceData(text), len(text))
	switch f.kind {
	case kindInt:
		v, err := strconv.ParseInt(s, 10, int(f.bytes)*8)
		storeInt(p, v, f.bytes)
		return cause(err)
	case kindUint:
		v, err := strconv.ParseUint(s, 10, int(f.bytes)*8)
		storeInt(p, int64(v), f.bytes)
		return cause(err)
	case kindFloat:
		v, err := strconv.ParseFloat(s, int(f.bytes)*8)
		storeFloat(p, v, f.bytes)
		return cause(err)
	case kindBool:
		v, err := strconv.ParseBool(s)
		*(*bool)(p) = v
		return cause(err)
	case kindString:
		*(*string)(p) = pool.String(text)
	case kindBytes:
		// A slice of its own, never of the pool: its owner may write to it.
		*(*[]byte)(p) = append([]byte{}, text...)
	case kindDuration:
		v, err := time.ParseDuration(s)
		*(*time.Duration)(p) = v
		if err != nil {
			return errors.New("not a duration")
		}
	case kindTime:
		v, err := f.time(text)
		*(*time.Time)(p) = v
		return err
	case kindText:
		return reflect.NewAt(f.typ, p).Interface().(encoding.TextUnmarshaler).UnmarshalText(text)
	}
	return nil
}

// cause takes the text out of strconv's errors: it would be shown twice, and it aliases the input.
func cause(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return errRange
	}
	return strconv.ErrSyntax
}

func (f *field) time(text []byte) (time.Time, error) {
	switch f.layout {
	case "":
		if t, ok := format.ParseTime(text); ok {
			if f.zone != nil {
				t = t.In(f.zone)
			}
			return t, nil
		}
		t, err := time.Parse(time.RFC3339Nano, string(text))
		if err == nil && f.zone != nil {
			t = t.In(f.zone)
		}
		return t, timeCause(err)
	case "unix", "unixmilli":
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return time.Time{}, cause(err)
		}
		t := time.UnixMilli(n)
		if f.layout == "unix" {
			t = time.Unix(n, 0)
		}
		if f.zone != nil {
			return t.In(f.zone), nil
		}
		return t.UTC(), nil
	}
	zone := f.zone
	if zone == nil {
		zone = time.UTC
	}
	t, err := time.ParseInLocation(f.layout, string(text), zone)
	return t, timeCause(err)
}

func timeCause(err error) error {
	var pe *time.ParseError
	if errors.As(err, &pe) && pe.Message != "" {
		return errors.New(pe.Message[min(2, len(pe.Message)):])
	}
	if err != nil {
		return errors.New("not a time of this layout")
	}
	return nil
}

func storeInt(p unsafe.Pointer, v int64, size uint8) {
	switch size {
	case 8:
		*(*int64)(p) = v
	case 4:
		*(*int32)(p) = int32(v)
	case 2:
		*(*int16)(p) = int16(v)
	default:
		*(*int8)(p) = int8(v)
	}
}

func storeFloat(p unsafe.Pointer, v float64, size uint8) {
	if size == 8 {
		*(*float64)(p) = v
		return
	}
	*(*float32)(p) = float32(v)
}
