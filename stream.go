package weir

import (
	"fmt"
	"slices"

	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
)

// Stream is a stream of rows of type T. It is a small value: copy it, use it for any number of consumers.
//
// A consumer gets its own copy of each row, but what a row points to (slices, maps, pointers) is shared between consumers
// and must not be changed by any of them.
type Stream[T any] struct {
	env     *Env
	origins []origin
	part    graph.Partition
}

// origin is one output that feeds the stream; a union has several.
type origin struct {
	node *graph.Node
	side string
}

func streamOf[T any](env *Env, n *graph.Node) Stream[T] {
	return Stream[T]{env: env, origins: []origin{{node: n}}}
}

// edges returns the stream's origins as inputs of a consumer's gate.
func (s Stream[T]) edges(gate int) []graph.Edge {
	out := make([]graph.Edge, len(s.origins))
	for i, o := range s.origins {
		out[i] = graph.Edge{From: o.node.ID, Input: gate, Side: o.side, Partition: s.part, Type: typeName[T](),
			Codec: operator.CodecMaker(basic.RecordsCodec[T])}
	}
	return out
}

// then adds a one-input operator behind the stream.
func (s Stream[T]) then(n graph.Node, gates ...[]graph.Edge) *graph.Node {
	if gates == nil {
		gates = [][]graph.Edge{s.edges(0)}
	}
	if s.env == nil {
		panic("weir: this Stream is the zero value and belongs to no job: begin with weir.From")
	}
	n.Inputs = slices.Concat(gates...)
	return s.env.add(n)
}

// Name names the operator that produces the stream, for plans, metrics and messages. Stateful operators get their name
// from the call that makes them instead.
func (s Stream[T]) Name(name string) Stream[T] {
	return s.each(func(n *graph.Node) { n.Name = name })
}

// UID gives the operator an identity for its state that differs from its name, so that it can be renamed.
func (s Stream[T]) UID(uid string) Stream[T] {
	return s.each(func(n *graph.Node) { n.UID = uid })
}

// Parallelism sets how many subtasks the operator that produces the stream has.
func (s Stream[T]) Parallelism(n int) Stream[T] {
	if n < 1 || n > graph.MaxParallelism {
		s.env.problem("graph.parallelism.range", fmt.Sprintf("parallelism %d is out of range", n),
			fmt.Sprintf("choose 1 to %d, or leave the call out for the job's default", graph.MaxParallelism))
		return s
	}
	return s.each(func(node *graph.Node) { node.Parallelism = n })
}

// MaxParallelism bounds the parallelism that the operator may ever run with.
func (s Stream[T]) MaxParallelism(n int) Stream[T] {
	if n < 1 || n > graph.MaxParallelism {
		s.env.problem("graph.parallelism.max", fmt.Sprintf("maximum parallelism %d is out of range", n),
			fmt.Sprintf("choose 1 to %d, or leave the call out to have no limit of your own", graph.MaxParallelism))
		return s
	}
	return s.each(func(node *graph.Node) { node.MaxParallelism = n })
}

// DisableChaining gives the operator a task of its own.
func (s Stream[T]) DisableChaining() Stream[T] {
	return s.each(func(n *graph.Node) { n.Chaining = graph.ChainNever })
}

// StartNewChain keeps the operator out of its producer's task; operators behind it may join it.
func (s Stream[T]) StartNewChain() Stream[T] {
	return s.each(func(n *graph.Node) { n.Chaining = graph.ChainHead })
}

// SlotGroup puts the operator into a slot sharing group: tasks of different groups never share a slot.
func (s Stream[T]) SlotGroup(group string) Stream[T] {
	return s.each(func(n *graph.Node) { n.SlotGroup = group })
}

func (s Stream[T]) each(f func(*graph.Node)) Stream[T] {
	for _, o := range s.origins {
		f(o.node)
	}
	return s
}

// Union returns a stream of the rows of both, in no particular order.
func (s Stream[T]) Union(others ...Stream[T]) Stream[T] {
	u := Stream[T]{env: s.env, origins: slices.Clone(s.origins), part: s.part}
	for _, o := range others {
		if o.env != s.env {
			s.env.problem("graph.union.env", "the streams of a union belong to different environments", "build both on the env that build was given")
			continue
		}
		u.origins = append(u.origins, o.origins...)
	}
	return u
}
