package joinop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

// trial plays the steps of a random run, and moves the clock by 3 ms at each watermark.
func trial(t testing.TB, op func() operator.Operator, batch int, steps []step, output func(h *optest.Harness) []string) *optest.Trial {
	tr := &optest.Trial{Output: output, Make: func() *optest.Harness {
		h := optest.New(op())
		h.BatchRows = batch
		return h
	}}
	kc := keys(t)
	now := int64(0)
	for _, s := range steps {
		if s.input == 2 {
			now += 3
		}
		clock := now
		tr.Steps = append(tr.Steps, func(f *optest.Fleet) error {
			switch s.input {
			case 0:
				return optest.FeedAll(f, 0, hashBy(kc, orderKey), left(s.row.key, s.row.id, s.row.t))
			case 1:
				p := right(s.row.key, s.row.id, s.row.t)
				p.Value.Note = fmt.Sprintf("payment %d of %s", p.Value.ID, p.Value.Key)
				return optest.FeedAll(f, 1, hashBy(kc, paymentKey), p)
			}
			if err := f.Advance(clock); err != nil {
				return err
			}
			return f.Watermark(s.row.t)
		})
	}
	tr.Steps = append(tr.Steps, func(f *optest.Fleet) error { return f.End(2) })
	return tr
}

func lateLines(h *optest.Harness) (out []string) {
	for _, r := range optest.TakeSide[order](h, "late left") {
		out = append(out, fmt.Sprint("late ", r))
	}
	for _, r := range optest.TakeSide[payment](h, "late right") {
		out = append(out, fmt.Sprint("late ", r))
	}
	return out
}

// The law: pairs, padded rows and late rows are the same when the join crashes and goes on at another parallelism. What they
// are is said by TestIntervalEqualsNestedLoop.
func TestIntervalSurvives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lower := rapid.Int64Range(-20, 20).Draw(rt, "lower")
		upper := lower + rapid.Int64Range(0, 30).Draw(rt, "width")
		k := rapid.SampledFrom(kinds).Draw(rt, "kind")
		tr := trial(t, func() operator.Operator { return intervalOp(t, lower, upper, k) }, rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "batch"),
			drawSteps(rt), func(h *optest.Harness) []string { return append(optest.Lines[pair](h), lateLines(h)...) })
		if err := tr.Survives(optest.DrawCrashes(rt, len(tr.Steps))); err != nil {
			rt.Fatalf("%v [%d, %d]: %v", k, lower, upper, err)
		}
	})
}

// Rows of one key and time are told apart by their number, which must not begin again: subtask 0 has kept one row, subtask 1
// none, and the key's next row comes to the one that has its state.
func TestIntervalNumbersGoOn(t *testing.T) {
	f, err := optest.NewFleet(1, func() *optest.Harness { return optest.New(intervalOp(t, 0, 10, kind{})) })
	must(t, err)
	feedLeft(t, f.Subtasks[0], left("a", 1, 100))
	s, err := f.Snapshot()
	must(t, err)
	must(t, f.Crash(s, 1))
	feedLeft(t, f.Subtasks[0], left("a", 2, 100))
	feedRight(t, f.Subtasks[0], right("a", 3, 105))
	expect(t, f.Subtasks[0], pair{1, 3, 105}, pair{2, 3, 105})
}

func TestWindowJoinSurvives(t *testing.T) {
	const ms = time.Millisecond
	rapid.Check(t, func(rt *rapid.T) {
		size := time.Duration(rapid.Int64Range(1, 12).Draw(rt, "size")) * ms
		spec := rapid.SampledFrom([]window.Spec{window.Tumbling(size), window.Sliding(size, max(ms, size/3)), window.Session(size), window.Global()}).Draw(rt, "windows")
		merging := spec.Kind() == window.KindSession
		if spec.Kind() == window.KindGlobal || rapid.Bool().Draw(rt, "trigger") {
			triggers := []window.Trigger{window.OnCount(3), window.Purging(window.OnCount(2)), window.OnEventTime().Early(window.OnCount(2)),
				window.EveryProcessingTime(5 * ms), window.EveryEventTime(4 * ms)}
			if spec.Kind() == window.KindGlobal {
				triggers = triggers[:2] // the others go on for ever in a window that never ends
			}
			spec = spec.Trigger(rapid.SampledFrom(triggers).Draw(rt, "which"))
		}
		switch {
		case rapid.IntRange(0, 3).Draw(rt, "clock") == 0:
			spec = spec.ProcessingTime()
		case spec.Kind() != window.KindGlobal:
			spec = spec.AllowedLateness(time.Duration(rapid.Int64Range(0, 12).Draw(rt, "lateness")) * ms)
		}
		if _, err := window.Bind[order](spec); err != nil {
			rt.Skip(err)
		}
		tr := trial(t, func() operator.Operator { return coGroupOp(t, spec) }, 0, drawSteps(rt), func(h *optest.Harness) []string {
			var out []string
			for _, r := range optest.Take[group](h) {
				g := r.Value
				if merging { // the order within merged sessions is unspecified
					g.Left, g.Right = inOrder(g.Left), inOrder(g.Right)
				}
				out = append(out, fmt.Sprint(g, r.Time))
			}
			return append(out, lateLines(h)...)
		})
		if err := tr.Survives(optest.DrawCrashes(rt, len(tr.Steps))); err != nil {
			rt.Fatalf("%v: %v", spec, err)
		}
	})
}

func inOrder(s string) string {
	f := strings.Fields(s)
	slices.Sort(f)
	return strings.Join(f, " ")
}
