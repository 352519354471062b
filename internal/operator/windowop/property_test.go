package windowop

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

// The operators of the property tests, over bids.
func bidOps(t testing.TB, spec window.Spec) map[string]func() operator.Operator {
	t.Helper()
	b, err := window.Bind[bid](spec)
	if err != nil {
		t.Fatal(err)
	}
	kc, err := codec.KeyFor[string]()
	if err != nil {
		t.Fatal(err)
	}
	key := func(v bid) string { return v.Key }
	makeOut := func(k string, w window.Window, n int64) out { return out{k, w.Start, w.End, n} }
	cfg := Config[string, bid, int64, int64, out]{Window: b, Key: key, Keys: kc, LateSide: "late", Make: makeOut, Aggregate: Aggregate[bid, int64, int64]{
		Add:    func(a *int64, v bid) { *a += v.N },
		Merge:  func(a, from *int64) { *a += *from },
		Result: func(a *int64) int64 { return *a },
	}}
	type noted struct {
		Sum  int64
		Note string
	}
	encoded := Config[string, bid, noted, int64, out]{Window: b, Key: key, Keys: kc, LateSide: "late", Make: makeOut, Aggregate: Aggregate[bid, noted, int64]{
		Add:    func(a *noted, v bid) { a.Sum += v.N; a.Note = v.Key },
		Merge:  func(a, from *noted) { a.Sum += from.Sum; a.Note = from.Note },
		Result: func(a *noted) int64 { return a.Sum },
	}}
	general := func(f Function[string, bid, out]) func() operator.Operator {
		return func() operator.Operator {
			return NewGeneral(GeneralConfig[string, bid, out]{Window: b, Key: key, Keys: kc, Function: f, LateSide: "late"})
		}
	}
	return map[string]func() operator.Operator{
		"chosen":          func() operator.Operator { return New(cfg) },
		"chosen, encoded": func() operator.Operator { return New(encoded) },
		"incremental":     general(cfg.Incremental()),
		"encoded":         general(encoded.Incremental()),
		"whole": general(Whole(func(c *Call[string], to *basic.Outlet[out]) Hooks[iter.Seq[bid]] {
			return Hooks[iter.Seq[bid]]{Fire: func(rows iter.Seq[bid]) error {
				sum := int64(0)
				for v := range rows {
					sum += v.N
				}
				to.Emit(makeOut(c.Key, c.Window, sum))
				return nil
			}}
		})),
	}
}

// step is one thing that happens to an operator.
type step struct {
	rows []optest.Row[bid]
	d    window.Domain
	to   int64 // if there are no rows
}

func drawSteps(rt *rapid.T, domain window.Domain) (steps []step) {
	wm, now := int64(-30), int64(0)
	for range rapid.IntRange(1, 30).Draw(rt, "steps") {
		switch rapid.IntRange(0, 5).Draw(rt, "what") {
		case 0:
			if domain == window.EventTime {
				wm += rapid.Int64Range(1, 12).Draw(rt, "watermark")
				steps = append(steps, step{d: window.EventTime, to: wm})
			}
		case 1:
			now += rapid.Int64Range(1, 12).Draw(rt, "clock")
			steps = append(steps, step{d: window.ProcessingTime, to: now})
		default:
			var s step
			for range rapid.IntRange(1, 4).Draw(rt, "rows") {
				s.rows = append(s.rows, at(rapid.SampledFrom([]string{"a", "b", "c\x00d", ""}).Draw(rt, "key"),
					rapid.Int64Range(1, 9).Draw(rt, "n"), wm+rapid.Int64Range(-15, 30).Draw(rt, "ahead")))
			}
			steps = append(steps, s)
		}
	}
	return steps
}

// run plays the steps and the end of the input. The results come in their order, behind them the late rows.
func run(t testing.TB, op operator.Operator, batch int, steps []step, keep func(key string) bool) (results, late []string) {
	t.Helper()
	h := opened(t, op, batch)
	for _, s := range steps {
		switch {
		case len(s.rows) > 0:
			var rows []optest.Row[bid]
			for _, r := range s.rows {
				if keep(r.Value.Key) {
					rows = append(rows, r)
				}
			}
			must(t, optest.Feed(h, 0, hashBids, rows...))
		case s.d == window.EventTime:
			must(t, h.Watermark(s.to))
		default:
			must(t, h.Advance(s.to))
		}
		results = append(results, lines(optest.Take[out](h))...)
	}
	must(t, h.Watermark(event.MaxTime))
	if f, ok := h.Op.(operator.Finisher); ok {
		must(t, f.Finish())
	}
	results = append(results, lines(optest.Take[out](h))...)
	for _, v := range optest.TakeSide[bid](h, "late") {
		late = append(late, fmt.Sprint(v))
	}
	slices.Sort(late) // their order within a batch is free
	nothingLeft(t, h.Op)
	must(t, h.Op.Close())
	return results, late
}

// lines sorts what one step gave: the order among keys is free.
func lines(rows []optest.Row[out]) []string {
	slices.SortStableFunc(rows, func(a, b optest.Row[out]) int {
		return cmp.Or(cmp.Compare(a.Value.Key, b.Value.Key), cmp.Compare(a.Time, b.Time))
	})
	var text []string
	for _, r := range rows {
		text = append(text, fmt.Sprintf("%v@%d", r.Value, r.Time))
	}
	return text
}

// leftover is implemented by the operators for the tests.
type leftover interface{ left() string }

func (o *general[K, T, U]) left() string {
	rows := 0
	for _, d := range o.backend.Descriptors() {
		switch d.Name {
		case "windows/sessions":
			rows += o.sessions.Len()
		case "windows/trigger":
			rows += o.trig.states.Len()
		case "windows/element":
			rows += o.trig.elements.Len()
		}
	}
	switch c := any(o.content).(type) {
	case interface{ size() int }:
		rows += c.size()
	}
	if o.bound.Grid == nil && !o.bound.Merging() {
		rows = 0 // a global window may stay
	}
	if n := o.timers[0].Len() + o.timers[1].Len() + rows; n > 0 {
		return fmt.Sprintf("%d entries of state, %d and %d timers", rows, o.timers[0].Len(), o.timers[1].Len())
	}
	return ""
}

func (s *accumulated[K, T, A, R, U]) size() int { return s.state.Len() }
func (s *kept[K, T, U]) size() int              { return s.list.Len() }

func (o *sessions[K, T, A, R, U]) left() string {
	if n := o.cells.Len() + o.rest.Len() + o.timers.Len(); n > 0 {
		return fmt.Sprintf("%d cells, %d rests, %d timers", o.cells.Len(), o.rest.Len(), o.timers.Len())
	}
	return ""
}

func nothingLeft(t testing.TB, op operator.Operator) {
	t.Helper()
	if l, ok := op.(leftover); ok && l.left() != "" {
		t.Errorf("left behind: %s", l.left())
	}
}

func allKeys(string) bool { return true }

// drawSpec draws windows; sessions only with triggers that merge.
func drawSpec(rt *rapid.T) window.Spec {
	d := func(name string, lo, hi int64) time.Duration { return ms(rapid.Int64Range(lo, hi).Draw(rt, name)) }
	var spec window.Spec
	kind := rapid.IntRange(0, 3).Draw(rt, "kind")
	switch kind {
	case 0:
		spec = window.Tumbling(d("size", 1, 15))
	case 1:
		spec = window.Sliding(d("size", 1, 15), d("slide", 1, 15))
	case 2:
		spec = window.Session(d("gap", 1, 12))
	case 3:
		spec = window.SessionDynamic(func(v bid) time.Duration { return ms(v.N) })
	}
	if rapid.IntRange(0, 3).Draw(rt, "domain") == 0 {
		return spec.ProcessingTime()
	}
	return spec.AllowedLateness(max(0, d("lateness", -10, 10)))
}

func drawTrigger(rt *rapid.T, merging bool, depth int) window.Trigger {
	n := rapid.IntRange(1, 4).Draw(rt, "n")
	every := ms(rapid.Int64Range(1, 9).Draw(rt, "every"))
	last := 6
	if merging {
		last = 5
	}
	if depth > 1 {
		last = 3
	}
	switch rapid.IntRange(0, last).Draw(rt, "trigger") {
	case 0:
		return window.OnCount(n)
	case 1:
		return window.EveryEventTime(every)
	case 2:
		return window.EveryProcessingTime(every)
	case 3:
		return window.OnEventTime()
	case 4:
		return window.Purging(drawTrigger(rt, merging, depth+1))
	case 5:
		return window.OnEventTime().Early(drawTrigger(rt, merging, depth+1)).Late(drawTrigger(rt, merging, depth+1))
	}
	return window.Timeout(drawTrigger(rt, merging, depth+1), every)
}

// The law: whichever operator serves the windows, in whatever batches, the results and the late rows are the same, step by
// step; and nothing is left when the input has ended.
func TestOperatorsAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt)
		plain := rapid.Bool().Draw(rt, "plain")
		if !plain {
			spec = spec.Trigger(drawTrigger(rt, spec.Kind() == window.KindSession, 0))
		}
		steps := drawSteps(rt, spec.Domain())
		var want, wantLate []string
		first := ""
		names := []string{"incremental", "encoded", "whole", "chosen", "chosen, encoded"}
		if plain {
			names = append(names, "asked incremental", "asked whole")
		}
		for _, name := range names {
			for _, batch := range []int{1, 2, 0} {
				used := spec
				asked, ok := strings.CutPrefix(name, "asked ")
				if ok {
					used = spec.Trigger(window.Custom[bid]("default", defaultTrigger{spec.Domain()}))
				}
				got, late := run(t, bidOps(t, used)[asked](), batch, steps, allKeys)
				if first == "" {
					want, wantLate, first = got, late, name
				}
				if !slices.Equal(got, want) || !slices.Equal(late, wantLate) {
					rt.Fatalf("%s: %s, batches of %d, gives\n%q late %q, %s\n%q late %q", spec, name, batch, got, late, first, want, wantLate)
				}
			}
		}
	})
}

// defaultTrigger is the plain trigger, written anew as one of the user's own.
type defaultTrigger struct{ domain window.Domain }

func (d defaultTrigger) OnElement(_ bid, _ int64, w window.Window, ctx window.Context[bid]) window.Result {
	if d.domain == window.EventTime && ctx.Watermark() >= w.MaxTimestamp() {
		return window.Fire
	}
	ctx.SetTimer(d.domain, w.MaxTimestamp())
	return window.Continue
}

func (d defaultTrigger) OnEventTime(t int64, w window.Window, _ window.Context[bid]) window.Result {
	if d.domain == window.EventTime && t == w.MaxTimestamp() {
		return window.Fire
	}
	return window.Continue
}

func (d defaultTrigger) OnProcessingTime(t int64, w window.Window, _ window.Context[bid]) window.Result {
	if d.domain == window.ProcessingTime && t == w.MaxTimestamp() {
		return window.Fire
	}
	return window.Continue
}

// OnMerge leaves an end that has come to the row that merges: it fires by itself.
func (d defaultTrigger) OnMerge(w window.Window, _ []*window.State, ctx window.Context[bid]) {
	now := ctx.Watermark()
	if d.domain == window.ProcessingTime {
		now = ctx.ProcessingTime()
	}
	if w.MaxTimestamp() > now {
		ctx.SetTimer(d.domain, w.MaxTimestamp())
	}
}

func (d defaultTrigger) Clear(w window.Window, ctx window.Context[bid]) {
	ctx.DeleteTimer(d.domain, w.MaxTimestamp())
}

// The law: count windows are runs of a key's rows.
func TestCountWindowsAgreeWithTheObviousModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size, slide := rapid.IntRange(1, 5).Draw(rt, "size"), rapid.IntRange(1, 6).Draw(rt, "slide")
		tumbling := rapid.Bool().Draw(rt, "tumbling")
		spec := window.CountSliding(size, slide)
		if tumbling {
			spec = window.Count(size)
			slide = size
		}
		steps := drawSteps(rt, window.EventTime)
		seen, want := map[string][]int64{}, []string(nil)
		for _, s := range steps {
			for _, r := range s.rows {
				k := r.Value.Key
				seen[k] = append(seen[k], r.Value.N)
				if n := len(seen[k]); n%slide == 0 {
					sum := int64(0)
					for _, v := range seen[k][max(0, n-size):] {
						sum += v
					}
					want = append(want, fmt.Sprint(k, " ", sum))
				}
			}
		}
		slices.Sort(want)
		for name, op := range bidOps(t, spec) {
			h := opened(t, op(), rapid.SampledFrom([]int{1, 2, 0}).Draw(rt, "batch"))
			for _, s := range steps {
				switch {
				case len(s.rows) > 0:
					must(t, optest.Feed(h, 0, hashBids, s.rows...))
				case s.d == window.EventTime:
					must(t, h.Watermark(s.to))
				}
			}
			must(t, h.End(1))
			var got []string
			for _, o := range optest.Values(optest.Take[out](h)) {
				got = append(got, fmt.Sprint(o.Key, " ", o.N))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				rt.Fatalf("%s, %s: got %q, want %q", spec, name, got, want)
			}
		}
	})
}

// The law: a key's results do not depend on other keys.
func TestKeysDoNotMeet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt).Trigger(drawTrigger(rt, false, 2))
		steps := drawSteps(rt, spec.Domain())
		all, _ := run(t, bidOps(t, spec)["whole"](), 0, steps, allKeys)
		var apart []string
		for _, key := range []string{"a", "b", "c\x00d", ""} {
			got, _ := run(t, bidOps(t, spec)["whole"](), 0, steps, func(k string) bool { return k == key })
			apart = append(apart, got...)
		}
		slices.Sort(all)
		slices.Sort(apart)
		if !slices.Equal(all, apart) {
			rt.Fatalf("%s: together\n%q, apart\n%q", spec, all, apart)
		}
	})
}

// sessionModel keeps every row of every session.
type sessionModel struct {
	wm, lateness, late int64
	live               map[string][]*modelSession
	out                []out
}

type modelSession struct {
	start, end, sum int64
}

func (m *sessionModel) row(v bid, start, end int64) {
	own := &modelSession{start, end, v.N}
	var others []*modelSession
	for _, s := range m.live[v.Key] {
		if s.start <= end && start <= s.end {
			own.start, own.end, own.sum = min(own.start, s.start), max(own.end, s.end), own.sum+s.sum
		} else {
			others = append(others, s)
		}
	}
	if own.end-1+m.lateness <= m.wm {
		m.late++
		return
	}
	m.live[v.Key] = append(others, own)
	if own.end-1 <= m.wm {
		m.out = append(m.out, out{v.Key, own.start, own.end, own.sum})
	}
}

func (m *sessionModel) watermark(t int64) {
	for k, list := range m.live {
		var left []*modelSession
		for _, s := range list {
			if s.end-1 > m.wm && s.end-1 <= t {
				m.out = append(m.out, out{k, s.start, s.end, s.sum})
			}
			if s.end-1+m.lateness > t {
				left = append(left, s)
			}
		}
		m.live[k] = left
	}
	m.wm = t
}

// The law: sessions are what a list of rows by session gives.
func TestSessionsAgreeWithTheObviousModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		gap, lateness := rapid.Int64Range(1, 10).Draw(rt, "gap"), rapid.SampledFrom([]int64{0, 0, 7}).Draw(rt, "lateness")
		spec := window.Session(ms(gap))
		if gap == 10 {
			spec = window.SessionDynamic(func(v bid) time.Duration { return ms(v.N) })
		}
		op := bidOps(t, spec.AllowedLateness(ms(lateness)))[rapid.SampledFrom([]string{"chosen", "whole"}).Draw(rt, "op")]()
		h := opened(t, op, rapid.SampledFrom([]int{1, 2, 0}).Draw(rt, "batch"))
		model := &sessionModel{wm: event.NoTime, lateness: lateness, live: map[string][]*modelSession{}}
		for _, s := range append(drawSteps(rt, window.EventTime), step{d: window.EventTime, to: event.MaxTime}) {
			switch {
			case len(s.rows) > 0:
				must(t, optest.Feed(h, 0, hashBids, s.rows...))
				for _, r := range s.rows {
					own := gap
					if gap == 10 {
						own = r.Value.N
					}
					model.row(r.Value, r.Time, r.Time+own)
				}
			case s.d == window.EventTime:
				must(t, h.Watermark(s.to))
				model.watermark(s.to)
			}
			got, want := results(h), model.out
			model.out = nil
			slices.SortFunc(want, func(a, b out) int {
				return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Key, b.Key), cmp.Compare(a.N, b.N))
			})
			if !slices.Equal(got, want) {
				rt.Fatalf("got %v, want %v", got, want)
			}
		}
		if got := h.Context.Counts.Late.Load(); got != model.late {
			rt.Fatalf("late rows: %d, want %d", got, model.late)
		}
		must(t, h.Op.Close())
	})
}
