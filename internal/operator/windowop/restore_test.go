package windowop

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

func bidLines(h *optest.Harness) []string {
	rows := optest.Lines[out](h)
	for _, r := range optest.TakeSide[bid](h, "late") {
		rows = append(rows, fmt.Sprintf("late: %v@%d", r.Value, r.Time))
	}
	return rows
}

func trial(op func() operator.Operator, batch int, steps []step) *optest.Trial {
	t := &optest.Trial{Output: bidLines, Make: func() *optest.Harness {
		h := optest.New(op())
		h.BatchRows = batch
		return h
	}}
	for _, s := range steps {
		t.Steps = append(t.Steps, func(f *optest.Fleet) error {
			switch {
			case len(s.rows) > 0:
				return optest.FeedAll(f, 0, hashBids, s.rows...)
			case s.d == window.EventTime:
				return f.Watermark(s.to)
			}
			return f.Advance(s.to)
		})
	}
	t.Steps = append(t.Steps, func(f *optest.Fleet) error { return f.End(1) })
	return t
}

// The law: results and late rows are the same when the operator crashes and goes on at another parallelism (P25, P26), whatever
// operator serves the windows. What they are is said by TestOperatorsAgree and the models.
func TestWindowsSurvive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt)
		if rapid.IntRange(0, 4).Draw(rt, "count windows") == 0 {
			size := rapid.IntRange(1, 5).Draw(rt, "rows")
			if spec = window.Count(size); rapid.Bool().Draw(rt, "sliding") {
				spec = window.CountSliding(size, rapid.IntRange(1, 6).Draw(rt, "every"))
			}
		} else if rapid.Bool().Draw(rt, "trigger") {
			spec = spec.Trigger(drawTrigger(rt, spec.Kind() == window.KindSession, 0))
		}
		steps := drawSteps(rt, spec.Domain())
		name := rapid.SampledFrom([]string{"incremental", "encoded", "whole", "chosen", "chosen, encoded"}).Draw(rt, "operator")
		tr := trial(bidOps(t, spec)[name], rapid.SampledFrom([]int{1, 2, 0}).Draw(rt, "batch"), steps)
		if err := tr.Survives(optest.DrawCrashes(rt, len(tr.Steps))); err != nil {
			rt.Fatalf("%s, %s: %v", spec, name, err)
		}
	})
}

// Plain windows by an aggregate have operators of their own, which the law above meets too seldom.
func TestPanesAndSessionsSurvive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSpec(rt)
		steps := drawSteps(rt, spec.Domain())
		name := rapid.SampledFrom([]string{"chosen", "chosen, encoded"}).Draw(rt, "operator")
		tr := trial(bidOps(t, spec)[name], rapid.SampledFrom([]int{1, 2, 0}).Draw(rt, "batch"), steps)
		if err := tr.Survives(optest.DrawCrashes(rt, len(tr.Steps))); err != nil {
			rt.Fatalf("%s, %s: %v", spec, name, err)
		}
	})
}

// Subtasks need not be at the same time when they are cut: an unaligned barrier overtakes a watermark, and the clock rings in
// one before it does in the other. No window fires twice for a key, and none is missed; keys of a subtask that was ahead
// keep their late rows.
func TestSubtasksAtDifferentTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := rapid.Custom(drawSpec).Filter(func(s window.Spec) bool { return s.Kind() != window.KindSession }).Draw(rt, "spec")
		domain := spec.Domain()
		steps := drawSteps(rt, domain)
		to := int64(-30)
		for _, s := range steps {
			if s.rows == nil && s.d == domain {
				to = s.to
			}
		}
		to = max(to, 0) + rapid.Int64Range(1, 25).Draw(rt, "ahead")
		op := bidOps(t, spec)[rapid.SampledFrom([]string{"chosen", "chosen, encoded"}).Draw(rt, "operator")]
		then := rapid.IntRange(0, 4).Draw(rt, "parallelism") // 0: no crash
		want := apart(t, op, domain, steps, to, 0)
		got := apart(t, op, domain, steps, to, then)
		for line := range want {
			if got[line] != want[line] {
				rt.Fatalf("%s, at %d: %q comes %d times, want %d", spec, to, line, got[line], want[line])
			}
		}
		if len(got) != len(want) {
			rt.Fatalf("%s, at %d: %v, want %v", spec, to, got, want)
		}
	})
}

// apart plays the steps with two subtasks, moves the second one alone to a time, restores both at another parallelism unless
// that is 0, and counts what comes out by then and later.
func apart(t *testing.T, op func() operator.Operator, domain window.Domain, steps []step, to int64, parallelism int) map[string]int {
	advance := func(h *optest.Harness, to int64) error {
		if domain == window.EventTime {
			return h.Watermark(to)
		}
		return h.Advance(to)
	}
	tr := trial(op, 0, steps)
	f, err := optest.NewFleet(2, tr.Make)
	must(t, err)
	for _, s := range tr.Steps[:len(steps)] {
		must(t, s(f))
	}
	must(t, advance(f.Subtasks[1], to))
	n := map[string]int{}
	take := func() {
		for _, h := range f.Subtasks {
			for _, l := range bidLines(h) {
				n[l]++
			}
		}
	}
	take()
	if parallelism > 0 {
		s, err := f.Snapshot()
		must(t, err)
		must(t, f.Crash(s, parallelism))
	}
	if domain == window.ProcessingTime {
		must(t, f.Advance(to)) // the clock is the same everywhere in the end
	}
	var rows []optest.Row[bid]
	for i := range int64(12) {
		rows = append(rows, at([]string{"a", "b", "c\x00d", ""}[i%4], 100+i, to-i*3))
	}
	must(t, optest.FeedAll(f, 0, hashBids, rows...))
	for _, h := range f.Subtasks {
		must(t, advance(h, to+1))
	}
	must(t, f.End(1))
	take()
	return n
}
