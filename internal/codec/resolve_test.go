package codec_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
)

// reread encodes a value of Old and decodes it as New.
func reread[Old, New any](t *testing.T, v Old) New {
	t.Helper()
	was := mustFor[Old](t)
	schema, _, err := codec.ParseSchema(was.Schema().Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	is, err := codec.ForSchema[New](schema)
	if err != nil {
		t.Fatal(err)
	}
	enc := was.Append(nil, &v)
	var got, own New
	if rest, err := is.Decode(append(enc, 1), &got); err != nil || len(rest) != 1 {
		t.Fatalf("rest %d, %v", len(rest), err)
	}
	own = got
	if rest, err := is.DecodeCopy(append(enc, 1), &own); err != nil || len(rest) != 1 || !reflect.DeepEqual(own, got) {
		t.Fatalf("copy: rest %d, %v, %v against %v", len(rest), err, own, got)
	}
	rows, rest, err := is.DecodeRows(append(enc, enc...), 2, make([]New, 1, 5))
	if err != nil || len(rest) != 0 || !reflect.DeepEqual(rows[1:], []New{got, got}) {
		t.Fatalf("rows: %v rest %d, %v", rows, len(rest), err)
	}
	return got
}

type legV1 struct {
	Origin string
	Dist   int16
	Gone   map[string]string
	Delay  float32
	Tail   string
	Stops  []stopV1
}

type stopV1 struct {
	At   int32
	Wait uint8
}

type legV2 struct {
	Stops   []stopV2
	TailNum string `weir:"tail_num,was=Tail,was=tail"`
	Added   []string
	Dist    int64
	Delay   float64
	Origin  string
}

type stopV2 struct {
	Note string
	Wait int16
	At   int64
}

func TestResolveReadsAnOlderVersion(t *testing.T) {
	got := reread[legV1, legV2](t, legV1{"JFK", -7, map[string]string{"a": "b"}, 0.5, "N1", []stopV1{{-1, 255}, {2, 3}}})
	want := legV2{Stops: []stopV2{{"", 255, -1}, {"", 3, 2}}, TailNum: "N1", Dist: -7, Delay: 0.5, Origin: "JFK"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	plan, err := codec.Resolve(mustFor[legV1](t).Schema(), mustFor[legV2](t).Schema())
	if err != nil || plan.Identical() {
		t.Fatal(plan, err)
	}
	var lines []string
	for _, c := range plan.Changes {
		lines = append(lines, c.String())
	}
	wantLines := "Dist widened from int16 to int64; Gone dropped; Delay widened from float32 to float64; " +
		"tail_num renamed from Tail; Stops[].At widened from int32 to int64; Stops[].Wait widened from uint8 to int16; " +
		"Stops[].Note added; Added added"
	if got := strings.Join(lines, "; "); got != wantLines {
		t.Errorf("changes\n%s\nwant\n%s", got, wantLines)
	}
}

func TestResolveOfFixedStructs(t *testing.T) {
	type v1 struct {
		A int8
		B int64
		C bool
		D uint32
	}
	type v2 struct {
		C bool
		E int64
		A int32
		D float64
	}
	got := reread[v1, v2](t, v1{-3, 9, true, 1<<32 - 1})
	if want := (v2{C: true, A: -3, D: 1<<32 - 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	type v3 struct { // the same fields, but no longer an image
		A     int8
		B     int64
		C     bool
		D     uint32
		cache int
	}
	if got := reread[v1, v3](t, v1{-3, 9, true, 4}); got != (v3{-3, 9, true, 4, 0}) {
		t.Errorf("got %+v", got)
	}
}

func TestResolveWidens(t *testing.T) {
	check := func(got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("got %v (%T), want %v", got, got, want)
		}
	}
	check(reread[int8, int16](t, -128), int16(-128))
	check(reread[int8, float32](t, -128), float32(-128))
	check(reread[int16, int](t, -32768), -32768)
	check(reread[int32, float64](t, -1<<31), float64(-1<<31))
	check(reread[uint8, uint64](t, 255), uint64(255))
	check(reread[uint16, int32](t, 65535), int32(65535))
	check(reread[uint16, float32](t, 65535), float32(65535))
	check(reread[uint32, int64](t, 1<<32-1), int64(1<<32-1))
	check(reread[float32, float64](t, 0.25), 0.25)
	check(reread[complex64, complex128](t, 1-2i), 1-2i)
	check(reread[int64, time.Duration](t, 5), time.Duration(5))
	check(reread[[2]int8, [2]int16](t, [2]int8{1, -1}), [2]int16{1, -1})
	if got := reread[map[string]int8, map[string]int64](t, map[string]int8{"a": -1}); got["a"] != -1 || len(got) != 1 {
		t.Errorf("map: %v", got)
	}
}

func refused[Old, New any](t *testing.T, want string) {
	t.Helper()
	_, err := codec.ForSchema[New](mustFor[Old](t).Schema())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestResolveRefuses(t *testing.T) {
	type amount64 struct{ Amount int64 }
	type amount32 struct{ Amount int32 }
	refused[amount64, amount32](t, `field "Amount" was int64 when it was written and is int32 now. `+
		`A value may not fit. Keep int64, or register a migration function.`)
	refused[int64, uint64](t, "value was int64")
	refused[uint64, int64](t, "A value may not fit")
	refused[int32, float32](t, "A value may not fit")
	refused[int64, float64](t, "A value may not fit")
	refused[float64, float32](t, "A value may not fit")
	refused[string, []byte](t, "Keep string")
	refused[[2]int, [3]int](t, "Keep the length")
	refused[map[int32]int, map[int64]int](t, "Keys cannot change")
	refused[[]struct{}, []amount64](t, "Elements without content")
	type nested struct{ In []map[string]amount64 }
	type nested32 struct{ In []map[string]amount32 }
	refused[nested, nested32](t, `field "In[][].Amount" was int64`)
	type a struct{ Old int }
	type b struct {
		New int `weir:",was=Old"`
		Old int
	}
	refused[a, b](t, `field "New" was called "Old", but another field is called that now`)
}

// A field that was renamed and whose old name was given to a new field later is told apart by the new name.
func TestResolvePrefersTheIDToAFormerName(t *testing.T) {
	type v2 struct{ New, Old int }
	type v3 struct {
		Old int
		New int `weir:"New,was=Old"`
	}
	if got := reread[v2, v3](t, v2{New: 1, Old: 2}); got != (v3{New: 1, Old: 2}) {
		t.Errorf("got %+v", got)
	}
}

func TestForSchemaClearsWhatTheValueHad(t *testing.T) {
	type v1 struct{ A int }
	type v2 struct {
		A int
		B string
	}
	c, err := codec.ForSchema[v2](mustFor[v1](t).Schema())
	if err != nil {
		t.Fatal(err)
	}
	got := v2{B: "stale"}
	if _, err := c.Decode(mustFor[v1](t).Append(nil, &v1{5}), &got); err != nil || got != (v2{A: 5}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
