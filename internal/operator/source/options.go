package source

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/operator"
)

// Policy says what becomes of a record that cannot be decoded.
type Policy uint8

const (
	// Fail ends the job with the record's place and content.
	Fail Policy = iota
	// Skip drops the record and counts it.
	Skip
	// Quarantine sends the record to the side output BadSide and counts it.
	Quarantine
)

// String returns the policy's name.
func (p Policy) String() string { return [...]string{"fail", "skip", "quarantine"}[p] }

// Names of the side outputs that every source has. They begin with a word that the API keeps users from using.
const (
	// NoTimeSide carries rows without a usable event time.
	NoTimeSide = "weir.no-time"
	// BadSide carries connector.BadRecord.
	BadSide = "weir.bad-records"
)

// Options is how a source treats rows of T.
type Options[T any] struct {
	// Time extracts the event time; a zero time.Time means that the row has none. Nil leaves the connector's times.
	Time func(T) time.Time
	// OutOfOrder is how far behind the highest time seen in its split a row may be without being late.
	OutOfOrder time.Duration
	// NoWatermarks keeps the source from making watermarks although rows have times.
	NoWatermarks bool
	// Idle is how long a split may send nothing before it no longer holds watermarks back; 0 is for ever.
	Idle time.Duration
	// Drift is how far a split's watermark may be ahead of the lowest one; 0 is without bound.
	Drift time.Duration
	// Bad says what becomes of records that cannot be decoded.
	Bad Policy
	// BadMax fails the job when more records than that were skipped or quarantined by one task; 0 is without bound.
	BadMax int64
	// TimeNil says that event times were asked for with a nil function.
	TimeNil bool
}

// Problems says what is wrong with the options, and what to write instead.
func (o Options[T]) Problems() (out []string) {
	if o.TimeNil {
		out = append(out, "the function passed to EventTime is nil: pass one that returns a row's time")
	}
	for _, d := range []struct {
		what string
		d    time.Duration
	}{{"OutOfOrder", o.OutOfOrder}, {"Idle", o.Idle}, {"Aligned", o.Drift}} {
		switch {
		case d.d < 0:
			out = append(out, fmt.Sprintf("%s is negative, %v: give a duration above zero, or leave it out", d.what, d.d))
		case d.d%time.Millisecond != 0:
			out = append(out, fmt.Sprintf("%s is %v: times have a resolution of one millisecond", d.what, d.d))
		}
	}
	if o.BadMax < 0 {
		out = append(out, fmt.Sprintf("%d bad records are allowed: give a number above zero, or 0 for any number", o.BadMax))
	}
	return out
}

// Driven is implemented by connectors that bring the operator in the place of New: those that tests drive. Nobody calls their
// other methods to read.
type Driven interface {
	Operator() operator.Operator
}

// Describe returns the options as plans show them.
func (o Options[T]) Describe() string {
	if o.Time == nil {
		return ""
	}
	s := "event time, out of order " + o.OutOfOrder.String()
	if o.Idle > 0 {
		s += ", idle after " + o.Idle.String()
	}
	if o.Drift > 0 {
		s += ", aligned within " + o.Drift.String()
	}
	return s
}

// badText renders a record for messages.
func badText(r connector.BadRecord) string {
	where := r.Where
	if r.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, r.Line)
		if r.Column > 0 {
			where = fmt.Sprintf("%s:%d", where, r.Column)
		}
	}
	s := where
	if r.Field != "" {
		s += ": field " + r.Field
	}
	s += fmt.Sprintf(": %q", r.Value)
	if r.Want != "" {
		s += ", expected " + r.Want
	}
	if r.Cause != "" {
		s += ": " + r.Cause
	}
	return s
}

// Descriptor is what a source's node in the plan holds: how to make the operator in a task, and the enumerator beside the
// coordinator.
type Descriptor struct {
	// Make makes the operator of one task.
	Make operator.Maker
	// Enumerator makes the one enumerator of the source.
	Enumerator func(connector.EnumeratorContext, []byte) (connector.Enumerator, error)
	// Describe says where the next record of a split is, for messages. May be nil.
	Describe func(connector.FileSystem, connector.Split) string
	// Drift is the bound of watermark alignment; with it, splits are assigned eagerly.
	Drift time.Duration
	// Eager assigns splits eagerly in any case (connector.SideBySide).
	Eager bool
}
