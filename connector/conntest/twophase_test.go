package conntest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/conntest"
)

// bug is a mistake that the model sink can be made with.
type bug string

const (
	none             bug = ""
	visibleEarly     bug = "prepare makes rows visible"
	commitsTwice     bug = "a second commit appends the rows again"
	refusesAgain     bug = "a second commit fails for good"
	missingIsDone    bug = "a commit of a transaction that is gone is reported as done"
	errorIsDone      bug = "a failed commit is reported as done"
	firstOnly        bug = "only the first request of a call is carried out"
	namesClash       bug = "transactions of different attempts have one name"
	namesClashAcross bug = "transactions of different subtasks have one name"
	closeAborts      bug = "Close aborts what is prepared"
	startAborts      bug = "a new writer aborts what earlier attempts have prepared"
	staysOpen        bug = "the transaction goes on behind the barrier"
	flushLoses       bug = "Flush drops its rows after an error"
	stateIgnored     bug = "the restored state is not used"
	stateOfAll       bug = "each writer takes the state of all"
	stateForgotten   bug = "what is held back is not in the state"
	finalKeeps       bug = "the final Prepare holds rows back"
	keepsRows        bug = "Write keeps the caller's rows"
	sweepsOwn        bug = "Sweep aborts transactions of its own attempt"
	neverSweeps      bug = "Sweep leaves everything"
	epochNames       bug = "transactions are named by epoch alone"
)

// bank is an external system with transactions. Everything in it is durable.
type bank struct {
	open    map[string][]string // transactions: their rows
	ready   map[string]bool     // those of open that are prepared
	closed  map[string]bool     // those that were committed
	visible []string
	ask     func(string) error
}

type bankSink struct {
	bank *bank
	bug  bug
}

func (s *bankSink) Name() string { return "bank" }

func (s *bankSink) Writer(ctx connector.WriterContext) (connector.Writer[int], error) {
	w := &bankWriter{bank: s.bank, bug: s.bug, ctx: ctx}
	if s.bug == startAborts {
		for id := range s.bank.open {
			if !strings.HasPrefix(id, ctx.Attempt+"/") {
				delete(s.bank.open, id)
			}
		}
	}
	if r := ctx.Restored; r != nil {
		state := r.State
		if s.bug == stateOfAll {
			state = r.AllState
		}
		for _, b := range state {
			w.held = append(w.held, string(b))
		}
		if s.bug == stateIgnored {
			w.held = nil
		}
	}
	return w, nil
}

func (s *bankSink) Committer(ctx connector.WriterContext) (connector.Committer, error) {
	return &bankCommitter{s.bank, s.bug, ctx}, nil
}

// bankWriter holds up to three rows back, which then belong to its state, and sends the others to a transaction.
type bankWriter struct {
	bank *bank
	bug  bug
	ctx  connector.WriterContext
	kept []int // a bug
	held []string
	n    int
}

func (w *bankWriter) id() string {
	switch w.bug {
	case namesClash:
		return fmt.Sprintf("%d/%d", w.ctx.Subtask, w.n)
	case namesClashAcross:
		return fmt.Sprintf("%s/%d", w.ctx.Attempt, w.n)
	}
	return fmt.Sprintf("%s/%d/%d", w.ctx.Attempt, w.ctx.Subtask, w.n)
}

func (w *bankWriter) Write(rows []int, _ []int64) error {
	if w.bug == keepsRows {
		w.flushKept()
		w.kept = rows
		return nil
	}
	for _, r := range rows {
		w.held = append(w.held, fmt.Sprint(r))
	}
	return nil
}

func (w *bankWriter) flushKept() {
	for _, r := range w.kept {
		w.held = append(w.held, fmt.Sprint(r))
	}
	w.kept = nil
}

func (w *bankWriter) Flush() error { return w.send(3) }

// send sends all rows but some.
func (w *bankWriter) send(keep int) error {
	w.flushKept()
	if len(w.held) <= keep {
		return nil
	}
	send := w.held[:len(w.held)-keep]
	rest := slices.Clone(w.held[len(w.held)-keep:])
	if err := w.bank.ask("append"); err != nil {
		if w.bug == flushLoses {
			w.held = rest
			return nil
		}
		return err
	}
	w.bank.open[w.id()] = append(w.bank.open[w.id()], send...)
	w.held = rest
	return nil
}

func (w *bankWriter) Prepare(at connector.Barrier) (p connector.Prepared, err error) {
	if w.bug == epochNames {
		w.n = int(at.Epoch) // the next transaction gets the name of the barrier in front of it
	}
	if (at.Final || at.Savepoint) && w.bug != finalKeeps {
		if err := w.send(0); err != nil {
			return p, err
		}
	}
	if w.bug != stateForgotten {
		for _, r := range w.held {
			p.State = append(p.State, []byte(r))
		}
	}
	id := w.id()
	if rows := w.bank.open[id]; len(rows) > 0 {
		if err := w.bank.ask("prepare"); err != nil {
			return p, err
		}
		w.bank.ready[id] = true
		p.Committables = []connector.Committable{{Data: []byte(id), Range: fmt.Sprintf("%d rows of transaction %s", len(rows), id)}}
		if w.bug == visibleEarly {
			w.bank.commit(id)
		}
		if w.bug != staysOpen {
			w.n++
		}
	}
	return p, nil
}

func (w *bankWriter) Close() error {
	for id := range w.bank.open {
		own := strings.HasPrefix(id, fmt.Sprintf("%s/%d/", w.ctx.Attempt, w.ctx.Subtask))
		if own && (!w.bank.ready[id] || w.bug == closeAborts) {
			delete(w.bank.open, id)
		}
	}
	return nil
}

func (b *bank) commit(id string) {
	b.visible = append(b.visible, b.open[id]...)
	delete(b.open, id)
	b.closed[id] = true
}

type bankCommitter struct {
	bank *bank
	bug  bug
	ctx  connector.WriterContext
}

func (c *bankCommitter) Commit(_ context.Context, requests []connector.CommitRequest) []connector.Answer {
	answers := make([]connector.Answer, len(requests))
	for i, r := range requests {
		if c.bug == firstOnly && i > 0 {
			answers[i].Outcome = connector.CommitDone
			continue
		}
		answers[i] = c.one(string(r.Data))
	}
	return answers
}

func (c *bankCommitter) one(id string) connector.Answer {
	done := connector.Answer{Outcome: connector.CommitDone}
	if err := c.bank.ask("commit"); err != nil {
		if c.bug == errorIsDone {
			return done
		}
		return connector.Answer{Err: err}
	}
	switch {
	case c.bank.closed[id] && c.bug == commitsTwice:
		c.bank.visible = append(c.bank.visible, "again "+id)
	case c.bank.closed[id] && c.bug == refusesAgain:
		return connector.Answer{Outcome: connector.CommitFailed, Err: errors.New("no such transaction")}
	case c.bank.closed[id]:
		return connector.Answer{Outcome: connector.CommitAlready}
	case c.bank.open[id] == nil && c.bug == missingIsDone:
		return done
	case c.bank.open[id] == nil:
		return connector.Answer{Outcome: connector.CommitFailed, Err: errors.New("the transaction has expired")}
	default:
		c.bank.commit(id)
	}
	return done
}

func (c *bankCommitter) Close() error { return nil }

func (c *bankCommitter) Sweep(_ context.Context, left *connector.Restored) error {
	listed := map[string]bool{}
	if left != nil {
		for _, l := range left.AllCommittables {
			listed[string(l.Data)] = true
		}
	}
	if c.bug == neverSweeps {
		return nil
	}
	for id := range c.bank.open {
		if !listed[id] && (c.bug == sweepsOwn || !strings.HasPrefix(id, c.ctx.Attempt+"/")) {
			delete(c.bank.open, id)
		}
	}
	return nil
}

func bankCase(b bug) conntest.TwoPhaseCase[int] {
	return conntest.TwoPhaseCase[int]{
		Row: func(i int) int { return i },
		New: func() conntest.TwoPhaseTarget[int] {
			k := &bank{open: map[string][]string{}, ready: map[string]bool{}, closed: map[string]bool{}}
			return conntest.TwoPhaseTarget[int]{
				Sink:      &bankSink{k, b},
				Visible:   func() ([]string, error) { return k.visible, nil },
				Fault:     func(ask func(string) error) { k.ask = ask },
				Leftovers: func() []string { return slices.Sorted(maps.Keys(k.open)) },
				Lose:      func() { clear(k.open) },
			}
		},
	}
}

func TestTwoPhaseAcceptsTheModel(t *testing.T) {
	conntest.TwoPhase(t, bankCase(none))
}

// The suite's own power: it finds each of these.
func TestTwoPhaseFindsBugs(t *testing.T) {
	for _, b := range []bug{visibleEarly, commitsTwice, refusesAgain, missingIsDone, errorIsDone, firstOnly, namesClash, namesClashAcross,
		closeAborts, startAborts, staysOpen, flushLoses, stateIgnored, stateOfAll, stateForgotten, finalKeeps, keepsRows, sweepsOwn,
		neverSweeps, epochNames} {
		err := conntest.CheckTwoPhase(bankCase(b))
		if err == nil {
			t.Errorf("not found: %s", b)
			continue
		}
		t.Logf("%s: %v", b, err)
	}
}
