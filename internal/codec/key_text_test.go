package codec_test

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
)

func formatted[K any](t *testing.T, k K, want string) {
	t.Helper()
	c, err := codec.KeyFor[K]()
	if err != nil {
		t.Fatal(err)
	}
	enc := c.Append(nil, &k)
	if got := codec.FormatKey(c.Schema(), enc); got != want {
		t.Errorf("%v is printed as %s, want %s", k, got, want)
	}
	if got := codec.FormatKey(c.Schema(), append([]byte{}, enc[:len(enc)/2]...)); len(enc) > 0 && got == want {
		t.Errorf("half of %v is printed as %s", k, got)
	}
}

func TestFormatKey(t *testing.T) {
	formatted(t, "JF\"K", `"JF\"K"`)
	formatted(t, int64(math.MinInt64), "-9223372036854775808")
	formatted(t, int8(-5), "-5")
	formatted(t, int32(5), "5")
	formatted(t, uint16(258), "258")
	formatted(t, true, "true")
	formatted(t, -1.5, "-1.5")
	formatted(t, float32(0.1), "0.1")
	formatted(t, 3*time.Second, "3000000000")
	formatted(t, 1-2i, "(1 -2)")
	formatted(t, [4]byte{1, 2, 3, 255}, "010203ff")
	formatted(t, [2]string{"a\x00b", "c"}, `["a\x00b" "c"]`)
	formatted(t, struct{}{}, "{}")
	formatted(t, struct {
		tail string
		Day  int64
		At   time.Time
		None struct{}
	}{"N1", 7, time.Date(2013, 1, 1, 10, 0, 0, 5, time.UTC), struct{}{}}, `{"N1" 7 2013-01-01T10:00:00.000000005Z {}}`)
	formatted(t, struct {
		Day  int32
		Tail string
		None [0]int
	}{7, "N1", [0]int{}}, `{7 "N1" []}`)
	formatted(t, netip.MustParseAddr("fe80::1%eth0"), "fe80::1%eth0")
	formatted(t, netip.MustParsePrefix("10.0.0.0/8"), "10.0.0.0/8")
	formatted(t, netip.MustParseAddrPort("10.0.0.1:80"), "10.0.0.1:80")
	if got := codec.FormatKey(&codec.Schema{Kind: codec.KindInt64}, []byte{1, 2}); got != "0x0102" {
		t.Errorf("a broken key is printed as %s", got)
	}
}
