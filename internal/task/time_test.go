package task

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
)

// counting counts the readings of a clock, which every waking of a task begins with.
type counting struct {
	clock.Real
	n atomic.Int64
}

func (c *counting) Now() time.Time {
	c.n.Add(1)
	return c.Real.Now()
}

// A row is flushed at once when the input runs dry, and at the latest after the buffer timeout when it does not. Each row
// takes 3 ms here and the queue is full, so with a timeout of 10 ms every fourth row ends a batch.
func TestBufferTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]string{
		10 * time.Millisecond: "[0,1,2,3] [4,5,6,7] [8,9] wmax end",
		0:                     "[0] [1] [2] [3] [4] [5] [6] [7] [8] [9] wmax end",
		-1:                    "[0,1,2,3,4,5,6,7,8,9] wmax end",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.open(1)
			p := &probe{do: func(method string) error {
				if method == "process" {
					time.Sleep(3 * time.Millisecond)
				}
				return nil
			}}
			r.build([]int{0}, []Op{{Name: "p", Make: made(p), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.BufferTimeout = timeout })
			r.send(0, "0 1 2 3 4 5 6 7 8 9 end")
			r.start()
			if err := r.wait(); err != nil {
				t.Fatal(err)
			}
			if got := r.got(0); got != want {
				t.Errorf("timeout %v:\n got %s\nwant %s", timeout, got, want)
			}
		})
	}
}

func TestInputRunsDry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open(1)
		r.build([]int{0}, []Op{{Name: "p", Make: made(&probe{}), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.BufferTimeout = time.Hour })
		r.start()
		for _, row := range []string{"1", "2"} {
			r.send(0, row)
			synctest.Wait()
			if got := r.got(0); got != "["+row+"]" {
				t.Errorf("after row %s the consumer has %q", row, got)
			}
		}
		r.send(0, "end")
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// A task without anything to do does not wake.
func TestIdleTaskSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := &counting{}
		r := newRig(t)
		r.clk = clk
		r.open(1)
		r.build([]int{0}, []Op{{Name: "p", Make: made(&probe{}), Outputs: []Output{r.edge("")}}}, nil)
		r.send(0, "1 w5")
		r.start()
		synctest.Wait()
		before := clk.n.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := clk.n.Load() - before; n != 0 {
			t.Errorf("an idle task has read the clock %d times in an hour", n)
		}
		r.send(0, "end")
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// A source that waits for data does not wake either, and reads on when Wait returns.
func TestWaitingSourceSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := &counting{}
		r := newRig(t)
		r.clk = clk
		r.open(0)
		news := make(chan int)
		have := 0
		s := &reader{await: func(ctx context.Context) error {
			select {
			case n := <-news:
				have = n
			case <-ctx.Done():
			}
			return nil
		}}
		s.step = func() (operator.SourceStatus, error) {
			if have == 0 {
				return operator.SourceWaiting, nil
			}
			if have < 0 {
				return operator.SourceFinished, nil
			}
			b := r.event("7").Batch
			add(&s.ctx.Counts.RowsIn, int64(have))
			have = 0
			return operator.SourceReady, s.out.Emit(b)
		}
		r.build(nil, []Op{{Name: "s", Make: made(s), Outputs: []Output{r.edge("")}}}, nil)
		r.start()
		for range 3 {
			synctest.Wait()
			before := clk.n.Load()
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := clk.n.Load() - before; n != 0 {
				t.Errorf("a waiting source has read the clock %d times in an hour", n)
			}
			news <- 1
			synctest.Wait()
			if got := r.got(0); got != "[7]" {
				t.Errorf("the consumer has %q", got)
			}
		}
		news <- -1
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// A task whose consumer takes nothing serves its mails and timers all the same, whether it reads inputs or is a source.
func TestBackpressureLeavesMailsAndTimers(t *testing.T) {
	shapes := map[string]func(r *rig) *probe{
		"inputs": func(r *rig) *probe {
			r.open(1)
			p := &probe{name: "p"}
			r.build([]int{0}, []Op{{Name: "p", Make: made(p), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.BufferTimeout = 0 })
			r.send(0, "1 2 3 4 5 6 7 8 9 end")
			return p
		},
		"source": func(r *rig) *probe {
			r.open(0)
			s := &reader{probe: probe{name: "p"}}
			s.step = func() (operator.SourceStatus, error) {
				add(&s.ctx.Counts.RowsIn, 1)
				if s.ctx.Counts.RowsIn.Load() == 10 {
					return operator.SourceFinished, nil
				}
				return operator.SourceReady, s.out.Emit(r.event("1").Batch)
			}
			r.build(nil, []Op{{Name: "p", Make: made(s), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.BufferTimeout = 0 })
			return &s.probe
		},
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &transcript{}
				r := newRig(t)
				r.room = 3
				p := shape(r)
				began := time.Now()
				p.do = func(method string) error {
					if method == "open" {
						p.ctx.Timers.At(began.Add(time.Minute).UnixMilli(), func(now int64) error {
							log.add("timer@%v now@%v", time.Since(began), time.UnixMilli(p.ctx.Now()).Sub(began))
							return nil
						})
					}
					return nil
				}
				r.start()
				synctest.Wait()
				if !p.ctx.Mailbox.Post(func() error { log.add("mail@%v", time.Since(began)); return nil }) {
					t.Error("the mail was refused")
				}
				synctest.Wait()
				if log.String() != "mail@0s" {
					t.Errorf("behind backpressure: %q", log)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if want := "mail@0s timer@1m0s now@1m0s"; log.String() != want {
					t.Errorf("got %q, want %q", log, want)
				}
				busy, idle, back := r.task.Times()
				if busy != 0 || idle != 0 || back != 2*time.Minute {
					t.Errorf("busy %v, idle %v, backpressured %v", busy, idle, back)
				}
				var rows int
				for done := false; !done; {
					synctest.Wait()
					got := r.got(0)
					rows += strings.Count(got, "[")
					done = strings.HasSuffix(got, "end")
				}
				if rows != 9 {
					t.Errorf("%d rows came, want 9", rows)
				}
				if err := r.wait(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// The three times add up to how long the task ran.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.room = 1
		r.open(1)
		p := &probe{do: func(method string) error {
			if method == "process" {
				time.Sleep(2 * time.Second)
			}
			return nil
		}}
		r.build([]int{0}, []Op{{Name: "p", Make: made(p), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.BufferTimeout = 0 })
		if b, i, p := r.task.Times(); b+i+p != 0 {
			t.Error("a task that has not begun has spent time")
		}
		r.start()
		time.Sleep(5 * time.Second) // idle
		r.send(0, "1 2 end")
		time.Sleep(10 * time.Second) // 2 s for row 1, then no room for the second one
		r.got(0)
		synctest.Wait()
		time.Sleep(3 * time.Second) // 2 s for row 2, and 1 s without room for what ends it
		r.got(0)
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		busy, idle, back := r.task.Times()
		if busy != 4*time.Second || idle != 5*time.Second || back != 9*time.Second {
			t.Errorf("busy %v, idle %v, backpressured %v; want 4s, 5s, 9s", busy, idle, back)
		}
		time.Sleep(time.Hour)
		if b, i, p := r.task.Times(); b+i+p != 18*time.Second {
			t.Errorf("the times of a task that has ended go on: %v", b+i+p)
		}
	})
}

// The processing time that an operator sees is that of the batch, not that of the moment at which the task fell asleep.
func TestNowAfterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open(1)
		p := &probe{}
		var late time.Duration
		p.do = func(method string) error {
			if method == "process" {
				late = time.Since(time.UnixMilli(p.ctx.Now()))
			}
			return nil
		}
		r.build([]int{0}, []Op{{Name: "p", Make: made(p)}}, nil)
		r.start()
		synctest.Wait()
		time.Sleep(time.Hour)
		r.send(0, "1 end")
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		if late != 0 {
			t.Errorf("the clock of a batch is %v behind", late)
		}
	})
}

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &transcript{}
		r := newRig(t)
		r.open(1)
		p := &probe{}
		began := time.Now()
		at := func(d time.Duration) int64 { return began.Add(d).UnixMilli() }
		p.do = func(method string) error {
			if method != "open" {
				return nil
			}
			note := func(s string) func(int64) error { return func(int64) error { log.add("%s", s); return nil } }
			p.ctx.Timers.At(at(2*time.Second), note("second"))
			p.ctx.Timers.At(at(time.Second), note("first"))
			p.ctx.Timers.At(at(2*time.Second), note("third")) // equal times fire in the order of setting
			cancel := p.ctx.Timers.At(at(time.Second), note("never"))
			cancel()
			cancel() // twice is once
			p.ctx.Timers.At(at(3*time.Second), func(now int64) error {
				p.ctx.Timers.At(now-1, note("past"))
				log.add("fourth")
				b := r.event("9").Batch
				return p.out.Emit(b)
			})
			p.ctx.Timers.At(event.MaxTime, note("never"))
			return nil
		}
		r.build([]int{0}, []Op{{Name: "p", Make: made(p), Outputs: []Output{r.edge("")}}}, nil)
		r.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := "first second third fourth past"; log.String() != want {
			t.Errorf("got %q, want %q", log, want)
		}
		if got := r.got(0); got != "[9]" {
			t.Errorf("the row of a timer is not flushed: %q", got)
		}
		r.send(0, "end")
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
	})
}
