package weirtest

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
)

// Start is the instant at which processing time begins in every test, as in a bubble of testing/synctest.
var Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Driver runs the operators of a harness on the test's goroutine. It belongs to that goroutine.
//
// What fails fails the test at once; Catch is for tests that want to see the error.
type Driver struct {
	t     testing.TB
	job   *app.ByHand
	clk   *clock.Virtual
	now   bool // each row is handed over when it is pushed
	sides map[string][]event.Batch
	err   error // what ended the job
	catch bool
	last  any // the input of a Harness2 that was fed last
	done  bool
}

// Driven is a Harness or a Harness2.
type Driven interface{ driver() *Driver }

func (d *Driver) driver() *Driver { return d }

// start makes the operators of the job that env describes.
func (d *Driver) start(env *weir.Env, o *options) {
	d.t.Helper()
	d.clk = clock.NewVirtual(o.start())
	hand := app.HandOptions{OnSide: d.onSide}
	if o.from != nil {
		hand.From = o.from.taken
	}
	d.sides = map[string][]event.Batch{}
	_, err := env.Execute(app.WithRunner(context.Background(), func(_ context.Context, w app.World, plan *app.Plan) (*app.Result, error) {
		w.Clock, w.Log = d.clk, logger(d.t)
		var err error
		d.job, err = app.NewByHand(w, plan, hand)
		return nil, err
	}))
	if err != nil {
		d.t.Fatalf("weirtest: the job cannot be run: %v", err)
	}
	d.t.Cleanup(func() { _ = d.job.Close(nil) })
	d.settle()
}

// logger logs what is wrong to the test's output.
func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// onSide keeps a copy of what goes to a side output.
func (d *Driver) onSide(_ int, name string, b event.Batch) {
	c := b.New()
	b.CopyTo(c, nil)
	d.sides[name] = append(d.sides[name], c)
}

// settle lets everything happen that can happen now.
func (d *Driver) settle() {
	d.t.Helper()
	if d.done {
		return
	}
	d.check(d.job.Settle())
	d.close()
}

// close closes the operators of a job that has come to its end.
func (d *Driver) close() {
	d.t.Helper()
	if d.job.Done() {
		d.done = true
		d.check(d.job.Close(nil))
	}
}

// Await waits until no asynchronous call is under way, so that the results are in the output. It waits in real time, during
// which the processing time stands still.
func (d *Driver) Await() {
	d.t.Helper()
	if d.done {
		return
	}
	d.check(d.job.Await())
	d.close()
}

// caught carries an error up to Catch.
type caught struct{ err error }

func (d *Driver) check(err error) {
	d.t.Helper()
	if err == nil {
		return
	}
	d.err, d.done = d.job.Close(err), true
	if d.catch {
		panic(caught{d.err})
	}
	d.t.Fatalf("weirtest: the job has failed: %v", d.err)
}

// Catch runs f, which uses the harness, and returns the error that the job fails with meanwhile, or nil. The rest of f does
// not run then. A job that has failed does nothing any more.
func (d *Driver) Catch(f func()) (err error) {
	defer func(before bool) {
		d.catch = before
		if p := recover(); p != nil {
			c, ok := p.(caught)
			if !ok {
				panic(p)
			}
			err = c.err
		}
	}(d.catch)
	d.catch = true
	f()
	d.settle()
	return nil
}

// Now returns the processing time. It begins at Start.
func (d *Driver) Now() time.Time { return d.clk.Now().UTC() }

// AdvanceProcessingTime lets by go by, and fires the timers that come due on the way, in order, each at its time.
func (d *Driver) AdvanceProcessingTime(by time.Duration) {
	d.t.Helper()
	d.settle()
	end := d.clk.Now().Add(by)
	for {
		at, ok := d.job.NextTimer()
		due := time.UnixMilli(at)
		if !ok || due.After(end) || d.done {
			break
		}
		d.clk.AdvanceTo(due) // not at all if it is due already
		d.settle()
	}
	d.clk.AdvanceTo(end)
	d.settle()
}

// NextTimer returns when something is due by processing time, such as a timer or the end of a window; false if nothing is.
func (d *Driver) NextTimer() (time.Time, bool) {
	d.t.Helper()
	d.settle()
	at, ok := d.job.NextTimer()
	return time.UnixMilli(at).UTC(), ok
}

// Timers returns how many timers process functions have registered that have not fired, over all keys: those of event time
// and those of processing time. Windows' own are not among them.
func (d *Driver) Timers() (event, processing int) {
	d.t.Helper()
	d.settle()
	return d.job.PendingTimers()
}

// Late returns how many rows were dropped because they were late, over all operators. Rows for a side output are not among
// them.
func (d *Driver) Late() int64 {
	d.t.Helper()
	d.settle()
	n := int64(0)
	for _, f := range d.job.Result().Operators {
		n += f.Late
	}
	return n
}

// Counter returns the value of a counter of user functions, over all operators.
func (d *Driver) Counter(name string) int64 {
	d.t.Helper()
	d.settle()
	n := int64(0)
	for _, f := range d.job.Result().Operators {
		n += f.Counters[name]
	}
	return n
}

// Side returns what has gone to a side output since the last call, by whichever operator, whether the job reads it or not.
func Side[U any](h Driven, tag weir.Tag[U]) []U {
	h.driver().t.Helper()
	return values(SideRows(h, tag))
}

// SideRows is Side with the rows' event times.
func SideRows[U any](h Driven, tag weir.Tag[U]) []Row[U] {
	d := h.driver()
	d.t.Helper()
	d.settle()
	var out []Row[U]
	for _, b := range d.sides[tag.Name()] {
		r, ok := b.(*event.Records[U])
		if !ok {
			d.t.Fatalf("weirtest: side output %q has other rows than its tag: %T", tag.Name(), b)
			return nil
		}
		for i, v := range r.Rows {
			out = append(out, rowAt(v, r.Times[i]))
		}
		r.Release()
	}
	delete(d.sides, tag.Name())
	return slices.Clip(out)
}
