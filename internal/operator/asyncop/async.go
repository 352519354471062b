package asyncop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/xsync"
	"github.com/weir-stream/weir/metric"
)

// ErrTimeout is what a row fails with whose calls took too long, and the cause of its context's end.
var ErrTimeout = errors.New("asynchronous call timed out")

// Config describes the operator.
type Config[T, U any] struct {
	// Call is called on a goroutine of its own for each row. It appends its results to dst.
	Call func(ctx context.Context, row T, dst []U) ([]U, error)
	// Fallback gives the results of a row that has failed for good, or is nil: then the error fails the task. It is called
	// on the task's goroutine.
	Fallback func(row T, err error, dst []U) ([]U, error)
	// Capacity bounds the rows under way; at least 1.
	Capacity int
	// Timeout bounds the time from a row's first call to its result, over all attempts; 0 is without bound.
	Timeout time.Duration
	// Unordered emits results as they come; only watermarks keep their place.
	Unordered bool
	// Attempts bounds the calls for a row; 0 is one.
	Attempts int
	// Backoff returns the wait after the failed attempt of that number, counted from 1; nil is no wait.
	Backoff func(attempt int) time.Duration
	// RetryIf says which errors are worth another attempt; nil is all. It is called on the task's goroutine.
	RetryIf func(error) bool
}

// New returns the operator. It must be the head of its chain.
func New[T, U any](cfg Config[T, U]) operator.Operator {
	return &asyncs[T, U]{cfg: cfg}
}

type asyncs[T, U any] struct {
	cfg  Config[T, U]
	ctx  *operator.Context
	em   *basic.Emitter[U]
	base context.Context // of all calls
	stop context.CancelFunc

	queue   queue[T, U]
	rows    int // in the queue
	backlog []waiting[T]
	expired int64 // calls that went on after their row had timed out

	retries, timeouts, abandoned *metric.Counter

	running atomic.Int64 // calls that have not returned
	mu      struct {
		xsync.Mutex
		answers []answer[T, U]
	}
}

// waiting is what has come while the capacity was used up: a batch, or a mark behind it.
type waiting[T any] struct {
	batch *event.Records[T] // nil for a mark
	next  int               // the first row that has not been started
	mark  mark
}

// answer is what a call returned.
type answer[T, U any] struct {
	row     *row[T, U]
	results []U
	err     error
}

// row is a row under way.
type row[T, U any] struct {
	value T
	time  int64
	seg   *segment[T, U]

	prev, next *row[T, U] // in the segment

	attempt int
	calling bool // a call has not returned
	done    bool
	end     context.CancelCauseFunc // of the present call
	timeout func()                  // cancels the timer, or is nil
	retry   func()                  // cancels the timer, or is nil
	err     error                   // of the last attempt
	results []U
	one     [1]U // memory for the results of functions that return one
}

func (o *asyncs[T, U]) Open(ctx *operator.Context, out operator.Collector) error {
	o.ctx, o.em = ctx, basic.NewEmitter[U](out, "", ctx.BatchRows)
	o.base, o.stop = context.WithCancel(ctx.Ctx)
	o.cfg.Capacity, o.cfg.Attempts = max(1, o.cfg.Capacity), max(1, o.cfg.Attempts)
	o.queue.single = !o.cfg.Unordered
	o.retries, o.timeouts, o.abandoned = ctx.Metrics.Counter("asyncRetries"), ctx.Metrics.Counter("asyncTimeouts"), ctx.Metrics.Counter("asyncAbandoned")
	return o.restore()
}

// HoldsWatermark implements operator.WatermarkHolder.
func (o *asyncs[T, U]) HoldsWatermark() {}

// Full implements operator.Outsider.
func (o *asyncs[T, U]) Full() bool { return len(o.backlog) > 0 || o.rows >= o.cfg.Capacity }

// UnderWay implements operator.Outsider.
func (o *asyncs[T, U]) UnderWay() bool { return len(o.backlog) > 0 || !o.queue.empty() }

func (o *asyncs[T, U]) Process(_ int, b event.Batch) error {
	in := b.(*event.Records[T])
	in.Compact()
	o.backlog = append(o.backlog, waiting[T]{batch: in})
	return o.fill()
}

// Watermark implements operator.Operator.
func (o *asyncs[T, U]) Watermark(t int64) error { return o.mark(mark{kind: markWatermark, time: t}) }

// InputIdle implements operator.StatusHandler.
func (o *asyncs[T, U]) InputIdle(idle bool) error {
	if idle {
		return o.mark(mark{kind: markIdle})
	}
	return o.mark(mark{kind: markActive})
}

// mark keeps a mark behind the rows that came before it.
func (o *asyncs[T, U]) mark(m mark) error {
	o.backlog = append(o.backlog, waiting[T]{mark: m})
	return o.fill()
}

// fill starts rows of the backlog as far as there is room, and emits what can be.
func (o *asyncs[T, U]) fill() error {
	for len(o.backlog) > 0 {
		w := &o.backlog[0]
		if w.batch != nil {
			for w.next < len(w.batch.Rows) && o.rows < o.cfg.Capacity {
				o.begin(w.batch.Rows[w.next], w.batch.Times[w.next])
				w.next++
			}
			if w.next < len(w.batch.Rows) {
				return nil
			}
			w.batch.Release()
		} else {
			o.queue.close(w.mark)
		}
		o.backlog[0] = waiting[T]{}
		o.backlog = o.backlog[1:]
		if err := o.drain(); err != nil {
			return err
		}
	}
	o.backlog = nil
	return nil
}

// begin takes a row under way.
func (o *asyncs[T, U]) begin(v T, t int64) {
	r := &row[T, U]{value: v, time: t}
	o.queue.add(r)
	o.rows++
	if o.cfg.Timeout > 0 {
		r.timeout = o.ctx.Timers.At(o.ctx.Now()+o.cfg.Timeout.Milliseconds(), func(int64) error { return o.timedOut(r) })
	}
	o.call(r)
}

// call starts the next attempt of a row.
func (o *asyncs[T, U]) call(r *row[T, U]) {
	r.attempt++
	r.calling = true
	var ctx context.Context
	ctx, r.end = context.WithCancelCause(o.base)
	o.running.Add(1)
	go o.run(ctx, r, r.value, r.time)
}

// run makes one call. It runs on a goroutine of its own and touches nothing of the row but the memory for its result, which
// the task leaves alone while a call is under way.
func (o *asyncs[T, U]) run(ctx context.Context, r *row[T, U], v T, t int64) {
	a := answer[T, U]{row: r}
	returned := false
	defer func() {
		if p := recover(); p != nil {
			a.err = operator.RowError(o.ctx, p, nil, v, t)
		} else if !returned {
			a.err = operator.RowError(o.ctx, "the function ended its goroutine (runtime.Goexit)", nil, v, t)
		}
		o.running.Add(-1)
		o.mu.Lock()
		o.mu.answers = append(o.mu.answers, a)
		first := len(o.mu.answers) == 1
		o.mu.Unlock()
		if first {
			o.ctx.Mailbox.Post(o.collect)
		}
	}()
	a.results, a.err = o.cfg.Call(ctx, v, r.one[:0])
	returned = true
}

// collect takes the answers that have come. It runs on the task's goroutine.
func (o *asyncs[T, U]) collect() error {
	o.mu.Lock()
	answers := o.mu.answers
	o.mu.answers = nil
	o.mu.Unlock()
	if o.base.Err() != nil {
		return nil // the task is being cancelled, or has ended
	}
	for i := range answers {
		if err := o.answered(&answers[i]); err != nil {
			return err
		}
	}
	return o.settle()
}

// settle emits what can be and starts what there is room for.
func (o *asyncs[T, U]) settle() error {
	if err := o.drain(); err != nil {
		return err
	}
	return o.fill()
}

func (o *asyncs[T, U]) answered(a *answer[T, U]) error {
	r := a.row
	r.calling = false
	if r.done {
		return nil // it has timed out
	}
	r.end(nil)
	if a.err == nil {
		o.complete(r, a.results)
		return nil
	}
	var known *errs.Error
	if errors.As(a.err, &known) && known.Code == errs.CodeUserPanic {
		return a.err
	}
	r.err = a.err
	again, err := o.again(r)
	if err != nil {
		return err
	}
	if !again {
		return o.fail(r, a.err)
	}
	o.retries.Add(1)
	wait := time.Duration(0)
	if o.cfg.Backoff != nil {
		wait = max(0, o.cfg.Backoff(r.attempt))
	}
	r.retry = o.ctx.Timers.At(o.ctx.Now()+wait.Milliseconds(), func(int64) error {
		r.retry = nil
		o.call(r)
		return nil
	})
	return nil
}

// again asks whether a failed row is to have another attempt.
func (o *asyncs[T, U]) again(r *row[T, U]) (again bool, err error) {
	if r.attempt >= o.cfg.Attempts {
		return false, nil
	}
	if o.cfg.RetryIf == nil {
		return true, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = operator.RowError(o.ctx, p, nil, r.value, r.time)
		}
	}()
	return o.cfg.RetryIf(r.err), nil
}

// timedOut ends a row whose time is over.
func (o *asyncs[T, U]) timedOut(r *row[T, U]) error {
	r.timeout = nil
	r.end(ErrTimeout)
	o.timeouts.Add(1)
	if r.calling {
		o.abandoned.Add(1)
		if o.expired++; o.expired&(o.expired-1) == 0 {
			o.ctx.Log.Warn("a call has timed out and is abandoned", "timeout", o.cfg.Timeout, "so far", o.expired, "still running", o.running.Load())
		}
	}
	err := fmt.Errorf("%w after %v, in attempt %d", ErrTimeout, o.cfg.Timeout, r.attempt)
	if r.err != nil {
		err = fmt.Errorf("%w; the attempt before failed: %w", err, r.err)
	}
	if err := o.fail(r, err); err != nil {
		return err
	}
	return o.settle()
}

// fail ends a row that has failed for good.
func (o *asyncs[T, U]) fail(r *row[T, U], cause error) (err error) {
	if o.cfg.Fallback == nil {
		return o.failure(r, nil, cause)
	}
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failure(r, p, err)
		}
	}()
	results, err := o.cfg.Fallback(r.value, cause, nil)
	if err != nil {
		return err
	}
	o.complete(r, results)
	return nil
}

// failure names the operator and the row in an error. An attempt after others says so.
func (o *asyncs[T, U]) failure(r *row[T, U], p any, err error) error {
	if p == nil && r.attempt > 1 {
		err = fmt.Errorf("attempt %d: %w", r.attempt, err)
	}
	return operator.RowError(o.ctx, p, err, r.value, r.time)
}

// complete notes the results of a row.
func (o *asyncs[T, U]) complete(r *row[T, U], results []U) {
	r.done, r.results = true, results
	if r.timeout != nil {
		r.timeout()
		r.timeout = nil
	}
	if r.retry != nil {
		r.retry()
		r.retry = nil
	}
	r.seg.finished(r)
}

// drain emits the results and marks that nothing before them holds back.
func (o *asyncs[T, U]) drain() error {
	for {
		r, m := o.queue.next()
		switch {
		case r != nil:
			o.rows--
			for i := range r.results {
				if err := o.em.Emit(r.results[i], r.time); err != nil {
					return err
				}
			}
		case m.kind == markWatermark:
			if err := o.ctx.EmitWatermark(m.time); err != nil {
				return err
			}
		case m.kind != markNone:
			if err := o.em.Flush(); err != nil {
				return err
			}
			if err := o.ctx.EmitIdle(m.kind == markIdle); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// Flush implements operator.Flusher.
func (o *asyncs[T, U]) Flush() error { return o.em.Flush() }

// Finish implements operator.Finisher.
func (o *asyncs[T, U]) Finish() error {
	if o.UnderWay() {
		return errs.New(errs.CodeBug, errs.ClassBug, o.ctx.Place(), "the operator is finished with %d rows under way", o.rows)
	}
	return nil
}

func (o *asyncs[T, U]) Close() error {
	if o.stop == nil {
		return nil
	}
	o.stop()
	if n := o.running.Load(); n > 0 {
		o.abandoned.Add(n)
		o.ctx.Log.Warn("calls that have not returned are abandoned; their contexts have ended", "calls", n)
	}
	for _, w := range o.backlog {
		if w.batch != nil {
			w.batch.Release()
		}
	}
	o.backlog = nil
	o.em.Drop()
	return nil
}
