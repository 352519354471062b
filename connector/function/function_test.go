package function_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/function"
)

// start opens the source and gives its reader all splits.
func start(t *testing.T, ctx context.Context, src connector.Source[int]) connector.Reader[int] {
	t.Helper()
	e, err := src.Enumerator(connector.EnumeratorContext{Ctx: ctx, Parallelism: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Reader(connector.ReaderContext{Ctx: ctx, Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	for {
		s, ok, _, _, err := e.Next(0)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return r
		}
		if err := r.AddSplit(s); err != nil {
			t.Fatal(err)
		}
	}
}

// drain polls until the split is done or fails.
func drain(t *testing.T, r connector.Reader[int]) (rows []int, err error) {
	t.Helper()
	for {
		b := connector.Batch[int]{Rows: make([]int, 0, 100)}
		_, st, err := r.Poll(&b)
		rows = append(rows, b.Rows...)
		if err != nil || st == connector.SplitDone {
			return rows, err
		}
		if st == connector.Waiting {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			if err := r.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
	}
}

func TestEndsWithAnErrorOrPanic(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name, want string
		end        func() error
	}{
		{"error", "the source function failed: broken", func() error { return broken }},
		{"panic", "the source function panicked: oh no", func() error { panic("oh no") }},
	} {
		r := start(t, context.Background(), function.Source(func(_ context.Context, emit func(int) error) error {
			for i := range 5000 {
				if err := emit(i); err != nil {
					return err
				}
			}
			return c.end()
		}))
		rows, err := drain(t, r)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(rows) != 5000 {
			t.Errorf("%s: %d rows, %v", c.name, len(rows), err)
		}
		if c.name == "error" && !errors.Is(err, broken) {
			t.Error("the cause is lost")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A function that nobody reads waits in emit, and Close ends it.
func TestBackpressureAndCancel(t *testing.T) {
	ended := make(chan error, 1)
	emitted := 0
	r := start(t, context.Background(), function.Source(func(_ context.Context, emit func(int) error) (err error) {
		for err == nil {
			if err = emit(emitted); err == nil {
				emitted++
			}
		}
		ended <- err
		return err
	}))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("emit returns %v", err)
	}
	if emitted > 5000 {
		t.Errorf("%d rows were taken although nobody reads", emitted)
	}
}

// A row reaches the reader although the function then does nothing for a long time.
func TestNoRowIsHeldBack(t *testing.T) {
	r := start(t, context.Background(), function.Source(func(ctx context.Context, emit func(int) error) error {
		if err := emit(7); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	for {
		b := connector.Batch[int]{Rows: make([]int, 0, 100)}
		_, st, err := r.Poll(&b)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Rows) == 1 && b.Rows[0] == 7 {
			break
		}
		if st == connector.Waiting {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			if err := r.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCheck(t *testing.T) {
	for _, s := range []any{function.Source[int](nil), function.Parallel(0, func(context.Context, int, int, func(int) error) error { return nil }), function.Sink[int](nil), function.BatchSink[int](nil)} {
		if s.(connector.Checker).Check() == nil {
			t.Errorf("%T passes", s)
		}
	}
	src := function.Parallel(3, func(context.Context, int, int, func(int) error) error { return nil }, function.Bounded())
	if src.Boundedness() != connector.Bounded || src.(connector.MaxParallelism).MaxParallelism() != 3 || function.Source(func(context.Context, func(int) error) error { return nil }).Boundedness() != connector.Unbounded {
		t.Error("boundedness or parallelism is wrong")
	}
}

func BenchmarkEmit(b *testing.B) {
	n := b.N
	src := function.Source(func(_ context.Context, emit func(int) error) error {
		for i := range n {
			if err := emit(i); err != nil {
				return err
			}
		}
		return nil
	})
	e, err := src.Enumerator(connector.EnumeratorContext{Ctx: context.Background(), Parallelism: 1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	r, err := src.Reader(connector.ReaderContext{Ctx: context.Background(), Parallelism: 1})
	if err != nil {
		b.Fatal(err)
	}
	s, _, _, _, _ := e.Next(0)
	b.ReportAllocs()
	b.ResetTimer()
	if err := r.AddSplit(s); err != nil {
		b.Fatal(err)
	}
	rows := make([]int, 0, 256)
	for got := 0; got < n; {
		batch := connector.Batch[int]{Rows: rows}
		_, st, err := r.Poll(&batch)
		if err != nil {
			b.Fatal(err)
		}
		if got += len(batch.Rows); st == connector.Waiting {
			if err := r.Wait(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
