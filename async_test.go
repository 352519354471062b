package weir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/window"
)

func numbers(env *weir.Env, n int) weir.Stream[int] {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return weir.From(env, "numbers", slice.Of(rows...), weir.EventTime(func(n int) time.Time { return second(int64(n)) }))
}

func TestAsyncMapEveryWay(t *testing.T) {
	const rows = 1000
	for _, opts := range []weir.Async{{}, {Capacity: 1}, {Capacity: 7, Unordered: true}, {Capacity: 2000}} {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) {
			everyWay(t, func(t *testing.T, env *weir.Env) {
				var now, most atomic.Int64
				s := numbers(env, rows).AsyncMap("double", opts, func(_ context.Context, n int) (int, error) {
					if calls := now.Add(1); calls > most.Load() {
						most.Store(calls)
					}
					defer now.Add(-1)
					return 2 * n, nil
				})
				got := slices.Collect(s.Collect(t.Context()))
				if strings.Contains(t.Name(), "p=1") && !opts.Unordered && !slices.IsSorted(got) {
					t.Error("the order is lost")
				}
				slices.Sort(got)
				for i, v := range got {
					if v != 2*i {
						t.Fatalf("row %d is %d", i, v)
					}
				}
				if len(got) != rows {
					t.Errorf("%d rows of %d", len(got), rows)
				}
				if opts.Capacity > 0 && most.Load() > int64(3*opts.Capacity) {
					t.Errorf("%d calls at once in at most 3 subtasks", most.Load())
				}
			})
		})
	}
}

// Rows never overtake watermarks, so a window behind an unordered operator counts each.
func TestWindowBehindAsyncLosesNothing(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		counts := numbers(env, 300).
			AsyncFlatMap("twice", weir.Async{Unordered: true, Capacity: 20}, func(_ context.Context, n int) ([]int, error) { return []int{n, n}, nil }).
			KeyBy(func(int) int { return 0 }).
			Window("per 100 s", window.Tumbling(100*time.Second)).Aggregate(weir.Count[int]()).
			Map(func(w weir.Windowed[int, int64]) string { return fmt.Sprintf("%d: %d", w.Window.Start/1000, w.Value) })
		equal(t, sorted(env, counts), "0: 200", "100: 200", "200: 200")
	})
}

func TestAsyncRetryAndFallback(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		var tries [10]atomic.Int64
		opts := weir.Async{Timeout: time.Minute, Retry: weir.Retry{Attempts: 3, Backoff: weir.ExponentialBackoff(time.Millisecond, 2*time.Millisecond, 2)}}
		s := numbers(env, 10).AsyncMapOr("look up", opts, func(_ context.Context, n int) (string, error) {
			if tries[n].Add(1) <= int64(n%5) {
				return "", errors.New("busy")
			}
			return fmt.Sprint("found ", n), nil
		}, func(n int, err error) (string, error) { return fmt.Sprint(n, " failed: ", err), nil })
		equal(t, sorted(env, s), "found 0", "found 1", "found 2", "3 failed: busy", "4 failed: busy",
			"found 5", "found 6", "found 7", "8 failed: busy", "9 failed: busy")
	})
}

func TestAsyncTimeout(t *testing.T) {
	env := weir.NewEnv("slow")
	s := numbers(env, 3).AsyncMapOr("look up", weir.Async{Timeout: time.Millisecond}, func(ctx context.Context, n int) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}, func(n int, err error) (string, error) {
		return fmt.Sprint(n, " ", errors.Is(err, weir.ErrTimeout)), nil
	})
	equal(t, sorted(env, s), "0 true", "1 true", "2 true")
}

func TestAsyncFailureNamesOperatorAndRow(t *testing.T) {
	for what, f := range map[string]func(n int) (int, error){
		"no such number": func(n int) (int, error) {
			if n == 41 {
				return 0, errors.New("no such number")
			}
			return n, nil
		},
		"panic: oops": func(n int) (int, error) {
			if n == 41 {
				panic("oops")
			}
			return n, nil
		},
	} {
		var got error
		s := numbers(weir.NewEnv("failing"), 100).AsyncMap("look up", weir.Async{}, func(_ context.Context, n int) (int, error) { return f(n) })
		for _, err := range s.CollectErr(t.Context()) {
			got = err
		}
		for _, want := range []string{"look up (1/", what, "at row 41", "event time 41000 ms"} {
			if got == nil || !strings.Contains(got.Error(), want) {
				t.Errorf("error %v lacks %q", got, want)
			}
		}
	}
}

// A function that ignores its context keeps its goroutine, not the job.
func TestCancelDoesNotWaitForStubbornCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stuck, returned := make(chan bool), make(chan bool, 3)
	env := weir.NewEnv("stuck")
	numbers(env, 100).AsyncMap("stuck", weir.Async{Capacity: 3}, func(context.Context, int) (int, error) {
		cancel()
		<-stuck
		returned <- true
		return 0, nil
	}).To("out", blackhole.Sink[int]())
	if _, err := env.Execute(ctx); err == nil {
		t.Error("the job ended without an error")
	}
	close(stuck)
	<-returned
}

func TestAsyncProblemsAreFoundWhenBuilt(t *testing.T) {
	env := weir.NewEnv("wrong")
	numbers(env, 1).AsyncMap("a", weir.Async{Capacity: -1, Timeout: time.Microsecond, Retry: weir.Retry{Attempts: -2}},
		func(context.Context, int) (int, error) { return 0, nil })
	numbers(env, 1).AsyncMap("b", weir.Async{}, (func(context.Context, int) (int, error))(nil))
	_, err := env.Explain()
	for _, want := range []string{`"a": the capacity is -1`, "which counts in milliseconds, is 1µs", "the number of attempts is -2", "passed to AsyncMap is nil"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
}

func TestBackoff(t *testing.T) {
	next := weir.ExponentialBackoff(10*time.Millisecond, time.Second, 3)
	for attempt, want := range map[int]time.Duration{1: 10 * time.Millisecond, 2: 30 * time.Millisecond, 4: 270 * time.Millisecond, 6: time.Second, 5000: time.Second} {
		if got := next(attempt); got != want {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, want)
		}
	}
	if got := weir.FixedBackoff(time.Second)(7); got != time.Second {
		t.Errorf("fixed: %v", got)
	}
}
