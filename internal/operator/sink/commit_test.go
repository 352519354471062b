package sink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/operator/sink"
)

// ledger is a two-phase sink of ints whose prepared rows are one committable an epoch. answer decides on each request.
type ledger struct {
	answer func(r connector.CommitRequest) connector.Answer
	calls  [][]connector.CommitRequest
	sweeps []*connector.Restored
	ctx    connector.WriterContext
	open   []int
	final  int
	none   bool // no committer
	fails  error
}

func (l *ledger) Name() string { return "ledger" }
func (l *ledger) Writer(ctx connector.WriterContext) (connector.Writer[int], error) {
	l.ctx = ctx
	return (*ledgerWriter)(l), nil
}

func (l *ledger) Committer(connector.WriterContext) (connector.Committer, error) {
	if l.none {
		return nil, nil
	}
	return (*ledgerCommitter)(l), nil
}

type ledgerWriter ledger

func (w *ledgerWriter) Write(rows []int, _ []int64) error {
	w.open = append(w.open, rows...)
	return nil
}

func (w *ledgerWriter) Flush() error { return nil }
func (w *ledgerWriter) Close() error { return nil }
func (w *ledgerWriter) Prepare(at connector.Barrier) (p connector.Prepared, err error) {
	if w.fails != nil {
		return p, w.fails
	}
	if at.Final {
		w.final++
	}
	p.State = [][]byte{fmt.Appendf(nil, "state %d", at.Epoch)}
	if len(w.open) > 0 {
		text := fmt.Sprint(w.open)
		p.Committables = []connector.Committable{{Data: []byte(text), Range: "rows " + text}}
		w.open = nil
	}
	return p, nil
}

type ledgerCommitter ledger

func (c *ledgerCommitter) Commit(_ context.Context, rs []connector.CommitRequest) (as []connector.Answer) {
	c.calls = append(c.calls, rs)
	for _, r := range rs {
		as = append(as, c.answer(r))
	}
	return as
}

func (c *ledgerCommitter) Close() error { return nil }
func (c *ledgerCommitter) Sweep(_ context.Context, r *connector.Restored) error {
	c.sweeps = append(c.sweeps, r)
	return nil
}

func done(connector.CommitRequest) connector.Answer {
	return connector.Answer{Outcome: connector.CommitDone}
}

// mails is a mailbox that other goroutines may post to; take waits for one.
type mails chan func() error

func (m mails) Post(f func() error) bool {
	m <- f
	return true
}

type rig struct {
	*optest.Harness
	t     *testing.T
	l     *ledger
	mails mails
}

func newRig(t *testing.T, l *ledger, setup func(c *operator.Context)) *rig {
	if l.answer == nil {
		l.answer = done
	}
	r := &rig{Harness: optest.New(sink.New[int](l)), t: t, l: l, mails: make(mails, 100)}
	r.Context.Mailbox = r.mails
	r.Context.Checkpoints, r.Context.FinalCheckpoint = true, true
	if setup != nil {
		setup(&r.Context)
	}
	r.ok(r.Open())
	if r.Context.Restored != nil {
		r.ok(r.Op.(operator.Restorer).AfterRestore())
		r.ok(r.Advance(r.Context.Now()))
	}
	t.Cleanup(func() { r.Op.Close() })
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) write(rows ...int) {
	for _, v := range rows {
		r.ok(optest.Feed(r.Harness, 0, nil, optest.At(v, event.NoTime)))
	}
}

func (r *rig) cut(epoch uint64, purpose event.Purpose, final bool) *operator.Cut {
	r.t.Helper()
	c := &operator.Cut{Barrier: event.Barrier{Epoch: epoch, Purpose: purpose}, Final: final}
	r.ok(r.Op.(operator.Snapshotter).Snapshot(c))
	return c
}

func (r *rig) checkpoint(epoch uint64) *operator.Cut {
	r.t.Helper()
	return r.cut(epoch, event.PurposeCheckpoint, false)
}

func (r *rig) complete(epoch uint64) error {
	return r.Op.(operator.CompletionListener).CheckpointComplete(epoch)
}

// mail takes n mails, waiting for them.
func (r *rig) mail(n int) error {
	for range n {
		if err := (<-r.mails)(); err != nil {
			return err
		}
	}
	return nil
}

// committed is what the committer was asked, call by call.
func (r *rig) committed() (out []string) {
	for _, rs := range r.l.calls {
		var parts []string
		for _, c := range rs {
			s := fmt.Sprintf("%d%s", c.Epoch, c.Data)
			if c.Restored {
				s += " restored"
			}
			if c.Attempt > 0 {
				s += fmt.Sprint(" again ", c.Attempt)
			}
			parts = append(parts, s)
		}
		out = append(out, strings.Join(parts, ", "))
	}
	return out
}

func (r *rig) wantCommitted(want ...string) {
	r.t.Helper()
	if got := r.committed(); !slices.Equal(got, want) {
		r.t.Fatalf("committed\n got %q\nwant %q", got, want)
	}
}

// blobs counts the committables in a cut.
func committables(c *operator.Cut) (n int) {
	for _, b := range c.Blobs {
		if b.Name == "committable" {
			n++
		}
	}
	return n
}

func TestNothingIsCommittedBeforeCompletion(t *testing.T) {
	r := newRig(t, &ledger{}, nil)
	r.write(1, 2)
	r.checkpoint(1)
	r.write(3)
	r.checkpoint(2)
	r.ok(r.complete(0))
	r.wantCommitted()
}

// Completion may be lost for an epoch, come for a later one, late and twice.
func TestCompletionCoversEarlierEpochs(t *testing.T) {
	r := newRig(t, &ledger{}, nil)
	for e := range uint64(3) {
		r.write(int(e))
		r.checkpoint(e + 5)
	}
	r.write(3)
	if n := committables(r.checkpoint(8)); n != 4 {
		t.Errorf("the cut has %d committables, want all 4 that nobody committed", n)
	}
	r.ok(r.complete(7))
	r.ok(r.mail(4)) // three commits and a sweep
	r.wantCommitted("5[0]", "6[1]", "7[2]")
	r.ok(r.complete(7))
	r.ok(r.complete(5))
	r.wantCommitted("5[0]", "6[1]", "7[2]")
	r.write(4)
	if n := committables(r.checkpoint(9)); n != 2 {
		t.Errorf("the cut has %d committables, want 2", n)
	}
	r.ok(r.complete(9))
	r.ok(r.mail(2))
	r.wantCommitted("5[0]", "6[1]", "7[2]", "8[3]", "9[4]")
	r.ok(r.complete(9))
	r.wantCommitted("5[0]", "6[1]", "7[2]", "8[3]", "9[4]")
	if len(r.l.sweeps) != 1 || r.l.sweeps[0] != nil {
		t.Errorf("sweeps %v, want one for a job that started from nothing", r.l.sweeps)
	}
}

// Rows of an epoch that was given up are committed with the next one.
func TestAbortedEpochIsCommittedLater(t *testing.T) {
	r := newRig(t, &ledger{}, nil)
	r.write(1)
	r.checkpoint(1)
	r.ok(r.Op.(operator.CompletionListener).CheckpointAborted(1))
	r.write(2)
	r.checkpoint(2)
	r.ok(r.complete(2))
	r.ok(r.mail(2))
	r.wantCommitted("1[1]", "2[2]")
}

func TestRetryKeepsTheOrder(t *testing.T) {
	tries := 0
	r := newRig(t, &ledger{answer: func(c connector.CommitRequest) connector.Answer {
		if c.Epoch == 1 && tries < 3 {
			tries++
			return connector.Answer{Err: errors.New("busy")}
		}
		return connector.Answer{Outcome: connector.CommitDone}
	}}, nil)
	r.write(1)
	r.checkpoint(1)
	r.write(2)
	r.checkpoint(2)
	r.ok(r.complete(2))
	r.ok(r.mail(1))
	if n := committables(r.checkpoint(3)); n != 2 {
		t.Errorf("the cut has %d committables, want 2: nothing is known to be committed", n)
	}
	r.wantCommitted("1[1]")
	r.ok(r.Advance(99))
	r.wantCommitted("1[1]")
	r.ok(r.Advance(100))
	r.ok(r.mail(1))
	r.ok(r.Advance(299)) // the second wait is 200 ms
	r.wantCommitted("1[1]", "1[1] again 1")
	r.ok(r.Advance(300))
	r.ok(r.mail(1))
	r.ok(r.Advance(700))
	r.ok(r.mail(2))
	r.wantCommitted("1[1]", "1[1] again 1", "1[1] again 2", "1[1] again 3", "2[2]")
}

// A committer that does not answer is asked again: silence is never taken for success.
func TestNoAnswerIsRetried(t *testing.T) {
	r := newRig(t, &ledger{answer: func(c connector.CommitRequest) connector.Answer {
		if c.Attempt == 0 {
			return connector.Answer{}
		}
		return connector.Answer{Outcome: connector.CommitAlready}
	}}, nil)
	r.write(1)
	r.checkpoint(1)
	r.ok(r.complete(1))
	r.ok(r.mail(1))
	r.ok(r.Advance(100))
	r.ok(r.mail(1))
	r.wantCommitted("1[1]", "1[1] again 1")
	if n := committables(r.checkpoint(2)); n != 0 {
		t.Errorf("the cut has %d committables, want none", n)
	}
}

// Pitfalls A16 and P30: what can never be committed ends the job and names the rows.
func TestFailureForGoodNamesTheRange(t *testing.T) {
	r := newRig(t, &ledger{answer: func(c connector.CommitRequest) connector.Answer {
		return connector.Answer{Outcome: connector.CommitFailed, Err: errors.New("the transaction has expired")}
	}}, nil)
	r.write(41, 42)
	r.checkpoint(7)
	r.ok(r.complete(7))
	err := r.mail(1)
	if err == nil || errs.ClassOf(err) != errs.ClassFailJob || errs.CodeOf(err) != sink.CodeCommit {
		t.Fatalf("err = %v (class %v), want one that fails the job", err, errs.ClassOf(err))
	}
	for _, part := range []string{"epoch 7", "rows [41 42]", "the transaction has expired"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message %q lacks %q", err, part)
		}
	}
}

func TestPanicInCommit(t *testing.T) {
	r := newRig(t, &ledger{answer: func(connector.CommitRequest) connector.Answer { panic("oh") }}, nil)
	r.write(1)
	r.checkpoint(1)
	r.ok(r.complete(1))
	if err := r.mail(1); err == nil || errs.CodeOf(err) != errs.CodeUserPanic {
		t.Fatalf("err = %v, want a panic", err)
	}
}

// restored turns cuts of old subtasks into what a new subtask is opened with.
func restored(epoch uint64, cuts ...*operator.Cut) func(c *operator.Context) {
	from := &operator.Restored{Epoch: epoch, Parallelism: len(cuts)}
	for i, c := range cuts {
		for _, b := range c.Blobs {
			b.Subtask = i
			from.Blobs = append(from.Blobs, b)
		}
	}
	return func(c *operator.Context) { c.Restored = from }
}

func TestRestoreCommitsAgainFirst(t *testing.T) {
	old := newRig(t, &ledger{}, nil)
	old.write(1)
	old.checkpoint(3)
	old.write(2)
	cut := old.checkpoint(4)
	r := newRig(t, &ledger{}, restored(4, cut))
	r.write(3)
	again := r.checkpoint(6)
	if n := committables(again); n < 1 || n > 3 {
		t.Errorf("the cut has %d committables", n)
	}
	r.ok(r.complete(6))
	r.ok(r.mail(4)) // three commits and a sweep
	r.wantCommitted("3[1] restored", "4[2] restored", "6[3]")
	if len(r.l.sweeps) != 1 || r.l.sweeps[0].Epoch != 4 || len(r.l.sweeps[0].AllCommittables) != 2 {
		t.Errorf("sweeps: %+v", r.l.sweeps)
	}
	if got := r.l.ctx.Restored; got == nil || len(got.State) != 1 || string(got.State[0]) != "state 4" {
		t.Errorf("the writer was opened with %+v", got)
	}
}

// At any parallelism each committable and each item of state is dealt to exactly one subtask.
func TestRescaleDealsOutOnce(t *testing.T) {
	for _, from := range []int{1, 3, 7} {
		for _, to := range []int{1, 2, 3, 7, 9} {
			var cuts []*operator.Cut
			want := map[string]int{}
			for s := range from {
				old := newRig(t, &ledger{}, func(c *operator.Context) { c.Subtask, c.Parallelism = s, from })
				for e := range uint64(s % 3) {
					old.write(100*s + int(e))
					want[fmt.Sprintf("%d[%d] restored", e+1, 100*s+int(e))]++
					old.checkpoint(e + 1)
				}
				cuts = append(cuts, old.checkpoint(9))
			}
			got, states := map[string]int{}, 0
			for s := range to {
				r := newRig(t, &ledger{}, func(c *operator.Context) {
					restored(9, cuts...)(c)
					c.Subtask, c.Parallelism = s, to
				})
				r.cut(10, event.PurposeCheckpoint, true)
				r.ok(r.complete(10))
				states += len(r.l.ctx.Restored.State)
				last := ""
				for _, call := range r.committed() {
					for c := range strings.SplitSeq(call, ", ") {
						got[c]++
						if c[:1] < last {
							t.Errorf("%d to %d: epoch %s comes behind %s", from, to, c, last)
						}
						last = c[:1]
					}
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || states != from {
				t.Errorf("%d to %d: committed %v, want %v; %d states", from, to, got, want, states)
			}
		}
	}
}

// Pitfall A21: the final checkpoint commits the rest, and the task does not end before it has.
func TestFinalCheckpointWaits(t *testing.T) {
	for _, purpose := range []event.Purpose{event.PurposeCheckpoint, event.PurposeStop} {
		r := newRig(t, &ledger{}, nil)
		r.write(1)
		r.checkpoint(1)
		r.write(2)
		if purpose == event.PurposeCheckpoint {
			r.ok(r.Op.(operator.Finisher).Finish())
		}
		r.cut(2, purpose, purpose == event.PurposeCheckpoint)
		r.wantCommitted()
		r.ok(r.complete(2))
		r.wantCommitted("1[1]", "2[2]") // without serving a mail
	}
}

// A final cut whose epoch was given up is followed by another one; the writer is not asked twice.
func TestFinalCutTwice(t *testing.T) {
	r := newRig(t, &ledger{}, nil)
	r.write(1)
	r.ok(r.Op.(operator.Finisher).Finish())
	r.cut(1, event.PurposeCheckpoint, true)
	second := r.cut(2, event.PurposeCheckpoint, true)
	if r.l.final != 1 || committables(second) != 1 || len(second.Blobs) != 2 {
		t.Errorf("%d final calls, blobs %+v", r.l.final, second.Blobs)
	}
	r.ok(r.complete(2))
	r.wantCommitted("1[1]")
}

// A task at its end goes when the first epoch is complete that holds its end, though it has taken part in later ones: the sink has
// to have committed by then.
func TestFinalCheckpointWaitsForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visible := make(chan struct{})
		l := &ledger{answer: func(r connector.CommitRequest) connector.Answer {
			<-visible
			return done(r)
		}}
		r := newRig(t, l, nil)
		r.write(1, 2)
		r.cut(4, event.PurposeCheckpoint, true)
		r.cut(5, event.PurposeSavepoint, true)
		r.cut(6, event.PurposeStop, true)
		heard := make(chan error, 1)
		go func() { heard <- r.complete(4) }()
		synctest.Wait()
		if len(heard) > 0 {
			t.Error("the task goes before its rows are committed")
		}
		close(visible)
		r.ok(<-heard)
		r.wantCommitted("4[1 2]")
	})
}

func TestWithoutCheckpointsTheEndCommits(t *testing.T) {
	r := newRig(t, &ledger{}, func(c *operator.Context) { c.Checkpoints, c.FinalCheckpoint = false, false })
	r.write(1, 2, 3)
	r.wantCommitted()
	r.ok(r.Op.(operator.Finisher).Finish())
	r.wantCommitted("0[1 2 3]")
	if r.l.final != 1 {
		t.Errorf("%d final calls", r.l.final)
	}
}

// With checkpoints, but none behind the end, the end commits what they have not.
func TestWithoutFinalCheckpointTheEndCommits(t *testing.T) {
	r := newRig(t, &ledger{}, func(c *operator.Context) { c.FinalCheckpoint = false })
	r.write(1)
	r.checkpoint(1)
	r.write(2)
	r.ok(r.Op.(operator.Finisher).Finish())
	r.wantCommitted("1[1]", "0[2]")
}

// What a failed Prepare has half done is in no state. A task that took it for the failure of a checkpoint only would lose it.
func TestFailedPrepareEndsTheTask(t *testing.T) {
	r := newRig(t, &ledger{fails: errors.New("disk on fire")}, nil)
	r.write(1)
	c := &operator.Cut{Barrier: event.Barrier{Epoch: 1, Purpose: event.PurposeCheckpoint}}
	if err := r.Op.(operator.Snapshotter).Snapshot(c); err == nil {
		t.Fatal("the snapshot went well")
	}
	if err := r.mail(1); err == nil || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("the mail for the task: %v", err)
	}
	r.l.fails = nil
	if r.Op.(operator.Snapshotter).Snapshot(c) == nil || r.complete(1) == nil || optest.Feed(r.Harness, 0, nil, optest.At(2, 0)) == nil {
		t.Error("the operator goes on")
	}
}

// A committable that nobody would commit is not dropped in silence.
func TestRestoreWithoutCommitterIsRefused(t *testing.T) {
	old := newRig(t, &ledger{}, nil)
	old.write(5)
	cut := old.checkpoint(1)
	h := optest.New(sink.New[int](&ledger{none: true}))
	restored(1, cut)(&h.Context)
	if err := h.Open(); err == nil || !strings.Contains(err.Error(), "rows [5]") {
		t.Fatalf("err = %v", err)
	}
}

func TestDamagedCommittable(t *testing.T) {
	for _, b := range [][]byte{nil, {2}, {1}, {1, 5, 200}, {1, 5, 0, 0, 9}} {
		h := optest.New(sink.New[int](&ledger{}))
		cut := &operator.Cut{}
		cut.Blob("committable", 0, b)
		restored(1, cut)(&h.Context)
		if err := h.Open(); errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%x: err = %v", b, err)
		}
	}
}

// A cancelled task does not wait for a commit that never comes.
func TestCancelEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := make(chan struct{})
	r := newRig(t, &ledger{}, func(c *operator.Context) { c.Ctx = ctx })
	r.l.answer = func(connector.CommitRequest) connector.Answer {
		close(asked)
		<-ctx.Done()
		return connector.Answer{}
	}
	r.write(1)
	r.cut(1, event.PurposeCheckpoint, true)
	go func() {
		<-asked
		cancel()
	}()
	if err := r.complete(1); !errs.IsCanceled(err) {
		t.Fatalf("err = %v", err)
	}
	r.ok(r.Op.Close())
}
