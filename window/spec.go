package window

import (
	"fmt"
	"strings"
	"time"
)

// Kind is the family of an assigner.
type Kind uint8

// The kinds of windows.
const (
	// KindTumbling windows follow each other without gap or overlap.
	KindTumbling Kind = iota + 1
	// KindSliding windows of one size start every slide; they overlap if the slide is smaller than the size.
	KindSliding
	// KindSession windows grow with the rows and merge; they end with a gap.
	KindSession
	// KindGlobal is the one window that holds everything.
	KindGlobal
	// KindCount windows hold n rows of a key, in order of arrival.
	KindCount
	// KindCountSliding windows hold the last n rows of a key and fire every slide rows.
	KindCountSliding
)

// String is the name as it stands in plans.
func (k Kind) String() string {
	names := [...]string{"?", "tumbling", "sliding", "session", "global", "count", "countSliding"}
	if int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// Domain says which clock a window or a timer lives by.
type Domain uint8

const (
	// EventTime is the time that rows carry; it advances with the watermark.
	EventTime Domain = iota
	// ProcessingTime is the time of the machine that computes.
	ProcessingTime
)

// String is the name as it stands in plans.
func (d Domain) String() string {
	if d == ProcessingTime {
		return "processing-time"
	}
	return "event-time"
}

// unit is what sizes and slides of aligned windows are counted in.
type unit uint8

const (
	unitMilli unit = iota // exact milliseconds
	unitDay               // local days, of 23 to 25 hours around a change of the clocks
	unitMonth             // local months
)

// Spec describes windows for rows of any type. Its zero value is invalid; make one with Tumbling, Sliding, Days, Weeks,
// Months, SlidingDays, Session, SessionDynamic, Global, Count or CountSliding. Its methods return changed copies.
//
// Windows are in event time unless ProcessingTime is called.
type Spec struct {
	kind     Kind
	domain   Domain
	unit     unit
	size     int64 // in unit; the gap of sessions in ms; the rows of count windows
	slide    int64 // as size
	anchor   int64 // in unit: where counting starts, seen from 1970-01-01 (weeks start on Monday)
	offset   time.Duration
	lateness time.Duration
	loc      *time.Location // nil: UTC
	gap      *elementGap    // sessions with a dynamic gap
	trigger  *Trigger       // nil: the default of the kind
	evictor  *Evictor
	// problems found by the methods, which have no way to return an error themselves.
	problems []problem
}

// Tumbling windows of one size without gap or overlap, aligned to 1970-01-01T00:00:00Z.
//
// With In, a size of whole days means local days, which last 23 or 25 hours when the clocks change, and smaller sizes
// follow the local clock.
func Tumbling(size time.Duration) Spec {
	s := Spec{kind: KindTumbling}
	s.size = s.millis("size", size)
	s.slide = s.size
	return s
}

// Sliding windows of one size, one every slide. A row is in size/slide of them; if the slide is larger than the size,
// rows in the gaps are in none.
//
// With In, size and slide must be whole days.
func Sliding(size, slide time.Duration) Spec {
	s := Spec{kind: KindSliding}
	s.size, s.slide = s.millis("size", size), s.millis("slide", slide)
	return s
}

// Days are tumbling windows of n calendar days, in UTC unless In names a zone. Windows of several days are counted from
// 1970-01-01.
func Days(n int) Spec {
	return Spec{kind: KindTumbling, unit: unitDay, size: int64(n), slide: int64(n)}
}

// SlidingDays are windows of size calendar days, one every slide days.
func SlidingDays(size, slide int) Spec {
	return Spec{kind: KindSliding, unit: unitDay, size: int64(size), slide: int64(slide)}
}

// Weeks are tumbling windows of n calendar weeks that start on Monday (ISO 8601). Offset(-24h) makes it Sunday.
func Weeks(n int) Spec {
	// 1970-01-05 was a Monday.
	return Spec{kind: KindTumbling, unit: unitDay, size: 7 * int64(n), slide: 7 * int64(n), anchor: 4}
}

// Months are tumbling windows of n calendar months: Months(3) are quarters, Months(12) years.
func Months(n int) Spec {
	return Spec{kind: KindTumbling, unit: unitMonth, size: int64(n), slide: int64(n)}
}

// Session windows end when no row came for the gap. Rows exactly one gap apart are still in one session.
func Session(gap time.Duration) Spec {
	s := Spec{kind: KindSession}
	s.size = s.millis("gap", gap)
	return s
}

// SessionDynamic are session windows in which each row says how long a gap ends the session after it. A gap that is not
// positive fails the row.
func SessionDynamic[T any](gap func(T) time.Duration) Spec {
	s := Spec{kind: KindSession}
	if gap == nil {
		s.size = 1 // one complaint is enough
		return s.because("the gap function is nil", "pass a func(T) time.Duration")
	}
	s.gap = newElementGap(gap)
	return s
}

// Global puts all rows of a key into GlobalWindow, which never ends. It needs a trigger.
func Global() Spec { return Spec{kind: KindGlobal} }

// Count windows hold n rows of a key in order of arrival; they fire when full, and rows left over at the end of the input
// give no result.
func Count(n int) Spec { return Spec{kind: KindCount, size: int64(n), slide: int64(n)} }

// CountSliding windows hold the last n rows of a key and fire at every slide rows. The first firings have fewer than n.
func CountSliding(n, slide int) Spec {
	return Spec{kind: KindCountSliding, size: int64(n), slide: int64(slide)}
}

// ProcessingTime makes the windows follow the clock of the machine instead of the rows' own time.
func (s Spec) ProcessingTime() Spec {
	s.domain = ProcessingTime
	return s
}

// Offset moves the edges of tumbling and sliding windows: Tumbling(time.Hour).Offset(15*time.Minute) starts at a quarter
// past. It must be smaller than the size (the slide, for sliding windows). For calendar windows it is an offset of the
// local clock: Days(1).Offset(6*time.Hour) are days that start at six in the morning.
func (s Spec) Offset(d time.Duration) Spec {
	s.millis("offset", d)
	s.offset = d
	return s
}

// In makes windows follow the local clock of a zone.
func (s Spec) In(loc *time.Location) Spec {
	if loc == nil {
		return s.because("the location of In is nil", "time.LoadLocation returned an error that was ignored")
	}
	s.loc = loc
	return s
}

// AllowedLateness keeps a window for d of event time behind its end. A row that comes within it fires the window again,
// with the corrected result; a later one is dropped, counted, and to be had as late row.
func (s Spec) AllowedLateness(d time.Duration) Spec {
	s.millis("allowed lateness", d)
	s.lateness = d
	return s
}

// Trigger replaces the trigger that the windows have by default.
func (s Spec) Trigger(t Trigger) Spec {
	s.trigger = &t
	return s
}

// Evictor removes rows from a window before or after its function runs. It makes the operator keep every row of a window,
// so that nothing is aggregated on arrival.
func (s Spec) Evictor(e Evictor) Spec {
	s.evictor = &e
	return s
}

// Kind is the family of the windows.
func (s Spec) Kind() Kind { return s.kind }

// Domain is the clock of the windows.
func (s Spec) Domain() Domain { return s.domain }

// String writes the spec as it stands in plans. Specs that keep state in another way have different strings.
func (s Spec) String() string {
	var b strings.Builder
	switch s.kind {
	case KindTumbling:
		fmt.Fprintf(&b, "tumbling(%s)", s.length(s.size))
	case KindSliding:
		fmt.Fprintf(&b, "sliding(%s, %s)", s.length(s.size), s.length(s.slide))
	case KindSession:
		if s.gap != nil {
			fmt.Fprintf(&b, "session(func(%s))", s.gap.elem)
		} else {
			fmt.Fprintf(&b, "session(%s)", s.length(s.size))
		}
	case KindGlobal:
		b.WriteString("global")
	case KindCount:
		fmt.Fprintf(&b, "count(%d)", s.size)
	case KindCountSliding:
		fmt.Fprintf(&b, "count(%d, %d)", s.size, s.slide)
	default:
		b.WriteString("invalid")
	}
	if s.loc != nil {
		fmt.Fprintf(&b, " in %s", s.loc)
	}
	if s.offset != 0 {
		fmt.Fprintf(&b, " offset %s", s.offset)
	}
	if s.domain == ProcessingTime {
		b.WriteString(" processing-time")
	}
	if s.lateness != 0 {
		fmt.Fprintf(&b, " lateness %s", s.lateness)
	}
	if s.trigger != nil {
		fmt.Fprintf(&b, " trigger %s", s.trigger)
	}
	if s.evictor != nil {
		fmt.Fprintf(&b, " evictor %s", s.evictor)
	}
	return b.String()
}

func (s Spec) length(n int64) string {
	switch {
	case s.unit == unitDay && s.anchor != 0:
		return fmt.Sprintf("%d weeks", n/7)
	case s.unit == unitDay:
		return fmt.Sprintf("%d days", n)
	case s.unit == unitMonth:
		return fmt.Sprintf("%d months", n)
	}
	return (time.Duration(n) * time.Millisecond).String()
}

// millis converts a duration, and notes a problem if it is not a whole number of milliseconds.
func (s *Spec) millis(what string, d time.Duration) int64 {
	if d%time.Millisecond != 0 {
		*s = s.because(fmt.Sprintf("the %s %s is not a whole number of milliseconds", what, d), "times have a resolution of one millisecond")
	}
	return d.Milliseconds()
}

// because returns a copy with one more problem. The slice is copied, since two specs may be made from one.
func (s Spec) because(reason, advice string) Spec {
	s.problems = append(s.problems[:len(s.problems):len(s.problems)], problem{reason, advice})
	return s
}
