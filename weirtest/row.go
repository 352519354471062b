package weirtest

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/internal/event"
)

// Row is a row with its event time.
type Row[T any] struct {
	// Value is the row itself.
	Value T
	// Time is its event time, in UTC; the zero time.Time means that it has none.
	Time time.Time
}

// At returns a row with an event time.
func At[T any](v T, t time.Time) Row[T] { return Row[T]{Value: v, Time: t} }

// String prints the row as "value @ time".
func (r Row[T]) String() string {
	if r.Time.IsZero() {
		return fmt.Sprintf("%+v", r.Value)
	}
	return fmt.Sprintf("%+v @ %s", r.Value, r.Time.Format(time.RFC3339Nano))
}

// rowAt is the row that the engine knows by a time in ms.
func rowAt[T any](v T, ms int64) Row[T] {
	if ms == event.NoTime {
		return Row[T]{Value: v}
	}
	return Row[T]{Value: v, Time: time.UnixMilli(ms).UTC()}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return event.NoTime
	}
	return t.UnixMilli()
}

func values[T any](rows []Row[T]) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = r.Value
	}
	return out
}
