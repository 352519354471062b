package weir

import "cmp"

// Number is what Sum, Mean, Min and Max work on.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Count counts rows.
func Count[T any]() Aggregation[T, int64, int64] {
	return Aggregation[T, int64, int64]{
		Add:    func(n *int64, _ T) { *n++ },
		Merge:  func(n, from *int64) { *n += *from },
		Result: func(n *int64) int64 { return *n },
	}
}

// Sum adds up what of returns for each row. Integers wrap around as in Go.
func Sum[T any, N Number](of func(T) N) Aggregation[T, N, N] {
	if of == nil { // among the plan's problems
		return Aggregation[T, N, N]{}
	}
	return Aggregation[T, N, N]{
		Add:    func(sum *N, v T) { *sum += of(v) },
		Merge:  func(sum, from *N) { *sum += *from },
		Result: func(sum *N) N { return *sum },
	}
}

// MeanState is the accumulator of Mean.
type MeanState struct {
	Sum  float64
	Rows int64
}

// Mean is the arithmetic mean of what of returns for each row.
func Mean[T any, N Number](of func(T) N) Aggregation[T, MeanState, float64] {
	if of == nil {
		return Aggregation[T, MeanState, float64]{}
	}
	return Aggregation[T, MeanState, float64]{
		Add:    func(m *MeanState, v T) { m.Sum += float64(of(v)); m.Rows++ },
		Merge:  func(m, from *MeanState) { m.Sum += from.Sum; m.Rows += from.Rows },
		Result: func(m *MeanState) float64 { return m.Sum / float64(m.Rows) },
	}
}

// FirstState is the accumulator of aggregations that keep one value, which there is none of at first.
type FirstState[V any] struct {
	Value V
	Set   bool
}

// Min is the least of what of returns for each row.
func Min[T any, N Number](of func(T) N) Aggregation[T, FirstState[N], N] {
	return extreme(of, func(a, b N) bool { return a < b })
}

// Max is the greatest of what of returns for each row.
func Max[T any, N Number](of func(T) N) Aggregation[T, FirstState[N], N] {
	return extreme(of, func(a, b N) bool { return a > b })
}

func extreme[T any, N Number](of func(T) N, better func(a, b N) bool) Aggregation[T, FirstState[N], N] {
	if of == nil {
		return Aggregation[T, FirstState[N], N]{}
	}
	return Aggregation[T, FirstState[N], N]{
		Add: func(s *FirstState[N], v T) {
			if n := of(v); !s.Set || better(n, s.Value) {
				s.Value, s.Set = n, true
			}
		},
		Merge: func(s, from *FirstState[N]) {
			if from.Set && (!s.Set || better(from.Value, s.Value)) {
				*s = *from
			}
		},
		Result: func(s *FirstState[N]) N { return s.Value },
	}
}

// MinBy is the row with the least value of by. NaN counts as the greatest value. Of several such rows it is the first,
// unless ties is LastWins.
func MinBy[T any, N cmp.Ordered](by func(T) N, ties ...Ties) Aggregation[T, FirstState[T], T] {
	return Reducing(chosen(by, ties, less[N]))
}

// MaxBy is the row with the greatest value of by. NaN counts as the greatest value. Of several such rows it is the first,
// unless ties is LastWins.
func MaxBy[T any, N cmp.Ordered](by func(T) N, ties ...Ties) Aggregation[T, FirstState[T], T] {
	return Reducing(chosen(by, ties, func(a, b N) bool { return less(b, a) }))
}

// chosen returns the better of two rows, of which have came first.
func chosen[T, N any](by func(T) N, ties []Ties, better func(a, b N) bool) func(have, row T) T {
	last := len(ties) > 0 && ties[0] == LastWins
	return func(have, row T) T {
		if a, b := by(have), by(row); better(b, a) || last && !better(a, b) {
			return row
		}
		return have
	}
}

// Reducing combines rows by f, which must be associative.
func Reducing[T any](f func(a, b T) T) Aggregation[T, FirstState[T], T] {
	if f == nil {
		return Aggregation[T, FirstState[T], T]{}
	}
	return Aggregation[T, FirstState[T], T]{
		Add: func(s *FirstState[T], v T) {
			if s.Set {
				v = f(s.Value, v)
			}
			s.Value, s.Set = v, true
		},
		Merge: func(s, from *FirstState[T]) {
			switch {
			case !from.Set:
			case s.Set:
				s.Value = f(s.Value, from.Value)
			default:
				*s = *from
			}
		},
		Result: func(s *FirstState[T]) T { return s.Value },
	}
}

// Pair is two results side by side.
type Pair[A, B any] struct {
	First  A `json:"first"`
	Second B `json:"second"`
}

// Both makes two aggregations of the same rows at once. Nest it for more.
func Both[T, A, R, B, S any](first Aggregation[T, A, R], second Aggregation[T, B, S]) Aggregation[T, Pair[A, B], Pair[R, S]] {
	var both Aggregation[T, Pair[A, B], Pair[R, S]]
	if first.problems(false) != "" || second.problems(false) != "" { // what is missing here is among the plan's problems
		return both
	}
	both.Add = func(p *Pair[A, B], v T) {
		first.Add(&p.First, v)
		second.Add(&p.Second, v)
	}
	if first.Merge != nil && second.Merge != nil {
		both.Merge = func(p, from *Pair[A, B]) {
			first.Merge(&p.First, &from.First)
			second.Merge(&p.Second, &from.Second)
		}
	}
	both.Result = func(p *Pair[A, B]) Pair[R, S] {
		return Pair[R, S]{First: first.Result(&p.First), Second: second.Result(&p.Second)}
	}
	return both
}
