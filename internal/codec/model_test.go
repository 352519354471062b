package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// modelFixed says whether the format stores a t as its memory.
func modelFixed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return modelFixed(t.Elem())
	case reflect.Struct:
		if leafKinds[t] != 0 {
			return false
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name != "_" && (!f.IsExported() || f.Tag.Get("weir") == "-" || !modelFixed(f.Type)) {
				return false
			}
		}
		return true
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 && t.Kind() != reflect.Uintptr
}

// model is the slow, obvious encoder: docs/format/codec.md read aloud.
func model(v reflect.Value) []byte {
	var b bytes.Buffer
	put := func(x any) { _ = binary.Write(&b, binary.LittleEndian, x) }
	text := func(p []byte) { b.Write(binary.AppendUvarint(nil, uint64(len(p)))); b.Write(p) }
	switch x := v.Interface().(type) {
	case time.Time:
		_, off := x.Zone()
		put(x.Unix())
		put(int32(x.Nanosecond()))
		put(int32(off))
		return b.Bytes()
	case netip.Addr:
		return modelAddr(x)
	case netip.Prefix:
		return append(modelAddr(x.Addr()), byte(x.Bits()+1))
	case netip.AddrPort:
		return binary.LittleEndian.AppendUint16(modelAddr(x.Addr()), x.Port())
	case big.Int:
		return modelBig(&x)
	case big.Rat:
		return append(modelBig(x.Num()), modelBig(x.Denom())...)
	}
	switch v.Kind() {
	case reflect.Int:
		put(v.Int())
	case reflect.Uint:
		put(v.Uint())
	case reflect.String:
		text([]byte(v.String()))
	case reflect.Slice:
		if v.IsNil() {
			return []byte{0}
		}
		b.Write(binary.AppendUvarint(nil, uint64(v.Len())+1))
		for i := range v.Len() {
			b.Write(model(v.Index(i)))
		}
	case reflect.Array:
		for i := range v.Len() {
			b.Write(model(v.Index(i)))
		}
	case reflect.Pointer:
		if v.IsNil() {
			return []byte{0}
		}
		b.WriteByte(1)
		b.Write(model(v.Elem()))
	case reflect.Map:
		if v.IsNil() {
			return []byte{0}
		}
		b.Write(binary.AppendUvarint(nil, uint64(v.Len())+1))
		entries := map[string]string{}
		var keys []string
		for it := v.MapRange(); it.Next(); {
			k := string(modelKey(it.Key(), true))
			keys = append(keys, k)
			entries[k] = string(model(it.Value()))
		}
		sort.Strings(keys)
		for _, k := range keys {
			text([]byte(k))
			b.WriteString(entries[k])
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Name == "_" || !f.IsExported() || f.Tag.Get("weir") == "-" {
				continue
			}
			if modelFixed(v.Type()) {
				b.Write(make([]byte, int(f.Offset)-b.Len()))
			}
			b.Write(model(v.Field(i)))
		}
		if modelFixed(v.Type()) {
			b.Write(make([]byte, int(v.Type().Size())-b.Len()))
		}
	default:
		put(v.Interface())
	}
	return b.Bytes()
}

func modelAddr(a netip.Addr) []byte {
	switch {
	case !a.IsValid():
		return []byte{0}
	case a.Is4():
		return append([]byte{4}, a.AsSlice()...)
	case a.Zone() == "":
		return append([]byte{6}, a.AsSlice()...)
	}
	return append(append(append([]byte{7}, a.AsSlice()...), byte(len(a.Zone()))), a.Zone()...)
}

func modelBig(x *big.Int) []byte {
	head := uint64(len(x.Bytes())) * 2
	if x.Sign() < 0 {
		head++
	}
	return append(binary.AppendUvarint(nil, head), x.Bytes()...)
}

// modelKey is docs/format/key.md read aloud; last says that nothing follows.
func modelKey(v reflect.Value, last bool) []byte {
	str := func(s string) []byte {
		if last {
			return []byte(s)
		}
		return []byte(strings.ReplaceAll(s, "\x00", "\x00\xff") + "\x00\x00")
	}
	switch x := v.Interface().(type) {
	case netip.Addr:
		out := modelAddr(x.WithZone(""))
		if x.Is6() {
			out = append(out, str(x.Zone())...)
		}
		return out
	}
	size := int(v.Type().Size())
	wide := func(u uint64) []byte { return binary.BigEndian.AppendUint64(nil, u)[8-size:] }
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return []byte{1}
		}
		return []byte{0}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return wide(uint64(v.Int()) + 1<<(8*size-1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return wide(v.Uint())
	case reflect.Float64:
		f := v.Float()
		switch {
		case math.IsNaN(f):
			return []byte{0xff, 0xf8, 0, 0, 0, 0, 0, 0}
		case f >= 0: // -0 as well
			return wide(math.Float64bits(math.Abs(f)) + 1<<63)
		}
		return wide(math.MaxUint64 - math.Float64bits(f))
	case reflect.String:
		return str(v.String())
	case reflect.Array, reflect.Struct:
		n, at := v.Type().Size(), v.Index
		_ = n
		count := 0
		if v.Kind() == reflect.Array {
			count = v.Len()
		} else {
			count, at = v.NumField(), v.Field
		}
		var out []byte
		for i := range count {
			out = append(out, modelKey(at(i), last && i == count-1)...)
		}
		return out
	}
	panic("no model for " + v.Type().String())
}

// Types and values.

var leafTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](),
	reflect.TypeFor[int64](), reflect.TypeFor[int](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](),
	reflect.TypeFor[uint32](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
	reflect.TypeFor[complex64](), reflect.TypeFor[complex128](), reflect.TypeFor[time.Duration](),
	reflect.TypeFor[string](), reflect.TypeFor[string](), reflect.TypeFor[time.Time](), reflect.TypeFor[netip.Addr](),
	reflect.TypeFor[netip.Prefix](), reflect.TypeFor[netip.AddrPort](), reflect.TypeFor[*big.Int](),
	reflect.TypeFor[big.Rat](), reflect.TypeFor[struct{}](), reflect.TypeFor[[0]string](),
}

var keyLeafTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint16](), reflect.TypeFor[uint64](), reflect.TypeFor[float64](), reflect.TypeFor[string](),
	reflect.TypeFor[netip.Addr](), reflect.TypeFor[[3]byte](),
}

func genType(t *rapid.T, depth int) reflect.Type {
	what := rapid.IntRange(0, 9).Draw(t, "what")
	if depth == 0 || what < 3 {
		return rapid.SampledFrom(leafTypes).Draw(t, "leaf")
	}
	switch what {
	case 3:
		return reflect.SliceOf(genType(t, depth-1))
	case 4:
		return reflect.PointerTo(genType(t, depth-1))
	case 5:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "len"), genType(t, depth-1))
	case 6:
		return reflect.MapOf(genKeyType(t, 1), genType(t, depth-1))
	}
	return genStruct(t, depth)
}

func genStruct(t *rapid.T, depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range rapid.IntRange(1, 5).Draw(t, "fields") {
		f := reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: genType(t, depth-1)}
		switch rapid.IntRange(0, 15).Draw(t, "kind of field") {
		case 0:
			f.Tag = `weir:"-"`
		case 1:
			f.Name, f.PkgPath = fmt.Sprintf("f%d", i), "example.com/p"
		}
		fields = append(fields, f)
	}
	// One field is always exported, or the struct would be refused.
	return reflect.StructOf(append(fields, reflect.StructField{Name: "Last", Type: genType(t, depth-1)}))
}

func genKeyType(t *rapid.T, depth int) reflect.Type {
	if depth == 0 || rapid.Bool().Draw(t, "leaf key") {
		return rapid.SampledFrom(keyLeafTypes).Draw(t, "key leaf")
	}
	if rapid.Bool().Draw(t, "array key") {
		return reflect.ArrayOf(rapid.IntRange(1, 3).Draw(t, "len"), genKeyType(t, depth-1))
	}
	var fields []reflect.StructField
	for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("K%d", i), Type: genKeyType(t, depth-1)})
	}
	return reflect.StructOf(fields)
}

var genText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00", "a\x00", "a", "a\x00\xff", "\xff",
	strings.Repeat("y", 127), strings.Repeat("z", 128)}))

var genAddr = rapid.SampledFrom([]netip.Addr{{}, netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("::"),
	netip.MustParseAddr("::ffff:1.2.3.4"), netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("9.9.9.9")})

// fill sets v to something random.
func fill(t *rapid.T, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Unix(rapid.Int64().Draw(t, "sec")>>rapid.IntRange(4, 60).Draw(t, "shift"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).
			In(time.FixedZone("", rapid.SampledFrom([]int{0, 3600, -16200, 12345, 90000}).Draw(t, "zone")))
		return
	case *netip.Addr:
		*p = genAddr.Draw(t, "addr")
		return
	case *netip.Prefix:
		*p = netip.PrefixFrom(genAddr.Draw(t, "addr"), rapid.IntRange(-1, 40).Draw(t, "bits"))
		return
	case *netip.AddrPort:
		*p = netip.AddrPortFrom(genAddr.Draw(t, "addr"), rapid.Uint16().Draw(t, "port"))
		return
	case *big.Int:
		p.SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "big"))
		if rapid.Bool().Draw(t, "neg") {
			p.Neg(p)
		}
		return
	case *big.Rat:
		p.SetFrac64(rapid.Int64().Draw(t, "num"), rapid.Int64Range(1, math.MaxInt64).Draw(t, "den"))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		v.SetString(genText.Draw(t, "string"))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(),
			math.Inf(1), math.Inf(-1)})).Draw(t, "float"))
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(rapid.Float64().Draw(t, "re"), rapid.Float64().Draw(t, "im")))
	case reflect.Slice:
		if n := rapid.IntRange(-1, 4).Draw(t, "len"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 3).Draw(t, "len"); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, k)
				fill(t, e)
				if k.Equal(k) { // the model has no two NaN keys
					v.SetMapIndex(k, e)
				}
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Tag.Get("weir") != "-" {
				fill(t, v.Field(i))
			}
		}
	default:
		bits := rapid.Uint64().Draw(t, "bits")
		if v.CanInt() {
			v.SetInt(int64(bits) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
		} else {
			v.SetUint(bits << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
		}
	}
}

// machine is a codec of a type that is known at run time only.
type machine struct {
	n        *node
	enc, dec []op
}

func mustMachine(t *rapid.T, typ reflect.Type) machine {
	var b builder
	n, err := b.build(typ, "T")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Resolve(n.schema, n.schema)
	if err != nil || !plan.Identical() || len(plan.Changes) != 0 {
		t.Fatalf("a schema against itself: %v, %v", plan, err)
	}
	return machine{n, frequent(compileEncoder(nil, n, 0)), frequent(compileDecoder(nil, plan.root, n, 0, "T"))}
}

// Law: for every type and value the compiled encoder writes what the model writes, decoding gives a value that the model
// encodes to the same bytes, skipping passes exactly over it, and no proper prefix decodes.
func TestCompiledCodecAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := genType(t, 3)
		m := mustMachine(t, typ)
		v, got := reflect.New(typ), reflect.New(typ)
		fill(t, v.Elem())
		want := model(v.Elem())
		enc := encode(m.enc, nil, v.UnsafePointer())
		if !bytes.Equal(enc, want) {
			t.Fatalf("%s\nencoded % x\nmodel   % x", typ, enc, want)
		}
		if modelFixed(typ) != m.n.fixed || m.n.fixed && len(enc) != int(typ.Size()) {
			t.Fatalf("%s: fixed %v, %d bytes", typ, m.n.fixed, len(enc))
		}
		i, err := decode(m.dec, append(enc, 1, 2, 3), 0, got.UnsafePointer())
		if err != nil || i != len(enc) {
			t.Fatalf("%s: decoded %d of %d bytes: %v", typ, i, len(enc), err)
		}
		if again := model(got.Elem()); !bytes.Equal(again, want) {
			t.Fatalf("%s\ndecoded to % x\nwant       % x", typ, again, want)
		}
		if rest, err := skip(m.n.schema, append(enc, 9)); err != nil || len(rest) != 1 {
			t.Fatalf("%s: skip leaves %d bytes, %v", typ, len(rest), err)
		}
		for cut := range enc {
			if _, err := decode(m.dec, enc[:cut:cut], 0, got.UnsafePointer()); err == nil {
				t.Fatalf("%s: %d of %d bytes decode", typ, cut, len(enc))
			}
			if _, err := skip(m.n.schema, enc[:cut:cut]); err == nil {
				t.Fatalf("%s: %d of %d bytes are skipped", typ, cut, len(enc))
			}
		}
	})
}

// Law: a schema comes back from its binary form, with nothing left over, and no proper prefix of it parses.
func TestSchemaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := mustMachine(t, genType(t, 3)).n.schema
		enc := s.Append(nil)
		got, rest, err := ParseSchema(append(enc, 7))
		if err != nil || len(rest) != 1 || !got.Equal(s) || got.String() != s.String() {
			t.Fatalf("%s came back as %s, %v", s, got, err)
		}
		for cut := range enc {
			if _, _, err := ParseSchema(enc[:cut]); err == nil {
				t.Fatalf("%d of %d bytes parse", cut, len(enc))
			}
		}
	})
}

// Law: of two versions of a struct with any fields added, dropped and moved, the new one has the old values in the
// fields of the same name and zero in the others.
func TestResolveKeepsFieldsByName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := genStruct(t, 2)
		choose := func(label string) reflect.Type {
			var fields []reflect.StructField
			for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4, 5}[:min(6, all.NumField())]).Draw(t, label) {
				if f := all.Field(i); f.IsExported() && rapid.IntRange(0, 3).Draw(t, "keep") > 0 {
					f.Tag = ""
					fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type})
				}
			}
			return reflect.StructOf(fields)
		}
		was, is := mustMachine(t, choose("old")), mustMachine(t, choose("new"))
		plan, err := Resolve(was.n.schema, is.n.schema)
		if err != nil {
			t.Fatal(err)
		}
		dec := frequent(compileDecoder(nil, plan.root, is.n, 0, "T"))
		v, got, want := reflect.New(was.n.typ), reflect.New(is.n.typ), reflect.New(is.n.typ)
		fill(t, v.Elem())
		for i := range is.n.typ.NumField() {
			if f := v.Elem().FieldByName(is.n.typ.Field(i).Name); f.IsValid() {
				want.Elem().Field(i).Set(f)
			}
		}
		enc := encode(was.enc, nil, v.UnsafePointer())
		if i, err := decode(dec, enc, 0, got.UnsafePointer()); err != nil || i != len(enc) {
			t.Fatalf("%d of %d bytes: %v", i, len(enc), err)
		}
		if g, w := model(got.Elem()), model(want.Elem()); !bytes.Equal(g, w) {
			t.Fatalf("%s to %s\ngot  % x\nwant % x", was.n.schema, is.n.schema, g, w)
		}
	})
}

// Law: keys are encoded as the model does it, come back, and two keys have one encoding only if they are equal; the
// order of two keys of one field is the order of their encodings.
func TestKeysAgreeWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := genKeyType(t, 2)
		var b keyBuilder
		n, err := b.build(typ, "K", true)
		if err != nil {
			t.Fatal(err)
		}
		p := n.program()
		a, c, back := reflect.New(typ), reflect.New(typ), reflect.New(typ)
		fill(t, a.Elem())
		fill(t, c.Elem())
		ea, ec := p.encode(nil, a.UnsafePointer()), p.encode(nil, c.UnsafePointer())
		if want := modelKey(a.Elem(), true); !bytes.Equal(ea, want) {
			t.Fatalf("%s\nencoded % x\nmodel   % x", typ, ea, want)
		}
		if p.width >= 0 && p.width != len(ea) {
			t.Fatalf("%s: width %d, but %d bytes", typ, p.width, len(ea))
		}
		if err := p.decode(ea, back.UnsafePointer()); err != nil || !bytes.Equal(modelKey(back.Elem(), true), ea) {
			t.Fatalf("%s: %v came back as %v, %v", typ, a.Elem(), back.Elem(), err)
		}
		if a.Elem().Equal(a.Elem()) && c.Elem().Equal(c.Elem()) && a.Elem().Equal(c.Elem()) != bytes.Equal(ea, ec) {
			t.Fatalf("%s: %v and %v encode to % x and % x", typ, a.Elem(), c.Elem(), ea, ec)
		}
		if want, ok := compareKeys(a.Elem(), c.Elem()); ok && want != bytes.Compare(ea, ec) {
			t.Fatalf("%s: %v and %v are in another order than % x and % x", typ, a.Elem(), c.Elem(), ea, ec)
		}
		if got, want := p.hash(a.UnsafePointer(), pickHashPath(n)), HashEncoded(ea); got != want {
			if path := pickHashPath(n); path == hashAny || path == hashSmall || path == hashRaw {
				t.Fatalf("%s: hash %x, want %x", typ, got, want)
			}
		}
	})
}

// compareKeys orders keys as Go does, field by field; ok is false for NaN.
func compareKeys(a, b reflect.Value) (c int, ok bool) {
	if x, isAddr := a.Interface().(netip.Addr); isAddr {
		return x.Compare(b.Interface().(netip.Addr)), true
	}
	less := func(l, g bool) (int, bool) {
		switch {
		case l:
			return -1, true
		case g:
			return 1, true
		}
		return 0, true
	}
	switch a.Kind() {
	case reflect.Bool:
		return less(!a.Bool() && b.Bool(), a.Bool() && !b.Bool())
	case reflect.String:
		return strings.Compare(a.String(), b.String()), true
	case reflect.Float64:
		if a.Float() != a.Float() || b.Float() != b.Float() {
			return 0, false
		}
		return less(a.Float() < b.Float(), a.Float() > b.Float())
	case reflect.Array:
		for i := range a.Len() {
			if c, ok = compareKeys(a.Index(i), b.Index(i)); c != 0 || !ok {
				return c, ok
			}
		}
		return 0, true
	case reflect.Struct:
		for i := range a.NumField() {
			if c, ok = compareKeys(a.Field(i), b.Field(i)); c != 0 || !ok {
				return c, ok
			}
		}
		return 0, true
	}
	if a.CanInt() {
		return less(a.Int() < b.Int(), a.Int() > b.Int())
	}
	return less(a.Uint() < b.Uint(), a.Uint() > b.Uint())
}

// Law: the hash of one word is the library's hash of its bytes.
func TestHashWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v")
		if got, want := hashWord(v), HashEncoded(binary.BigEndian.AppendUint64(nil, v)); got != want {
			t.Fatalf("%x: %x, want %x", v, got, want)
		}
	})
}

func TestNoescapeIsTheSamePointer(t *testing.T) {
	v := new(int)
	if noescape(unsafe.Pointer(v)) != unsafe.Pointer(v) {
		t.Fatal("another pointer")
	}
}

// Law: bytes with a few of them changed decode or fail, but never panic, and skipping agrees with decoding wherever
// decoding succeeds.
func TestChangedBytesNeverPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := genType(t, 3)
		m := mustMachine(t, typ)
		v, got := reflect.New(typ), reflect.New(typ)
		fill(t, v.Elem())
		enc := encode(m.enc, nil, v.UnsafePointer())
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			if len(enc) > 0 {
				enc[rapid.IntRange(0, len(enc)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
			}
		}
		i, err := decode(m.dec, enc, 0, got.UnsafePointer())
		if err != nil {
			return
		}
		if rest, err := skip(m.n.schema, enc); err != nil || len(enc)-len(rest) != i {
			t.Fatalf("%s: decoded %d bytes of % x, skipped %d, %v", typ, i, enc, len(enc)-len(rest), err)
		}
		again := encode(m.enc, nil, got.UnsafePointer())
		if _, err := decode(m.dec, again, 0, got.UnsafePointer()); err != nil {
			t.Fatalf("%s: % x: %v", typ, again, err)
		}
	})
}
