package weir

import (
	"cmp"
	"fmt"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/processop"
)

// The rolling operations of a keyed stream emit a row for each input row: the result over all rows of its key so far, with
// the event time of the input row. Their state grows with the number of keys and is never dropped; windows are for
// results over a stretch of time.
//
// Methods whose operators are large are generic beyond need: Go compiles every plain method of every type of stream that a
// program mentions, but a generic one only where it is called.

// Reduce emits, for each row, all rows of its key so far combined by f. The first row of a key is emitted as it is.
func (k KeyedStream[K, T]) Reduce[F ~func(have, row T) T](name string, f F) Stream[T] {
	k.notNil(f == nil, "Reduce")
	return rolling(k, name, "reduce", func(_ *K, acc *T, first bool, row *T) T {
		if first {
			*acc = *row
		} else {
			*acc = f(*acc, *row)
		}
		return *acc
	})
}

// Aggregate emits, for each row, the result of an aggregation over all rows of its key so far.
func (k KeyedStream[K, T]) Aggregate[A, R any](name string, agg Aggregation[T, A, R]) Stream[Keyed[K, R]] {
	if missing := agg.problems(false); missing != "" {
		k.env.problem("graph.aggregate.incomplete", fmt.Sprintf("the aggregation of %q has no %s function", name, missing), "set Add and Result")
	}
	return rolling(k, name, "aggregate", func(key *K, acc *A, _ bool, row *T) Keyed[K, R] {
		agg.Add(acc, *row)
		return Keyed[K, R]{Key: *key, Value: agg.Result(acc)}
	})
}

// Count emits, for each row, how many rows its key has had.
func (k KeyedStream[K, T]) Count[S ~string](name S) Stream[Keyed[K, int64]] {
	return rolling(k, string(name), "count", func(key *K, n *int64, _ bool, _ *T) Keyed[K, int64] {
		*n++
		return Keyed[K, int64]{Key: *key, Value: *n}
	})
}

// Sum emits, for each row, the first row of its key with the field that field points to replaced by the sum of that field
// over all rows of the key so far. Integers wrap around as in Go.
func (k KeyedStream[K, T]) Sum[N Number](name string, field func(*T) *N) Stream[T] {
	return byField(k, name, "sum", field, func(have, added N) N { return have + added })
}

// Min emits, for each row, the first row of its key with the field that field points to replaced by its least value over all
// rows of the key so far. The other fields stay those of the first row; MinBy emits the whole row that has the least
// value. NaN counts as the greatest value.
func (k KeyedStream[K, T]) Min[N cmp.Ordered](name string, field func(*T) *N) Stream[T] {
	return byField(k, name, "min", field, func(have, added N) N {
		if less(added, have) {
			return added
		}
		return have
	})
}

// Max is Min for the greatest value.
func (k KeyedStream[K, T]) Max[N cmp.Ordered](name string, field func(*T) *N) Stream[T] {
	return byField(k, name, "max", field, func(have, added N) N {
		if less(have, added) {
			return added
		}
		return have
	})
}

// Ties says which of several rows with the same extreme value MinBy and MaxBy take.
type Ties uint8

// The choices for ties.
const (
	// FirstWins takes the row that came first. It is the default.
	FirstWins Ties = iota
	// LastWins takes the row that came last.
	LastWins
)

// MinBy emits, for each row, the row of its key with the least value of by so far. NaN counts as the greatest value.
func (k KeyedStream[K, T]) MinBy[N cmp.Ordered](name string, by func(T) N, ties ...Ties) Stream[T] {
	return extremeBy(k, name, "minBy", by, ties, less[N])
}

// MaxBy emits, for each row, the row of its key with the greatest value of by so far.
func (k KeyedStream[K, T]) MaxBy[N cmp.Ordered](name string, by func(T) N, ties ...Ties) Stream[T] {
	return extremeBy(k, name, "maxBy", by, ties, func(a, b N) bool { return less(b, a) })
}

// less orders values as Java does: NaN is above all others.
func less[N cmp.Ordered](a, b N) bool { return a < b || a == a && b != b }

func byField[K, T, N any](k KeyedStream[K, T], name, kind string, field func(*T) *N, f func(have, added N) N) Stream[T] {
	k.notNil(field == nil, kind)
	return rolling(k, name, kind, func(_ *K, acc *T, first bool, row *T) T {
		if first {
			*acc = *row
		} else {
			have := field(acc)
			*have = f(*have, *field(row))
		}
		return *acc
	})
}

func extremeBy[K, T, N any](k KeyedStream[K, T], name, kind string, by func(T) N, ties []Ties, better func(a, b N) bool) Stream[T] {
	k.notNil(by == nil, kind)
	last := len(ties) > 0 && ties[0] == LastWins
	return rolling(k, name, kind, func(_ *K, acc *T, first bool, row *T) T {
		if first || better(by(*row), by(*acc)) || last && !better(by(*acc), by(*row)) {
			*acc = *row
		}
		return *acc
	})
}

// rolling adds an operator that folds each row into an accumulator A of its key.
func rolling[K, T, A, U any](k KeyedStream[K, T], name, kind string, step func(key *K, acc *A, first bool, row *T) U) Stream[U] {
	n := graph.Node{Name: name, Kind: kind, Stateful: true, Keyed: true}
	if _, err := codec.For[A](); err != nil {
		k.env.problem("graph.state.type", fmt.Sprintf("%s %q cannot keep %s as state: %v", kind, name, typeName[A](), err),
			"keep what can be encoded: exported fields of numbers, strings, times, and structs, slices and maps of those")
	}
	if k.codec != nil {
		cfg := processop.RollingConfig[K, T, A, U]{Key: k.key, Keys: k.codec, Step: step}
		n.Factory = operator.Maker(func() operator.Operator { return processop.NewRolling(cfg) })
	}
	return streamOf[U](k.env, k.then(n))
}
