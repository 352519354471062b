package weir_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

func TestProcessSeesAllRowsOfAWindow(t *testing.T) {
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[string] {
		return in.KeyBy(bySensor).Window("rows", window.Tumbling(20*time.Second)).
			Apply(func(ctx *weir.WindowContext[string], rows iter.Seq[reading], out weir.Out[string]) error {
				var ns []int
				for range 2 { // rows can be ranged over again
					ns = nil
					for r := range rows {
						ns = append(ns, r.N)
					}
				}
				at, _ := ctx.Timestamp()
				out.Emit(fmt.Sprint(ctx.Key(), " ", ctx.Window().StartTime().Second(), " ", at.Format("05.000"), " ", ns))
				return nil
			})
	}, func(s string) string { return s },
		"a 0 19.999 [1 4 16 32]", "a 20 39.999 [128]", "b 0 19.999 [2 8]", "b 20 39.999 [64]")
}

// numbered counts the windows of a key, and the firings of each window.
type numbered struct {
	windows state.Value[int]
	firings state.Value[int]
}

func (n *numbered) Open(ctx *weir.WindowContext[string]) error {
	n.windows = ctx.KeyState(state.ValueOf[int]("n"))
	n.firings = ctx.WindowState(state.ValueOf[int]("n")) // the same name is another state
	return nil
}

func (n *numbered) Process(ctx *weir.WindowContext[string], sum int, out weir.Out[string]) error {
	firing := n.firings.Or(0) + 1
	n.firings.Set(firing)
	if firing == 1 {
		n.windows.Update(func(v *int) { *v++ })
	}
	out.Emit(fmt.Sprintf("%s window %d firing %d sum %d", ctx.Key(), n.windows.Or(0), firing, sum))
	return nil
}

func TestWindowAndKeyState(t *testing.T) {
	eachWay(t, func(in weir.Stream[reading]) weir.Stream[string] {
		spec := window.Tumbling(10 * time.Second).Trigger(window.OnEventTime().Early(window.OnCount(2)))
		return in.KeyBy(bySensor).Window("numbered", spec).
			AggregateProcess(values(), func() weir.WindowFunction[string, int, string] { return &numbered{} })
	}, func(s string) string { return s },
		// Of a, [0,10) fires at its second row, [10,20) at its second row, and then both at their ends, when two windows have
		// been seen.
		"a window 1 firing 1 sum 5", "a window 2 firing 1 sum 48", "a window 2 firing 2 sum 48", "a window 2 firing 2 sum 5",
		"a window 3 firing 1 sum 128",
		"b window 1 firing 1 sum 2", "b window 2 firing 1 sum 8", "b window 3 firing 1 sum 64")
}

func failing[T any](t *testing.T, s weir.Stream[T]) string {
	t.Helper()
	var last error
	for _, err := range s.CollectErr(context.Background()) {
		last = err
	}
	if last == nil {
		t.Fatal("the job did not fail")
	}
	return last.Error()
}

func TestSessionsHaveNoWindowState(t *testing.T) {
	env := weir.NewEnv("windows")
	in := weir.From(env, "readings", readings(), weir.EventTime(reading.at, weir.OutOfOrder(5*time.Second)))
	text := failing(t, in.KeyBy(bySensor).Window("numbered", window.Session(time.Second)).
		AggregateProcess(values(), func() weir.WindowFunction[string, int, string] { return &numbered{} }))
	if !strings.Contains(text, "sessions have no state of the window") || !strings.Contains(text, "numbered (1/1)") {
		t.Error(text)
	}
}

func TestWindowSideOutputs(t *testing.T) {
	big := weir.NewTag[int]("big")
	for _, parallelism := range []int{1, 3} {
		env := weir.NewEnv("windows").Parallelism(parallelism)
		in := weir.From(env, "readings", readings(), weir.EventTime(reading.at, weir.OutOfOrder(5*time.Second)))
		out := in.KeyBy(bySensor).Window("sides", window.Tumbling(20*time.Second)).
			AggregateApply(values(), func(ctx *weir.WindowContext[string], sum int, out weir.Out[string]) error {
				if sum > 60 {
					ctx.Side(big, sum)
					return nil
				}
				out.Emit(ctx.Key())
				return nil
			})
		var got []int
		for v, err := range out.Side(big).CollectErr(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v)
		}
		slices.Sort(got)
		if want := []int{64, 128}; !slices.Equal(got, want) {
			t.Errorf("side output: %v, want %v", got, want)
		}
	}
}

func TestWindowFunctionErrorNamesKeyAndWindow(t *testing.T) {
	env := weir.NewEnv("windows")
	in := weir.From(env, "readings", readings(), weir.EventTime(reading.at, weir.OutOfOrder(5*time.Second)))
	text := failing(t, in.KeyBy(bySensor).Window("strict", window.Tumbling(20*time.Second)).
		AggregateApply(values(), func(ctx *weir.WindowContext[string], sum int, out weir.Out[string]) error {
			if sum == 64 {
				return fmt.Errorf("64 is no sum")
			}
			return nil
		}))
	for _, part := range []string{"64 is no sum", "strict (1/1)", "the window function", "key b", "2024-03-01T10:00:20Z"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in %q", part, text)
		}
	}
}
