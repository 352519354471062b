package weirtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
)

// ledger is the outside world that a disturbed job writes to: by two-phase commit, so that each row must be there once.
// It outlives every process of the job. Its lock is a leaf.
type ledger struct {
	mu        sync.Mutex
	prepared  map[string][]string
	committed map[string][]string
	count     int
	unknown   string // a committable that nobody has prepared
}

func newLedger() *ledger {
	return &ledger{prepared: map[string][]string{}, committed: map[string][]string{}}
}

// rows returns what is visible, sorted.
func (l *ledger) rows() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(l.committed)) {
		out = append(out, l.committed[id]...)
	}
	slices.Sort(out)
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
	l.count++
	id := fmt.Sprintf("%d by %d in epoch %d", l.count, w.subtask, at.Epoch)
	l.prepared[id] = w.rows
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
		id := string(r.Data)
		switch rows, ok := l.prepared[id]; {
		case l.committed[id] != nil:
			out[i].Outcome = connector.CommitAlready
		case !ok:
			l.unknown = id
			out[i] = connector.Answer{Outcome: connector.CommitFailed, Err: errors.New("nobody has prepared it")}
		default:
			l.committed[id] = rows
			out[i].Outcome = connector.CommitDone
		}
		l.mu.Unlock()
	}
	return out
}

func (entryCommitter) Close() error { return nil }
