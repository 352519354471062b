package source_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/operator/source"
)

// seconds are rows that are their own times; a negative one has none.
func seconds(s int64) time.Time {
	if s < 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

func assigner(t *testing.T, opt source.Options[int64]) *optest.Harness {
	t.Helper()
	h := optest.New(source.NewAssigner(opt))
	if err := h.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Op.Close() })
	return h
}

func feed(t *testing.T, h *optest.Harness, rows ...int64) {
	t.Helper()
	for _, r := range rows {
		if err := optest.Feed(h, 0, nil, optest.At(r, 1)); err != nil { // the time that they come with is wrong
			t.Fatal(err)
		}
	}
}

func TestAssignerGivesTimesAndWatermarks(t *testing.T) {
	h := assigner(t, source.Options[int64]{Time: seconds, OutOfOrder: 2 * time.Second})
	feed(t, h, 10, -1, 9, 15)
	if err := h.Watermark(99_000); err != nil { // the input's own: ends here
		t.Fatal(err)
	}
	if err := h.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := h.Watermark(event.MaxTime); err != nil {
		t.Fatal(err)
	}
	want := []optest.Row[int64]{optest.At[int64](10, 10_000), optest.At[int64](9, 9_000), optest.At[int64](15, 15_000)}
	if got := optest.Take[int64](h); !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got := optest.Values(optest.TakeSide[int64](h, source.NoTimeSide)); !slices.Equal(got, []int64{-1}) {
		t.Errorf("rows without time %v, want -1", got)
	}
	// Highest time less two seconds and a millisecond; nothing for 9, which is below 10.
	if want := []int64{7_999, 12_999, event.MaxTime}; !slices.Equal(h.Watermarks, want) {
		t.Errorf("watermarks %v, want %v", h.Watermarks, want)
	}
	if n := h.Context.Counts.NoTime.Load(); n != 1 {
		t.Errorf("%d rows counted as without time, want 1", n)
	}
}

func TestAssignerBecomesIdleAndActive(t *testing.T) {
	h := assigner(t, source.Options[int64]{Time: seconds, Idle: 5 * time.Second})
	start := h.Context.Now()
	feed(t, h, 10)
	for _, step := range []struct {
		at   int64
		want []bool
	}{{4_999, nil}, {5_000, []bool{true}}, {60_000, []bool{true}}} {
		if err := h.Advance(start + step.at); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(h.Idles, step.want) {
			t.Errorf("after %d ms: idle %v, want %v", step.at, h.Idles, step.want)
		}
	}
	feed(t, h, 11)
	if want := []bool{true, false}; !slices.Equal(h.Idles, want) {
		t.Errorf("after a row: idle %v, want %v", h.Idles, want)
	}
	if err := h.Advance(start + 65_000); err != nil {
		t.Fatal(err)
	}
	if err := h.Watermark(event.MaxTime); err != nil { // comes from an input that is active
		t.Fatal(err)
	}
	if want := []bool{true, false, true, false}; !slices.Equal(h.Idles, want) {
		t.Errorf("at the end: idle %v, want %v", h.Idles, want)
	}
	if want := []int64{9_999, 10_999, event.MaxTime}; !slices.Equal(h.Watermarks, want) {
		t.Errorf("watermarks %v, want %v", h.Watermarks, want)
	}
}

func TestAssignerWithoutWatermarks(t *testing.T) {
	h := assigner(t, source.Options[int64]{Time: seconds, NoWatermarks: true, Idle: time.Second})
	feed(t, h, 10, 11)
	if err := h.Advance(h.Context.Now() + 10_000); err != nil {
		t.Fatal(err)
	}
	if len(h.Watermarks)+len(h.Idles) > 0 {
		t.Errorf("watermarks %v, idle %v", h.Watermarks, h.Idles)
	}
	if got := optest.Take[int64](h); len(got) != 2 || got[1].Time != 11_000 {
		t.Errorf("rows %v", got)
	}
}
