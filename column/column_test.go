package column_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/types"
	"pgregory.net/rapid"
)

type row struct {
	B    bool
	I8   int8
	I16  int16
	I32  int32
	I    int
	U8   uint8
	U16  uint16
	U32  uint32
	U    uint
	F32  float32
	F64  float64
	S    string `column:"name"`
	Raw  []byte
	NS   types.Null[string]
	NI   types.Null[int32]
	NB   types.Null[bool]
	Skip map[string]int `column:"-"`
}

// conv is made once: it must work for every batch.
var conv = func() *column.Conv[row] {
	c, err := column.For[row]()
	if err != nil {
		panic(err)
	}
	return c
}()

func rowGen() *rapid.Generator[row] {
	return rapid.Custom(func(t *rapid.T) row {
		r := row{
			B: rapid.Bool().Draw(t, "b"), I8: rapid.Int8().Draw(t, "i8"), I16: rapid.Int16().Draw(t, "i16"), I32: rapid.Int32().Draw(t, "i32"),
			I: rapid.Int().Draw(t, "i"), U8: rapid.Uint8().Draw(t, "u8"), U16: rapid.Uint16().Draw(t, "u16"), U32: rapid.Uint32().Draw(t, "u32"),
			U: rapid.Uint().Draw(t, "u"), F32: rapid.Float32().Draw(t, "f32"), F64: rapid.Float64().Draw(t, "f64"),
			S: rapid.StringN(0, 5, -1).Draw(t, "s"),
		}
		if raw := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "raw"); len(raw) > 0 {
			r.Raw = raw
		}
		if rapid.Bool().Draw(t, "has s") {
			r.NS = types.Some(rapid.StringN(0, 3, -1).Draw(t, "ns"))
		}
		if rapid.IntRange(0, 9).Draw(t, "has i") > 0 {
			r.NI = types.Some(rapid.Int32().Draw(t, "ni"))
		}
		if rapid.Bool().Draw(t, "has b") {
			r.NB = types.Some(rapid.Bool().Draw(t, "nb"))
		}
		return r
	})
}

// model is a batch written for reading.
type model struct {
	rows    []row
	times   []int64
	hashes  []uint64
	changes []column.Change
}

func (m model) pick(rows []int32) (out model) {
	for _, i := range rows {
		out.rows = append(out.rows, m.rows[i])
		out.times = append(out.times, m.times[i])
		out.hashes = append(out.hashes, m.hashes[i])
		out.changes = append(out.changes, m.changes[i])
	}
	return out
}

func (m model) add(o model) model {
	return model{append(slices.Clone(m.rows), o.rows...), append(slices.Clone(m.times), o.times...),
		append(slices.Clone(m.hashes), o.hashes...), append(slices.Clone(m.changes), o.changes...)}
}

// draw makes a batch and its model. changes says whether the batch has its changes written down.
func draw(t *rapid.T, capacity int) (*column.Batch, model) {
	b := column.New(conv.Schema(), capacity)
	m := model{rows: rapid.SliceOfN(rowGen(), 0, capacity).Draw(t, "rows")}
	for left := m.rows; len(left) > 0; {
		n := rapid.IntRange(1, len(left)).Draw(t, "piece")
		if took := conv.Append(b, left[:n]); took != n {
			t.Fatalf("took %d of %d rows", took, n)
		}
		left = left[n:]
	}
	changes := rapid.Bool().Draw(t, "changes")
	for i := range m.rows {
		m.times = append(m.times, int64(i)*1000)
		m.hashes = append(m.hashes, uint64(i)<<40)
		c := column.Insert
		if changes {
			c = column.Change(rapid.IntRange(0, 3).Draw(t, "change"))
			b.Changes = append(b.Changes, c)
		}
		m.changes = append(m.changes, c)
	}
	b.Times, b.Hashes = append(b.Times, m.times...), append(b.Hashes, m.hashes...)
	return b, m
}

func subset(t *rapid.T, n int) []int32 {
	out := []int32{}
	for i := range n {
		if rapid.Bool().Draw(t, "live") {
			out = append(out, int32(i))
		}
	}
	return out
}

func same(t *rapid.T, what string, b *column.Batch, want model) {
	t.Helper()
	if b.Len() != len(want.rows) {
		t.Fatalf("%s: %d rows, want %d", what, b.Len(), len(want.rows))
	}
	got := conv.Rows(b, nil)
	if len(got) > 0 && !reflect.DeepEqual(got, want.rows) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want.rows)
	}
	live := b.Live
	if live == nil {
		for i := range b.Rows() {
			live = append(live, int32(i))
		}
	}
	for i, j := range live {
		c := column.Insert
		if len(b.Changes) > 0 {
			c = b.Changes[j]
		}
		if b.Times[j] != want.times[i] || b.Hashes[j] != want.hashes[i] || c != want.changes[i] {
			t.Fatalf("%s: row %d has time %d, hash %x, change %v; want %d, %x, %v", what, i, b.Times[j], b.Hashes[j], c, want.times[i], want.hashes[i], want.changes[i])
		}
	}
}

// Law: what goes in comes out, whole or by selection, copied, compacted, and over the wire.
func TestBatchAgainstItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, m := draw(t, 40)
		same(t, "rows", b, m)
		dst, dm := draw(t, 40)
		dst2 := column.New(conv.Schema(), 64)
		dst.CopyTo(dst2, nil)
		var rows []int32
		if rapid.Bool().Draw(t, "by rows") {
			rows = subset(t, len(m.rows))
		} else if rapid.Bool().Draw(t, "selection") {
			b.Live = append(b.Scratch(), subset(t, len(m.rows))...)
		}
		picked := m
		if rows != nil {
			picked = m.pick(rows)
		} else if b.Live != nil {
			picked = m.pick(b.Live)
		}
		room := dst2.Room()
		took := b.CopyTo(dst2, rows)
		if took != min(room, len(picked.rows)) {
			t.Fatalf("took %d of %d rows, room for %d", took, len(picked.rows), room)
		}
		part := make([]int32, took)
		for i := range part {
			part[i] = int32(i)
		}
		same(t, "copy", dst2, dm.add(picked.pick(part)))
		if rows != nil {
			b.Live = rows
		}
		same(t, "selection", b, picked)
		wire := b.AppendWire(nil)
		same(t, "compacted", b, picked)
		back := column.New(conv.Schema(), 40)
		if err := back.ReadWire(wire); err != nil {
			t.Fatal(err)
		}
		same(t, "over the wire", back, picked)
		if !bytes.Equal(back.AppendWire(nil), wire) {
			t.Fatal("the bytes of what was read differ")
		}
		back.Reset()
		if back.Len() != 0 || back.Room() != 40 {
			t.Fatal("reset")
		}
		conv.Append(back, dm.rows)
		back.Times, back.Hashes = append(back.Times, dm.times...), append(back.Hashes, dm.hashes...)
		clear(dm.changes)
		same(t, "used again", back, dm)
	})
}

// The layout is Arrow's: an example by hand.
func TestLayout(t *testing.T) {
	s, err := column.NewSchema(column.Field{Name: "s", Kind: column.String, Nullable: true}, column.Field{Name: "n", Kind: column.Int16},
		column.Field{Name: "b", Kind: column.Bool})
	if err != nil {
		t.Fatal(err)
	}
	b := column.New(s, 16)
	for i, v := range []string{"ab", "", "cde", "-"} {
		if v == "-" {
			b.Vector(0).AppendNull()
		} else {
			b.Vector(0).AppendString(v)
		}
		column.Append(b.Vector(1), int16(-i))
		b.Vector(2).AppendBool(i%2 == 0)
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	b.Changes = append(b.Changes, column.Insert, column.UpdateBefore, column.UpdateAfter, column.Delete)
	want := []byte{4, 4, 3, 0, 1, 2, 3}                                             // flags, rows, columns, changes
	want = append(want, byte(column.String), 1, 0b0111)                             // the fourth is missing
	want = append(want, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0) // offsets
	want = append(want, "abcde"...)
	want = append(want, byte(column.Int16), 0, 0, 0, 0xFF, 0xFF, 0xFE, 0xFF, 0xFD, 0xFF)
	want = append(want, byte(column.Bool), 0, 0b0101)
	if got := b.AppendWire(nil); !bytes.Equal(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
	if v := b.Vector(0); !v.Null(3) || v.Null(1) || v.Nulls() != 1 || string(v.Text(2)) != "cde" || len(v.Text(3)) != 0 {
		t.Error("strings")
	}
	if got := column.Values[int16](b.Vector(1)); !slices.Equal(got, []int16{0, -1, -2, -3}) {
		t.Error(got)
	}
	if v := b.Vector(2); !v.Bool(2) || v.Bool(3) {
		t.Error("bits")
	}
	if got := fmt.Sprint(b.Changes); got != "[+I -U +U -D]" {
		t.Error(got)
	}
	if s.Index("n") != 1 || s.Index("x") != -1 {
		t.Error("Index")
	}
}

func TestMisuse(t *testing.T) {
	s, _ := column.NewSchema(column.Field{Name: "a", Kind: column.Int32}, column.Field{Name: "b", Kind: column.Int32})
	b := column.New(s, 4)
	column.Append(b.Vector(0), int32(1))
	if b.EndRow() == nil {
		t.Error("a row with a missing column was taken")
	}
	b.Vector(1).AppendNull()
	if b.EndRow() == nil {
		t.Error("a null was taken where none is allowed")
	}
	if _, err := column.NewSchema(column.Field{Name: "x"}); err == nil {
		t.Error("a field without kind was taken")
	}
	if _, err := column.For[int](); err == nil {
		t.Error("int is no struct")
	}
	if _, err := column.For[struct{ M map[string]int }](); err == nil {
		t.Error("a map has no column")
	}
	if _, err := column.For[struct{ m int }](); err == nil {
		t.Error("no exported field")
	}
	defer func() {
		if recover() == nil {
			t.Error("an int32 went into an int64 column")
		}
	}()
	column.Append(column.New(&column.Schema{Fields: []column.Field{{Kind: column.Int64}}}, 1).Vector(0), int32(1))
}

// A batch whose strings have become large counts as full, and copying into it ends, so that offsets never overflow.
func TestLargeStrings(t *testing.T) {
	type text struct{ S string }
	c, err := column.For[text]()
	if err != nil {
		t.Fatal(err)
	}
	src := column.New(c.Schema(), 8)
	for range 6 {
		if c.Append(src, []text{{string(make([]byte, 1<<20))}}) == 0 {
			break
		}
	}
	if src.Rows() != 4 {
		t.Errorf("%d rows of 1 MiB, want 4", src.Rows())
	}
	dst := column.New(c.Schema(), 8)
	c.Append(dst, []text{{string(make([]byte, 5<<19))}}) // 2.5 MiB
	if took := src.CopyTo(dst, nil); took != 2 {
		t.Errorf("took %d rows, want 2: the second one goes beyond 4 MiB", took)
	}
	if dst.Room() != 0 {
		t.Error("there is still room")
	}
}

// Whatever the bytes, reading them gives a batch or an error, and takes no more memory than the batch has.
func FuzzReadWire(f *testing.F) {
	b := column.New(conv.Schema(), 8)
	conv.Append(b, []row{{S: "x", NI: types.Some[int32](3)}, {NS: types.Some("y")}})
	b.Times = append(b.Times, 1, 2)
	f.Add(b.AppendWire(nil))
	b.Reset()
	f.Add(b.AppendWire(nil))
	f.Add(binary.AppendUvarint([]byte{7}, 1<<60))
	f.Fuzz(func(t *testing.T, src []byte) {
		b := column.New(conv.Schema(), 8)
		if err := b.ReadWire(src); err != nil {
			if b.Rows() != 0 || b.Vector(11).Len() != 0 || b.Room() != 8 {
				t.Fatal("a batch that could not be read is not empty")
			}
			return
		}
		rows := conv.Rows(b, nil)
		if len(rows) != b.Rows() {
			t.Fatalf("%d rows of %d", len(rows), b.Rows())
		}
	})
}

// nested describes lists of strings, structs, and maps, which have no struct conversion.
var nested = []column.Field{
	{Name: "l", Kind: column.List, Nullable: true, Children: []column.Field{{Name: "e", Kind: column.String, Nullable: true}}},
	{Name: "s", Kind: column.Struct, Nullable: true, Children: []column.Field{{Name: "a", Kind: column.Wide, Nullable: true}, {Name: "b", Kind: column.Bool, Nullable: true}}},
	{Name: "m", Kind: column.Map, Nullable: true, Children: []column.Field{{Name: "k", Kind: column.Int32}, {Name: "v", Kind: column.String, Nullable: true}}},
}

// fill appends value x of a small language to v and returns how it prints.
func fillNested(t *rapid.T, v *column.Vector) string {
	if rapid.IntRange(0, 4).Draw(t, "missing") == 0 {
		v.AppendNull()
		return "null"
	}
	switch v.Kind() {
	case column.Int32:
		x := rapid.Int32().Draw(t, "x")
		column.Append(v, x)
		return fmt.Sprint(x)
	case column.Wide:
		x := column.Int128{Lo: rapid.Uint64().Draw(t, "lo"), Hi: rapid.Int64().Draw(t, "hi")}
		column.Append(v, x)
		return fmt.Sprint(x)
	case column.Bool:
		x := rapid.Bool().Draw(t, "x")
		v.AppendBool(x)
		return fmt.Sprint(x)
	case column.String:
		x := rapid.StringN(0, 30, 30).Draw(t, "x")
		v.AppendString(x)
		return fmt.Sprintf("%q", x)
	case column.Struct:
		out := "("
		for i := range v.Children() {
			out += fillNested(t, v.Child(i)) + ","
		}
		v.EndStruct()
		return out + ")"
	}
	out := "["
	for range rapid.IntRange(0, 3).Draw(t, "n") {
		for i := range v.Children() {
			if v.Kind() == column.Map && i == 0 {
				column.Append(v.Child(0), int32(7))
				out += "7:"
				continue
			}
			out += fillNested(t, v.Child(i)) + ","
		}
	}
	v.EndList()
	return out + "]"
}

func showNested(v *column.Vector, i int) string {
	if v.Null(i) {
		return "null"
	}
	switch v.Kind() {
	case column.Int32:
		return fmt.Sprint(column.Values[int32](v)[i])
	case column.Wide:
		return fmt.Sprint(column.Values[column.Int128](v)[i])
	case column.Bool:
		return fmt.Sprint(v.Bool(i))
	case column.String:
		return fmt.Sprintf("%q", v.Text(i))
	case column.Struct:
		out := "("
		for k := range v.Children() {
			out += showNested(v.Child(k), i) + ","
		}
		return out + ")"
	}
	out := "["
	from, to := v.Span(i)
	for e := from; e < to; e++ {
		if v.Kind() == column.Map {
			out += showNested(v.Child(0), e) + ":" + showNested(v.Child(1), e) + ","
		} else {
			out += showNested(v.Child(0), e) + ","
		}
	}
	return out + "]"
}

// Law: nested values survive gathering, compaction and the wire.
func TestNested(t *testing.T) {
	schema, err := column.NewSchema(nested...)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := column.New(schema, 16)
		var want []string
		for range rapid.IntRange(0, 16).Draw(t, "rows") {
			row := ""
			for i := range nested {
				row += fillNested(t, b.Vector(i)) + " "
			}
			if err := b.EndRow(); err != nil {
				t.Fatal(err)
			}
			want = append(want, row)
		}
		check := func(what string, b *column.Batch, want []string) {
			var got []string
			for i := range b.Rows() {
				row := ""
				for k := range nested {
					row += showNested(b.Vector(k), i) + " "
				}
				got = append(got, row)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s:\n got %q\nwant %q", what, got, want)
			}
		}
		check("as appended", b, want)
		live := subset(t, len(want))
		var picked []string
		for _, i := range live {
			picked = append(picked, want[i])
		}
		twice := column.New(schema, 40)
		b.CopyTo(twice, live)
		b.CopyTo(twice, nil)
		check("copied", twice, append(slices.Clone(picked), want...))
		if len(live) == 0 {
			return
		}
		b.Live = live
		wire := b.AppendWire(nil)
		check("compacted", b, picked)
		back := column.New(schema, 16)
		if err := back.ReadWire(wire); err != nil {
			t.Fatal(err)
		}
		check("over the wire", back, picked)
		if !bytes.Equal(back.AppendWire(nil), wire) {
			t.Fatal("the bytes of what was read differ")
		}
		b.Reset()
		check("a copy of a batch that has been reset", back, picked)
	})
}

// A View is laid out as Arrow's, and comparing goes by bytes.
func TestViews(t *testing.T) {
	texts := []string{"", "a", "a\x00", "abcdefghijkl", "abcdefghijklm", "abcdefghijkln", "abcz", "\xff"}
	v := column.NewVector(column.Field{Kind: column.String}, len(texts))
	for _, s := range texts {
		v.AppendString(s)
	}
	w := v.Views()
	if w[1] != (column.View{A: 1 | 'a'<<32}) || w[4] != (column.View{A: 13 | 'a'<<32 | 'b'<<40 | 'c'<<48 | 'd'<<56}) || w[5].B != 13<<32 {
		t.Errorf("%x", w)
	}
	for i, a := range texts {
		for j, b := range texts {
			if got, want := column.CompareText(&v, i, &v, j), bytes.Compare([]byte(a), []byte(b)); got != want {
				t.Errorf("compare %q with %q: %d", a, b, got)
			}
			if column.SameText(&v, i, &v, j) != (a == b) {
				t.Errorf("%q is %q", a, b)
			}
		}
	}
}

// What is missing in one of two vectors is counted once, so that the batch can be read behind the wire.
func TestSetValidity(t *testing.T) {
	s, err := column.NewSchema(column.Field{Name: "x", Kind: column.Int32, Nullable: true})
	if err != nil {
		t.Fatal(err)
	}
	in := [2]*column.Batch{column.New(s, 16), column.New(s, 16)}
	for i, missing := range [2][]int{{1, 3, 9}, {3, 4}} {
		in[i].Vector(0).Begin(10)
		for _, at := range missing {
			in[i].Vector(0).SetNull(at)
		}
	}
	out := column.New(s, 16)
	v := out.Vector(0)
	v.Begin(10)
	v.SetValidity(in[0].Vector(0), in[1].Vector(0))
	out.SetRows(10)
	if v.Nulls() != 4 || !v.Null(1) || !v.Null(3) || !v.Null(4) || !v.Null(9) || v.Null(0) {
		t.Errorf("%d are missing, want 1, 3, 4 and 9", v.Nulls())
	}
	if err := column.New(s, 16).ReadWire(out.AppendWire(nil)); err != nil {
		t.Error(err)
	}
}
