package source

import (
	"context"
	"errors"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/watermark"
)

// New returns the operator that reads src.
func New[T any](src connector.Source[T], opt Options[T]) operator.Operator {
	return &reader[T]{src: src, opt: opt}
}

type reader[T any] struct {
	src   connector.Source[T]
	opt   Options[T]
	ctx   *operator.Context
	r     connector.Reader[T]
	em    *basic.Emitter[T]
	stamp stamper[T]
	bad   *basic.Emitter[connector.BadRecord]

	marks  *watermark.Splits
	ids    map[string]watermark.SplitID
	names  map[watermark.SplitID]string
	saved  map[string]savedMark // of the splits of an earlier run that have not come yet
	read   map[string]int64     // rows of each open split
	halted bool                 // alignment keeps all splits from being read, as was told
	paused map[string]bool      // handed to the reader; a new map for each change
	limit  int64                // alignment bound
	own    int64                // how far the task may go by itself while it is the slowest, or event.NoTime
	idle   bool                 // what was sent downstream last
	last   bool                 // no more splits will come
	asked  bool                 // a split was asked for and has not come
	want   bool                 // a split is to be asked for
	held   int64                // a watermark that waits for the rows in front of it, or event.NoTime
	pause  []watermark.SplitID
	resume []watermark.SplitID
	timer  func() // cancels the idle timer, nil if none is set
	sent   int64  // when a watermark was sent last, for Context.WatermarkInterval
	closed bool
	behind []connector.Split // the positions of the snapshot before, for a planted mistake
	recent recent            // what was read since the chain held nothing back
}

func (o *reader[T]) Open(ctx *operator.Context, out operator.Collector) error {
	o.ctx = ctx
	o.em = basic.NewEmitter[T](out, "", ctx.BatchRows)
	o.stamp.open(o.opt.Time, ctx, out)
	o.bad = basic.NewEmitter[connector.BadRecord](out, BadSide, 0)
	if err := o.open(); err != nil {
		return err
	}
	r, err := o.src.Reader(connector.ReaderContext{Ctx: ctx.Ctx, Subtask: ctx.Subtask, Parallelism: ctx.Parallelism,
		FS: ctx.FS, Now: ctx.Clock.Now, NewTimer: func(d time.Duration) (<-chan time.Time, func() bool) {
			t := ctx.Clock.NewTimer(d)
			return t.C(), t.Stop
		}, Log: ctx.Log, Bad: o.badRecord})
	if err != nil {
		return o.failed("open", err)
	}
	o.r = r
	o.want = true
	return nil
}

// Step implements operator.Source.
func (o *reader[T]) Step() (operator.SourceStatus, error) {
	if o.blocked() {
		return operator.SourceBlocked, nil
	}
	rec := o.em.Take()
	id, st, err := o.poll(rec)
	if err != nil {
		rec.Release()
		return 0, err
	}
	if err := o.emit(rec, id); err != nil {
		return 0, err
	}
	switch st {
	case connector.SplitDone:
		if err := o.splitDone(id); err != nil {
			return 0, err
		}
	case connector.Waiting:
		return operator.SourceWaiting, o.tick()
	case connector.Done:
		if o.last {
			return operator.SourceFinished, o.finish()
		}
		if !o.asked {
			o.want = true
		}
		o.waitIdle()
		return operator.SourceBlocked, nil // what ends it comes by mail
	}
	return operator.SourceReady, nil
}

// poll lets the reader fill the batch.
func (o *reader[T]) poll(rec *event.Records[T]) (id string, st connector.Status, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(o.ctx, p, nil, nil, 0)
		}
	}()
	b := connector.Batch[T]{Rows: rec.Rows, Times: rec.Times}
	id, st, err = o.r.Poll(&b)
	if err != nil {
		return id, st, o.failed("read", err)
	}
	rec.Rows, rec.Times = b.Rows, b.Times
	if len(rec.Times) == 0 {
		rec.Times = rec.Times[:len(rec.Rows)]
		for i := range rec.Times {
			rec.Times[i] = event.NoTime
		}
	}
	if len(rec.Times) != len(rec.Rows) {
		return id, st, errs.New(errs.CodeSource, errs.ClassBug, o.ctx.Place(), "%s returned %d rows with %d times", o.src.Name(), len(rec.Rows), len(rec.Times))
	}
	return id, st, nil
}

// emit takes the rows' times, sends them on and raises the watermark behind them.
func (o *reader[T]) emit(rec *event.Records[T], id string) error {
	if len(rec.Rows) == 0 {
		rec.Release()
		return nil
	}
	o.ctx.Counts.RowsIn.Store(o.ctx.Counts.RowsIn.Load() + int64(len(rec.Rows)))
	o.read[id] += int64(len(rec.Rows))
	o.recent.add(id, int64(len(rec.Rows)))
	if err := o.stamp.times(rec); err != nil {
		rec.Release()
		return err
	}
	if !o.watermarks() {
		return o.em.Send(rec)
	}
	if sid, ok := o.ids[id]; ok {
		o.marks.Observe(sid, rec.Times, o.ctx.Now())
	}
	if err := o.wake(); err != nil {
		rec.Release()
		return err
	}
	if err := o.em.Send(rec); err != nil {
		return err
	}
	if err := o.tickOften(); err != nil {
		return err
	}
	return o.align()
}

// finish sends what is held back. The final watermark, which the task sends, comes from an input that is active.
func (o *reader[T]) finish() error {
	if o.idle {
		o.idle = false
		if err := o.ctx.EmitIdle(false); err != nil {
			return err
		}
	}
	return o.flushSides()
}

// Wait implements operator.Source. While alignment pauses every split there is nothing that the reader could wait for;
// AlignTo ends it through the mailbox.
func (o *reader[T]) Wait(ctx context.Context) error {
	err := o.r.Wait(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return o.failed("wait", err)
}

// AddSplits implements operator.Source.
func (o *reader[T]) AddSplits(add []connector.Split, last bool) error {
	o.asked = false
	o.last = o.last || last
	if len(add) > 0 {
		o.marks.Expect(true)
	}
	for _, s := range add {
		id := o.marks.Add(o.ctx.Now())
		o.ids[s.ID], o.names[id] = id, s.ID
		if m, ok := o.saved[s.ID]; ok {
			o.marks.Restore(id, m.watermark, m.idle)
			delete(o.saved, s.ID)
		}
		if err := o.addSplit(s); err != nil {
			return err
		}
	}
	if err := o.tick(); err != nil {
		return err
	}
	return o.align()
}

func (o *reader[T]) addSplit(s connector.Split) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(o.ctx, p, nil, nil, 0)
		}
	}()
	return o.failed("open split "+s.ID, o.r.AddSplit(s))
}

// WantSplit implements operator.Source.
func (o *reader[T]) WantSplit() bool {
	if !o.want || o.last {
		return false
	}
	o.want, o.asked = false, true
	return true
}

// badRecord carries out the policy.
func (o *reader[T]) badRecord(r connector.BadRecord) error {
	c := &o.ctx.Counts.Bad
	c.Store(c.Load() + 1)
	if o.opt.Bad == Fail {
		o.ctx.NoteBadRecord(r.Where, errors.New(badText(r)), o.opt.Bad.String())
		return errs.New(errs.CodeRecordDecode, errs.ClassFailJob, o.ctx.Place(), "%s", badText(r))
	}
	if o.opt.BadMax > 0 && c.Load() > o.opt.BadMax {
		return errs.New(errs.CodeRecordDecode, errs.ClassFailJob, o.ctx.Place(),
			"more than %d records could not be decoded; the last one: %s", o.opt.BadMax, badText(r))
	}
	if n := c.Load(); n&(n-1) == 0 {
		o.ctx.NoteBadRecord(r.Where, errors.New(badText(r)), o.opt.Bad.String())
	}
	if o.opt.Bad == Quarantine {
		r.Raw = append([]byte(nil), r.Raw...)
		return o.bad.Emit(r, event.NoTime)
	}
	return nil
}

// Flush implements operator.Flusher.
func (o *reader[T]) Flush() error { return o.flushSides() }

func (o *reader[T]) flushSides() error {
	if err := o.stamp.noTime.Flush(); err != nil {
		return err
	}
	return o.bad.Flush()
}

func (o *reader[T]) failed(what string, err error) error {
	if err == nil || errs.CodeOf(err) != "" {
		return err
	}
	if o.ctx.Ctx.Err() != nil {
		return errs.Canceled
	}
	class := errs.ClassFailTask
	if connector.IsPermanent(err) {
		class = errs.ClassFailJob
	}
	return errs.Wrap(err, errs.CodeSource, class, o.ctx.Place(), "%s: %s failed", o.src.Name(), what)
}

func (o *reader[T]) Process(int, event.Batch) error {
	return errs.New(errs.CodeBug, errs.ClassBug, o.ctx.Place(), "a source has no input")
}

func (o *reader[T]) Watermark(int64) error { return nil }

func (o *reader[T]) Close() error {
	o.em.Drop()
	o.stamp.noTime.Drop()
	o.bad.Drop()
	if o.r == nil || o.closed {
		return nil
	}
	o.closed = true // o.r stays, since a Wait that was started may only now come to it
	return o.failed("close", o.r.Close())
}
