package weir_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/channel"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/window"
)

func bySize(a, b sale) int { return cmp.Compare(a.Amount, b.Amount) }

func TestFullPartitionByKeyEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		s := shops(env).FullPartition("list").Map(func(shop string, rows []sale, out weir.Out[string]) {
			text := shop
			for _, r := range rows {
				text += fmt.Sprint(" ", r.Amount)
			}
			out.Emit(text)
		})
		equal(t, sorted(env, s), "a 5 3 3 8", "b 2 9")
	})
	everyWay(t, func(t *testing.T, env *weir.Env) {
		s := shops(env).FullPartition("sum").Aggregate(weir.Sum(func(s sale) int64 { return s.Amount }))
		equal(t, sorted(env, s), "{a 19}", "{b 11}")
	})
	everyWay(t, func(t *testing.T, env *weir.Env) {
		s := shops(env).FullPartition("last").Reduce(func(_, b sale) sale { return b })
		equal(t, sorted(env, s), "{a 8 6}", "{b 9 5}")
	})
}

func TestFullPartitionOfOneSubtask(t *testing.T) {
	for _, rows := range []string{"1", "2", "512"} {
		env := weir.NewEnv("sort").Parallelism(1).Set("execution.batch-size", rows)
		var got []string
		for v := range weir.From(env, "sales", slice.Of(sales...)).FullPartition("sort").Sort(bySize).Collect(t.Context()) {
			got = append(got, fmt.Sprint(v.Amount, "#", v.Nr))
		}
		if want := "2#2 3#3 3#4 5#1 8#6 9#5"; strings.Join(got, " ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Each subtask has a partition of its own; together they have every row once.
func TestFullPartitionOfEachSubtask(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		counts := numbers(env, 1000).Rebalance().FullPartition("count").Aggregate(weir.Count[int]())
		total := int64(0)
		for n := range counts.Collect(t.Context()) {
			total += n
		}
		if total != 1000 {
			t.Errorf("%d rows, want 1000", total)
		}
	})
}

// Sorted rows keep their times and are not late for a window behind.
func TestWindowBehindSortLosesNothing(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		counts := numbers(env, 300).FullPartition("backward").Sort(func(a, b int) int { return b - a }).
			KeyBy(func(int) int { return 0 }).
			Window("per 100 s", window.Tumbling(100*time.Second)).Aggregate(weir.Count[int]()).
			Map(func(w weir.Windowed[int, int64]) string { return fmt.Sprintf("%d: %d", w.Window.Start/1000, w.Value) })
		equal(t, sorted(env, counts), "0: 100", "100: 100", "200: 100")
	})
}

func TestFullPartitionFailures(t *testing.T) {
	env := weir.NewEnv("failing")
	var got error
	for _, err := range shops(env).FullPartition("list").Map(func(string, []sale, weir.Out[int]) { panic("oops") }).CollectErr(t.Context()) {
		got = err
	}
	for _, want := range []string{"list (", "panic: oops", "Key:", "Rows:"} {
		if got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("error %v lacks %q", got, want)
		}
	}
	env = weir.NewEnv("large")
	got = nil
	for _, err := range numbers(env, 100_000).FullPartition("sort").Memory(100_000).Sort(func(a, b int) int { return a - b }).CollectErr(t.Context()) {
		got = err
	}
	if got == nil || !strings.Contains(got.Error(), "limit of 100000") {
		t.Errorf("got %v", got)
	}
}

func TestFullPartitionProblemsAreFoundWhenBuilt(t *testing.T) {
	env := weir.NewEnv("wrong")
	numbers(env, 1).FullPartition("a").Memory(0).Sort(nil)
	numbers(env, 1).FullPartition("b").Aggregate(weir.Aggregation[int, int, int]{})
	endless := weir.From(env, "clicks", channel.Source(make(chan int)))
	endless.Union(numbers(env, 1)).FullPartition("c").Reduce(func(a, _ int) int { return a })
	_, err := env.Explain()
	for _, want := range []string{`"a": the memory is 0`, "passed to Sort is nil", `partition "b" has no Add function`, `partition "c" never ends, because source "clicks" is unbounded`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
}
