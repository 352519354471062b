package weirtest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/weirtest"
	"github.com/weir-stream/weir/window"
)

func TestRunOfAWholeJob(t *testing.T) {
	var out *weirtest.Collected[weir.Windowed[string, int64]]
	res := weirtest.Run(t, func(env *weir.Env) error {
		clicks := []click{{"ann", 1}, {"bob", 2}, {"ann", 62}}
		counts := weir.From(env, "clicks", slice.Of(clicks...), weir.EventTime(func(c click) time.Time { return at(c.Count) })).
			KeyBy(user).Window("w", window.Tumbling(time.Minute)).Aggregate(weir.Count[click]())
		out = weirtest.Collect(counts)
		return nil
	}, weirtest.Parallelism(2))
	var got []string
	for _, w := range out.Values() {
		got = append(got, fmt.Sprint(w.Key, w.Start().Minute(), w.Value))
	}
	weirtest.Same(t, got, []string{"ann0 1", "bob0 1", "ann1 1"})
	if op, ok := res.Operator("w"); !ok || op.RowsIn != 3 || op.Parallelism != 2 {
		t.Errorf("window operator: %+v", op)
	}
}

// A window of a day by processing time takes no time, and ends at midnight of the virtual clock.
func TestProcessingTimeFlies(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		src := weirtest.NewSource[click]("clicks")
		var out *weirtest.Collected[weir.Windowed[string, int64]]
		job := weirtest.Begin(t, func(env *weir.Env) error {
			out = weirtest.Collect(src.Stream(env).KeyBy(user).
				Window("daily", window.Tumbling(24*time.Hour).ProcessingTime()).Aggregate(weir.Count[click]()))
			return nil
		}, weirtest.Parallelism(2))
		for range 5 {
			src.Push(click{User: "ann"}, time.Time{})
			job.Advance(time.Hour)
		}
		if rows := out.Take(); len(rows) != 0 {
			t.Errorf("before midnight: %v", rows)
		}
		job.Advance(19 * time.Hour)
		rows := out.Take()
		if len(rows) != 1 || rows[0].Value.Value != 5 || !rows[0].Value.End().Equal(weirtest.Start.Add(24*time.Hour)) {
			t.Errorf("at midnight: %v", rows)
		}
		src.End()
		if res := job.Wait(); res.Duration != 24*time.Hour {
			t.Errorf("the job ran for %v of virtual time, want 24h", res.Duration)
		}
	})
	if took := time.Since(began); took > time.Hour {
		t.Errorf("took %v of real time", took)
	}
}

// An input that falls silent holds event time back until it is idle.
func TestIdleInputLetsEventTimeGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, silent := weirtest.NewSource[click]("fast"), weirtest.NewSource[click]("silent")
		var out *weirtest.Collected[weir.Windowed[string, int64]]
		job := weirtest.Begin(t, func(env *weir.Env) error {
			out = weirtest.Collect(fast.Stream(env).Union(silent.Stream(env)).KeyBy(user).
				Window("w", window.Tumbling(time.Minute)).Aggregate(weir.Count[click]()))
			return nil
		})
		fast.Push(click{User: "ann"}, at(1))
		fast.Watermark(at(100))
		job.Settle()
		if rows := out.Take(); len(rows) != 0 {
			t.Errorf("the silent input did not hold event time back: %v", rows)
		}
		silent.Idle()
		job.Settle()
		if rows := out.Take(); len(rows) != 1 {
			t.Errorf("an idle input holds event time back: %v", rows)
		}
		if mark, ok := out.Watermark(); !ok || !mark.Equal(at(100)) {
			t.Errorf("watermark is %v", mark)
		}
	}) // the job is cancelled
}

func TestFailureOfAJob(t *testing.T) {
	bad := errors.New("no such user")
	_, err := weirtest.RunErr(t, func(env *weir.Env) error {
		src := weirtest.SourceOf("clicks", weirtest.At(click{User: "bob"}, at(1)))
		weirtest.Collect(src.Stream(env).TryMap(func(click) (int, error) { return 0, bad }).Name("look up"))
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "look up") || !strings.Contains(err.Error(), bad.Error()) {
		t.Errorf("error is %v", err)
	}
}

func TestAJobThatNeverEndsIsNamed(t *testing.T) {
	_, err := weirtest.RunErr(t, func(env *weir.Env) error {
		weirtest.Collect(weirtest.NewSource[click]("clicks").Stream(env))
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "a source has not ended") {
		t.Errorf("error is %v", err)
	}
}

func TestMatrix(t *testing.T) {
	weirtest.Matrix(t, func(env *weir.Env) weir.Stream[weir.Windowed[string, int]] {
		src := weirtest.NewSource[click]("clicks")
		for i := range 300 {
			src.Push(click{fmt.Sprint("user", i%17), 1 + i%5}, at(i))
			if i%50 == 0 {
				src.Watermark(at(i - 20))
			}
		}
		src.End()
		return perMinute(src.Stream(env).Rebalance())
	}, func(t *testing.T, rows []weir.Windowed[string, int]) {
		sum := 0
		for _, r := range rows {
			sum += r.Value
		}
		if want := 60 * (1 + 2 + 3 + 4 + 5); sum != want || len(rows) != 5*17 {
			t.Errorf("%d rows with the sum %d, want %d and %d", len(rows), sum, 5*17, want)
		}
	})
}

func TestVariants(t *testing.T) {
	weirtest.Variants(t, func(t *testing.T, how weirtest.Option) []weir.Windowed[string, int] {
		h := weirtest.NewHarness(t, perMinute, how)
		for i := range 200 {
			h.Push(click{fmt.Sprint("user", i%7), 1}, at(i))
		}
		h.Watermark(at(120))
		if got := h.Output(); len(got) != 2*7 {
			t.Errorf("%d results after two minutes, want 14", len(got))
		}
		h.PushRows(weirtest.At(click{"late", 1}, at(100)), weirtest.At(click{"new", 1}, at(201)))
		h.End()
		out := h.Output()
		if !slices.ContainsFunc(out, func(w weir.Windowed[string, int]) bool { return w.Key == "new" }) {
			t.Error("the last row is missing")
		}
		return out
	})
}
