package weirtest

import (
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/window"
)

// Each kind of state goes through the faults by itself.

func keyOf(m mark) int64 { return m.Key }

func TestChaosWindows(t *testing.T) {
	Chaos(t, func(env *weir.Env) weir.Stream[weir.Windowed[int64, int64]] {
		return marks(env, "marks", 600, 1).KeyBy(keyOf).
			Window("counts", window.Tumbling(20*time.Second)).
			Aggregate(weir.Sum(func(m mark) int64 { return m.N }))
	})
}

func TestChaosTimers(t *testing.T) {
	Chaos(t, func(env *weir.Env) weir.Stream[mark] {
		return marks(env, "marks", 600, 1).KeyBy(keyOf).
			Process("minutes", func() weir.KeyedProcess[int64, mark, mark] { return &minutes{} })
	})
}

func TestChaosJoin(t *testing.T) {
	Chaos(t, func(env *weir.Env) weir.Stream[mark] {
		return marks(env, "left", 300, 1).KeyBy(keyOf).
			JoinInterval("pairs", marks(env, "right", 300, 1).KeyBy(keyOf), -5*time.Second, 5*time.Second).
			Inner(func(a, b mark) mark { return mark{N: a.N, Key: b.N, At: a.At} })
	})
}
