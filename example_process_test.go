package weir_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/state"
)

// Ping is a sign of life of a machine.
type Ping struct {
	Machine string
	Minute  int64
}

// silence reports a machine that has not been heard of for ten minutes.
type silence struct{ last state.Value[int64] }

func (f *silence) Open(ctx *weir.KeyedContext[string]) error {
	f.last = ctx.State(state.ValueOf[int64]("last"))
	return nil
}

func (f *silence) Process(ctx *weir.KeyedContext[string], p Ping, _ weir.Out[string]) error {
	if p.Minute > f.last.Or(-1) {
		f.last.Set(p.Minute)
		ctx.RegisterEventTimer(minute(p.Minute + 10))
	}
	return nil
}

func (f *silence) OnTimer(ctx *weir.KeyedContext[string], t weir.Timer, out weir.Out[string]) error {
	if last, ok := f.last.Get(); ok && minute(last+10).Equal(t.Time) { // nothing came since
		out.Emit(fmt.Sprintf("%s is silent since minute %d", ctx.Key(), last))
		f.last.Clear()
	}
	return nil
}

func minute(n int64) time.Time { return time.Unix(60*n, 0).UTC() }

func ExampleKeyedStream_Process() {
	env := weir.NewEnv("silence")
	reports := weir.From(env, "pings", slice.Of(Ping{"db", 0}, Ping{"web", 1}, Ping{"web", 8}, Ping{"web", 15}),
		weir.EventTime(func(p Ping) time.Time { return minute(p.Minute) })).
		KeyBy(func(p Ping) string { return p.Machine }).
		Process("silence", func() weir.KeyedProcess[string, Ping, string] { return &silence{} })
	for report := range reports.Collect(context.Background()) {
		fmt.Println(report)
	}
	// Output:
	// db is silent since minute 0
	// web is silent since minute 15
}

func ExampleKeyedStream_MaxBy() {
	env := weir.NewEnv("latest")
	for p := range weir.From(env, "pings", slice.Of(Ping{"db", 3}, Ping{"db", 1}, Ping{"db", 7})).
		KeyBy(func(p Ping) string { return p.Machine }).
		MaxBy("latest", func(p Ping) int64 { return p.Minute }).
		Collect(context.Background()) {
		fmt.Println(p)
	}
	// Output:
	// {db 3}
	// {db 3}
	// {db 7}
}

func ExampleStream_ProcessEach() {
	env := weir.NewEnv("parity")
	odd := weir.NewTag[int]("odd")
	even := weir.From(env, "numbers", slice.Of(1, 2, 3, 4)).
		ProcessEach("split", func(ctx *weir.Context, n int, out weir.Out[int]) error {
			if n%2 == 1 {
				ctx.Side(odd, n)
				ctx.Metrics().Counter("odd").Inc()
				return nil
			}
			out.Emit(n)
			return nil
		})
	evens, odds := even.Gather(), even.Side(odd).Gather()
	result, err := env.Execute(context.Background())
	op, _ := result.Operator("split")
	fmt.Println(evens.Rows(), odds.Rows(), op.Counters["odd"], err)
	// Output: [2 4] [1 3] 2 <nil>
}
