package watermark

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

func list(ids []SplitID) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Trim(fmt.Sprint(ids), "[]")
}

func TestSplitsTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/splits", func(t *testing.T, path string) {
		var s *Splits
		var now int64
		var pause, resume []SplitID
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			id := func() SplitID { return SplitID(argInt(t, d, "split")) }
			if d.HasArg("now") {
				now = argTime(t, d, "now")
			}
			switch d.Cmd {
			case "new":
				bound := argInt(t, d, "bound")
				strategy := Strategy{New: func() Generator { return &Bounded{Bound: int64(bound)} }}
				d.MaybeScanArgs(t, "idle", &strategy.IdleAfter)
				d.MaybeScanArgs(t, "ahead", &strategy.AheadMax)
				s = NewSplits(strategy, argTime(t, d, "from"))
				return "ok\n"
			case "add":
				return fmt.Sprintf("split=%d\n", s.Add(now))
			case "remove":
				s.Remove(id())
			case "expect":
				var more bool
				d.ScanArgs(t, "more", &more)
				s.Expect(more)
			case "rows":
				var times []int64
				for _, arg := range strings.Fields(d.Input) {
					var at int64
					if _, err := fmt.Sscan(arg, &at); err != nil {
						d.Fatalf(t, "%v", err)
					}
					times = append(times, at)
				}
				s.Observe(id(), times, now)
			case "caught-up":
				s.CaughtUp(id())
			case "block":
				s.Block(true, now)
			case "unblock":
				s.Block(false, now)
			case "tick":
			case "deadline":
				if at, ok := s.NextDeadline(); ok {
					return fmt.Sprintf("%d\n", at)
				}
				return "never\n"
			case "align":
				pause, resume = s.Align(argTime(t, d, "bound"), now, pause, resume)
				return fmt.Sprintf("pause %s, resume %s\n", list(pause), list(resume))
			case "slowest":
				at, ok := s.Slowest()
				if !ok {
					return "nobody\n"
				}
				return show(at) + "\n"
			case "ahead":
				return fmt.Sprintf("%d\n", s.Ahead())
			case "end":
				return s.End().text() + "\n"
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return s.Tick(now).text() + "\n"
		})
	})
}

func TestBounded(t *testing.T) {
	for _, c := range []struct {
		name  string
		bound int64
		times [][]int64
		want  int64
	}{
		{"nothing seen", 5, nil, None},
		{"highest - bound - 1", 5, [][]int64{{10, 100, 50}}, 94},
		{"times that never fall: the row's own time is not excluded yet", 0, [][]int64{{100}}, 99},
		{"an older batch changes nothing", 5, [][]int64{{100}, {20}}, 94},
		{"rows without a time do not count", 5, [][]int64{{None, None}}, None},
		{"before 1970", 5, [][]int64{{-100}}, -106},
		{"no wrapping around at the beginning of time", 5, [][]int64{{None + 3}}, None},
	} {
		g := &Bounded{Bound: c.bound}
		for _, times := range c.times {
			g.Observe(times)
		}
		if got := g.Watermark(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, show(got), show(c.want))
		}
	}
	var silent Silent
	silent.Observe([]int64{5})
	if silent.Watermark() != None {
		t.Error("Silent speaks")
	}
}

// Law: no row that a split gives within its bound is late, as long as no split is idle or comes later: its time is above
// every watermark that was sent before it.
func TestNoRowIsLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.Int64Range(0, 20).Draw(t, "bound")
		s := NewSplits(Strategy{New: func() Generator { return &Bounded{Bound: bound} }}, None)
		base := make([]int64, rapid.IntRange(1, 4).Draw(t, "splits"))
		for range base {
			s.Add(0)
		}
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			i := rapid.IntRange(0, len(base)-1).Draw(t, "split")
			// base is the split's highest time so far; a row may lie behind it by the bound.
			base[i] += rapid.Int64Range(0, 30).Draw(t, "step")
			at := base[i] - rapid.Int64Range(0, bound).Draw(t, "behind")
			if at <= s.Current() {
				t.Fatalf("row %d is late: the watermark is %d", at, s.Current())
			}
			s.Observe(SplitID(i), []int64{at, base[i]}, 0)
			s.Tick(0)
		}
	})
}

// Laws of alignment: somebody may always read; and no split that may read is above the bound, nor any paused one below it.
func TestAlignmentNeverStopsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drift := rapid.Int64Range(0, 20).Draw(t, "drift")
		readers := make([]*Splits, rapid.IntRange(1, 3).Draw(t, "readers"))
		for r := range readers {
			readers[r] = NewSplits(Strategy{New: func() Generator { return &Bounded{} }, IdleAfter: 100}, None)
			for range rapid.IntRange(0, 3).Draw(t, "splits") {
				readers[r].Add(0)
			}
		}
		for now := int64(1); now < 40; now++ {
			canRead, present := 0, 0
			// The slowest reader's watermark plus the drift; Final if nobody has a say, None while somebody has no watermark.
			bound := Final
			for _, s := range readers {
				if at, ok := s.Slowest(); ok {
					bound = min(bound, at)
				}
			}
			if bound != None && bound != Final {
				bound += drift
			}
			for _, s := range readers {
				s.Align(bound, now, nil, nil)
				for i := range s.Len() {
					id := SplitID(i)
					watermark, idle, paused := s.Split(id)
					if paused != (watermark > bound) {
						t.Fatalf("split at %s paused %v, bound %s", show(watermark), paused, show(bound))
					}
					if !idle {
						present++
					}
					if !paused {
						canRead++
						if rapid.Bool().Draw(t, "reads") {
							s.Observe(id, []int64{max(0, watermark) + rapid.Int64Range(0, 30).Draw(t, "step")}, now)
						}
					}
				}
			}
			if present > 0 && canRead == 0 {
				t.Fatal("nobody may read")
			}
			for _, s := range readers {
				s.Tick(now)
			}
		}
	})
}
