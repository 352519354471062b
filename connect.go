package weir

import (
	"fmt"

	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/processop"
)

// ConnectedStreams are two streams of different types that one operator reads. Rows of the two come in no particular
// order; the operator's watermark is the lower one of the two.
type ConnectedStreams[A, B any] struct {
	a Stream[A]
	b Stream[B]
}

// Connect puts two streams in front of one operator, which shares what it knows between them.
func (s Stream[T]) Connect[B any](other Stream[B]) ConnectedStreams[T, B] {
	sameEnv(s.env, other.env, "Connect")
	return ConnectedStreams[T, B]{s, other}
}

func sameEnv(a, b *Env, call string) {
	if a != b {
		a.problem("graph.connect.env", fmt.Sprintf("the streams of a %s belong to different environments", call), "build both on the env that build was given")
	}
}

// coProcess is how all connected functions are bound: one call for each gate.
func coProcess[A, B, U any](a Stream[A], b Stream[B], n graph.Node, bind func(ctx *Context, out Out[U]) (f any, onA func(row *A) error, onB func(row *B) error)) Stream[U] {
	n.Factory = operator.Maker(func() operator.Operator {
		return processop.New(func(rt *processop.Runtime, out *basic.Outlet[U]) (processop.Function, error) {
			ctx := &Context{rt}
			f, onA, onB := bind(ctx, Out[U]{out})
			return plainHooks(f, ctx, processop.Rows(rt, onA), processop.Rows(rt, onB)), nil
		})
	})
	if a.env != b.env {
		return streamOf[U](a.env, a.then(n)) // the plan is refused; what follows is checked all the same
	}
	return streamOf[U](a.env, a.then(n, a.edges(0), b.edges(1)))
}

// Map returns the stream of f of each row of the first stream and g of each row of the second.
func (c ConnectedStreams[A, B]) Map[U any](f func(A) U, g func(B) U) Stream[U] {
	c.a.notNil(f == nil || g == nil, "Map")
	return coProcess(c.a, c.b, graph.Node{Kind: "coMap"}, func(_ *Context, out Out[U]) (any, func(*A) error, func(*B) error) {
		return nil, func(row *A) error { out.Emit(f(*row)); return nil }, func(row *B) error { out.Emit(g(*row)); return nil }
	})
}

// FlatMap returns the stream of what f and g emit for the rows of the two streams.
func (c ConnectedStreams[A, B]) FlatMap[U any](f func(row A, out Out[U]), g func(row B, out Out[U])) Stream[U] {
	c.a.notNil(f == nil || g == nil, "FlatMap")
	return coProcess(c.a, c.b, graph.Node{Kind: "coFlatMap"}, func(_ *Context, out Out[U]) (any, func(*A) error, func(*B) error) {
		return nil, func(row *A) error { f(*row, out); return nil }, func(row *B) error { g(*row, out); return nil }
	})
}

// CoProcess is a function over two streams. It may have the methods of Opener and Closer, too. Both methods are called by
// one goroutine, never at once.
type CoProcess[A, B, U any] interface {
	// Process1 is called for each row of the first stream.
	Process1(ctx *Context, row A, out Out[U]) error
	// Process2 is called for each row of the second stream.
	Process2(ctx *Context, row B, out Out[U]) error
}

// Process adds a function over both streams. make makes the instance of each subtask; it is called once more while the plan is
// built, to check what it returns.
func (c ConnectedStreams[A, B]) Process[U any](name string, make func() CoProcess[A, B, U]) Stream[U] {
	desc := probe(c.a.env, "Process", name, make, wants[Opener]("Open"), wants[Closer]("Close"))
	n := graph.Node{Name: name, Kind: "coProcess", Desc: desc, OpenSides: true}
	return coProcess(c.a, c.b, n, func(ctx *Context, out Out[U]) (any, func(*A) error, func(*B) error) {
		f := make()
		return f, func(row *A) error { return f.Process1(ctx, *row, out) }, func(row *B) error { return f.Process2(ctx, *row, out) }
	})
}

// KeyedConnected are two streams that are keyed by the same type of key: rows of equal keys meet in one subtask and share
// state and timers.
type KeyedConnected[K, A, B any] struct {
	ConnectedStreams[A, B]
	x KeyedStream[K, A]
	y KeyedStream[K, B]
}

// Connect puts two keyed streams in front of one operator, which has one state for both.
func (k KeyedStream[K, T]) Connect[B any](other KeyedStream[K, B]) KeyedConnected[K, T, B] {
	return KeyedConnected[K, T, B]{k.Stream.Connect(other.Stream), k, other}
}

// KeyedCoProcess is a function over two keyed streams. It may have the methods of KeyedOpener, TimerHandler and Closer, too.
type KeyedCoProcess[K, A, B, U any] interface {
	// Process1 is called for each row of the first stream, with the row's key at work.
	Process1(ctx *KeyedContext[K], row A, out Out[U]) error
	// Process2 is called for each row of the second stream, with the row's key at work.
	Process2(ctx *KeyedContext[K], row B, out Out[U]) error
}

// Process adds a function over both streams, whose state is kept under name. make makes the instance of each subtask; it is
// called once more while the plan is built, to check what it returns.
func (c KeyedConnected[K, A, B]) Process[U any](name string, make func() KeyedCoProcess[K, A, B, U]) Stream[U] {
	env := c.x.env
	desc := probe(env, "Process", name, make, wants[KeyedOpener[K]]("Open"), wants[TimerHandler[K, U]]("OnTimer"), wants[Closer]("Close"))
	n := graph.Node{Name: name, Kind: "coProcess", Desc: desc, OpenSides: true, Stateful: true, Keyed: true}
	if keys := c.x.codec; keys != nil {
		keyA, keyB := c.x.key, c.y.key
		n.Factory = operator.Maker(func() operator.Operator {
			return processop.NewKeyed(keys, func(rt *processop.Keyed[K], out *basic.Outlet[U]) (processop.Function, error) {
				f, ctx, o := make(), &KeyedContext[K]{Context{&rt.Runtime}, rt}, Out[U]{out}
				return keyedHooks(f, ctx, o,
					processop.KeyedRows(rt, keyA, func(row *A) error { return f.Process1(ctx, *row, o) }),
					processop.KeyedRows(rt, keyB, func(row *B) error { return f.Process2(ctx, *row, o) })), nil
			})
		})
	}
	if c.x.env != c.y.env {
		return streamOf[U](env, c.x.then(n))
	}
	return streamOf[U](env, c.x.then(n, c.x.edges(0), c.y.edges(1)))
}
