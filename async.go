package weir

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/asyncop"
)

// Async says how asynchronous calls are made. Its zero value keeps the order of the rows, has up to 100 of them under way in
// each subtask, waits for each as long as it takes and calls once.
type Async struct {
	// Capacity bounds the rows under way in each subtask, those included that are done and wait for earlier ones. When it
	// is used up the operator takes no more rows. 0 is 100.
	Capacity int
	// Timeout bounds the time from a row's first call to its result, over all attempts and the waits between them. 0 is
	// without bound. A row that takes longer fails with ErrTimeout.
	Timeout time.Duration
	// Unordered emits results as they come. A row never overtakes a watermark, so event time stays right.
	Unordered bool
	// Retry says what becomes of a row whose call has failed.
	Retry Retry
}

// Retry says how often and when a failed call is made again. Its zero value does not.
type Retry struct {
	// Attempts bounds the calls for a row, the first included. 0 and 1 are no retry.
	Attempts int
	// Backoff returns the wait after the failed attempt of that number, counted from 1. nil is no wait.
	Backoff func(attempt int) time.Duration
	// If says which errors are worth another attempt. nil is all.
	If func(error) bool
}

// ErrTimeout is what errors.Is finds in the error of a row whose calls took longer than Async.Timeout.
var ErrTimeout = asyncop.ErrTimeout

// FixedBackoff waits d after each attempt.
func FixedBackoff(d time.Duration) func(attempt int) time.Duration {
	return func(int) time.Duration { return d }
}

// ExponentialBackoff waits first after the first attempt, factor times as long after each further one, and never longer
// than most.
func ExponentialBackoff(first, most time.Duration, factor float64) func(attempt int) time.Duration {
	return func(attempt int) time.Duration {
		if d := float64(first) * math.Pow(factor, float64(attempt-1)); d < float64(most) {
			return time.Duration(d)
		}
		return most
	}
}

// AsyncMap calls f for each row on a goroutine of its own, up to Async.Capacity at once, and returns the stream of what the
// calls return. A row's result has the row's event time. An error, or a panic, fails the job with the operator and the row.
//
// The context ends when the row times out or the job is cancelled. A function that goes on nevertheless is not waited for:
// it keeps its goroutine, and what it returns is dropped. f is called from many goroutines at once.
func (s Stream[T]) AsyncMap[U any](name string, opts Async, f func(ctx context.Context, v T) (U, error)) Stream[U] {
	s.notNil(f == nil, "AsyncMap")
	return asyncStream(s, name, opts, oneResult(f), nil)
}

// AsyncMapOr is AsyncMap with a function for the rows that fail for good: its result takes the place of the row's, or its
// error fails the job. It gets the error, which is ErrTimeout among others, and may return it. It must not block. Panics
// fail the job in any case.
func (s Stream[T]) AsyncMapOr[U any](name string, opts Async, f func(ctx context.Context, v T) (U, error), or func(v T, err error) (U, error)) Stream[U] {
	s.notNil(f == nil || or == nil, "AsyncMapOr")
	return asyncStream(s, name, opts, oneResult(f), func(v T, err error, dst []U) ([]U, error) {
		u, err := or(v, err)
		return append(dst, u), err
	})
}

// AsyncFlatMap is AsyncMap with a function that returns any number of results.
func (s Stream[T]) AsyncFlatMap[U any](name string, opts Async, f func(ctx context.Context, v T) ([]U, error)) Stream[U] {
	s.notNil(f == nil, "AsyncFlatMap")
	return asyncStream(s, name, opts, func(ctx context.Context, v T, _ []U) ([]U, error) { return f(ctx, v) }, nil)
}

func oneResult[T, U any](f func(context.Context, T) (U, error)) func(context.Context, T, []U) ([]U, error) {
	return func(ctx context.Context, v T, dst []U) ([]U, error) {
		u, err := f(ctx, v)
		return append(dst, u), err
	}
}

func asyncStream[T, U any](s Stream[T], name string, opts Async, call func(context.Context, T, []U) ([]U, error),
	fallback func(T, error, []U) ([]U, error)) Stream[U] {
	bad := func(what string, v any) {
		s.env.problem("graph.async", fmt.Sprintf("async operator %q: %s is %v", name, what, v), "leave the field out for its default")
	}
	if opts.Capacity < 0 {
		bad("the capacity", opts.Capacity)
	}
	if opts.Timeout < 0 || opts.Timeout%time.Millisecond != 0 {
		bad("the timeout, which counts in milliseconds,", opts.Timeout)
	}
	if opts.Retry.Attempts < 0 {
		bad("the number of attempts", opts.Retry.Attempts)
	}
	if opts.Capacity == 0 {
		opts.Capacity = 100
	}
	cfg := asyncop.Config[T, U]{Call: call, Fallback: fallback, Capacity: opts.Capacity, Timeout: opts.Timeout, Unordered: opts.Unordered,
		Attempts: opts.Retry.Attempts, Backoff: opts.Retry.Backoff, RetryIf: opts.Retry.If}
	return streamOf[U](s.env, s.then(graph.Node{Name: name, Kind: "async", Stateful: true, Chaining: graph.ChainHead, Desc: opts.describe(),
		Factory: operator.Maker(func() operator.Operator { return asyncop.New(cfg) })}))
}

// describe writes the options as they stand in plans.
func (a Async) describe() string {
	text := fmt.Sprintf("ordered, capacity %d", a.Capacity)
	if a.Unordered {
		text = "un" + text
	}
	if a.Timeout > 0 {
		text += fmt.Sprintf(", timeout %v", a.Timeout)
	}
	if a.Retry.Attempts > 1 {
		text += fmt.Sprintf(", %d attempts", a.Retry.Attempts)
	}
	return text
}
