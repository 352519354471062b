package weirtest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/event"
)

// Collected holds what came out of a stream. All methods may be called from any goroutine, also while the job runs.
type Collected[T any] struct {
	mu    sync.Mutex
	rows  []Row[T]
	taken int
	marks []int64 // by subtask
}

// Collect adds a sink that keeps the stream's rows, in the order in which they came; rows of different subtasks come in
// no particular order.
func Collect[T any](s weir.Stream[T]) *Collected[T] {
	c := &Collected[T]{}
	s.To(fmt.Sprintf("weirtest.collect-%d", collectors.Add(1)), collector[T]{c})
	return c
}

// collectors gives each sink of the process a name of its own.
var collectors atomic.Int64

// Rows returns all rows so far with their event times.
func (c *Collected[T]) Rows() []Row[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rows)
}

// Values returns all rows so far.
func (c *Collected[T]) Values() []T { return values(c.Rows()) }

// Take returns the rows that have come since the last call of Take.
func (c *Collected[T]) Take() []Row[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.rows[c.taken:])
	c.taken = len(c.rows)
	return out
}

// Watermark returns how far event time has come, over all subtasks; false before the first watermark. The final watermark,
// behind which nothing comes, is the far future.
func (c *Collected[T]) Watermark() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.marks) == 0 || slices.Min(c.marks) == event.NoTime {
		return time.Time{}, false
	}
	return time.UnixMilli(slices.Min(c.marks)).UTC(), true
}

// collector is the sink of a Collected.
type collector[T any] struct{ c *Collected[T] }

func (collector[T]) Name() string { return "weirtest.Collect" }

func (s collector[T]) Writer(ctx connector.WriterContext) (connector.Writer[T], error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	for len(s.c.marks) < ctx.Parallelism {
		s.c.marks = append(s.c.marks, event.NoTime)
	}
	return collectorWriter[T]{s.c, ctx.Subtask}, nil
}

type collectorWriter[T any] struct {
	c       *Collected[T]
	subtask int
}

func (w collectorWriter[T]) Write(rows []T, times []int64) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	for i, v := range rows {
		w.c.rows = append(w.c.rows, rowAt(v, times[i]))
	}
	return nil
}

func (w collectorWriter[T]) WriteWatermark(t int64) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.marks[w.subtask] = t
	return nil
}

func (w collectorWriter[T]) Flush() error { return nil }
func (w collectorWriter[T]) Close() error { return nil }
