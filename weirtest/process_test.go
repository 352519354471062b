package weirtest_test

import (
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/weirtest"
)

// silence reports a user of whom nothing was heard for 10 s of event time or an hour of processing time.
type silence struct{ last state.Value[time.Time] }

func (f *silence) Open(ctx *weir.KeyedContext[string]) error {
	f.last = ctx.State(state.ValueOf[time.Time]("last"))
	return nil
}

func (f *silence) Process(ctx *weir.KeyedContext[string], _ click, _ weir.Out[string]) error {
	if last, ok := f.last.Get(); ok {
		ctx.DeleteEventTimer(last.Add(10 * time.Second))
	} else {
		ctx.RegisterProcessingTimer(ctx.ProcessingTime().Add(time.Hour))
	}
	now, _ := ctx.Timestamp()
	f.last.Set(now)
	ctx.RegisterEventTimer(now.Add(10 * time.Second))
	ctx.Metrics().Counter("heard").Inc()
	return nil
}

func (f *silence) OnTimer(ctx *weir.KeyedContext[string], t weir.Timer, out weir.Out[string]) error {
	kind := " is silent"
	if t.Processing {
		kind = " is gone"
	}
	out.Emit(ctx.Key() + kind)
	return nil
}

func TestTimersOfAProcessFunction(t *testing.T) {
	h := weirtest.NewHarness(t, func(in weir.Stream[click]) weir.Stream[string] {
		return in.KeyBy(user).Process("silence", func() weir.KeyedProcess[string, click, string] { return &silence{} })
	})
	pending := func(event, processing int) {
		t.Helper()
		if e, p := h.Timers(); e != event || p != processing {
			t.Errorf("%d and %d timers are pending, want %d and %d", e, p, event, processing)
		}
	}
	h.Push(click{User: "ann"}, at(1))
	h.Push(click{User: "bob"}, at(2))
	h.Push(click{User: "ann"}, at(5))
	pending(2, 2)
	h.Watermark(at(12))
	weirtest.Equal(t, h.Rows(), []weirtest.Row[string]{weirtest.At("bob is silent", at(12))})
	pending(1, 2)
	h.AdvanceProcessingTime(time.Hour)
	weirtest.Same(t, h.Output(), []string{"ann is gone", "bob is gone"})
	pending(1, 0)
	if n := h.Counter("heard"); n != 3 {
		t.Errorf("the counter says %d, want 3", n)
	}
	h.End() // the final watermark fires what is left
	weirtest.Equal(t, h.Output(), []string{"ann is silent"})
}
