package csv

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/weir-stream/weir/types"
)

type kind uint8

const (
	kindSkip kind = iota
	kindInt
	kindUint
	kindFloat
	kindBool
	kindString
	kindBytes
	kindTime
	kindDuration
	kindText // the type's own UnmarshalText and MarshalText
)

type nullKind uint8

const (
	nullNever nullKind = iota
	nullFlag           // a types.Null: the value lies at offset, the flag at flagOffset
	nullPointer
)

// field is one field of the row type, ready for the scanner.
type field struct {
	kind  kind
	null  nullKind
	bytes uint8 // size of numbers
	// offset is the value's, or the pointer's for nullPointer.
	offset, flagOffset uintptr
	name               string // the column's name
	fixed              bool   // the name came from a tag
	optional           bool
	goName             string
	typ                reflect.Type // of the value, behind pointer or Null
	layout             string
	zone               *time.Location
	want               string
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	durationType  = reflect.TypeFor[time.Duration]()
	unmarshalText = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshalText   = reflect.TypeFor[encoding.TextMarshaler]()
	nullPkg       = reflect.TypeFor[types.Null[int]]().PkgPath()
)

// isNull recognises types.Null, and sql.Null, which looks the same.
func isNull(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Null[") &&
		(t.PkgPath() == nullPkg || t.PkgPath() == "database/sql")
}

// compile lists the fields of t. All problems are found before the first row.
func compile(t reflect.Type) ([]field, error) {
	if t.Kind() != reflect.Struct || t == timeType {
		return nil, fmt.Errorf("csv: rows must be structs, and %v is a %v", t, t.Kind())
	}
	fields, err := compileStruct(nil, t, 0)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("csv: %v has no exported field", t)
	}
	for i := range fields {
		for k := range fields[:i] {
			if fields[i].name == fields[k].name {
				return nil, fmt.Errorf("csv: fields %s and %s of %v both take the column %q", fields[k].goName, fields[i].goName, t, fields[i].name)
			}
		}
	}
	return fields, nil
}

func compileStruct(out []field, t reflect.Type, base uintptr) ([]field, error) {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("csv")
		if tag == "-" || !tagged && (sf.Tag.Get("json") == "-" || sf.Tag.Get("weir") == "-") {
			continue
		}
		if sf.Anonymous && sf.Type.Kind() == reflect.Struct && !tagged && sf.Type != timeType && !isNull(sf.Type) {
			var err error
			if out, err = compileStruct(out, sf.Type, base+sf.Offset); err != nil {
				return nil, err
			}
			continue
		}
		if !sf.IsExported() {
			if tagged {
				return nil, fmt.Errorf("csv: field %s of %v has a csv tag but is not exported", sf.Name, t)
			}
			continue
		}
		f := field{offset: base + sf.Offset, goName: sf.Name}
		if err := f.setTag(tag, sf); err != nil {
			return nil, fmt.Errorf("csv: field %s of %v: %w", sf.Name, t, err)
		}
		if err := f.setType(sf.Type); err != nil {
			return nil, fmt.Errorf("csv: field %s of %v: %w", sf.Name, t, err)
		}
		out = append(out, f)
	}
	return out, nil
}

func (f *field) setTag(tag string, sf reflect.StructField) error {
	name, rest, _ := strings.Cut(tag, ",")
	for rest != "" {
		if l, ok := strings.CutPrefix(rest, "layout="); ok {
			f.layout = l
			break
		}
		var opt string
		opt, rest, _ = strings.Cut(rest, ",")
		if z, ok := strings.CutPrefix(opt, "zone="); ok {
			loc, err := time.LoadLocation(z)
			if err != nil {
				return fmt.Errorf("zone %q: %w", z, err)
			}
			f.zone = loc
		} else if opt == "optional" {
			f.optional = true
		} else {
			return fmt.Errorf("unknown tag option %q: want optional, zone=NAME or, as the last one, layout=LAYOUT", opt)
		}
	}
	for _, key := range []string{"weir", "json"} {
		if name == "" {
			name, _, _ = strings.Cut(sf.Tag.Get(key), ",")
		}
	}
	f.fixed = name != ""
	if name == "" {
		name = sf.Name
	}
	f.name = name
	return nil
}

func (f *field) setType(t reflect.Type) error {
	if isNull(t) {
		f.null = nullFlag
		v, _ := t.FieldByName("V")
		valid, _ := t.FieldByName("Valid")
		f.flagOffset = f.offset + valid.Offset
		f.offset += v.Offset
		t = v.Type
	} else if t.Kind() == reflect.Pointer {
		f.null = nullPointer
		t = t.Elem()
	}
	f.typ = t
	if t != timeType && (f.layout != "" || f.zone != nil) {
		return fmt.Errorf("layout and zone are for time.Time, not %v", t)
	}
	switch {
	case t == timeType:
		f.kind, f.want = kindTime, f.wantTime()
		return nil
	case t == durationType:
		f.kind, f.want = kindDuration, "a duration such as 1h30m"
		return nil
	case reflect.PointerTo(t).Implements(unmarshalText):
		if !reflect.PointerTo(t).Implements(marshalText) {
			return fmt.Errorf("%v has UnmarshalText but no MarshalText", t)
		}
		f.kind, f.want = kindText, "a "+t.String()
		return nil
	}
	f.bytes = uint8(t.Size())
	bits := 8 * uint(t.Size())
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.kind, f.want = kindInt, fmt.Sprintf("a whole number from %d to %d", int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		f.kind, f.want = kindUint, fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-bits))
	case reflect.Float32, reflect.Float64:
		f.kind, f.want = kindFloat, "a number"
	case reflect.Bool:
		f.kind, f.want = kindBool, "true or false"
	case reflect.String:
		f.kind, f.want = kindString, "text"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			f.kind, f.want = kindBytes, "text"
			return nil
		}
		fallthrough
	default:
		return fmt.Errorf("%v has no form in csv: use a number, bool, string, []byte, time.Time, time.Duration, a type with UnmarshalText, or a types.Null of one; or take it out with `csv:\"-\"`", t)
	}
	return nil
}

func (f *field) wantTime() string {
	switch f.layout {
	case "":
		return "a time such as 2006-01-02T15:04:05Z"
	case "unix":
		return "a time in seconds since 1970"
	case "unixmilli":
		return "a time in milliseconds since 1970"
	}
	return "a time such as " + f.layout
}
