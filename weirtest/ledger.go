package weirtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
)

// ledger is the outside world that a disturbed job writes to: by two-phase commit, so that each row must be there once.
// It outlives every process of the job. Its lock is a leaf.
type ledger struct {
	mu      sync.Mutex
	entries map[string]*written
}

// written is what a writer has prepared.
type written struct {
	rows      []string
	at        moment
	committed bool
}

// moment is an epoch in the life of a job; epochs begin anew in each directory of checkpoints.
type moment struct {
	dir   int
	epoch uint64
}

func (m moment) before(n moment) bool {
	return m.dir < n.dir || m.dir == n.dir && m.epoch < n.epoch
}

func newLedger() *ledger { return &ledger{entries: map[string]*written{}} }

// rows returns what is visible, sorted.
func (l *ledger) rows() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.entries {
		if e.committed {
			out = append(out, e.rows...)
		}
	}
	slices.Sort(out)
	return out
}

// as returns the ledger as it is for a job that begins at a moment of this one's: what was committed of earlier epochs is
// visible, and the rest is prepared.
func (l *ledger) as(at moment) *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := newLedger()
	for id, e := range l.entries {
		out.entries[id] = &written{rows: e.rows, at: e.at, committed: e.committed && e.at.before(at)}
	}
	return out
}

// entry is the sink that writes to a ledger, in the hands of one process of the job.
type entry[R any] struct {
	ledger *ledger
	life   *life
	slow   time.Duration // for each batch
}

var errDead = errors.New("weirtest: the power is off")

func (entry[R]) Name() string { return "ledger" }

// InProcess implements connector.InProcess.
func (entry[R]) InProcess() bool { return true }

func (e entry[R]) Writer(ctx connector.WriterContext) (connector.Writer[R], error) {
	return &entryWriter[R]{entry: e, subtask: ctx.Subtask, ctx: ctx.Ctx}, nil
}

// Committer implements connector.TwoPhase.
func (e entry[R]) Committer(connector.WriterContext) (connector.Committer, error) {
	return entryCommitter{e.ledger, e.life}, nil
}

type entryWriter[R any] struct {
	entry[R]
	ctx     context.Context
	subtask int
	rows    []string
}

func (w *entryWriter[R]) Write(rows []R, _ []int64) error {
	for _, r := range rows {
		w.rows = append(w.rows, render(r))
	}
	if w.slow > 0 {
		return clock.Real{}.Sleep(w.ctx, w.slow)
	}
	return nil
}

func (w *entryWriter[R]) Flush() error { return nil }

// Prepare implements connector.Preparer.
func (w *entryWriter[R]) Prepare(at connector.Barrier) (connector.Prepared, error) {
	if w.life.dead() {
		return connector.Prepared{}, errDead
	}
	if len(w.rows) == 0 {
		return connector.Prepared{}, nil
	}
	l := w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	id := fmt.Sprintf("%d by %d in epoch %d", len(l.entries)+1, w.subtask, at.Epoch)
	l.entries[id] = &written{rows: w.rows, at: moment{w.life.dir, at.Epoch}}
	p := connector.Prepared{Committables: []connector.Committable{{Data: []byte(id), Range: fmt.Sprintf("%d rows, number %s", len(w.rows), id)}}}
	w.rows = nil
	return p, nil
}

func (w *entryWriter[R]) Close() error { return nil }

type entryCommitter struct {
	ledger *ledger
	life   *life
}

// Commit implements connector.Committer.
func (c entryCommitter) Commit(_ context.Context, requests []connector.CommitRequest) []connector.Answer {
	out := make([]connector.Answer, len(requests))
	l := c.ledger
	for i, r := range requests {
		if c.life.dead() {
			out[i].Err = errDead
			continue
		}
		l.mu.Lock()
		switch e := l.entries[string(r.Data)]; {
		case e == nil:
			out[i] = connector.Answer{Outcome: connector.CommitFailed, Err: errors.New("nobody has prepared it")}
		case e.committed:
			out[i].Outcome = connector.CommitAlready
		default:
			e.committed = true
			out[i].Outcome = connector.CommitDone
		}
		l.mu.Unlock()
	}
	return out
}

func (entryCommitter) Close() error { return nil }
