package weirtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/weir-stream/weir/connector"
)

// pausing is a source of a few splits, each of which stands still for a while in its middle.
type pausing struct{}

const (
	pausingSplits = 3
	pausingRows   = 40 // of each
	pausingFor    = 12 * time.Millisecond
)

// pausingRow is a row of a split.
func pausingRow(split, i int64) mark {
	return mark{N: 1000 + split*pausingRows + i, Key: keys()[(split+i)%13], At: 6 * i}
}

func (pausing) Name() string                       { return "pausing" }
func (pausing) Boundedness() connector.Boundedness { return connector.Bounded }

func (pausing) Enumerator(_ connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	e := &pausingEnumerator{}
	if restored != nil {
		e.next = int64(restored[0])
	}
	return e, nil
}

func (pausing) Reader(ctx connector.ReaderContext) (connector.Reader[mark], error) {
	return &pausingReader{ctx: ctx, wake: connector.NewWake()}, nil
}

type pausingEnumerator struct {
	next     int64
	returned []connector.Split
}

func (e *pausingEnumerator) Next(int) (s connector.Split, ok, done bool, wait time.Duration, err error) {
	if n := len(e.returned); n > 0 {
		s, e.returned = e.returned[n-1], e.returned[:n-1]
		return s, true, false, 0, nil
	}
	if e.next == pausingSplits {
		return s, false, true, 0, nil
	}
	s = (&pausingSplit{split: e.next}).saved()
	e.next++
	return s, true, false, 0, nil
}

func (e *pausingEnumerator) Return(_ int, s []connector.Split) { e.returned = append(e.returned, s...) }
func (e *pausingEnumerator) Snapshot() ([]byte, error)         { return []byte{byte(e.next)}, nil }
func (e *pausingEnumerator) Close() error                      { return nil }

type pausingSplit struct {
	split, next int64
	until       time.Time // of its pause; zero before it
}

func (s *pausingSplit) saved() connector.Split {
	return connector.Split{ID: fmt.Sprint(s.split), State: binary.AppendVarint(binary.AppendVarint(nil, s.split), s.next)}
}

type pausingReader struct {
	ctx    connector.ReaderContext
	splits []*pausingSplit
	wake   connector.Wake
}

func (r *pausingReader) AddSplit(c connector.Split) error {
	split, n := binary.Varint(c.State)
	next, _ := binary.Varint(c.State[n:])
	r.splits = append(r.splits, &pausingSplit{split: split, next: next})
	r.wake.Up()
	return nil
}

func (r *pausingReader) Poll(b *connector.Batch[mark]) (string, connector.Status, error) {
	if len(r.splits) == 0 {
		return "", connector.Done, nil
	}
	for i, s := range r.splits {
		if s.next == pausingRows/2 {
			if s.until.IsZero() {
				s.until = r.ctx.Now().Add(pausingFor)
			}
			if r.ctx.Now().Before(s.until) {
				continue
			}
		}
		b.Rows = append(b.Rows, pausingRow(s.split, s.next))
		s.next++
		r.splits = append(slices.Delete(r.splits, i, i+1), s)
		if s.next == pausingRows {
			r.splits = r.splits[:len(r.splits)-1]
			return fmt.Sprint(s.split), connector.SplitDone, nil
		}
		return fmt.Sprint(s.split), connector.More, nil
	}
	return "", connector.Waiting, nil
}

func (r *pausingReader) Wait(ctx context.Context) error {
	first := r.splits[0].until
	for _, s := range r.splits {
		if s.until.Before(first) {
			first = s.until
		}
	}
	fired, stop := r.ctx.NewTimer(first.Sub(r.ctx.Now()))
	defer stop()
	select {
	case <-fired:
		return nil
	case <-r.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *pausingReader) Pause(map[string]bool) {}

func (r *pausingReader) Snapshot() (out []connector.Split, err error) {
	for _, s := range r.splits {
		out = append(out, s.saved())
	}
	return out, nil
}

func (r *pausingReader) Close() error {
	r.wake.Up()
	return nil
}
