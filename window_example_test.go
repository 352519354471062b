package weir_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// view is a page view.
type view struct {
	User, Page string
	At         time.Time
}

func views() []view {
	at := func(minute int) time.Time { return time.Date(2024, 3, 1, 10, minute, 0, 0, time.UTC) }
	return []view{
		{"ann", "/", at(0)}, {"ann", "/cart", at(7)}, {"bob", "/", at(9)}, {"ann", "/pay", at(12)},
		{"bob", "/help", at(41)}, {"ann", "/", at(50)}, {"bob", "/", at(55)},
	}
}

func viewTime(v view) time.Time { return v.At }

// Sessions: views of a user without a gap of more than 20 minutes.
func ExampleKeyedStream_Window() {
	env := weir.NewEnv("sessions").Parallelism(1)
	sessions := weir.From(env, "views", slice.Of(views()...), weir.EventTime(viewTime)).
		KeyBy(func(v view) string { return v.User }).
		Window("sessions", window.Session(20*time.Minute)).
		Aggregate(weir.Count[view]())
	var lines []string
	for s := range sessions.Collect(context.Background()) {
		lines = append(lines, fmt.Sprintf("%s from %s: %d views", s.Key, s.Start().Format("15:04"), s.Value))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	// Output:
	// ann from 10:00: 3 views
	// ann from 10:50: 1 views
	// bob from 10:09: 1 views
	// bob from 10:41: 2 views
}

// A function that sees all rows of a window: the path of each session.
func ExampleWindowedStream_Apply() {
	env := weir.NewEnv("paths").Parallelism(1)
	paths := weir.From(env, "views", slice.Of(views()...), weir.EventTime(viewTime)).
		KeyBy(func(v view) string { return v.User }).
		Window("paths", window.Session(20*time.Minute)).
		Apply(func(ctx *weir.WindowContext[string], rows iter.Seq[view], out weir.Out[string]) error {
			byTime := slices.SortedStableFunc(rows, func(a, b view) int { return a.At.Compare(b.At) })
			path := ctx.Key() + ":"
			for _, v := range byTime {
				path += " " + v.Page
			}
			out.Emit(path)
			return nil
		})
	for _, path := range slices.Sorted(paths.Collect(context.Background())) {
		fmt.Println(path)
	}
	// Output:
	// ann: /
	// ann: / /cart /pay
	// bob: /
	// bob: /help /
}

// growth compares the views of an hour with those of the hour before.
type growth struct{ last state.Value[int64] }

func (g *growth) Open(ctx *weir.WindowContext[string]) error {
	g.last = ctx.KeyState(state.ValueOf[int64]("last"))
	return nil
}

func (g *growth) Process(ctx *weir.WindowContext[string], n int64, out weir.Out[string]) error {
	out.Emit(fmt.Sprintf("%s %s: %d (%+d)", ctx.Window().StartTime().Format("15:04"), ctx.Key(), n, n-g.last.Or(0)))
	g.last.Set(n)
	return nil
}

// Rows are counted as they come; the function gets the count of each window, and keeps the last one of its key.
func ExampleWindowedStream_AggregateProcess() {
	env := weir.NewEnv("growth").Parallelism(1)
	lines := weir.From(env, "views", slice.Of(views()...), weir.EventTime(viewTime)).
		KeyBy(func(v view) string { return v.User }).
		Window("half hours", window.Tumbling(30*time.Minute)).
		AggregateProcess(weir.Count[view](), func() weir.WindowFunction[string, int64, string] { return &growth{} })
	for _, line := range slices.Sorted(lines.Collect(context.Background())) {
		fmt.Println(line)
	}
	// Output:
	// 10:00 ann: 3 (+3)
	// 10:00 bob: 1 (+1)
	// 10:30 ann: 1 (-2)
	// 10:30 bob: 2 (+1)
}

// The last three rows of a key, at every second one.
func ExampleWindowedStream_Process() {
	env := weir.NewEnv("last").Parallelism(1)
	last := weir.From(env, "views", slice.Of(views()...)).
		KeyBy(func(v view) string { return v.User }).
		Window("last three", window.CountSliding(3, 2)).
		Process(func() weir.WindowFunction[string, iter.Seq[view], weir.Keyed[string, []string]] { return lastPages{} })
	rows := slices.SortedFunc(last.Collect(context.Background()), func(a, b weir.Keyed[string, []string]) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), slices.Compare(a.Value, b.Value))
	})
	for _, r := range rows {
		fmt.Println(r.Key, r.Value)
	}
	// Output:
	// ann [/ /cart]
	// ann [/cart /pay /]
	// bob [/ /help]
}

type lastPages struct{}

func (lastPages) Process(ctx *weir.WindowContext[string], rows iter.Seq[view], out weir.Out[weir.Keyed[string, []string]]) error {
	var pages []string
	for v := range rows {
		pages = append(pages, v.Page)
	}
	out.Emit(weir.Keyed[string, []string]{Key: ctx.Key(), Value: pages})
	return nil
}

// Rows that come behind the watermark go to a side output, or, within the allowed lateness, correct a result.
func ExampleWindowedStream_SideLate() {
	late := weir.NewTag[view]("late")
	env := weir.NewEnv("late").Parallelism(1).Set("execution.batch-size", "1") // a watermark behind each row
	rows := append(views(), view{"ann", "/late", time.Date(2024, 3, 1, 10, 31, 0, 0, time.UTC)}, view{"ann", "/too late", time.Date(2024, 3, 1, 10, 1, 0, 0, time.UTC)})
	counts := weir.From(env, "views", slice.Of(rows...), weir.EventTime(viewTime)).
		WindowAll("ten minutes", window.Tumbling(10*time.Minute).AllowedLateness(20*time.Minute)).
		SideLate(late).
		Aggregate(weir.Count[view]())
	for v := range counts.Side(late).Collect(context.Background()) {
		fmt.Println(v.Page)
	}
	// Output:
	// /too late
}
