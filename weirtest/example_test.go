package weirtest_test

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/weirtest"
	"github.com/weir-stream/weir/window"
)

type Click struct{ User string }

// clicksPerMinute is the piece of a job that the examples test.
func clicksPerMinute(in weir.Stream[Click]) weir.Stream[string] {
	return in.KeyBy(func(c Click) string { return c.User }).
		Window("per minute", window.Tumbling(time.Minute)).
		Aggregate(weir.Count[Click]()).
		Map(func(w weir.Windowed[string, int64]) string {
			return fmt.Sprintf("%s %s %d", w.Start().Format("15:04"), w.Key, w.Value)
		})
}

// A test of some operators, by hand.
func ExampleNewHarness() {
	test := func(t testing.TB) { // in a file of tests: func TestClicks(t *testing.T)
		h := weirtest.NewHarness(t, clicksPerMinute)
		h.Push(Click{"ann"}, time.Unix(1, 0))
		h.Push(Click{"ann"}, time.Unix(59, 0))
		h.Push(Click{"ann"}, time.Unix(60, 0))
		h.Watermark(time.Unix(60, 0))
		fmt.Println(h.Output())
		h.Push(Click{"ann"}, time.Unix(2, 0)) // its minute is over
		fmt.Println("late:", h.Late())
		h.End()
		fmt.Println(h.Output())
	}
	runExample(test)
	// Output:
	// [00:00 ann 2]
	// late: 1
	// [00:01 ann 1]
}

// The same steps with batches of all sizes. Matrix does the same for whole jobs.
func ExampleVariants() {
	_ = func(t *testing.T) {
		weirtest.Variants(t, func(t *testing.T, how weirtest.Option) []string {
			h := weirtest.NewHarness(t, clicksPerMinute, how)
			h.Push(Click{"ann"}, time.Unix(1, 0))
			h.Push(Click{"bob"}, time.Unix(2, 0))
			h.End()
			return h.Output()
		})
	}
}

// A whole job, at several parallelisms, chained and unchained, with batches of all sizes.
func ExampleMatrix() {
	_ = func(t *testing.T) {
		weirtest.Matrix(t, func(env *weir.Env) weir.Stream[string] {
			clicks := weirtest.SourceOf("clicks", weirtest.At(Click{"ann"}, time.Unix(1, 0)), weirtest.At(Click{"bob"}, time.Unix(2, 0)))
			return clicksPerMinute(clicks.Stream(env))
		}, func(t *testing.T, rows []string) {
			weirtest.Same(t, rows, []string{"00:00 ann 1", "00:00 bob 1"})
		})
	}
}

// A whole job that the test feeds while virtual time goes by.
func ExampleBegin() {
	_ = func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			clicks := weirtest.NewSource[Click]("clicks")
			var out *weirtest.Collected[string]
			job := weirtest.Begin(t, func(env *weir.Env) error {
				out = weirtest.Collect(clicksPerMinute(clicks.Stream(env)))
				return nil
			})
			clicks.Push(Click{"ann"}, time.Unix(1, 0))
			clicks.Watermark(time.Unix(60, 0))
			job.Advance(time.Hour)
			weirtest.Equal(t, out.Values(), []string{"00:00 ann 1"})
			clicks.End()
			job.Wait()
		})
	}
}

// exampleTB lets examples, which have no test, run a harness. Its Cleanup functions run at the end.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (t *exampleTB) Helper()                           {}
func (t *exampleTB) Name() string                      { return "example" }
func (t *exampleTB) Output() io.Writer                 { return io.Discard }
func (t *exampleTB) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *exampleTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func runExample(test func(t testing.TB)) {
	t := &exampleTB{}
	defer func() {
		for _, f := range t.cleanups {
			f()
		}
	}()
	test(t)
}
