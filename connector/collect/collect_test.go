package collect_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/collect"
)

var texts = collect.Codec[string]{
	Append: func(dst []byte, s string) ([]byte, error) {
		if s == "bad" {
			return dst, errors.New("no")
		}
		return append(dst, s...), nil
	},
	Decode: func(b []byte) (string, error) { return string(b), nil },
}

func TestRowsArrive(t *testing.T) {
	type got struct {
		sub  int
		s    string
		time int64
	}
	var all []got
	s := collect.Sink(texts, func(sub int, s string, time int64) error {
		all = append(all, got{sub, s, time})
		return nil
	})
	side := s.(connector.SideTaker)
	w, err := s.Writer(connector.WriterContext{Side: func(b []byte) error { return side.TakeSide(3, b, nil) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]string{"a", "", "ccc"}, []int64{5, connector.NoTime, -7}); err != nil {
		t.Fatal(err)
	}
	if want := []got{{3, "a", 5}, {3, "", connector.NoTime}, {3, "ccc", -7}}; !slices.Equal(all, want) {
		t.Errorf("got %v", all)
	}
	if err := w.Write([]string{"bad"}, nil); err == nil {
		t.Error("an error of the codec is lost")
	}
	if collect.Sink[int](collect.Codec[int]{}, nil).(connector.Checker).Check() == nil {
		t.Error("a sink without codec passes")
	}
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 'x'})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		s := collect.Sink(texts, func(int, string, int64) error { n++; return nil })
		if err := s.(connector.SideTaker).TakeSide(0, b, nil); err == nil && n > len(b)/9 {
			t.Errorf("%d rows out of %d bytes", n, len(b))
		}
	})
}
