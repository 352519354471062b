package conntest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/weir-stream/weir/connector"
)

var errFault = errors.New("injected fault")

// faults decides on the operations of the external system.
type faults struct {
	pass, fail int
	forever    bool
	struck     bool
}

func (f *faults) ask(op string) error {
	switch {
	case f.pass > 0:
		f.pass--
	case f.fail > 0:
		f.struck = true
		if !f.forever {
			f.fail--
		}
		return fmt.Errorf("%s: %w", op, errFault)
	}
	return nil
}

func (f *faults) heal() { f.pass, f.fail, f.forever = 0, 0, false }

// manifest is what a complete checkpoint holds.
type manifest struct {
	epoch        uint64
	position     int // rows in front of the barrier
	parallelism  int
	states       [][]byte
	committables []connector.CommitRequest
	savepoint    bool
	final        bool
}

// subtask is a task of the sink.
type subtask[T any] struct {
	w       connector.Writer[T]
	c       connector.Committer
	pending []connector.CommitRequest
	upTo    uint64
	ended   bool // no row comes, and Prepare is not called any more
}

// rig is a job of one sink: a source that hands the i-th row to subtask i modulo the parallelism, and an engine that does one
// thing at a time.
type rig[T any] struct {
	c           TwoPhaseCase[T]
	target      TwoPhaseTarget[T]
	faults      faults
	now         time.Time
	checkpoints bool

	tasks    []subtask[T]
	zombies  []subtask[T]
	restored *connector.Restored // of all tasks, but for State
	from     *manifest           // what the attempt goes on from
	attempt  int
	position int
	epoch    uint64    // the last one
	cut      *manifest // prepared, and its manifest is not durable
	manifest *manifest // the newest durable one
	finished bool      // the final checkpoint of this attempt was prepared
	swept    bool      // in this attempt
	haunted  bool      // a zombie has done something behind the last sweep
	saved    bool      // a savepoint was prepared
}

func newRig[T any](c TwoPhaseCase[T], parallelism int) *rig[T] {
	r := &rig[T]{c: c, target: c.New(), now: time.Date(2024, 2, 28, 23, 59, 0, 0, time.UTC), checkpoints: true}
	r.tasks = make([]subtask[T], parallelism)
	r.target.Fault(r.faults.ask)
	return r
}

// start opens the tasks of an attempt. An attempt that fails is followed by another one.
func (r *rig[T]) start() error {
	p := len(r.tasks)
	for try := 0; ; try++ {
		r.attempt++
		err := r.open(p)
		if err == nil {
			return nil
		}
		r.close(r.tasks)
		if !errors.Is(err, errFault) || try > 50 {
			return fmt.Errorf("attempt %d does not start: %w", r.attempt, err)
		}
		if try > 5 {
			r.faults.heal()
		}
	}
}

func (r *rig[T]) open(parallelism int) error {
	r.tasks = make([]subtask[T], parallelism)
	r.position, r.restored, r.cut, r.swept, r.finished = 0, nil, nil, false, false
	if r.from = r.manifest; r.from != nil {
		r.position = r.from.position
		r.restored = &connector.Restored{Epoch: r.from.epoch, Parallelism: r.from.parallelism, AllState: r.from.states}
		for _, c := range r.from.committables {
			r.restored.AllCommittables = append(r.restored.AllCommittables, c.Committable)
		}
	}
	two, ok := r.target.Sink.(connector.TwoPhase)
	if !ok {
		return fmt.Errorf("%T does not implement connector.TwoPhase", r.target.Sink)
	}
	for i := range r.tasks {
		ctx := r.context(i)
		t := &r.tasks[i]
		var err error
		if t.c, err = two.Committer(ctx); err != nil {
			return err
		}
		if t.w, err = r.target.Sink.Writer(ctx); err != nil {
			return err
		}
		if t.c == nil {
			return fmt.Errorf("the sink has no committer")
		}
		if _, ok := t.w.(connector.Preparer); !ok {
			return fmt.Errorf("%T does not implement connector.Preparer", t.w)
		}
		if r.from != nil {
			t.upTo = r.from.epoch
			for _, c := range even(r.from.committables, i, parallelism) {
				c.Restored, c.Attempt = true, 0
				t.pending = append(t.pending, c)
			}
		}
	}
	return nil
}

// even is a subtask's share of a list.
func even[E any](all []E, subtask, parallelism int) []E {
	return all[len(all)*subtask/parallelism : len(all)*(subtask+1)/parallelism]
}

func (r *rig[T]) context(i int) connector.WriterContext {
	ctx := connector.WriterContext{Ctx: context.Background(), Name: "sink", Job: "job", JobID: "0123", Attempt: fmt.Sprint("0123-", r.attempt),
		Subtask: i, Parallelism: len(r.tasks), Checkpoints: r.checkpoints, FS: r.target.FS,
		Now: func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler), Side: func([]byte) error { return nil }}
	if r.restored != nil {
		own := *r.restored
		own.State = even(own.AllState, i, len(r.tasks))
		ctx.Restored = &own
	}
	return ctx
}

// do does a step and looks at what a reader sees afterwards.
func (r *rig[T]) do(s step) error {
	err := r.act(s)
	if errors.Is(err, errFault) {
		// The engine ends the attempt and starts another one.
		r.close(r.tasks)
		if r.faults.forever {
			r.faults.heal()
		}
		err = r.start()
	}
	if err != nil {
		return err
	}
	return r.look()
}

func (r *rig[T]) act(s step) error {
	switch s.kind {
	case stepWrite, stepFlush, stepCut, stepManifest, stepAbort, stepFinal:
		if r.finished {
			return nil
		}
	}
	switch s.kind {
	case stepWrite:
		if r.from != nil && r.from.final {
			return nil // there are no more
		}
		return r.write(r.tasks, s.n)
	case stepFlush:
		return each(r.tasks, func(t *subtask[T]) error { return t.w.Flush() })
	case stepSleep:
		return r.sleep(s.n)
	case stepCut:
		return r.prepare(s.n == 1, false)
	case stepManifest:
		if r.cut != nil {
			r.manifest, r.cut = r.cut, nil
		}
	case stepAbort:
		r.cut = nil
	case stepComplete:
		return r.complete(false)
	case stepFinal:
		return r.last()
	case stepLostAnswers:
		return r.complete(true)
	case stepKill, stepCancel, stepZombie:
		return r.restart(s)
	case stepHaunt:
		r.haunt(s.n == 1)
	case stepFault:
		r.faults.pass, r.faults.fail, r.faults.forever = s.n/10, s.n%10, s.n%10 == 9
	}
	return nil
}

func each[T any](tasks []subtask[T], f func(t *subtask[T]) error) error {
	for i := range tasks {
		if err := f(&tasks[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig[T]) write(tasks []subtask[T], n int) error {
	batches, times := make([][]T, len(tasks)), make([][]int64, len(tasks))
	for range n {
		row, i := r.c.Row(r.position), r.position%len(tasks)
		batches[i] = append(batches[i], row)
		time := connector.NoTime
		if r.c.Time != nil {
			time = r.c.Time(row)
		}
		times[i] = append(times[i], time)
		r.position++
	}
	for i, b := range batches {
		if len(b) == 0 {
			continue
		}
		err := tasks[i].w.Write(b, times[i])
		clear(b) // the rows were the sink's during the call only
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rig[T]) sleep(seconds int) error {
	r.now = r.now.Add(time.Duration(seconds) * time.Second)
	return each(r.tasks, func(t *subtask[T]) error {
		if ticker, ok := t.w.(connector.Ticker); ok && ticker.TickEvery() > 0 {
			return ticker.Tick()
		}
		return nil
	})
}

// prepare cuts all tasks.
func (r *rig[T]) prepare(isSavepoint, final bool) error {
	r.epoch++
	r.saved = r.saved || isSavepoint
	cut := &manifest{epoch: r.epoch, position: r.position, parallelism: len(r.tasks), savepoint: isSavepoint, final: final || r.from != nil && r.from.final}
	if !r.checkpoints {
		cut.epoch = 0
	}
	err := each(r.tasks, func(t *subtask[T]) error {
		if err := t.w.Flush(); err != nil {
			return err
		}
		t.ended = final
		p, err := t.w.(connector.Preparer).Prepare(connector.Barrier{Epoch: cut.epoch, Savepoint: isSavepoint, Final: final})
		if err != nil {
			return err
		}
		for _, c := range p.Committables {
			t.pending = append(t.pending, connector.CommitRequest{Committable: c, Epoch: cut.epoch})
		}
		cut.states = append(cut.states, p.State...)
		cut.committables = append(cut.committables, t.pending...)
		return nil
	})
	if err == nil {
		r.cut = cut
	}
	return err
}

// complete tells all tasks of the newest manifest.
func (r *rig[T]) complete(lost bool) error {
	if r.manifest == nil {
		return nil
	}
	clean := true
	err := each(r.tasks, func(t *subtask[T]) error {
		t.upTo = max(t.upTo, r.manifest.epoch)
		left, err := r.commit(t, lost)
		clean = clean && left == 0
		return err
	})
	newer := r.from == nil || r.manifest.epoch > r.from.epoch
	if err != nil || lost || !clean || r.swept || !newer {
		return err
	}
	r.swept, r.haunted = true, false
	return each(r.tasks, func(t *subtask[T]) error {
		s, ok := t.c.(connector.Sweeper)
		if !ok {
			return nil
		}
		var left *connector.Restored
		if r.restored != nil {
			own := *r.restored
			left = &own
		}
		if err := s.Sweep(context.Background(), left); err != nil && !errors.Is(err, errFault) {
			return fmt.Errorf("at a sweep: %w", err)
		} else if err != nil {
			r.haunted = true // it is not repeated
		}
		return nil
	})
}

// commit commits what is complete of a task, epoch by epoch, and returns how many are to be tried again.
func (r *rig[T]) commit(t *subtask[T], lost bool) (left int, err error) {
	for len(t.pending) > 0 && t.pending[0].Epoch <= t.upTo {
		n := 0
		for n < len(t.pending) && t.pending[n].Epoch == t.pending[0].Epoch {
			n++
		}
		answers := t.c.Commit(context.Background(), slices.Clone(t.pending[:n]))
		if lost {
			return n, nil
		}
		var kept []connector.CommitRequest
		for i, q := range t.pending[:n] {
			a := connector.Answer{}
			if i < len(answers) {
				a = answers[i]
			}
			switch a.Outcome {
			case connector.CommitDone, connector.CommitAlready:
				continue
			case connector.CommitFailed:
				return 0, fmt.Errorf("the commit of epoch %d (%s) fails for good: %w", q.Epoch, q.Range, unfault(a.Err))
			}
			q.Attempt++
			kept = append(kept, q)
		}
		t.pending = append(kept, t.pending[n:]...)
		if len(kept) > 0 {
			return len(kept), nil
		}
	}
	return 0, nil
}

// unfault keeps an injected fault that was taken for a failure for good from being taken for the end of an attempt.
func unfault(err error) error {
	if errors.Is(err, errFault) {
		return fmt.Errorf("%v, although it is a fault that passes", err)
	}
	return err
}

// answers commits requests by a committer of its own.
func (r *rig[T]) answers(requests []connector.CommitRequest, restored bool) []connector.Answer {
	requests = slices.Clone(requests)
	for i := range requests {
		requests[i].Restored = restored
	}
	c, err := r.target.Sink.(connector.TwoPhase).Committer(r.context(0))
	if err != nil || c == nil {
		return []connector.Answer{{Outcome: connector.CommitRetry, Err: err}}
	}
	answers := c.Commit(context.Background(), requests)
	_ = c.Close()
	return answers
}

// restart ends the attempt and starts the next one from the newest manifest.
func (r *rig[T]) restart(s step) error {
	p := s.n
	if p == 0 {
		p = len(r.tasks)
	}
	switch s.kind {
	case stepKill:
		if r.target.Crash != nil {
			r.target.Crash()
			r.zombies = nil // they have died too
		}
	case stepCancel:
		r.close(r.tasks)
	case stepZombie:
		r.zombies = append(r.zombies, r.tasks...)
	}
	if r.faults.forever {
		r.faults.heal()
	}
	r.tasks = make([]subtask[T], min(p, r.c.Parallelism))
	return r.start()
}

// haunt lets the tasks of attempts that are over go on for a while: they do not know it. Nobody will list what they prepare.
func (r *rig[T]) haunt(close bool) {
	if len(r.zombies) == 0 {
		return
	}
	r.haunted = true
	at := r.position
	for i := range r.zombies {
		if !r.zombies[i].ended {
			_ = r.write(r.zombies[i:i+1], 2)
		}
	}
	r.position = at
	_ = each(r.zombies, func(t *subtask[T]) error {
		_, _ = r.commit(t, true)
		if t.ended {
			return nil
		}
		_ = t.w.Flush()
		_, _ = t.w.(connector.Preparer).Prepare(connector.Barrier{Epoch: r.epoch + 1000})
		return nil
	})
	if close {
		r.close(r.zombies)
		r.zombies = nil
	}
}

// close closes tasks, twice, whatever they say.
func (r *rig[T]) close(tasks []subtask[T]) {
	for i := range tasks {
		for range 2 {
			if tasks[i].w != nil {
				_ = tasks[i].w.Close()
			}
			if tasks[i].c != nil {
				_ = tasks[i].c.Close()
			}
		}
	}
}

// look checks that nothing is visible twice or too early.
func (r *rig[T]) look() error {
	counts, err := r.visible()
	if err != nil {
		return err
	}
	covered := 0
	if r.manifest != nil {
		covered = r.manifest.position
	}
	if !r.checkpoints {
		return nil
	}
	for i := range covered {
		delete(counts, r.c.Text(r.c.Row(i)))
	}
	for text := range counts {
		return fmt.Errorf("row %s is visible, and no durable manifest covers it (there are %d rows up to the newest)", text, covered)
	}
	return nil
}

// visible counts what a reader sees.
func (r *rig[T]) visible() (map[string]int, error) {
	saved := r.faults
	r.faults.heal()
	texts, err := r.target.Visible()
	r.faults = saved
	if err != nil {
		return nil, fmt.Errorf("a reader fails: %w", err)
	}
	counts := map[string]int{}
	for _, text := range texts {
		if counts[text]++; counts[text] > 1 {
			return nil, fmt.Errorf("row %s is visible twice", text)
		}
	}
	return counts, nil
}

// end brings the job to its end, with a final checkpoint, and checks that every row is there once.
func (r *rig[T]) end() error {
	if r.checkpoints {
		if err := r.do(step{stepWrite, 3}); err != nil {
			return err
		}
	}
	if err := r.final(); errors.Is(err, errFault) {
		r.close(r.tasks)
		r.faults.heal()
		if err := r.start(); err != nil {
			return err
		}
		if err := r.final(); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	for range 3 {
		if err := r.look(); err != nil {
			return err
		}
		if err := r.whole(); err != nil {
			return err
		}
		// Everything that the last manifest lists may be committed again at any time.
		for i, a := range r.answers(r.manifest.committables, true) {
			if a.Outcome != connector.CommitDone && a.Outcome != connector.CommitAlready {
				return fmt.Errorf("committing %s again: %v, %w", r.manifest.committables[i].Range, a.Outcome, errors.Join(a.Err))
			}
		}
	}
	r.close(r.tasks)
	if err := r.whole(); err != nil {
		return fmt.Errorf("after Close: %w", err)
	}
	return r.leftovers()
}

// last takes the final checkpoint.
func (r *rig[T]) last() error {
	if err := r.prepare(false, true); err != nil {
		return err
	}
	if err := r.look(); err != nil {
		return err
	}
	r.manifest, r.cut, r.finished = r.cut, nil, true
	return nil
}

// final takes the final checkpoint and commits until nothing is left.
func (r *rig[T]) final() error {
	if !r.finished {
		if err := r.last(); err != nil {
			return err
		}
	}
	for try := range 30 {
		if try > 5 {
			r.faults.heal()
		}
		if err := r.complete(false); err != nil {
			return err
		}
		left := 0
		for _, t := range r.tasks {
			left += len(t.pending)
		}
		if left == 0 {
			r.faults.heal()
			return nil
		}
	}
	return fmt.Errorf("the committer asks for another try 30 times")
}

// whole checks that each row is visible once.
func (r *rig[T]) whole() error {
	counts, err := r.visible()
	if err != nil {
		return err
	}
	for i := range r.position {
		if text := r.c.Text(r.c.Row(i)); counts[text] != 1 {
			return fmt.Errorf("row %s is lost", text)
		}
	}
	if len(counts) != r.position {
		return fmt.Errorf("%d rows are visible, and there were %d", len(counts), r.position)
	}
	return nil
}

// leftovers checks that nothing useless is left, unless it was made when nobody was there to remove it.
func (r *rig[T]) leftovers() error {
	if r.target.Leftovers == nil || r.faults.struck || r.haunted || r.saved || len(r.zombies) > 0 || !r.checkpoints {
		return nil
	}
	if left := r.target.Leftovers(); len(left) > 0 {
		return fmt.Errorf("left behind: %q", left)
	}
	return nil
}
