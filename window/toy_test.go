package window

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// toy is the slow, obvious window operator for one key: every row of every window in a Go slice, timers in a slice. The
// tests drive triggers, evictors and sessions with it, and compare what comes out with values from elsewhere.
type toy[T any] struct {
	t         testing.TB
	b         *Bound[T]
	watermark int64
	now       int64
	content   map[int64]*Elements[T] // by a session's home, or by a number from homes
	homes     map[Window]int64
	sessions  Sessions
	states    map[Window]*State
	elements  map[Window]*T
	timers    []toyTimer
	cleanups  []toyTimer
	late      []T
	show      func([]T) string
	out       []string
}

type toyTimer struct {
	domain Domain
	at     int64
	window Window
}

func newToy[T any](t testing.TB, s Spec, show func([]T) string) *toy[T] {
	t.Helper()
	b, err := Bind[T](s)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	return &toy[T]{t: t, b: b, watermark: noTime, content: map[int64]*Elements[T]{}, homes: map[Window]int64{}, states: map[Window]*State{}, elements: map[Window]*T{}, show: show}
}

// toyContext speaks for one window.
type toyContext[T any] struct {
	*toy[T]
	window Window
}

func (c toyContext[T]) Watermark() int64      { return c.watermark }
func (c toyContext[T]) ProcessingTime() int64 { return c.now }
func (c toyContext[T]) SetTimer(d Domain, t int64) {
	timer := toyTimer{d, t, c.window}
	if !slices.Contains(c.timers, timer) {
		c.timers = append(c.timers, timer)
	}
}
func (c toyContext[T]) DeleteTimer(d Domain, t int64) {
	c.timers = slices.DeleteFunc(c.timers, func(x toyTimer) bool { return x == toyTimer{d, t, c.window} })
}
func (c toyContext[T]) State() *State {
	if c.states[c.window] == nil {
		c.states[c.window] = &State{}
	}
	return c.states[c.window]
}
func (c toyContext[T]) Element() (row T, ok bool) {
	if !c.b.KeepsElement {
		c.t.Error("Element, although Bound.KeepsElement is false")
	}
	if p := c.elements[c.window]; p != nil {
		return *p, true
	}
	return row, false
}
func (c toyContext[T]) SetElement(row T) { c.elements[c.window] = &row }

// place is where the rows of a window are. Windows that do not merge get numbers in turn.
func (o *toy[T]) place(w Window) *Elements[T] {
	home := int64(0)
	if o.b.Merging() {
		s, ok := o.sessions.Find(w)
		if !ok {
			return nil
		}
		home = s.Home
	} else {
		if _, ok := o.homes[w]; !ok {
			o.homes[w] = int64(len(o.homes)) + 1
		}
		home = o.homes[w]
	}
	if o.content[home] == nil {
		o.content[home] = &Elements[T]{}
	}
	return o.content[home]
}

func (o *toy[T]) row(row T, ts int64) {
	o.t.Helper()
	if o.b.Domain == ProcessingTime {
		ts = o.now
	}
	windows, err := o.b.Assign(nil, row, ts)
	if err != nil {
		o.t.Fatal(err)
	}
	skipped := true
	for _, w := range windows {
		if o.b.Merging() {
			w = o.merge(w)
		}
		if o.b.Late(w, o.watermark) {
			o.sessions.Remove(w)
			continue
		}
		skipped = false
		e := o.place(w)
		e.Rows, e.Times = append(e.Rows, row), append(e.Times, ts)
		o.act(w, o.b.Trigger.OnElement(row, ts, w, toyContext[T]{o, w}))
		if at := o.b.CleanupTime(w); at != endOfTime {
			if timer := (toyTimer{o.b.Domain, at, w}); !slices.Contains(o.cleanups, timer) {
				o.cleanups = append(o.cleanups, timer)
			}
		}
	}
	if skipped && o.b.LateRow(ts, o.watermark) {
		o.late = append(o.late, row)
	}
}

func (o *toy[T]) merge(w Window) Window {
	var m Merge
	o.sessions.Add(w, &m)
	if len(m.Old) == 0 {
		return m.Into.Window
	}
	var from []*State
	for _, old := range m.Old {
		from = append(from, toyContext[T]{o, old.Window}.State())
	}
	o.b.Trigger.(MergingTrigger[T]).OnMerge(m.Into.Window, from, toyContext[T]{o, m.Into.Window})
	for _, old := range m.Old {
		o.forget(old.Window)
		if old.Home == m.Into.Home {
			continue
		}
		if source := o.content[old.Home]; source != nil {
			target := o.place(m.Into.Window)
			target.Rows, target.Times = append(target.Rows, source.Rows...), append(target.Times, source.Times...)
			delete(o.content, old.Home)
		}
	}
	return m.Into.Window
}

// forget drops all that a trigger and the operator have for a window, except its rows.
func (o *toy[T]) forget(w Window) {
	o.b.Trigger.Clear(w, toyContext[T]{o, w})
	delete(o.states, w)
	delete(o.elements, w)
	o.cleanups = slices.DeleteFunc(o.cleanups, func(x toyTimer) bool { return x.window == w })
}

func (o *toy[T]) act(w Window, r Result) {
	e := o.place(w)
	if r.Fires() && e != nil && len(e.Rows) > 0 {
		at := Moment{Window: w, Watermark: o.watermark, ProcessingTime: o.now}
		if o.b.EvictBefore != nil {
			o.b.EvictBefore(e, at)
		}
		where := "global"
		if !w.IsGlobal() {
			where = fmt.Sprintf("[%d,%d)", w.Start, w.End)
		}
		o.out = append(o.out, where+" "+o.show(e.Rows))
		if o.b.EvictAfter != nil {
			o.b.EvictAfter(e, at)
		}
	}
	if r.Purges() && e != nil {
		*e = Elements[T]{}
	}
}

func (o *toy[T]) advance(d Domain, to int64) {
	o.t.Helper()
	if d == EventTime {
		o.watermark = to
	} else {
		o.now = to
	}
	for fired := 0; ; fired++ {
		if fired > 1000 {
			o.t.Fatal("timers fire for ever")
		}
		next, own, found := toyTimer{}, false, false
		for i, list := range [][]toyTimer{o.timers, o.cleanups} {
			for _, x := range list {
				if x.domain == d && x.at <= to && (!found || cmp.Compare(x.at, next.at) < 0) {
					next, own, found = x, i == 1, true
				}
			}
		}
		if !found {
			return
		}
		drop := func(x toyTimer) bool { return x == next }
		isCleanup := own || slices.Contains(o.cleanups, next)
		o.timers, o.cleanups = slices.DeleteFunc(o.timers, drop), slices.DeleteFunc(o.cleanups, drop)
		o.fire(next, isCleanup)
	}
}

func (o *toy[T]) fire(timer toyTimer, cleanup bool) {
	ctx := toyContext[T]{o, timer.window}
	if o.b.Merging() {
		if _, ok := o.sessions.Find(timer.window); !ok {
			return
		}
	}
	if timer.domain == EventTime {
		o.act(timer.window, o.b.Trigger.OnEventTime(timer.at, timer.window, ctx))
	} else {
		o.act(timer.window, o.b.Trigger.OnProcessingTime(timer.at, timer.window, ctx))
	}
	if cleanup && timer.domain == o.b.Domain {
		*o.place(timer.window) = Elements[T]{}
		o.forget(timer.window)
		o.sessions.Remove(timer.window)
	}
}

// take returns what came out since the last call.
func (o *toy[T]) take() string {
	s := strings.Join(o.out, "; ")
	o.out = nil
	return s
}

func sum(rows []int) string {
	total := 0
	for _, r := range rows {
		total += r
	}
	return fmt.Sprint(total)
}
