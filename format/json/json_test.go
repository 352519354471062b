package json_test

import (
	"bytes"
	"encoding/json/v2"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/format"
	weirjson "github.com/weir-stream/weir/format/json"
	"github.com/weir-stream/weir/types"
)

// plain has only fields that the scanner knows.
type plain struct {
	I8   int8                     `json:"i8"`
	I    int                      `json:"i,omitzero"`
	U16  uint16                   `json:"u16"`
	U    uint64                   `json:"u"`
	F    float64                  `json:"f"`
	F32  float32                  `json:"f32,omitzero"`
	B    bool                     `json:"b"`
	S    string                   `json:"s"`
	E    string                   `json:"e,omitempty"`
	T    time.Time                `json:"t,omitzero"`
	N    types.Null[int32]        `json:"n"`
	NS   types.Null[string]       `json:"ns,omitzero"`
	NT   types.Null[time.Time]    `json:"nt"`
	NF   types.Null[float32]      `json:"nf,omitempty"`
	Skip func()                   `json:"-"`
	NB   types.Null[[]netip.Addr] `json:"nb"`
	FZ   float64                  `json:"fz,omitzero"`
}

// mixed has fields that json/v2 must read, among others.
type mixed struct {
	A  int
	M  map[string]int `json:"m"`
	P  *string        `json:"p"`
	L  []float64      `json:"l"`
	IP netip.Addr     `json:"ip"`
	In struct {
		X, Y int
	} `json:"in"`
	Any any      `json:"any"`
	Raw []byte   `json:"raw"`
	Big *big.Int `json:"big"`
	Z   string
}

type base struct{ ID int }

// embedded is left to json/v2 altogether.
type embedded struct {
	base
	S string `json:"s,case:ignore"`
}

func decoder[T any](t testing.TB) format.Decoder[T] {
	d, err := weirjson.New[T](weirjson.Options{}).Decoder(format.DecoderContext{Where: "x.jsonl", Bad: func(b format.BadRecord) error { return b }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sameAsV2 decodes line by d and by json/v2 and demands the same value or two refusals.
func sameAsV2[T any](t testing.TB, d format.Decoder[T], line []byte) {
	t.Helper()
	if bytes.ContainsAny(line, "\n") || len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var want T
	wantErr := json.Unmarshal(line, &want)
	given := append([]byte(nil), line...)
	rows, _, err := d.Decode(make([]T, 0, 1), given, true)
	for i := range given {
		given[i] = 'x'
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, json/v2 says %v", line, err, wantErr)
	}
	if err != nil {
		return
	}
	if len(rows) != 1 || !equal(rows[0], want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", line, rows, want)
	}
}

// equal is DeepEqual with -0 and 0 told apart.
func equal(a, b any) bool {
	if !reflect.DeepEqual(a, b) {
		return false
	}
	x, ok := a.(plain)
	return !ok || math.Float64bits(x.F) == math.Float64bits(b.(plain).F)
}

var lines = []string{
	`{}`, `{ }`, ` {"i8":1}`, `{"i8":-128,"i":9223372036854775807,"u16":65535,"u":18446744073709551615}`,
	`{"i8":1,"i":2,"u16":3,"u":4,"f":1.5,"f32":0.1,"b":true,"s":"hello","e":"","t":"2013-01-01T10:00:00Z","n":5,"ns":"x","nt":"2013-01-01T10:00:00.5+01:00","nf":2.5,"nb":["1.2.3.4"]}`,
	`{"i8":null,"f":null,"b":null,"s":null,"t":null,"n":null,"ns":null,"nt":null,"nb":null}`,
	`{"s":"a\"b\\c\/d\b\f\n\r\t\u0041\u00e9\ud83d\ude00é😀","e":"a longer text without anything odd in it"}`,
	`{"s":"\ud83d"}`, `{"s":"\ud83dx"}`, `{"s":"\ude00"}`, `{"s":"\ud83d\u0041"}`, `{"s":"\x"}`, `{"s":"\u12g4"}`, "{\"s\":\"\xff\"}", "{\"s\":\"a\tb\"}", `{"s":"open}`, `{"s":5}`,
	"{\"s\":\"\xed\xa0\x80\"}", `{"zzz":"\u0041 é"}`, "{\"zzz\":\"\xff\"}", `{"zzz":{"a":1,"a":2}}`, `{"zzz":{"a":[1,{"b":"}"}]},"i8":3}`, `{"zzz":01}`, `{"zzz":-1.5e+10,"yyy":false,"xxx":null}`,
	`{"i8":128}`, `{"i8":-129}`, `{"i8":1.0}`, `{"i8":1e1}`, `{"i8":01}`, `{"i8":-0}`, `{"i8":-}`, `{"i8":+1}`, `{"i8":"1"}`, `{"u16":-1}`, `{"u16":-0}`, `{"u16":65536}`, `{"i":9223372036854775808}`,
	`{"f":1e400}`, `{"f":1e-400}`, `{"f":-0}`, `{"f":-0.0}`, `{"f":0.1e1}`, `{"f":.5}`, `{"f":5.}`, `{"f":123456789012345678901234567890}`, `{"f":0.30000000000000004}`, `{"f32":16777217}`, `{"f32":1e39}`, `{"f":1e}`, `{"f":NaN}`,
	`{"b":True}`, `{"b":tru}`, `{"b":1}`, `{"b":truee}`, `{"n":"5"}`, `{"n":2147483648}`, `{"n":1,"n":2}`, `{"zzz":1,"zzz":1}`, `{"i8":1,"zzz":1,"i8":1}`,
	`{"i8":1,}`, `{,}`, `{"i8"}`, `{"i8":}`, `{"i8":1 "i":2}`, `{"i8":1}x`, `{"i8":1}}`, `[1]`, `5`, `null`, `"x"`, `{"i8" : 1 , "i" :2 }`, "{\t\"i8\":\r1}", `{"\u00698":7}`, `{"I8":7}`, `{"":1}`,
	`{"t":"2013-02-29T00:00:00Z"}`, `{"t":"2013-01-01"}`, `{"t":5}`, `{"t":"2013-01-01T10:00:00z"}`, `{"t":"2013-01-01T10:00:60Z"}`, `{"nf":1e-50}`, `{"nb":[]}`, `{"nb":["x"]}`,
	`{"A":1,"m":{"a":1,"b":2},"p":"x","l":[1,2.5],"ip":"::1","in":{"X":1,"Y":2},"any":{"k":[1,"}",null]},"raw":"aGk=","big":123456789012345678901234567890,"Z":"end"}`,
	`{"A":1,"m":{"a":1,"a":2}}`, `{"p":null,"l":null,"any":null}`, `{"in":{"X":1,"X":2}}`, `{"any":"\ud800"}`, `{"m":{},"A":2 }`, `{"any": 5 ,"A":1}`, `{"any":5 5}`, `{"any":[}`, `{"any":"a`, `{"raw":"a"}`, `{"big":"x"}`,
	`{"ID":5,"s":"x"}`, `{"S":"x"}`,
	`{"any":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
}

func TestSameAsV2(t *testing.T) {
	for range 2 { // the second time the decoder has learned the names
		p, m, e, n := decoder[plain](t), decoder[mixed](t), decoder[embedded](t), decoder[map[string]any](t)
		for _, l := range lines {
			for range 2 {
				sameAsV2(t, p, []byte(l))
				sameAsV2(t, m, []byte(l))
				sameAsV2(t, e, []byte(l))
				sameAsV2(t, n, []byte(l))
			}
		}
	}
	// More names than the scanner remembers.
	p := decoder[plain](t)
	for i := range 200 {
		sameAsV2(t, p, []byte(`{"`+strings.Repeat("k", i)+`":1,"i8":5}`))
	}
}

func FuzzSameAsV2(f *testing.F) {
	for _, l := range lines {
		f.Add([]byte(l), []byte(l))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		p, m := decoder[plain](t), decoder[mixed](t)
		for _, l := range [][]byte{first, second, first} {
			sameAsV2(t, p, l)
			sameAsV2(t, m, l)
		}
	})
}

func TestLinesAndBatches(t *testing.T) {
	type row struct{ A int }
	text := "\xEF\xBB\xBF{\"A\":1}\r\n\n  \n{\"A\":2}\n{\"A\":x}\n {\"A\":4}\t\n{\"A\":5}"
	for step := 1; step <= len(text); step++ {
		for n := 1; n < 6; n++ {
			var bad []format.BadRecord
			d, err := weirjson.New[row](weirjson.Options{}).Decoder(format.DecoderContext{Where: "f", Bad: func(b format.BadRecord) error {
				b.Raw = bytes.Clone(b.Raw)
				bad = append(bad, b)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			var got []row
			from, to, head := 0, 0, false
			for {
				last := to == len(text)
				if !head {
					k, ok, err := d.Head([]byte(text[:to]), last)
					if err != nil {
						t.Fatal(err)
					}
					if head = ok; ok {
						from = k
						d.SetPosition(int64(k), 1)
					}
				}
				for head {
					out, k, err := d.Decode(make([]row, 0, n), []byte(text[from:to]), last)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, out...)
					if from += k; k == 0 {
						break
					}
				}
				if last {
					break
				}
				to = min(len(text), to+step)
			}
			if want := []row{{1}, {2}, {4}, {5}}; !reflect.DeepEqual(got, want) || from != len(text) {
				t.Fatalf("step %d, batches of %d: got %v", step, n, got)
			}
			if len(bad) != 1 || bad[0].Line != 5 || bad[0].Column != 6 || string(bad[0].Raw) != `{"A":x}` || bad[0].Offset != int64(strings.Index(text, `{"A":x}`)) {
				t.Fatalf("step %d, batches of %d: bad %+v", step, n, bad)
			}
		}
	}
}

func TestMessages(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"i8":300}`, `x.jsonl:1:7: field "i8" is "300", want a value for a field of type int8: value out of range`},
		{`{"s":"a","s":"b"}`, `x.jsonl:1:10: field "s" is "\"s\":\"b\"}", want valid JSON: duplicate object member name`},
		{`{"s":"a"`, `x.jsonl:1:9: is "", want valid JSON: unexpected EOF`},
		{`[1]`, `x.jsonl:1:1: is "[1]", want a value for a field of type json_test.plain`},
	} {
		_, _, err := decoder[plain](t).Decode(make([]plain, 0, 1), []byte(c.line), true)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.line, err, c.want)
		}
	}
	type late struct{ D time.Duration }
	if err := weirjson.New[late](weirjson.Options{}).Check(); err == nil || !strings.Contains(err.Error(), "milliseconds") {
		t.Errorf("a duration gives %v", err)
	}
}

func TestLongLine(t *testing.T) {
	type row struct{ A int }
	var bad []int64
	d, _ := weirjson.New[row](weirjson.Options{RecordBytesMax: 20}).Decoder(format.DecoderContext{Bad: func(b format.BadRecord) error { bad = append(bad, b.Line); return nil }})
	text := `{"A":1}` + "\n" + `{"A":` + strings.Repeat("1", 200) + "}\n" + `{"A":3}` + "\n"
	var got []row
	for from, to := 0, 0; from < len(text); to = min(len(text), to+7) {
		rows, n, err := d.Decode(make([]row, 0, 9), []byte(text[from:to]), to == len(text))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rows...)
		from += n
	}
	if !reflect.DeepEqual(got, []row{{1}, {3}}) || !reflect.DeepEqual(bad, []int64{2}) {
		t.Errorf("rows %v, bad lines %v", got, bad)
	}
}
