package csv_test

import (
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/format"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/types"
)

type texts struct{ A, B, C string }

type values struct {
	I int16
	U uint8
	F float64
	G float32
	B bool
	N types.Null[int64]
	T time.Time
	S string
}

// events decodes text and lists what came: rows as they print, "bad" for each bad record.
func events[T any](t testing.TB, opts csv.Options, text string) (out []string) {
	d, err := csv.New[T](opts).Decoder(format.DecoderContext{Bad: func(format.BadRecord) error { out = append(out, "bad"); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	data := []byte(text)
	for p := 0; p < len(data); {
		rows, n, err := d.Decode(make([]T, 0, 1), data[p:], true)
		if err != nil || n == 0 {
			t.Fatalf("%q: n %d, %v", text, n, err)
		}
		for _, r := range rows {
			out = append(out, fmt.Sprintf("%q", fmt.Sprint(r)))
		}
		p += n
	}
	return out
}

// stdlib does the same by encoding/csv. ok is false if it met a stray quote: from there on the two go their own ways.
func stdlib(opts csv.Options, text string, fields int, parse func([]string) (any, error)) (out []string, ok bool) {
	r := stdcsv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.Comma, r.Comment = fields, rune(opts.Delimiter), rune(opts.Comment)
	for {
		rec, err := r.Read()
		switch {
		case err == io.EOF:
			return out, true
		case errors.Is(err, stdcsv.ErrFieldCount):
			out = append(out, "bad")
			continue
		case err != nil:
			return append(out, "bad"), false
		}
		v, err := parse(rec)
		if err != nil {
			out = append(out, "bad")
			continue
		}
		out = append(out, fmt.Sprintf("%q", fmt.Sprint(v)))
	}
}

func parseTexts(r []string) (any, error) { return texts{r[0], r[1], r[2]}, nil }

func parseValues(r []string) (any, error) {
	i, err1 := strconv.ParseInt(r[0], 10, 16)
	u, err2 := strconv.ParseUint(r[1], 10, 8)
	f, err3 := strconv.ParseFloat(r[2], 64)
	g, err4 := strconv.ParseFloat(r[3], 32)
	b, err5 := strconv.ParseBool(r[4])
	v := values{I: int16(i), U: uint8(u), F: f, G: float32(g), B: b, S: r[7]}
	var err6, err7 error
	if r[5] != "NA" {
		v.N.Valid = true
		v.N.V, err6 = strconv.ParseInt(r[5], 10, 64)
	}
	v.T, err7 = time.Parse(time.RFC3339Nano, r[6])
	return v, errors.Join(err1, err2, err3, err4, err5, err6, err7)
}

func compare(t testing.TB, text string, got, want []string, whole bool) {
	t.Helper()
	if !whole && len(got) > len(want) {
		got = got[:len(want)]
	}
	// encoding/csv turns a carriage return and newline inside quotes into a newline.
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], `\r\n`, `\n`)
	}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], `\r\n`, `\n`)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q:\n got %s\nwant %s", text, got, want)
	}
}

var fuzzSeeds = []string{
	"a,b,c\n", "a,\"b\"\"\",c\r\n\r\nd,e\n", "\"x\ny\",,\n#c\n1,2,3", "a,b\"c,d\n", "\"a\"b,c,d\n", "\"open,\nx", "a,b,c\r", "\"a\",b,c\r", ",,\n\n,,,\n", " \n", "\"\",\"\",\"\"\n", "\"a\r\nb\",c,d",
	"1,2,3.5,1e3,true,NA,2013-01-01T10:00:00Z,x\n", "-32768,255,-0,16777217,F,9223372036854775807,2013-01-01T10:00:00.5+02:00,\"q\"\n", "32768,0,1,1,1,1,2013-02-30T00:00:00Z,\n",
	"+1,01,.5,5.,TRUE,\"NA\",2013-01-01T10:00:00Z,a\n", "1,256,0x1p-2,inf,t,-1,2013-01-01T10:00:00Z,a\n", "1,-0,123456789012345678,0.1,0,1,2013-01-01T10:00:00Z,aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "1,1,1_0,1,1,999999999999999999999,2013-01-01T10:00:00Z,a\n",
}

// The decoder and encoding/csv with strconv agree on every record, up to the first stray quote.
func FuzzSameAsStdlib(f *testing.F) {
	for i, s := range fuzzSeeds {
		f.Add(s, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, semicolons bool) {
		if strings.HasPrefix(text, "\xEF\xBB\xBF") {
			return
		}
		opts := csv.Options{NoHeader: true, Delimiter: ',', Comment: '#', Nulls: []string{"NA"}}
		if semicolons {
			opts.Delimiter = ';'
		}
		want, whole := stdlib(opts, text, 3, parseTexts)
		compare(t, text, events[texts](t, opts, text), want, whole)
		want, whole = stdlib(opts, text, 8, parseValues)
		compare(t, text, events[values](t, opts, text), want, whole)
	})
}

// FuzzPieces: however the data is cut into pieces, the rows and bad records are the same, and no option makes it panic.
func FuzzPieces(f *testing.F) {
	for _, s := range fuzzSeeds {
		f.Add(s, uint8(3), uint8(0))
		f.Add(s, uint8(1), uint8(7))
	}
	f.Fuzz(func(t *testing.T, text string, step, flags uint8) {
		opts := csv.Options{NoHeader: true, Columns: []string{"a", "x", "c", "b"}[:3+flags&1], RecordBytesMax: 1000}
		if flags&2 != 0 {
			opts.Escape = '\\'
		}
		opts.NoQuote = flags&4 != 0
		type two struct {
			A string
			C types.Null[int32] `csv:",optional"`
		}
		rows, bad, err := decodeAll[two](t, opts, text, 0, 5)
		if err != nil {
			t.Fatal(err)
		}
		rows2, bad2, err := decodeAll[two](t, opts, text, int(step)%50+1, 3)
		if err != nil || len(text) < 900 && (!reflect.DeepEqual(rows, rows2) || !reflect.DeepEqual(bad, bad2)) {
			t.Fatalf("%q in pieces of %d:\n got %v %v\nwant %v %v, %v", text, int(step)%50+1, rows2, bad2, rows, bad, err)
		}
	})
}

// What the encoder writes the decoder reads back, in every dialect.
func TestRoundTrip(t *testing.T) {
	type row struct {
		S  string
		NS types.Null[string]
		I  int64
		U  uint16
		F  float64
		G  types.Null[float32]
		B  bool
		D  time.Duration
		T  time.Time
		P  *int8
		R  []byte
	}
	dialects := []csv.Options{{}, {Delimiter: ';', Comment: '#'}, {Nulls: []string{"NA", ""}}, {NoHeader: true}, {Escape: '\\'}, {Quote: '\'', Delimiter: '\t'}}
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\n\r]{0,12}`), rapid.SampledFrom([]string{"", "NA", "\"", "\\", "#", "\r\n", "'", ";", "\xEF\xBB\xBF", "\xff"}))
	rapid.Check(t, func(r *rapid.T) {
		opts := rapid.SampledFrom(dialects).Draw(r, "dialect")
		var rows []row
		for range rapid.IntRange(0, 4).Draw(r, "n") {
			x := row{S: text.Draw(r, "s"), I: rapid.Int64().Draw(r, "i"), U: rapid.Uint16().Draw(r, "u"), F: rapid.Float64().Draw(r, "f"), B: rapid.Bool().Draw(r, "b"),
				D: time.Duration(rapid.Int64().Draw(r, "d")), T: time.Unix(rapid.Int64Range(-6e10, 2e11).Draw(r, "t"), rapid.Int64Range(0, 999999999).Draw(r, "ns")).UTC(), R: []byte(text.Draw(r, "r"))}
			if rapid.Bool().Draw(r, "valid") {
				p := rapid.Int8().Draw(r, "p")
				x.NS, x.G, x.P = types.Some(text.Draw(r, "nstr")), types.Some(float32(rapid.Float32().Draw(r, "g"))), &p
			}
			if math.IsNaN(x.F) || math.IsNaN(float64(x.G.V)) {
				continue
			}
			rows = append(rows, x)
		}
		e, err := csv.New[row](opts).Encoder()
		if err != nil {
			r.Fatal(err)
		}
		out, err := e.Append(e.AppendHead(nil), rows)
		if err != nil {
			r.Fatal(err)
		}
		got, bad, err := decodeAll[row](t, opts, string(out), rapid.IntRange(0, 20).Draw(r, "step"), 3)
		if err != nil || len(bad) > 0 || len(got) != len(rows) || len(rows) > 0 && !reflect.DeepEqual(got, rows) {
			r.Fatalf("%q:\n got %+v\nwant %+v\nbad %v, %v", out, got, rows, bad, err)
		}
	})
}

func TestEncoderRefuses(t *testing.T) {
	type one struct{ N types.Null[int] }
	if _, err := csv.New[one](csv.Options{}).Encoder(); err == nil {
		t.Error("a row of one missing value would be a blank line")
	}
	type row struct {
		S string
		N types.Null[int]
	}
	for _, c := range []struct {
		opts csv.Options
		row  row
		want string
	}{
		{csv.Options{NoQuote: true}, row{S: "a,b"}, "field S"},
		{csv.Options{Nulls: []string{"-1"}}, row{N: types.Some(-1)}, "means null"},
	} {
		e, err := csv.New[row](c.opts).Encoder()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := e.Append([]byte("x"), []row{{}, c.row}); err == nil || !strings.Contains(err.Error(), c.want) || string(out) != "x" {
			t.Errorf("got %q, %v", out, err)
		}
	}
}
