package json

import (
	"encoding"
	stdjson "encoding/json"
	"encoding/json/v2"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/weir-stream/weir/types"
)

type kind uint8

const (
	kindSkip  kind = iota // a name that the row does not have
	kindOther             // json/v2 does it
	kindInt
	kindUint
	kindFloat
	kindBool
	kindString
	kindTime
)

// fieldsMax bounds the names that one line may use on the fast path: one bit each tells duplicates.
const fieldsMax = 64

type field struct {
	kind       kind
	null       bool // a types.Null; the value lies at offset, the flag at flagOffset
	omitZero   bool
	omitEmpty  bool
	bytes      uint8
	offset     uintptr
	flagOffset uintptr
	name       string
	key        []byte // `"name":`
	typ        reflect.Type
}

// layout is a row type, ready for scanner and appender.
type layout struct {
	fields []field
	// decodeFast and encodeFast say whether the fields describe the type completely.
	decodeFast, encodeFast bool
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	nullPkg      = reflect.TypeFor[types.Null[int]]().PkgPath()

	decodeMethods = []reflect.Type{reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[stdjson.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
	encodeMethods = []reflect.Type{reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[stdjson.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextAppender]()}
	zeroMethod    = reflect.TypeFor[interface{ IsZero() bool }]()
)

func hasMethod(t reflect.Type, of []reflect.Type) bool {
	for _, m := range of {
		if reflect.PointerTo(t).Implements(m) {
			return true
		}
	}
	return false
}

func isNull(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.PkgPath() == nullPkg && strings.HasPrefix(t.Name(), "Null[")
}

// compile describes t. An error means that json/v2 refuses the type; a type that only the scanner cannot handle is no
// error.
func compile(t reflect.Type) (*layout, error) {
	l := &layout{}
	if t.Kind() != reflect.Struct || hasMethod(t, decodeMethods) || hasMethod(t, encodeMethods) {
		return l, nil
	}
	if err := json.Unmarshal([]byte("{}"), reflect.New(t).Interface()); err != nil {
		return nil, fmt.Errorf("json: %v: %w", t, err)
	}
	l.decodeFast, l.encodeFast = true, true
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		if sf.Anonymous {
			l.decodeFast, l.encodeFast = false, false
			return l, nil
		}
		if !sf.IsExported() || tag == "-" {
			continue
		}
		f := field{name: sf.Name, offset: sf.Offset, typ: sf.Type}
		if !f.setTag(tag) {
			l.decodeFast, l.encodeFast = false, false
			return l, nil
		}
		f.setType(sf.Type)
		if f.typ == durationType {
			return nil, fmt.Errorf("json: field %s of %v: a time.Duration has no form in JSON that everybody agrees on: use a number of milliseconds, or a string type of your own", sf.Name, t)
		}
		if (f.omitZero || f.omitEmpty) && !f.canOmit() {
			l.encodeFast = false
		}
		l.fields = append(l.fields, f)
	}
	if len(l.fields) > fieldsMax/2 {
		l.decodeFast = false
	}
	return l, nil
}

// setTag reads a json tag; false means that it says something which only json/v2 understands.
func (f *field) setTag(tag string) bool {
	name, opts, _ := strings.Cut(tag, ",")
	if strings.ContainsAny(name, `'"\`) {
		return false
	}
	if name != "" {
		f.name = name
	}
	for opts != "" {
		var o string
		o, opts, _ = strings.Cut(opts, ",")
		switch o {
		case "omitzero":
			f.omitZero = true
		case "omitempty":
			f.omitEmpty = true
		default:
			return false
		}
	}
	for _, c := range []byte(f.name) {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	f.key = []byte(`"` + f.name + `":`)
	return true
}

func (f *field) setType(t reflect.Type) {
	f.kind = kindOther
	v := t
	if isNull(t) {
		field, _ := t.FieldByName("V")
		flag, _ := t.FieldByName("Valid")
		v = field.Type
		if k := plainKind(v); k != kindOther {
			f.null = true
			f.flagOffset = f.offset + flag.Offset
			f.offset += field.Offset
		}
	}
	if k := plainKind(v); k != kindOther {
		f.kind, f.bytes, f.typ = k, uint8(v.Size()), v
	}
}

func plainKind(t reflect.Type) kind {
	if t == timeType {
		return kindTime
	}
	if hasMethod(t, decodeMethods) || hasMethod(t, encodeMethods) || t == durationType {
		return kindOther
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return kindInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return kindUint
	case reflect.Float32, reflect.Float64:
		return kindFloat
	case reflect.Bool:
		return kindBool
	case reflect.String:
		return kindString
	}
	return kindOther
}

// canOmit says whether the appender can tell if the field is left out.
func (f *field) canOmit() bool {
	if f.kind == kindOther || f.null && f.omitEmpty && f.kind == kindString {
		return false
	}
	// A type's own IsZero decides for omitzero; of those only time.Time and Null are known here.
	return f.kind == kindTime || !f.typ.Implements(zeroMethod) && !reflect.PointerTo(f.typ).Implements(zeroMethod)
}
