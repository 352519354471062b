package bench

import (
	"runtime"
	"testing"

	"github.com/weir-stream/weir"
)

// small is a row of 32 bytes, wide one of 80.
type small struct{ A, B, C, D int64 }
type wide struct{ A, B, C, D, E, F, G, H, I, J int64 }

const pipelineRows = 20_000_000

func BenchmarkPipeline(b *testing.B) {
	b.Run("32B", func(b *testing.B) {
		pipeline(b, func(r *small, i int64) { r.A, r.B, r.C, r.D = i, i*7, i&1023, 1 },
			func(r small) bool { return r.C < 614 },
			func(r small) small { r.B += r.A; return r },
			func(r small) small { r.D = r.B ^ r.C; return r })
	})
	b.Run("80B", func(b *testing.B) {
		pipeline(b, func(r *wide, i int64) { r.A, r.B, r.C, r.D, r.J = i, i*7, i&1023, 1, i },
			func(r wide) bool { return r.C < 614 },
			func(r wide) wide { r.B += r.A; return r },
			func(r wide) wide { r.D = r.B ^ r.C; return r })
	})
}

// pipeline is source -> filter (60 % pass) -> map -> map -> sink in one task. The time of the source and the sink alone is
// measured too and taken off, since a source is not what is asked for; the bare loop calls the same three functions row by
// row over an array that fits in the cache.
func pipeline[T any](b *testing.B, fill func(*T, int64), keepRow func(T) bool, first, second func(T) T) {
	var engine, alone, bare cost
	var allocs uint64
	for b.Loop() {
		var got int64
		env := weir.NewEnv("pipeline")
		weir.From(env, "rows", rows[T]{pipelineRows, fill}).Filter(keepRow).Map(first).Map(second).To("sink", count[T]{&got})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		engine = engine.plus(run(b, env))
		runtime.ReadMemStats(&after)
		allocs += after.Mallocs - before.Mallocs

		env = weir.NewEnv("source and sink")
		weir.From(env, "rows", rows[T]{pipelineRows, fill}).To("sink", count[T]{&got})
		alone = alone.plus(run(b, env))
		bare = bare.plus(measure(func() { bareLoop(fill, keepRow, first, second) }))
	}
	n := int64(pipelineRows) * int64(b.N)
	report(b, n, engine.minus(alone), bare)
	b.ReportMetric(float64(engine.cpu.Nanoseconds())/float64(n), "cpu-ns/row-with-source")
	b.ReportMetric(float64(allocs)/float64(n), "allocs/row")
}

//go:noinline
func bareLoop[T any](fill func(*T, int64), keepRow func(T) bool, first, second func(T) T) {
	in := make([]T, 512)
	for i := range in {
		fill(&in[i], int64(i))
	}
	for range pipelineRows / len(in) {
		for i := range in {
			if keepRow(in[i]) {
				out := second(first(in[i]))
				keep += *(*int64)(ptr(&out))
			}
		}
	}
}
