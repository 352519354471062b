package window

import "time"

// A local time is here what a clock on the wall shows, written as if it were UTC: milliseconds from 1970-01-01T00:00:00
// on that clock.

// offsetAt is how far a zone's clock is ahead of UTC at an instant, in ms.
func offsetAt(ts int64, loc *time.Location) int64 {
	_, seconds := time.UnixMilli(ts).In(loc).Zone()
	return int64(seconds) * 1000
}

// segment is a stretch of time in which a zone's distance from UTC is one.
type segment struct {
	from, to int64 // [from, to); beginningOfTime and endOfTime where there is no change
	offset   int64 // in ms
}

const (
	beginningOfTime = -1 << 63
	endOfTime       = 1<<63 - 1
)

func segmentAt(ts int64, loc *time.Location) segment {
	t := time.UnixMilli(ts).In(loc)
	_, seconds := t.Zone()
	s := segment{from: beginningOfTime, to: endOfTime, offset: int64(seconds) * 1000}
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		s.from = from.UnixMilli()
	}
	if !to.IsZero() {
		s.to = to.UnixMilli()
	}
	return s
}

// zoneReach is more than any zone was ever away from UTC.
const zoneReach = 26 * 60 * 60 * 1000

// firstInstant is the first instant at which a zone's clock shows a local time or a later one. If the clock shows it
// twice, that is the earlier one; if it skips it, the instant of the change.
func firstInstant(local int64, loc *time.Location) int64 {
	s := segmentAt(local-zoneReach, loc)
	for {
		t := max(local-s.offset, s.from)
		if t < s.to || s.to == endOfTime {
			return t
		}
		s = segmentAt(s.to, loc)
	}
}

// monthOf is the number of the month, January 1970 being 0, that holds a day, 1970-01-01 being 0. Months and years are
// those of the Gregorian calendar at all times.
func monthOf(day int64) int64 {
	// Years are counted from March here, so that the leap day is a year's last.
	day += 719468 // from 0000-03-01
	era := floorDiv(day, 146097)
	doe := floorMod(day, 146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	march := (5*doy + 2) / 153
	return (era*400+yoe-1970)*12 + march + 2
}

// dayOfMonth is the number of the first day of a month: the reverse of monthOf.
func dayOfMonth(month int64) int64 {
	month -= 2
	year := floorDiv(month, 12) + 1970
	march := floorMod(month, 12)
	era, yoe := floorDiv(year, 400), floorMod(year, 400)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + (153*march+2)/5 - 719468
}

// clockGrid cuts time where a zone's clock shows a multiple of a size that is no whole number of days. It makes tumbling
// windows only.
//
// Around a change of the clocks: an edge that the clock jumps over is at the jump. An hour that the clock shows twice is
// two hourly windows; but windows longer than the stretch that is shown twice are not cut a second time by it, so that
// two-hour and six-hour windows are longer on that day. No two windows overlap and none is empty.
type clockGrid struct {
	size, offset int64
	loc          *time.Location
}

func (g *clockGrid) windowOf(ts int64) Window {
	return Window{Start: g.edgeBefore(ts), End: g.edgeBehind(ts)}
}

// edgeBefore is the last edge at or before ts.
func (g *clockGrid) edgeBefore(ts int64) int64 {
	for {
		s := segmentAt(ts, g.loc)
		edge := ts - floorMod(ts+s.offset-g.offset, g.size)
		if s.from == beginningOfTime {
			return edge
		}
		before := offsetAt(s.from-1, g.loc)
		for ; edge >= s.from; edge -= g.size {
			if !g.repeated(edge, s, before) {
				return edge
			}
		}
		if g.jumpedOver(s.from, before, s.offset) {
			return s.from
		}
		ts = s.from - 1
	}
}

// edgeBehind is the first edge behind ts.
func (g *clockGrid) edgeBehind(ts int64) int64 {
	s := segmentAt(ts, g.loc)
	edge := ts - floorMod(ts+s.offset-g.offset, g.size) + g.size
	for {
		before := s.offset
		if s.from != beginningOfTime {
			before = offsetAt(s.from-1, g.loc)
		}
		for ; edge < s.to; edge += g.size {
			if !g.repeated(edge, s, before) {
				return edge
			}
		}
		if s.to == endOfTime {
			return edge
		}
		next := segmentAt(s.to, g.loc)
		if g.jumpedOver(next.from, s.offset, next.offset) {
			return next.from
		}
		// The first multiple that the clock of the next segment shows.
		edge = next.from + floorMod(g.offset-next.from-next.offset, g.size)
		s = next
	}
}

// repeated reports whether an edge shows a time that the clock has shown before the change at the segment's start, and
// is not to cut again.
func (g *clockGrid) repeated(edge int64, s segment, before int64) bool {
	back := before - s.offset
	return back > 0 && g.size > back && edge < s.from+back
}

// jumpedOver reports whether a multiple of the size lies in what the clock skips at a change, or right at its ends.
func (g *clockGrid) jumpedOver(at, before, after int64) bool {
	return after > before && floorMod(at+after-g.offset, g.size) <= after-before
}
