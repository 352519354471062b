package codec_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// vector compares one value with bytes written by hand from docs/format/codec.md.
func vector[T any](t *testing.T, name string, v T, want string) {
	t.Helper()
	c := mustFor[T](t)
	got := c.Append(nil, &v)
	if w := unhex(t, want); !bytes.Equal(got, w) {
		t.Errorf("%s: % x, want %s", name, got, want)
	}
	var back T
	if rest, err := c.Decode(unhex(t, want), &back); err != nil || len(rest) != 0 {
		t.Errorf("%s: rest % x, %v", name, rest, err)
	} else if again := c.Append(nil, &back); !bytes.Equal(again, got) {
		t.Errorf("%s: decoded and encoded again: % x", name, again)
	}
}

type packed struct {
	ID   int64
	Name string
	Fare float32
}

type aligned struct {
	A int8
	B int32
	C bool
}

type embedding struct {
	aligned
	Note string `weir:"note"`
}

func TestGoldenValues(t *testing.T) {
	minus5 := int8(-5)
	vector(t, "bool", true, "01")
	vector(t, "int is eight bytes", -2, "fe ff ff ff ff ff ff ff")
	vector(t, "uint16", uint16(0x0102), "02 01")
	vector(t, "float64", 1.5, "00 00 00 00 00 00 f8 3f")
	vector(t, "negative zero keeps its sign", math.Copysign(0, -1), "00 00 00 00 00 00 00 80")
	vector(t, "complex64", complex64(1+2i), "00 00 80 3f | 00 00 00 40")
	vector(t, "duration", time.Microsecond, "e8 03 00 00 00 00 00 00")
	vector(t, "string", "ab", "02 | 61 62")
	vector(t, "string of 128", strings.Repeat("a", 128), "80 01"+strings.Repeat("61", 128))
	vector(t, "nil bytes", []byte(nil), "00")
	vector(t, "empty bytes", []byte{}, "01")
	vector(t, "bytes", []byte{9}, "02 | 09")
	vector(t, "packed struct", packed{1, "ab", 1.5}, "01 00 00 00 00 00 00 00 | 02 61 62 | 00 00 c0 3f")
	vector(t, "aligned struct", aligned{1, -2, true}, "01 00 00 00 | fe ff ff ff | 01 00 00 00")
	vector(t, "embedded fields are the outer one's", embedding{aligned{1, -2, true}, "x"}, "01 | fe ff ff ff | 01 | 01 78")
	vector(t, "array", [2]int16{1, -1}, "01 00 | ff ff")
	vector(t, "nil slice", []int16(nil), "00")
	vector(t, "empty slice", []int16{}, "01")
	vector(t, "slice", []int16{1, -1}, "03 | 01 00 | ff ff")
	vector(t, "slice of aligned", []aligned{{1, 2, false}}, "02 | 01 00 00 00 02 00 00 00 00 00 00 00")
	vector(t, "elements without content", make([]struct{}, 3), "04")
	vector(t, "map, by key", map[string]uint8{"b": 2, "a": 1}, "03 | 01 61 01 | 01 62 02")
	vector(t, "map, numbers by value", map[int16]string{1: "", -1: "x"}, "03 | 02 7f ff 01 78 | 02 80 01 00")
	vector(t, "null", (*int8)(nil), "00")
	vector(t, "pointer", &minus5, "01 fb")
	vector(t, "time in New York", time.Date(2013, 1, 1, 5, 0, 0, 7, time.FixedZone("EST", -18000)),
		"a0 b3 e2 50 00 00 00 00 | 07 00 00 00 | b0 b9 ff ff")
	vector(t, "the zero time", time.Time{}, "00 09 6e 88 f1 ff ff ff | 00 00 00 00 | 00 00 00 00")
	vector(t, "no address", netip.Addr{}, "00")
	vector(t, "v4", netip.MustParseAddr("10.0.0.1"), "04 0a 00 00 01")
	vector(t, "v6", netip.MustParseAddr("::1"), "06 00000000000000000000000000000001")
	vector(t, "v6 with a zone", netip.MustParseAddr("::1%lo"), "07 00000000000000000000000000000001 02 6c6f")
	vector(t, "prefix", netip.MustParsePrefix("10.0.0.0/8"), "04 0a 00 00 00 | 09")
	vector(t, "address and port", netip.MustParseAddrPort("10.0.0.1:80"), "04 0a 00 00 01 | 50 00")
	vector(t, "big zero", *big.NewInt(0), "00")
	vector(t, "big", *big.NewInt(-256), "05 | 01 00")
	vector(t, "nullable big", big.NewInt(255), "01 | 02 | ff")
	vector(t, "fraction", *big.NewRat(-1, 2), "03 01 | 02 02")
}

func TestGoldenSchemas(t *testing.T) {
	for _, c := range []struct {
		schema *codec.Schema
		bytes  string
		text   string
	}{
		{mustFor[packed](t).Schema(), "01 | 24 00 03 | 02 4944 05 | 04 4e616d65 10 | 04 46617265 0a",
			"struct{ID int64; Name string; Fare float32}"},
		{mustFor[aligned](t).Schema(), "01 | 24 01 0c 03 | 01 41 00 02 | 01 42 04 04 | 01 43 08 01",
			"struct{A int8; B int32; C bool}"},
		{mustFor[embedding](t).Schema(), "01 | 24 00 04 | 01 41 02 | 01 42 04 | 01 43 01 | 04 6e6f7465 10",
			"struct{A int8; B int32; C bool; note string}"},
		{mustFor[map[string][]*[2]int8](t).Schema(), "01 | 22 10 21 23 20 02 02", "map[string][]*[2]int8"},
	} {
		if got, want := c.schema.Append(nil), unhex(t, c.bytes); !bytes.Equal(got, want) {
			t.Errorf("%s: % x, want % x", c.schema, got, want)
		}
		if c.schema.String() != c.text {
			t.Errorf("printed %s, want %s", c.schema, c.text)
		}
	}
}

// keyVector compares a key with bytes written by hand from docs/format/key.md and a hash computed with xxhash 0.8.
func keyVector[K comparable](t *testing.T, k K, enc string, hash uint64) {
	t.Helper()
	c := mustKey[K](t)
	want := unhex(t, enc)
	if got := c.Append(nil, &k); !bytes.Equal(got, want) {
		t.Errorf("%v: % x, want %s", k, got, enc)
	}
	if got := c.Hash(&k); got != hash {
		t.Errorf("%v: hash %016x, want %016x", k, got, hash)
	}
	out := []uint64{0, 0}
	if c.HashAll([]K{k, k}, out); out[0] != hash || out[1] != hash {
		t.Errorf("%v: HashAll %016x, want %016x", k, out, hash)
	}
	var back K
	if err := c.Decode(want, &back); err != nil || back != k && k == k {
		t.Errorf("%v came back as %v, %v", k, back, err)
	}
	if n, ok := c.FixedWidth(); ok && n != len(want) {
		t.Errorf("%v: fixed width %d, but %d bytes", k, n, len(want))
	}
}

type flightKey struct {
	tail string
	Day  int64
}

func TestGoldenKeys(t *testing.T) {
	keyVector(t, struct{}{}, "", 0x2d06800538d394c2)
	keyVector(t, int64(0), "80 00 00 00 00 00 00 00", 0xb7aa1c28d234f8d6)
	keyVector(t, 1, "80 00 00 00 00 00 00 01", 0xce5e29c5f1ee5d11)
	keyVector(t, -1, "7f ff ff ff ff ff ff ff", 0xf832fc1d899fe591)
	keyVector(t, int64(math.MinInt64), "00 00 00 00 00 00 00 00", 0xc77b3abb6f87acd9)
	keyVector(t, int64(math.MaxInt64), "ff ff ff ff ff ff ff ff", 0x5111c7e47d784413)
	keyVector(t, uint64(1), "00 00 00 00 00 00 00 01", 0xf36b4a1a44f78bf3)
	keyVector(t, int32(-2), "7f ff ff fe", 0x6b53496cfd4614d4)
	keyVector(t, int8(5), "85", 0x8b82f1d0e8b8941d)
	keyVector(t, uint16(258), "01 02", 0x08130b77ddef5807)
	keyVector(t, true, "01", 0xe12ef9d2eb86ceeb)
	keyVector(t, 1.5, "bf f8 00 00 00 00 00 00", 0xd7e17ce6bbbf960d)
	keyVector(t, -1.5, "40 07 ff ff ff ff ff ff", 0x7eb9a28ab737abc4)
	keyVector(t, math.Copysign(0, -1), "80 00 00 00 00 00 00 00", 0xb7aa1c28d234f8d6)
	keyVector(t, math.NaN(), "ff f8 00 00 00 00 00 00", 0x0ef99823522b2a6c)
	keyVector(t, math.Float64frombits(0xfff0000000000123), "ff f8 00 00 00 00 00 00", 0x0ef99823522b2a6c)
	keyVector(t, "JFK", "4a 46 4b", 0x285b488641389eef)
	keyVector(t, "N14228", "4e 31 34 32 32 38", 0x045bf808ce8196a6)
	keyVector(t, flightKey{"N14228", 7}, "4e3134323238 0000 | 80 00 00 00 00 00 00 07", 0x77bd3fee9ce75290)
	keyVector(t, [2]string{"a\x00b", "c"}, "61 00ff 62 0000 | 63", 0x24614a39dcb2c1a4)
	keyVector(t, strings.Repeat("x", 200), strings.Repeat("78", 200), 0x50ef124fb1e4de53)
	keyVector(t, strings.Repeat("abc", 100), strings.Repeat("616263", 100), 0x3d1e91bb47ef5c2f)
	keyVector(t, netip.MustParseAddr("10.0.0.1"), "04 0a 00 00 01", 0xd8eab3b10cf92019)
	keyVector(t, time.Date(2013, 1, 1, 10, 0, 0, 0, time.UTC), "80 00 00 00 50 e2 b3 a0 | 00 00 00 00", 0xd8fe65f2d478003a)
	keyVector(t, [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, "000102030405060708090a0b0c0d0e0f", 0x8355e3a6f61770db)
	keyVector(t, [2]int32{1, -1}, "80 00 00 01 | 7f ff ff ff", 0xdc4e3178e4986bec)
}

// The table of the format page says what the code does.
func TestVectorsOfTheFormatPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/key.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## 3. Test vectors")
	rows := 0
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `") || len(cells) != 6 {
			continue
		}
		rows++
		hash := codec.HashEncoded(unhex(t, strings.TrimSpace(cells[2])))
		if got, want := fmt.Sprintf("%016x %d", hash, hash>>49), strings.TrimSpace(cells[3])+" "+strings.TrimSpace(cells[4]); got != want {
			t.Errorf("%s: %s, want %s", cells[1], got, want)
		}
	}
	if rows < 20 {
		t.Errorf("only %d vectors found", rows)
	}
}
