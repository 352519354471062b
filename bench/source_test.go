package bench

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
)

// rows is a source of n rows, divided among its readers, that fill makes: row number i is written to *row.
type rows[T any] struct {
	n    int64
	fill func(row *T, i int64)
}

func (rows[T]) Name() string                       { return "rows" }
func (rows[T]) Boundedness() connector.Boundedness { return connector.Bounded }
func (s rows[T]) Enumerator(c connector.EnumeratorContext, _ []byte) (connector.Enumerator, error) {
	return &shares{left: c.Parallelism}, nil
}
func (s rows[T]) Reader(c connector.ReaderContext) (connector.Reader[T], error) {
	per := s.n / int64(c.Parallelism)
	r := &rowReader[T]{fill: s.fill, next: per * int64(c.Subtask)}
	if r.end = r.next + per; c.Subtask == c.Parallelism-1 {
		r.end = s.n
	}
	return r, nil
}

type shares struct{ left int }

func (e *shares) Next(int) (connector.Split, bool, bool, time.Duration, error) {
	if e.left == 0 {
		return connector.Split{}, false, true, 0, nil
	}
	e.left--
	return connector.Split{ID: string(rune('a' + e.left))}, true, false, 0, nil
}
func (e *shares) Return(int, []connector.Split) {}
func (e *shares) Snapshot() ([]byte, error)     { return nil, nil }
func (e *shares) Close() error                  { return nil }

type rowReader[T any] struct {
	fill      func(row *T, i int64)
	next, end int64
	split     string
}

func (r *rowReader[T]) AddSplit(s connector.Split) error { r.split = s.ID; return nil }
func (r *rowReader[T]) Poll(b *connector.Batch[T]) (string, connector.Status, error) {
	if r.split == "" {
		return "", connector.Done, nil
	}
	n := int(min(r.end-r.next, int64(cap(b.Rows))))
	out := b.Rows[:n]
	for i := range out {
		r.fill(&out[i], r.next+int64(i))
	}
	b.Rows = out
	r.next += int64(n)
	if r.next == r.end {
		id := r.split
		r.split = ""
		return id, connector.SplitDone, nil
	}
	return r.split, connector.More, nil
}
func (r *rowReader[T]) Wait(ctx context.Context) error       { <-ctx.Done(); return nil }
func (r *rowReader[T]) Pause(map[string]bool)                {}
func (r *rowReader[T]) Snapshot() ([]connector.Split, error) { return nil, nil }
func (r *rowReader[T]) Close() error                         { return nil }

// count is a sink that counts rows.
type count[T any] struct{ rows *int64 }

func (count[T]) Name() string { return "count" }
func (c count[T]) Writer(connector.WriterContext) (connector.Writer[T], error) {
	return &countWriter[T]{c: c}, nil
}

type countWriter[T any] struct {
	c count[T]
	n int64
}

func (w *countWriter[T]) Write(rows []T, _ []int64) error { w.n += int64(len(rows)); return nil }
func (w *countWriter[T]) Flush() error                    { return nil }
func (w *countWriter[T]) Close() error                    { *w.c.rows += w.n; return nil }

// cost is what a piece of work took: by the clock on the wall, and in CPU time of the process. On a busy machine only the
// second says something.
type cost struct{ wall, cpu time.Duration }

func (c cost) plus(o cost) cost  { return cost{c.wall + o.wall, c.cpu + o.cpu} }
func (c cost) minus(o cost) cost { return cost{c.wall - o.wall, c.cpu - o.cpu} }

// measure runs f.
func measure(f func()) cost {
	began, used := time.Now(), cpuTime()
	f()
	return cost{time.Since(began), cpuTime() - used}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// run executes a job once.
func run(b *testing.B, env *weir.Env) cost {
	b.Helper()
	return measure(func() {
		if _, err := env.Execute(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}

// report gives the engine's time a row, the bare loop's, and the ratio of their CPU times.
func report(b *testing.B, n int64, engine, bare cost) {
	b.Helper()
	b.ReportMetric(0, "ns/op") // b.N counts runs, not rows
	each := func(d time.Duration, unit string) { b.ReportMetric(float64(d.Nanoseconds())/float64(n), unit) }
	each(engine.wall, "ns/row")
	each(engine.cpu, "cpu-ns/row")
	each(bare.cpu, "bare-cpu-ns/row")
	b.ReportMetric(float64(engine.cpu)/float64(bare.cpu), "x-bare")
}

// sink keeps results of bare loops alive.
var keep int64
