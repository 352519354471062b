package window

import (
	"fmt"
	"reflect"
	"time"

	"github.com/weir-stream/weir/internal/sat"
)

// Elements is the content of one window of which every row is kept, in order of arrival. Rows and Times have the same
// length. An evictor shortens it; the operator stores what is left.
type Elements[T any] struct {
	// Rows are the rows.
	Rows []T
	// Times are their times in ms; MinInt64 for a row that has none.
	Times []int64
}

// DropFirst removes the n oldest arrivals.
func (e *Elements[T]) DropFirst(n int) {
	n = max(0, min(n, len(e.Rows)))
	clear(e.Rows[:n])
	e.Rows, e.Times = e.Rows[n:], e.Times[n:]
}

// Keep removes the rows for which keep is false. It calls keep once for each row, in order.
func (e *Elements[T]) Keep(keep func(row T, ts int64) bool) {
	kept := 0
	for i, row := range e.Rows {
		if ts := e.Times[i]; keep(row, ts) {
			e.Rows[kept], e.Times[kept] = row, ts
			kept++
		}
	}
	clear(e.Rows[kept:])
	e.Rows, e.Times = e.Rows[:kept], e.Times[:kept]
}

// Moment is where an evictor runs.
type Moment struct {
	// Window is the window that fires.
	Window Window
	// Watermark and ProcessingTime are those of the operator.
	Watermark, ProcessingTime int64
}

// Evict removes rows from a window's content.
type Evict[T any] func(e *Elements[T], at Moment)

// Evictor describes which rows are removed from a window when it fires, before its function runs or after. Its zero value
// is not an evictor.
type Evictor struct {
	kind  evictorKind
	n     int64 // count, or time in ms
	after bool
	text  string
	elem  reflect.Type
	typed any // deltaRule[T] or Evict[T]
	wrong *problem
}

type evictorKind uint8

const (
	evictInvalid evictorKind = iota
	evictCount
	evictTime
	evictDelta
	evictCustom
)

// KeepLast keeps the last n rows in order of arrival.
func KeepLast(n int) Evictor { return Evictor{kind: evictCount, n: int64(n)} }

// KeepWithin keeps rows that are less than d older than the newest one.
func KeepWithin(d time.Duration) Evictor {
	e := Evictor{kind: evictTime, n: d.Milliseconds()}
	if d%time.Millisecond != 0 {
		e.wrong = &problem{fmt.Sprintf("the time %s of an evictor is not a whole number of milliseconds", d), "times have a resolution of one millisecond"}
	}
	return e
}

// KeepNear keeps rows whose distance from the row that arrived last is below the threshold.
func KeepNear[T any](threshold float64, delta func(row, last T) float64) Evictor {
	e := Evictor{kind: evictDelta, elem: reflect.TypeFor[T](), typed: deltaRule[T]{threshold, delta}, text: fmt.Sprint(threshold)}
	if delta == nil {
		e.wrong = &problem{"the delta function of an evictor is nil", "pass a func(row, last T) float64"}
	}
	return e
}

// EvictWith is an evictor of the user's own. The name stands in plans.
func EvictWith[T any](name string, evict Evict[T]) Evictor {
	e := Evictor{kind: evictCustom, text: name, elem: reflect.TypeFor[T](), typed: evict}
	if evict == nil {
		e.wrong = &problem{fmt.Sprintf("the custom evictor %q is nil", name), "pass a window.Evict"}
	}
	return e
}

// After makes the evictor run after the window's function instead of before it.
func (e Evictor) After() Evictor {
	e.after = true
	return e
}

// String writes the evictor as it stands in plans.
func (e Evictor) String() string {
	s := "invalid"
	switch e.kind {
	case evictCount:
		s = fmt.Sprintf("keepLast(%d)", e.n)
	case evictTime:
		s = fmt.Sprintf("keepWithin(%s)", time.Duration(e.n)*time.Millisecond)
	case evictDelta:
		s = fmt.Sprintf("keepNear(%s, func(%s))", e.text, e.elem)
	case evictCustom:
		s = fmt.Sprintf("custom(%s)", e.text)
	}
	if e.after {
		s += " after"
	}
	return s
}

func (e *Evictor) validate() (found []problem) {
	if e.wrong != nil {
		found = append(found, *e.wrong)
	}
	switch {
	case e.kind == evictInvalid:
		found = append(found, problem{"the evictor is the zero Evictor", "make one with window.KeepLast or another constructor"})
	case e.kind == evictCount && e.n < 0:
		found = append(found, problem{"the evictor keeps a negative number of rows", "give zero or more"})
	case e.kind == evictTime && e.n <= 0:
		found = append(found, problem{"the time of the evictor is not positive", "give at least one millisecond"})
	}
	return found
}

// compileEvictor turns a description into a function over rows of type T.
func compileEvictor[T any](e *Evictor) (Evict[T], error) {
	switch e.kind {
	case evictCount:
		return func(c *Elements[T], _ Moment) { c.DropFirst(len(c.Rows) - int(e.n)) }, nil
	case evictTime:
		return func(c *Elements[T], _ Moment) { keepWithin(c, e.n) }, nil
	case evictDelta:
		if rule, ok := e.typed.(deltaRule[T]); ok {
			return func(c *Elements[T], _ Moment) { keepNear(c, rule) }, nil
		}
	case evictCustom:
		if own, ok := e.typed.(Evict[T]); ok {
			return own, nil
		}
	}
	return nil, fmt.Errorf("the evictor %s is for rows of type %s, and the stream has %s", e, e.elem, reflect.TypeFor[T]())
}

// keepWithin does nothing if the first row has no time: then none has.
func keepWithin[T any](c *Elements[T], span int64) {
	if len(c.Times) == 0 || c.Times[0] == noTime {
		return
	}
	newest := c.Times[0]
	for _, ts := range c.Times {
		newest = max(newest, ts)
	}
	cut := sat.Sub(newest, span)
	c.Keep(func(_ T, ts int64) bool { return ts > cut })
}

func keepNear[T any](c *Elements[T], rule deltaRule[T]) {
	if len(c.Rows) == 0 {
		return
	}
	last := c.Rows[len(c.Rows)-1]
	// Written as "not at or beyond", so that a distance of NaN keeps the row, as in Flink.
	c.Keep(func(row T, _ int64) bool { return !(rule.delta(row, last) >= rule.threshold) })
}
