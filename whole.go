package weir

import (
	"fmt"
	"slices"

	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/partitionop"
)

// partitionMemory is how much state a subtask of a whole-partition operator may have unless Memory says otherwise.
const partitionMemory = 128 << 20

// FullPartition is a bounded stream of which each subtask's rows are looked at as a whole, when the input has ended. Map and
// Sort keep all rows in memory, encoded, and need about as much again at the end; Reduce and Aggregate keep a value.
//
// Watermarks are held back until the end. Sorted rows keep their times; other results have the latest time of the partition.
type FullPartition[T any] struct{ p partition[struct{}, T] }

// KeyedFullPartition is FullPartition with the rows of each key for a partition.
type KeyedFullPartition[K, T any] struct{ p partition[K, T] }

// partition is what both are made of.
type partition[K, T any] struct {
	in     Stream[T]
	keys   partitionop.Keys[K, T]
	name   string
	memory int64
}

// FullPartition looks at each subtask's rows as a whole, when the input has ended. The operator that the next call adds
// keeps its state under name.
func (s Stream[T]) FullPartition(name string) FullPartition[T] {
	return FullPartition[T]{partition[struct{}, T]{in: s, name: name, memory: partitionMemory}}
}

// FullPartition looks at all rows of a key as a whole, when the input has ended. The operator that the next call adds keeps
// its state under name.
func (k KeyedStream[K, T]) FullPartition(name string) KeyedFullPartition[K, T] {
	return KeyedFullPartition[K, T]{partition[K, T]{in: k.Stream, name: name, memory: partitionMemory,
		keys: partitionop.Keys[K, T]{Select: k.key, Codec: k.codec}}}
}

// Memory bounds the bytes of state of a subtask, 128 MiB by default. Nothing is written to disk: a partition that is larger
// fails the job.
func (f FullPartition[T]) Memory(bytes int64) FullPartition[T] {
	f.p.memory = bytes
	return f
}

// Memory bounds the bytes of state of a subtask, 128 MiB by default. Nothing is written to disk: partitions that are larger
// together fail the job.
func (f KeyedFullPartition[K, T]) Memory(bytes int64) KeyedFullPartition[K, T] {
	f.p.memory = bytes
	return f
}

// Map calls f with all rows of the subtask, in the order of arrival. rows may be changed, and is used again after the call.
func (f FullPartition[T]) Map[U any](do func(rows []T, out Out[U])) Stream[U] {
	f.p.in.notNil(do == nil, "Map")
	return wholePartition(f.p, "mapPartition", func(_ struct{}, rows []T, _ []int64, out *basic.Outlet[U]) error {
		do(rows, Out[U]{out})
		return nil
	})
}

// Map calls f with all rows of a key, in the order of arrival. rows may be changed, and is used again after the call.
func (f KeyedFullPartition[K, T]) Map[U any](do func(key K, rows []T, out Out[U])) Stream[U] {
	f.p.in.notNil(do == nil, "Map")
	return wholePartition(f.p, "mapPartition", func(key K, rows []T, _ []int64, out *basic.Outlet[U]) error {
		do(key, rows, Out[U]{out})
		return nil
	})
}

// Sort emits the rows of each subtask in the order of compare, equal ones in the order of arrival.
func (f FullPartition[T]) Sort(compare func(a, b T) int) Stream[T] {
	return sortPartition(f.p, compare)
}

// Sort emits the rows of each key in the order of compare, equal ones in the order of arrival.
func (f KeyedFullPartition[K, T]) Sort(compare func(a, b T) int) Stream[T] {
	return sortPartition(f.p, compare)
}

func sortPartition[K, T any](p partition[K, T], compare func(a, b T) int) Stream[T] {
	p.in.notNil(compare == nil, "Sort")
	return wholePartition(p, "sortPartition", func(_ K, rows []T, times []int64, out *basic.Outlet[T]) error {
		order := make([]int32, len(rows))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int { return compare(rows[a], rows[b]) })
		for _, i := range order {
			out.EmitAt(rows[i], times[i])
		}
		return nil
	})
}

// Reduce emits the rows of each subtask combined by combine, in the order of arrival. A subtask without rows emits nothing.
func (f FullPartition[T]) Reduce(combine func(a, b T) T) Stream[T] {
	f.p.in.notNil(combine == nil, "Reduce")
	agg := Reducing(combine)
	return foldPartition(f.p, "reducePartition", agg.Add, func(_ struct{}, acc *FirstState[T]) T { return acc.Value })
}

// Reduce emits the rows of each key combined by combine, in the order of arrival.
func (f KeyedFullPartition[K, T]) Reduce(combine func(a, b T) T) Stream[T] {
	f.p.in.notNil(combine == nil, "Reduce")
	agg := Reducing(combine)
	return foldPartition(f.p, "reducePartition", agg.Add, func(_ K, acc *FirstState[T]) T { return acc.Value })
}

// Aggregate emits the result of an aggregation for each subtask that has rows.
func (f FullPartition[T]) Aggregate[A, R any](agg Aggregation[T, A, R]) Stream[R] {
	return foldPartition(f.p, "aggregatePartition", agg.Add, func(_ struct{}, acc *A) R { return agg.Result(acc) }, agg.problems(false))
}

// Aggregate emits the result of an aggregation for each key.
func (f KeyedFullPartition[K, T]) Aggregate[A, R any](agg Aggregation[T, A, R]) Stream[Keyed[K, R]] {
	return foldPartition(f.p, "aggregatePartition", agg.Add, func(key K, acc *A) Keyed[K, R] { return Keyed[K, R]{key, agg.Result(acc)} }, agg.problems(false))
}

func wholePartition[K, T, U any](p partition[K, T], kind string, apply func(key K, rows []T, times []int64, out *basic.Outlet[U]) error) Stream[U] {
	cfg := partitionop.WholeConfig[K, T, U]{Keys: p.keys, Limit: p.memory, Apply: apply}
	return addPartition[K, T, U](p, kind, func() operator.Operator { return partitionop.NewWhole(cfg) })
}

// foldPartition adds an operator with an accumulator. missing names functions that the user has left out.
func foldPartition[K, T, A, U any](p partition[K, T], kind string, add func(*A, T), result func(K, *A) U, missing ...string) Stream[U] {
	for _, name := range missing {
		if name != "" {
			p.in.env.problem("graph.aggregate.incomplete", fmt.Sprintf("the aggregation of partition %q has no %s function", p.name, name), "set Add and Result")
		}
	}
	cfg := partitionop.FoldConfig[K, T, A, U]{Keys: p.keys, Limit: p.memory, Add: add, Result: result}
	return addPartition[K, T, U](p, kind, func() operator.Operator { return partitionop.NewFold(cfg) })
}

func addPartition[K, T, U any](p partition[K, T], kind string, maker operator.Maker) Stream[U] {
	env := p.in.env
	if p.memory < 1 {
		env.problem("graph.partition.memory", fmt.Sprintf("partition %q: the memory is %d bytes", p.name, p.memory), "leave Memory out for 128 MiB")
	}
	for _, o := range p.in.origins {
		if src := env.unbounded(o.node, map[int]bool{}); src != nil {
			env.problem("graph.partition.unbounded", fmt.Sprintf("partition %q never ends, because source %q is unbounded", p.name, src.Label()),
				"use windows, or read the source as a bounded one")
		}
	}
	return streamOf[U](env, p.in.then(graph.Node{Name: p.name, Kind: kind, Stateful: true, Keyed: p.keys.Select != nil, Factory: maker}))
}

// unbounded returns a source without end that n reads from, or nil.
func (e *Env) unbounded(n *graph.Node, seen map[int]bool) *graph.Node {
	if seen[n.ID] {
		return nil
	}
	seen[n.ID] = true
	if n.Source && !n.Bounded {
		return n
	}
	for _, in := range n.Inputs {
		if from := e.g.Node(in.From); from != nil {
			if src := e.unbounded(from, seen); src != nil {
				return src
			}
		}
	}
	return nil
}
