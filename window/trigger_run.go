package window

import (
	"fmt"
	"reflect"

	"github.com/weir-stream/weir/internal/sat"
)

// Each trigger here is one rule at work. Those with memory have the index of their word in State. All but deltaTrigger,
// timeoutTrigger and a custom trigger without the power can merge.

// compileTrigger turns a description into a trigger for rows of type T. next is the first free word of State.
func compileTrigger[T any](t *Trigger, next *int) (TriggerOf[T], error) {
	if t == nil {
		return nil, nil
	}
	word := *next
	switch t.kind {
	case triggerCount, triggerEveryEventTime, triggerEveryProcessingTime, triggerTimeout:
		*next++
	case triggerCustom:
		*next += StateWords
	}
	inner, err := compileTrigger[T](t.inner, next)
	if err != nil {
		return nil, err
	}
	late, err := compileTrigger[T](t.late, next)
	if err != nil {
		return nil, err
	}
	switch t.kind {
	case triggerEventTime:
		return eventTimeTrigger[T]{early: inner, late: late}, nil
	case triggerProcessingTime:
		return processingTimeTrigger[T]{}, nil
	case triggerCount:
		return countTrigger[T]{n: t.n, word: word}, nil
	case triggerEveryEventTime:
		return everyEventTime[T]{interval: t.n, word: word}, nil
	case triggerEveryProcessingTime:
		return everyProcessingTime[T]{interval: t.n, word: word}, nil
	case triggerNever:
		return neverTrigger[T]{}, nil
	case triggerTimeout:
		return timeoutTrigger[T]{inner: inner, timeout: t.n, word: word, flags: t.opts}, nil
	case triggerPurging:
		return purgingTrigger[T]{inner: inner}, nil
	case triggerDelta:
		if rule, ok := t.typed.(deltaRule[T]); ok {
			return deltaTrigger[T](rule), nil
		}
	case triggerCustom:
		if own, ok := t.typed.(TriggerOf[T]); ok {
			return own, nil
		}
	}
	return nil, fmt.Errorf("the trigger %s is for rows of type %s, and the stream has %s", t, t.elem, reflect.TypeFor[T]())
}

// merge hands OnMerge on to a nested trigger. Spec.Validate has seen to it that sessions have only triggers that can.
func merge[T any](t TriggerOf[T], w Window, from []*State, ctx Context[T]) {
	if m, ok := t.(MergingTrigger[T]); ok {
		m.OnMerge(w, from, ctx)
	}
}

// eventTimeTrigger fires at the end of the window, and has further triggers before and behind it. Either may be nil:
// then there are no early results, and one result for each late row.
type eventTimeTrigger[T any] struct{ early, late TriggerOf[T] }

func (t eventTimeTrigger[T]) OnElement(row T, ts int64, w Window, ctx Context[T]) Result {
	if w.MaxTimestamp() <= ctx.Watermark() {
		if t.late == nil {
			return Fire
		}
		return t.late.OnElement(row, ts, w, ctx)
	}
	ctx.SetTimer(EventTime, w.MaxTimestamp())
	if t.early == nil {
		return Continue
	}
	return t.early.OnElement(row, ts, w, ctx)
}

func (t eventTimeTrigger[T]) OnEventTime(at int64, w Window, ctx Context[T]) Result {
	switch {
	case at == w.MaxTimestamp():
		if t.early != nil {
			t.early.Clear(w, ctx)
		}
		return Fire
	case at < w.MaxTimestamp() && t.early != nil:
		return t.early.OnEventTime(at, w, ctx)
	case at > w.MaxTimestamp() && t.late != nil:
		return t.late.OnEventTime(at, w, ctx)
	}
	return Continue
}

func (t eventTimeTrigger[T]) OnProcessingTime(at int64, w Window, ctx Context[T]) Result {
	active := t.early
	if w.MaxTimestamp() <= ctx.Watermark() {
		active = t.late
	}
	if active == nil {
		return Continue
	}
	return active.OnProcessingTime(at, w, ctx)
}

// OnMerge sets no timer for an end that the watermark has passed: the row that caused the merge fires the window by
// itself, and a timer would fire it a second time.
func (t eventTimeTrigger[T]) OnMerge(w Window, from []*State, ctx Context[T]) {
	if t.early != nil {
		merge(t.early, w, from, ctx)
	}
	if t.late != nil {
		merge(t.late, w, from, ctx)
	}
	if w.MaxTimestamp() > ctx.Watermark() {
		ctx.SetTimer(EventTime, w.MaxTimestamp())
	}
}

func (t eventTimeTrigger[T]) Clear(w Window, ctx Context[T]) {
	ctx.DeleteTimer(EventTime, w.MaxTimestamp())
	if t.early != nil {
		t.early.Clear(w, ctx)
	}
	if t.late != nil {
		t.late.Clear(w, ctx)
	}
}

type processingTimeTrigger[T any] struct{}

func (processingTimeTrigger[T]) OnElement(_ T, _ int64, w Window, ctx Context[T]) Result {
	ctx.SetTimer(ProcessingTime, w.MaxTimestamp())
	return Continue
}

func (processingTimeTrigger[T]) OnEventTime(int64, Window, Context[T]) Result { return Continue }

func (processingTimeTrigger[T]) OnProcessingTime(at int64, w Window, _ Context[T]) Result {
	return Fire
}

func (processingTimeTrigger[T]) OnMerge(w Window, _ []*State, ctx Context[T]) {
	if w.MaxTimestamp() > ctx.ProcessingTime() {
		ctx.SetTimer(ProcessingTime, w.MaxTimestamp())
	}
}

func (processingTimeTrigger[T]) Clear(w Window, ctx Context[T]) {
	ctx.DeleteTimer(ProcessingTime, w.MaxTimestamp())
}

type countTrigger[T any] struct {
	n    int64
	word int
}

func (t countTrigger[T]) OnElement(_ T, _ int64, _ Window, ctx Context[T]) Result {
	s := ctx.State()
	count, _ := s.Get(t.word)
	if count+1 >= t.n {
		s.Unset(t.word)
		return Fire
	}
	s.Set(t.word, count+1)
	return Continue
}

func (countTrigger[T]) OnEventTime(int64, Window, Context[T]) Result      { return Continue }
func (countTrigger[T]) OnProcessingTime(int64, Window, Context[T]) Result { return Continue }

func (t countTrigger[T]) OnMerge(_ Window, from []*State, ctx Context[T]) {
	total := int64(0)
	for _, s := range from {
		count, _ := s.Get(t.word)
		total += count
	}
	if total > 0 {
		ctx.State().Set(t.word, total)
	}
}

func (t countTrigger[T]) Clear(_ Window, ctx Context[T]) { ctx.State().Unset(t.word) }

// everyEventTime has the time of its next firing in its word.
type everyEventTime[T any] struct {
	interval int64
	word     int
}

func (t everyEventTime[T]) OnElement(_ T, ts int64, w Window, ctx Context[T]) Result {
	if w.MaxTimestamp() <= ctx.Watermark() {
		return Fire
	}
	ctx.SetTimer(EventTime, w.MaxTimestamp())
	if _, ok := ctx.State().Get(t.word); !ok {
		t.plan(ts-floorMod(ts, t.interval), w, ctx)
	}
	return Continue
}

func (t everyEventTime[T]) plan(last int64, w Window, ctx Context[T]) {
	next := min(sat.Add(last, t.interval), w.MaxTimestamp())
	ctx.State().Set(t.word, next)
	ctx.SetTimer(EventTime, next)
}

func (t everyEventTime[T]) OnEventTime(at int64, w Window, ctx Context[T]) Result {
	if at == w.MaxTimestamp() {
		return Fire
	}
	if next, ok := ctx.State().Get(t.word); !ok || next != at {
		return Continue
	}
	t.plan(at, w, ctx)
	return Fire
}

func (everyEventTime[T]) OnProcessingTime(int64, Window, Context[T]) Result { return Continue }

func (t everyEventTime[T]) OnMerge(w Window, from []*State, ctx Context[T]) {
	if next, ok := earliest(from, t.word); ok {
		ctx.State().Set(t.word, next)
		ctx.SetTimer(EventTime, next)
	}
}

// Clear deletes the timer of the end as well. One that is left behind would do no harm, but it would hold memory.
func (t everyEventTime[T]) Clear(w Window, ctx Context[T]) {
	ctx.DeleteTimer(EventTime, w.MaxTimestamp())
	if next, ok := ctx.State().Get(t.word); ok {
		ctx.DeleteTimer(EventTime, next)
		ctx.State().Unset(t.word)
	}
}

// earliest is the smallest of the words that are present.
func earliest(from []*State, word int) (least int64, found bool) {
	for _, s := range from {
		if v, ok := s.Get(word); ok && (!found || v < least) {
			least, found = v, true
		}
	}
	return least, found
}

// everyProcessingTime has the time of its next firing in its word.
type everyProcessingTime[T any] struct {
	interval int64
	word     int
}

func (t everyProcessingTime[T]) OnElement(_ T, _ int64, w Window, ctx Context[T]) Result {
	if _, ok := ctx.State().Get(t.word); !ok {
		now := ctx.ProcessingTime()
		t.plan(now-floorMod(now, t.interval), now, w, ctx)
	}
	return Continue
}

// plan sets the next firing, not behind the end of a window that still lies ahead. When the clock has passed the end, which
// is so for event-time windows over old data, the interval alone counts: a timer at the end would fire at once, and no
// other would follow.
func (t everyProcessingTime[T]) plan(last, now int64, w Window, ctx Context[T]) {
	next := sat.Add(last, t.interval)
	if end := w.MaxTimestamp(); end > now {
		next = min(next, end)
	}
	ctx.State().Set(t.word, next)
	ctx.SetTimer(ProcessingTime, next)
}

func (everyProcessingTime[T]) OnEventTime(int64, Window, Context[T]) Result { return Continue }

func (t everyProcessingTime[T]) OnProcessingTime(at int64, w Window, ctx Context[T]) Result {
	if next, ok := ctx.State().Get(t.word); !ok || next != at {
		return Continue
	}
	t.plan(at, at, w, ctx)
	return Fire
}

func (t everyProcessingTime[T]) OnMerge(_ Window, from []*State, ctx Context[T]) {
	if next, ok := earliest(from, t.word); ok {
		ctx.State().Set(t.word, next)
		ctx.SetTimer(ProcessingTime, next)
	}
}

func (t everyProcessingTime[T]) Clear(_ Window, ctx Context[T]) {
	if next, ok := ctx.State().Get(t.word); ok {
		ctx.DeleteTimer(ProcessingTime, next)
		ctx.State().Unset(t.word)
	}
}

type deltaRule[T any] struct {
	threshold float64
	delta     func(last, row T) float64
}

type deltaTrigger[T any] deltaRule[T]

func (t deltaTrigger[T]) OnElement(row T, _ int64, _ Window, ctx Context[T]) Result {
	last, ok := ctx.Element()
	if !ok {
		ctx.SetElement(row)
		return Continue
	}
	if t.delta(last, row) > t.threshold {
		ctx.SetElement(row)
		return Fire
	}
	return Continue
}

func (deltaTrigger[T]) OnEventTime(int64, Window, Context[T]) Result      { return Continue }
func (deltaTrigger[T]) OnProcessingTime(int64, Window, Context[T]) Result { return Continue }
func (deltaTrigger[T]) Clear(Window, Context[T])                          {}

// timeoutTrigger has the time at which it fires by itself in its word.
type timeoutTrigger[T any] struct {
	inner   TriggerOf[T]
	timeout int64
	word    int
	flags   timeoutFlags
}

func (t timeoutTrigger[T]) OnElement(row T, ts int64, w Window, ctx Context[T]) Result {
	r := t.inner.OnElement(row, ts, w, ctx)
	if r.Fires() {
		t.Clear(w, ctx)
		return r
	}
	at, pending := ctx.State().Get(t.word)
	if pending && t.flags&timeoutExtend == 0 {
		return r
	}
	if pending {
		ctx.DeleteTimer(ProcessingTime, at)
	}
	next := sat.Add(ctx.ProcessingTime(), t.timeout)
	ctx.State().Set(t.word, next)
	ctx.SetTimer(ProcessingTime, next)
	return r
}

func (t timeoutTrigger[T]) OnEventTime(at int64, w Window, ctx Context[T]) Result {
	r := t.inner.OnEventTime(at, w, ctx)
	if r.Fires() {
		t.Clear(w, ctx)
	}
	return r
}

func (t timeoutTrigger[T]) OnProcessingTime(at int64, w Window, ctx Context[T]) Result {
	r := t.inner.OnProcessingTime(at, w, ctx)
	if due, ok := ctx.State().Get(t.word); !ok || due != at {
		if r.Fires() {
			t.Clear(w, ctx)
		}
		return r
	}
	ctx.State().Unset(t.word)
	if t.flags&timeoutKeep == 0 {
		t.inner.Clear(w, ctx)
	}
	return r | Fire
}

func (t timeoutTrigger[T]) Clear(w Window, ctx Context[T]) {
	if at, ok := ctx.State().Get(t.word); ok {
		ctx.DeleteTimer(ProcessingTime, at)
		ctx.State().Unset(t.word)
	}
	t.inner.Clear(w, ctx)
}

type purgingTrigger[T any] struct{ inner TriggerOf[T] }

func purge(r Result) Result {
	if r.Fires() {
		return FireAndPurge
	}
	return r
}

func (t purgingTrigger[T]) OnElement(row T, ts int64, w Window, ctx Context[T]) Result {
	return purge(t.inner.OnElement(row, ts, w, ctx))
}

func (t purgingTrigger[T]) OnEventTime(at int64, w Window, ctx Context[T]) Result {
	return purge(t.inner.OnEventTime(at, w, ctx))
}

func (t purgingTrigger[T]) OnProcessingTime(at int64, w Window, ctx Context[T]) Result {
	return purge(t.inner.OnProcessingTime(at, w, ctx))
}

func (t purgingTrigger[T]) OnMerge(w Window, from []*State, ctx Context[T]) {
	merge(t.inner, w, from, ctx)
}

func (t purgingTrigger[T]) Clear(w Window, ctx Context[T]) { t.inner.Clear(w, ctx) }

type neverTrigger[T any] struct{}

func (neverTrigger[T]) OnElement(T, int64, Window, Context[T]) Result     { return Continue }
func (neverTrigger[T]) OnEventTime(int64, Window, Context[T]) Result      { return Continue }
func (neverTrigger[T]) OnProcessingTime(int64, Window, Context[T]) Result { return Continue }
func (neverTrigger[T]) OnMerge(Window, []*State, Context[T])              {}
func (neverTrigger[T]) Clear(Window, Context[T])                          {}
