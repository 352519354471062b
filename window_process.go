package weir

import (
	"fmt"
	"iter"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/windowop"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// WindowFunction is a function that is called when a window fires. X is what it gets: the window's rows as iter.Seq[T]
// (WindowedStream.Process), or the result of an aggregation (AggregateProcess). It may have the methods of WindowOpener,
// WindowForgetter and Closer, too.
//
// A window may fire several times: early, at its end, and for late rows.
type WindowFunction[K, X, U any] interface {
	// Process is called for each firing. Rows that it emits have the window's maximum timestamp, which for the global window and
	// count windows is the end of time. An error fails the job, with the operator, the key and the window.
	Process(ctx *WindowContext[K], x X, out Out[U]) error
}

// WindowOpener is implemented by window functions that open state, or prepare anything else, before the first row.
type WindowOpener[K any] interface {
	Open(ctx *WindowContext[K]) error
}

// WindowForgetter is implemented by window functions that clean up when a window is over and its content forgotten: at its
// end, or behind it by the allowed lateness. State of the window is cleared without it.
type WindowForgetter[K any] interface {
	Forget(ctx *WindowContext[K]) error
}

// WindowContext is the Context of a window function. Its Timestamp is the window's maximum timestamp.
type WindowContext[K any] struct {
	Context
	c *windowop.Call[K]
}

// Key returns the key at work. There is none in Open and Close.
func (c *WindowContext[K]) Key() K {
	c.mustBeActive("Key")
	return c.c.Key
}

// Window returns the window at work. There is none in Open and Close.
func (c *WindowContext[K]) Window() window.Window {
	c.mustBeActive("Window")
	return c.c.Window
}

func (c *WindowContext[K]) mustBeActive(call string) {
	if !c.c.Active {
		panic(errs.New(errs.CodeUserFunction, errs.ClassUser, c.Operator(), "%s was called while there is no window at work", call))
	}
}

// KeyState opens a state by key, which all windows of the key share and which outlives them. Call it in Open and keep the
// handle, as with KeyedContext.State; it may be called in Process, too.
func (c *WindowContext[K]) KeyState[H any](d state.Descriptor[H]) H {
	return openIn(c, c.c.KeyStore(), d)
}

// WindowState opens a state by key and window, which is cleared when the window is forgotten. Sessions have none, because
// sessions merge and states do not.
func (c *WindowContext[K]) WindowState[H any](d state.Descriptor[H]) H {
	store, err := c.c.WindowStore()
	if err != nil {
		c.c.Fail(err)
		var none H
		return none
	}
	return openIn(c, store, d)
}

func openIn[K, H any](c *WindowContext[K], store state.Store, d state.Descriptor[H]) H {
	h, err := state.Open(store, d)
	if err != nil {
		c.c.Fail(errs.Wrap(err, "", 0, c.c.Op.Place(), "the state cannot be opened"))
	}
	return h
}

// Process calls a function with all rows of each window that fires, in the order of their arrival. The rows are kept until
// then; an aggregation (Aggregate, AggregateProcess) keeps less. make makes the instance of each subtask; it is called once
// more while the plan is built, to check what it returns.
func (w WindowedStream[K, T]) Process[U any](make func() WindowFunction[K, iter.Seq[T], U]) Stream[U] {
	probeWindow(w, "Process", make)
	b, err := window.Bind[T](w.spec)
	if err != nil {
		return refuse[K, T, U](w, err)
	}
	return withSides[K, T, U](w, func() operator.Operator {
		return windowop.NewGeneral(windowop.GeneralConfig[K, T, U]{Window: b, Key: w.in.key, Keys: w.in.codec, LateSide: w.lateSide,
			Function: windowop.Whole[K, T](windowHooks(make))})
	})
}

// withSides is result for functions with a context, which emit to side outputs of their own.
func withSides[K, T, U any](w WindowedStream[K, T], maker func() operator.Operator) Stream[U] {
	return result[K, T, U](w, maker).each(func(n *graph.Node) { n.OpenSides = true })
}

// Apply is Process with a single function, which all subtasks share.
func (w WindowedStream[K, T]) Apply[U any](f func(ctx *WindowContext[K], rows iter.Seq[T], out Out[U]) error) Stream[U] {
	w.in.notNil(f == nil, "Apply")
	return w.Process(func() WindowFunction[K, iter.Seq[T], U] { return windowApply[K, iter.Seq[T], U](f) })
}

// AggregateProcess aggregates rows as they come, and calls a function with the result of each window that fires. make is as
// in Process.
func (w WindowedStream[K, T]) AggregateProcess[A, R, U any](agg Aggregation[T, A, R], make func() WindowFunction[K, R, U]) Stream[U] {
	probeWindow(w, "AggregateProcess", make)
	b, err := window.Bind[T](w.spec)
	if missing := agg.problems(b != nil && b.Merging()); missing != "" {
		w.incomplete(missing)
	}
	if err != nil {
		return refuse[K, T, U](w, err)
	}
	fold := windowop.Aggregate[T, A, R]{Add: agg.Add, Merge: agg.Merge, Result: agg.Result}
	return withSides[K, T, U](w, func() operator.Operator {
		return windowop.NewGeneral(windowop.GeneralConfig[K, T, U]{Window: b, Key: w.in.key, Keys: w.in.codec, LateSide: w.lateSide,
			Function: windowop.Incremental[K](fold, false, windowHooks(make))})
	})
}

// AggregateApply is AggregateProcess with a single function, which all subtasks share.
func (w WindowedStream[K, T]) AggregateApply[A, R, U any](agg Aggregation[T, A, R], f func(ctx *WindowContext[K], r R, out Out[U]) error) Stream[U] {
	w.in.notNil(f == nil, "AggregateApply")
	return w.AggregateProcess(agg, func() WindowFunction[K, R, U] { return windowApply[K, R, U](f) })
}

func (w WindowedStream[K, T]) incomplete(missing string) {
	w.in.env.problem("graph.aggregate.incomplete", fmt.Sprintf("the aggregation of window %q has no %s function", w.name, missing),
		"set Add, Result, and for sliding and session windows Merge")
}

type windowApply[K, X, U any] func(ctx *WindowContext[K], x X, out Out[U]) error

func (f windowApply[K, X, U]) Process(ctx *WindowContext[K], x X, out Out[U]) error {
	return f(ctx, x, out)
}

// windowHooks binds an instance of a window function to its context.
func windowHooks[K, X, U any](make func() WindowFunction[K, X, U]) func(*windowop.Call[K], *basic.Outlet[U]) windowop.Hooks[X] {
	return func(c *windowop.Call[K], outlet *basic.Outlet[U]) windowop.Hooks[X] {
		f, ctx, out := make(), &WindowContext[K]{Context{c.Runtime}, c}, Out[U]{outlet}
		h := windowop.Hooks[X]{Fire: func(x X) error { return f.Process(ctx, x, out) }}
		if o, ok := f.(WindowOpener[K]); ok {
			h.Open = func() error { return o.Open(ctx) }
		}
		if o, ok := f.(WindowForgetter[K]); ok {
			h.Forget = func() error { return o.Forget(ctx) }
		}
		if o, ok := f.(Closer); ok {
			h.Close = o.Close
		}
		return h
	}
}

func probeWindow[K, T, X, U any](w WindowedStream[K, T], call string, make func() WindowFunction[K, X, U]) {
	probe(w.in.env, call, w.name, make, wants[WindowOpener[K]]("Open"), wants[WindowForgetter[K]]("Forget"), wants[Closer]("Close"))
}
