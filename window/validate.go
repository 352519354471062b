package window

import (
	"errors"
	"fmt"
	"time"
)

// Error is one complaint about a Spec.
type Error struct {
	// Spec is the text of the spec.
	Spec string
	// Reason says what is wrong.
	Reason string
	// Advice says what to write instead.
	Advice string
}

// Error says what is wrong, and what to do.
func (e *Error) Error() string { return fmt.Sprintf("window %s: %s: %s", e.Spec, e.Reason, e.Advice) }

// problem is an Error that does not know yet which spec it belongs to.
type problem struct{ reason, advice string }

const dayMillis = 24 * 60 * 60 * 1000

// perRowMax bounds how many windows may hold one row, so that a slide mistyped by a unit is an error and not a job that
// seems to hang.
const perRowMax = 1 << 20

// Validate returns nil, or an error that joins an *Error for each complaint. It cannot know the type of the rows; Bind
// checks that as well.
func (s Spec) Validate() error {
	problems := append([]problem(nil), s.problems...)
	if s.kind == 0 {
		problems = append(problems, problem{"it is the zero Spec", "make one with window.Tumbling or another constructor"})
		return s.join(problems)
	}
	problems = append(problems, s.sizeProblems()...)
	problems = append(problems, s.placeProblems()...)
	problems = append(problems, s.timeProblems()...)
	if s.trigger != nil {
		problems = append(problems, s.trigger.validate()...)
		if s.kind == KindSession && !s.trigger.mergeable() {
			problems = append(problems, problem{
				fmt.Sprintf("sessions merge, and the trigger %s cannot", s.trigger), "use a trigger whose memory can be merged, or windows that do not merge"})
		}
	} else if s.kind == KindGlobal {
		problems = append(problems, problem{"the global window never ends, so without a trigger there is never a result",
			"add .Trigger(window.OnCount(n)), .Trigger(window.OnEventTime()) to fire once at the end of the input, or .Trigger(window.Never())"})
	}
	if s.evictor != nil {
		problems = append(problems, s.evictor.validate()...)
	}
	return s.join(problems)
}

func (s Spec) join(problems []problem) error {
	var all []error
	for _, p := range problems {
		all = append(all, &Error{Spec: s.String(), Reason: p.reason, Advice: p.advice})
	}
	return errors.Join(all...)
}

func (s Spec) sizeProblems() (found []problem) {
	if s.kind == KindGlobal || s.gap != nil {
		return nil
	}
	if s.kind == KindSession {
		if s.size <= 0 {
			found = append(found, problem{"the gap is not positive", "give a gap of at least one millisecond"})
		}
		return found
	}
	if s.size <= 0 {
		found = append(found, problem{"the size is not positive", "give a size above zero"})
	}
	if s.slide <= 0 && s.kind != KindTumbling && s.kind != KindCount {
		found = append(found, problem{"the slide is not positive", "give a slide above zero"})
	}
	if s.size > 0 && s.slide > 0 && s.kind == KindSliding && s.size/s.slide > perRowMax {
		found = append(found, problem{fmt.Sprintf("each row would be in %d windows", s.size/s.slide),
			fmt.Sprintf("use a larger slide; %d windows a row are allowed", perRowMax)})
	}
	if s.unit != unitMilli && s.size > 1<<20 {
		found = append(found, problem{"the size is longer than any calendar", "give the size in days or months"})
	}
	return found
}

// placeProblems checks offset and zone.
func (s Spec) placeProblems() (found []problem) {
	if s.kind != KindTumbling && s.kind != KindSliding {
		if s.offset != 0 {
			found = append(found, problem{"an offset has no meaning here", "only tumbling and sliding windows have an offset"})
		}
		if s.loc != nil {
			found = append(found, problem{"a zone has no meaning here", "only tumbling and sliding windows follow a local clock"})
		}
		return found
	}
	limit := s.slide
	switch s.unit {
	case unitDay:
		limit *= dayMillis
	case unitMonth:
		limit *= 28 * dayMillis
	}
	if offset := s.offset.Milliseconds(); limit > 0 && (offset >= limit || offset <= -limit) {
		found = append(found, problem{fmt.Sprintf("the offset %s is not smaller than the distance of the windows", s.offset),
			"use the remainder of the offset by the slide; the windows are the same"})
	}
	if s.unit == unitMilli && s.loc != nil && s.loc != time.UTC && s.kind == KindSliding && (s.size%dayMillis != 0 || s.slide%dayMillis != 0) {
		found = append(found, problem{"sliding windows in a zone need a size and a slide of whole days",
			"use SlidingDays, or a zone's fixed distance from UTC as Offset"})
	}
	return found
}

// timeProblems checks lateness and clock.
func (s Spec) timeProblems() (found []problem) {
	if s.lateness < 0 {
		found = append(found, problem{"the allowed lateness is negative", "give zero or more"})
	}
	counts := s.kind == KindCount || s.kind == KindCountSliding
	if s.lateness != 0 && (s.domain == ProcessingTime || s.kind == KindGlobal || counts) {
		found = append(found, problem{"rows are never late for these windows, so allowed lateness does nothing", "remove AllowedLateness, or use windows in event time"})
	}
	if counts && s.domain == ProcessingTime {
		found = append(found, problem{"count windows follow no clock", "remove ProcessingTime"})
	}
	if counts && s.trigger != nil {
		found = append(found, problem{"count windows fire by count", "use Global with a trigger and an evictor to combine them freely"})
	}
	if counts && s.evictor != nil {
		found = append(found, problem{"count windows say themselves which rows they keep", "use Global with a trigger and an evictor to combine them freely"})
	}
	return found
}
