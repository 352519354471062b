package codec

import (
	"encoding"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"time"
)

// node is a Go type as the compiler sees it: its schema, and where each part lies in memory.
type node struct {
	schema *Schema
	typ    reflect.Type
	elem   *node // of an array, slice, pointer; the value of a map
	key    *keyNode
	fields []fieldNode

	fixed bool // the encoding is the memory, with padding zeroed
	dense bool // fixed, and there is no padding: bytes may be copied out as they are
	plain bool // fixed, and any bytes are a valid value (no bool): bytes may be copied in as they are
}

// fieldNode is an encoded field. off is the place in the memory of the struct that owns it, embedded ones flattened.
type fieldNode struct {
	off uintptr
	n   *node
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	addrType     = reflect.TypeFor[netip.Addr]()
	prefixType   = reflect.TypeFor[netip.Prefix]()
	addrPortType = reflect.TypeFor[netip.AddrPort]()
	bigIntType   = reflect.TypeFor[big.Int]()
	bigRatType   = reflect.TypeFor[big.Rat]()

	marshalerType   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshalerType = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// leafKinds are the library types with an encoding of their own. Named types made from them are not among them: they
// have lost the methods that say what the memory means.
var leafKinds = map[reflect.Type]Kind{
	timeType: KindTime, durationType: KindDuration, addrType: KindAddr, prefixType: KindPrefix,
	addrPortType: KindAddrPort, bigIntType: KindBigInt, bigRatType: KindBigRat,
}

var scalarKinds = map[reflect.Kind]Kind{
	reflect.Bool: KindBool, reflect.Int: KindInt64, reflect.Int8: KindInt8, reflect.Int16: KindInt16,
	reflect.Int32: KindInt32, reflect.Int64: KindInt64, reflect.Uint: KindUint64, reflect.Uint8: KindUint8,
	reflect.Uint16: KindUint16, reflect.Uint32: KindUint32, reflect.Uint64: KindUint64, reflect.Float32: KindFloat32,
	reflect.Float64: KindFloat64, reflect.Complex64: KindComplex64, reflect.Complex128: KindComplex128,
}

// refusals say what to write instead of a kind without a stable encoding.
var refusals = map[reflect.Kind]string{
	reflect.Chan:          "use the values themselves, or exclude the field with the tag `weir:\"-\"`",
	reflect.Func:          "use data that selects the function, or exclude the field with the tag `weir:\"-\"`",
	reflect.Interface:     "use a concrete type, or a struct with one nullable pointer for each case",
	reflect.UnsafePointer: "use the value it points to",
	reflect.Uintptr:       "an address means nothing in another process; use uint64",
}

// builder turns a Go type into nodes. It keeps the types that are being built to find recursion.
type builder struct {
	open    []reflect.Type
	ignored []string // paths of fields that are not encoded
}

func refuse(path string, t reflect.Type, why string) error {
	return fmt.Errorf("%s: %s has no stable encoding; %s", path, t, why)
}

// build makes the node of t. path is the Go path for messages.
func (b *builder) build(t reflect.Type, path string) (*node, error) {
	if t.Size() > sizeMax || t.Kind() == reflect.Array && t.Len() > sizeMax {
		return nil, refuse(path, t, "it is too large; use a slice")
	}
	mark := len(b.ignored)
	n, err := b.natural(t, path)
	if err == nil {
		return n, nil
	}
	pt := reflect.PointerTo(t)
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface &&
		pt.Implements(marshalerType) && pt.Implements(unmarshalerType) {
		b.ignored = b.ignored[:mark]
		return &node{schema: &Schema{Kind: KindOpaque, Type: typeName(t)}, typ: t}, nil
	}
	return nil, err
}

func typeName(t reflect.Type) string {
	if t.PkgPath() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}

// natural makes the node of t from what t is made of.
func (b *builder) natural(t reflect.Type, path string) (*node, error) {
	if k, ok := leafKinds[t]; ok {
		return scalarNode(k, t), nil
	}
	if k, ok := scalarKinds[t.Kind()]; ok {
		return scalarNode(k, t), nil
	}
	for _, o := range b.open {
		if o == t {
			return nil, refuse(path, t, "it contains itself; use a slice of nodes that refer to each other by index")
		}
	}
	if len(b.open) >= schemaDepthMax {
		return nil, refuse(path, t, fmt.Sprintf("types are nested more than %d deep; use a flatter type", schemaDepthMax))
	}
	b.open = append(b.open, t)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	switch t.Kind() {
	case reflect.String:
		return scalarNode(KindString, t), nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return scalarNode(KindBytes, t), nil
		}
		return b.wrap(KindSlice, t, path+"[]")
	case reflect.Pointer:
		return b.wrap(KindPointer, t, path)
	case reflect.Array:
		n, err := b.wrap(KindArray, t, path+"[]")
		if err != nil {
			return nil, err
		}
		n.schema.Len = t.Len()
		n.fixed, n.dense, n.plain = n.elem.fixed, n.elem.dense, n.elem.plain
		return n, nil
	case reflect.Map:
		n, err := b.wrap(KindMap, t, path+"[]")
		if err != nil {
			return nil, err
		}
		kb := keyBuilder{inMap: true}
		if n.key, err = kb.build(t.Key(), path+"[key]", true); err != nil {
			return nil, err
		}
		n.schema.Key = n.key.schema
		return n, nil
	case reflect.Struct:
		return b.structure(t, path)
	}
	return nil, refuse(path, t, refusals[t.Kind()])
}

func scalarNode(k Kind, t reflect.Type) *node {
	fixed := scalarSize[k] > 0
	return &node{schema: &Schema{Kind: k}, typ: t, fixed: fixed, dense: fixed, plain: fixed && k != KindBool}
}

func (b *builder) wrap(k Kind, t reflect.Type, path string) (*node, error) {
	elem, err := b.build(t.Elem(), path)
	if err != nil {
		return nil, err
	}
	return &node{schema: &Schema{Kind: k, Elem: elem.schema}, typ: t, elem: elem}, nil
}

func (b *builder) structure(t reflect.Type, path string) (*node, error) {
	n := &node{schema: &Schema{Kind: KindStruct}, typ: t}
	mark := len(b.ignored)
	if err := b.fields(n, t, 0, path); err != nil {
		return nil, err
	}
	if len(n.fields) == 0 && t.Size() > 0 {
		return nil, refuse(path, t, "it has no exported field, so nothing of it would be kept; export what belongs to the value")
	}
	at := make(map[string]bool, len(n.fields))
	for i := range n.schema.Fields {
		if id := n.schema.Fields[i].ID; at[id] {
			return nil, fmt.Errorf("%s: two fields have the id %q; give one of them another with a tag `weir:\"...\"`", path, id)
		}
		at[n.schema.Fields[i].ID] = true
	}
	n.fixed, n.plain = len(b.ignored) == mark, true
	sum := uintptr(0)
	dense := true
	for _, f := range n.fields {
		n.fixed, n.plain, dense = n.fixed && f.n.fixed, n.plain && f.n.plain, dense && f.n.dense
		sum += f.n.typ.Size()
	}
	n.plain = n.plain && n.fixed
	n.dense = n.fixed && dense && sum == t.Size()
	if n.fixed {
		n.schema.Aligned, n.schema.Size = true, int(t.Size())
		for i := range n.fields {
			n.schema.Fields[i].Offset = int(n.fields[i].off)
		}
	}
	return n, nil
}

// fields adds the fields of t, which lies at base in the struct of n. Embedded structs without a tag are flattened, as
// encoding/json does it, so that moving fields into one changes no id.
func (b *builder) fields(n *node, t reflect.Type, base uintptr, path string) error {
	var errsFound []error
	for i := range t.NumField() {
		f := t.Field(i)
		fieldPath := path + "." + f.Name
		id, was, skip, err := parseTag(f)
		if err != nil {
			errsFound = append(errsFound, fmt.Errorf("%s: %w", fieldPath, err))
			continue
		}
		flatten := f.Anonymous && id == "" && f.Type.Kind() == reflect.Struct && leafKinds[f.Type] == 0
		switch {
		case f.Name == "_":
			continue
		case skip, !f.IsExported() && !flatten:
			b.ignored = append(b.ignored, fieldPath)
			continue
		case flatten:
			before := len(n.fields)
			if err = b.fields(n, f.Type, base+f.Offset, fieldPath); err != nil {
				errsFound = append(errsFound, err)
			}
			if len(n.fields) > before || f.Type.Size() == 0 || err != nil {
				continue
			}
			if !f.IsExported() {
				b.ignored = append(b.ignored, fieldPath)
				continue
			}
			// Nothing to flatten: it may still marshal itself, as a field of its own.
		}
		if id == "" {
			id = f.Name
		}
		fn, err := b.build(f.Type, fieldPath)
		if err != nil {
			errsFound = append(errsFound, err)
			continue
		}
		n.fields = append(n.fields, fieldNode{base + f.Offset, fn})
		n.schema.Fields = append(n.schema.Fields, Field{ID: id, Type: fn.schema, Was: was})
	}
	return errors.Join(errsFound...)
}

// parseTag reads the tag `weir:"id,was=old"`; both parts may be missing, was may be repeated.
func parseTag(f reflect.StructField) (id string, was []string, skip bool, err error) {
	tag, ok := f.Tag.Lookup("weir")
	if !ok {
		return "", nil, false, nil
	}
	if tag == "-" {
		return "", nil, true, nil
	}
	id, opts, _ := strings.Cut(tag, ",")
	for opt := range strings.SplitSeq(opts, ",") {
		name, isWas := strings.CutPrefix(opt, "was=")
		switch {
		case opt == "":
		case isWas && name != "":
			was = append(was, name)
		default:
			return "", nil, false, fmt.Errorf("tag `weir:%q` has the unknown part %q; write `weir:\"name,was=oldname\"`", tag, opt)
		}
	}
	if !f.IsExported() && !f.Anonymous {
		return "", nil, false, fmt.Errorf("tag `weir:%q` is on an unexported field, which is never encoded; export it or write `weir:\"-\"`", tag)
	}
	return id, was, false, nil
}
