package weirtest_test

import (
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/weirtest"
	"github.com/weir-stream/weir/window"
)

type tick struct {
	N, Key int64
	At     int64 // s
}

func ticks(env *weir.Env, name string, n int64) weir.Stream[tick] {
	row := func(i int64) tick { return tick{N: i, Key: i * i % 13, At: i + i*7%5} }
	return weir.From(env, name, generator.Of(row, generator.Count(n)),
		weir.EventTime(func(t tick) time.Time { return time.Unix(t.At, 0) }, weir.OutOfOrder(5*time.Second)))
}

// Each kind of state goes through the faults by itself.
func TestChaosWindows(t *testing.T) {
	weirtest.Chaos(t, func(env *weir.Env) weir.Stream[weir.Windowed[int64, int64]] {
		return ticks(env, "ticks", 600).KeyBy(func(t tick) int64 { return t.Key }).
			Window("counts", window.Tumbling(20*time.Second)).
			Aggregate(weir.Sum(func(t tick) int64 { return t.N }))
	})
}

func TestChaosTimers(t *testing.T) {
	weirtest.Chaos(t, func(env *weir.Env) weir.Stream[tick] {
		return ticks(env, "ticks", 600).KeyBy(func(t tick) int64 { return t.Key }).
			Process("sums", func() weir.KeyedProcess[int64, tick, tick] { return &sums{} })
	})
}

// sums adds up the rows of a key by minute, and gives each sum when its minute is over.
type sums struct{ minutes state.Map[int64, int64] }

func (s *sums) Open(ctx *weir.KeyedContext[int64]) error {
	s.minutes = ctx.State(state.MapOf[int64, int64]("minutes"))
	return nil
}

func (s *sums) Process(ctx *weir.KeyedContext[int64], t tick, _ weir.Out[tick]) error {
	end := t.At/60*60 + 60
	sum, _ := s.minutes.Get(end)
	s.minutes.Put(end, sum+t.N)
	ctx.RegisterEventTimer(time.Unix(end, 0))
	return nil
}

func (s *sums) OnTimer(ctx *weir.KeyedContext[int64], at weir.Timer, out weir.Out[tick]) error {
	sum, _ := s.minutes.Get(at.Time.Unix())
	s.minutes.Delete(at.Time.Unix())
	out.Emit(tick{N: sum, Key: ctx.Key(), At: at.Time.Unix()})
	return nil
}

func TestChaosJoin(t *testing.T) {
	weirtest.Chaos(t, func(env *weir.Env) weir.Stream[tick] {
		left := ticks(env, "left", 300).KeyBy(func(t tick) int64 { return t.Key })
		right := ticks(env, "right", 300).KeyBy(func(t tick) int64 { return t.Key })
		return left.JoinInterval("pairs", right, -5*time.Second, 5*time.Second).
			Inner(func(a, b tick) tick { return tick{N: a.N, Key: b.N, At: a.At} })
	})
}
