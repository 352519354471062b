package weirtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/weirtest"
)

func TestAwaitAsynchronousCalls(t *testing.T) {
	answer := make(chan int)
	h := weirtest.NewHarness(t, func(in weir.Stream[int]) weir.Stream[int] {
		return in.AsyncMap("ask", weir.Async{}, func(_ context.Context, v int) (int, error) { return v * <-answer, nil })
	})
	h.Push(1, at(1))
	h.Push(2, at(2))
	if got := h.Output(); len(got) != 0 {
		t.Errorf("rows before the answer: %v", got)
	}
	go func() {
		answer <- 10
		answer <- 10
	}()
	h.Await()
	weirtest.Equal(t, h.Output(), []int{10, 20})
}

// A call that never answers runs into its timeout of an hour at once.
func TestTimeoutsOfAsynchronousCallsFly(t *testing.T) {
	var out *weirtest.Collected[string]
	res := weirtest.Run(t, func(env *weir.Env) error {
		src := weirtest.SourceOf("numbers", weirtest.At(1, at(1)), weirtest.At(2, at(2)))
		out = weirtest.Collect(src.Stream(env).AsyncMapOr("ask", weir.Async{Timeout: time.Hour},
			func(ctx context.Context, v int) (string, error) {
				if v == 1 {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "answered", nil
			},
			func(_ int, err error) (string, error) {
				if !errors.Is(err, weir.ErrTimeout) {
					return "", err
				}
				return "timed out", nil
			}))
		return nil
	})
	weirtest.Equal(t, out.Rows(), []weirtest.Row[string]{weirtest.At("timed out", at(1)), weirtest.At("answered", at(2))})
	if res.Duration < time.Hour || res.Duration > time.Hour+time.Minute {
		t.Errorf("the job ran for %v of virtual time, want an hour", res.Duration)
	}
}

func TestRetriesWithBackoffFly(t *testing.T) {
	calls := 0
	var out *weirtest.Collected[int]
	weirtest.Run(t, func(env *weir.Env) error {
		src := weirtest.SourceOf("numbers", weirtest.At(7, at(1)))
		out = weirtest.Collect(src.Stream(env).AsyncMap("ask", weir.Async{Retry: weir.Retry{Attempts: 5, Backoff: weir.FixedBackoff(24 * time.Hour)}},
			func(_ context.Context, v int) (int, error) {
				if calls++; calls < 5 {
					return 0, errors.New("not now")
				}
				return v, nil
			}))
		return nil
	})
	weirtest.Equal(t, out.Values(), []int{7})
	if calls != 5 {
		t.Errorf("%d calls, want 5", calls)
	}
}
