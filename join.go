package weir

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/joinop"
	"github.com/weir-stream/weir/window"
)

// WindowJoin brings the rows of two keyed streams together that have the same key and fall into the same window. A call of
// Inner, LeftOuter, RightOuter, FullOuter or CoGroup says what is made of them and returns to a Stream.
//
// Results have the window's maximum timestamp. Sessions merge over the rows of both streams. Windows of every kind but
// count windows work, with every trigger but those that remember a row, and without evictor.
type WindowJoin[K, A, B any] struct {
	left                KeyedStream[K, A]
	right               KeyedStream[K, B]
	name                string
	spec                window.Spec
	lateLeft, lateRight string
}

// JoinWindow joins the stream with another that has the same type of key, window by window. The operator that the next
// call adds keeps its state under name.
func (k KeyedStream[K, A]) JoinWindow[B any](name string, right KeyedStream[K, B], spec window.Spec) WindowJoin[K, A, B] {
	return WindowJoin[K, A, B]{left: k, right: right, name: name, spec: spec}
}

// LateLeft sends late rows of the left stream to a side output, which the result stream's Side reads, instead of only
// counting them.
func (j WindowJoin[K, A, B]) LateLeft(tag Tag[A]) WindowJoin[K, A, B] {
	j.lateLeft = tag.name
	return j
}

// LateRight is LateLeft for the right stream.
func (j WindowJoin[K, A, B]) LateRight(tag Tag[B]) WindowJoin[K, A, B] {
	j.lateRight = tag.name
	return j
}

// CoGroup calls f with all rows of a key and window, in the order of arrival on each side, when the window fires. Either
// side may be empty, not both. The slices are used again after the call.
func (j WindowJoin[K, A, B]) CoGroup[U any](f func(key K, w window.Window, left []A, right []B, out Out[U])) Stream[U] {
	j.left.notNil(f == nil, "CoGroup")
	return windowJoined(j, "coGroup", false, false, func(key K, w window.Window, left []A, right []B, out *basic.Outlet[U]) error {
		f(key, w, left, right, Out[U]{out})
		return nil
	})
}

// TryCoGroup is CoGroup with a function that may fail; an error fails the job, with the operator, the key and the window.
func (j WindowJoin[K, A, B]) TryCoGroup[U any](f func(key K, w window.Window, left []A, right []B, out Out[U]) error) Stream[U] {
	j.left.notNil(f == nil, "TryCoGroup")
	return windowJoined(j, "coGroup", false, false, func(key K, w window.Window, left []A, right []B, out *basic.Outlet[U]) error {
		return f(key, w, left, right, Out[U]{out})
	})
}

// Inner emits f of each pair of a left and a right row of a key and window.
func (j WindowJoin[K, A, B]) Inner[U any](f func(a A, b B) U) Stream[U] {
	j.left.notNil(f == nil, "Inner")
	return windowJoined(j, "windowJoin", true, true, func(_ K, _ window.Window, left []A, right []B, out *basic.Outlet[U]) error {
		for i := range left {
			for k := range right {
				out.Emit(f(left[i], right[k]))
			}
		}
		return nil
	})
}

// LeftOuter is Inner, and emits f(a, nil) for a left row of a window without right rows. b is borrowed for the call.
func (j WindowJoin[K, A, B]) LeftOuter[U any](f func(a A, b *B) U) Stream[U] {
	j.left.notNil(f == nil, "LeftOuter")
	return windowJoined(j, "windowJoin", true, false, pairs[K](func(a *A, b *B) U { return f(*a, b) }))
}

// RightOuter is Inner, and emits f(nil, b) for a right row of a window without left rows. a is borrowed for the call.
func (j WindowJoin[K, A, B]) RightOuter[U any](f func(a *A, b B) U) Stream[U] {
	j.left.notNil(f == nil, "RightOuter")
	return windowJoined(j, "windowJoin", false, true, pairs[K](func(a *A, b *B) U { return f(a, *b) }))
}

// FullOuter is LeftOuter and RightOuter at once: exactly one of a and b may be nil. Both are borrowed for the call.
func (j WindowJoin[K, A, B]) FullOuter[U any](f func(a *A, b *B) U) Stream[U] {
	j.left.notNil(f == nil, "FullOuter")
	return windowJoined(j, "windowJoin", false, false, pairs[K](f))
}

// pairs makes a coGroup function of a function of pairs. A side without rows counts as one row that is nil.
func pairs[K, A, B, U any](f func(a *A, b *B) U) func(K, window.Window, []A, []B, *basic.Outlet[U]) error {
	return func(_ K, _ window.Window, left []A, right []B, out *basic.Outlet[U]) error {
		for i := range max(1, len(left)) {
			var a *A
			if len(left) > 0 {
				a = &left[i]
			}
			for k := range max(1, len(right)) {
				var b *B
				if len(right) > 0 {
					b = &right[k]
				}
				out.Emit(f(a, b))
			}
		}
		return nil
	}
}

// windowJoined adds the operator.
func windowJoined[K, A, B, U any](j WindowJoin[K, A, B], kind string, needLeft, needRight bool,
	apply func(K, window.Window, []A, []B, *basic.Outlet[U]) error) Stream[U] {
	env := j.left.env
	n := graph.Node{Name: j.name, Kind: kind, Stateful: true, Keyed: true, Desc: j.spec.String()}
	lateSides[A, B](env, &n, j.lateLeft, j.lateRight)
	left, err := window.Bind[A](j.spec)
	right, errRight := window.Bind[B](j.spec)
	if err == nil {
		err = errRight
	}
	if err != nil {
		env.problem("graph.window", fmt.Sprintf("window join %q: %v", j.name, err), "")
	} else if why := joinop.FitsWindow(left); why != "" {
		env.problem("graph.window", fmt.Sprintf("window join %q: %s", j.name, why), "")
	}
	cfg := joinop.WindowConfig[K, A, B, U]{Left: left, Right: right, LeftKey: j.left.key, RightKey: j.right.key, Keys: j.left.codec,
		NeedLeft: needLeft, NeedRight: needRight, Apply: apply, LateLeft: j.lateLeft, LateRight: j.lateRight}
	n.Factory = operator.Maker(func() operator.Operator { return joinop.NewWindow(cfg) })
	return twoInputs[U](env, n, j.left.Stream, j.right.Stream)
}

// lateSides declares the side outputs of a join.
func lateSides[A, B any](env *Env, n *graph.Node, left, right string) {
	declare(n, Tag[A]{name: left})
	if left != right {
		declare(n, Tag[B]{name: right})
	} else if left != "" && typeName[A]() != typeName[B]() {
		env.problem("graph.side.type", fmt.Sprintf("join %q sends late rows of %s and of %s to one side output %q", n.Name, typeName[A](), typeName[B](), left),
			"give LateLeft and LateRight tags of different names")
	}
}

// twoInputs adds an operator behind two streams.
func twoInputs[U, A, B any](env *Env, n graph.Node, left Stream[A], right Stream[B]) Stream[U] {
	if left.env != right.env {
		env.problem("graph.join.env", fmt.Sprintf("the streams of join %q belong to different environments", n.Name),
			"build both on the env that build was given")
		return streamOf[U](env, left.then(n))
	}
	return streamOf[U](env, left.then(n, left.edges(0), right.edges(1)))
}

// IntervalJoin brings a left row at time t together with the right rows of its key that have a time from t+lower to
// t+upper. A call of Inner, LeftOuter, RightOuter, FullOuter or Process says what is made of a pair and returns to a Stream.
//
// It works in event time only. A pair has the later of its two times. A row is late, and joins with nothing, if its time is
// not above the watermark; Apache Flink takes a row that is exactly at the watermark. A row is kept until the watermark
// has passed the last time that a match of it may have.
type IntervalJoin[K, A, B any] struct {
	left                KeyedStream[K, A]
	right               KeyedStream[K, B]
	name                string
	lower, upper        time.Duration
	above, below        bool // the bounds themselves are excluded
	lateLeft, lateRight string
}

// JoinInterval joins the stream with another that has the same type of key. A right row matches if its time lies from
// lower before or after the left row's (negative is before) to upper, both inclusive. The operator that the next call
// adds keeps its state under name.
func (k KeyedStream[K, A]) JoinInterval[B any](name string, right KeyedStream[K, B], lower, upper time.Duration) IntervalJoin[K, A, B] {
	return IntervalJoin[K, A, B]{left: k, right: right, name: name, lower: lower, upper: upper}
}

// LowerExclusive excludes rows that are exactly at the lower bound.
func (j IntervalJoin[K, A, B]) LowerExclusive() IntervalJoin[K, A, B] {
	j.above = true
	return j
}

// UpperExclusive excludes rows that are exactly at the upper bound.
func (j IntervalJoin[K, A, B]) UpperExclusive() IntervalJoin[K, A, B] {
	j.below = true
	return j
}

// LateLeft sends late rows of the left stream to a side output, which the result stream's Side reads, instead of only
// counting them.
func (j IntervalJoin[K, A, B]) LateLeft(tag Tag[A]) IntervalJoin[K, A, B] {
	j.lateLeft = tag.name
	return j
}

// LateRight is LateLeft for the right stream.
func (j IntervalJoin[K, A, B]) LateRight(tag Tag[B]) IntervalJoin[K, A, B] {
	j.lateRight = tag.name
	return j
}

// Match says when the two rows of a pair happened.
type Match struct{ Left, Right time.Time }

// Inner emits f of each pair.
func (j IntervalJoin[K, A, B]) Inner[U any](f func(a A, b B) U) Stream[U] {
	j.left.notNil(f == nil, "Inner")
	return intervalJoined(j, false, false, func(a *A, b *B, _, _ int64, out *basic.Outlet[U]) error {
		out.Emit(f(*a, *b))
		return nil
	})
}

// Process calls f for each pair. An error fails the job, with the operator
// and the pair.
func (j IntervalJoin[K, A, B]) Process[U any](f func(a A, b B, at Match, out Out[U]) error) Stream[U] {
	j.left.notNil(f == nil, "Process")
	return intervalJoined(j, false, false, func(a *A, b *B, ta, tb int64, out *basic.Outlet[U]) error {
		return f(*a, *b, Match{time.UnixMilli(ta).UTC(), time.UnixMilli(tb).UTC()}, Out[U]{out})
	})
}

// LeftOuter is Inner, and emits f(a, nil) for each left row that has no match, as soon as none can come any more. Such a
// row's time is the latest that a match could have had, so it is not late itself. b is borrowed for the call.
func (j IntervalJoin[K, A, B]) LeftOuter[U any](f func(a A, b *B) U) Stream[U] {
	j.left.notNil(f == nil, "LeftOuter")
	return intervalJoined(j, true, false, func(a *A, b *B, _, _ int64, out *basic.Outlet[U]) error {
		out.Emit(f(*a, b))
		return nil
	})
}

// RightOuter is LeftOuter for right rows without a match. a is borrowed for the call.
func (j IntervalJoin[K, A, B]) RightOuter[U any](f func(a *A, b B) U) Stream[U] {
	j.left.notNil(f == nil, "RightOuter")
	return intervalJoined(j, false, true, func(a *A, b *B, _, _ int64, out *basic.Outlet[U]) error {
		out.Emit(f(a, *b))
		return nil
	})
}

// FullOuter is LeftOuter and RightOuter at once: exactly one of a and b may be nil. Both are borrowed for the call.
func (j IntervalJoin[K, A, B]) FullOuter[U any](f func(a *A, b *B) U) Stream[U] {
	j.left.notNil(f == nil, "FullOuter")
	return intervalJoined(j, true, true, func(a *A, b *B, _, _ int64, out *basic.Outlet[U]) error {
		out.Emit(f(a, b))
		return nil
	})
}

// intervalJoined adds the operator.
func intervalJoined[K, A, B, U any](j IntervalJoin[K, A, B], leftOuter, rightOuter bool,
	match func(a *A, b *B, ta, tb int64, out *basic.Outlet[U]) error) Stream[U] {
	env := j.left.env
	lower, upper := j.lower.Milliseconds(), j.upper.Milliseconds()
	if j.lower%time.Millisecond != 0 || j.upper%time.Millisecond != 0 {
		env.problem("graph.join.bounds", fmt.Sprintf("interval join %q: a bound of %v to %v is not a whole number of milliseconds", j.name, j.lower, j.upper),
			"times have a resolution of one millisecond")
	}
	if j.above {
		lower++
	}
	if j.below {
		upper--
	}
	if lower > upper {
		env.problem("graph.join.bounds", fmt.Sprintf("interval join %q: no time lies between %v and %v", j.name, j.lower, j.upper),
			"the lower bound comes first; a negative bound is before the left row")
	}
	cfg := joinop.IntervalConfig[K, A, B, U]{LeftKey: j.left.key, RightKey: j.right.key, Keys: j.left.codec, Lower: lower, Upper: upper,
		LeftOuter: leftOuter, RightOuter: rightOuter, Match: match, LateLeft: j.lateLeft, LateRight: j.lateRight}
	n := graph.Node{Name: j.name, Kind: "intervalJoin", Stateful: true, Keyed: true, Desc: j.describe(),
		Factory: operator.Maker(func() operator.Operator { return joinop.NewInterval(cfg) })}
	lateSides[A, B](env, &n, j.lateLeft, j.lateRight)
	return twoInputs[U](env, n, j.left.Stream, j.right.Stream)
}

// describe writes the interval as it stands in plans.
func (j IntervalJoin[K, A, B]) describe() string {
	from, to := "[", "]"
	if j.above {
		from = "("
	}
	if j.below {
		to = ")"
	}
	return fmt.Sprintf("right - left in %s%v, %v%s", from, j.lower, j.upper, to)
}
