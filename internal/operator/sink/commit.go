package sink

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/metric"
)

// CodeCommit is the code of rows that were prepared and cannot be committed.
const CodeCommit errs.Code = "sink.commit"

const (
	// everything is an epoch behind all others.
	everything = math.MaxUint64
	// completedMax bounds the committables whose epoch is complete and that are not committed yet. With more, the sink takes
	// no rows until the committer has caught up.
	completedMax = 4096
	// backoffMin and backoffMax bound the wait before a committable is tried again; it doubles each time.
	backoffMin = 100 * time.Millisecond
	backoffMax = 30 * time.Second
)

// commits are a subtask's committables from their preparation until the committer has said that they are visible. It
// belongs to the task's goroutine; the committer runs on another one, one call at a time, which gets its requests as a
// value and answers through a channel.
type commits struct {
	ctx       *operator.Context
	name      string
	committer connector.Committer
	base      context.Context // of the committer's calls
	stop      context.CancelFunc

	pending []connector.CommitRequest // not known to be committed, by epoch
	upTo    uint64                    // epochs up to this one are complete
	running int                       // requests of pending, from the front on, that are with the committer
	left    *connector.Restored       // what the task was restored from, or nil
	sweeps  bool                      // a sweep is to come
	backoff time.Duration             // before the next try, 0 after a success
	waiting bool                      // a timer for the next try is set

	answers chan answer // with room for one
	calls   sync.WaitGroup

	total, retried, already *metric.Counter
	done                    *metric.Counter
}

// answer is what a call of the committer came to.
type answer struct {
	answers []connector.Answer
	swept   bool
	err     error // a panic
}

func newCommits(ctx *operator.Context, name string, c connector.Committer, left *restoredCommits) *commits {
	m := &commits{ctx: ctx, name: name, committer: c, pending: left.share, answers: make(chan answer, 1),
		total: ctx.Metrics.Counter("totalCommittables"), retried: ctx.Metrics.Counter("retriedCommittables"),
		already: ctx.Metrics.Counter("alreadyCommittedCommittables"), done: ctx.Metrics.Counter("successfulCommittables")}
	m.base, m.stop = context.WithCancel(ctx.Ctx)
	_, m.sweeps = c.(connector.Sweeper)
	if m.left = left.restored; m.left != nil {
		m.upTo = m.left.Epoch
	}
	m.total.Add(int64(len(m.pending)))
	return m
}

// add takes over what was prepared for an epoch.
func (m *commits) add(epoch uint64, cs []connector.Committable) {
	m.total.Add(int64(len(cs)))
	for _, c := range cs {
		m.pending = append(m.pending, connector.CommitRequest{Committable: c, Epoch: epoch})
	}
}

// snapshot adds to the cut what is not known to be committed.
func (m *commits) snapshot(cut *operator.Cut) error {
	if err := m.collect(); err != nil {
		return err
	}
	for _, r := range m.pending {
		cut.Blob(committableBlob, m.ctx.Subtask, appendCommittable(nil, r))
	}
	return nil
}

// complete says that the manifest of epoch is durable, and with it everything up to epoch.
func (m *commits) complete(epoch uint64) error {
	m.upTo = max(m.upTo, epoch)
	if planted.Is(planted.OlderForgotten) && m.running == 0 {
		m.pending = slices.DeleteFunc(m.pending, func(r connector.CommitRequest) bool { return r.Epoch < epoch })
	}
	return m.kick()
}

// completed counts the requests whose epoch is complete.
func (m *commits) completed() int {
	n, _ := slices.BinarySearchFunc(m.pending, m.upTo, func(r connector.CommitRequest, upTo uint64) int {
		if r.Epoch <= upTo {
			return -1
		}
		return 1
	})
	return n
}

func (m *commits) tooMany() bool {
	return len(m.pending) > completedMax && m.completed() > completedMax
}

// due returns how many requests may go to the committer now: those of the oldest epoch, if that is complete.
func (m *commits) due() int {
	n := 0
	for n < len(m.pending) && m.pending[n].Epoch <= m.upTo && m.pending[n].Epoch == m.pending[0].Epoch {
		n++
	}
	return n
}

// kick starts a call of the committer if there is something for it to do, none is running, and no wait is to be kept.
func (m *commits) kick() error {
	if m.running > 0 || m.waiting || m.base.Err() != nil {
		return nil
	}
	n := m.due()
	if n == 0 {
		return m.sweepNow()
	}
	m.running = n
	requests := slices.Clone(m.pending[:n])
	m.call(func() answer { return answer{answers: m.committer.Commit(m.base, requests)} })
	return nil
}

// sweepNow starts the sweep when the first checkpoint since the start is complete and nothing is left to commit.
func (m *commits) sweepNow() error {
	if !m.sweeps || m.upTo == 0 || m.left != nil && m.upTo <= m.left.Epoch || m.upTo == everything {
		return nil
	}
	restored := m.left
	m.sweeps, m.running = false, 1
	m.call(func() answer {
		if err := m.committer.(connector.Sweeper).Sweep(m.base, restored); err != nil && m.base.Err() == nil {
			m.ctx.Log.Warn("what earlier attempts have left could not be removed", "sink", m.name, "err", err)
		}
		return answer{swept: true}
	})
	return nil
}

// call runs f on a goroutine of its own; its answer is taken by collect.
func (m *commits) call(f func() answer) {
	m.calls.Go(func() {
		a := answer{err: errs.New(errs.CodeUserPanic, errs.ClassFailTask, m.ctx.Place(), "%s: the committer has ended its goroutine", m.name)}
		defer func() {
			if p := recover(); p != nil {
				a.err = panicked(m.ctx, m.name, "commit", p)
			}
			m.answers <- a
			m.ctx.Mailbox.Post(m.collect)
		}()
		a = f()
	})
}

// collect takes an answer, if one has come, and goes on. It never blocks.
func (m *commits) collect() error {
	select {
	case a := <-m.answers:
		return m.take(a)
	default:
		return nil
	}
}

// take does what the answers to the requests at the front of pending ask for.
func (m *commits) take(a answer) error {
	n := m.running
	m.running = 0
	if m.base.Err() != nil {
		return nil // closed: nobody cares
	}
	if a.err != nil {
		return a.err
	}
	if a.swept {
		return m.kick()
	}
	again, err := m.judge(n, a.answers)
	if err != nil {
		return err
	}
	if again == 0 {
		m.backoff = 0
		return m.kick()
	}
	m.retried.Add(int64(again))
	m.backoff = min(max(2*m.backoff, backoffMin), backoffMax)
	m.waiting = true
	m.ctx.Timers.At(m.ctx.Now()+m.backoff.Milliseconds(), func(int64) error { return m.retry() })
	return nil
}

// retry ends the wait before another try, however it was reached.
func (m *commits) retry() error {
	m.waiting = false
	return m.kick()
}

// judge removes from the first n requests those that are visible, returns how many are to be tried again, and fails if one
// never will be.
func (m *commits) judge(n int, answers []connector.Answer) (again int, err error) {
	var failed []error
	kept := m.pending[:0]
	for i := range m.pending[:n] {
		r := m.pending[i]
		a := connector.Answer{Err: errors.New("the committer has not answered")}
		if i < len(answers) {
			a = answers[i]
		}
		switch a.Outcome {
		case connector.CommitDone:
			m.done.Inc()
			continue
		case connector.CommitAlready:
			m.already.Inc()
			continue
		case connector.CommitFailed:
			failed = append(failed, errs.Wrap(orUnknown(a.Err), CodeCommit, errs.ClassFailJob, m.ctx.Place(),
				"%s: rows that were prepared for epoch %d can never be committed (%s)", m.name, r.Epoch, orRange(r.Range)))
		default:
			if again == 0 {
				m.ctx.Log.Warn("a commit is tried again", "sink", m.name, "epoch", r.Epoch, "rows", r.Range, "attempt", r.Attempt+1, "err", a.Err)
			}
			again++
		}
		r.Attempt++
		kept = append(kept, r)
	}
	kept = append(kept, m.pending[n:]...)
	clear(m.pending[len(kept):])
	m.pending = kept
	return again, firstOf(failed)
}

// firstOf is the first failure, which says how many more there are.
func firstOf(failed []error) error {
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	return errs.Wrap(failed[0], "", 0, "", "%d committables have failed, the first of them", len(failed))
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("the committer gave no reason")
	}
	return err
}

func orRange(r string) string {
	if r == "" {
		return "the writer has not said which"
	}
	return r
}

// settle blocks the task until no more than most completed requests are left, or the task is cancelled.
func (m *commits) settle(most int) error {
	for m.completed() > most || most == 0 && m.running > 0 {
		if err := m.kick(); err != nil {
			return err
		}
		if m.running == 0 {
			if err := m.pause(); err != nil {
				return err
			}
			continue
		}
		select {
		case a := <-m.answers:
			if err := m.take(a); err != nil {
				return err
			}
		case <-m.ctx.Ctx.Done():
			return errs.Canceled
		}
	}
	return nil
}

// pause waits for as long as the next try has to wait; the timer that was set for it comes too late and does no harm.
func (m *commits) pause() error {
	if err := m.ctx.Clock.Sleep(m.base, m.backoff); err != nil {
		return errs.Canceled
	}
	return m.retry()
}

// close ends the committer. What is not committed stays in the checkpoint.
func (m *commits) close() error {
	m.stop()
	m.calls.Wait()
	return m.committer.Close()
}
