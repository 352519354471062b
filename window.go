package weir

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/windowop"
	"github.com/weir-stream/weir/window"
)

// WindowedStream is a keyed stream cut into windows. A call of Aggregate, Reduce or Process says what is made of each
// window and returns to a Stream.
type WindowedStream[K, T any] struct {
	in       KeyedStream[K, T]
	name     string
	spec     window.Spec
	lateSide string
	all      bool
}

// Windowed is a window's result for a key. As a row its event time is the window's maximum timestamp.
type Windowed[K, R any] struct {
	Key    K             `json:"key"`
	Window window.Window `json:"window"`
	Value  R             `json:"value"`
}

// Start returns the instant at which the window begins.
func (w Windowed[K, R]) Start() time.Time { return w.Window.StartTime() }

// End returns the instant at which the window ends; it does not belong to the window any more.
func (w Windowed[K, R]) End() time.Time { return w.Window.EndTime() }

// Window cuts the stream into windows. The operator that the next call adds keeps its state under name.
func (k KeyedStream[K, T]) Window(name string, spec window.Spec) WindowedStream[K, T] {
	return WindowedStream[K, T]{in: k, name: name, spec: spec}
}

// WindowAll cuts the whole stream, without regard to keys, into windows. They are computed by one subtask.
func (s Stream[T]) WindowAll[S ~string](name S, spec window.Spec) WindowedStream[struct{}, T] {
	k := s.KeyBy(func(T) struct{} { return struct{}{} })
	return WindowedStream[struct{}, T]{in: k, name: string(name), spec: spec, all: true}
}

// SideLate sends late rows to a side output, which the result stream's Side reads, instead of only counting them.
func (w WindowedStream[K, T]) SideLate(tag Tag[T]) WindowedStream[K, T] {
	w.lateSide = tag.name
	return w
}

// Aggregation turns rows T into a result R by way of an accumulator A, which begins as its zero value and is changed in place.
// An accumulator without strings, slices and pointers costs least: it lies in the state table itself.
type Aggregation[T, A, R any] struct {
	// Add adds a row to the accumulator.
	Add func(acc *A, row T)
	// Merge adds what from has gathered to acc. Sliding and session windows need it. It must not keep or change from.
	Merge func(acc, from *A)
	// Result reads the result. It may be called several times.
	Result func(acc *A) R
}

func (a Aggregation[T, A, R]) problems(merge bool) string {
	switch {
	case a.Add == nil:
		return "Add"
	case a.Result == nil:
		return "Result"
	case merge && a.Merge == nil:
		return "Merge"
	}
	return ""
}

// Aggregate emits the result of an aggregation for each key and window when the window fires.
func (w WindowedStream[K, T]) Aggregate[A, R any](agg Aggregation[T, A, R]) Stream[Windowed[K, R]] {
	b, err := window.Bind[T](w.spec)
	if missing := agg.problems(b != nil && (b.Merging() || b.Grid != nil && b.Grid.Sliced())); missing != "" {
		w.incomplete(missing)
	}
	if err != nil {
		return refuse[K, T, Windowed[K, R]](w, err)
	}
	return aggregated(w, b, agg, false, func(k K, win window.Window, r R) Windowed[K, R] { return Windowed[K, R]{Key: k, Window: win, Value: r} })
}

// aggregated adds the window operator. A function of its own, since a method that returned rows made of T for every T
// would be an endless type.
func aggregated[K, T, A, R, U any](w WindowedStream[K, T], b *window.Bound[T], agg Aggregation[T, A, R], needsRows bool, make func(K, window.Window, R) U) Stream[U] {
	if b == nil {
		return result[K, T, U](w, nil)
	}
	cfg := windowop.Config[K, T, A, R, U]{Window: b, Key: w.in.key, Keys: w.in.codec, Make: make, LateSide: w.lateSide, NeedsRows: needsRows,
		Aggregate: windowop.Aggregate[T, A, R]{Add: agg.Add, Merge: agg.Merge, Result: agg.Result}}
	return result[K, T, U](w, func() operator.Operator { return windowop.New(cfg) })
}

// Reduce emits, for each key and window, its rows combined by f, which must be associative. (Aggregate with Reducing(f)
// gives the key and the window, too.)
func (w WindowedStream[K, T]) Reduce[F ~func(a, b T) T](f F) Stream[T] {
	w.in.notNil(f == nil, "Reduce")
	b, err := window.Bind[T](w.spec)
	if err != nil {
		return refuse[K, T, T](w, err)
	}
	return aggregated(w, b, Reducing[T](f), true, func(_ K, _ window.Window, v T) T { return v })
}

// refuse records that the window cannot be, and returns a stream to go on with, so that further problems are found.
func refuse[K, T, U any](w WindowedStream[K, T], err error) Stream[U] {
	w.in.env.problem("graph.window", fmt.Sprintf("window %q: %v", w.name, err), "")
	return result[K, T, U](w, nil)
}

func result[K, T, U any](w WindowedStream[K, T], maker operator.Maker) Stream[U] {
	n := graph.Node{Name: w.name, Kind: "window", Stateful: true, Keyed: true, Desc: w.spec.String(), Factory: maker}
	if w.all {
		n.Kind, n.MaxParallelism = "windowAll", 1
	}
	if w.lateSide != "" {
		declare(&n, Tag[T]{name: w.lateSide})
	}
	return streamOf[U](w.in.env, w.in.then(n))
}
