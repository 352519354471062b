package weir_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/window"
)

// reading is a row of a sensor: a value N at a second of 2024-03-01T10:00.
type reading struct {
	Sensor string
	Second int
	N      int
}

func (r reading) at() time.Time { return time.Date(2024, 3, 1, 10, 0, r.Second, 0, time.UTC) }

func readings() list[reading] {
	return list[reading]{[]reading{
		{"a", 0, 1}, {"b", 1, 2}, {"a", 4, 4}, {"b", 12, 8}, {"a", 10, 16}, {"a", 11, 32}, {"b", 30, 64}, {"a", 31, 128},
	}}
}

// eachWay runs a job at several parallelisms and batch sizes, and compares the sorted rows of the stream that build makes,
// as text.
func eachWay[T any](t *testing.T, build func(in weir.Stream[reading]) weir.Stream[T], show func(T) string, want ...string) {
	t.Helper()
	for _, parallelism := range []int{1, 2, 3} {
		for _, batch := range []string{"1", "2", "0"} {
			env := weir.NewEnv("windows").Parallelism(parallelism).Set("execution.batch-size", batch)
			in := weir.From(env, "readings", readings(), weir.EventTime(reading.at, weir.OutOfOrder(5*time.Second)))
			var got []string
			for v, err := range build(in).CollectErr(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, show(v))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("parallelism %d, batches of %s:\n got %q\nwant %q", parallelism, batch, got, want)
			}
		}
	}
}

func bySensor(r reading) string { return r.Sensor }

func showSum[K any](w weir.Windowed[K, int]) string {
	if w.Window.IsGlobal() {
		return fmt.Sprintf("%v %d", w.Key, w.Value)
	}
	return fmt.Sprintf("%v %d-%d %d", w.Key, w.Start().Second(), w.End().Second(), w.Value)
}

func values() weir.Aggregation[reading, int, int] {
	return weir.Sum(func(r reading) int { return r.N })
}

func TestSessionWindowsEndToEnd(t *testing.T) {
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[weir.Windowed[string, int]] {
		return in.KeyBy(bySensor).Window("sessions", window.Session(6*time.Second)).Aggregate(values())
	}, showSum[string],
		"a 0-17 53", // 0, 4, 10 (exactly one gap behind 4) and 11
		"a 31-37 128", "b 1-7 2", "b 12-18 8", "b 30-36 64")
}

func TestDynamicSessionsEndToEnd(t *testing.T) {
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[weir.Windowed[string, int]] {
		gap := func(r reading) time.Duration { return time.Duration(r.N) * time.Second }
		return in.KeyBy(bySensor).Window("sessions", window.SessionDynamic(gap)).Aggregate(values())
	}, func(w weir.Windowed[string, int]) string {
		return fmt.Sprintf("%v %d-%s %d", w.Key, w.Start().Second(), w.End().Format("04:05"), w.Value)
	},
		"a 0-00:01 1", "a 10-02:39 176", "a 4-00:08 4", "b 1-00:03 2", "b 12-00:20 8", "b 30-01:34 64")
}

func TestCountWindowsEndToEnd(t *testing.T) {
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[weir.Windowed[string, int]] {
		return in.KeyBy(bySensor).Window("twos", window.Count(2)).Aggregate(values())
	}, showSum[string], "a 48", "a 5", "b 10") // the fifth of a and the third of b are left over
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[weir.Windowed[string, int]] {
		return in.KeyBy(bySensor).Window("last-three", window.CountSliding(3, 2)).Aggregate(values())
	}, showSum[string], "a 5", "a 52", "b 10") // 1+4, 4+16+32; 2+8
}

func TestReduceGlobalWindowAll(t *testing.T) {
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[reading] {
		return in.WindowAll("last", window.Global().Trigger(window.OnEventTime())).Reduce(func(a, b reading) reading {
			a.N += b.N
			a.Sensor, a.Second = "all", max(a.Second, b.Second)
			return a
		})
	}, func(r reading) string { return fmt.Sprint(r) }, "{all 31 255}")
}

func TestEvictorThatLeavesNothing(t *testing.T) {
	none := window.Tumbling(time.Minute).Evictor(window.KeepLast(0))
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[weir.Windowed[string, int]] {
		return in.KeyBy(bySensor).Window("none", none).Aggregate(values())
	}, func(w weir.Windowed[string, int]) string { return fmt.Sprint(w.Key, " ", w.Value) }, "a 0", "b 0")
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[reading] {
		return in.KeyBy(bySensor).Window("none", none).Reduce(func(a, _ reading) reading { return a })
	}, func(r reading) string { return fmt.Sprint(r) })
}

// Where the clock of the test cuts is chance; that no row is lost at the end of the input is not.
func TestProcessingTimeLosesNothingAtTheEnd(t *testing.T) {
	for name, spec := range map[string]window.Spec{
		"panes":    window.Tumbling(time.Hour).ProcessingTime(),
		"sliding":  window.Sliding(time.Hour, time.Hour).ProcessingTime(),
		"sessions": window.Session(time.Hour).ProcessingTime(),
		"early":    window.Tumbling(time.Hour).ProcessingTime().Trigger(window.Purging(window.EveryProcessingTime(time.Minute))),
		"timeout":  window.Global().Trigger(window.Purging(window.Timeout(window.OnCount(2), time.Hour))),
	} {
		for _, parallelism := range []int{1, 3} {
			env := weir.NewEnv("windows").Parallelism(parallelism)
			sums := map[string]int{}
			s := weir.From(env, "readings", readings()).KeyBy(bySensor).Window("clock", spec).Aggregate(values())
			for w, err := range s.CollectErr(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				sums[w.Key] += w.Value
			}
			if sums["a"] != 181 || sums["b"] != 74 || len(sums) != 2 {
				t.Errorf("%s, parallelism %d: %v", name, parallelism, sums)
			}
		}
	}
}

// risesBy fires when a row is above the highest one of the window so far by a margin.
type risesBy struct{ margin int64 }

func (r risesBy) OnElement(row reading, _ int64, _ window.Window, ctx window.Context[reading]) window.Result {
	high, seen := ctx.State().Get(0)
	if int64(row.N) > high {
		ctx.State().Set(0, int64(row.N))
	}
	if seen && int64(row.N)-high > r.margin {
		return window.FireAndPurge
	}
	return window.Continue
}

func (risesBy) OnEventTime(int64, window.Window, window.Context[reading]) window.Result {
	return window.Continue
}
func (risesBy) OnProcessingTime(int64, window.Window, window.Context[reading]) window.Result {
	return window.Continue
}
func (risesBy) Clear(window.Window, window.Context[reading]) {}

func TestCustomTriggerAndEvictorEndToEnd(t *testing.T) {
	small := window.EvictWith("small", func(e *window.Elements[reading], _ window.Moment) {
		e.Keep(func(r reading, _ int64) bool { return r.N > 2 })
	})
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[weir.Windowed[string, int]] {
		return in.KeyBy(bySensor).Window("rises", window.Global().Trigger(window.Custom[reading]("rises", risesBy{10})).Evictor(small)).Aggregate(values())
	}, showSum[string],
		"a 128", // alone, since 20 and 32 went before
		"a 20",  // 1 is too small; 4+16, at 16
		"a 32", "b 72")
}

func TestWindowProblems(t *testing.T) {
	env := weir.NewEnv("windows")
	in := weir.From(env, "readings", readings(), weir.EventTime(reading.at)).KeyBy(bySensor)
	agg := values()
	agg.Merge = nil
	in.Window("no merge", window.Session(time.Second)).Aggregate(agg)
	in.Window("no trigger", window.Global()).Aggregate(values())
	in.Window("nothing", window.Tumbling(time.Second)).Apply[string](nil)
	in.Window("other type", window.Tumbling(time.Second).Trigger(window.Custom[int]("ints", nil))).Reduce(func(a, _ reading) reading { return a })
	_, err := env.Explain()
	if err == nil {
		t.Fatal("no problems")
	}
	for _, part := range []string{`"no merge" has no Merge`, `"no trigger"`, "never ends", "passed to Apply is nil", `"other type"`, "window_test.go"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is missing in\n%v", part, err)
		}
	}
}
