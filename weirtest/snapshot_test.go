package weirtest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/weirtest"
	"github.com/weir-stream/weir/window"
)

// Windows go on with what they had, at any parallelism; late rows stay late (P25); what came behind the snapshot is lost.
func TestWindowsGoOnFromASnapshot(t *testing.T) {
	for _, p := range []int{1, 3} {
		h := weirtest.NewHarness(t, perMinute)
		h.Push(click{"ann", 1}, at(1))
		h.Push(click{"bob", 5}, at(2))
		h.Watermark(at(60))
		h.Push(click{"ann", 2}, at(61))
		if got := h.Output(); len(got) != 2 {
			t.Fatalf("before the snapshot: %v", got)
		}
		s := h.Snapshot()
		h.Push(click{"ann", 100}, at(62))

		h = weirtest.NewHarness(t, perMinute, weirtest.From(s), weirtest.Parallelism(p))
		h.Push(click{"ann", 7}, at(59))
		h.Push(click{"ann", 3}, at(63))
		h.Watermark(at(120))
		if got := h.Output(); len(got) != 1 || got[0].Key != "ann" || got[0].Value != 5 {
			t.Errorf("at parallelism %d: %v, want ann 2 + 3", p, got)
		}
		if late := weirtest.Side(h, tooLate); !slices.Equal(late, []click{{"ann", 7}}) {
			t.Errorf("at parallelism %d: late rows %v", p, late)
		}
	}
}

// alarms counts a user's clicks and says so a minute after the first one.
type alarms struct{ count state.Value[int] }

func (f *alarms) Open(ctx *weir.KeyedContext[string]) error {
	f.count = ctx.State(state.ValueOf[int]("count"))
	return nil
}

func (f *alarms) Process(ctx *weir.KeyedContext[string], c click, out weir.Out[string]) error {
	if _, ok := f.count.Get(); !ok {
		ctx.RegisterProcessingTimer(ctx.ProcessingTime().Add(time.Minute))
	}
	f.count.Update(func(n *int) { *n += c.Count })
	return nil
}

func (f *alarms) OnTimer(ctx *weir.KeyedContext[string], _ weir.Timer, out weir.Out[string]) error {
	n, _ := f.count.Get()
	f.count.Clear()
	out.Emit(fmt.Sprint(ctx.Key(), " ", n))
	return nil
}

// A timer fires after a restore although no row of its key comes any more (P26). One snapshot serves several restores.
func TestTimersGoOnFromASnapshot(t *testing.T) {
	pipe := func(in weir.Stream[click]) weir.Stream[string] {
		return in.KeyBy(user).Process("alarms", func() weir.KeyedProcess[string, click, string] { return &alarms{} })
	}
	h := weirtest.NewHarness(t, pipe, weirtest.Parallelism(2))
	for i, u := range []string{"ann", "bob", "cid", "ann"} {
		h.Push(click{u, 1 + i}, time.Time{})
	}
	h.AdvanceProcessingTime(40 * time.Second)
	s := h.Snapshot()
	for _, p := range []int{1, 2, 5} {
		h := weirtest.NewHarness(t, pipe, weirtest.From(s), weirtest.Parallelism(p))
		if got := h.Now().Sub(weirtest.Start); got != 40*time.Second {
			t.Errorf("the clock goes on at %v", got)
		}
		if _, n := h.Timers(); n != 3 {
			t.Errorf("%d timers, want 3", n)
		}
		h.AdvanceProcessingTime(20 * time.Second)
		got := h.Output()
		slices.Sort(got)
		if !slices.Equal(got, []string{"ann 5", "bob 2", "cid 3"}) {
			t.Errorf("at parallelism %d: %q", p, got)
		}
	}
}

func TestAJoinGoesOnFromASnapshot(t *testing.T) {
	pipe := func(clicks weir.Stream[click], orders weir.Stream[order]) weir.Stream[string] {
		return clicks.KeyBy(user).
			JoinInterval("near", orders.KeyBy(func(o order) string { return o.Customer }), -10*time.Second, 10*time.Second).
			Inner(func(c click, o order) string { return c.User + " " + o.ID })
	}
	h := weirtest.NewHarness2(t, pipe)
	h.First().Push(click{User: "ann"}, at(20))
	h.First().Push(click{User: "bob"}, at(21))
	s := h.Snapshot()
	h = weirtest.NewHarness2(t, pipe, weirtest.From(s), weirtest.Parallelism(3))
	h.Second().Push(order{"o1", "bob"}, at(30))
	h.Second().Push(order{"o2", "ann"}, at(30))
	got := h.Output()
	slices.Sort(got)
	if !slices.Equal(got, []string{"ann o2", "bob o1"}) {
		t.Errorf("got %q", got)
	}
}

// An operator that is new begins with nothing beside those that are restored.
func TestAChangedJobGoesOnFromASnapshot(t *testing.T) {
	count := func(in weir.Stream[click], name string) weir.Stream[weir.Windowed[string, int64]] {
		return in.KeyBy(user).Window(name, window.Tumbling(time.Minute)).Aggregate(weir.Count[click]())
	}
	h := weirtest.NewHarness(t, func(in weir.Stream[click]) weir.Stream[weir.Windowed[string, int64]] { return count(in, "old") })
	h.Push(click{"ann", 1}, at(1))
	s := h.Snapshot()
	h = weirtest.NewHarness(t, func(in weir.Stream[click]) weir.Stream[weir.Windowed[string, int64]] {
		return count(in, "old").Union(count(in, "new"))
	}, weirtest.From(s))
	h.Push(click{"ann", 1}, at(2))
	h.End()
	got := h.Output()
	if len(got) != 2 || got[0].Value+got[1].Value != 3 {
		t.Errorf("got %v, want 2 of the old operator and 1 of the new one", got)
	}
}
