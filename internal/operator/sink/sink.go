package sink

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// New returns the operator that writes to sink.
func New[T any](sink connector.Sink[T]) operator.Operator { return &writer[T]{sink: sink} }

type writer[T any] struct {
	sink  connector.Sink[T]
	ctx   *operator.Context
	w     connector.Writer[T]
	marks connector.WatermarkWriter // nil if the writer does not want watermarks
	prep  connector.Preparer        // nil if the writer takes no part in checkpoints
	dirty bool
	// commits is nil if the sink commits nothing.
	commits *commits
	// state is what the last Prepare gave, once that was the final one.
	state [][]byte
	final bool
	// broken is the error of a Prepare, behind which nobody knows what the writer holds.
	broken error
	// last is the epoch behind which no row comes, 0 as long as that is open.
	last uint64
}

func (o *writer[T]) Open(ctx *operator.Context, _ operator.Collector) error {
	o.ctx = ctx
	committed := restoredCommits{}
	if err := committed.read(ctx); err != nil {
		return err
	}
	wctx := connector.WriterContext{Ctx: ctx.Ctx, Subtask: ctx.Subtask, Parallelism: ctx.Parallelism,
		FS: ctx.FS, Now: ctx.Clock.Now, Log: ctx.Log, Side: ctx.Side, Name: ctx.Operator, Job: ctx.Job, JobID: ctx.JobID.String(),
		Attempt: ctx.Attempt, Checkpoints: ctx.Checkpoints, Restored: committed.restored}
	if err := o.openCommitter(wctx, &committed); err != nil {
		return err
	}
	w, err := o.sink.Writer(wctx)
	if err != nil {
		return o.failed("open", err)
	}
	o.w = w
	o.marks, _ = w.(connector.WatermarkWriter)
	o.prep, _ = w.(connector.Preparer)
	if o.commits != nil && o.prep == nil {
		return errs.New(errs.CodeSink, errs.ClassFailJob, ctx.Place(),
			"%s: the sink has a Committer, but its writer (%T) does not implement connector.Preparer", o.sink.Name(), w)
	}
	if t, ok := w.(connector.Ticker); ok {
		o.tick(t, t.TickEvery())
	}
	return nil
}

// openCommitter makes the committer, if the sink has one, and gives it what a checkpoint left to be committed.
func (o *writer[T]) openCommitter(wctx connector.WriterContext, left *restoredCommits) error {
	two, ok := o.sink.(connector.TwoPhase)
	if !ok {
		return o.orphans(left)
	}
	c, err := two.Committer(wctx)
	if err != nil {
		return o.failed("open the committer", err)
	}
	if c == nil {
		return o.orphans(left)
	}
	o.commits = newCommits(o.ctx, o.sink.Name(), c, left)
	return nil
}

// orphans refuses to drop what nobody will commit.
func (o *writer[T]) orphans(left *restoredCommits) error {
	if len(left.share) == 0 {
		return nil
	}
	return errs.New(CodeCommit, errs.ClassFailJob, o.ctx.Place(),
		"the checkpoint holds %d committables (the first: %s), but %s as it is set up now commits nothing: restore with the sink that wrote them, or give the sink another UID and allow non-restored state to lose these rows",
		len(left.share), left.share[0].Range, o.sink.Name())
}

// AfterRestore implements operator.Restorer. What the checkpoint lists is committed again as soon as the task runs.
func (o *writer[T]) AfterRestore() error {
	if o.commits != nil {
		o.ctx.Timers.At(o.ctx.Now(), func(int64) error { return o.commits.kick() })
	}
	return nil
}

func (o *writer[T]) tick(t connector.Ticker, every time.Duration) {
	ms := every.Milliseconds()
	if ms <= 0 {
		return
	}
	var again func(int64) error
	again = func(now int64) error {
		if o.w == nil || o.final {
			return nil
		}
		o.ctx.Timers.At(now+ms, again)
		return o.call("tick", t.Tick)
	}
	o.ctx.Timers.At(o.ctx.Now()+ms, again)
}

func (o *writer[T]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	defer in.Release()
	in.Compact()
	if o.broken != nil {
		return o.broken
	}
	o.dirty = true
	if o.commits != nil && o.commits.tooMany() {
		if err := o.commits.settle(completedMax); err != nil {
			return err
		}
	}
	return o.call("write", func() error { return o.w.Write(in.Rows, in.Times) })
}

func (o *writer[T]) Watermark(t int64) error {
	if o.marks == nil {
		return nil
	}
	return o.call("write a watermark", func() error { return o.marks.WriteWatermark(t) })
}

// Flush implements operator.Flusher.
func (o *writer[T]) Flush() error {
	if !o.dirty {
		return nil
	}
	o.dirty = false
	return o.call("flush", o.w.Flush)
}

// Snapshot implements operator.Snapshotter.
func (o *writer[T]) Snapshot(cut *operator.Cut) error {
	if err := o.Flush(); err != nil {
		return err
	}
	if cut.Final && o.last == 0 || !cut.Final && cut.Barrier.Purpose == event.PurposeStop {
		o.last = cut.Barrier.Epoch // the first of several: the task goes when that is complete
	}
	if o.broken != nil {
		return o.broken
	}
	state := o.state
	if o.prep != nil && !o.final {
		p, err := o.prepare(connector.Barrier{Epoch: cut.Barrier.Epoch, Final: cut.Final,
			Savepoint: cut.Barrier.Purpose == event.PurposeSavepoint || cut.Barrier.Purpose == event.PurposeStop})
		if err != nil {
			return err
		}
		state = p.State
		if cut.Final {
			o.final, o.state = true, state
		}
	}
	for _, s := range state {
		cut.Blob(stateBlob, o.ctx.Subtask, s)
	}
	if o.commits != nil {
		return o.commits.snapshot(cut)
	}
	return nil
}

// prepare calls the writer and takes over its committables.
func (o *writer[T]) prepare(at connector.Barrier) (p connector.Prepared, err error) {
	err = o.call("prepare", func() error {
		p, err = o.prep.Prepare(at)
		return err
	})
	if err == nil && len(p.Committables) > 0 && o.commits == nil {
		err = errs.New(errs.CodeSink, errs.ClassFailJob, o.ctx.Place(), "%s: the writer has prepared %d committables, but the sink has no Committer", o.sink.Name(), len(p.Committables))
	}
	if err != nil {
		// The task may take the failure for that of the checkpoint alone; but what was prepared of it is in no state, and the
		// next checkpoint would not hold it either.
		o.broken = err
		o.ctx.Mailbox.Post(func() error { return err })
		return p, err
	}
	if o.commits != nil {
		o.commits.add(at.Epoch, p.Committables)
	}
	return p, nil
}

// CheckpointComplete implements operator.CompletionListener. Behind the last row it returns when everything is committed,
// so that the task does not end before.
func (o *writer[T]) CheckpointComplete(epoch uint64) error {
	if o.commits == nil || o.broken != nil {
		return o.broken
	}
	if err := o.commits.complete(epoch); err != nil {
		return err
	}
	if o.last > 0 && epoch >= o.last {
		return o.commits.settle(0)
	}
	return nil
}

// CheckpointAborted implements operator.CompletionListener. What was prepared for the epoch stays, and is committed with
// the next one that completes: the rows are in the past of that one too.
func (o *writer[T]) CheckpointAborted(uint64) error { return nil }

// Finish implements operator.Finisher. The writer learns that its input is complete, before Close; if no checkpoint is to
// come this is where its rows are committed.
func (o *writer[T]) Finish() error {
	if o.commits == nil {
		f, ok := o.w.(connector.Finisher)
		if !ok {
			return nil
		}
		return o.call("finish", f.Finish)
	}
	if o.ctx.FinalCheckpoint {
		return nil // it prepares
	}
	if err := o.Flush(); err != nil {
		return err
	}
	if _, err := o.prepare(connector.Barrier{Final: true}); err != nil {
		return err
	}
	o.final = true
	if err := o.commits.complete(everything); err != nil {
		return err
	}
	return o.commits.settle(0)
}

func (o *writer[T]) Close() error {
	var err error
	if o.commits != nil {
		c := o.commits
		o.commits = nil
		err = o.call("close the committer", c.close)
	}
	if o.w != nil {
		w := o.w
		o.w = nil
		if werr := o.call("close", w.Close); err == nil {
			err = werr
		}
	}
	return err
}

// call runs a method of the writer and gives its error or panic a place.
func (o *writer[T]) call(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(o.ctx, o.sink.Name(), what, p)
		}
	}()
	return o.failed(what, f())
}

func panicked(ctx *operator.Context, name, what string, p any) error {
	return &errs.Error{Code: errs.CodeUserPanic, Class: errs.ClassFailTask, Op: ctx.Place(),
		Msg: fmt.Sprintf("%s: panic in %s: %v\n%s", name, what, p, operator.TrimStack(debug.Stack()))}
}

func (o *writer[T]) failed(what string, err error) error {
	if err == nil || errs.IsCanceled(err) {
		return err
	}
	if o.ctx.Ctx.Err() != nil {
		return errs.Canceled
	}
	class := errs.ClassFailTask
	if connector.IsPermanent(err) {
		class = errs.ClassFailJob
	}
	return errs.Wrap(err, errs.CodeSink, class, o.ctx.Place(), "%s: %s failed", o.sink.Name(), what)
}
