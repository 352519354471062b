package weirtest

import (
	"testing"
	"time"

	"github.com/weir-stream/weir"
)

// Harness runs a piece of a job by hand: from a stream of T to a stream of U, through any operators. The test pushes rows,
// moves event time and processing time, and looks at what comes out. Everything happens on the test's goroutine, before
// the method that causes it returns.
type Harness[T, U any] struct {
	*Driver
	in  *Source[T]
	out *Collected[U]
}

// NewHarness returns a harness of the operators that pipe puts between the stream it is given and the one it returns. They
// are made and opened at once, and closed when the test ends.
func NewHarness[T, U any](t testing.TB, pipe func(in weir.Stream[T]) weir.Stream[U], opts ...Option) *Harness[T, U] {
	t.Helper()
	o := newOptions(1, opts)
	env := o.env(t)
	h := &Harness[T, U]{Driver: &Driver{t: t, now: o.single()}, in: NewSource[T]("in")}
	h.out = Collect(pipe(h.in.stream(env, o.cutter())))
	h.start(env, &o)
	return h
}

// Push hands in a row with its event time; the zero time.Time is none. With BatchSize other than 1 the row may wait for
// others, until the test asks for anything but a push.
func (h *Harness[T, U]) Push(v T, at time.Time) {
	h.t.Helper()
	h.in.Push(v, at)
	if h.now {
		h.settle()
	}
}

// PushRows hands in rows with their event times.
func (h *Harness[T, U]) PushRows(rows ...Row[T]) {
	h.t.Helper()
	for _, r := range rows {
		h.Push(r.Value, r.Time)
	}
}

// Watermark moves event time to t: rows that come later with a time at or before it are late.
func (h *Harness[T, U]) Watermark(t time.Time) {
	h.t.Helper()
	h.in.Watermark(t)
	h.settle()
}

// Idle says that no rows come until the next push, and that the input does not hold back event time.
func (h *Harness[T, U]) Idle() {
	h.t.Helper()
	h.in.Idle()
	h.settle()
}

// End ends the input, with the final watermark, and all operators. Operators with asynchronous calls under way end when
// those have come back: see Await.
func (h *Harness[T, U]) End() {
	h.t.Helper()
	h.in.End()
	h.settle()
}

// Output returns the rows that have come out since the last call of Output or Rows.
func (h *Harness[T, U]) Output() []U {
	h.t.Helper()
	return values(h.Rows())
}

// Rows is Output with the rows' event times.
func (h *Harness[T, U]) Rows() []Row[U] {
	h.t.Helper()
	h.settle()
	return h.out.Take()
}

// OutWatermark returns how far event time has come behind the last operator; false if it has not begun.
func (h *Harness[T, U]) OutWatermark() (time.Time, bool) {
	h.t.Helper()
	h.settle()
	return h.out.Watermark()
}

// single reports whether batches have one row.
func (o *options) single() bool { return o.batch == 1 && !o.random }

// Harness2 is a Harness with two inputs. Event time is the lower one of the two inputs'.
type Harness2[A, B, U any] struct {
	*Driver
	a   *Source[A]
	b   *Source[B]
	out *Collected[U]
}

// NewHarness2 returns a harness of the operators that pipe puts between the two streams it is given and the one it returns.
func NewHarness2[A, B, U any](t testing.TB, pipe func(a weir.Stream[A], b weir.Stream[B]) weir.Stream[U], opts ...Option) *Harness2[A, B, U] {
	t.Helper()
	o := newOptions(1, opts)
	env := o.env(t)
	h := &Harness2[A, B, U]{Driver: &Driver{t: t, now: o.single()}, a: NewSource[A]("first"), b: NewSource[B]("second")}
	cut := o.cutter()
	h.out = Collect(pipe(h.a.stream(env, cut), h.b.stream(env, cut)))
	h.start(env, &o)
	return h
}

// First returns the first input, to be fed.
func (h *Harness2[A, B, U]) First() Input[A] { return Input[A]{h.Driver, h.a} }

// Second returns the second input, to be fed.
func (h *Harness2[A, B, U]) Second() Input[B] { return Input[B]{h.Driver, h.b} }

// Watermark moves event time of both inputs to t.
func (h *Harness2[A, B, U]) Watermark(t time.Time) {
	h.t.Helper()
	h.First().Watermark(t)
	h.Second().Watermark(t)
}

// End ends both inputs, and all operators.
func (h *Harness2[A, B, U]) End() {
	h.t.Helper()
	h.First().End()
	h.Second().End()
}

// Output returns the rows that have come out since the last call of Output or Rows.
func (h *Harness2[A, B, U]) Output() []U {
	h.t.Helper()
	return values(h.Rows())
}

// Rows is Output with the rows' event times.
func (h *Harness2[A, B, U]) Rows() []Row[U] {
	h.t.Helper()
	h.settle()
	return h.out.Take()
}

// OutWatermark returns how far event time has come behind the last operator; false if it has not begun.
func (h *Harness2[A, B, U]) OutWatermark() (time.Time, bool) {
	h.t.Helper()
	h.settle()
	return h.out.Watermark()
}

// Input is one input of a Harness2. Rows of the two inputs arrive in the order of the pushes unless batches have more than
// one row; then a push to one input first hands over what waits for the other.
type Input[T any] struct {
	d   *Driver
	src *Source[T]
}

// Push hands in a row with its event time; the zero time.Time is none.
func (i Input[T]) Push(v T, at time.Time) {
	i.d.t.Helper()
	if i.d.last != any(i.src) {
		i.d.settle()
		i.d.last = i.src
	}
	i.src.Push(v, at)
	if i.d.now {
		i.d.settle()
	}
}

// PushRows hands in rows with their event times.
func (i Input[T]) PushRows(rows ...Row[T]) {
	i.d.t.Helper()
	for _, r := range rows {
		i.Push(r.Value, r.Time)
	}
}

// Watermark moves the input's event time to t.
func (i Input[T]) Watermark(t time.Time) {
	i.d.t.Helper()
	i.d.settle()
	i.src.Watermark(t)
	i.d.settle()
}

// Idle says that no rows come until the next push, and that the input does not hold back event time.
func (i Input[T]) Idle() {
	i.d.t.Helper()
	i.d.settle()
	i.src.Idle()
	i.d.settle()
}

// End ends the input, with its final watermark.
func (i Input[T]) End() {
	i.d.t.Helper()
	i.d.settle()
	i.src.End()
	i.d.settle()
}
