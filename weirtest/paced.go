package weirtest

import (
	"context"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/operator"
)

// batchTime is how long a batch of a source takes in Chaos.
const batchTime = time.Millisecond

func pacedMaker(m operator.Maker) operator.Maker {
	return func() operator.Operator {
		op := m()
		if s, ok := op.(operator.Source); ok {
			return &pacedSource{Source: s}
		}
		return op
	}
}

// pacedSource is a source that takes its time. It passes on every ability that sources have.
type pacedSource struct {
	operator.Source
	ctx context.Context
}

func (p *pacedSource) Open(ctx *operator.Context, out operator.Collector) error {
	p.ctx = ctx.Ctx
	return p.Source.Open(ctx, out)
}

func (p *pacedSource) Step() (operator.SourceStatus, error) {
	st, err := p.Source.Step()
	if st == operator.SourceReady {
		_ = clock.Real{}.Sleep(p.ctx, batchTime) // cut short by the task's end, which it sees itself
	}
	return st, err
}

// Snapshot implements operator.Snapshotter.
func (p *pacedSource) Snapshot(c *operator.Cut) error {
	if s, ok := p.Source.(operator.Snapshotter); ok {
		return s.Snapshot(c)
	}
	return nil
}

// AfterRestore implements operator.Restorer.
func (p *pacedSource) AfterRestore() error {
	if s, ok := p.Source.(operator.Restorer); ok {
		return s.AfterRestore()
	}
	return nil
}

// Flush implements operator.Flusher.
func (p *pacedSource) Flush() error {
	if s, ok := p.Source.(operator.Flusher); ok {
		return s.Flush()
	}
	return nil
}

// Backpressured implements operator.PressureListener.
func (p *pacedSource) Backpressured(on bool) error {
	if s, ok := p.Source.(operator.PressureListener); ok {
		return s.Backpressured(on)
	}
	return nil
}
