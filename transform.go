package weir

import (
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
)

// Map returns the stream of f of each row.
func (s Stream[T]) Map[U any](f func(T) U) Stream[U] {
	s.notNil(f == nil, "Map")
	return streamOf[U](s.env, s.then(graph.Node{Kind: "map",
		Factory: operator.Maker(func() operator.Operator { return basic.NewMap(f) })}))
}

// TryMap is Map with a function that may fail; an error fails the job, with the operator and the row.
func (s Stream[T]) TryMap[U any](f func(T) (U, error)) Stream[U] {
	s.notNil(f == nil, "TryMap")
	return streamOf[U](s.env, s.then(graph.Node{Kind: "map",
		Factory: operator.Maker(func() operator.Operator { return basic.NewTryMap(f) })}))
}

// Filter returns the stream of the rows for which f is true.
func (s Stream[T]) Filter(f func(T) bool) Stream[T] {
	s.notNil(f == nil, "Filter")
	return streamOf[T](s.env, s.then(graph.Node{Kind: "filter",
		Factory: operator.Maker(func() operator.Operator { return basic.NewFilter(f) })}))
}

// FlatMap returns the stream of the rows that f emits, any number for each input row. emit may be called only while f runs.
func (s Stream[T]) FlatMap[U any](f func(v T, emit func(U))) Stream[U] {
	s.notNil(f == nil, "FlatMap")
	return streamOf[U](s.env, s.then(graph.Node{Kind: "flatMap",
		Factory: operator.Maker(func() operator.Operator { return basic.NewEmitMap(f) })}))
}

// TryFlatMap is FlatMap with a function that may fail; an error fails the job, with the operator and the row.
func (s Stream[T]) TryFlatMap[U any](f func(v T, emit func(U)) error) Stream[U] {
	s.notNil(f == nil, "TryFlatMap")
	return streamOf[U](s.env, s.then(graph.Node{Kind: "flatMap",
		Factory: operator.Maker(func() operator.Operator { return basic.NewTryEmitMap(f) })}))
}

func (s Stream[T]) notNil(isNil bool, call string) {
	if isNil {
		s.env.problem("graph.function.nil", nilFunc(call), "pass a function")
	}
}
