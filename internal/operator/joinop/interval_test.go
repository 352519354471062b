package joinop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/statebackend"
)

// order and payment are rows of the two sides; they differ in type, and one has a string to outlive its state.
type order struct {
	Key string
	ID  int64
}

type payment struct {
	ID   int64
	Note string
	Key  string
}

// pair is a result: the ids of both sides, -1 for a missing one, and its time.
type pair struct{ L, R, T int64 }

func keys(t testing.TB) *codec.KeyCodec[string] {
	t.Helper()
	kc, err := codec.KeyFor[string]()
	if err != nil {
		t.Fatal(err)
	}
	return kc
}

func hashBy[T any](kc *codec.KeyCodec[string], key func(T) string) operator.Hasher {
	return func(b event.Batch) {
		in := b.(*event.Records[T])
		in.Hash = in.Hash[:len(in.Rows)]
		for i := range in.Rows {
			k := key(in.Rows[i])
			in.Hash[i] = kc.Hash(&k)
		}
	}
}

func orderKey(o order) string     { return o.Key }
func paymentKey(p payment) string { return p.Key }

type kind struct{ left, right bool }

func (k kind) String() string { return fmt.Sprintf("left outer %t, right outer %t", k.left, k.right) }

var kinds = []kind{{}, {left: true}, {right: true}, {left: true, right: true}}

// ids is the result of a pair; it checks that what is decoded is what went in.
func ids(a *order, b *payment) pair {
	p := pair{L: -1, R: -1}
	if a != nil {
		p.L = a.ID
	}
	if b != nil {
		p.R = b.ID
		if b.Note != fmt.Sprintf("payment %d of %s", b.ID, b.Key) {
			panic("a row has changed in the state: " + b.Note)
		}
	}
	return p
}

func intervalOp(t testing.TB, lower, upper int64, k kind) operator.Operator {
	return NewInterval(IntervalConfig[string, order, payment, pair]{
		LeftKey: orderKey, RightKey: paymentKey, Keys: keys(t), Lower: lower, Upper: upper, LeftOuter: k.left, RightOuter: k.right,
		LateLeft: "late left", LateRight: "late right",
		Match: func(a *order, b *payment, _, _ int64, out *basic.Outlet[pair]) error {
			out.Emit(ids(a, b))
			return nil
		},
	})
}

func opened(t testing.TB, op operator.Operator, batch int) *optest.Harness {
	t.Helper()
	h := optest.New(op)
	h.BatchRows, h.Context.BatchRows = batch, batch
	must(t, h.Open())
	return h
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func feedLeft(t testing.TB, h *optest.Harness, rows ...optest.Row[order]) {
	t.Helper()
	must(t, optest.Feed(h, 0, hashBy(keys(t), orderKey), rows...))
}

func feedRight(t testing.TB, h *optest.Harness, rows ...optest.Row[payment]) {
	t.Helper()
	for i := range rows {
		v := &rows[i].Value
		v.Note = fmt.Sprintf("payment %d of %s", v.ID, v.Key)
	}
	must(t, optest.Feed(h, 1, hashBy(keys(t), paymentKey), rows...))
}

// left and right make rows.
func left(key string, id, ms int64) optest.Row[order] { return optest.At(order{key, id}, ms) }
func right(key string, id, ms int64) optest.Row[payment] {
	return optest.At(payment{ID: id, Key: key}, ms)
}

func taken(h *optest.Harness) (out []pair) {
	for _, r := range optest.Take[pair](h) {
		out = append(out, pair{r.Value.L, r.Value.R, r.Time})
	}
	return sorted(out)
}

func sorted(pairs []pair) []pair {
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.L, b.L), cmp.Compare(a.R, b.R))
	})
	return pairs
}

func expect(t testing.TB, h *optest.Harness, want ...pair) {
	t.Helper()
	if got := taken(h); !slices.Equal(got, sorted(want)) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestIntervalBoundsAreInclusive(t *testing.T) {
	h := opened(t, intervalOp(t, -5, 10, kind{}), 0)
	feedLeft(t, h, left("a", 1, 100))
	feedRight(t, h, right("a", 1, 94), right("a", 2, 95), right("b", 3, 100), right("a", 4, 110), right("a", 5, 111))
	expect(t, h, pair{1, 2, 100}, pair{1, 4, 110})
	must(t, h.End(2))
	expect(t, h)
}

func TestIntervalLateRowsAreThoseAtTheWatermark(t *testing.T) {
	h := opened(t, intervalOp(t, -5, 10, kind{left: true, right: true}), 0)
	feedLeft(t, h, left("a", 1, 100))
	must(t, h.Watermark(104))
	feedRight(t, h, right("a", 1, 104), right("a", 2, 105))
	feedLeft(t, h, left("a", 2, 103))
	expect(t, h, pair{1, 2, 105})
	if got := optest.TakeSide[payment](h, "late right"); len(got) != 1 || got[0].Value.ID != 1 || got[0].Time != 104 {
		t.Errorf("late right rows: %v", got)
	}
	if got := optest.TakeSide[order](h, "late left"); len(got) != 1 || got[0].Value.ID != 2 {
		t.Errorf("late left rows: %v", got)
	}
	if n := h.Context.Counts.Late.Load(); n != 2 {
		t.Errorf("%d rows counted as late, want 2", n)
	}
}

// A left row at 100 can match until 110, a right row at 200 until 205 (its left row would be 5 later at most).
func TestIntervalPadsWhenNoMatchCanCome(t *testing.T) {
	h := opened(t, intervalOp(t, -5, 10, kind{left: true, right: true}), 0)
	feedLeft(t, h, left("a", 1, 100))
	must(t, h.Watermark(109))
	expect(t, h)
	must(t, h.Watermark(110))
	expect(t, h, pair{1, -1, 110})
	feedRight(t, h, right("a", 1, 200))
	must(t, h.Watermark(204))
	expect(t, h)
	must(t, h.Watermark(205))
	expect(t, h, pair{-1, 1, 205})
}

// With upper < 0 no right row can come any more for a left row that is on time but at the watermark's heels.
func TestIntervalPadsAtOnceIfNothingCanCome(t *testing.T) {
	h := opened(t, intervalOp(t, -20, -10, kind{left: true}), 0)
	must(t, h.Watermark(100))
	feedLeft(t, h, left("a", 1, 105))
	expect(t, h, pair{1, -1, 105})
	feedLeft(t, h, left("a", 2, 111))
	expect(t, h)
	feedRight(t, h, right("a", 1, 101))
	expect(t, h, pair{2, 1, 111})
	must(t, h.End(2))
	expect(t, h)
}

func TestIntervalStateEndsWithTheWatermark(t *testing.T) {
	op := intervalOp(t, -5, 10, kind{left: true, right: true}).(*interval[string, order, payment, pair])
	h := opened(t, op, 0)
	for i := range int64(50) {
		feedLeft(t, h, left("a", i, 100+i))
		feedRight(t, h, right("b", i, 100+i))
	}
	count := func() (n int) {
		op.left.kept.All(func(_ statebackend.Key, _, _, _ []byte) bool { n++; return true })
		op.right.kept.All(func(_ statebackend.Key, _, _, _ []byte) bool { n++; return true })
		return n
	}
	// Left rows up to 120 and right rows up to 125 are over.
	must(t, h.Watermark(130))
	if n := count(); n != 100-21-26 {
		t.Errorf("%d rows are kept, want %d", n, 100-21-26)
	}
	must(t, h.Watermark(event.MaxTime))
	if n := count() + op.timers.Len(); n != 0 {
		t.Errorf("%d rows and timers are left at the end", n)
	}
}

// step is a row or a watermark of a random run.
type step struct {
	input int // 2 is a watermark
	row   modelRow
}

type modelRow struct {
	key string
	id  int64
	t   int64
}

// modelInterval is the nested loop: all pairs of rows that were on time, and what is left alone.
func modelInterval(steps []step, lower, upper int64, k kind) (out []pair) {
	var rows [2][]modelRow
	watermark := int64(event.NoTime)
	for _, s := range steps {
		if s.input == 2 {
			watermark = s.row.t
		} else if s.row.t > watermark {
			rows[s.input] = append(rows[s.input], s.row)
		}
	}
	met := map[[2]int64]bool{}
	for _, l := range rows[0] {
		for _, r := range rows[1] {
			if l.key == r.key && l.t+lower <= r.t && r.t <= l.t+upper {
				out = append(out, pair{l.id, r.id, max(l.t, r.t)})
				met[[2]int64{0, l.id}], met[[2]int64{1, r.id}] = true, true
			}
		}
	}
	for _, l := range rows[0] {
		if k.left && !met[[2]int64{0, l.id}] {
			out = append(out, pair{l.id, -1, max(l.t, l.t+upper)})
		}
	}
	for _, r := range rows[1] {
		if k.right && !met[[2]int64{1, r.id}] {
			out = append(out, pair{-1, r.id, max(r.t, r.t-lower)})
		}
	}
	return sorted(out)
}

func drawSteps(t *rapid.T) []step {
	n := rapid.IntRange(1, 60).Draw(t, "steps")
	steps := make([]step, 0, n)
	watermark := int64(-40)
	for i := range n {
		s := step{input: rapid.SampledFrom([]int{0, 0, 1, 1, 2}).Draw(t, "input")}
		if s.input == 2 {
			watermark += rapid.Int64Range(1, 15).Draw(t, "advance")
			s.row.t = watermark
		} else {
			s.row = modelRow{rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "key"), int64(i),
				max(-40, watermark) + rapid.Int64Range(-5, 40).Draw(t, "time")}
		}
		steps = append(steps, s)
	}
	return steps
}

func run(t testing.TB, h *optest.Harness, steps []step) {
	t.Helper()
	for _, s := range steps {
		runStep(t, h, s)
	}
	must(t, h.End(2))
}

func TestIntervalEqualsNestedLoop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lower := rapid.Int64Range(-20, 20).Draw(rt, "lower")
		upper := lower + rapid.Int64Range(0, 30).Draw(rt, "width")
		k := rapid.SampledFrom(kinds).Draw(rt, "kind")
		steps := drawSteps(rt)
		h := opened(t, intervalOp(t, lower, upper, k), rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "batch"))
		run(t, h, steps)
		if got, want := taken(h), modelInterval(steps, lower, upper, k); !slices.Equal(got, want) {
			rt.Fatalf("%v, [%d, %d]:\n got %v\nwant %v", k, lower, upper, got, want)
		}
	})
}

// What is emitted between two watermarks must not be late behind them.
func TestIntervalEmitsNothingLate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lower := rapid.Int64Range(-20, 20).Draw(rt, "lower")
		upper := lower + rapid.Int64Range(0, 30).Draw(rt, "width")
		h := opened(t, intervalOp(t, lower, upper, kind{true, true}), 0)
		watermark := int64(event.NoTime)
		for _, s := range drawSteps(rt) {
			runStep(t, h, s)
			for _, p := range taken(h) {
				if p.T <= watermark {
					rt.Fatalf("%v is emitted behind watermark %d", p, watermark)
				}
			}
			if s.input == 2 {
				watermark = s.row.t
			}
		}
	})
}

func runStep(t testing.TB, h *optest.Harness, s step) {
	switch s.input {
	case 0:
		feedLeft(t, h, left(s.row.key, s.row.id, s.row.t))
	case 1:
		feedRight(t, h, right(s.row.key, s.row.id, s.row.t))
	default:
		must(t, h.Watermark(s.row.t))
	}
}

func TestIntervalFailureNamesThePair(t *testing.T) {
	op := NewInterval(IntervalConfig[string, order, payment, pair]{
		LeftKey: orderKey, RightKey: paymentKey, Keys: keys(t), Lower: 0, Upper: 10, LeftOuter: true,
		Match: func(_ *order, b *payment, _, _ int64, _ *basic.Outlet[pair]) error {
			if b == nil {
				return fmt.Errorf("nobody pays")
			}
			panic("broken till")
		},
	})
	h := opened(t, op, 0)
	feedLeft(t, h, left("a", 17, 100))
	err := optest.Feed(h, 1, hashBy(keys(t), paymentKey), right("a", 23, 105))
	for _, want := range []string{"op (1/1)", "broken till", "ID:17", "ID:23", "event time 105"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	feedLeft(t, h, left("b", 18, 100))
	err = h.Watermark(110)
	for _, want := range []string{"op (1/1)", "nobody pays", "ID:18"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	must(t, h.Op.Close())
	must(t, h.Op.Close())
}

func TestIntervalRefusesRowsWithoutTime(t *testing.T) {
	h := opened(t, intervalOp(t, 0, 1, kind{}), 0)
	err := optest.Feed(h, 0, hashBy(keys(t), orderKey), left("a", 1, event.NoTime))
	if err == nil || !strings.Contains(err.Error(), "weir.EventTime") {
		t.Fatalf("got %v", err)
	}
}
