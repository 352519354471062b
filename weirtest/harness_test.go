package weirtest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/weirtest"
	"github.com/weir-stream/weir/window"
)

func at(second int) time.Time { return time.Date(2024, 3, 1, 10, 0, second, 0, time.UTC) }

type click struct {
	User  string
	Count int
}

func user(c click) string { return c.User }

var tooLate = weir.NewTag[click]("too late")

// perMinute sums up clicks by user and minute, behind a filter and a map.
func perMinute(in weir.Stream[click]) weir.Stream[weir.Windowed[string, int]] {
	return in.Filter(func(c click) bool { return c.Count > 0 }).
		Map(func(c click) click { return click{strings.ToLower(c.User), c.Count} }).
		KeyBy(user).
		Window("per minute", window.Tumbling(time.Minute)).SideLate(tooLate).
		Aggregate(weir.Sum(func(c click) int { return c.Count }))
}

func TestHarnessOfAChain(t *testing.T) {
	h := weirtest.NewHarness(t, perMinute)
	h.Push(click{"Ann", 1}, at(1))
	h.Push(click{"bob", 5}, at(2))
	h.Push(click{"ann", 0}, at(3))
	h.Push(click{"ann", 2}, at(59))
	if got := h.Output(); len(got) != 0 {
		t.Errorf("rows before the watermark: %v", got)
	}
	h.Watermark(at(59))
	rows := h.Rows()
	if len(rows) != 0 {
		t.Errorf("the last millisecond of the minute is not over: %v", rows)
	}
	h.Watermark(at(60))
	rows = h.Rows()
	slices.SortFunc(rows, func(a, b weirtest.Row[weir.Windowed[string, int]]) int {
		return strings.Compare(a.Value.Key, b.Value.Key)
	})
	if len(rows) != 2 || rows[0].Value.Value != 3 || rows[1].Value.Value != 5 {
		t.Fatalf("got %v, want ann 3 and bob 5", rows)
	}
	if want := at(60).Add(-time.Millisecond); !rows[0].Time.Equal(want) {
		t.Errorf("the result has time %v, want %v", rows[0].Time, want)
	}
	if mark, ok := h.OutWatermark(); !ok || !mark.Equal(at(60)) {
		t.Errorf("watermark behind the window is %v", mark)
	}
	h.Push(click{"ann", 7}, at(4))
	if late := weirtest.Side(h, tooLate); len(late) != 1 || late[0].Count != 7 {
		t.Errorf("late rows: %v", late)
	}
	if again := weirtest.Side(h, tooLate); len(again) != 0 {
		t.Errorf("a second look returned %v again", again)
	}
	h.Push(click{"ann", 9}, at(61))
	h.End()
	if got := h.Output(); len(got) != 1 || got[0].Value != 9 {
		t.Errorf("at the end: %v", got)
	}
}

func TestLateRowsAreCounted(t *testing.T) {
	h := weirtest.NewHarness(t, func(in weir.Stream[click]) weir.Stream[weir.Windowed[string, int64]] {
		return in.KeyBy(user).Window("w", window.Tumbling(time.Minute)).Aggregate(weir.Count[click]())
	})
	h.Watermark(at(60))
	h.Push(click{"ann", 1}, at(59))
	h.Push(click{"ann", 1}, at(60)) // behind the watermark, but its window is open
	if h.Late() != 1 {
		t.Errorf("late rows: %d, want 1", h.Late())
	}
}

func TestProcessingTimeMovesWhenTold(t *testing.T) {
	h := weirtest.NewHarness(t, func(in weir.Stream[click]) weir.Stream[weir.Windowed[string, int64]] {
		return in.KeyBy(user).Window("w", window.Tumbling(time.Minute).ProcessingTime()).Aggregate(weir.Count[click]())
	})
	h.Push(click{"ann", 1}, time.Time{})
	h.AdvanceProcessingTime(30 * time.Second)
	h.Push(click{"ann", 1}, time.Time{})
	if next, ok := h.NextTimer(); !ok || next.Sub(weirtest.Start).Round(time.Second) != time.Minute {
		t.Errorf("the next timer is at %v", next)
	}
	h.AdvanceProcessingTime(29 * time.Second)
	if got := h.Output(); len(got) != 0 {
		t.Errorf("fired after 59 s: %v", got)
	}
	h.AdvanceProcessingTime(time.Second)
	if got := h.Output(); len(got) != 1 || got[0].Value != 2 {
		t.Errorf("after a minute: %v", got)
	}
	if got := h.Now().Sub(weirtest.Start); got != time.Minute {
		t.Errorf("the clock moved by %v", got)
	}
}

func TestCatchReturnsTheFailure(t *testing.T) {
	bad := errors.New("no such user")
	h := weirtest.NewHarness(t, func(in weir.Stream[click]) weir.Stream[int] {
		return in.TryMap(func(c click) (int, error) {
			if c.User == "bob" {
				return 0, bad
			}
			return c.Count, nil
		}).Name("look up")
	})
	h.Push(click{"ann", 1}, at(1))
	err := h.Catch(func() { h.Push(click{"bob", 1}, at(2)) })
	if !errors.Is(err, bad) || !strings.Contains(err.Error(), "look up (1/1)") {
		t.Errorf("error is %v", err)
	}
	if got := h.Output(); !slices.Equal(got, []int{1}) {
		t.Errorf("what came before the failure: %v", got)
	}
}

type order struct{ ID, Customer string }

func TestHarnessOfAJoin(t *testing.T) {
	h := weirtest.NewHarness2(t, func(clicks weir.Stream[click], orders weir.Stream[order]) weir.Stream[string] {
		return clicks.KeyBy(user).
			JoinInterval("near", orders.KeyBy(func(o order) string { return o.Customer }), -10*time.Second, 10*time.Second).
			Inner(func(c click, o order) string { return c.User + " " + o.ID })
	})
	h.First().Push(click{User: "ann"}, at(20))
	h.Second().Push(order{"o1", "ann"}, at(30))
	h.Second().Push(order{"o2", "ann"}, at(31)) // a second too late
	h.Second().Push(order{"o3", "bob"}, at(20))
	if got := h.Output(); !slices.Equal(got, []string{"ann o1"}) {
		t.Errorf("got %q", got)
	}
	h.First().Watermark(at(50))
	if mark, ok := h.OutWatermark(); ok {
		t.Errorf("one input's watermark came through: %v", mark)
	}
	h.Second().Watermark(at(40))
	if mark, ok := h.OutWatermark(); !ok || mark.After(at(40)) {
		t.Errorf("watermark %v, want at most that of the slower input", mark)
	}
	h.End()
}
