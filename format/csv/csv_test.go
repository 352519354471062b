package csv_test

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/format"
	"github.com/weir-stream/weir/format/csv"
	"github.com/weir-stream/weir/types"
)

// decodeAll runs text through a decoder in pieces of step bytes (0: all at once) and batches of n rows, and collects the
// bad records.
func decodeAll[T any](t testing.TB, opts csv.Options, text string, step, n int) (rows []T, bad []format.BadRecord, err error) {
	t.Helper()
	d, err := csv.New[T](opts).Decoder(format.DecoderContext{Where: "f.csv", Bad: func(b format.BadRecord) error {
		b.Raw = []byte(string(b.Raw))
		bad = append(bad, b)
		return nil
	}})
	if err != nil {
		return nil, nil, err
	}
	rows, err = drive(d, text, step, n)
	return rows, bad, err
}

func drive[T any](d format.Decoder[T], text string, step, n int) (rows []T, err error) {
	if step == 0 {
		step = max(1, len(text))
	}
	head := false
	var buf []byte
	at := 0
	batch := make([]T, 0, n)
	for {
		last := at == len(text)
		if !head {
			k, ok, err := d.Head(buf, last)
			if err != nil {
				return nil, err
			}
			if ok {
				head = true
				d.SetPosition(int64(k), int64(1+strings.Count(string(buf[:k]), "\n")))
				buf = buf[k:]
			}
		}
		if head {
			for {
				out, k, err := d.Decode(batch[:0], buf, last)
				rows = append(rows, out...)
				for i := range buf[:k] {
					buf[i] = '~' // what was used must not be looked at again, nor lie in a row
				}
				buf = buf[k:]
				if err != nil {
					return rows, err
				}
				if k == 0 {
					break
				}
			}
			if last {
				if len(buf) > 0 {
					return rows, fmt.Errorf("%d bytes are left over", len(buf))
				}
				return rows, nil
			}
		}
		more := min(step, len(text)-at)
		buf = append([]byte(string(buf)), text[at:at+more]...)
		at += more
	}
}

type everything struct {
	I8   int8              `csv:"i8"`
	U16  uint16            `csv:"u16"`
	I    int               `csv:"i"`
	F    float64           `csv:"f"`
	F32  float32           `csv:"f32"`
	B    bool              `csv:"b"`
	S    string            `csv:"s"`
	Raw  []byte            `csv:"raw"`
	T    time.Time         `csv:"t"`
	Day  time.Time         `csv:"day,zone=America/New_York,layout=Jan 2, 2006"`
	Unix time.Time         `csv:"unix,layout=unix"`
	D    time.Duration     `csv:"d"`
	IP   netip.Addr        `csv:"ip"`
	Big  *big.Int          `csv:"big"`
	N    types.Null[int32] `csv:"n"`
	NS   types.Null[string]
	P    *float64
	Skip int `csv:"-"`
}

func TestEveryKind(t *testing.T) {
	const text = "NOTHING,i8,u16,i,f,f32,b,s,raw,t,day,unix,d,ip,big,n,n_s,p\n" +
		"x,-128,65535,9223372036854775807,-2.5e10,0.1,true,héllo,ab,2013-01-01T10:00:00Z,\"Mar 10, 2013\",86400,1h30m,10.0.0.1,123456789012345678901234567890,NA,,2.5\n" +
		"x,127,0,-1,3.25,16777217,0,\"a \"\"b\"\", c\r\nd\",,2013-07-01T10:00:00.5+02:00,\"Jan 1, 2013\",0,-5ns,::1,1,7,\"NA\",NA\n"
	ny, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	large, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	p := 2.5
	want := []everything{{
		I8: -128, U16: 65535, I: 1<<63 - 1, F: -2.5e10, F32: 0.1, B: true, S: "héllo", Raw: []byte("ab"),
		T: time.Date(2013, 1, 1, 10, 0, 0, 0, time.UTC), Day: time.Date(2013, 3, 10, 0, 0, 0, 0, ny), Unix: time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC),
		D: 90 * time.Minute, IP: netip.MustParseAddr("10.0.0.1"), Big: large, NS: types.Some(""), P: &p,
	}, {
		I8: 127, I: -1, F: 3.25, F32: 16777216, S: "a \"b\", c\r\nd", Raw: []byte{},
		T: time.Date(2013, 7, 1, 8, 0, 0, 5e8, time.UTC), Day: time.Date(2013, 1, 1, 0, 0, 0, 0, ny), Unix: time.Unix(0, 0).UTC(),
		D: -5, IP: netip.MustParseAddr("::1"), Big: big.NewInt(1), N: types.Some[int32](7), NS: types.Some("NA"),
	}}
	for _, step := range []int{0, 1, 7} {
		for _, n := range []int{1, 10} {
			got, bad, err := decodeAll[everything](t, csv.Options{Nulls: []string{"NA"}}, text, step, n)
			if err != nil || len(bad) > 0 || len(got) != 2 {
				t.Fatalf("step %d: %d rows, bad %v, %v", step, len(got), bad, err)
			}
			for i := range got {
				if !got[i].T.Equal(want[i].T) || !got[i].Day.Equal(want[i].Day) {
					t.Errorf("row %d: times %v and %v", i, got[i].T, got[i].Day)
				}
				got[i].T, got[i].Day = want[i].T, want[i].Day
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("step %d row %d:\n got %+v\nwant %+v", step, i, got[i], want[i])
				}
			}
		}
	}
}

func TestDialects(t *testing.T) {
	type row struct {
		A string
		B types.Null[int64]
	}
	some := types.Some[int64]
	for _, c := range []struct {
		name, text string
		opts       csv.Options
		want       []row
	}{
		{"CRLF, blank lines, no last line end", "a,b\r\nx,1\r\n\r\ny,2", csv.Options{}, []row{{"x", some(1)}, {"y", some(2)}}},
		{"byte order mark", "\xEF\xBB\xBFa,b\nx,1\n", csv.Options{}, []row{{"x", some(1)}}},
		{"header in other order and case", "B,A\n1,x\n", csv.Options{}, []row{{"x", some(1)}}},
		{"quoted header", "\"a\",\"b\"\nx,1\n", csv.Options{}, []row{{"x", some(1)}}},
		{"semicolons and comments", "# made by hand\na;b\n#x;1\ny,z;2\n", csv.Options{Delimiter: ';', Comment: '#'}, []row{{"y,z", some(2)}}},
		{"no header", "x,1\n", csv.Options{NoHeader: true}, []row{{"x", some(1)}}},
		{"no header, named columns", "0,1,x\n", csv.Options{NoHeader: true, Columns: []string{"z", "b", "a"}}, []row{{"x", some(1)}}},
		{"escape", `a,b` + "\n" + `"x\"y\\",1` + "\n" + `p\,q,2` + "\n", csv.Options{Escape: '\\'}, []row{{`x"y\`, some(1)}, {"p,q", some(2)}}},
		{"quotes mean nothing", "a,b\n\"x,1\n", csv.Options{NoQuote: true}, []row{{`"x`, some(1)}}},
		{"other quote", "a,b\n'x,\"y',1\n", csv.Options{Quote: '\''}, []row{{`x,"y`, some(1)}}},
		{"null is empty by default", "a,b\nNA,\n,\n", csv.Options{}, []row{{"NA", types.Null[int64]{}}, {}}},
		{"a quoted null of a number is null", "a,b\nx,\"\"\n", csv.Options{}, []row{{A: "x"}}},
		{"a null that is spelled like a number", "a,b\nx,-999\ny,-998\n", csv.Options{Nulls: []string{"-999"}}, []row{{A: "x"}, {"y", some(-998)}}},
		{"plus sign and zeros, as strconv", "a,b\nx,+5\ny,-007\n", csv.Options{}, []row{{"x", some(5)}, {"y", some(-7)}}},
		{"quotes at the very end", "a,b\nx,1\n\"y\",\"2\"", csv.Options{}, []row{{"x", some(1)}, {"y", some(2)}}},
		{"header alone", "a,b", csv.Options{}, nil},
	} {
		for _, step := range []int{0, 1, 3} {
			got, bad, err := decodeAll[row](t, c.opts, c.text, step, 3)
			if err != nil || len(bad) > 0 || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, step %d: got %v, want %v; bad %v, %v", c.name, step, got, c.want, bad, err)
			}
		}
	}
}

func TestBadRecords(t *testing.T) {
	type row struct {
		A int8
		B string
		C types.Null[float64]
	}
	const head = "a,b,c\n1,x,0.5\n"
	for _, c := range []struct{ name, line, want string }{
		{"not a number", "z,x,1", `f.csv:3:1: field "a" is "z", want a whole number from -128 to 127: invalid syntax`},
		{"too large", "128,x,1", `f.csv:3:1: field "a" is "128", want a whole number from -128 to 127: out of range`},
		{"second field with a place", "1,x,q", `f.csv:3:5: field "c" is "q", want a number: invalid syntax`},
		{"missing in a field that cannot be", ",x,1", `f.csv:3:1: field "a" is "", want a whole number from -128 to 127; if the column may be missing, make field A a types.Null and list the text in Options.Nulls: invalid syntax`},
		{"missing in another spelling", "1,x,NA", `f.csv:3:5: field "c" is "NA", want a number; if this means missing, list it in Options.Nulls: invalid syntax`},
		{"too few fields", "1,x", `f.csv:3:1: is "2 fields: 1,x", want 3 fields`},
		{"too many fields", "1,x,2,3", `f.csv:3:1: is "4 fields: 1,x,2,3", want 3 fields`},
		{"a wrong value and a wrong number of fields", "x,1,y,2", `f.csv:3:1: is "4 fields: x,1,y,2", want 3 fields`},
		{"stray quote", `1,x"y,2`, `f.csv:3:3: field "b" is "x\"y,2", want a field without stray quotes: a quote stands inside a field that does not begin with one`},
		{"text behind a quote", `1,"x"y,2`, `f.csv:3:3: field "b" is "\"x\"y,2", want a delimiter or the line's end behind the closing quote: text follows the closing quote`},
		{"value on a later line of the record", "1,\"x\ny\",q", `f.csv:4:4: field "c" is "q", want a number: invalid syntax`},
		{"quoted value", "\"1 \",x,2", `f.csv:3:1: field "a" is "1 ", want a whole number from -128 to 127: invalid syntax`},
	} {
		for _, step := range []int{0, 1, 5} {
			rows, bad, err := decodeAll[row](t, csv.Options{}, head+c.line+"\n2,y,\n", step, 4)
			if err != nil || len(bad) != 1 || len(rows) != 2 || rows[1] != (row{A: 2, B: "y"}) {
				t.Errorf("%s, step %d: rows %v, bad %v, %v", c.name, step, rows, bad, err)
				continue
			}
			if bad[0].Error() != c.want {
				t.Errorf("%s, step %d:\n got %s\nwant %s", c.name, step, bad[0].Error(), c.want)
			}
			if bad[0].Offset != int64(len(head)) || string(bad[0].Raw) != c.line {
				t.Errorf("%s, step %d: offset %d, raw %q", c.name, step, bad[0].Offset, bad[0].Raw)
			}
		}
	}
}

func TestUnclosedQuoteIsBounded(t *testing.T) {
	type row struct{ A, B string }
	text := "a,b\nx,\"open\n" + strings.Repeat("1,2\n", 100)
	for _, step := range []int{0, 1, 10} {
		for _, limit := range []int{50, 1 << 20} {
			rows, bad, err := decodeAll[row](t, csv.Options{RecordBytesMax: limit}, text, step, 7)
			if err != nil || len(rows) != 100 || len(bad) != 1 || bad[0].Line != 2 {
				t.Errorf("step %d, limit %d: %d rows, bad %v, %v", step, limit, len(rows), bad, err)
			}
		}
	}
	long := "a,b\n" + strings.Repeat("y", 1000) + ",2\n1,2\n"
	rows, bad, err := decodeAll[row](t, csv.Options{RecordBytesMax: 50}, long, 10, 7)
	if err != nil || len(rows) != 1 || len(bad) != 1 || bad[0].Line != 2 {
		t.Errorf("long line: %d rows, bad %v, %v", len(rows), bad, err)
	}
}

func TestBadEndsDecoding(t *testing.T) {
	type row struct{ A int }
	d, err := csv.New[row](csv.Options{}).Decoder(format.DecoderContext{Where: "f.csv"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := drive(d, "a\n1\nx\n2\n", 0, 10)
	var b format.BadRecord
	if !errors.As(err, &b) || b.Line != 3 || len(rows) != 1 {
		t.Errorf("rows %v, %v", rows, err)
	}
}

func TestCheck(t *testing.T) {
	type inner struct{ X int }
	for _, c := range []struct {
		err  error
		want string
	}{
		{csv.New[int](csv.Options{}).Check(), "rows must be structs"},
		{csv.New[struct{ A map[string]int }](csv.Options{}).Check(), "field A of"},
		{csv.New[struct {
			A int `csv:"a,layout=x"`
		}](csv.Options{}).Check(), "layout and zone are for time.Time"},
		{csv.New[struct {
			A time.Time `csv:"a,zone=Nowhere/City"`
		}](csv.Options{}).Check(), "Nowhere/City"},
		{csv.New[struct {
			A int `csv:"a,optoinal"`
		}](csv.Options{}).Check(), "unknown tag option"},
		{csv.New[struct {
			A int `csv:"a"`
			B int `csv:"a"`
		}](csv.Options{}).Check(), "both take the column"},
		{csv.New[inner](csv.Options{Delimiter: '"'}).Check(), "two meanings"},
		{csv.New[inner](csv.Options{Delimiter: '\n'}).Check(), "cannot be a delimiter"},
		{csv.New[inner](csv.Options{Columns: []string{"x"}}).Check(), "set NoHeader"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q in it", c.err, c.want)
		}
	}
	type row struct {
		inner
		Y int `csv:",optional"`
	}
	for _, c := range []struct{ head, want string }{
		{"xx,z\n", `no column "X" for field X; the columns are xx, z; did you mean xx, z?`},
		{"x,x\n", `twice`},
		{"", "the file is empty"},
	} {
		if _, _, err := decodeAll[row](t, csv.Options{}, c.head, 0, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q in it", c.head, err, c.want)
		}
	}
	if rows, _, err := decodeAll[row](t, csv.Options{}, "x\n5\n", 0, 1); err != nil || len(rows) != 1 || rows[0].X != 5 {
		t.Errorf("embedded struct: %v, %v", rows, err)
	}
}

// Columns without a field are skipped wherever they stand, and still counted.
func TestSkippedColumns(t *testing.T) {
	type row struct{ A, B string }
	cells := []string{"", "x", "1234567", "12345678", "123456789abcdefgh", `"q,q"`}
	for width := 2; width <= 12; width++ {
		for a := range width {
			for b := range width {
				if a == b {
					continue
				}
				var head, line []string
				for i := range width {
					head, line = append(head, fmt.Sprint("c", i)), append(line, cells[(i+a+3*b)%len(cells)])
				}
				head[a], head[b] = "A", "B"
				want := row{strings.Trim(line[a], `"`), strings.Trim(line[b], `"`)}
				text := strings.Join(head, ",") + "\n" + strings.Join(line, ",") + "\n" + strings.Join(line[1:], ",") + "\n" + strings.Join(line, ",") + ",\n" + strings.Join(line, ",")
				got, bad, err := decodeAll[row](t, csv.Options{}, text, 0, 5)
				if err != nil || len(got) != 2 || got[0] != want || got[1] != want {
					t.Fatalf("%s: got %q, want %q, %v", text, got, want, err)
				}
				if len(bad) != 2 || !strings.HasPrefix(bad[0].Value, fmt.Sprint(width-1, " fields")) || !strings.HasPrefix(bad[1].Value, fmt.Sprint(width+1, " fields")) {
					if width > 2 || line[1] != "" { // a single empty field is a blank line
						t.Fatalf("%s: bad %v", text, bad)
					}
				}
			}
		}
	}
}
