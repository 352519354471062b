package codec

import (
	"fmt"
	"reflect"
)

// keyCode is one part of a key encoding.
type keyCode uint8

const (
	keyBool  keyCode = iota
	keyUint          // n bytes, big-endian
	keyInt           // n bytes, big-endian, sign bit flipped
	keyFloat         // n bytes, canonical, ordered
	keyRaw           // n bytes of memory
	keyText          // string, escaped and ended
	keyTail          // string that ends the key, as it is
	keyTime
	keyAddr     // with the zone escaped and ended
	keyAddrTail // with the zone as it is
	keyPrefix
)

// keyOp encodes the part of a key that lies at off.
type keyOp struct {
	code keyCode
	off  uint32
	n    uint32
}

// keyOpsMax bounds the parts of a key; a longer one is a mistake.
const keyOpsMax = 1024

// keyNode is a key type: its schema and the parts of its encoding, in order.
type keyNode struct {
	schema *Schema
	typ    reflect.Type
	ops    []keyOp
	width  int  // of the encoding, or -1
	loose  bool // in a Go map, two keys may have one encoding (NaN)
}

// keyProgram encodes and decodes keys of one type. It is immutable.
type keyProgram struct {
	ops   []keyOp
	width int
	loose bool
}

func (n *keyNode) program() *keyProgram {
	return &keyProgram{ops: n.ops, width: n.width, loose: n.loose}
}

// keyBuilder turns a Go type into the parts of a key. inMap says that the key is one of a Go map inside a value.
type keyBuilder struct {
	inMap bool
}

// keyRefusals say why a kind is no key and what to use.
var keyRefusals = map[reflect.Kind]string{
	reflect.Pointer:       "a pointer is an address, which differs in every process; use the value it points to",
	reflect.Map:           "a map cannot be compared; use a struct or a string made from it",
	reflect.Slice:         "a slice cannot be compared; use an array or a string",
	reflect.Interface:     "its dynamic type may differ from row to row; use a concrete type",
	reflect.Func:          "a function cannot be compared; use data that selects it",
	reflect.Chan:          "a channel is an address; use the data that it stands for",
	reflect.UnsafePointer: "a pointer is an address; use the value it points to",
	reflect.Uintptr:       "an address means nothing in another process; use uint64",
}

func refuseKey(path string, t reflect.Type, why string) error {
	return fmt.Errorf("%s: %s is not a key; %s", path, t, why)
}

// build makes the node of t. last says that nothing follows t in the key.
func (b *keyBuilder) build(t reflect.Type, path string, last bool) (*keyNode, error) {
	n := &keyNode{schema: &Schema{}, typ: t}
	if err := b.add(n, n.schema, t, 0, path, last); err != nil {
		return nil, err
	}
	for _, o := range n.ops {
		switch o.code {
		case keyText, keyTail, keyAddr, keyAddrTail, keyPrefix:
			n.width = -1
		default:
			if n.width >= 0 {
				n.width += int(o.n)
			}
		}
	}
	return n, nil
}

// add appends the parts of a t at off to n and describes t in s.
func (b *keyBuilder) add(n *keyNode, s *Schema, t reflect.Type, off uintptr, path string, last bool) error {
	if len(n.ops) >= keyOpsMax || t.Size() > sizeMax {
		return refuseKey(path, t, fmt.Sprintf("it has more than %d parts; use a string or a hash of it", keyOpsMax))
	}
	op := func(code keyCode, size uintptr) {
		n.ops = append(n.ops, keyOp{code, uint32(off), uint32(size)})
	}
	if k, ok := leafKinds[t]; ok && t != durationType {
		s.Kind = k
		switch k {
		case KindTime:
			if b.inMap {
				return refuseKey(path, t, "two times can be one instant and yet be two keys of a map; use UnixNano or a string")
			}
			op(keyTime, 12)
		case KindAddr:
			op(pick(last, keyAddrTail, keyAddr), 0)
		case KindPrefix:
			op(keyPrefix, 0)
		case KindAddrPort:
			return b.addAddrPort(n, off)
		default:
			return refuseKey(path, t, "it cannot be compared; use its String or Int64")
		}
		return nil
	}
	if k, ok := scalarKinds[t.Kind()]; ok {
		s.Kind = k
		n.scalar(t, off)
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		s.Kind = KindString
		op(pick(last, keyTail, keyText), 0)
		return nil
	case reflect.Array:
		return b.array(n, s, t, off, path, last)
	case reflect.Struct:
		return b.structure(n, s, t, off, path, last)
	}
	return refuseKey(path, t, keyRefusals[t.Kind()])
}

func pick[T any](cond bool, yes, no T) T {
	if cond {
		return yes
	}
	return no
}

// addAddrPort finds the port behind the address by asking the memory, since the fields are unexported.
func (b *keyBuilder) addAddrPort(n *keyNode, off uintptr) error {
	n.ops = append(n.ops, keyOp{keyAddr, uint32(off), 0}, keyOp{keyUint, uint32(off + portOffset), 2})
	return nil
}

// portOffset is where netip.AddrPort keeps its port.
var portOffset = func() uintptr {
	f, ok := addrPortType.FieldByName("port")
	if !ok || f.Type.Kind() != reflect.Uint16 || addrPortType.Field(0).Type != addrType || addrPortType.Field(0).Offset != 0 {
		panic("codec: netip.AddrPort is laid out in an unknown way")
	}
	return f.Offset
}()

// scalar appends the part of a number or bool.
func (n *keyNode) scalar(t reflect.Type, off uintptr) {
	o := keyOp{off: uint32(off), n: uint32(t.Size())}
	switch t.Kind() {
	case reflect.Bool:
		o.code = keyBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		o.code = keyInt
	case reflect.Float32, reflect.Float64:
		o.code, n.loose = keyFloat, true
	case reflect.Complex64, reflect.Complex128:
		o.code, n.loose = keyFloat, true
		o.n /= 2
		n.ops = append(n.ops, o)
		o.off += o.n
	default:
		o.code = keyUint
	}
	n.ops = append(n.ops, o)
}

func (b *keyBuilder) array(n *keyNode, s *Schema, t reflect.Type, off uintptr, path string, last bool) error {
	s.Kind, s.Len, s.Elem = KindArray, t.Len(), &Schema{}
	if t.Elem().Kind() == reflect.Uint8 {
		s.Elem.Kind = KindUint8
		n.ops = append(n.ops, keyOp{keyRaw, uint32(off), uint32(t.Len())})
		return nil
	}
	if t.Size() == 0 || t.Len() > keyOpsMax {
		if t.Size() == 0 && t.Len() <= keyOpsMax {
			var none keyNode
			return b.add(&none, s.Elem, t.Elem(), off, path+"[]", false)
		}
		return refuseKey(path, t, fmt.Sprintf("it has more than %d parts; use a string or a hash of it", keyOpsMax))
	}
	for i := range t.Len() {
		*s.Elem = Schema{}
		at := off + uintptr(i)*t.Elem().Size()
		if err := b.add(n, s.Elem, t.Elem(), at, path+"[]", last && i == t.Len()-1); err != nil {
			return err
		}
	}
	return nil
}

// structure appends all fields, exported or not: a key is what == compares.
func (b *keyBuilder) structure(n *keyNode, s *Schema, t reflect.Type, off uintptr, path string, last bool) error {
	s.Kind = KindStruct
	end := -1 // index of the last field that has content
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" && f.Type.Size() > 0 {
			end = i
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		id, was, skip, err := parseTag(f)
		if !f.IsExported() && !skip {
			id, was, err = "", nil, nil
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s.%s: %w", path, f.Name, err)
		case skip:
			return refuseKey(path+"."+f.Name, f.Type, "a key without one of its fields would be two keys in one; remove the tag or the field")
		case id == "":
			id = f.Name
		}
		for k := range s.Fields {
			if s.Fields[k].ID == id {
				return fmt.Errorf("%s: two fields have the id %q; give one of them another with a tag `weir:\"...\"`", path, id)
			}
		}
		field := Field{ID: id, Type: &Schema{}, Was: was}
		if err := b.add(n, field.Type, f.Type, off+f.Offset, path+"."+f.Name, last && i == end); err != nil {
			return err
		}
		s.Fields = append(s.Fields, field)
	}
	return nil
}
