package function

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/connector"
)

// Option says more about a source function.
type Option func(*options)

type options struct{ bounded bool }

// Bounded promises that the function returns by itself.
func Bounded() Option { return func(o *options) { o.bounded = true } }

// Source gives what f emits, by one reader. The source ends when f returns.
func Source[T any](f func(ctx context.Context, emit func(T) error) error, opts ...Option) connector.Source[T] {
	if f == nil {
		return newSource[T](1, nil, opts)
	}
	return newSource(1, func(ctx context.Context, _, _ int, emit func(T) error) error { return f(ctx, emit) }, opts)
}

// Parallel runs f for each split 0 <= split < splits, spread over the readers. What f emits may depend on the split and
// their number, not on the parallelism.
func Parallel[T any](splits int, f func(ctx context.Context, split, splits int, emit func(T) error) error, opts ...Option) connector.Source[T] {
	return newSource(splits, f, opts)
}

func newSource[T any](splits int, f sourceFunc[T], opts []Option) connector.Source[T] {
	s := &source[T]{f: f, splits: splits}
	for _, o := range opts {
		o(&s.opts)
	}
	return s
}

type sourceFunc[T any] func(ctx context.Context, split, splits int, emit func(T) error) error

type source[T any] struct {
	f      sourceFunc[T]
	splits int
	opts   options
}

// Name implements connector.Source.
func (s *source[T]) Name() string { return "function" }

// Boundedness implements connector.Source.
func (s *source[T]) Boundedness() connector.Boundedness {
	if s.opts.bounded {
		return connector.Bounded
	}
	return connector.Unbounded
}

// MaxParallelism implements connector.MaxParallelism: there are no more readers than splits.
func (s *source[T]) MaxParallelism() int { return s.splits }

// SideBySide implements connector.SideBySide: all functions run at once, since none may ever end.
func (s *source[T]) SideBySide() bool { return true }

// Check implements connector.Checker.
func (s *source[T]) Check() error {
	if s.f == nil {
		return errors.New("function: the source function is nil")
	}
	if s.splits < 1 {
		return fmt.Errorf("function: %d splits, want at least one", s.splits)
	}
	return nil
}

// splitState is the state of a split, as JSON.
type splitState struct {
	Version int   `json:"v"`
	Split   int   `json:"split"`
	Splits  int   `json:"splits"`
	Emitted int64 `json:"emitted"`
}

const version = 1

func (s splitState) split() (connector.Split, error) {
	b, err := json.Marshal(s)
	return connector.Split{ID: fmt.Sprintf("%d of %d", s.Split, s.Splits), State: b}, err
}

// Enumerator implements connector.Source.
func (s *source[T]) Enumerator(_ connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	e := &enumerator{}
	if restored != nil {
		if err := json.Unmarshal(restored, &e.pending); err != nil {
			return nil, fmt.Errorf("function: the state of the enumerator is damaged: %w", err)
		}
		return e, nil
	}
	for i := range s.splits {
		c, err := splitState{Version: version, Split: i, Splits: s.splits}.split()
		if err != nil {
			return nil, err
		}
		e.pending = append(e.pending, c)
	}
	return e, nil
}

type enumerator struct{ pending []connector.Split }

// Next implements connector.Enumerator.
func (e *enumerator) Next(int) (c connector.Split, ok, done bool, wait time.Duration, err error) {
	if len(e.pending) == 0 {
		return c, false, true, 0, nil
	}
	c, e.pending = e.pending[0], e.pending[1:]
	return c, true, false, 0, nil
}

// Return implements connector.Enumerator.
func (e *enumerator) Return(_ int, splits []connector.Split) {
	e.pending = append(slices.Clone(splits), e.pending...)
}

// Snapshot implements connector.Enumerator.
func (e *enumerator) Snapshot() ([]byte, error) { return json.Marshal(e.pending) }

// Close implements connector.Enumerator.
func (e *enumerator) Close() error { return nil }

// Reader implements connector.Source.
func (s *source[T]) Reader(ctx connector.ReaderContext) (connector.Reader[T], error) {
	r := &reader[T]{src: s, wake: connector.NewWake()}
	r.ctx, r.cancel = context.WithCancel(ctx.Ctx)
	return r, s.Check()
}

type reader[T any] struct {
	src    *source[T]
	ctx    context.Context // of the functions; ends with Close
	cancel context.CancelFunc
	runs   []*run[T]
	turn   int
	paused map[string]bool
	// hungry is true while Poll has found nothing and somebody should wake the reader.
	hungry atomic.Bool
	wake   connector.Wake
}

// AddSplit implements connector.Reader.
func (r *reader[T]) AddSplit(c connector.Split) error {
	var st splitState
	if err := json.Unmarshal(c.State, &st); err != nil || st.Version != version || st.Emitted < 0 {
		return fmt.Errorf("function: split %q: its state is damaged or of another version (%v)", c.ID, err)
	}
	if st.Splits != r.src.splits {
		return fmt.Errorf("function: split %q is one of %d, and the source has %d splits now: keep the number, or start without state", c.ID, st.Splits, r.src.splits)
	}
	r.runs = append(r.runs, start(r, c.ID, st))
	r.wake.Up()
	return nil
}

// Poll implements connector.Reader.
func (r *reader[T]) Poll(b *connector.Batch[T]) (string, connector.Status, error) {
	if len(r.runs) == 0 {
		return "", connector.Done, nil
	}
	for round := range 2 {
		for range r.runs {
			at := r.turn % len(r.runs)
			run := r.runs[at]
			r.turn = at + 1
			if r.paused[run.id] {
				continue
			}
			n, ended := run.take(b)
			if ended {
				r.runs = slices.Delete(r.runs, at, at+1)
				r.turn = at
				return run.id, connector.SplitDone, run.err
			}
			if n > 0 {
				return run.id, connector.More, nil
			}
		}
		// A row may have come while hungry was not yet set, so all are looked at once more.
		if round == 0 {
			r.hungry.Store(true)
		}
	}
	return "", connector.Waiting, nil
}

// Wait implements connector.Reader.
func (r *reader[T]) Wait(ctx context.Context) error { return r.wake.Wait(ctx) }

// Pause implements connector.Reader.
func (r *reader[T]) Pause(splits map[string]bool) {
	r.paused = splits
	r.wake.Up()
}

// Snapshot implements connector.Reader.
func (r *reader[T]) Snapshot() ([]connector.Split, error) {
	var out []connector.Split
	for _, run := range r.runs {
		c, err := run.state.split()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Close implements connector.Reader. It waits for the functions to return.
func (r *reader[T]) Close() error {
	r.cancel()
	for _, run := range r.runs {
		<-run.done
	}
	r.runs = nil
	r.wake.Up()
	return nil
}
