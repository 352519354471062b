package windowop

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

// bid is a row with a key.
type bid struct {
	Key string
	N   int64
}

// out is a window's result.
type out struct {
	Key        string
	Start, End int64
	N          int64
}

func (o out) String() string { return fmt.Sprintf("%s[%d,%d)=%d", o.Key, o.Start, o.End, o.N) }

func hashBids(b event.Batch) {
	in := b.(*event.Records[bid])
	kc, _ := codec.KeyFor[string]()
	in.Hash = in.Hash[:len(in.Rows)]
	for i := range in.Rows {
		in.Hash[i] = kc.Hash(&in.Rows[i].Key)
	}
}

// sumBids is a panes operator that sums N; text keeps the accumulator encoded.
func sumBids(t testing.TB, spec window.Spec, encoded bool) operator.Operator {
	t.Helper()
	b, err := window.Bind[bid](spec)
	if err != nil {
		t.Fatal(err)
	}
	if !Fits(b) {
		t.Fatalf("%s does not fit", spec)
	}
	kc, err := codec.KeyFor[string]()
	if err != nil {
		t.Fatal(err)
	}
	makeOut := func(k string, w window.Window, n int64) out { return out{k, w.Start, w.End, n} }
	key := func(v bid) string { return v.Key }
	if encoded {
		type acc struct {
			Sum  int64
			Note string
		}
		return NewPanes(Config[string, bid, acc, int64, out]{Window: b, Key: key, Keys: kc, Make: makeOut, LateSide: "late", Aggregate: Aggregate[bid, acc, int64]{
			Add:    func(a *acc, v bid) { a.Sum += v.N; a.Note = "x" },
			Merge:  func(a, from *acc) { a.Sum += from.Sum; a.Note += from.Note },
			Result: func(a *acc) int64 { return a.Sum },
		}})
	}
	return NewPanes(Config[string, bid, int64, int64, out]{Window: b, Key: key, Keys: kc, Make: makeOut, LateSide: "late", Aggregate: Aggregate[bid, int64, int64]{
		Add:    func(a *int64, v bid) { *a += v.N },
		Merge:  func(a, from *int64) { *a += *from },
		Result: func(a *int64) int64 { return *a },
	}})
}

func opened(t testing.TB, op operator.Operator, batch int) *optest.Harness {
	t.Helper()
	h := optest.New(op)
	h.BatchRows, h.Context.BatchRows = batch, batch
	if err := h.Open(); err != nil {
		t.Fatal(err)
	}
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func results(h *optest.Harness) []out {
	got := optest.Values(optest.Take[out](h))
	slices.SortFunc(got, func(a, b out) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Key, b.Key), cmp.Compare(a.N, b.N))
	})
	return got
}

func at(key string, n, ms int64) optest.Row[bid] { return optest.At(bid{key, n}, ms) }

func expect(t *testing.T, h *optest.Harness, want ...out) {
	t.Helper()
	if got := results(h); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestTumblingFiresAtMaxTimestamp(t *testing.T) {
	for _, encoded := range []bool{false, true} {
		for _, batch := range []int{1, 2, 0} {
			h := opened(t, sumBids(t, window.Tumbling(10*time.Millisecond), encoded), batch)
			must(t, optest.Feed(h, 0, hashBids, at("a", 1, 0), at("b", 2, 9), at("a", 4, 10), at("a", 8, 5)))
			must(t, h.Watermark(8))
			expect(t, h)
			must(t, h.Watermark(9)) // max timestamp of [0,10)
			expect(t, h, out{"a", 0, 10, 9}, out{"b", 0, 10, 2})
			must(t, optest.Feed(h, 0, hashBids, at("a", 100, 9), at("b", 1, 11)))
			if late := optest.Values(optest.TakeSide[bid](h, "late")); !slices.Equal(late, []bid{{"a", 100}}) || h.Context.Counts.Late.Load() != 1 {
				t.Fatalf("late rows are %v, counted %d", late, h.Context.Counts.Late.Load())
			}
			must(t, h.End(1))
			expect(t, h, out{"a", 10, 20, 4}, out{"b", 10, 20, 1})
		}
	}
}

func TestAllowedLatenessFiresAgainForTheRowsKey(t *testing.T) {
	h := opened(t, sumBids(t, window.Tumbling(10*time.Millisecond).AllowedLateness(5*time.Millisecond), false), 0)
	must(t, optest.Feed(h, 0, hashBids, at("a", 1, 0), at("b", 2, 1)))
	must(t, h.Watermark(9))
	expect(t, h, out{"a", 0, 10, 1}, out{"b", 0, 10, 2})
	must(t, h.Watermark(13))
	must(t, optest.Feed(h, 0, hashBids, at("a", 4, 3), at("a", 8, 3))) // each late row fires
	expect(t, h, out{"a", 0, 10, 5}, out{"a", 0, 10, 13})
	must(t, h.Watermark(14)) // 9+5 <= 14: over
	must(t, optest.Feed(h, 0, hashBids, at("a", 16, 3)))
	expect(t, h)
	if n := h.Context.Counts.Late.Load(); n != 1 {
		t.Fatalf("late rows: %d, want 1", n)
	}
}

func TestProcessingTimeWindows(t *testing.T) {
	h := opened(t, sumBids(t, window.Tumbling(10*time.Millisecond).ProcessingTime(), false), 0)
	must(t, h.Advance(3))
	must(t, optest.Feed(h, 0, hashBids, at("a", 1, event.NoTime)))
	must(t, h.Advance(9))
	expect(t, h) // the last millisecond of the window: rows may still come
	must(t, h.Advance(10))
	expect(t, h, out{"a", 0, 10, 1})
	must(t, h.Advance(25))
	must(t, optest.Feed(h, 0, hashBids, at("a", 2, event.NoTime)))
	must(t, h.End(1)) // the end of the input does not lose the open window
	expect(t, h, out{"a", 20, 30, 2})
}

// The law: whatever the order of rows and watermarks, each window's results are what a list of rows per window gives.
func TestPanesAgreeWithTheObviousModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.Int64Range(1, 12).Draw(rt, "size")
		slide := rapid.Int64Range(1, 14).Draw(rt, "slide")
		lateness := rapid.SampledFrom([]int64{0, 0, 3}).Draw(rt, "lateness")
		spec := window.Sliding(time.Duration(size)*time.Millisecond, time.Duration(slide)*time.Millisecond).AllowedLateness(time.Duration(lateness) * time.Millisecond)
		encoded := rapid.Bool().Draw(rt, "encoded")
		h := opened(t, sumBids(t, spec, encoded), rapid.SampledFrom([]int{1, 2, 0}).Draw(rt, "batch"))
		model := &windowModel{size: size, slide: slide, lateness: lateness, wm: event.NoTime, sums: map[[2]int64]map[string]int64{}}
		for range rapid.IntRange(0, 40).Draw(rt, "steps") {
			if rapid.IntRange(0, 3).Draw(rt, "what") > 0 {
				r := at(rapid.SampledFrom([]string{"a", "b", "c\x00d", ""}).Draw(rt, "key"), rapid.Int64Range(1, 9).Draw(rt, "n"), rapid.Int64Range(-20, 60).Draw(rt, "ts"))
				must(t, optest.Feed(h, 0, hashBids, r))
				model.row(r)
			} else {
				wm := rapid.Int64Range(-25, 70).Draw(rt, "watermark")
				if wm <= model.wm {
					continue
				}
				must(t, h.Watermark(wm))
				model.watermark(wm)
			}
			compareOut(rt, results(h), model)
		}
		must(t, h.Watermark(event.MaxTime))
		model.watermark(event.MaxTime)
		compareOut(rt, results(h), model)
		if got := h.Context.Counts.Late.Load(); got != model.late {
			rt.Fatalf("late rows: %d, want %d", got, model.late)
		}
		must(t, h.Op.Close())
	})
}

func compareOut(rt *rapid.T, got []out, m *windowModel) {
	want := m.out
	m.out = nil
	slices.SortFunc(want, func(a, b out) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Key, b.Key), cmp.Compare(a.N, b.N))
	})
	if !slices.Equal(got, want) {
		rt.Fatalf("got %v, want %v", got, want)
	}
}

// windowModel keeps every window by itself.
type windowModel struct {
	size, slide, lateness, wm, late int64
	sums                            map[[2]int64]map[string]int64
	out                             []out
}

func (m *windowModel) row(r optest.Row[bid]) {
	taken := false
	for start := int64(-100); start <= 100; start++ {
		if floorMod(start, m.slide) != 0 || r.Time < start || r.Time >= start+m.size {
			continue
		}
		end := start + m.size
		if end-1+m.lateness <= m.wm {
			continue
		}
		taken = true
		w := [2]int64{end, start}
		if m.sums[w] == nil {
			m.sums[w] = map[string]int64{}
		}
		m.sums[w][r.Value.Key] += r.Value.N
		if end-1 <= m.wm {
			m.out = append(m.out, out{r.Value.Key, start, end, m.sums[w][r.Value.Key]})
		}
	}
	if !taken && r.Time+m.lateness <= m.wm {
		m.late++
	}
}

func (m *windowModel) watermark(t int64) {
	for w, sums := range m.sums {
		if w[0]-1 > m.wm && w[0]-1 <= t {
			for k, n := range sums {
				m.out = append(m.out, out{k, w[1], w[0], n})
			}
		}
	}
	m.wm = t
}

func floorMod(a, d int64) int64 { return ((a % d) + d) % d }
