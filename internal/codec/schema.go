package codec

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weir-stream/weir/internal/bin"
)

// Kind is what a schema node describes. The numbers are part of the format (docs/format/codec.md) and never change.
type Kind uint8

// The kinds of the format. Go's int and uint are Int64 and Uint64; named types have the kind of what they are made of.
const (
	KindBool       Kind = 1
	KindInt8       Kind = 2
	KindInt16      Kind = 3
	KindInt32      Kind = 4
	KindInt64      Kind = 5
	KindUint8      Kind = 6
	KindUint16     Kind = 7
	KindUint32     Kind = 8
	KindUint64     Kind = 9
	KindFloat32    Kind = 10
	KindFloat64    Kind = 11
	KindComplex64  Kind = 12
	KindComplex128 Kind = 13
	KindDuration   Kind = 14
	KindString     Kind = 16
	KindBytes      Kind = 17
	KindTime       Kind = 18
	KindAddr       Kind = 19
	KindPrefix     Kind = 20
	KindAddrPort   Kind = 21
	KindBigInt     Kind = 22
	KindBigRat     Kind = 23
	KindOpaque     Kind = 24
	KindArray      Kind = 32
	KindSlice      Kind = 33
	KindMap        Kind = 34
	KindPointer    Kind = 35
	KindStruct     Kind = 36
)

// scalarSize is the encoded and in-memory size of the kinds whose encoding is their memory; 0 for all others.
var scalarSize = [256]uint32{
	KindBool: 1, KindInt8: 1, KindInt16: 2, KindInt32: 4, KindInt64: 8, KindUint8: 1, KindUint16: 2, KindUint32: 4,
	KindUint64: 8, KindFloat32: 4, KindFloat64: 8, KindComplex64: 8, KindComplex128: 16, KindDuration: 8,
}

var kindNames = [256]string{
	KindBool: "bool", KindInt8: "int8", KindInt16: "int16", KindInt32: "int32", KindInt64: "int64", KindUint8: "uint8",
	KindUint16: "uint16", KindUint32: "uint32", KindUint64: "uint64", KindFloat32: "float32", KindFloat64: "float64",
	KindComplex64: "complex64", KindComplex128: "complex128", KindDuration: "duration", KindString: "string",
	KindBytes: "bytes", KindTime: "time", KindAddr: "netip.Addr", KindPrefix: "netip.Prefix",
	KindAddrPort: "netip.AddrPort", KindBigInt: "big.Int", KindBigRat: "big.Rat", KindOpaque: "opaque",
	KindArray: "array", KindSlice: "slice", KindMap: "map", KindPointer: "pointer", KindStruct: "struct",
}

// String is the name of the kind as Schema.String prints it.
func (k Kind) String() string {
	if s := kindNames[k]; s != "" {
		return s
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Schema describes an encoded value completely: with it, bytes can be read without the Go type that wrote them. A
// Schema is immutable once built and may be shared between goroutines.
type Schema struct {
	Kind   Kind
	Len    int     // of an array
	Elem   *Schema // of an array, slice, pointer; the value of a map
	Key    *Schema // of a map; keys are in the key encoding
	Type   string  // of an opaque value: the Go type that wrote it
	Fields []Field // of a struct, in the order of the encoding

	// Aligned says that a struct is stored as its memory image of Size bytes, each field at its Offset and zero bytes
	// between. Otherwise the fields follow each other without gaps.
	Aligned bool
	Size    int
}

// Field is a field of a struct's schema.
type Field struct {
	ID     string // the Go name, or the name in the tag
	Offset int    // in the image, if the struct is aligned
	Type   *Schema

	// Was lists earlier IDs of the field (tag `weir:"new,was=old"`). It steers Resolve and is not stored.
	Was []string
}

const (
	schemaVersion  = 1
	schemaDepthMax = 64
	sizeMax        = math.MaxInt32 // of any value's static part
)

// width is the least number of bytes a value needs, saturated at sizeMax+1, and whether every value needs just that.
func (s *Schema) width() (size int64, static bool) {
	if n := scalarSize[s.Kind]; n > 0 {
		return int64(n), true
	}
	switch s.Kind {
	case KindTime:
		return timeSize, true
	case KindAddrPort:
		return 3, false
	case KindPrefix, KindBigRat:
		return 2, false
	case KindArray:
		n, static := s.Elem.width()
		static = static || s.Len == 0
		if s.Len > 0 && n > sizeMax/int64(s.Len) {
			return sizeMax + 1, static
		}
		return n * int64(s.Len), static
	case KindStruct:
		if s.Aligned {
			return int64(s.Size), true
		}
		static = true
		for i := range s.Fields {
			n, st := s.Fields[i].Type.width()
			size, static = min(size+n, sizeMax+1), static && st
		}
		return size, static
	}
	return 1, false
}

// image says whether a value's encoding may be part of an aligned struct.
func (s *Schema) image() bool {
	return scalarSize[s.Kind] > 0 || s.Kind == KindArray && s.Elem.image() || s.Kind == KindStruct && s.Aligned
}

// Equal says whether s and o describe the same bytes and the same ids. Earlier names are not compared.
func (s *Schema) Equal(o *Schema) bool {
	if s == o {
		return true
	}
	if s == nil || o == nil || s.Kind != o.Kind || s.Len != o.Len || s.Type != o.Type || s.Aligned != o.Aligned ||
		s.Size != o.Size || len(s.Fields) != len(o.Fields) || !s.Elem.Equal(o.Elem) || !s.Key.Equal(o.Key) {
		return false
	}
	for i := range s.Fields {
		a, b := &s.Fields[i], &o.Fields[i]
		if a.ID != b.ID || a.Offset != b.Offset || !a.Type.Equal(b.Type) {
			return false
		}
	}
	return true
}

// String prints the schema in Go's manner, e.g. struct{Auction int64; Tags []string}.
func (s *Schema) String() string {
	var b strings.Builder
	s.print(&b)
	return b.String()
}

func (s *Schema) print(b *strings.Builder) {
	switch s.Kind {
	case KindArray:
		fmt.Fprintf(b, "[%d]", s.Len)
		s.Elem.print(b)
	case KindSlice:
		b.WriteString("[]")
		s.Elem.print(b)
	case KindPointer:
		b.WriteByte('*')
		s.Elem.print(b)
	case KindMap:
		b.WriteString("map[")
		s.Key.print(b)
		b.WriteByte(']')
		s.Elem.print(b)
	case KindOpaque:
		fmt.Fprintf(b, "opaque(%s)", s.Type)
	case KindStruct:
		b.WriteString("struct{")
		for i := range s.Fields {
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(s.Fields[i].ID)
			b.WriteByte(' ')
			s.Fields[i].Type.print(b)
		}
		b.WriteByte('}')
	default:
		b.WriteString(s.Kind.String())
	}
}

// Append appends the binary form of the schema, which starts with its version.
func (s *Schema) Append(dst []byte) []byte { return s.append(append(dst, schemaVersion)) }

func (s *Schema) append(dst []byte) []byte {
	dst = append(dst, byte(s.Kind))
	switch s.Kind {
	case KindOpaque:
		dst = bin.AppendString(dst, s.Type)
	case KindArray:
		dst = s.Elem.append(bin.AppendUvarint(dst, uint64(s.Len)))
	case KindSlice, KindPointer:
		dst = s.Elem.append(dst)
	case KindMap:
		dst = s.Elem.append(s.Key.append(dst))
	case KindStruct:
		if s.Aligned {
			dst = bin.AppendUvarint(append(dst, 1), uint64(s.Size))
		} else {
			dst = append(dst, 0)
		}
		dst = bin.AppendUvarint(dst, uint64(len(s.Fields)))
		for i := range s.Fields {
			f := &s.Fields[i]
			dst = bin.AppendString(dst, f.ID)
			if s.Aligned {
				dst = bin.AppendUvarint(dst, uint64(f.Offset))
			}
			dst = f.Type.append(dst)
		}
	}
	return dst
}

// ParseSchema reads what Append wrote and returns the input after it. The schema does not alias src.
func ParseSchema(src []byte) (s *Schema, rest []byte, err error) {
	if len(src) == 0 {
		return nil, src, corrupt("schema", bin.ErrShort)
	}
	if src[0] != schemaVersion {
		return nil, src, corruptf("schema", "is of version %d; this program reads version %d", src[0], schemaVersion)
	}
	p := schemaParser{src: src[1:]}
	s = p.schema(0)
	if p.err != nil {
		return nil, src, corrupt("schema", p.err)
	}
	return s, p.src, nil
}

// schemaParser reads with one sticky error.
type schemaParser struct {
	src []byte
	err error
}

func (p *schemaParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *schemaParser) byte() byte {
	if p.err != nil || len(p.src) == 0 {
		p.fail("%w", bin.ErrShort)
		return 0
	}
	b := p.src[0]
	p.src = p.src[1:]
	return b
}

func (p *schemaParser) number() int {
	v, rest, err := bin.Uvarint(p.src)
	if err != nil {
		p.fail("%w", err)
		return 0
	}
	if v > sizeMax {
		p.fail("number %d is too large", v)
		return 0
	}
	p.src = rest
	return int(v)
}

func (p *schemaParser) text() string {
	b, rest, err := bin.Bytes(p.src)
	if err != nil {
		p.fail("%w", err)
		return ""
	}
	p.src = rest
	return string(b)
}

func (p *schemaParser) schema(depth int) *Schema {
	s := &Schema{Kind: Kind(p.byte())}
	if depth > schemaDepthMax {
		p.fail("types are nested more than %d deep", schemaDepthMax)
	}
	if p.err != nil {
		return s
	}
	switch s.Kind {
	case KindOpaque:
		s.Type = p.text()
	case KindArray:
		s.Len = p.number()
		s.Elem = p.schema(depth + 1)
	case KindSlice, KindPointer:
		s.Elem = p.schema(depth + 1)
	case KindMap:
		s.Key = p.schema(depth + 1)
		s.Elem = p.schema(depth + 1)
	case KindStruct:
		p.structure(s, depth)
	default:
		if kindNames[s.Kind] == "" {
			p.fail("unknown kind %d", s.Kind)
		}
	}
	if p.err == nil {
		if n, _ := s.width(); n > sizeMax {
			p.fail("a value would need more than %d bytes", sizeMax)
		}
	}
	return s
}

func (p *schemaParser) structure(s *Schema, depth int) {
	layout := p.byte()
	if layout > 1 {
		p.fail("unknown struct layout %d", layout)
	}
	if s.Aligned = layout == 1; s.Aligned {
		s.Size = p.number()
	}
	n := p.number()
	if p.err != nil || n > len(p.src)/2 { // a field has at least a length and a kind
		p.fail("%w", bin.ErrShort)
		return
	}
	s.Fields = make([]Field, n)
	seen := make(map[string]bool, n)
	end := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		f.ID = p.text()
		if s.Aligned {
			f.Offset = p.number()
		}
		if f.Type = p.schema(depth + 1); p.err != nil {
			return
		}
		if seen[f.ID] {
			p.fail("two fields are called %q", f.ID)
		}
		seen[f.ID] = true
		if s.Aligned {
			w, _ := f.Type.width()
			if !f.Type.image() || f.Offset < end || int64(f.Offset)+w > int64(s.Size) {
				p.fail("field %q does not fit into its image", f.ID)
				return
			}
			end = f.Offset + int(w)
		}
	}
}
