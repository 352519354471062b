package joinop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/window"
)

const ms = time.Millisecond

// group is the result of a coGroup: the window and the ids of both sides in order of arrival.
type group struct {
	Key         string
	Start, End  int64
	Left, Right string
}

func (g group) String() string {
	return fmt.Sprintf("%s[%d,%d) {%s|%s}", g.Key, g.Start, g.End, g.Left, g.Right)
}

func windowConfig(t testing.TB, spec window.Spec) WindowConfig[string, order, payment, group] {
	t.Helper()
	l, err := window.Bind[order](spec)
	must(t, err)
	r, err := window.Bind[payment](spec)
	must(t, err)
	if why := FitsWindow(l); why != "" {
		t.Fatal(why)
	}
	return WindowConfig[string, order, payment, group]{Left: l, Right: r, LeftKey: orderKey, RightKey: paymentKey, Keys: keys(t),
		LateLeft: "late left", LateRight: "late right",
		Apply: func(key string, w window.Window, left []order, right []payment, out *basic.Outlet[group]) error {
			g := group{Key: key, Start: w.Start, End: w.End}
			for _, a := range left {
				g.Left += fmt.Sprintf(" %d", a.ID)
			}
			for _, b := range right {
				ids(nil, &b)
				g.Right += fmt.Sprintf(" %d", b.ID)
			}
			out.Emit(g)
			return nil
		}}
}

func coGroupOp(t testing.TB, spec window.Spec) operator.Operator {
	return NewWindow(windowConfig(t, spec))
}

func groups(t testing.TB, h *optest.Harness) []group {
	t.Helper()
	rows := optest.Take[group](h)
	for _, r := range rows {
		if r.Value.End != window.GlobalWindow.End && r.Time != r.Value.End-1 {
			t.Errorf("%v has time %d", r.Value, r.Time)
		}
	}
	got := optest.Values(rows)
	slices.SortStableFunc(got, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Key, b.Key))
	})
	return got
}

func expectGroups(t testing.TB, h *optest.Harness, want ...group) {
	t.Helper()
	if got := groups(t, h); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestCoGroupTumbling(t *testing.T) {
	for _, batch := range []int{0, 1, 2} {
		h := opened(t, coGroupOp(t, window.Tumbling(10*ms)), batch)
		feedLeft(t, h, left("a", 1, 0), left("a", 2, 9), left("b", 3, 5), left("a", 4, 10))
		feedRight(t, h, right("a", 1, 3), right("c", 2, 4), right("a", 3, 1))
		must(t, h.Watermark(8))
		expectGroups(t, h)
		must(t, h.Watermark(9))
		expectGroups(t, h, group{"a", 0, 10, " 1 2", " 1 3"}, group{"b", 0, 10, " 3", ""}, group{"c", 0, 10, "", " 2"})
		feedRight(t, h, right("a", 9, 9), right("a", 4, 19))
		if got := optest.TakeSide[payment](h, "late right"); len(got) != 1 || got[0].Value.ID != 9 {
			t.Errorf("late: %v", got)
		}
		must(t, h.End(2))
		expectGroups(t, h, group{"a", 10, 20, " 4", " 4"})
	}
}

func TestCoGroupFiresAgainForLateRows(t *testing.T) {
	h := opened(t, coGroupOp(t, window.Tumbling(10*ms).AllowedLateness(5*ms)), 0)
	feedLeft(t, h, left("a", 1, 0))
	must(t, h.Watermark(12))
	expectGroups(t, h, group{"a", 0, 10, " 1", ""})
	feedRight(t, h, right("a", 2, 7))
	expectGroups(t, h, group{"a", 0, 10, " 1", " 2"})
	must(t, h.Watermark(14)) // 9 + 5: the window is over
	feedRight(t, h, right("a", 3, 7))
	if n := h.Context.Counts.Late.Load(); n != 1 {
		t.Errorf("%d late rows, want 1", n)
	}
	must(t, h.End(2))
	expectGroups(t, h)
}

func TestCoGroupSessionsMergeOverBothSides(t *testing.T) {
	h := opened(t, coGroupOp(t, window.Session(10*ms)), 0)
	feedLeft(t, h, left("a", 1, 0), left("a", 2, 18))
	feedRight(t, h, right("a", 3, 30))
	feedRight(t, h, right("a", 4, 9)) // bridges the first two
	must(t, h.Watermark(26))
	expectGroups(t, h)
	must(t, h.Watermark(27))
	expectGroups(t, h, group{"a", 0, 28, " 1 2", " 4"})
	must(t, h.End(2))
	expectGroups(t, h, group{"a", 30, 40, "", " 3"})
}

func TestCoGroupTriggers(t *testing.T) {
	h := opened(t, coGroupOp(t, window.Global().Trigger(window.Purging(window.OnCount(3)))), 0)
	feedLeft(t, h, left("a", 1, event.NoTime), left("a", 2, event.NoTime))
	expectGroups(t, h)
	feedRight(t, h, right("a", 3, event.NoTime), right("a", 4, event.NoTime))
	g := window.GlobalWindow
	expectGroups(t, h, group{"a", g.Start, g.End, " 1 2", " 3"})

	h = opened(t, coGroupOp(t, window.Global().Trigger(window.OnEventTime())), 0)
	feedLeft(t, h, left("a", 1, 5))
	feedRight(t, h, right("a", 2, 7))
	must(t, h.Watermark(1000))
	expectGroups(t, h)
	must(t, h.End(2)) // the global window ends with the input
	expectGroups(t, h, group{"a", g.Start, g.End, " 1", " 2"})

	h = opened(t, coGroupOp(t, window.Session(10*ms).Trigger(window.OnEventTime().Early(window.OnCount(2)))), 0)
	feedLeft(t, h, left("a", 1, 0))
	feedRight(t, h, right("a", 2, 20))
	expectGroups(t, h)
	feedLeft(t, h, left("a", 3, 10)) // merges two counts of one into three
	expectGroups(t, h, group{"a", 0, 30, " 1 3", " 2"})
	must(t, h.Watermark(29))
	expectGroups(t, h, group{"a", 0, 30, " 1 3", " 2"})
}

func TestCoGroupProcessingTime(t *testing.T) {
	h := opened(t, coGroupOp(t, window.Tumbling(10*ms).ProcessingTime()), 0)
	must(t, h.Advance(3))
	feedLeft(t, h, left("a", 1, 999))
	must(t, h.Advance(8))
	feedRight(t, h, right("a", 2, 0))
	expectGroups(t, h)
	must(t, h.Advance(9)) // the last millisecond of the window: rows may still come
	expectGroups(t, h)
	feedRight(t, h, right("a", 4, 0))
	must(t, h.Advance(10))
	expectGroups(t, h, group{"a", 0, 10, " 1", " 2 4"})
	must(t, h.Advance(25))
	feedRight(t, h, right("a", 3, 0))
	must(t, h.End(2)) // open windows fire at the end
	expectGroups(t, h, group{"a", 20, 30, "", " 3"})
}

func TestWindowStateEndsWithTheWindow(t *testing.T) {
	for _, spec := range []window.Spec{window.Tumbling(10 * ms), window.Sliding(10*ms, 5*ms), window.Session(4 * ms),
		window.Session(4 * ms).Trigger(window.OnEventTime().Early(window.OnCount(2))).AllowedLateness(3 * ms)} {
		op := coGroupOp(t, spec).(*windows[string, order, payment, group])
		h := opened(t, op, 0)
		for i := range int64(40) {
			feedLeft(t, h, left("a", i, 3*i))
			feedRight(t, h, right("b", i, 5*i), right("a", i, 7*i))
		}
		must(t, h.Watermark(event.MaxTime-1))
		left := op.left.list.Len() + op.right.list.Len() + op.timers[0].Len() + op.timers[1].Len()
		if op.triggers != nil {
			left += op.triggers.Len()
		}
		if op.sessions != nil {
			left += op.sessions.Len()
		}
		if left != 0 {
			op.timers[0].All(func(k statebackend.Key, ns []byte, at int64) bool {
				t.Log(string(k.Bytes), windowOf(ns), at)
				return true
			})
			t.Errorf("%v: %d entries are left", spec, left)
		}
	}
}

// modelWindow is one live window of the model with its content.
type modelWindow struct {
	key   string
	w     window.Window
	left  []int64
	right []int64
}

func (m *modelWindow) result() group {
	g := group{Key: m.key, Start: m.w.Start, End: m.w.End}
	for _, id := range m.left {
		g.Left += fmt.Sprintf(" %d", id)
	}
	for _, id := range m.right {
		g.Right += fmt.Sprintf(" %d", id)
	}
	return g
}

// model is the obvious coGroup: a list of windows, searched from the front.
type model struct {
	assign    func(ts int64) []window.Window
	merging   bool
	lateness  int64
	watermark int64
	live      []*modelWindow
	late      int
}

func (m *model) row(s step) (out []group) {
	taken := false
	for _, w := range m.assign(s.row.t) {
		into := &modelWindow{key: s.row.key, w: w}
		rest := m.live[:0:0]
		for _, have := range m.live {
			same := have.key == s.row.key && (have.w == w || m.merging && have.w.Intersects(into.w))
			if !same {
				rest = append(rest, have)
				continue
			}
			into.w = into.w.Cover(have.w)
			into.left, into.right = append(into.left, have.left...), append(into.right, have.right...)
		}
		if into.w.MaxTimestamp()+m.lateness <= m.watermark {
			continue
		}
		taken = true
		if s.input == 0 {
			into.left = append(into.left, s.row.id)
		} else {
			into.right = append(into.right, s.row.id)
		}
		m.live = append(rest, into)
		// Windows in order, so that a row that bridges two sees both.
		slices.SortFunc(m.live, func(a, b *modelWindow) int { return cmp.Compare(a.w.Start, b.w.Start) })
		if into.w.MaxTimestamp() <= m.watermark {
			out = append(out, into.result())
		}
	}
	if !taken {
		m.late++
	}
	return out
}

func (m *model) advance(t int64) (out []group) {
	before := m.watermark
	m.watermark = t
	rest := m.live[:0:0]
	for _, w := range m.live {
		if end := w.w.MaxTimestamp(); end > before && end <= t {
			out = append(out, w.result())
		}
		if w.w.MaxTimestamp()+m.lateness > t {
			rest = append(rest, w)
		}
	}
	m.live = rest
	return out
}

// byText sorts groups, and the ids of each, since the order within merged sessions is unspecified.
func byText(in []group) []string {
	out := make([]string, len(in))
	for i, g := range in {
		l, r := strings.Fields(g.Left), strings.Fields(g.Right)
		slices.Sort(l)
		slices.Sort(r)
		g.Left, g.Right = strings.Join(l, " "), strings.Join(r, " ")
		out[i] = g.String()
	}
	slices.Sort(out)
	return out
}

func TestCoGroupEqualsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lateness := rapid.Int64Range(0, 12).Draw(rt, "lateness")
		size := rapid.Int64Range(1, 12).Draw(rt, "size")
		m := &model{lateness: lateness, watermark: -1 << 40}
		var spec window.Spec
		switch kind := rapid.SampledFrom([]string{"tumbling", "sliding", "session"}).Draw(rt, "windows"); kind {
		case "session":
			spec, m.merging = window.Session(time.Duration(size)*ms), true
			m.assign = func(ts int64) []window.Window { return []window.Window{{Start: ts, End: ts + size}} }
		default:
			slide := size
			spec = window.Tumbling(time.Duration(size) * ms)
			if kind == "sliding" {
				slide = rapid.Int64Range(1, size).Draw(rt, "slide")
				spec = window.Sliding(time.Duration(size)*ms, time.Duration(slide)*ms)
			}
			m.assign = func(ts int64) (out []window.Window) {
				for start := int64(-200); start <= ts; start++ {
					if (start%slide+slide)%slide == 0 && ts < start+size {
						out = append(out, window.Window{Start: start, End: start + size})
					}
				}
				return out
			}
		}
		h := opened(t, coGroupOp(t, spec.AllowedLateness(time.Duration(lateness)*ms)), rapid.SampledFrom([]int{0, 1}).Draw(rt, "batch"))
		for i, s := range append(drawSteps(rt), step{input: 2, row: modelRow{t: event.MaxTime - 1000}}) {
			var want []group
			if s.input == 2 {
				want = m.advance(s.row.t)
			} else {
				want = m.row(s)
			}
			runStep(t, h, s)
			if got := groups(t, h); !slices.Equal(byText(got), byText(want)) {
				rt.Fatalf("step %d %+v, %v:\n got %v\nwant %v", i, s, spec, byText(got), byText(want))
			}
		}
		if n := h.Context.Counts.Late.Load(); n != int64(m.late) {
			rt.Fatalf("%d late rows, want %d", n, m.late)
		}
	})
}

func TestWindowFailureNamesTheWindow(t *testing.T) {
	cfg := windowConfig(t, window.Tumbling(10*ms))
	cfg.Apply = func(key string, _ window.Window, _ []order, _ []payment, _ *basic.Outlet[group]) error {
		if key == "a" {
			panic("broken till")
		}
		return errors.New("nobody pays")
	}
	for key, what := range map[string]string{"a": "broken till", "b": "nobody pays"} {
		h := opened(t, NewWindow(cfg), 0)
		feedLeft(t, h, left(key, 17, 5))
		err := h.Watermark(20)
		for _, want := range []string{"op (1/1)", what, "Key:" + key, "1970-01-01T00:00:00Z, 1970-01-01T00:00:00.01Z", "Left:1 Right:0"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v lacks %q", err, want)
			}
		}
		must(t, h.Op.Close())
		must(t, h.Op.Close())
	}
}

func TestWindowsThatCannotJoin(t *testing.T) {
	for _, spec := range []window.Spec{window.Count(3), window.Tumbling(ms).Evictor(window.KeepLast(1)),
		window.Global().Trigger(window.OnDelta(1, func(_, _ order) float64 { return 0 }))} {
		b, err := window.Bind[order](spec)
		must(t, err)
		if FitsWindow(b) == "" {
			t.Errorf("%v is accepted", spec)
		}
	}
}
