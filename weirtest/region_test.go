package weirtest

import (
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// Jobs of several failover regions go through the faults: a failure restarts one of them, and the others go on.

// lanes have no exchange: each subtask is a region, and all are handed blocks by one enumerator. A list is kept in each.
func lanes(env *weir.Env) weir.Stream[mark] {
	return marks(env, "marks", 400, 1).
		Filter(func(m mark) bool { return m.N%3 != 0 }).
		Process("listed", func() weir.ProcessFunc[mark, mark] { return &listed{} })
}

// listed counts how often a subtask has met a row: always once.
type listed struct{ met state.OperatorList[int64] }

func (l *listed) Open(ctx *weir.Context) error {
	l.met = ctx.ListState(state.OperatorListOf[int64]("met"))
	return nil
}

func (l *listed) Process(_ *weir.Context, m mark, out weir.Out[mark]) error {
	times := int64(1)
	for n := range l.met.All() {
		if n == m.N {
			times++
		}
	}
	l.met.Add(m.N)
	out.Emit(mark{N: m.N, Key: times, At: m.At})
	return nil
}

// besides is a pipeline beside another one, which takes the failures half of the time.
func besides(env *weir.Env) weir.Stream[weir.Windowed[int64, int64]] {
	marks(env, "other", 400, 1).KeyBy(keyOf).
		Window("other counts", window.Tumbling(10*time.Second)).
		Aggregate(weir.Count[mark]()).To("nowhere", blackhole.Sink[weir.Windowed[int64, int64]]())
	return marks(env, "marks", 400, 1).KeyBy(keyOf).
		Window("counts", window.Tumbling(20*time.Second)).
		Aggregate(weir.Sum(func(m mark) int64 { return m.N }))
}

func TestChaosLanes(t *testing.T) { Chaos(t, lanes, Seeds(20)...) }

func TestChaosPipelines(t *testing.T) { Chaos(t, besides, Seeds(20)...) }
