package window

import (
	"fmt"
	"iter"
	"time"
)

// TimeMin and TimeMax bound the times that a Grid computes with: some 146 million years around 1970. A time beyond them is
// taken as the bound itself, so that no arithmetic overflows.
const (
	TimeMin = -1 << 62
	TimeMax = 1 << 62
)

// Grid is the arithmetic of tumbling and sliding windows. It is made by Bind, immutable, and may be shared.
//
// The windows are cut into panes: the stretches between two neighbouring edges of a regular ruler, whose distance is the
// greatest common divisor of size and slide. Every pane lies within each window that it meets, so that an operator can
// keep one aggregate a pane, update it once a row, and combine the panes of a window when it ends. Tumbling windows are
// their own panes.
//
// The ruler lies on the local clock: exact milliseconds in UTC, local days or months in a zone. Edge q is at the first
// instant at which the local clock shows q units or more, which makes days of 23 and 25 hours and lets a day start at
// 01:00 if its midnight is skipped. Sizes that are no whole days in a zone are in clockGrid.
type Grid struct {
	unit        unit
	pane        int64 // distance of the edges, in unit
	sizePanes   int64
	slidePanes  int64
	originUnits int64 // edge 0 lies this many units behind 1970-01-01 on the local clock...
	originMilli int64 // ...and this many ms; for unitDay less than a day
	loc         *time.Location
	clock       *clockGrid // set for sizes below a day in a zone; all above is unused then
}

func newGrid(s Spec) *Grid {
	loc := s.loc
	if loc == time.UTC {
		loc = nil
	}
	size, slide, anchor, u := s.size, s.slide, s.anchor, s.unit
	if u == unitMilli && loc != nil {
		if size%dayMillis != 0 || slide%dayMillis != 0 {
			return &Grid{clock: &clockGrid{size: size, offset: s.offset.Milliseconds(), loc: loc}, sizePanes: 1, slidePanes: 1}
		}
		size, slide, u = size/dayMillis, slide/dayMillis, unitDay
	}
	pane := gcd(size, slide)
	g := &Grid{unit: u, pane: pane, sizePanes: size / pane, slidePanes: slide / pane, originUnits: anchor, originMilli: s.offset.Milliseconds(), loc: loc}
	if u == unitDay {
		g.originUnits += floorDiv(g.originMilli, dayMillis)
		g.originMilli = floorMod(g.originMilli, dayMillis)
	}
	return g
}

// Ruler says in words what the panes are, "panes of 5m0s": grids with the same ruler share them.
func (g *Grid) Ruler() string {
	unit, pane, milli, units, loc := g.unit, g.pane, g.originMilli, int64(0), g.loc
	switch {
	case g.clock != nil:
		unit, pane, milli, loc = unitMilli, g.clock.size, g.clock.offset, g.clock.loc
		milli = floorMod(milli, pane)
	case unit == unitMilli:
		milli = floorMod(milli, pane)
	default:
		units = floorMod(g.originUnits, pane)
	}
	s := "panes of " + [...]string{(time.Duration(pane) * time.Millisecond).String(), fmt.Sprint(pane, " days"), fmt.Sprint(pane, " months")}[unit]
	if loc != nil {
		s += " in " + loc.String()
	}
	if units != 0 {
		s += fmt.Sprintf(" from %s %d", [...]string{"", "day", "month"}[unit], units)
	}
	if milli != 0 {
		s += " offset " + (time.Duration(milli) * time.Millisecond).String()
	}
	return s
}

// Sliced reports whether a window has several panes.
func (g *Grid) Sliced() bool { return g.sizePanes > 1 }

// PanesPerWindow is the number of panes in a window.
func (g *Grid) PanesPerWindow() int { return int(g.sizePanes) }

// WindowsPerRow is how many windows hold a row at most.
func (g *Grid) WindowsPerRow() int { return int((g.sizePanes + g.slidePanes - 1) / g.slidePanes) }

// PaneOf is the pane that holds ts. Its Start identifies it.
func (g *Grid) PaneOf(ts int64) Window {
	ts = min(max(ts, TimeMin), TimeMax)
	switch {
	case g.clock != nil:
		return g.clock.windowOf(ts)
	case g.unit == unitMilli:
		start := ts - floorMod(ts-g.originMilli, g.pane)
		return Window{Start: start, End: start + g.pane}
	}
	q := g.index(ts)
	return Window{Start: g.edge(q), End: g.edge(q + 1)}
}

// AppendWindows appends the windows that hold ts, by rising start. There are none if ts falls into a gap between windows
// whose slide is larger than their size.
func (g *Grid) AppendWindows(dst []Window, ts int64) []Window {
	ts = min(max(ts, TimeMin), TimeMax)
	if g.clock != nil {
		return append(dst, g.clock.windowOf(ts))
	}
	q := g.index(ts)
	for k := g.firstWindow(q); k*g.slidePanes <= q; k++ {
		dst = append(dst, g.window(k))
	}
	return dst
}

// WindowsOfPane appends the windows that hold a pane, by rising start.
func (g *Grid) WindowsOfPane(dst []Window, pane Window) []Window {
	return g.AppendWindows(dst, pane.Start)
}

// PanesOf appends the panes of a window, in order. A day that a zone skipped altogether has none.
func (g *Grid) PanesOf(dst []Window, w Window) []Window {
	if g.clock != nil {
		return append(dst, w)
	}
	q := g.index(w.Start)
	for start := g.edge(q); start < w.End; q++ {
		end := g.edge(q + 1)
		if start < end {
			dst = append(dst, Window{Start: start, End: end})
		}
		start = end
	}
	return dst
}

// NextEnding is the first window with a MaxTimestamp above t: the one that fires next when the watermark is t. It is
// false for a t at TimeMax or beyond.
func (g *Grid) NextEnding(t int64) (Window, bool) {
	if t >= TimeMax {
		return Window{}, false
	}
	t = max(t, TimeMin-1) + 1
	if g.clock != nil {
		return g.clock.windowOf(t), true
	}
	return g.window(g.firstWindow(g.index(t))), true
}

// WindowsEndingIn yields the windows that fire when the watermark goes from after to upTo, in the order in which they
// end: those with after < MaxTimestamp <= upTo. Its length is that of the way divided by the slide, so an operator sets
// after no lower than the start of the first pane it has.
func (g *Grid) WindowsEndingIn(after, upTo int64) iter.Seq[Window] {
	return func(yield func(Window) bool) {
		first, ok := g.NextEnding(after)
		if !ok {
			return
		}
		if g.clock != nil {
			for w := first; w.MaxTimestamp() <= upTo && w.Start <= TimeMax; w = g.clock.windowOf(w.End) {
				if !yield(w) {
					return
				}
			}
			return
		}
		for k := g.firstWindow(g.index(max(after, TimeMin-1) + 1)); ; k++ {
			w := g.window(k)
			if w.MaxTimestamp() > upTo || w.Start > TimeMax || !yield(w) {
				return
			}
		}
	}
}

// firstWindow is the number of the first window that ends behind pane q begins. (If the slide is larger than the size it
// may also begin behind it.)
func (g *Grid) firstWindow(q int64) int64 { return floorDiv(q-g.sizePanes, g.slidePanes) + 1 }

// window k has the panes from k*slidePanes on.
func (g *Grid) window(k int64) Window {
	q := k * g.slidePanes
	return Window{Start: g.edge(q), End: g.edge(q + g.sizePanes)}
}

// index is the number of the pane that holds ts: edge(index) <= ts < edge(index+1).
func (g *Grid) index(ts int64) int64 {
	if g.loc == nil {
		return g.localIndex(ts)
	}
	// The clock shows q units or more at ts, so edge q is not behind it. Where the clock went back, a further edge may have
	// been shown before.
	q := g.localIndex(ts + offsetAt(ts, g.loc))
	for g.edge(q+1) <= ts {
		q++
	}
	return q
}

// edge is the instant of edge q.
func (g *Grid) edge(q int64) int64 {
	local := g.localEdge(q)
	if g.loc == nil {
		return local
	}
	return firstInstant(local, g.loc)
}

// localIndex is index on a clock that never changes.
func (g *Grid) localIndex(local int64) int64 {
	local -= g.originMilli
	switch g.unit {
	case unitDay:
		return floorDiv(floorDiv(local, dayMillis)-g.originUnits, g.pane)
	case unitMonth:
		return floorDiv(monthOf(floorDiv(local, dayMillis))-g.originUnits, g.pane)
	}
	return floorDiv(local, g.pane)
}

// localEdge is edge on a clock that never changes.
func (g *Grid) localEdge(q int64) int64 {
	switch g.unit {
	case unitDay:
		return (g.originUnits+q*g.pane)*dayMillis + g.originMilli
	case unitMonth:
		return dayOfMonth(g.originUnits+q*g.pane)*dayMillis + g.originMilli
	}
	return q*g.pane + g.originMilli
}

// cursorPanes is how many panes a Cursor remembers in a zone, where finding one costs a hundred times more.
const cursorPanes = 8

// Cursor finds panes for rows that mostly come in the order of their times: it looks first whether a row falls into the
// pane of the row before. It belongs to one goroutine.
type Cursor struct {
	grid   *Grid
	pane   Window
	recent [cursorPanes]Window // for grids that are no plain ruler; next is the oldest
	next   int
}

// NewCursor returns a cursor over a grid.
func NewCursor(g *Grid) Cursor { return Cursor{grid: g} }

// Pane is Grid.PaneOf.
func (c *Cursor) Pane(ts int64) Window {
	if ts < c.pane.Start || ts >= c.pane.End {
		c.find(ts)
	}
	return c.pane
}

func (c *Cursor) find(ts int64) {
	ruler := c.grid.clock == nil && c.grid.loc == nil
	if !ruler {
		for _, pane := range c.recent {
			if pane.Start <= ts && ts < pane.End {
				c.pane = pane
				return
			}
		}
	}
	c.pane = c.grid.PaneOf(ts)
	if !ruler {
		c.recent[c.next] = c.pane
		c.next = (c.next + 1) % cursorPanes
	}
}
