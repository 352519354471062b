package windowop

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

// tick is the row of the benchmarks.
type tick struct {
	Key uint64
	N   int64
}

// counted throws results away.
type counted struct{ rows int }

func (c *counted) Emit(b event.Batch) error {
	c.rows += b.Len()
	b.Release()
	return nil
}

func (c *counted) EmitSide(_ string, b event.Batch) error {
	b.Release()
	return nil
}

type total struct {
	Key   uint64
	Start int64
	Sum   int64
}

func tickConfig(b *testing.B, spec window.Spec) Config[uint64, tick, int64, int64, total] {
	bound, err := window.Bind[tick](spec)
	must(b, err)
	kc, err := codec.KeyFor[uint64]()
	must(b, err)
	return Config[uint64, tick, int64, int64, total]{Window: bound, Keys: kc,
		Key:  func(v tick) uint64 { return v.Key },
		Make: func(k uint64, w window.Window, n int64) total { return total{k, w.Start, n} },
		Aggregate: Aggregate[tick, int64, int64]{
			Add:    func(a *int64, v tick) { *a += v.N },
			Merge:  func(a, from *int64) { *a += *from },
			Result: func(a *int64) int64 { return *a },
		}}
}

// feed runs b.N rows through an operator: row i has the key and the time that next says. A watermark follows each fourth
// batch.
func feed(b *testing.B, op operator.Operator, next func(i int) (key uint64, ms int64)) {
	h := optest.New(op)
	out := &counted{}
	must(b, op.Open(&h.Context, out))
	kc, err := codec.KeyFor[uint64]()
	must(b, err)
	pool := event.NewPool[tick](0)
	b.ReportAllocs()
	b.ResetTimer()
	high := int64(event.NoTime)
	for i, batches := 0, 0; i < b.N; batches++ {
		in := pool.Get()
		for ; in.Room() > 0 && i < b.N; i++ {
			k, t := next(i)
			in.Append(tick{k, 1}, t)
			high = max(high, t)
		}
		in.Hash = in.Hash[:len(in.Rows)]
		for j := range in.Rows {
			in.Hash[j] = kc.Hash(&in.Rows[j].Key)
		}
		must(b, op.Process(0, in))
		if batches%4 == 3 {
			must(b, op.Watermark(high-1))
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(out.rows)/float64(b.N), "results/row")
	must(b, op.Close())
}

const benchKeys = 100_000

// scattered is a fixed order of keys without a pattern that a cache could use.
func scattered() []uint64 {
	keys := make([]uint64, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range keys {
		keys[i] = r.Uint64N(benchKeys)
	}
	return keys
}

// Rows of 100,000 keys, a second of event time for each 100,000.
func BenchmarkSessions(b *testing.B) {
	keys := scattered()
	// Sessions that never end: every key comes again within the gap.
	growing := func(i int) (uint64, int64) { return keys[i%len(keys)], int64(i / 100) }
	// Sessions of some eight rows in a second: by turns an eighth of the keys is active, for 100,000 rows.
	churning := func(i int) (uint64, int64) {
		return keys[i%len(keys)]/8 + uint64(i/benchKeys%8)*(benchKeys/8), int64(i / 100)
	}
	for _, c := range []struct {
		name string
		gap  time.Duration
		next func(int) (uint64, int64)
	}{{"growing", time.Minute, growing}, {"churning", 2 * time.Second, churning}} {
		cfg := tickConfig(b, window.Session(c.gap))
		b.Run(c.name+"/sessions", func(b *testing.B) { feed(b, NewSessions(cfg), c.next) })
		b.Run(c.name+"/general", func(b *testing.B) {
			feed(b, NewGeneral(GeneralConfig[uint64, tick, total]{Window: cfg.Window, Key: cfg.Key, Keys: cfg.Keys, Function: cfg.Incremental()}), c.next)
		})
		b.Run(c.name+"/map", func(b *testing.B) { mapSessions(b, c.gap.Milliseconds(), c.next) })
	}
}

// mapSessions is the same work by hand: a Go map, the sessions of all keys looked over once a gap.
func mapSessions(b *testing.B, gap int64, next func(int) (uint64, int64)) {
	type live struct{ start, end, sum int64 }
	sessions := map[uint64]live{}
	results, swept := 0, int64(0)
	b.ReportAllocs()
	for i := range b.N {
		k, t := next(i)
		s, ok := sessions[k]
		switch {
		case ok && t <= s.end:
			s.end, s.sum = t+gap, s.sum+1
		default:
			if ok {
				results++
			}
			s = live{t, t + gap, 1}
		}
		sessions[k] = s
		if t-swept >= gap {
			swept = t
			for k, s := range sessions {
				if s.end <= t {
					results++
					delete(sessions, k)
				}
			}
		}
	}
}

// The ratio of interest: a sliding window of an hour by a minute against a tumbling hour. rows is how many rows of the 100,000
// keys a minute has.
func BenchmarkSliding(b *testing.B) {
	keys := scattered()
	for _, rows := range []int{100_000, 1_000_000} {
		next := func(i int) (uint64, int64) { return keys[i%len(keys)], int64(i) * 60_000 / int64(rows) }
		for _, c := range []struct {
			name string
			spec window.Spec
		}{{"tumbling", window.Tumbling(time.Hour)}, {"sliding", window.Sliding(time.Hour, time.Minute)}} {
			cfg := tickConfig(b, c.spec)
			b.Run(fmt.Sprintf("%s/rows-a-minute=%d", c.name, rows), func(b *testing.B) { feed(b, NewPanes(cfg), next) })
		}
	}
}

// What the general operator costs against panes, tumbling windows of a minute with a million rows.
func BenchmarkGeneral(b *testing.B) {
	keys := scattered()
	next := func(i int) (uint64, int64) { return keys[i%len(keys)], int64(i) * 60_000 / 1_000_000 }
	cfg := tickConfig(b, window.Tumbling(time.Minute))
	b.Run("panes", func(b *testing.B) { feed(b, NewPanes(cfg), next) })
	b.Run("general", func(b *testing.B) {
		feed(b, NewGeneral(GeneralConfig[uint64, tick, total]{Window: cfg.Window, Key: cfg.Key, Keys: cfg.Keys, Function: cfg.Incremental()}), next)
	})
	counting := tickConfig(b, window.Count(10))
	b.Run("count-10", func(b *testing.B) {
		feed(b, NewGeneral(GeneralConfig[uint64, tick, total]{Window: counting.Window, Key: cfg.Key, Keys: cfg.Keys, Function: counting.Incremental()}), next)
	})
}
