package processop

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// NewRuntime returns the Runtime of an operator of another package that calls functions itself, as window operators do. The
// operator sets Time and Watermark, asks Failed after each call, calls Snapshot at a cut, and calls FlushSides and DropSides.
func NewRuntime(ctx *operator.Context, out operator.Collector) *Runtime {
	rt := &Runtime{Op: ctx, out: out, Watermark: ctx.WatermarkThen()}
	rt.Time = event.NoTime
	if err := rt.restore(); err != nil {
		rt.Fail(err)
	}
	return rt
}

// Failed returns why the operator must stop, or nil.
func (rt *Runtime) Failed() error { return rt.failed() }

// Call runs one of the user's functions outside of rows and timers, such as Open, and gives its error or panic a place. A
// nil function is nothing.
func (rt *Runtime) Call(what string, f func() error) error {
	if err := rt.call(what, f); err != nil {
		return err
	}
	return rt.fails
}

// FlushSides sends what was gathered for side outputs.
func (rt *Runtime) FlushSides() error { return rt.flushSides() }

// DropSides releases it, for Close after a failure.
func (rt *Runtime) DropSides() {
	for i := range rt.sides {
		rt.sides[i].out.Drop()
	}
}
