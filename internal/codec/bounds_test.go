package codec_test

import (
	"errors"
	"math/big"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
)

// allocated is the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// hostile decodes src as T, which must fail without allocating more than a small input warrants.
func hostile[T any](t *testing.T, name string, src []byte) {
	t.Helper()
	c := mustFor[T](t)
	var v T
	var err, errCopy error
	n := allocated(func() {
		_, err = c.Decode(src, &v)
		_, errCopy = c.DecodeCopy(src, &v)
	})
	if errs.CodeOf(err) != errs.CodeCorrupt || errCopy == nil {
		t.Errorf("%s: %v, %v, want %s", name, err, errCopy, errs.CodeCorrupt)
	}
	if n > 64<<10+2*uint64(len(src)) {
		t.Errorf("%s: %d bytes allocated for %d bytes of input", name, n, len(src))
	}
}

func TestHostileLengthsAllocateNothing(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f} // 2^63-1
	most := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}
	for _, n := range [][]byte{huge, most, {0xff, 0xff, 0xff, 0x7f}, {3}} {
		hostile[string](t, "string", n)
		hostile[[]byte](t, "bytes", n)
		hostile[[]int64](t, "integers", n)
		hostile[[]bool](t, "bools", n)
		hostile[[]string](t, "strings", n)
		hostile[[]time.Time](t, "times", n)
		hostile[[]*[1000]int64](t, "pointers", n)
		hostile[[][]struct{}](t, "slices of nothing", n)
		hostile[map[string]string](t, "map", n)
		hostile[map[string]struct{}](t, "set", n)
		hostile[big.Int](t, "big", n)
		hostile[big.Rat](t, "fraction", n)
		hostile[url](t, "opaque", n)
	}
}

// vast is a type whose memory is a billion times its encoding.
type vast struct {
	X int8
	//lint:ignore U1000 a field that is not encoded
	cache [1 << 30]byte
}

func TestElementsBeyondAllMemoryAreRefused(t *testing.T) {
	n := 1 << 17 // of 1 GiB each
	hostile[[]vast](t, "vast", append([]byte{0x81, 0x80, 0x08}, make([]byte, n)...))
}

func TestDecodeLeavesSharedDigitsAlone(t *testing.T) {
	c := mustFor[big.Int](t)
	original := big.NewInt(1000)
	shared := *original
	if _, err := c.Decode(c.Append(nil, big.NewInt(7)), &shared); err != nil || shared.Int64() != 7 || original.Int64() != 1000 {
		t.Errorf("%v and %v, %v", &shared, original, err)
	}
}

// url stands for a type that only marshals itself.
type url struct{ host string }

func (u url) MarshalBinary() ([]byte, error)     { return []byte(u.host), nil }
func (u *url) UnmarshalBinary(host []byte) error { u.host = string(host); return nil }

func TestElementsWithoutContentCostNothing(t *testing.T) {
	src := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	var v [][0]string
	if rest, err := mustFor[[][0]string](t).Decode(src, &v); err != nil || len(rest) != 0 || len(v) != 1<<63-2 {
		t.Errorf("%d elements, %v", len(v), err)
	}
	hostile[[]struct{}](t, "more than an int holds", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	var w []struct{}
	if _, err := mustFor[[]struct{}](t).DecodeCopy(src, &w); err != nil || len(w) != 1<<63-2 {
		t.Errorf("%d elements, %v", len(w), err)
	}
}

func TestDecodeRefusesWhatNoEncoderWrites(t *testing.T) {
	hostile[bool](t, "a bool of 2", []byte{2})
	hostile[[]bool](t, "a bool of 2 in a slice", []byte{2, 2})
	hostile[aligned](t, "a bool of 2 in an image", []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0}[:12])
	hostile[*int8](t, "null byte of 2", []byte{2, 2})
	hostile[big.Int](t, "leading zero", []byte{2, 0}[:1])
	hostile[netip.Addr](t, "tag 5", []byte{5, 0, 0, 0, 0})
	hostile[netip.Prefix](t, "/33 of v4", []byte{4, 1, 2, 3})
	hostile[map[string]int8](t, "keys out of order", []byte{3, 1, 'b', 0, 1, 'a', 0}[:6])
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"one key twice", decodeErr[map[string]int8](t, []byte{3, 1, 'a', 0, 1, 'a', 0}), "ascending"},
		{"keys out of order", decodeErr[map[string]int8](t, []byte{3, 1, 'b', 0, 1, 'a', 0}), "ascending"},
		{"a nanosecond too much", decodeErr[time.Time](t, append(make([]byte, 8), 0, 0xca, 0x9a, 0x3b, 0, 0, 0, 0)), "nanoseconds"},
		{"leading zero", decodeErr[big.Int](t, []byte{2, 0}), "shortest"},
		{"minus zero", decodeErr[big.Int](t, []byte{1}), "shortest"},
		{"denominator of zero", decodeErr[big.Rat](t, []byte{2, 1, 0}), "denominator"},
		{"/33 of v4", decodeErr[netip.Prefix](t, []byte{4, 1, 2, 3, 4, 34}), "length 33"},
		{"where it was", decodeErr[packed](t, []byte{0, 0, 0, 0, 0, 0, 0, 0, 9}), "packed.Name"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
}

func decodeErr[T any](t *testing.T, src []byte) error {
	var v T
	_, err := mustFor[T](t).Decode(src, &v)
	return err
}

func TestDecodeRowsRefusesACountBeyondTheInput(t *testing.T) {
	c := mustFor[packed](t)
	for _, n := range []int{-1, 2, 1 << 62} {
		out, rest, err := c.DecodeRows(make([]byte, 13), n, nil)
		if err == nil || len(out) != 0 || len(rest) != 13 {
			t.Errorf("%d rows: %d, %d, %v", n, len(out), len(rest), err)
		}
	}
}

func TestRowsWithASelection(t *testing.T) {
	c, rows := mustFor[packed](t), []packed{{1, "a", 0}, {2, "b", 0}, {3, "c", 0}}
	enc := c.AppendRows(nil, rows, []int32{0, 2})
	out, rest, err := c.DecodeRows(append(enc, 'x'), 2, []packed{{9, "before", 0}})
	if err != nil || string(rest) != "x" || len(out) != 3 || out[0].ID != 9 || out[1] != rows[0] || out[2] != rows[2] {
		t.Errorf("%v, rest %q, %v", out, rest, err)
	}
	if none := c.AppendRows(nil, rows, []int32{}); len(none) != 0 {
		t.Errorf("an empty selection is %d bytes", len(none))
	}
}

func TestNothingIsAllocatedForFlatRows(t *testing.T) {
	bids, points, keys := mustFor[bid](t), mustFor[point](t), mustKey[flightKey](t)
	ints, strs := mustKey[int64](t), mustKey[string](t)
	row := bid{1, 2, 3, "channel", "url", 4, strings.Repeat("x", 200)}
	enc := bids.Append(nil, &row)
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		v, p, k, i, s := row, point{}, flightKey{"N14228", 5}, int64(3), "key" // all on the stack
		b := bids.Append(buf, &v)
		b = points.Append(b, &p)
		b = keys.Append(b, &k)
		_, err := bids.Decode(enc, &v)
		_, err2 := points.Decode(enc, &p)
		if err != nil || err2 != nil || len(b) == 0 || keys.Hash(&k) == 0 || ints.Hash(&i) == 0 || strs.Hash(&s) == 0 {
			t.Fatal(err, err2)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFixedAndPointerFree(t *testing.T) {
	size, ok := mustFor[aligned](t).Fixed()
	if !ok || size != 12 {
		t.Errorf("aligned: %d, %v", size, ok)
	}
	type cached struct {
		A int64
		//lint:ignore U1000 a field that is not encoded
		b int64
	}
	_, packedFixed := mustFor[packed](t).Fixed()
	_, cachedFixed := mustFor[cached](t).Fixed()
	_, timeFixed := mustFor[time.Time](t).Fixed()
	if packedFixed || cachedFixed || timeFixed {
		t.Errorf("fixed: packed %v, cached %v, time %v", packedFixed, cachedFixed, timeFixed)
	}
	if !codec.PointerFree[cached]() || !codec.PointerFree[[3]aligned]() || codec.PointerFree[packed]() ||
		codec.PointerFree[netip.Addr]() || codec.PointerFree[[]int]() {
		t.Error("PointerFree")
	}
}

func TestPaddingIsZeroed(t *testing.T) {
	type pair struct{ A, B aligned }
	v := [2]pair{{aligned{1, 2, true}, aligned{3, 4, false}}, {}}
	c := mustFor[[2]pair](t)
	if size, ok := c.Fixed(); !ok || size != 48 {
		t.Fatal(size, ok)
	}
	dirty := make([]byte, 48)
	for i := range dirty {
		dirty[i] = 0xff
	}
	dirty[8], dirty[20], dirty[32], dirty[44] = 1, 0, 1, 0
	if _, err := c.Decode(dirty, &v); err != nil { // the padding of v may now be anything
		t.Fatal(err)
	}
	got := c.Append(nil, &v)
	for i, b := range got {
		if pad := i%12 > 0 && i%12 < 4 || i%12 > 8; pad && b != 0 {
			t.Errorf("byte %d is padding and %#x", i, b)
		}
	}
}

func TestTimesKeepTheInstant(t *testing.T) {
	c, k := mustFor[time.Time](t), mustKey[time.Time](t)
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip("no time zones on this machine")
	}
	last := []byte(nil)
	for _, v := range []time.Time{
		time.Date(-290000, 1, 1, 0, 0, 0, 1, time.UTC), {}, time.Date(1600, 1, 1, 0, 0, 0, 999999999, time.UTC),
		time.Unix(-1, 1), time.Unix(0, 0), time.Date(2013, 11, 3, 1, 30, 0, 0, newYork),
		time.Date(2013, 11, 3, 1, 30, 0, 0, newYork).Add(time.Hour), time.Date(290000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		var got, key time.Time
		if _, err := c.Decode(c.Append(nil, &v), &got); err != nil || !got.Equal(v) || got.Format(time.DateTime) != v.Format(time.DateTime) {
			t.Errorf("%v came back as %v, %v", v, got, err)
		}
		enc := k.Append(nil, &v)
		if err := k.Decode(enc, &key); err != nil || !key.Equal(v) || key.Location() != time.UTC {
			t.Errorf("key %v came back as %v, %v", v, key, err)
		}
		if string(enc) <= string(last) {
			t.Errorf("key of %v does not sort after the one before", v)
		}
		last = enc
		local := v.In(newYork)
		if k.Hash(&v) != k.Hash(&local) {
			t.Errorf("%v is another key in New York", v)
		}
	}
}

func TestOpaqueTypesAndTheirFailure(t *testing.T) {
	type row struct{ U url }
	c := mustFor[row](t)
	enc := c.Append(nil, &row{url{"h"}})
	if string(enc) != "\x01h" {
		t.Errorf("% x", enc)
	}
	if s := c.Schema().String(); !strings.Contains(s, "opaque(github.com/weir-stream/weir/internal/codec_test.url)") {
		t.Error(s)
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, errMarshal) {
			t.Errorf("panicked with %v, want %v", err, errMarshal)
		}
	}()
	mustFor[stubborn](t).Append(nil, &stubborn{})
}

var errMarshal = errors.New("never")

type stubborn struct {
	//lint:ignore U1000 a struct without fields would need no method
	x int
}

func (*stubborn) MarshalBinary() ([]byte, error) { return nil, errMarshal }
func (*stubborn) UnmarshalBinary([]byte) error   { return errMarshal }

func TestKeyDecodeRefuses(t *testing.T) {
	bad := func(name string, err error) {
		t.Helper()
		if errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
	var i int64
	bad("short", mustKey[int64](t).Decode(make([]byte, 7), &i))
	bad("long", mustKey[int64](t).Decode(make([]byte, 9), &i))
	var f float64
	bad("minus zero", mustKey[float64](t).Decode([]byte{0x7f, 255, 255, 255, 255, 255, 255, 255}, &f))
	bad("another NaN", mustKey[float64](t).Decode([]byte{0xff, 0xf8, 0, 0, 0, 0, 0, 1}, &f))
	var s [2]string
	bad("no end", mustKey[[2]string](t).Decode([]byte("abc"), &s))
	bad("wrong escape", mustKey[[2]string](t).Decode([]byte("a\x00\x01b"), &s))
	var b bool
	bad("bool", mustKey[bool](t).Decode([]byte{2}, &b))
	var a netip.Addr
	bad("tag with zone", mustKey[netip.Addr](t).Decode(append([]byte{7}, make([]byte, 20)...), &a))
}

// Values on a goroutine's stack stay right when the stack moves and the collector runs while they are in use: Append
// and Decode hide the pointer to the value from the compiler.
func TestValuesOnAMovingStack(t *testing.T) {
	c, full := mustFor[everything](t), fullValue()
	want := c.Append(nil, &full)
	done := make(chan bool)
	for range 64 {
		go func() { // starts with a small stack, which the calls below outgrow
			var v everything
			_, err := c.Decode(want, &v)
			deep(200)
			runtime.GC()
			done <- err == nil && string(c.Append(nil, &v)) == string(want)
		}()
	}
	for range 64 {
		if !<-done {
			t.Error("a value on the stack was not decoded or not kept")
		}
	}
}

func deep(n int) int {
	var pad [64]int
	if n == 0 {
		return pad[0]
	}
	return deep(n-1) + pad[n%64]
}

// A used row must not lend its unencoded fields to the row that is decoded into it.
func TestUnencodedFieldsBecomeZero(t *testing.T) {
	type row struct {
		A    int
		Skip string `weir:"-"`
		own  int
	}
	c := mustFor[row](t)
	enc := c.Append(nil, &row{A: 1, Skip: "s", own: 2})
	one, used := row{5, "old", 6}, []row{{5, "old", 6}, {7, "old", 8}}
	if _, err := c.Decode(enc, &one); err != nil || one != (row{A: 1}) {
		t.Errorf("%+v, %v", one, err)
	}
	if rows, _, err := c.DecodeRows(enc, 1, used[:1]); err != nil || rows[1] != (row{A: 1}) || rows[0] != (row{5, "old", 6}) {
		t.Errorf("%+v, %v", rows, err)
	}
}
