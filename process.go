package weir

import (
	"time"

	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/processop"
)

// ProcessFunc is a function from rows to any number of rows that sees a row's time, the watermark and side outputs. It may
// have the methods of Opener and Closer, too.
type ProcessFunc[T, U any] interface {
	// Process is called for each row. An error fails the job, with the operator and the row.
	Process(ctx *Context, row T, out Out[U]) error
}

// Opener is implemented by functions that prepare something before the first row.
type Opener interface{ Open(ctx *Context) error }

// Closer is implemented by functions that free something at the end, also after a failure.
type Closer interface{ Close() error }

// KeyedProcess is a function over a keyed stream, which may keep state and timers for each key. It may have the methods of
// KeyedOpener, TimerHandler and Closer, too.
type KeyedProcess[K, T, U any] interface {
	// Process is called for each row, with the row's key at work. An error fails the job, with the operator and the row.
	Process(ctx *KeyedContext[K], row T, out Out[U]) error
}

// KeyedOpener is implemented by keyed functions that open state, or prepare anything else, before the first row.
type KeyedOpener[K any] interface {
	Open(ctx *KeyedContext[K]) error
}

// TimerHandler is implemented by keyed functions that register timers.
type TimerHandler[K, U any] interface {
	// OnTimer is called for each timer that is due, in the order of their times, with the timer's key at work. Rows that it
	// emits have the time of an event-time timer, and none if the timer was one of processing time. What it registers for a
	// time that has come fires in the same pass.
	OnTimer(ctx *KeyedContext[K], t Timer, out Out[U]) error
}

// Timer is a timer that fires.
type Timer struct {
	// Time is what it was registered for.
	Time time.Time
	// Processing says that it is one of processing time, not of event time.
	Processing bool
}

// Process adds a process function. make makes the instance of each subtask; it is called once more while the plan is built, to
// check what it returns.
func (s Stream[T]) Process[U any](name string, make func() ProcessFunc[T, U]) Stream[U] {
	desc := probe(s.env, "Process", name, make, wants[Opener]("Open"), wants[Closer]("Close"))
	maker := operator.Maker(func() operator.Operator {
		return processop.New(func(rt *processop.Runtime, out *basic.Outlet[U]) (processop.Function, error) {
			f, ctx, o := make(), &Context{rt}, Out[U]{out}
			return plainHooks(f, ctx, processop.Rows(rt, func(row *T) error { return f.Process(ctx, *row, o) })), nil
		})
	})
	return streamOf[U](s.env, s.then(graph.Node{Name: name, Kind: "process", Desc: desc, OpenSides: true, Factory: maker}))
}

// ProcessEach is Process with a single function, which all subtasks share.
func (s Stream[T]) ProcessEach[U any](name string, f func(ctx *Context, row T, out Out[U]) error) Stream[U] {
	s.notNil(f == nil, "ProcessEach")
	return s.Process(name, func() ProcessFunc[T, U] { return processEach[T, U](f) })
}

type processEach[T, U any] func(ctx *Context, row T, out Out[U]) error

func (f processEach[T, U]) Process(ctx *Context, row T, out Out[U]) error { return f(ctx, row, out) }

// Process adds a process function that works by key. Its state is kept under name. make makes the instance of each subtask; it is
// called once more while the plan is built, to check what it returns.
func (k KeyedStream[K, T]) Process[U any](name string, make func() KeyedProcess[K, T, U]) Stream[U] {
	desc := probe(k.env, "Process", name, make, wants[KeyedOpener[K]]("Open"), wants[TimerHandler[K, U]]("OnTimer"), wants[Closer]("Close"))
	n := graph.Node{Name: name, Kind: "process", Desc: desc, OpenSides: true, Stateful: true, Keyed: true}
	if k.codec != nil {
		keys, key := k.codec, k.key
		n.Factory = operator.Maker(func() operator.Operator {
			return processop.NewKeyed(keys, func(rt *processop.Keyed[K], out *basic.Outlet[U]) (processop.Function, error) {
				f, ctx, o := make(), &KeyedContext[K]{Context{&rt.Runtime}, rt}, Out[U]{out}
				return keyedHooks(f, ctx, o, processop.KeyedRows(rt, key, func(row *T) error { return f.Process(ctx, *row, o) })), nil
			})
		})
	}
	return streamOf[U](k.env, k.then(n))
}

// ProcessEach is Process with a single function, which all subtasks share and which keeps no state.
func (k KeyedStream[K, T]) ProcessEach[U any](name string, f func(ctx *KeyedContext[K], row T, out Out[U]) error) Stream[U] {
	k.notNil(f == nil, "ProcessEach")
	return k.Process(name, func() KeyedProcess[K, T, U] { return keyedEach[K, T, U](f) })
}

type keyedEach[K, T, U any] func(ctx *KeyedContext[K], row T, out Out[U]) error

func (f keyedEach[K, T, U]) Process(ctx *KeyedContext[K], row T, out Out[U]) error {
	return f(ctx, row, out)
}

// plainHooks binds the optional methods of a function without keys.
func plainHooks(f any, ctx *Context, in ...processop.Input) processop.Function {
	fn := processop.Function{Inputs: in}
	if o, ok := f.(Opener); ok {
		fn.Open = func() error { return o.Open(ctx) }
	}
	if c, ok := f.(Closer); ok {
		fn.Close = c.Close
	}
	return fn
}

// keyedHooks binds the optional methods of a function that works by key.
func keyedHooks[K, U any](f any, ctx *KeyedContext[K], out Out[U], in ...processop.Input) processop.Function {
	fn := processop.Function{Inputs: in}
	if o, ok := f.(KeyedOpener[K]); ok {
		fn.Open = func() error { return o.Open(ctx) }
	}
	if h, ok := f.(TimerHandler[K, U]); ok {
		fn.OnTimer = func(t int64, processing bool) error {
			return h.OnTimer(ctx, Timer{Time: time.UnixMilli(t).UTC(), Processing: processing}, out)
		}
	}
	if c, ok := f.(Closer); ok {
		fn.Close = c.Close
	}
	return fn
}
