package bench

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/window"
)

const shuffleRows = 20_000_000

// BenchmarkShuffle is a keyed exchange between two tasks and two tasks of one process, of 80-byte rows. The time of the same
// sources with sinks of their own is taken off; the bare loop hashes the keys and copies the rows to one of two places.
func BenchmarkShuffle(b *testing.B) {
	fill := func(r *wide, i int64) { r.A, r.B, r.C, r.J = i*2654435761, i, i, i }
	key := func(r wide) int64 { return r.A }
	var engine, alone, bare cost
	for b.Loop() {
		var got int64
		env := weir.NewEnv("shuffle").Parallelism(2)
		weir.From(env, "rows", rows[wide]{shuffleRows, fill}).KeyBy(key).To("sink", lockedCount[wide]{&got})
		engine = engine.plus(run(b, env))
		env = weir.NewEnv("source and sink").Parallelism(2)
		weir.From(env, "rows", rows[wide]{shuffleRows, fill}).To("sink", lockedCount[wide]{&got})
		alone = alone.plus(run(b, env))
		bare = bare.plus(measure(func() { bareShuffle(fill) }))
	}
	report(b, int64(shuffleRows)*int64(b.N), engine.minus(alone), bare)
	b.ReportMetric(float64(engine.cpu.Nanoseconds())/float64(int64(shuffleRows)*int64(b.N)), "cpu-ns/row-with-source")
}

// bareShuffle is what two cores do without an engine: hash each row's key and copy the row to one of two arrays.
func bareShuffle(fill func(*wide, int64)) {
	var all sync.WaitGroup
	for p := range 2 {
		all.Go(func() {
			in, out := make([]wide, 400), [2][]wide{make([]wide, 0, 400), make([]wide, 0, 400)}
			for i := range in {
				fill(&in[i], int64(i+p))
			}
			for range shuffleRows / 2 / len(in) {
				for i := range in {
					h := uint64(in[i].A) * 0x9E3779B97F4A7C15
					to := h >> 63
					if len(out[to]) == cap(out[to]) {
						out[to] = out[to][:0]
					}
					out[to] = append(out[to], in[i])
				}
			}
		})
	}
	all.Wait()
}

// lockedCount counts rows of several subtasks.
type lockedCount[T any] struct{ rows *int64 }

func (lockedCount[T]) Name() string { return "count" }
func (c lockedCount[T]) Writer(connector.WriterContext) (connector.Writer[T], error) {
	return &lockedCountWriter[T]{c: c}, nil
}

type lockedCountWriter[T any] struct {
	c lockedCount[T]
	n int64
}

func (w *lockedCountWriter[T]) Write(rows []T, _ []int64) error { w.n += int64(len(rows)); return nil }
func (w *lockedCountWriter[T]) Flush() error                    { return nil }
func (w *lockedCountWriter[T]) Close() error                    { atomic.AddInt64(w.c.rows, w.n); return nil }

// event is a row with a key and a time.
type event struct {
	Key, Value, Time, Pad int64
}

// scatter spreads i over n keys in an order without pattern.
func scatter(i, n int64) int64 {
	h := uint64(i) * 0x9E3779B97F4A7C15
	h ^= h >> 29
	return int64(h % uint64(n))
}

// BenchmarkTumblingCount counts by key in windows of an hour of event time, through source, keyBy, window and sink, on one
// core. The bare loop is the same counting in an array indexed by key, which no engine can know of.
func BenchmarkTumblingCount(b *testing.B) {
	for _, keys := range []int64{100_000, 10_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			n := max(20_000_000, 6*keys) // so that most rows find their key
			var engine, alone, bare cost
			var gc time.Duration
			for b.Loop() {
				e, a, l, g := windowed(b, keys, n, func(s weir.Stream[event]) weir.Stream[weir.Windowed[int64, int64]] {
					return s.KeyBy(func(e event) int64 { return e.Key }).Window("count", window.Tumbling(time.Hour)).Aggregate(weir.Count[event]())
				}, n)
				engine, alone, bare, gc = engine.plus(e), alone.plus(a), bare.plus(l), max(gc, g)
			}
			report(b, n*int64(b.N), engine.minus(alone), bare)
			b.ReportMetric(float64(engine.cpu.Nanoseconds())/float64(n*int64(b.N)), "cpu-ns/row-with-source")
			b.ReportMetric(float64(gc.Microseconds())/1000, "full-gc-ms")
		})
	}
}

// BenchmarkSlidingSum sums by 100,000 keys in windows of an hour every minute, and for comparison in windows of an hour: the
// ratio x-tumbling is what is asked for. An hour of event time has 60 million rows.
func BenchmarkSlidingSum(b *testing.B) {
	const keys, n, perHour = 100_000, int64(60_000_000), int64(60_000_000)
	sum := weir.Sum(func(e event) int64 { return e.Value })
	var sliding, tumbling, alone, bare cost
	for b.Loop() {
		one := func(spec window.Spec) (cost, cost, cost) {
			e, a, l, _ := windowed(b, keys, n, func(s weir.Stream[event]) weir.Stream[weir.Windowed[int64, int64]] {
				return s.KeyBy(func(e event) int64 { return e.Key }).Window("sum", spec).Aggregate(sum)
			}, perHour)
			return e, a, l
		}
		e, a, l := one(window.Sliding(time.Hour, time.Minute))
		sliding, alone, bare = sliding.plus(e), alone.plus(a), bare.plus(l)
		e, _, _ = one(window.Tumbling(time.Hour))
		tumbling = tumbling.plus(e)
	}
	report(b, n*int64(b.N), sliding.minus(alone), bare)
	b.ReportMetric(float64(sliding.minus(alone).cpu)/float64(tumbling.minus(alone).cpu), "x-tumbling")
}

// windowed runs a windowed job of n rows over keys, rowsPerHour in each hour of event time. gc is the time of a full garbage
// collection while the job's state is whole.
func windowed(b *testing.B, keys, n int64, job func(weir.Stream[event]) weir.Stream[weir.Windowed[int64, int64]], rowsPerHour int64) (engine, alone, bare cost, gc time.Duration) {
	b.Helper()
	hour := time.Hour.Milliseconds()
	fill := func(e *event, i int64) { e.Key, e.Value, e.Time = scatter(i, keys), i&15, i*hour/rowsPerHour }
	at := weir.EventTime(func(e event) time.Time { return time.UnixMilli(e.Time) })
	var got int64
	fillAndCollect := func(e *event, i int64) {
		fill(e, i)
		if i == n-1 {
			began := time.Now()
			runtime.GC()
			gc = time.Since(began)
		}
	}
	env := weir.NewEnv("window")
	job(weir.From(env, "rows", rows[event]{n, fillAndCollect}, at)).To("sink", count[weir.Windowed[int64, int64]]{&got})
	engine = run(b, env)
	env = weir.NewEnv("source and sink")
	weir.From(env, "rows", rows[event]{n, fill}, at).To("sink", count[event]{&got})
	alone = run(b, env)
	return engine, alone, measure(func() { bareCount(keys, n, fill) }), gc
}

//go:noinline
func bareCount(keys, n int64, fill func(*event, int64)) {
	table := make([]int64, keys)
	var e event
	for i := range n {
		fill(&e, i)
		table[e.Key] += e.Value
	}
	keep += table[0]
}
