package weirtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/source"
)

// Source is a source that the test feeds: rows, watermarks, idleness and the end come exactly when it says. It keeps all
// that it was fed, and every job that reads it begins at the first row: it may be fed before the job runs or while it
// does, and be read by several jobs, one after the other. All methods may be called from any goroutine.
type Source[T any] struct {
	name string

	mu     sync.Mutex
	events []fed[T]
	ended  bool
	wake   []chan struct{} // closed at the next feeding: one for each reader that waits
}

// fed is a row, or what happens between rows.
type fed[T any] struct {
	row  T
	time int64
	kind event.Kind // KindBatch is the row
}

// NewSource returns a source of that name to which nothing has been fed.
func NewSource[T any](name string) *Source[T] { return &Source[T]{name: name} }

// SourceOf returns a source of the given rows, which has ended. There is no watermark before the end.
func SourceOf[T any](name string, rows ...Row[T]) *Source[T] {
	s := NewSource[T](name)
	s.PushRows(rows...)
	s.End()
	return s
}

// Stream adds the source to a job.
func (s *Source[T]) Stream(env *weir.Env) weir.Stream[T] { return s.stream(env, nil) }

// stream adds the source with a function that draws the sizes of batches; nil for full ones.
func (s *Source[T]) stream(env *weir.Env, cut func() int) weir.Stream[T] {
	if cut == nil {
		cut = func() int { return 0 }
	}
	return weir.From(env, s.name, connector.Source[T](fedSource[T]{s, cut}))
}

// Push feeds a row with its event time; the zero time.Time is none.
func (s *Source[T]) Push(v T, at time.Time) {
	s.feed(fed[T]{row: v, time: millis(at), kind: event.KindBatch})
}

// PushRows feeds rows with their event times.
func (s *Source[T]) PushRows(rows ...Row[T]) {
	for _, r := range rows {
		s.Push(r.Value, r.Time)
	}
}

// Watermark says that no row with an event time at or before t follows. One that is not above the last is ignored.
func (s *Source[T]) Watermark(t time.Time) {
	s.feed(fed[T]{time: t.UnixMilli(), kind: event.KindWatermark})
}

// Idle says that the source must not hold back event time until it is fed again.
func (s *Source[T]) Idle() { s.feed(fed[T]{kind: event.KindIdle}) }

// End ends the source. Nothing can be fed any more.
func (s *Source[T]) End() { s.feed(fed[T]{kind: event.KindEnd}) }

func (s *Source[T]) feed(f fed[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		if f.kind != event.KindEnd {
			panic(fmt.Sprintf("weirtest: source %q was fed a %v after its end", s.name, f.kind))
		}
		return
	}
	s.ended = f.kind == event.KindEnd
	s.events = append(s.events, f)
	for _, c := range s.wake {
		close(c)
	}
	s.wake = nil
}

// after returns what was fed from the given place on. The caller must not change it.
func (s *Source[T]) after(at int) []fed[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[at:]
}

// wait returns a channel that is closed when there is more than n, or nil if there is now.
func (s *Source[T]) wait(n int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) > n {
		return nil
	}
	c := make(chan struct{})
	s.wake = append(s.wake, c)
	return c
}

// fedSource is what the plan shows of a Source. It is not read: feeder is.
type fedSource[T any] struct {
	s   *Source[T]
	cut func() int
}

var _ source.Driven = fedSource[int]{}

// Operator implements source.Driven.
func (f fedSource[T]) Operator() operator.Operator { return &feeder[T]{src: f.s, cut: f.cut} }

func (f fedSource[T]) Name() string                     { return "weirtest.Source" }
func (fedSource[T]) Boundedness() connector.Boundedness { return connector.Bounded }
func (fedSource[T]) MaxParallelism() int                { return 1 }

func (fedSource[T]) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	return noSplits{}, nil
}

func (f fedSource[T]) Reader(connector.ReaderContext) (connector.Reader[T], error) {
	return nil, errs.New(errs.CodeBug, errs.ClassBug, f.s.name, "the source of a test is not read by a reader")
}

type noSplits struct{}

func (noSplits) Next(int) (s connector.Split, ok, done bool, wait time.Duration, err error) {
	return s, false, true, 0, nil
}
func (noSplits) Return(int, []connector.Split) {}
func (noSplits) Snapshot() ([]byte, error)     { return nil, nil }
func (noSplits) Close() error                  { return nil }

// feeder is the operator of a Source. Only the first subtask has rows; there is no other.
type feeder[T any] struct {
	src  *Source[T]
	cut  func() int
	ctx  *operator.Context
	em   *basic.Emitter[T]
	at   int
	idle bool
	mark int64
}

func (o *feeder[T]) Open(ctx *operator.Context, out operator.Collector) error {
	o.ctx, o.em, o.mark = ctx, basic.NewEmitter[T](out, "", ctx.BatchRows), event.NoTime
	return nil
}

// Step implements operator.Source.
func (o *feeder[T]) Step() (operator.SourceStatus, error) {
	next := o.src.after(o.at)
	if len(next) == 0 {
		return operator.SourceWaiting, nil
	}
	f := next[0]
	if o.idle && f.kind != event.KindIdle && f.kind != event.KindEnd {
		o.idle = false
		if err := o.ctx.EmitIdle(false); err != nil {
			return 0, err
		}
	}
	if f.kind == event.KindBatch {
		return operator.SourceReady, o.rows(next)
	}
	o.at++
	switch f.kind {
	case event.KindWatermark:
		if f.time <= o.mark {
			return operator.SourceReady, nil
		}
		o.mark = f.time
		return operator.SourceReady, o.ctx.EmitWatermark(f.time)
	case event.KindIdle:
		if o.idle {
			return operator.SourceReady, nil
		}
		o.idle = true
		return operator.SourceReady, o.ctx.EmitIdle(true)
	}
	return operator.SourceFinished, nil
}

// rows emits a batch of the rows that come next.
func (o *feeder[T]) rows(next []fed[T]) error {
	b := o.em.Take()
	limit := b.Room()
	if n := o.cut(); n > 0 {
		limit = min(limit, n)
	}
	for _, f := range next {
		if f.kind != event.KindBatch || b.Len() == limit {
			break
		}
		b.Append(f.row, f.time)
	}
	o.at += b.Len()
	in := &o.ctx.Counts.RowsIn
	in.Store(in.Load() + int64(b.Len()))
	return o.em.Send(b)
}

// Wait implements operator.Source.
func (o *feeder[T]) Wait(ctx context.Context) error {
	if c := o.src.wait(o.at); c != nil {
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
	return nil
}

func (o *feeder[T]) AddSplits([]connector.Split, bool) error { return nil }
func (o *feeder[T]) AlignTo(int64, int64) error              { return nil }
func (o *feeder[T]) Progress() (low int64, blocked bool)     { return event.MaxTime, false }
func (o *feeder[T]) WantSplit() bool                         { return false }
func (o *feeder[T]) Watermark(int64) error                   { return nil }
func (o *feeder[T]) Close() error                            { return nil }
func (o *feeder[T]) Process(_ int, b event.Batch) error {
	b.Release()
	return errs.New(errs.CodeBug, errs.ClassBug, o.ctx.Place(), "a source has no input")
}
