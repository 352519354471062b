package recovery_test

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/generator"
)

type counted struct {
	Key int64
	N   int64
}

// countRows counts n rows by key, at a rate that gives checkpoints time to be taken. trip is called for each row in front of
// the counting, and may fail.
func countRows(env *weir.Env, n int64, rate float64, trip func(i int64) error) weir.Stream[counted] {
	rows := weir.From(env, "numbers", generator.Of(func(i int64) counted { return counted{Key: i % 7, N: 1} }, generator.Count(n), generator.RowsPerSecond(rate)))
	var seen atomic.Int64
	return rows.
		ProcessEach("trip", func(_ *weir.Context, c counted, out weir.Out[counted]) error {
			out.Emit(c)
			return trip(seen.Add(1))
		}).
		KeyBy(func(c counted) int64 { return c.Key }).
		Reduce("count", func(have, row counted) counted { return counted{have.Key, have.N + row.N} })
}

// undisturbed is what n rows count to.
func undisturbed(n int64) map[int64]int64 {
	out := map[int64]int64{}
	for i := range n {
		out[i%7]++
	}
	return out
}

// highest returns the greatest count of each key.
func highest(rows []counted) map[int64]int64 {
	out := map[int64]int64{}
	for _, r := range rows {
		out[r.Key] = max(out[r.Key], r.N)
	}
	return out
}

// A map function fails once in the midst of a job with keyed state. The job goes on from its latest checkpoint, and no row is
// counted twice or not at all.
func TestJobGoesOnFromItsCheckpoint(t *testing.T) {
	const n = 20_000
	for _, parallelism := range []int{1, 3} {
		t.Run(fmt.Sprintf("parallelism %d", parallelism), func(t *testing.T) {
			env := weir.NewEnv("count").Parallelism(parallelism)
			env.Set("execution.checkpointing.interval", "20 ms")
			var once sync.Once
			failed := false
			got := countRows(env, n, 20_000, func(i int64) (err error) {
				if i > n/2 {
					once.Do(func() { failed, err = true, errors.New("a passing fault") })
				}
				return err
			}).Gather()
			began := time.Now()
			res, err := env.Execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if res.Restarts != 1 || res.Checkpoints < 10 {
				t.Errorf("%d restarts, %d checkpoints", res.Restarts, res.Checkpoints)
			}
			want := undisturbed(n)
			rows := got.Rows()
			if h := highest(rows); !failed || !maps.Equal(h, want) {
				t.Errorf("failed: %v; counts %v, want %v", failed, h, want)
			}
			t.Logf("%d rows for %d in %v", len(rows), n, time.Since(began))
		})
	}
}
