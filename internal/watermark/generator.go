package watermark

import "github.com/weir-stream/weir/internal/sat"

// Generator makes the watermark of one split from the times of its rows. It sees them in the order of the split.
//
// The engine calls Observe once for each batch, before the rows are sent on, and Watermark after they were sent, so that no
// row is late by its own batch.
type Generator interface {
	// Observe takes the times of rows. None is a row without a time. The slice is borrowed for the call.
	Observe(times []int64)
	// Watermark is the watermark after all that was observed; None if there is none yet. It may fall: the engine keeps
	// the highest.
	Watermark() int64
}

// Bounded is the generator for rows that are out of order by no more than a bound: its watermark is highest time - bound -
// 1. With a bound of zero it is the one for times that never fall. Its zero value is ready.
type Bounded struct {
	// Bound is in ms, not negative.
	Bound   int64
	highest int64
	seen    bool
}

// Observe takes the times of rows.
func (b *Bounded) Observe(times []int64) {
	highest := None
	for _, t := range times {
		highest = max(highest, t)
	}
	if highest != None && (!b.seen || highest > b.highest) {
		b.highest, b.seen = highest, true
	}
}

// Watermark is the highest time less the bound and one.
func (b *Bounded) Watermark() int64 {
	if !b.seen {
		return None
	}
	return sat.Sub(sat.Sub(b.highest, b.Bound), 1)
}

// Silent is the generator that never makes a watermark. (The final one comes all the same, at the end of the input.)
type Silent struct{}

// Observe does nothing.
func (Silent) Observe([]int64) {}

// Watermark is None.
func (Silent) Watermark() int64 { return None }
