package task

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/operator"
)

// chainOf makes a task of two probes, the second of which does what do says; its producer has sent one of everything.
func chainOf(t testing.TB, do func(method string) error, change func(*Op)) (r *rig, a, b *probe) {
	r = newRig(t)
	r.open(1)
	a, b = &probe{name: "a"}, &probe{name: "b", do: do}
	second := Op{Name: "b", Make: made(b), Outputs: []Output{r.edge("")}}
	if change != nil {
		change(&second)
	}
	r.build([]int{0}, []Op{{Name: "a", Make: made(a), Next: []Next{{To: 1}}}, second}, nil)
	r.send(0, "1 w5 b1 2 end")
	return r, a, b
}

var methods = []string{"open", "process", "watermark", "snapshot", "flush", "end", "finish", "close"}

// Whatever method of an operator fails: the error names the operator, and every operator that was opened is closed once.
func TestFailures(t *testing.T) {
	for _, method := range methods {
		for _, how := range []string{"error", "panic", "engine error"} {
			t.Run(method+"/"+how, func(t *testing.T) {
				cause := errors.New("the disk is on fire")
				known := errs.New(errs.CodeSink, errs.ClassFailJob, "b", "no")
				r, a, b := chainOf(t, func(m string) error {
					switch {
					case m != method:
						return nil
					case how == "panic":
						panic(cause)
					case how == "error":
						return cause
					}
					return known
				}, nil)
				r.start()
				err := r.wait()
				switch how {
				case "panic":
					if errs.CodeOf(err) != errs.CodeUserPanic || !errors.Is(err, cause) || !strings.Contains(err.Error(), "b (1/1)") || !strings.Contains(err.Error(), "failure_test.go") {
						t.Errorf("the error of a panic does not tell enough: %v", err)
					}
				case "error":
					if !errors.Is(err, cause) || errs.CodeOf(err) == errs.CodeBug {
						t.Errorf("got %v, code %q", err, errs.CodeOf(err))
					}
				default:
					if !errors.Is(err, known) || errs.ClassOf(err) != errs.ClassFailJob {
						t.Errorf("got %v of class %v", err, errs.ClassOf(err))
					}
				}
				closes := 1
				if method == "open" {
					closes = 0 // consumers open first, so a was never opened
				}
				if a.closed != closes || b.closed != 1 {
					t.Errorf("a was closed %d times, b %d times", a.closed, b.closed)
				}
				if r.task.Post(func() error { return nil }) {
					t.Error("a task that has ended takes mails")
				}
			})
		}
	}
}

// User code that runs elsewhere than in a method of an operator.
func TestPanicsElsewhere(t *testing.T) {
	boom := func() { panic("boom") }
	cases := map[string]func(t *testing.T) *rig{
		"maker": func(t *testing.T) *rig {
			r, _, _ := chainOf(t, nil, func(op *Op) { op.Make = func() operator.Operator { boom(); return nil } })
			return r
		},
		"maker of a hasher": func(t *testing.T) *rig {
			r, _, _ := chainOf(t, nil, func(op *Op) { op.Outputs[0].Hash = func() operator.Hasher { boom(); return nil } })
			return r
		},
		"hasher": func(t *testing.T) *rig {
			r, _, _ := chainOf(t, nil, func(op *Op) {
				op.Outputs[0].Hash = func() operator.Hasher { return func(event.Batch) { boom() } }
			})
			return r
		},
		"chooser": func(t *testing.T) *rig {
			r, _, _ := chainOf(t, nil, nil)
			in := r.inbox("consumer", 2, 4)
			out := exchange.NewOutput("edge", exchange.Custom(func(event.Batch, []int32) error { boom(); return nil }),
				[]exchange.Sender{in.Sender(0, r.in), in.Sender(1, r.in)})
			r.build([]int{0}, []Op{{Name: "b", Make: made(&probe{}), Outputs: []Output{{To: out}}}}, nil)
			return r
		},
		"timer": func(t *testing.T) *rig {
			var b *probe
			var r *rig
			r, _, b = chainOf(t, func(m string) error {
				if m == "open" {
					b.ctx.Timers.At(0, func(int64) error { boom(); return nil })
				}
				return nil
			}, nil)
			return r
		},
		"mail": func(t *testing.T) *rig {
			var b *probe
			var r *rig
			r, _, b = chainOf(t, func(m string) error {
				if m == "open" {
					b.ctx.Mailbox.Post(func() error { boom(); return nil })
				}
				return nil
			}, nil)
			return r
		},
		"wait of a source": func(t *testing.T) *rig {
			r := newRig(t)
			r.open(0)
			s := &reader{await: func(context.Context) error { boom(); return nil },
				step: func() (operator.SourceStatus, error) { return operator.SourceWaiting, nil }}
			r.build(nil, []Op{{Name: "b", Make: made(s)}}, nil)
			return r
		},
		"step of a source": func(t *testing.T) *rig {
			r := newRig(t)
			r.open(0)
			s := &reader{step: func() (operator.SourceStatus, error) { boom(); return 0, nil }}
			r.build(nil, []Op{{Name: "b", Make: made(s)}}, nil)
			return r
		},
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			r := make(t)
			r.start()
			err := r.wait()
			if errs.CodeOf(err) != errs.CodeUserPanic || !strings.Contains(err.Error(), "b (1/1)") || !strings.Contains(err.Error(), "boom") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Cancel ends a task wherever it is, and what user code returns because of it is no failure.
func TestCancelAtEveryMoment(t *testing.T) {
	interrupted := errors.New("use of a closed connection")
	until := func(p *probe, method string) func(string) error {
		return func(m string) error {
			if m != method {
				return nil
			}
			<-p.ctx.Ctx.Done()
			return interrupted
		}
	}
	cases := map[string]func(t *testing.T) *rig{
		"waiting for input": func(t *testing.T) *rig {
			r := newRig(t)
			r.open(1)
			r.build([]int{0}, []Op{{Name: "p", Make: made(&probe{})}}, nil)
			return r
		},
		"in a wait of a source": func(t *testing.T) *rig {
			r := newRig(t)
			r.open(0)
			s := &reader{step: func() (operator.SourceStatus, error) { return operator.SourceWaiting, nil }}
			r.build(nil, []Op{{Name: "p", Make: made(s)}}, nil)
			return r
		},
		"a source without splits": func(t *testing.T) *rig {
			r := newRig(t)
			r.open(0)
			s := &reader{step: func() (operator.SourceStatus, error) { return operator.SourceBlocked, nil }}
			r.build(nil, []Op{{Name: "p", Make: made(s)}}, nil)
			return r
		},
		"waiting for room": func(t *testing.T) *rig {
			r := newRig(t)
			r.room = 1
			r.open(1)
			r.build([]int{0}, []Op{{Name: "p", Make: made(&probe{}), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.BufferTimeout = 0 })
			r.send(0, "1 2 3 end")
			return r
		},
		"in a send": func(t *testing.T) *rig {
			r := newRig(t)
			r.room = 1
			r.open(1)
			p := &probe{}
			p.do = func(m string) error {
				for m == "process" {
					b := r.pool.Get()
					for b.Room() > 0 {
						b.Append(1, 1)
					}
					if err := p.out.Emit(b); err != nil {
						return err
					}
				}
				return nil
			}
			r.build([]int{0}, []Op{{Name: "p", Make: made(p), Outputs: []Output{r.edge("")}}}, nil)
			r.send(0, "1 end")
			return r
		},
	}
	for _, method := range methods[:len(methods)-1] {
		cases["in "+method] = func(t *testing.T) *rig {
			r, _, b := chainOf(t, nil, nil)
			b.do = until(b, method)
			return r
		}
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := make(t)
				r.start()
				synctest.Wait() // it has got as far as it can
				select {
				case err := <-r.done:
					t.Fatalf("it has ended by itself: %v", err)
				default:
				}
				r.task.Cancel()
				synctest.Wait()
				select {
				case err := <-r.done:
					if !errs.IsCanceled(err) {
						t.Errorf("got %v", err)
					}
				default:
					t.Error("it has not ended")
				}
				r.task.Cancel() // afterwards too
			})
		})
	}
}

func TestCancelBeforeRun(t *testing.T) {
	r, a, b := chainOf(t, nil, nil)
	r.task.Cancel()
	r.start()
	if err := r.wait(); !errs.IsCanceled(err) {
		t.Errorf("got %v", err)
	}
	if a.ctx != nil || b.ctx != nil {
		t.Error("a cancelled task opens its operators")
	}
}

// The last rows may leave in Close, so its context lives as long as nobody has asked for the end.
func TestContextInClose(t *testing.T) {
	for _, fail := range []bool{false, true} {
		var at error
		r, a, b := chainOf(t, nil, nil)
		a.do = func(m string) error {
			if m == "finish" && fail {
				return errors.New("no")
			}
			return nil
		}
		b.do = func(m string) error {
			if m == "close" {
				at = b.ctx.Ctx.Err()
			}
			return nil
		}
		r.start()
		err := r.wait()
		if (err != nil) != fail || (at != nil) != fail {
			t.Errorf("failing %v: ended with %v, and the context was %v in Close", fail, err, at)
		}
		if b.ctx.Ctx.Err() == nil {
			t.Error("the context outlives the task")
		}
	}
}

// A failing consumer ends its producer without making a second failure of it.
func TestConsumerGone(t *testing.T) {
	r, _, _ := chainOf(t, nil, nil)
	_ = r.outs[0].Close()
	r.start()
	if err := r.wait(); !errs.IsCanceled(err) {
		t.Errorf("got %v", err)
	}
}

// A mail's error fails the task.
func TestMailFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.open(1)
		r.build([]int{0}, []Op{{Name: "p", Make: made(&probe{})}}, nil)
		r.start()
		synctest.Wait()
		cause := errors.New("no")
		r.task.Post(func() error { return cause })
		if err := r.wait(); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	})
}
