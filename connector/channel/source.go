package channel

import (
	"context"
	"errors"
	"time"

	"github.com/weir-stream/weir/connector"
)

// Source gives the rows that come out of c, until c is closed. It is read by one reader.
func Source[T any](c <-chan T) connector.Source[T] { return source[T]{c} }

type source[T any] struct{ c <-chan T }

// Name implements connector.Source.
func (s source[T]) Name() string { return "channel" }

// Boundedness implements connector.Source.
func (s source[T]) Boundedness() connector.Boundedness { return connector.Unbounded }

// MaxParallelism implements connector.MaxParallelism.
func (s source[T]) MaxParallelism() int { return 1 }

// InProcess implements connector.InProcess.
func (s source[T]) InProcess() bool { return true }

// Check implements connector.Checker.
func (s source[T]) Check() error {
	if s.c == nil {
		return errors.New("channel: the channel is nil, from which nothing ever comes")
	}
	return nil
}

// Enumerator implements connector.Source.
func (s source[T]) Enumerator(_ connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	if string(restored) == givenOut {
		return &enumerator{}, s.Check()
	}
	return &enumerator{here: []connector.Split{{ID: "channel"}}}, s.Check()
}

// enumerator holds the one split, or not.
type enumerator struct{ here []connector.Split }

// The states of an enumerator.
const (
	givenOut = "given out"
	notYet   = "not yet"
)

// Next implements connector.Enumerator.
func (e *enumerator) Next(int) (c connector.Split, ok, done bool, wait time.Duration, err error) {
	if len(e.here) == 0 {
		return c, false, true, 0, nil
	}
	c, e.here = e.here[0], nil
	return c, true, false, 0, nil
}

// Return implements connector.Enumerator.
func (e *enumerator) Return(_ int, splits []connector.Split) { e.here = splits }

// Snapshot implements connector.Enumerator.
func (e *enumerator) Snapshot() ([]byte, error) {
	if len(e.here) == 0 {
		return []byte(givenOut), nil
	}
	return []byte(notYet), nil
}

// Close implements connector.Enumerator.
func (e *enumerator) Close() error { return nil }

// Reader implements connector.Source.
func (s source[T]) Reader(connector.ReaderContext) (connector.Reader[T], error) {
	return &reader[T]{c: s.c, wake: connector.NewWake()}, s.Check()
}

type reader[T any] struct {
	c      <-chan T
	split  connector.Split
	owns   bool
	paused bool
	// found is a row that Wait has taken out of the channel, for the next Poll. Wait and Poll never run at once.
	found    T
	hasFound bool
	closed   bool // the channel
	// ready is false while Wait must not take from the channel: Poll would not.
	ready bool
	wake  connector.Wake
}

// AddSplit implements connector.Reader.
func (r *reader[T]) AddSplit(c connector.Split) error {
	r.split, r.owns = c, true
	r.wake.Up()
	return nil
}

// Poll implements connector.Reader.
func (r *reader[T]) Poll(b *connector.Batch[T]) (string, connector.Status, error) {
	r.ready = r.owns && !r.paused
	switch {
	case !r.owns:
		return "", connector.Done, nil
	case r.paused:
		return "", connector.Waiting, nil
	}
	before := len(b.Rows)
	if r.hasFound && !b.Full() {
		b.Rows = append(b.Rows, r.found)
		var zero T
		r.found, r.hasFound = zero, false
	}
	for !b.Full() && !r.closed {
		select {
		case row, ok := <-r.c:
			if ok {
				b.Rows = append(b.Rows, row)
			}
			r.closed = !ok
			continue
		default:
		}
		if len(b.Rows) > before {
			return r.split.ID, connector.More, nil
		}
		return "", connector.Waiting, nil
	}
	if r.closed && !r.hasFound {
		r.owns = false
		return r.split.ID, connector.SplitDone, nil
	}
	return r.split.ID, connector.More, nil
}

// Wait implements connector.Reader.
func (r *reader[T]) Wait(ctx context.Context) error {
	c := r.c
	if !r.ready || r.hasFound || r.closed {
		c = nil
	}
	select {
	case row, ok := <-c:
		r.found, r.hasFound, r.closed = row, ok, !ok
	case <-r.wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Pause implements connector.Reader.
func (r *reader[T]) Pause(splits map[string]bool) {
	r.paused = splits[r.split.ID]
	r.wake.Up()
}

// Snapshot implements connector.Reader.
func (r *reader[T]) Snapshot() ([]connector.Split, error) {
	if !r.owns {
		return nil, nil
	}
	return []connector.Split{r.split}, nil
}

// Close implements connector.Reader.
func (r *reader[T]) Close() error {
	r.wake.Up()
	return nil
}
