package json_test

import (
	"encoding/json/v2"
	"math"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	weirjson "github.com/weir-stream/weir/format/json"
	"github.com/weir-stream/weir/types"
)

func encodeSame[T any](t testing.TB, row T) {
	t.Helper()
	e, err := weirjson.New[T](weirjson.Options{}).Encoder()
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Append([]byte("before"), []T{row})
	want, wantErr := json.Marshal(row, json.Deterministic(true))
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%+v: error %v, json/v2 says %v", row, err, wantErr)
	}
	if err != nil {
		want = nil
	} else {
		want = append(want, '\n')
	}
	if string(got) != "before"+string(want) {
		t.Fatalf("got  %swant %s", got, want)
	}
}

// The appender's bytes are json/v2's for any values.
func TestEncodeSameAsV2(t *testing.T) {
	floats := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e21, 1e20, 1e-6, 1e-7, 1e-10, 123456789, 0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(1)}))
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\"b", "\\", "<&>", "\u2028", "\x7f", "\xff", "\x00"}))
	times := rapid.Custom(func(t *rapid.T) time.Time {
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "sec"), rapid.Int64Range(0, 999999999).Draw(t, "nsec"))
		if rapid.Bool().Draw(t, "utc") {
			return at.UTC()
		}
		return at.In(time.FixedZone("", 3600))
	})
	rapid.Check(t, func(r *rapid.T) {
		p := plain{I8: rapid.Int8().Draw(r, "i8"), I: rapid.IntRange(-1, 1).Draw(r, "i"), U16: rapid.Uint16().Draw(r, "u16"), U: rapid.Uint64().Draw(r, "u"),
			F: floats.Draw(r, "f"), F32: float32(floats.Draw(r, "f32")), B: rapid.Bool().Draw(r, "b"), S: texts.Draw(r, "s"), E: texts.Draw(r, "e"), T: times.Draw(r, "t")}
		p.FZ = floats.Draw(r, "fz")
		if rapid.Bool().Draw(r, "valid") {
			p.N, p.NS, p.NT, p.NF = types.Some(rapid.Int32().Draw(r, "n")), types.Some(texts.Draw(r, "ns")), types.Some(times.Draw(r, "nt")), types.Some(float32(rapid.IntRange(-2, 2).Draw(r, "nf")))
		}
		encodeSame(t, p)
	})
	s := "x"
	encodeSame(t, mixed{})
	encodeSame(t, mixed{A: 1, M: map[string]int{"b": 1, "a": 2}, P: &s, L: []float64{1}, IP: netip.MustParseAddr("::1"), Any: map[string]any{"z": 1, "a": nil}, Raw: []byte("hi")})
	encodeSame(t, embedded{base: base{ID: 1}, S: "x"})
	encodeSame(t, 5)
}
