package codec

import (
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/weir-stream/weir/internal/errs"
)

// Codec encodes and decodes values of type T. It is immutable and may be used from all goroutines.
type Codec[T any] struct {
	enc     []op
	dec     []op
	schema  *Schema // of T
	source  *Schema // of the bytes that are decoded
	ignored []string

	fixed  bool
	dense  bool // the encoding is the memory as it is
	bulk   bool // and the other way round, of bytes of source
	copies bool // the encoder hands memory to reflection, so that the value must not lie on a stack
	zeroes bool // the decoder does not set every field, so that the value is cleared first
	least  int  // bytes that every encoding has
}

var codecs sync.Map // reflect.Type of T -> *Codec[T]

// For returns the codec for T. The first call for a type compiles it, later ones find it. The error names the Go path of
// every part that has no stable encoding and says what to use instead.
func For[T any]() (*Codec[T], error) {
	t := reflect.TypeFor[T]()
	if c, ok := codecs.Load(t); ok {
		return c.(*Codec[T]), nil
	}
	c, n, err := encoderFor[T](t)
	if err != nil {
		return nil, err
	}
	if _, err := c.decodeFrom(n.schema, n); err != nil {
		return nil, err
	}
	codecs.Store(t, c)
	return c, nil
}

// ForSchema returns a codec that decodes bytes of the schema old into T as Resolve allows, and encodes T as For does.
func ForSchema[T any](old *Schema) (*Codec[T], error) {
	c, _, err := forSchema[T](old)
	return c, err
}

func forSchema[T any](old *Schema) (*Codec[T], *Plan, error) {
	c, n, err := encoderFor[T](reflect.TypeFor[T]())
	if err != nil {
		return nil, nil, err
	}
	plan, err := c.decodeFrom(old, n)
	if err != nil {
		return nil, nil, err
	}
	return c, plan, nil
}

func encoderFor[T any](t reflect.Type) (*Codec[T], *node, error) {
	var b builder
	n, err := b.build(t, shortName(t))
	if err != nil {
		return nil, nil, errs.Wrap(err, errs.CodeCodec, errs.ClassUser, "", "")
	}
	c := &Codec[T]{schema: n.schema, ignored: b.ignored, fixed: n.fixed, dense: n.dense}
	c.enc = frequent(compileEncoder(nil, n, 0))
	c.copies = reflects(c.enc)
	return c, n, nil
}

func (c *Codec[T]) decodeFrom(old *Schema, n *node) (*Plan, error) {
	plan, err := Resolve(old, n.schema)
	if err != nil {
		return nil, err
	}
	least, _ := old.width()
	c.source, c.least, c.zeroes = old, int(least), !plan.Identical() || len(c.ignored) > 0
	c.bulk = plan.Identical() && n.dense && n.plain
	c.dec = frequent(compileDecoder(nil, plan.root, n, 0, shortName(n.typ)))
	return plan, nil
}

// shortName is the name of t without its package's path, and without those of its type arguments.
func shortName(t reflect.Type) string {
	name := t.Name()
	if name == "" {
		return t.String()
	}
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	return name
}

// reflects says whether prog reads memory by reflection.
func reflects(prog []op) bool {
	for i := range prog {
		switch o := &prog[i]; {
		case o.code == opMap, o.code == opOpaque, o.code == opBigInt, o.code == opBigRat:
			return true
		case o.sub != nil && reflects(o.sub.prog):
			return true
		}
	}
	return false
}

// Schema describes the bytes that Append writes.
func (c *Codec[T]) Schema() *Schema { return c.schema }

// Ignored lists the Go paths of fields that are not encoded: unexported ones and those tagged `weir:"-"`. They are
// zero after decoding. A plan may warn about them: they survive neither a network nor a checkpoint.
func (c *Codec[T]) Ignored() []string { return c.ignored }

// Fixed says that T holds no string, slice, map or pointer and no field without encoding, so that its memory may be
// used in place. size is unsafe.Sizeof(T), and also the length of every encoding, which is the memory with padding
// zeroed. Bytes from outside still go through Decode, because not every byte is a bool.
func (c *Codec[T]) Fixed() (size int, ok bool) {
	if !c.fixed {
		return 0, false
	}
	var zero T
	return int(unsafe.Sizeof(zero)), true
}

// Append appends the encoding of *v, which is not changed and not kept. If a MarshalBinary method inside T fails, Append
// panics with its error.
func (c *Codec[T]) Append(dst []byte, v *T) []byte {
	if c.dense {
		return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))...)
	}
	if c.copies {
		own := new(T)
		*own = *v
		return encode(c.enc, dst, unsafe.Pointer(own))
	}
	return encode(c.enc, dst, noescape(unsafe.Pointer(v)))
}

// AppendRows appends the encodings of rows[i] for every i in sel, or of all rows if sel is nil, one after the other.
func (c *Codec[T]) AppendRows(dst []byte, rows []T, sel []int32) []byte {
	if sel != nil {
		for _, i := range sel {
			dst = encode(c.enc, dst, unsafe.Pointer(&rows[i]))
		}
		return dst
	}
	if c.dense {
		return append(dst, memory(rows)...)
	}
	for i := range rows {
		dst = encode(c.enc, dst, unsafe.Pointer(&rows[i]))
	}
	return dst
}

// memory is the rows as bytes.
func memory[T any](rows []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(rows))), uintptr(len(rows))*unsafe.Sizeof(zero))
}

// Decode reads one value from the start of src and returns what follows it.
//
// Strings and byte slices in *v ALIAS src: they are valid as long as src is neither changed nor used again. Slices, maps
// and pointers are made anew and never share memory with what *v had before. Fields without an encoding become zero:
// the value may be a used one. After an error *v is undefined and rest is src.
func (c *Codec[T]) Decode(src []byte, v *T) (rest []byte, err error) {
	if size := int(unsafe.Sizeof(*v)); c.bulk && size <= len(src) {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(v)), size), src)
		return src[size:], nil
	}
	if c.zeroes {
		var zero T
		*v = zero
	}
	i, err := decode(c.dec, src, 0, noescape(unsafe.Pointer(v)))
	if err != nil {
		return src, err
	}
	return src[i:], nil
}

// copiedWhole is the size up to which DecodeCopy does not look where the value ends before it copies: most callers have
// nothing behind it, and finding the end costs as much as decoding.
const copiedWhole = 256

// DecodeCopy is Decode for a value that outlives src: it copies the value's bytes once and lets *v alias the copy.
func (c *Codec[T]) DecodeCopy(src []byte, v *T) (rest []byte, err error) {
	if c.fixed {
		return c.Decode(src, v)
	}
	if len(src) <= copiedWhole {
		if rest, err = c.Decode(append([]byte(nil), src...), v); err != nil {
			return src, err
		}
		return src[len(src)-len(rest):], nil
	}
	rest, err = skip(c.source, src)
	if err != nil {
		return src, corrupt(shortName(reflect.TypeFor[T]()), err)
	}
	own := append([]byte(nil), src[:len(src)-len(rest)]...)
	if _, err = c.Decode(own, v); err != nil {
		return src, err
	}
	return rest, nil
}

// DecodeRows reads n values from the start of src, appends them to out and returns what follows them. The rows alias src
// as Decode says. A count that src cannot hold is an error before anything is allocated; after an error out is
// returned as it came.
func (c *Codec[T]) DecodeRows(src []byte, n int, out []T) ([]T, []byte, error) {
	if n < 0 || c.least > 0 && n > len(src)/c.least {
		return out, src, corruptf(shortName(reflect.TypeFor[T]()), "%d rows are more than %d bytes can hold", n, len(src))
	}
	start := len(out)
	rows := grow(out, n)
	fresh := rows[start:]
	if c.bulk {
		k := copy(memory(fresh), src)
		return rows, src[k:], nil
	}
	if c.zeroes {
		clear(fresh)
	}
	i := 0
	var err error
	for k := range fresh {
		if i, err = decode(c.dec, src, i, unsafe.Pointer(&fresh[k])); err != nil {
			return out, src, err
		}
	}
	return rows, src[i:], nil
}

// grow lengthens out by n rows, whose content is whatever was there.
func grow[T any](out []T, n int) []T {
	if need := len(out) + n; need <= cap(out) {
		return out[:need]
	}
	rows := make([]T, len(out)+n, max(len(out)+n, 2*cap(out)))
	copy(rows, out)
	return rows
}

// PointerFree says whether memory of type T holds no pointer at all, fields without an encoding included: the garbage
// collector need not look at it.
func PointerFree[T any]() bool { return pointerFree(reflect.TypeFor[T]()) }

func pointerFree(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() == 0 || pointerFree(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !pointerFree(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	_, ok := scalarKinds[t.Kind()]
	return ok || t.Kind() == reflect.Uintptr
}
