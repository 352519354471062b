package weir

import (
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/processop"
)

// Mapper is a map function with a context; it may have the methods of Opener and Closer, too.
type Mapper[T, U any] interface {
	// Map returns what becomes of a row. An error fails the job, with the operator and the row.
	Map(ctx *Context, row T) (U, error)
}

// FlatMapper is a flatMap function with a context; it may have the methods of Opener and Closer, too.
type FlatMapper[T, U any] interface {
	// FlatMap emits any number of rows for each. An error fails the job, with the operator and the row.
	FlatMap(ctx *Context, row T, out Out[U]) error
}

// Filterer is a filter function with a context; it may have the methods of Opener and Closer, too.
type Filterer[T any] interface {
	// Filter says whether a row stays. An error fails the job, with the operator and the row.
	Filter(ctx *Context, row T) (bool, error)
}

// RichMap is Map with a function that has a context and a life: make makes the instance of each subtask.
func (s Stream[T]) RichMap[U any](make func() Mapper[T, U]) Stream[U] {
	return rich(s, "RichMap", "map", make, func(f Mapper[T, U], ctx *Context, row *T, out Out[U]) error {
		u, err := f.Map(ctx, *row)
		if err == nil {
			out.Emit(u)
		}
		return err
	})
}

// RichFlatMap is FlatMap with a function that has a context and a life: make makes the instance of each subtask.
func (s Stream[T]) RichFlatMap[U any](make func() FlatMapper[T, U]) Stream[U] {
	return rich(s, "RichFlatMap", "flatMap", make, func(f FlatMapper[T, U], ctx *Context, row *T, out Out[U]) error {
		return f.FlatMap(ctx, *row, out)
	})
}

// RichFilter is Filter with a function that has a context and a life: make makes the instance of each subtask.
func (s Stream[T]) RichFilter[F Filterer[T]](make func() F) Stream[T] {
	return rich(s, "RichFilter", "filter", make, func(f F, ctx *Context, row *T, out Out[T]) error {
		keep, err := f.Filter(ctx, *row)
		if keep && err == nil {
			out.Emit(*row)
		}
		return err
	})
}

// rich adds an operator that calls a function object for each row.
func rich[F, T, U any](s Stream[T], call, kind string, make func() F, each func(f F, ctx *Context, row *T, out Out[U]) error) Stream[U] {
	desc := probe(s.env, call, kind, make, wants[Opener]("Open"), wants[Closer]("Close"))
	maker := operator.Maker(func() operator.Operator {
		return processop.New(func(rt *processop.Runtime, out *basic.Outlet[U]) (processop.Function, error) {
			f, ctx, o := make(), &Context{rt}, Out[U]{out}
			return plainHooks(f, ctx, processop.Rows(rt, func(row *T) error { return each(f, ctx, row, o) })), nil
		})
	})
	return streamOf[U](s.env, s.then(graph.Node{Kind: kind, Desc: desc, OpenSides: true, Factory: maker}))
}
