package task

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

// away is an operator with up to two rows under way, each of which takes 5 ms and comes back by a mail, or by a timer.
type away struct {
	probe
	byTimer bool
	rows    int
	most    int
	started int
}

func (a *away) Full() bool     { return a.rows >= 2 }
func (a *away) UnderWay() bool { return a.rows > 0 }

func (a *away) Process(input int, b event.Batch) error {
	a.rows++
	a.most = max(a.most, a.rows)
	back := func() error {
		a.rows--
		return a.probe.Process(input, b)
	}
	if a.byTimer {
		a.ctx.Timers.At(a.ctx.Now()+5, func(int64) error { return back() })
		return nil
	}
	a.started++
	delay := 5*time.Millisecond + time.Duration(a.started) // one after the other
	go func() {
		time.Sleep(delay)
		a.ctx.Mailbox.Post(back)
	}()
	return nil
}

// A task whose head is full takes no input, and it does not finish before everything has come back.
func TestRowsOutside(t *testing.T) {
	for _, byTimer := range []bool{false, true} {
		for _, timeout := range []time.Duration{0, 10 * time.Millisecond, -1} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.open(1)
				log := &transcript{}
				a := &away{probe: probe{name: "a", log: log}, byTimer: byTimer}
				r.build([]int{0}, []Op{{Name: "a", Make: made(a), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.BufferTimeout = timeout })
				r.send(0, "1 2 3 4 5 end")
				r.start()
				if err := r.wait(); err != nil {
					t.Fatal(err)
				}
				if a.most != 2 {
					t.Errorf("%d rows under way, want 2", a.most)
				}
				want := "a:open a:process0[1] a:process0[2] a:process0[3] a:process0[4] a:watermarkmax a:end0 a:process0[5] a:finish a:close"
				if got := log.String(); got != want {
					t.Errorf("by timer %t, buffer timeout %v:\n got %s\nwant %s", byTimer, timeout, got, want)
				}
				busy, idle, _ := r.task.Times()
				if busy.Truncate(time.Millisecond) != 15*time.Millisecond || idle != 0 {
					t.Errorf("busy for %v, idle for %v: rows outside are work", busy, idle)
				}
			})
		}
	}
}

func TestCancelWhileFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open(1)
		a := &away{rows: 2} // which never come back
		r.build([]int{0}, []Op{{Name: "a", Make: made(a), Outputs: []Output{r.edge("")}}}, nil)
		r.send(0, "1 end")
		r.start()
		synctest.Wait()
		r.task.Cancel()
		if err := r.wait(); !errors.Is(err, errs.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
