package weir

import (
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/processop"
	"github.com/weir-stream/weir/state"
)

// BroadcastReader is the Context in which broadcast state can be read.
type BroadcastReader struct{ Context }

// Broadcast returns a broadcast state, for reading.
func (c *BroadcastReader) Broadcast[K, V any](d state.BroadcastDescriptor[K, V]) state.BroadcastReader[K, V] {
	return broadcastState(c.rt, d).BroadcastReader
}

// BroadcastContext is the Context of a broadcast row, in which broadcast state can be changed.
type BroadcastContext struct{ Context }

// Broadcast returns a broadcast state.
func (c *BroadcastContext) Broadcast[K, V any](d state.BroadcastDescriptor[K, V]) state.Broadcast[K, V] {
	return broadcastState(c.rt, d)
}

// OpenBroadcast opens a broadcast state in Open, so that a start from a savepoint compares its types with those of the savepoint
// before anything runs. Without it that is done when the state is first used.
func (c *Context) OpenBroadcast[K, V any](d state.BroadcastDescriptor[K, V]) {
	if _, err := state.OpenBroadcast(&c.rt.Broadcasts, d); err != nil {
		c.rt.Fail(errs.Wrap(err, errs.CodeSchema, errs.ClassUser, c.rt.Op.Place(), "the broadcast state cannot be opened"))
	}
}

func broadcastState[K, V any](rt *processop.Runtime, d state.BroadcastDescriptor[K, V]) state.Broadcast[K, V] {
	s, err := state.OpenBroadcast(&rt.Broadcasts, d)
	if err != nil {
		panic(errs.Wrap(err, errs.CodeSchema, errs.ClassUser, rt.Op.Place(), "the broadcast state cannot be opened"))
	}
	return s
}

// KeyedBroadcastReader is the KeyedContext in which broadcast state can be read.
type KeyedBroadcastReader[K any] struct{ KeyedContext[K] }

// Broadcast returns a broadcast state, for reading.
func (c *KeyedBroadcastReader[K]) Broadcast[RK, RV any](d state.BroadcastDescriptor[RK, RV]) state.BroadcastReader[RK, RV] {
	return broadcastState(c.rt, d).BroadcastReader
}

// KeyedBroadcastContext is the Context of a broadcast row beside a keyed stream. There is no key at work.
type KeyedBroadcastContext[K any] struct {
	BroadcastContext
	k *processop.Keyed[K]
}

// ApplyToKeys calls f for every key of this subtask that has state behind the handle h, with that key at work: f may use
// and change all of its state. The keys come in no particular order.
func (c *KeyedBroadcastContext[K]) ApplyToKeys(h state.Handle, f func(key K) error) error {
	return c.k.AtKeys(h, func() error {
		key, _ := c.k.Key()
		return f(key)
	})
}

// BroadcastConnected is a stream beside one whose rows go to every subtask.
type BroadcastConnected[T, B any] struct {
	rows Stream[T]
	all  Stream[B]
}

// ConnectBroadcast puts the stream in front of an operator whose every subtask gets all rows of another stream, such as rules
// to apply.
func (s Stream[T]) ConnectBroadcast[B any](rules Stream[B]) BroadcastConnected[T, B] {
	sameEnv(s.env, rules.env, "ConnectBroadcast")
	return BroadcastConnected[T, B]{s, rules.Broadcast()}
}

// BroadcastProcess is a function over a stream and a broadcast one. It may have the methods of Opener and Closer, too.
type BroadcastProcess[T, B, U any] interface {
	// Process is called for each row. It may read the broadcast state.
	Process(ctx *BroadcastReader, row T, out Out[U]) error
	// ProcessBroadcast is called for each broadcast row in every subtask. It may change the broadcast state.
	ProcessBroadcast(ctx *BroadcastContext, row B, out Out[U]) error
}

// Process adds a function over both streams, whose broadcast state is kept under name. make makes the instance of each subtask;
// it is called once more while the plan is built, to check what it returns.
func (c BroadcastConnected[T, B]) Process[U any](name string, make func() BroadcastProcess[T, B, U]) Stream[U] {
	desc := probe(c.rows.env, "Process", name, make, wants[Opener]("Open"), wants[Closer]("Close"))
	n := graph.Node{Name: name, Kind: "broadcastProcess", Desc: desc, OpenSides: true, Stateful: true}
	return coProcess(c.rows, c.all, n, func(ctx *Context, out Out[U]) (any, func(*T) error, func(*B) error) {
		f, read, write := make(), &BroadcastReader{*ctx}, &BroadcastContext{*ctx}
		return f, func(row *T) error { return f.Process(read, *row, out) }, func(row *B) error { return f.ProcessBroadcast(write, *row, out) }
	})
}

// KeyedBroadcastConnected is a keyed stream beside one whose rows go to every subtask.
type KeyedBroadcastConnected[K, T, B any] struct {
	rows KeyedStream[K, T]
	all  Stream[B]
}

// ConnectBroadcast puts the keyed stream in front of an operator whose every subtask gets all rows of another stream, such as
// rules to apply.
func (k KeyedStream[K, T]) ConnectBroadcast[B any](rules Stream[B]) KeyedBroadcastConnected[K, T, B] {
	sameEnv(k.env, rules.env, "ConnectBroadcast")
	return KeyedBroadcastConnected[K, T, B]{k, rules.Broadcast()}
}

// KeyedBroadcastProcess is a function over a keyed stream and a broadcast one. It may have the methods of KeyedOpener,
// KeyedBroadcastTimer and Closer, too.
type KeyedBroadcastProcess[K, T, B, U any] interface {
	// Process is called for each row, with the row's key at work. It may read the broadcast state.
	Process(ctx *KeyedBroadcastReader[K], row T, out Out[U]) error
	// ProcessBroadcast is called for each broadcast row in every subtask. It may change the broadcast state.
	ProcessBroadcast(ctx *KeyedBroadcastContext[K], row B, out Out[U]) error
}

// KeyedBroadcastTimer is what TimerHandler is for a KeyedBroadcastProcess.
type KeyedBroadcastTimer[K, U any] interface {
	OnTimer(ctx *KeyedBroadcastReader[K], t Timer, out Out[U]) error
}

// Process adds a function over both streams, whose state is kept under name. make makes the instance of each subtask; it is
// called once more while the plan is built, to check what it returns.
func (c KeyedBroadcastConnected[K, T, B]) Process[U any](name string, make func() KeyedBroadcastProcess[K, T, B, U]) Stream[U] {
	env := c.rows.env
	desc := probe(env, "Process", name, make, wants[KeyedOpener[K]]("Open"), wants[KeyedBroadcastTimer[K, U]]("OnTimer"), wants[Closer]("Close"))
	n := graph.Node{Name: name, Kind: "broadcastProcess", Desc: desc, OpenSides: true, Stateful: true, Keyed: true}
	if keys := c.rows.codec; keys != nil {
		key := c.rows.key
		n.Factory = operator.Maker(func() operator.Operator {
			return processop.NewKeyed(keys, func(rt *processop.Keyed[K], out *basic.Outlet[U]) (processop.Function, error) {
				return bindKeyedBroadcast(rt, Out[U]{out}, key, make()), nil
			})
		})
	}
	if env != c.all.env {
		return streamOf[U](env, c.rows.then(n))
	}
	return streamOf[U](env, c.rows.then(n, c.rows.edges(0), c.all.edges(1)))
}

func bindKeyedBroadcast[K, T, B, U any](rt *processop.Keyed[K], o Out[U], key func(T) K, f KeyedBroadcastProcess[K, T, B, U]) processop.Function {
	keyed := KeyedContext[K]{Context{&rt.Runtime}, rt}
	read := &KeyedBroadcastReader[K]{keyed}
	write := &KeyedBroadcastContext[K]{BroadcastContext{keyed.Context}, rt}
	fn := keyedHooks(f, &keyed, o,
		processop.KeyedRows(rt, key, func(row *T) error { return f.Process(read, *row, o) }),
		processop.Rows(&rt.Runtime, func(row *B) error { return f.ProcessBroadcast(write, *row, o) }))
	if h, ok := f.(KeyedBroadcastTimer[K, U]); ok {
		fn.OnTimer = func(t int64, processing bool) error {
			return h.OnTimer(read, Timer{Time: time.UnixMilli(t).UTC(), Processing: processing}, o)
		}
	}
	return fn
}
