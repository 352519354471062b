package basic

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
)

type row = optest.Row[int]

func rows(vs ...int) (out []row) {
	for i, v := range vs {
		out = append(out, optest.At(v, int64(i)))
	}
	return out
}

func run[U any](t *testing.T, op operator.Operator, batch int, in ...row) []optest.Row[U] {
	t.Helper()
	h := optest.New(op)
	h.BatchRows, h.Context.BatchRows = batch, batch
	if err := h.Open(); err != nil {
		t.Fatal(err)
	}
	if err := optest.Feed(h, 0, nil, in...); err != nil {
		t.Fatal(err)
	}
	out := optest.Take[U](h)
	if err := h.End(1); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMapKeepsOrderAndTimes(t *testing.T) {
	for _, batch := range []int{1, 2, 0} {
		got := run[string](t, NewMap(func(v int) string { return strings.Repeat("x", v) }), batch, rows(3, 0, 2)...)
		want := []optest.Row[string]{optest.At("xxx", 0), optest.At("", 1), optest.At("xx", 2)}
		if !slices.Equal(got, want) {
			t.Errorf("batch %d: got %v, want %v", batch, got, want)
		}
	}
}

// A row of 4 KiB leaves room for few in a batch, so that one input batch becomes several.
func TestMapToWiderRowsSplitsBatches(t *testing.T) {
	type wide struct {
		v [256]int64
		_ [768]int64
	}
	var in []row
	for i := range 300 {
		in = append(in, optest.At(i, int64(i)))
	}
	got := run[wide](t, NewMap(func(v int) (w wide) { w.v[0] = int64(v); return w }), 0, in...)
	if len(got) != 300 {
		t.Fatalf("got %d rows, want 300", len(got))
	}
	for i, r := range got {
		if r.Value.v[0] != int64(i) || r.Time != int64(i) {
			t.Fatalf("row %d is %d at %d", i, r.Value.v[0], r.Time)
		}
	}
}

func TestFilterThenMapSeesLiveRowsOnly(t *testing.T) {
	for _, batch := range []int{1, 2, 0} {
		h := optest.New(NewFilter(func(v int) bool { return v%2 == 0 }))
		h.BatchRows = batch
		second := optest.New(NewFilter(func(v int) bool { return v > 2 }))
		last := optest.New(NewMap(func(v int) int { return v * 10 }))
		for _, x := range []*optest.Harness{h, second, last} {
			if err := x.Open(); err != nil {
				t.Fatal(err)
			}
		}
		h.Op.(*filter[int]).out = into{second}
		second.Op.(*filter[int]).out = into{last}
		if err := optest.Feed(h, 0, nil, rows(1, 2, 3, 4, 6)...); err != nil {
			t.Fatal(err)
		}
		got := optest.Take[int](last)
		want := []row{optest.At(40, 3), optest.At(60, 4)}
		if !slices.Equal(got, want) {
			t.Errorf("batch %d: got %v, want %v", batch, got, want)
		}
	}
}

// into chains a harness behind an operator.
type into struct{ h *optest.Harness }

func (c into) Emit(b event.Batch) error               { return c.h.Op.Process(0, b) }
func (c into) EmitSide(_ string, b event.Batch) error { b.Release(); return nil }

func TestFlatMapEmitsAnyNumber(t *testing.T) {
	for _, batch := range []int{1, 2, 0} {
		op := NewEmitMap(func(v int, emit func(int)) {
			for range v {
				emit(v)
			}
		})
		got := run[int](t, op, batch, rows(2, 0, 3)...)
		want := []row{optest.At(2, 0), optest.At(2, 0), optest.At(3, 2), optest.At(3, 2), optest.At(3, 2)}
		if !slices.Equal(got, want) {
			t.Errorf("batch %d: got %v, want %v", batch, got, want)
		}
	}
}

func TestPanicNamesOperatorRowAndTime(t *testing.T) {
	boom := func(v int) int {
		if v == 7 {
			panic("seven")
		}
		return v
	}
	ops := map[string]operator.Operator{
		"map":     NewMap(boom),
		"filter":  NewFilter(func(v int) bool { return boom(v) > 0 }),
		"flatMap": NewEmitMap(func(v int, emit func(int)) { emit(boom(v)) }),
		"tryMap":  NewTryMap(func(v int) (int, error) { return boom(v), nil }),
	}
	for name, op := range ops {
		h := optest.New(op)
		h.Context.Operator = name
		if err := h.Open(); err != nil {
			t.Fatal(err)
		}
		err := optest.Feed(h, 0, nil, optest.At(1, 10), optest.At(7, 20))
		if errs.CodeOf(err) != errs.CodeUserPanic {
			t.Fatalf("%s: error is %v", name, err)
		}
		for _, part := range []string{name + " (1/1)", "panic: seven", "at row 7", "event time 20 ms", "basic_test.go"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error lacks %q:\n%v", name, part, err)
			}
		}
	}
}

func TestReturnedErrorNamesRow(t *testing.T) {
	cause := errors.New("no such zone")
	h := optest.New(NewTryMap(func(v int) (int, error) { return 0, cause }))
	if err := h.Open(); err != nil {
		t.Fatal(err)
	}
	err := optest.Feed(h, 0, nil, optest.At(5, 1))
	if !errors.Is(err, cause) || errs.CodeOf(err) != errs.CodeUserFunction || !strings.Contains(err.Error(), "at row 5") {
		t.Fatalf("got %v", err)
	}
}
