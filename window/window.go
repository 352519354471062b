package window

import (
	"math"
	"time"

	"github.com/weir-stream/weir/internal/sat"
)

// Window is the interval [Start, End) in milliseconds since the Unix epoch.
//
// It is a plain value: two windows are the same window if they are equal, and it can be a key.
type Window struct {
	// Start is the first instant in the window.
	Start int64
	// End is the first instant behind it.
	End int64
}

// GlobalWindow is the one window that holds everything; the assigner Global puts every row into it.
var GlobalWindow = Window{Start: math.MinInt64, End: math.MaxInt64}

// MaxTimestamp is the last instant in the window and the time of its results. For GlobalWindow it is MaxInt64, the final
// watermark, which is how a global window ends with the input.
func (w Window) MaxTimestamp() int64 {
	if w == GlobalWindow {
		return math.MaxInt64
	}
	return w.End - 1
}

// IsGlobal reports whether w is GlobalWindow.
func (w Window) IsGlobal() bool { return w == GlobalWindow }

// Contains reports whether ts lies in the window.
func (w Window) Contains(ts int64) bool { return w.Start <= ts && (ts < w.End || w == GlobalWindow) }

// Intersects reports whether two windows overlap or touch. Touching counts, as in Flink: sessions whose rows are exactly
// one gap apart are one session.
func (w Window) Intersects(o Window) bool { return w.Start <= o.End && o.Start <= w.End }

// Cover is the smallest window that holds both.
func (w Window) Cover(o Window) Window {
	return Window{Start: min(w.Start, o.Start), End: max(w.End, o.End)}
}

// StartTime is Start as a time in UTC.
func (w Window) StartTime() time.Time { return time.UnixMilli(w.Start).UTC() }

// EndTime is End as a time in UTC.
func (w Window) EndTime() time.Time { return time.UnixMilli(w.End).UTC() }

// Duration is the window's length. It saturates for windows of more than 292 years.
func (w Window) Duration() time.Duration {
	length := sat.Sub(w.End, w.Start)
	if length > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(length) * time.Millisecond
}

// String writes the window as [start, end) in UTC.
func (w Window) String() string {
	if w == GlobalWindow {
		return "global"
	}
	const layout = "2006-01-02T15:04:05.999Z07:00"
	return "[" + w.StartTime().Format(layout) + ", " + w.EndTime().Format(layout) + ")"
}

// CleanupTime is when the content of an event-time window may be forgotten. It saturates at MaxInt64, which means never:
// no timer is wanted for it.
func CleanupTime(w Window, lateness int64) int64 { return sat.Add(w.MaxTimestamp(), lateness) }

// floorDiv rounds toward minus infinity. d is positive.
func floorDiv(a, d int64) int64 {
	q := a / d
	if a%d < 0 {
		q--
	}
	return q
}

// floorMod is the remainder that belongs to floorDiv: 0 <= floorMod(a, d) < d. d is positive.
func floorMod(a, d int64) int64 {
	m := a % d
	if m < 0 {
		m += d
	}
	return m
}

// gcd of two positive numbers.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
