package shapes

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/window"
)

// byDay calls f with the rides of each zone and UTC day, the days of a zone in their order.
func byDay(f func(zone string, w window.Window, rows []ride) []string) func() []string {
	return func() (out []string) {
		for z := range 7 {
			zone := fmt.Sprint("z", z)
			for day := start.Truncate(24 * time.Hour); day.Before(start.AddDate(0, 0, 4)); day = day.AddDate(0, 0, 1) {
				var rows []ride
				for _, r := range allRides() {
					if r.Zone == zone && r.At.Truncate(24*time.Hour).Equal(day) {
						rows = append(rows, r)
					}
				}
				if len(rows) > 0 {
					out = append(out, f(zone, window.Window{Start: day.UnixMilli(), End: day.AddDate(0, 0, 1).UnixMilli()}, rows)...)
				}
			}
		}
		return out
	}
}

// forever calls f with all rides of each zone; it returns the counts of the one window's results.
func forever(f func(rows []ride) []int) func() []string {
	return func() (out []string) {
		for z := range 7 {
			var rows []ride
			for id := int64(z); id < rideCount; id += 7 {
				rows = append(rows, newRide(id))
			}
			for _, n := range f(rows) {
				out = append(out, windowed(weir.Windowed[string, int]{Key: rows[0].Zone, Window: window.GlobalWindow, Value: n}))
			}
		}
		return out
	}
}

// kept are the rides of a zone and day that keep keeps; behind is how many of them came after r.
func kept(keep func(r, last ride, behind int) bool) func() []string {
	return byDay(func(zone string, w window.Window, rows []ride) []string {
		var ids []int64
		for i, r := range rows {
			if keep(r, rows[len(rows)-1], len(rows)-1-i) {
				ids = append(ids, r.ID)
			}
		}
		return []string{fmt.Sprint(zone, w, ids)}
	})
}

// extremes shows the rides of windows.
func extremes(s weir.Stream[weir.Windowed[string, ride]]) weir.Stream[string] {
	return s.Rebalance().Map(func(w weir.Windowed[string, ride]) string { return fmt.Sprint(w.Key, w.Window, w.Value.text()) })
}

// best is the ride of each zone and day that no later one is better than.
func best(better func(r, have ride) bool) func() []string {
	return byDay(func(zone string, w window.Window, rows []ride) []string {
		have := rows[0]
		for _, r := range rows[1:] {
			if better(r, have) {
				have = r
			}
		}
		return []string{fmt.Sprint(zone, w, have.text())}
	})
}

// gapOf is the gap behind a ride: some are shorter than the 70 minutes to the zone's next one.
func gapOf(r ride) time.Duration { return time.Duration(60+r.ID%5*5) * time.Minute }

func dynamicSessions() []string {
	return forDynamic(func(zone string, from, to time.Time, n int) string {
		return windowed(weir.Windowed[string, int]{Key: zone, Window: window.Window{Start: from.UnixMilli(), End: to.UnixMilli()}, Value: n})
	})
}

func forDynamic(text func(zone string, from, to time.Time, n int) string) (out []string) {
	for z := range int64(7) {
		var from, to time.Time
		n := 0
		for id := z; id < rideCount; id += 7 {
			r := newRide(id)
			if n > 0 && r.At.After(to) { // at the very end it still belongs to the session
				out = append(out, text(r.Zone, from, to, n))
				n = 0
			}
			if n == 0 {
				from, to = r.At, r.At
			}
			if end := r.At.Add(gapOf(r)); end.After(to) {
				to = end
			}
			n++
		}
		out = append(out, text(fmt.Sprint("z", z), from, to, n))
	}
	return out
}
