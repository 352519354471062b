package window

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func mustGrid(t testing.TB, s Spec) *Grid {
	t.Helper()
	b, err := Bind[int](s)
	if err != nil {
		t.Fatalf("Bind: %v", err)
	}
	return b.Grid
}

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatalf("zone %s: %v", name, err)
	}
	return loc
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// utc reads a time such as 2013-03-10T05:00:00Z.
func utc(t testing.TB, text string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixMilli()
}

func TestTumblingStart(t *testing.T) {
	for _, c := range []struct {
		name                   string
		ts, size, offset, want int64
	}{
		{"the first instant of a window is in it", 10, 10, 0, 10},
		{"the last instant of a window is in it", 19, 10, 0, 10},
		{"before 1970: floor, not truncation", -1, 10, 0, -10},
		{"an edge before 1970", -10, 10, 0, -10},
		{"one before an edge before 1970", -11, 10, 0, -20},
		{"an offset moves the edge, not the size", 12, 10, 3, 3},
		{"the edge with an offset", 13, 10, 3, 13},
		{"a row before the first edge with an offset", 2, 10, 3, -7},
		{"a negative offset", 7, 10, -3, 7},
		{"a negative offset, one before the edge", 6, 10, -3, -3},
		{"a size of one", 5, 1, 0, 5},
	} {
		g := mustGrid(t, Tumbling(ms(c.size)).Offset(ms(c.offset)))
		want := Window{c.want, c.want + c.size}
		if got := g.PaneOf(c.ts); got != want {
			t.Errorf("%s: PaneOf(%d) = %v, want %v", c.name, c.ts, got, want)
		}
		if got := g.AppendWindows(nil, c.ts); !slices.Equal(got, []Window{want}) {
			t.Errorf("%s: AppendWindows(%d) = %v, want %v", c.name, c.ts, got, want)
		}
	}
}

func TestSlidingFarFromOrigin(t *testing.T) {
	// Length 1600, slide 700: starts are the multiples of 700 in (ts-1600, ts].
	for _, c := range []struct {
		name   string
		ts     int64
		starts []int64
	}{
		{"on an edge: three windows", 1400, []int64{0, 700, 1400}},
		{"behind the end of the oldest: two windows", 1600, []int64{700, 1400}},
		{"before 1970", -1, []int64{-1400, -700}},
		{"on an edge before 1970", -700, []int64{-2100, -1400, -700}},
		// 1,674,124,707,598 = 2,391,606,725 * 700 + 98; 98+1400 < 1600, so three.
		{"years from the origin", 1674124707598, []int64{1674124706100, 1674124706800, 1674124707500}},
	} {
		var want []Window
		for _, s := range c.starts {
			want = append(want, Window{s, s + 1600})
		}
		g := mustGrid(t, Sliding(ms(1600), ms(700)))
		if got := g.AppendWindows(nil, c.ts); !slices.Equal(got, want) {
			t.Errorf("%s: AppendWindows(%d) = %v, want %v", c.name, c.ts, got, want)
		}
	}
	if g := mustGrid(t, Sliding(ms(1600), ms(700))); g.PanesPerWindow() != 16 || g.WindowsPerRow() != 3 {
		t.Errorf("panes a window = %d, windows a row = %d, want 16 and 3", g.PanesPerWindow(), g.WindowsPerRow())
	}
}

// Law: a row is in the windows of all starts s = offset + k*slide with s <= ts < s+size, and in no others.
func TestWindowsAreAllStarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 60).Draw(t, "size")
		slide := rapid.Int64Range(1, 60).Draw(t, "slide")
		offset := rapid.Int64Range(1-slide, slide-1).Draw(t, "offset")
		ts := rapid.OneOf(rapid.Int64Range(-200, 200), rapid.Int64Range(1e12, 2e12), rapid.Int64Range(-2e12, -1e12)).Draw(t, "ts")
		var want []Window
		for s := ts - size + 1; s <= ts; s++ {
			if ((s-offset)%slide+slide)%slide == 0 {
				want = append(want, Window{s, s + size})
			}
		}
		g := newGrid(Sliding(ms(size), ms(slide)).Offset(ms(offset)))
		if got := g.AppendWindows(nil, ts); !slices.Equal(got, want) {
			t.Fatalf("AppendWindows = %v, want %v", got, want)
		}
	})
}

// someGrid draws grids of every kind: milliseconds, days, months, in zones and out of them.
func someGrid(t *rapid.T) *Grid {
	zones := []string{"UTC", "America/New_York", "America/Sao_Paulo", "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana", "America/St_Johns", "Asia/Kolkata"}
	loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	minutes := rapid.Int64Range(1, 3000).Draw(t, "size")
	n, m := rapid.IntRange(1, 10).Draw(t, "n"), rapid.IntRange(1, 10).Draw(t, "m")
	offset := time.Duration(rapid.IntRange(-23, 23).Draw(t, "offset")) * time.Hour
	minute := time.Duration(minutes) * time.Minute
	s := rapid.SampledFrom([]Spec{
		Tumbling(minute).Offset(offset % minute),
		Tumbling(minute).Offset(offset % minute).In(loc),
		Sliding(minute, time.Duration(m)*time.Minute).Offset(offset % (time.Duration(m) * time.Minute)),
		Days(n).Offset(offset).In(loc),
		Weeks(n).Offset(offset).In(loc),
		SlidingDays(n, m).Offset(offset).In(loc),
		Months(n).Offset(offset).In(loc),
	}).Draw(t, "spec")
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return newGrid(s)
}

func someTime(t *rapid.T) int64 {
	// The years around the changes of the clocks that the tables below name, and some before 1970.
	return rapid.OneOf(
		rapid.Int64Range(-2e12, 2e12),
		rapid.Int64Range(1325203200000-2e8, 1325203200000+2e8), // Samoa skips 2011-12-30
		rapid.Int64Range(1362898800000-2e8, 1362898800000+2e8), // New York, spring 2013
		rapid.Int64Range(1383458400000-2e8, 1383458400000+2e8), // New York, autumn 2013
		rapid.Int64Range(1508036400000-2e8, 1508036400000+2e8), // Sao Paulo, spring 2017
		rapid.Int64Range(1143828000000-2e8, 1162152000000+2e8), // 2006, St. John's at 00:01, Havana at 01:00
	).Draw(t, "ts")
}

// Laws of panes: panes follow each other without gap or overlap, a pane lies wholly inside or outside each window, and the
// panes of a window are exactly that window.
func TestPanesCutWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, ts := someGrid(t), someTime(t)
		pane := g.PaneOf(ts)
		if !pane.Contains(ts) {
			t.Fatalf("PaneOf(%d) = %v does not hold it", ts, pane)
		}
		if next := g.PaneOf(pane.End); next.Start != pane.End {
			t.Fatalf("behind pane %v comes %v", pane, next)
		}
		if before := g.PaneOf(pane.Start - 1); before.End != pane.Start {
			t.Fatalf("before pane %v comes %v", pane, before)
		}
		windows := g.AppendWindows(nil, ts)
		if !slices.Equal(windows, g.WindowsOfPane(nil, pane)) {
			t.Fatalf("the windows of %d are %v, those of its pane %v", ts, windows, g.WindowsOfPane(nil, pane))
		}
		if len(windows) > g.WindowsPerRow() {
			t.Fatalf("%d windows, at most %d were promised", len(windows), g.WindowsPerRow())
		}
		for i, w := range windows {
			if w.Start > pane.Start || pane.End > w.End {
				t.Fatalf("pane %v is not within %v", pane, w)
			}
			if i > 0 && windows[i-1].Start > w.Start {
				t.Fatalf("windows are not sorted: %v", windows)
			}
			panes := g.PanesOf(nil, w)
			if !slices.Contains(panes, pane) {
				t.Fatalf("panes of %v are %v, without %v", w, panes, pane)
			}
			at := w.Start
			for _, p := range panes {
				if p.Start != at || p.End <= p.Start {
					t.Fatalf("panes of %v have a gap: %v", w, panes)
				}
				at = p.End
			}
			if at != w.End {
				t.Fatalf("panes of %v end at %d", w, at)
			}
		}
	})
}

// Law: the windows that end between two watermarks are those that hold some instant and whose MaxTimestamp lies there, each
// once; and NextEnding is the first of them.
func TestWindowsEndingIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, after := someGrid(t), someTime(t)
		upTo := after + rapid.Int64Range(0, 20*60*1000).Draw(t, "way")
		if rapid.Bool().Draw(t, "far") && g.unit != unitMilli {
			upTo = after + 5*dayMillis
		}
		// The slow way: from pane to pane, all windows of each.
		seen := map[Window]bool{}
		for at := after + 1 - 24*60*60*1000*11; at <= upTo+1; {
			pane := g.PaneOf(at)
			for _, w := range g.AppendWindows(nil, at) {
				if max := w.End - 1; after < max && max <= upTo {
					seen[w] = true
				}
			}
			at = pane.End
			if g.unit == unitMonth || g.clock != nil || g.pane > 60*1000 {
				continue
			}
			if at < after-int64(g.PanesPerWindow())*g.pane {
				at = after - int64(g.PanesPerWindow())*g.pane
			}
		}
		last := after
		for w := range g.WindowsEndingIn(after, upTo) {
			if w.MaxTimestamp() < last {
				t.Fatalf("%v ends before the one before it", w)
			}
			last = w.MaxTimestamp()
			if w.Start == w.End {
				continue // a day that the zone skipped
			}
			if !seen[w] && len(g.AppendWindows(nil, w.Start)) > 0 {
				t.Fatalf("%v was not expected in (%d, %d]", w, after, upTo)
			}
			delete(seen, w)
		}
		if len(seen) > 0 {
			t.Fatalf("missing in (%d, %d]: %v", after, upTo, seen)
		}
		next, ok := g.NextEnding(after)
		if !ok || next.MaxTimestamp() <= after {
			t.Fatalf("NextEnding(%d) = %v, %v", after, next, ok)
		}
		for w := range g.WindowsEndingIn(after, next.MaxTimestamp()) {
			if w.MaxTimestamp() != next.MaxTimestamp() {
				t.Fatalf("%v ends before NextEnding(%d) = %v", w, after, next)
			}
		}
	})
}

// Absurd times neither panic nor hang, and give windows that are in order.
func TestAbsurdTimes(t *testing.T) {
	specs := []Spec{
		Tumbling(time.Hour), Sliding(time.Hour, 7*time.Minute), Tumbling(time.Hour).In(mustZone(t, "America/New_York")),
		Days(1).In(mustZone(t, "America/New_York")), Days(7).In(mustZone(t, "Asia/Beirut")), Months(1).In(mustZone(t, "Australia/Lord_Howe")), Months(12),
	}
	for _, s := range specs {
		g := mustGrid(t, s)
		for _, ts := range []int64{-1 << 63, -1<<63 + 1, TimeMin - 1, TimeMin, TimeMin + 1, TimeMax - 1, TimeMax, TimeMax + 1, 1<<63 - 1, 5.3e15, -5.3e15} {
			inside := min(max(ts, TimeMin), TimeMax)
			if w := g.PaneOf(ts); !w.Contains(inside) || w.Start >= w.End {
				t.Errorf("%v: PaneOf(%d) = [%d, %d)", s, ts, w.Start, w.End)
			}
			for _, w := range g.AppendWindows(nil, ts) {
				if !w.Contains(inside) {
					t.Errorf("%v: AppendWindows(%d) has [%d, %d)", s, ts, w.Start, w.End)
				}
			}
			if w, ok := g.NextEnding(ts); ok != (ts < TimeMax) || ok && w.MaxTimestamp() <= ts {
				t.Errorf("%v: NextEnding(%d) = [%d, %d), %v", s, ts, w.Start, w.End, ok)
			}
		}
	}
}

// Months agree with package time for a span of 800 years.
func TestMonthOf(t *testing.T) {
	for day := int64(-400 * 366); day < 400*366; day++ {
		at := time.Unix(day*86400, 0).UTC()
		want := int64(at.Year()-1970)*12 + int64(at.Month()) - 1
		if got := monthOf(day); got != want {
			t.Fatalf("monthOf(%s) = %d, want %d", at.Format(time.DateOnly), got, want)
		}
		if at.Day() == 1 && dayOfMonth(want) != day {
			t.Fatalf("dayOfMonth(%d) = %d, want %d", want, dayOfMonth(want), day)
		}
	}
}

func TestCursorAgreesWithGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := someGrid(t)
		c := NewCursor(g)
		for range 20 {
			ts := someTime(t)
			for range 3 {
				if got, want := c.Pane(ts), g.PaneOf(ts); got != want {
					t.Fatalf("Pane(%d) = %v, want %v", ts, got, want)
				}
				ts += rapid.Int64Range(-1000*60*60, 1000*60*60).Draw(t, "step")
			}
		}
	})
}
