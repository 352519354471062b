package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/state"
)

// hooks is a keyed function made of closures; nil ones do nothing.
type hooks struct {
	open    func(ctx *weir.KeyedContext[int]) error
	process func(ctx *weir.KeyedContext[int], row int, out weir.Out[string]) error
	timer   func(ctx *weir.KeyedContext[int], t weir.Timer, out weir.Out[string]) error
	close   func() error
}

func (h *hooks) Open(ctx *weir.KeyedContext[int]) error {
	if h.open == nil {
		return nil
	}
	return h.open(ctx)
}

func (h *hooks) Process(ctx *weir.KeyedContext[int], row int, out weir.Out[string]) error {
	if h.process == nil {
		return nil
	}
	return h.process(ctx, row, out)
}

func (h *hooks) OnTimer(ctx *weir.KeyedContext[int], t weir.Timer, out weir.Out[string]) error {
	if h.timer == nil {
		return nil
	}
	return h.timer(ctx, t, out)
}

func (h *hooks) Close() error {
	if h.close == nil {
		return nil
	}
	return h.close()
}

// hooked returns a harness around a keyed process of ints by their last digit, and a function that feeds it.
func hooked(f *hooks) (*optest.Harness, func(rows ...int) error) {
	env := weir.NewEnv("hooks")
	keyed := weir.From(env, "rows", slice.Of[int]()).KeyBy(func(n int) int { return n % 10 })
	h := optest.New(weir.OperatorOf(keyed.Process("hooks", func() weir.KeyedProcess[int, int, string] { return f })))
	return h, func(rows ...int) error {
		var at []optest.Row[int]
		for _, n := range rows {
			at = append(at, optest.At(n, int64(n)))
		}
		return optest.Feed(h, 0, weir.HasherOf(keyed), at...)
	}
}

func TestFailuresNameThePlace(t *testing.T) {
	register := func(ctx *weir.KeyedContext[int], row int, _ weir.Out[string]) error {
		ctx.RegisterEventTimer(time.UnixMilli(50))
		ctx.RegisterProcessingTimer(time.UnixMilli(60))
		return nil
	}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		f    hooks
		want []string
	}{
		"Open fails":     {hooks{open: func(*weir.KeyedContext[int]) error { return boom }}, []string{"in Open", "boom"}},
		"Open panics":    {hooks{open: func(*weir.KeyedContext[int]) error { panic("boom") }}, []string{"panic: boom", "in Open"}},
		"Close fails":    {hooks{close: func() error { return boom }}, []string{"in Close", "boom"}},
		"Close panics":   {hooks{close: func() error { panic("boom") }}, []string{"panic: boom", "in Close"}},
		"Process fails":  {hooks{process: func(*weir.KeyedContext[int], int, weir.Out[string]) error { return boom }}, []string{"at row 37, event time 37 ms", "boom"}},
		"Process panics": {hooks{process: func(*weir.KeyedContext[int], int, weir.Out[string]) error { panic("boom") }}, []string{"panic: boom", "at row 37, event time 37 ms"}},
		"timer fails": {hooks{process: register, timer: func(*weir.KeyedContext[int], weir.Timer, weir.Out[string]) error { return boom }},
			[]string{"at the event-time timer 1970-01-01T00:00:00.05Z (50 ms) of key 7", "boom"}},
		"timer panics": {hooks{process: register, timer: func(_ *weir.KeyedContext[int], t weir.Timer, _ weir.Out[string]) error {
			if t.Processing {
				panic("boom")
			}
			return nil
		}}, []string{"panic: boom", "at the processing-time timer 1970-01-01T00:00:00.06Z (60 ms) of key 7"}},
		"state of a type without encoding": {hooks{open: func(ctx *weir.KeyedContext[int]) error {
			ctx.State(state.ValueOf[func()]("f")).Set(nil) // the panic is not what matters
			return nil
		}}, []string{"the state cannot be opened", "func"}},
		"two types under one name": {hooks{open: func(ctx *weir.KeyedContext[int]) error {
			ctx.State(state.ValueOf[int64]("n"))
			ctx.State(state.ValueOf[float64]("n"))
			return nil
		}}, []string{"state n", "different types"}},
		"state without a key": {hooks{open: func(ctx *weir.KeyedContext[int]) error {
			ctx.State(state.ValueOf[int64]("n")).Set(1)
			return nil
		}}, []string{"state n", "no key", "in Open"}},
		"key without a key":   {hooks{open: func(ctx *weir.KeyedContext[int]) error { ctx.Key(); return nil }}, []string{"no key at work"}},
		"timer without a key": {hooks{open: func(ctx *weir.KeyedContext[int]) error { ctx.RegisterEventTimer(time.Now()); return nil }}, []string{"no key"}},
		"changed in a loop": {hooks{process: func(ctx *weir.KeyedContext[int], _ int, _ weir.Out[string]) error {
			l := ctx.State(state.ListOf[int64]("l"))
			l.Add(1, 2)
			for range l.All() {
				l.Clear()
			}
			return nil
		}}, []string{"state l is changed inside a loop over it", "at row 37"}},
		"one tag, two types": {hooks{process: func(ctx *weir.KeyedContext[int], _ int, _ weir.Out[string]) error {
			ctx.Side(weir.NewTag[int]("x"), 1)
			ctx.Side(weir.NewTag[string]("x"), "1")
			return nil
		}}, []string{`side output "x"`, "at row 37"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, feed := hooked(&c.f)
			err := h.Open()
			for _, step := range []func() error{
				func() error { return feed(37) },
				func() error { return h.Watermark(100) },
				func() error { return h.Advance(100) },
			} {
				if err == nil {
					err = step()
				}
			}
			if cerr := h.Op.Close(); err == nil {
				err = cerr
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(c.want, "op (1/1)") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q: %v", want, err)
				}
			}
			must(t, h.Op.Close())
		})
	}
}

func TestUserPanicsFailTheJob(t *testing.T) {
	nine := func(n int) int {
		if n == 9 {
			panic("nine")
		}
		return n
	}
	key := func(n int) int { return n % 3 }
	for name, build := range map[string]func(s weir.Stream[int]) weir.Stream[int]{
		"key": func(s weir.Stream[int]) weir.Stream[int] {
			return s.KeyBy(nine).Reduce("op", func(a, b int) int { return a })
		},
		"reduce": func(s weir.Stream[int]) weir.Stream[int] {
			return s.KeyBy(key).Reduce("op", func(_, b int) int { return nine(b) })
		},
		"by":    func(s weir.Stream[int]) weir.Stream[int] { return s.KeyBy(key).MaxBy("op", nine) },
		"coMap": func(s weir.Stream[int]) weir.Stream[int] { return s.Connect(s).Map(nine, key) },
		"rich map": func(s weir.Stream[int]) weir.Stream[int] {
			return s.RichMap(func() weir.Mapper[int, int] { return richMap(nine) })
		},
		"each": func(s weir.Stream[int]) weir.Stream[int] {
			return s.ProcessEach("op", func(_ *weir.Context, n int, out weir.Out[int]) error { out.Emit(nine(n)); return nil })
		},
		"broadcast": func(s weir.Stream[int]) weir.Stream[int] {
			return s.ConnectBroadcast(s).Process("op", func() weir.BroadcastProcess[int, int, int] { return richMap(nine) })
		},
	} {
		env := weir.NewEnv("panics").Parallelism(2)
		s := build(weir.From(env, "rows", slice.Of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)))
		var err error
		for _, e := range s.CollectErr(context.Background()) {
			err = e
		}
		if errs.CodeOf(err) != errs.CodeUserPanic && !strings.Contains(fmt.Sprint(err), "user.panic") || !strings.Contains(err.Error(), "nine") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type richMap func(int) int

func (f richMap) Map(_ *weir.Context, n int) (int, error) { return f(n), nil }
func (f richMap) Process(_ *weir.BroadcastReader, n int, out weir.Out[int]) error {
	out.Emit(n)
	return nil
}
func (f richMap) ProcessBroadcast(_ *weir.BroadcastContext, n int, out weir.Out[int]) error {
	f(n)
	return nil
}

// misspelled has methods that look like optional ones.
type misspelled struct{}

func (misspelled) Open(*weir.Context) error                                        { return nil }
func (misspelled) OnTimer(*weir.KeyedContext[int], time.Time, weir.Out[int]) error { return nil }
func (misspelled) Process(_ *weir.KeyedContext[int], _ int, _ weir.Out[int]) error { return nil }

func TestPlansAreRefused(t *testing.T) {
	env := weir.NewEnv("refused")
	s := weir.From(env, "rows", slice.Of(1))
	k := s.KeyBy(func(n int) int { return n })
	k.Process("misspelled", func() weir.KeyedProcess[int, int, int] { return misspelled{} }).Gather()
	k.Process("nil", func() weir.KeyedProcess[int, int, int] { return nil }).Gather()
	k.Process("nil make", (func() weir.KeyedProcess[int, int, int])(nil)).Gather()
	k.Process("panics", func() weir.KeyedProcess[int, int, int] { panic("early") }).Gather()
	k.Process("", func() weir.KeyedProcess[int, int, int] { return keyedNothing{} }).Gather()
	k.Aggregate("no result", weir.Aggregation[int, int, int]{Add: func(*int, int) {}}).Gather()
	k.Aggregate("no encoding", weir.Aggregation[int, chan int, int]{Add: func(*chan int, int) {}, Result: func(*chan int) int { return 0 }}).Gather()
	k.Filter(func(int) bool { return true }).RichMap((func() weir.Mapper[int, int])(nil)).Gather()
	_, err := env.Explain()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"method Open of weir_test.misspelled", "func(*weir.KeyedContext[int]) error", "method OnTimer of", "makes nil",
		"the function passed to Process is nil", `making the function of "panics" panicked: early`, "keeps state but has no name", "has no Result function",
		`aggregate "no encoding" cannot keep chan int`, "the function passed to RichMap is nil", "process_failure_test.go:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

type keyedNothing struct{}

func (keyedNothing) Process(*weir.KeyedContext[int], int, weir.Out[int]) error { return nil }

func TestTimesAndTimers(t *testing.T) {
	var seen []string
	f := &hooks{}
	f.process = func(ctx *weir.KeyedContext[int], row int, out weir.Out[string]) error {
		ts, ok := ctx.Timestamp()
		wm, has := ctx.Watermark()
		seen = append(seen, fmt.Sprint("row ", row, " ", ts.UnixMilli(), ok, " ", has && wm.UnixMilli() == 10))
		ctx.RegisterEventTimer(time.UnixMilli(int64(row) + 5))
		ctx.RegisterEventTimer(time.UnixMilli(int64(row) + 5)) // the same one
		ctx.RegisterEventTimer(time.UnixMilli(math.MaxInt64))
		ctx.RegisterProcessingTimer(time.UnixMilli(1000))
		out.Emit("row")
		return nil
	}
	f.timer = func(ctx *weir.KeyedContext[int], timer weir.Timer, out weir.Out[string]) error {
		ts, ok := ctx.Timestamp()
		wm, _ := ctx.Watermark()
		seen = append(seen, fmt.Sprint("timer ", timer.Time.UnixMilli(), timer.Processing, " key ", ctx.Key(), " ", ok && ts.Equal(timer.Time), " wm ", wm.UnixMilli()))
		if timer.Time.UnixMilli() == 6 {
			ctx.RegisterEventTimer(time.UnixMilli(8))  // due: fires in the same pass
			ctx.RegisterEventTimer(time.UnixMilli(11)) // not yet
			ctx.DeleteEventTimer(time.UnixMilli(9))
			ctx.DeleteEventTimer(time.UnixMilli(12345)) // none
		}
		out.Emit("timer")
		return nil
	}
	h, feed := hooked(f)
	must(t, h.Open())
	must(t, feed(1, 21))
	must(t, h.Watermark(5))
	must(t, h.Watermark(10))
	must(t, feed(3)) // its timer at 8 is due, and waits for the next watermark
	want := []string{"row 1 1 true false", "row 21 21 true false", "timer 6 false key 1 true wm 10", "timer 8 false key 1 true wm 10", "row 3 3 true true"}
	if !slices.Equal(seen, want) {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
	rows := optest.Take[string](h)
	if want := []optest.Row[string]{optest.At("row", 1), optest.At("row", 21), optest.At("timer", 6), optest.At("timer", 8), optest.At("row", 3)}; !slices.Equal(rows, want) {
		t.Errorf("got  %v\nwant %v", rows, want)
	}
	seen = nil
	must(t, h.Advance(999))
	must(t, h.Watermark(11))
	must(t, h.Advance(1000))
	want = []string{"timer 8 false key 3 true wm 11", "timer 11 false key 1 true wm 11", "timer 1000 true key 1 false wm 11", "timer 1000 true key 3 false wm 11"}
	slices.Sort(seen[2:])
	if !slices.Equal(seen, want) {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
	if rows := optest.Take[string](h); rows[3] != optest.At("timer", event.NoTime) {
		t.Errorf("a row of a processing-time timer has a time: %v", rows)
	}
	seen = nil
	must(t, feed(2)) // leaves a processing-time timer that never fires: it is at 1000, overdue, and the input ends
	must(t, h.End(1))
	end := fmt.Sprint("true wm ", int64(math.MaxInt64))
	want = []string{"row 2 2 true false", "timer 7 false key 2 " + end, "timer 26 false key 1 " + end}
	for _, k := range []int{1, 2, 3} {
		want = append(want, fmt.Sprint("timer ", int64(math.MaxInt64), " false key ", k, " ", end))
	}
	slices.Sort(seen)
	slices.Sort(want)
	if !slices.Equal(seen, want) {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
}

func TestTimersWithoutEndCanBeCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	fired := 0
	f := &hooks{process: func(ctx *weir.KeyedContext[int], row int, out weir.Out[string]) error {
		ctx.RegisterEventTimer(time.UnixMilli(0))
		return nil
	}}
	f.timer = func(ctx *weir.KeyedContext[int], timer weir.Timer, out weir.Out[string]) error {
		if fired++; fired == 5000 {
			cancel()
		}
		ctx.RegisterEventTimer(timer.Time.Add(time.Hour)) // for ever, when the input ends
		return nil
	}
	h, feed := hooked(f)
	h.Context.Ctx = ctx
	must(t, h.Open())
	must(t, feed(1))
	if err := h.Watermark(event.MaxTime); !errs.IsCanceled(err) {
		t.Errorf("got %v", err)
	}
	must(t, h.Op.Close())
}

func TestEachSubtaskHasItsInstance(t *testing.T) {
	env := weir.NewEnv("instances").Parallelism(3)
	s := weir.From(env, "rows", slice.Of(1, 2, 3, 4, 5, 6, 7, 8, 9)).Rebalance().RichMap(func() weir.Mapper[int, string] { return &counting{} }).Name("rich")
	late := weir.NewTag[int]("odd")
	odd := s.Side(late).Gather()
	main := s.Gather()
	r, err := env.Execute(context.Background())
	must(t, err)
	if rows := main.Rows(); len(rows) != 9 {
		t.Errorf("got %q", rows)
	}
	got := odd.Rows()
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 3, 5, 7, 9}) {
		t.Errorf("side output: %v", got)
	}
	op, _ := r.Operator("rich")
	if op.Counters["rows"] != 9 || op.Counters["by.parity.odd"] != 5 || op.Counters["opened"] != 3 {
		t.Errorf("counters: %v", op.Counters)
	}
}

type counting struct{ opened bool }

func (c *counting) Open(ctx *weir.Context) error {
	if c.opened || ctx.Parallelism() != 3 || ctx.Subtask() > 2 || ctx.Operator() != "rich" || ctx.Job() != "instances" {
		return fmt.Errorf("opened with %d/%d of %s in %s", ctx.Subtask(), ctx.Parallelism(), ctx.Operator(), ctx.Job())
	}
	c.opened = true
	ctx.Metrics().Counter("opened").Inc()
	return nil
}

func (c *counting) Map(ctx *weir.Context, n int) (string, error) {
	ctx.Metrics().Counter("rows").Inc()
	if n%2 == 1 {
		ctx.Metrics().Group("by").Group("parity").Counter("odd").Inc()
		ctx.Side(weir.NewTag[int]("odd"), n)
	}
	return fmt.Sprint(n), nil
}
