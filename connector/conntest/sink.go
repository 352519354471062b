package conntest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"

	"github.com/weir-stream/weir/connector"
)

// SinkCase describes a sink to Sink.
type SinkCase[T any] struct {
	// New makes a sink that has not written anything, and a function that says what it has written since, subtask by
	// subtask in order, as text; nil if that cannot be known.
	New func(t testing.TB) (connector.Sink[T], func() []string)
	// Rows are written.
	Rows []T
	// Text is how a row appears in what was written; fmt's %+v without it.
	Text func(T) string
	// FS is the file system of the job.
	FS connector.FileSystem
}

// Sink runs the conformance suite for sinks: all rows arrive once, in the order of their subtask, for several parallelisms
// and batch sizes, with the batch's memory used again after each Write; Close comes twice, and also without Finish.
func Sink[T any](t *testing.T, c SinkCase[T]) {
	if c.Text == nil {
		c.Text = func(row T) string { return fmt.Sprintf("%+v", row) }
	}
	for p := 1; p <= 4; p++ {
		for _, batch := range []int{1, 3, 512} {
			for _, finish := range []bool{true, false} {
				s, written := c.New(t)
				if m, ok := s.(connector.MaxParallelism); ok && m.MaxParallelism() > 0 && m.MaxParallelism() < p {
					continue
				}
				c.write(t, s, p, batch, finish)
				if written == nil || !finish {
					continue
				}
				if got, want := written(), c.want(p); !slices.Equal(got, want) {
					t.Fatalf("parallelism %d, batches of %d:\n got %d: %.300q\nwant %d: %.300q", p, batch, len(got), got, len(want), want)
				}
			}
		}
	}
}

// share are the rows of one subtask.
func (c SinkCase[T]) share(sub, p int) (rows []T) {
	for i := sub; i < len(c.Rows); i += p {
		rows = append(rows, c.Rows[i])
	}
	return rows
}

func (c SinkCase[T]) want(p int) (texts []string) {
	for sub := range p {
		for _, r := range c.share(sub, p) {
			texts = append(texts, c.Text(r))
		}
	}
	return texts
}

func (c SinkCase[T]) write(t *testing.T, s connector.Sink[T], p, batch int, finish bool) {
	t.Helper()
	if ch, ok := s.(connector.Checker); ok {
		if err := ch.Check(); err != nil {
			t.Fatalf("Check: %v", err)
		}
	}
	taker, _ := s.(connector.SideTaker)
	for sub := range p {
		w, err := s.Writer(connector.WriterContext{Ctx: context.Background(), Name: "sink", Subtask: sub, Parallelism: p, FS: c.FS, Now: new(clock).now,
			Log: slog.New(slog.DiscardHandler), Side: func(b []byte) error {
				if taker == nil {
					return fmt.Errorf("the sink uses Side and does not implement SideTaker")
				}
				return taker.TakeSide(sub, b, io.Discard)
			}})
		if err != nil {
			t.Fatalf("Writer: %v", err)
		}
		buf, times := make([]T, batch), make([]int64, batch)
		for n, rows := 0, c.share(sub, p); len(rows) > 0; n++ {
			k := copy(buf, rows)
			rows = rows[k:]
			for i := range times[:k] {
				times[i] = connector.NoTime
			}
			if err := w.Write(buf[:k], times[:k]); err != nil {
				t.Fatalf("Write: %v", err)
			}
			clear(buf) // the rows were the sink's during the call only
			if n%3 == 0 {
				if err := w.Flush(); err != nil {
					t.Fatalf("Flush: %v", err)
				}
			}
		}
		if finish {
			if err := w.Flush(); err != nil {
				t.Fatalf("Flush: %v", err)
			}
			if f, ok := w.(connector.Finisher); ok {
				if err := f.Finish(); err != nil {
					t.Fatalf("Finish: %v", err)
				}
			}
		}
		for range 2 {
			if err := w.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
		}
	}
}
