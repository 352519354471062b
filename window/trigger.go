package window

import (
	"fmt"
	"reflect"
	"time"
)

// Result is what a trigger decides.
type Result uint8

// The results. They are bits: FireAndPurge is Fire and Purge.
const (
	// Continue does nothing.
	Continue Result = 0
	// Fire emits the window's result and keeps its content, so that the next firing emits all of it again.
	Fire Result = 1
	// Purge drops the window's content without a result. Timers and the trigger's memory stay.
	Purge Result = 2
	// FireAndPurge emits the result and drops the content.
	FireAndPurge Result = Fire | Purge
)

// Fires reports whether a result is to be emitted.
func (r Result) Fires() bool { return r&Fire != 0 }

// Purges reports whether the content is to be dropped, after a result if there is one.
func (r Result) Purges() bool { return r&Purge != 0 }

// String is the name of the constant.
func (r Result) String() string {
	return [...]string{"Continue", "Fire", "Purge", "FireAndPurge"}[r&FireAndPurge]
}

// TriggerOf decides when windows over rows of type T give a result. Users implement it for triggers of their own and hand
// it to Custom; operators call it.
//
// One value serves all keys and windows of an operator, so it must keep nothing itself: memory is in Context.State. All
// calls come from the task's goroutine and none may block. For one window the order is: OnElement for each row that is
// assigned and not late, after the row was added to the content; OnEventTime and OnProcessingTime for each timer that
// fires (also the window's own cleanup timer, so compare the time); Clear once, when the window is forgotten. After Clear
// the operator drops State and Element itself: what Clear must do is delete timers.
type TriggerOf[T any] interface {
	// OnElement is called for a row, with its time (the processing time in processing-time windows).
	OnElement(row T, ts int64, w Window, ctx Context[T]) Result
	// OnEventTime is called when the watermark reaches an event timer of the window, with the timer's time.
	OnEventTime(t int64, w Window, ctx Context[T]) Result
	// OnProcessingTime is called when the clock reaches a processing timer of the window, with the timer's time.
	OnProcessingTime(t int64, w Window, ctx Context[T]) Result
	// Clear deletes the timers that may be left.
	Clear(w Window, ctx Context[T])
}

// MergingTrigger is the further power of triggers that work with sessions.
type MergingTrigger[T any] interface {
	TriggerOf[T]
	// OnMerge is called when w replaces older windows. Context speaks for w, whose State is empty at first; from are the
	// states of the older windows, which are cleared (with Clear, in their own context) right after the call. OnMerge
	// combines the states and registers the timers of w.
	OnMerge(w Window, from []*State, ctx Context[T])
}

// Context is what a trigger sees of the operator, for one key and one window. It is valid during the call only.
type Context[T any] interface {
	// Watermark is the current watermark; MinInt64 before the first one.
	Watermark() int64
	// ProcessingTime is the current processing time.
	ProcessingTime() int64
	// SetTimer registers a timer for this key and window. A second one for the same time is the same timer. A timer in
	// the past fires soon, never within the call.
	SetTimer(d Domain, t int64)
	// DeleteTimer removes a timer; if there is none, nothing happens. A timer that the operator needs for itself (for
	// cleanup) is not the trigger's, and stays.
	DeleteTimer(d Domain, t int64)
	// State is the trigger's memory for this key and window; changes through the pointer are kept.
	State() *State
	// Element is the row that SetElement remembered for this key and window. Only triggers for which Bound.KeepsElement
	// is true may call it.
	Element() (T, bool)
	// SetElement remembers a row.
	SetElement(row T)
}

// StateWords is how many numbers a trigger can remember for each key and window.
const StateWords = 4

// State is what a trigger remembers for one key and window: a few numbers that may be absent. It has no pointers, so that
// a backend can keep it in place. The zero value is empty.
type State struct {
	// Have has bit i set if Words[i] is present.
	Have uint64
	// Words are the numbers; what is absent is zero.
	Words [StateWords]int64
}

// Get returns word i, and whether it is present.
func (s *State) Get(i int) (int64, bool) { return s.Words[i], s.Have&(1<<i) != 0 }

// Set makes word i present.
func (s *State) Set(i int, v int64) {
	s.Words[i] = v
	s.Have |= 1 << i
}

// Unset makes word i absent.
func (s *State) Unset(i int) {
	s.Words[i] = 0
	s.Have &^= 1 << i
}

// Trigger describes when windows give a result. It says nothing about rows' type, except for OnDelta and Custom, whose
// type Bind checks. The zero value is not a trigger.
type Trigger struct {
	kind  triggerKind
	n     int64    // count, or interval in ms
	inner *Trigger // what Purging, Timeout wrap; the early trigger of OnEventTime
	late  *Trigger // the late trigger of OnEventTime
	opts  timeoutFlags
	text  string       // of custom triggers
	elem  reflect.Type // of OnDelta and Custom
	typed any          // deltaRule[T] or TriggerOf[T]
	merge bool         // whether a custom trigger merges
	wrong *problem
}

type triggerKind uint8

const (
	triggerInvalid triggerKind = iota
	triggerEventTime
	triggerProcessingTime
	triggerCount
	triggerDelta
	triggerEveryEventTime
	triggerEveryProcessingTime
	triggerTimeout
	triggerPurging
	triggerNever
	triggerCustom
)

// OnEventTime fires when the watermark reaches the end of the window, and then at every late row. It is the default of
// event-time windows. Early and Late add more results.
func OnEventTime() Trigger { return Trigger{kind: triggerEventTime} }

// OnProcessingTime fires when the clock reaches the end of the window. It is the default of processing-time windows.
func OnProcessingTime() Trigger { return Trigger{kind: triggerProcessingTime} }

// OnCount fires at every n rows of a window. The content stays; Purging(OnCount(n)) drops it.
func OnCount(n int) Trigger { return Trigger{kind: triggerCount, n: int64(n)} }

// EveryEventTime fires whenever the watermark passes a multiple of d while the window has rows, and at the window's end.
func EveryEventTime(d time.Duration) Trigger { return interval(triggerEveryEventTime, d) }

// EveryProcessingTime fires whenever the clock passes a multiple of d while the window has rows.
func EveryProcessingTime(d time.Duration) Trigger { return interval(triggerEveryProcessingTime, d) }

func interval(k triggerKind, d time.Duration) Trigger {
	t := Trigger{kind: k, n: d.Milliseconds()}
	if d%time.Millisecond != 0 {
		t.wrong = &problem{fmt.Sprintf("the interval %s of a trigger is not a whole number of milliseconds", d), "times have a resolution of one millisecond"}
	}
	return t
}

// OnDelta fires when a row is further than the threshold from the row of the last firing (at first: from the first row).
func OnDelta[T any](threshold float64, delta func(last, row T) float64) Trigger {
	t := Trigger{kind: triggerDelta, elem: reflect.TypeFor[T](), typed: deltaRule[T]{threshold, delta}, text: fmt.Sprint(threshold)}
	if delta == nil {
		t.wrong = &problem{"the delta function of a trigger is nil", "pass a func(last, row T) float64"}
	}
	return t
}

// Purging makes a trigger drop the window's content at each firing.
func Purging(t Trigger) Trigger { return Trigger{kind: triggerPurging, inner: &t} }

// Never never fires. It makes sense where an operator reads the content in another way.
func Never() Trigger { return Trigger{kind: triggerNever} }

// Custom is a trigger of the user's own. The name stands in plans.
func Custom[T any](name string, own TriggerOf[T]) Trigger {
	t := Trigger{kind: triggerCustom, text: name, elem: reflect.TypeFor[T](), typed: own}
	if own == nil {
		t.wrong = &problem{fmt.Sprintf("the custom trigger %q is nil", name), "pass a window.TriggerOf"}
	}
	_, t.merge = own.(MergingTrigger[T])
	return t
}

type timeoutFlags uint8

const (
	timeoutExtend timeoutFlags = 1 << iota
	timeoutKeep
)

// TimeoutOption changes Timeout.
type TimeoutOption func(*timeoutFlags)

// ExtendAtRow makes each row start the time of Timeout anew.
func ExtendAtRow() TimeoutOption { return func(f *timeoutFlags) { *f |= timeoutExtend } }

// KeepAtTimeout makes Timeout leave the memory of the inner trigger as it is when the time has passed.
func KeepAtTimeout() TimeoutOption { return func(f *timeoutFlags) { *f |= timeoutKeep } }

// Timeout fires when the inner trigger does, or when d of processing time has passed since the first row after the last
// firing. When the time has passed, the inner trigger starts anew.
func Timeout(t Trigger, d time.Duration, opts ...TimeoutOption) Trigger {
	out := interval(triggerTimeout, d)
	out.inner = &t
	for _, o := range opts {
		o(&out.opts)
	}
	return out
}

// Early makes OnEventTime give results before the end of the window, whenever t fires. At the end t starts anew.
func (t Trigger) Early(early Trigger) Trigger {
	if t.kind != triggerEventTime {
		t.wrong = &problem{fmt.Sprintf("the trigger %s has no early results", t), "write window.OnEventTime().Early(...)"}
		return t
	}
	t.inner = &early
	return t
}

// Late makes OnEventTime give results behind the end of the window, within the allowed lateness, when t fires, instead of
// at every late row.
func (t Trigger) Late(late Trigger) Trigger {
	if t.kind != triggerEventTime {
		t.wrong = &problem{fmt.Sprintf("the trigger %s has no late results", t), "write window.OnEventTime().Late(...)"}
		return t
	}
	t.late = &late
	return t
}

// String writes the trigger as it stands in plans.
func (t Trigger) String() string {
	every := time.Duration(t.n) * time.Millisecond
	switch t.kind {
	case triggerEventTime:
		s := "onEventTime"
		if t.inner != nil {
			s += " early " + t.inner.String()
		}
		if t.late != nil {
			s += " late " + t.late.String()
		}
		return s
	case triggerProcessingTime:
		return "onProcessingTime"
	case triggerCount:
		return fmt.Sprintf("onCount(%d)", t.n)
	case triggerDelta:
		return fmt.Sprintf("onDelta(%s, func(%s))", t.text, t.elem)
	case triggerEveryEventTime:
		return fmt.Sprintf("everyEventTime(%s)", every)
	case triggerEveryProcessingTime:
		return fmt.Sprintf("everyProcessingTime(%s)", every)
	case triggerTimeout:
		return fmt.Sprintf("timeout(%s, %s, flags %d)", t.inner, every, t.opts)
	case triggerPurging:
		return fmt.Sprintf("purging(%s)", t.inner)
	case triggerNever:
		return "never"
	case triggerCustom:
		return fmt.Sprintf("custom(%s)", t.text)
	}
	return "invalid"
}

// mergeable reports whether sessions may use the trigger.
func (t *Trigger) mergeable() bool {
	switch t.kind {
	case triggerDelta, triggerTimeout:
		return false
	case triggerCustom:
		return t.merge
	}
	return (t.inner == nil || t.inner.mergeable()) && (t.late == nil || t.late.mergeable())
}

// words is how many numbers the trigger and those inside it remember.
func (t *Trigger) words() int {
	own := 0
	switch t.kind {
	case triggerCount, triggerEveryEventTime, triggerEveryProcessingTime, triggerTimeout:
		own = 1
	case triggerCustom:
		own = StateWords
	}
	for _, nested := range []*Trigger{t.inner, t.late} {
		if nested != nil {
			own += nested.words()
		}
	}
	return own
}

// keeps counts the triggers that remember a row.
func (t *Trigger) keeps() int {
	own := 0
	if t.kind == triggerDelta || t.kind == triggerCustom {
		own = 1
	}
	for _, nested := range []*Trigger{t.inner, t.late} {
		if nested != nil {
			own += nested.keeps()
		}
	}
	return own
}

func (t *Trigger) validate() (found []problem) {
	if t.words() > StateWords {
		found = append(found, problem{fmt.Sprintf("the trigger %s remembers %d numbers", t, t.words()),
			fmt.Sprintf("combine fewer triggers: %d are possible, and a custom one takes them all", StateWords)})
	}
	if t.keeps() > 1 {
		found = append(found, problem{fmt.Sprintf("the trigger %s remembers more than one row", t), "use one delta trigger, or write a custom one"})
	}
	return append(found, t.ownProblems()...)
}

func (t *Trigger) ownProblems() (found []problem) {
	if t.wrong != nil {
		found = append(found, *t.wrong)
	}
	switch t.kind {
	case triggerInvalid:
		found = append(found, problem{"a trigger is the zero Trigger", "make one with window.OnEventTime or another constructor"})
	case triggerCount:
		if t.n <= 0 {
			found = append(found, problem{fmt.Sprintf("the trigger %s counts to nothing", t), "give a count above zero"})
		}
	case triggerEveryEventTime, triggerEveryProcessingTime, triggerTimeout:
		if t.n <= 0 {
			found = append(found, problem{fmt.Sprintf("the time of the trigger %s is not positive", t), "give at least one millisecond"})
		}
	}
	for _, nested := range []*Trigger{t.inner, t.late} {
		if nested != nil {
			found = append(found, nested.ownProblems()...)
		}
	}
	return found
}
