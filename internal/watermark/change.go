package watermark

import "math"

const (
	// None is the watermark before there is any.
	None int64 = math.MinInt64
	// Final is the watermark at the end of an input: no row comes any more.
	Final int64 = math.MaxInt64
)

// Change is what a step wants to be sent downstream. The parts that are set are sent in the order of the fields. The zero
// value wants nothing.
type Change struct {
	// BecameActive ends idleness.
	BecameActive bool
	// Advanced is true if Watermark is a new, higher watermark.
	Advanced bool
	// Watermark is the watermark to send, if Advanced.
	Watermark int64
	// BecameIdle begins idleness: until BecameActive nobody downstream is to wait for a watermark from here.
	BecameIdle bool
}

// output is the side of a machine that faces downstream: a watermark that never falls, and whether it is idle.
type output struct {
	watermark int64
	idle      bool
}

// to moves the output, and says what that means for those downstream. A lower watermark is the one there is.
func (o *output) to(watermark int64, idle bool) (c Change) {
	c.BecameActive = o.idle && !idle
	c.BecameIdle = !o.idle && idle
	o.idle = idle
	if watermark > o.watermark {
		o.watermark = watermark
		c.Advanced, c.Watermark = true, watermark
	}
	return c
}
