package format_test

import (
	"strings"
	"testing"

	"github.com/weir-stream/weir/format"
)

func TestTextOwnsItsStrings(t *testing.T) {
	var text format.Text
	buf := make([]byte, 4096)
	var got, want []string
	for i := range 5000 {
		n := i * 7 % 40
		if i%500 == 0 {
			n = 4000
		}
		for k := range n {
			buf[k] = byte(i + k*i)
		}
		got = append(got, text.String(buf[:n]))
		want = append(want, string(buf[:n]))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("string %d is %q, was %q", i, got[i], want[i])
		}
	}
	if text.String([]byte("a")) != "a" || text.String([]byte("a\x00")) != "a\x00" || text.String(nil) != "" {
		t.Error("strings that differ by a zero byte are mixed up")
	}
	code := []byte("JFK")
	text.String(code)
	if n := testing.AllocsPerRun(100, func() { text.String(code) }); n != 0 {
		t.Errorf("a repeated short string costs %v allocations", n)
	}
}

func TestBadRecordSaysEverything(t *testing.T) {
	b := format.BadRecord{Where: "a.csv", Line: 3, Column: 9, Field: "delay", Value: "x1", Want: "a whole number"}
	if got, want := b.Error(), `a.csv:3:9: field "delay" is "x1", want a whole number`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := format.Clip([]byte(strings.Repeat("é", 100))); got != strings.Repeat("é", 60)+"..." {
		t.Errorf("Clip cuts to %q", got)
	}
}
