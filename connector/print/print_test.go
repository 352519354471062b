package print_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/print"
)

type row struct {
	A int
	B string
}

func TestPrefixes(t *testing.T) {
	for _, c := range []struct {
		opts []print.Option
		p    int
		want string
	}{
		{nil, 1, "{A:1 B:x}\n{A:2 B:y}\n"},
		{nil, 3, "2> {A:1 B:x}\n2> {A:2 B:y}\n"},
		{[]print.Option{print.Label("out")}, 1, "out> {A:1 B:x}\nout> {A:2 B:y}\n"},
		{[]print.Option{print.Label("out")}, 3, "out:2> {A:1 B:x}\nout:2> {A:2 B:y}\n"},
	} {
		for _, direct := range []bool{false, true} {
			var out bytes.Buffer
			opts := c.opts
			if direct {
				opts = append([]print.Option{print.To(&out)}, opts...)
			}
			s := print.Sink[row](opts...)
			ctx := connector.WriterContext{Subtask: min(1, c.p-1), Parallelism: c.p}
			ctx.Side = func(b []byte) error { return s.(connector.SideTaker).TakeSide(1, b, &out) }
			w, err := s.Writer(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write([]row{{1, "x"}, {2, "y"}}, nil); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(nil, nil); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("got %q, want %q", out.String(), c.want)
			}
		}
	}
	var out bytes.Buffer
	w, err := print.Sink[time.Duration](print.To(&out)).Writer(connector.WriterContext{Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write([]time.Duration{time.Minute}, nil); err != nil || out.String() != "1m0s\n" {
		t.Errorf("a Stringer prints as %q, %v", out.String(), err)
	}
}
