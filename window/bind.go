package window

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/weir-stream/weir/internal/sat"
)

// noTime is the time of a row that has none.
const noTime = math.MinInt64

// elementGap is a gap function with the type that it is for.
type elementGap struct {
	elem reflect.Type
	fn   any // func(T) time.Duration
}

func newElementGap[T any](gap func(T) time.Duration) *elementGap {
	return &elementGap{elem: reflect.TypeFor[T](), fn: gap}
}

// Bound is a Spec that has been checked against the rows of a stream. Operators work with it; it is made by Bind and not
// changed afterwards.
type Bound[T any] struct {
	// Kind is the family of the windows.
	Kind Kind
	// Domain is the clock of the windows. In processing-time windows the time of a row is the current processing time.
	Domain Domain
	// Grid is the arithmetic of tumbling and sliding windows; nil for the other kinds.
	Grid *Grid
	// Gap is the fixed gap of sessions in ms; 0 if GapOf is set.
	Gap int64
	// GapOf is the dynamic gap of sessions, or nil.
	GapOf func(T) time.Duration
	// Rows is the size of count windows in rows.
	Rows int64
	// EveryRows is the slide of count windows in rows; equal to Rows for KindCount.
	EveryRows int64
	// Lateness is the allowed lateness in ms.
	Lateness int64
	// Trigger is never nil, except for count windows, whose kind says everything. Sessions have a MergingTrigger.
	Trigger TriggerOf[T]
	// Plain is true if the trigger is the plain OnEventTime in event time, or OnProcessingTime in processing time: a
	// window fires at its end, and in event time at each late row. An operator then needs no calls and no State.
	Plain bool
	// StateWords is how many words of State the trigger uses, from the first.
	StateWords int
	// KeepsElement is true if the trigger may call Element and SetElement.
	KeepsElement bool
	// EvictBefore and EvictAfter remove rows before and after the window's function; at most one is not nil. Rows that
	// are removed are gone for later firings too.
	EvictBefore, EvictAfter Evict[T]
	// Text is the spec as it stands in plans.
	Text string
}

// Bind checks a spec against rows of type T. The error joins an *Error for each complaint.
func Bind[T any](s Spec) (*Bound[T], error) {
	bad := []error{s.Validate()}
	complain := func(reason string) {
		bad = append(bad, &Error{Spec: s.String(), Reason: reason, Advice: "write it for the type of the stream, or map the stream first"})
	}
	b := &Bound[T]{Kind: s.kind, Domain: s.domain, Lateness: s.lateness.Milliseconds(), Text: s.String()}
	if s.gap != nil {
		gap, ok := s.gap.fn.(func(T) time.Duration)
		if !ok {
			complain(fmt.Sprintf("the gap function takes %s, and the stream has %s", s.gap.elem, reflect.TypeFor[T]()))
		}
		b.GapOf = gap
	}
	t := s.trigger
	if t == nil {
		t = defaultTrigger(s)
	}
	if t != nil && len(t.validate()) == 0 {
		var err error
		if b.Trigger, err = compileTrigger[T](t, &b.StateWords); err != nil {
			complain(err.Error())
		}
		b.KeepsElement = t.keeps() > 0
		b.Plain = plain(t, s.domain)
	}
	if s.evictor != nil && len(s.evictor.validate()) == 0 {
		evict, err := compileEvictor[T](s.evictor)
		if err != nil {
			complain(err.Error())
		}
		if s.evictor.after {
			b.EvictAfter = evict
		} else {
			b.EvictBefore = evict
		}
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	switch s.kind {
	case KindTumbling, KindSliding:
		b.Grid = newGrid(s)
	case KindSession:
		b.Gap = s.size
	case KindCount, KindCountSliding:
		b.Rows, b.EveryRows = s.size, s.slide
	}
	return b, nil
}

// defaultTrigger is nil for count windows. For the global window Validate asks for a trigger.
func defaultTrigger(s Spec) *Trigger {
	t := OnEventTime()
	switch {
	case s.kind == KindCount || s.kind == KindCountSliding:
		return nil
	case s.kind == KindGlobal:
		t = Never()
	case s.domain == ProcessingTime:
		t = OnProcessingTime()
	}
	return &t
}

func plain(t *Trigger, d Domain) bool {
	if d == ProcessingTime {
		return t.kind == triggerProcessingTime
	}
	return t.kind == triggerEventTime && t.inner == nil && t.late == nil
}

// Merging reports whether windows merge, which means that a Sessions is kept for each key.
func (b *Bound[T]) Merging() bool { return b.Kind == KindSession }

// CleanupTime is when the content of a window may be forgotten, in the windows' own time. MaxInt64 means never, and
// wants no timer.
func (b *Bound[T]) CleanupTime(w Window) int64 {
	if b.Domain == ProcessingTime {
		return w.MaxTimestamp()
	}
	return CleanupTime(w, b.Lateness)
}

// Late reports whether a window is over, so that no row may be added to it. For sessions ask after merging.
func (b *Bound[T]) Late(w Window, watermark int64) bool {
	return b.Domain == EventTime && CleanupTime(w, b.Lateness) <= watermark
}

// LateRow reports whether a row that went into no window is to be counted as late. It is not if it fell into a gap
// between sliding windows ahead of the watermark.
func (b *Bound[T]) LateRow(ts, watermark int64) bool {
	return b.Domain == EventTime && sat.Add(ts, b.Lateness) <= watermark
}

// Session is the window of one row alone: from its time to the end of its gap.
func (b *Bound[T]) Session(row T, ts int64) (Window, error) {
	gap := b.Gap
	if b.GapOf != nil {
		d := b.GapOf(row)
		if gap = d.Milliseconds(); gap <= 0 {
			return Window{}, &Error{Spec: b.Text, Reason: fmt.Sprintf("the gap function returned %s", d), Advice: "return at least one millisecond"}
		}
	}
	return Window{Start: ts, End: sat.Add(ts, gap)}, nil
}

// Assign appends the windows of a row to dst, by rising start. The window of count kinds is GlobalWindow. A row without a
// time (MinInt64) is an error, unless the window is global. It is the general way; operators use Grid and Session directly,
// and ask for the time before.
func (b *Bound[T]) Assign(dst []Window, row T, ts int64) ([]Window, error) {
	if ts == noTime && (b.Grid != nil || b.Merging()) {
		return dst, &Error{Spec: b.Text, Reason: "a row has no time", Advice: "give the stream event times, or use ProcessingTime"}
	}
	switch b.Kind {
	case KindTumbling, KindSliding:
		return b.Grid.AppendWindows(dst, ts), nil
	case KindSession:
		w, err := b.Session(row, ts)
		if err != nil {
			return dst, err
		}
		return append(dst, w), nil
	}
	return append(dst, GlobalWindow), nil
}
