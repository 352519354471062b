package conntest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
)

// run is a source at work under the suite, in the place of the engine.
type run[T any] struct {
	c          SourceCase[T]
	t          *testing.T
	source     connector.Source[T]
	enumerator connector.Enumerator
	readers    []connector.Reader[T]
	owned      []map[string]bool // ids of the splits of each reader
	paused     []map[string]bool
	ended      bool // the enumerator has no more splits, for good
	rows       []T
	before     int // rows of earlier runs
	batch      []T
}

// over reports whether all rows that can come have come.
func (r *run[T]) over() bool {
	if r.t.Failed() {
		return true
	}
	if r.c.Endless {
		return r.before+len(r.rows) >= len(r.c.Rows)
	}
	for _, o := range r.owned {
		if len(o) > 0 {
			return false
		}
	}
	return r.ended
}

// assign asks the enumerator for a split for reader i.
func (r *run[T]) assign(i int) {
	if r.ended {
		return
	}
	if s, ok := r.next(i); ok {
		r.add(i, s)
	}
}

// assignTo is assign for a reader that stands in another run; it reports whether there may be more splits.
func (r *run[T]) assignTo(own *run[T], i int) bool {
	if s, ok := r.next(i); ok {
		own.add(0, s)
	}
	return !r.ended
}

func (r *run[T]) next(i int) (connector.Split, bool) {
	s, ok, done, wait, err := r.enumerator.Next(i)
	switch {
	case err != nil:
		r.t.Fatalf("Next: %v", err)
	case ok && done:
		r.t.Errorf("Next returns a split and done at once")
	case done:
		r.ended = true
	case !ok && wait < 0:
		r.t.Errorf("Next wants to be asked again after %v", wait)
	}
	return s, ok
}

func (r *run[T]) add(i int, s connector.Split) {
	for _, o := range r.owned {
		if o[s.ID] {
			r.t.Errorf("split %q is given out although a reader owns it", s.ID)
		}
	}
	r.owned[i][s.ID] = true
	if err := r.readers[i].AddSplit(s); err != nil {
		r.t.Fatalf("AddSplit %q: %v", s.ID, err)
	}
}

func (r *run[T]) pause(i int, splits map[string]bool) {
	r.paused[i] = splits
	r.readers[i].Pause(splits)
}

// poll polls reader i once and checks what it returns.
func (r *run[T]) poll(i, batch int) connector.Status {
	r.t.Helper()
	if cap(r.batch) < batch+1 {
		r.batch = make([]T, 0, batch+1)
	}
	b := connector.Batch[T]{Rows: r.batch[:0:batch]}
	id, st, err := r.readers[i].Poll(&b)
	if err != nil {
		r.t.Fatalf("Poll: %v", err)
	}
	switch {
	case cap(b.Rows) != batch:
		r.t.Errorf("Poll has replaced the batch of %d rows by one of %d", batch, cap(b.Rows))
	case len(b.Times) != 0 && len(b.Times) != len(b.Rows):
		r.t.Errorf("Poll returns %d rows with %d times", len(b.Rows), len(b.Times))
	case (len(b.Rows) > 0 || st == connector.SplitDone) && !r.owned[i][id]:
		r.t.Errorf("Poll returns %d rows of split %q, which the reader does not own", len(b.Rows), id)
	case len(b.Rows) > 0 && r.paused[i][id]:
		r.t.Errorf("Poll returns %d rows of split %q, which is paused", len(b.Rows), id)
	case len(b.Rows) > 0 && (st == connector.Waiting || st == connector.Done):
		r.t.Errorf("Poll returns %d rows and status %d", len(b.Rows), st)
	case st == connector.Done && len(r.owned[i]) > 0:
		r.t.Errorf("Poll returns Done although the reader owns %d splits", len(r.owned[i]))
	case st != connector.Done && len(r.owned[i]) == 0:
		r.t.Errorf("Poll returns status %d without a split, want Done", st)
	}
	r.rows = append(r.rows, b.Rows...)
	clear(b.Rows) // whatever of it a reader has kept is now wrong
	if st == connector.SplitDone {
		delete(r.owned[i], id)
	}
	return st
}

// step polls reader i, asks for a split if it has none, and waits if it must.
func (r *run[T]) step(i, batch int) {
	r.t.Helper()
	switch r.poll(i, batch) {
	case connector.Done:
		if r.enumerator != nil {
			r.assign(i)
		}
	case connector.Waiting:
		// Not for long: rows may come on another reader meanwhile.
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if err := r.readers[i].Wait(ctx); err != nil && ctx.Err() == nil {
			r.t.Fatalf("Wait: %v", err)
		}
		cancel()
	}
}

// random does n random things.
func (r *run[T]) random(rnd *rand.Rand, n int) {
	for range n {
		i := rnd.IntN(len(r.readers))
		if rnd.IntN(4) == 0 {
			r.assign(i)
		} else {
			r.step(i, 1+rnd.IntN(40))
		}
		if r.t.Failed() {
			return
		}
	}
}

// cut is a snapshot of everything.
type cut[T any] struct {
	enumerator []byte
	splits     []connector.Split
	rows       []T
}

// cut takes a snapshot; before are the rows of earlier runs.
func (r *run[T]) cut(before []T) *cut[T] {
	r.t.Helper()
	c := &cut[T]{rows: append(slices.Clone(before), r.rows...)}
	var err error
	if c.enumerator, err = r.enumerator.Snapshot(); err != nil {
		r.t.Fatalf("Snapshot of the enumerator: %v", err)
	}
	for i, reader := range r.readers {
		splits, err := reader.Snapshot()
		if err != nil {
			r.t.Fatalf("Snapshot: %v", err)
		}
		ids := map[string]bool{}
		for _, s := range splits {
			ids[s.ID] = true
			s.State = slices.Clone(s.State)
			c.splits = append(c.splits, s)
		}
		if len(ids) != len(r.owned[i]) || len(ids) != len(splits) {
			r.t.Fatalf("the snapshot of reader %d has splits %v, and it owns %v", i, ids, r.owned[i])
		}
	}
	return c
}

func (r *run[T]) stop() {
	for _, reader := range r.readers {
		if err := reader.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	}
	if err := r.enumerator.Close(); err != nil {
		r.t.Errorf("Close of the enumerator: %v", err)
	}
}
