package codec_test

import (
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
)

func mustFor[T any](t testing.TB) *codec.Codec[T] {
	t.Helper()
	c, err := codec.For[T]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustKey[K any](t testing.TB) *codec.KeyCodec[K] {
	t.Helper()
	c, err := codec.KeyFor[K]()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type level int8

type base struct{ ID int64 }

type inner struct {
	A  int8
	B  int64
	Ok bool
}

type everything struct {
	base
	Int   int
	U8    uint8
	U16   uint16
	U32   uint32
	U     uint
	F32   float32
	F64   float64
	C64   complex64
	C128  complex128
	Level level
	Name  string
	Raw   []byte
	Arr   [3]inner
	Words [2]string
	Ints  []int32
	Bools []bool
	In    []inner
	Strs  []string
	Nest  [][]string
	M     map[string]int64
	MM    map[int32]map[string][]byte
	P     *int64
	PS    *inner
	PP    **string
	T     time.Time
	D     time.Duration
	Addr  netip.Addr
	Pre   netip.Prefix
	AP    netip.AddrPort
	Big   *big.Int
	BigV  big.Int
	Rat   *big.Rat
	Empty struct{}
	Zeros []struct{}
	Skip  chan int `weir:"-"`
	//lint:ignore U1000 a field that is not encoded
	own string
}

func fullValue() everything {
	n, s := int64(-5), "pointed"
	ps := &s
	return everything{
		base: base{7}, Int: -1, U8: 200, U16: 65535, U32: 1 << 31, U: 1 << 63, F32: -0.5, F64: 3.25, C64: 1 + 2i,
		C128: 3 - 4i, Level: -3, Name: "weir", Raw: []byte{}, Arr: [3]inner{{1, 2, true}, {3, 4, false}, {-5, -6, true}},
		Words: [2]string{"", strings.Repeat("x", 300)}, Ints: []int32{1, -2, 3}, Bools: []bool{true, false},
		In: []inner{{9, 8, true}}, Strs: []string{"a", "", "c"}, Nest: [][]string{nil, {}, {"q"}},
		M: map[string]int64{"b": 2, "a": 1, "": 0}, MM: map[int32]map[string][]byte{-1: {"x": {1}}, 2: nil},
		P: &n, PS: &inner{1, 1, true}, PP: &ps,
		T: time.Date(2013, 1, 1, 5, 15, 0, 123456789, time.FixedZone("", -5*3600)), D: time.Hour,
		Addr: netip.MustParseAddr("fe80::1%eth0"), Pre: netip.MustParsePrefix("10.0.0.0/8"),
		AP:  netip.MustParseAddrPort("[::ffff:1.2.3.4]:80"),
		Big: new(big.Int).Lsh(big.NewInt(-3), 200), BigV: *big.NewInt(255), Rat: big.NewRat(-22, 7),
		Zeros: make([]struct{}, 5),
	}
}

func TestRoundTripOfEverything(t *testing.T) {
	c := mustFor[everything](t)
	for name, v := range map[string]everything{"zero": {}, "full": fullValue()} {
		enc := c.Append([]byte("before"), &v)[len("before"):]
		var got everything
		rest, err := c.Decode(append(enc, "after"...), &got)
		if err != nil || string(rest) != "after" {
			t.Fatalf("%s: rest %q, %v", name, rest, err)
		}
		if !reflect.DeepEqual(got, v) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, v)
		}
		var own everything
		src := append([]byte(nil), enc...)
		if _, err := c.DecodeCopy(src, &own); err != nil {
			t.Fatal(err)
		}
		clear(src)
		if !reflect.DeepEqual(own, v) {
			t.Errorf("%s: a copy changed with its source", name)
		}
		again := c.Append(nil, &got)
		if string(again) != string(enc) {
			t.Errorf("%s: encoded again gives other bytes", name)
		}
	}
	if got, want := strings.Join(c.Ignored(), " "), "everything.Skip everything.own"; got != want {
		t.Errorf("ignored %q, want %q", got, want)
	}
}

func TestDecodeAliasesItsInput(t *testing.T) {
	c := mustFor[string](t)
	v := "abc"
	src := c.Append(nil, &v)
	var got string
	if _, err := c.Decode(src, &got); err != nil || unsafe.StringData(got) != &src[1] {
		t.Fatalf("string %q does not alias its source: %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	type Meta struct {
		//lint:ignore U1000 a field that is not encoded
		ch chan int
	}
	type Ride struct {
		Meta struct{ Ch chan int }
		F    []func()
		Any  map[string]any
	}
	type Node struct{ Next *Node }
	type Twice struct {
		A int `weir:"x"`
		B int `weir:"x"`
	}
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"every offence with its path", errOf(codec.For[Ride]()), []string{
			"Ride.Meta.Ch: chan int has no stable encoding; use the values",
			"Ride.F[]: func() has no stable encoding; use data",
			"Ride.Any[]: interface {} has no stable encoding; use a concrete type"}},
		{"nothing exported", errOf(codec.For[Meta]()), []string{"Meta: ", "no exported field"}},
		{"recursion", errOf(codec.For[Node]()), []string{"Node.Next: ", "contains itself"}},
		{"one id twice", errOf(codec.For[Twice]()), []string{`two fields have the id "x"`}},
		{"map key", errOf(codec.For[map[*int]int]()), []string{"[key]: *int is not a key"}},
		{"pointer key", keyErrOf(codec.KeyFor[*int]()), []string{"*int is not a key; a pointer is an address"}},
		{"interface in a key", keyErrOf(codec.KeyFor[struct{ A any }]()), []string{".A: interface {} is not a key"}},
		{"slice key", keyErrOf(codec.KeyFor[[]byte]()), []string{"a slice cannot be compared"}},
		{"map key of a stream", keyErrOf(codec.KeyFor[map[string]int]()), []string{"map[string]int is not a key"}},
		{"function key", keyErrOf(codec.KeyFor[func()]()), []string{"func() is not a key"}},
		{"pointer deep in a key", keyErrOf(codec.KeyFor[struct{ A [2]struct{ P *int } }]()), []string{".A[].P: *int is not a key"}},
	} {
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%s: error %v lacks %q", c.name, c.err, want)
			}
		}
	}
}

func errOf[T any](_ *codec.Codec[T], err error) error       { return err }
func keyErrOf[T any](_ *codec.KeyCodec[T], err error) error { return err }
