package main

import (
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/window"
)

// Top is one of the busiest destinations of an airport on a local day.
type Top struct {
	Origin  string `json:"origin"`
	Day     string `json:"day"`
	Rank    int    `json:"rank"`
	Dest    string `json:"dest"`
	Flights int64  `json:"flights"`
}

// route is from where to where.
type route struct{ Origin, Dest string }

// count is the departures on a route on a day.
type count struct {
	Dest    string
	Flights int64
}

// ranking holds the three best so far, best first.
type ranking struct {
	Best [3]count
	N    int
}

// add puts a destination in its place: more flights first, equal ones by code.
func (r *ranking) add(c count) {
	at := r.N
	for at > 0 && (c.Flights > r.Best[at-1].Flights || c.Flights == r.Best[at-1].Flights && c.Dest < r.Best[at-1].Dest) {
		at--
	}
	if at == len(r.Best) {
		return
	}
	copy(r.Best[at+1:], r.Best[at:])
	r.Best[at] = c
	r.N = min(r.N+1, len(r.Best))
}

// top counts by route and local day, and ranks the counts of an airport in a window of the same day: a result's event time
// is the last millisecond of its window.
func top(flights weir.Stream[Flight], ny *time.Location) weir.Stream[Top] {
	day := window.Days(1).In(ny)
	return flights.
		KeyBy(func(f Flight) route { return route{f.Origin, f.Dest} }).
		Window("departures by route", day).
		Aggregate(weir.Count[Flight]()).
		KeyBy(func(w weir.Windowed[route, int64]) string { return w.Key.Origin }).
		Window("top", day).
		Aggregate(weir.Aggregation[weir.Windowed[route, int64], ranking, ranking]{
			Add:    func(r *ranking, w weir.Windowed[route, int64]) { r.add(count{w.Key.Dest, w.Value}) },
			Result: func(r *ranking) ranking { return *r },
		}).
		FlatMap(func(w weir.Windowed[string, ranking], emit func(Top)) {
			for i, c := range w.Value.Best[:w.Value.N] {
				emit(Top{Origin: w.Key, Day: w.Start().In(ny).Format(time.DateOnly), Rank: i + 1, Dest: c.Dest, Flights: c.Flights})
			}
		}).Name("top rows")
}
