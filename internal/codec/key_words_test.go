package codec

import (
	"encoding/binary"
	"testing"
)

func TestWordsAreTheEncoding(t *testing.T) {
	check(t, []int64{0, 1, -1, 1 << 62, -1 << 63})
	check(t, []uint64{0, 1, 1 << 63, 0x0102030405060708})
	check(t, []struct{ A, B int32 }{{1, -2}, {-3, 4}})
	check(t, []float64{0, -1.5, 3})
	if k, err := KeyFor[string](); err != nil || k.Words([]string{"12345678"}, make([]uint64, 1)) {
		t.Errorf("a string has no words: %v", err)
	}
}

func check[K any](t *testing.T, keys []K) {
	t.Helper()
	c, err := KeyFor[K]()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]uint64, len(keys))
	if !c.Words(keys, out) {
		t.Fatalf("%T has no words", keys[0])
	}
	for i := range keys {
		if want := binary.LittleEndian.Uint64(c.Append(nil, &keys[i])); out[i] != want {
			t.Errorf("%v: %#x, want %#x", keys[i], out[i], want)
		}
	}
}
