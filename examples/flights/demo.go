package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weir-stream/weir"
)

// demo shows what the jobs have found, and what became of every row.
type demo struct {
	delays     *weir.Gathered[Delay]
	top        *weir.Gathered[Top]
	turnaround *weir.Gathered[Streak]
}

// rowsShown is how many results of each job are printed.
const rowsShown = 5

func (d *demo) print(r *weir.Result) {
	delays, tops, streaks := d.delays.Rows(), d.top.Rows(), d.turnaround.Rows()
	slices.SortFunc(delays, func(a, b Delay) int {
		return cmp.Or(cmp.Compare(b.Mean*float64(b.Flights), a.Mean*float64(a.Flights)), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Hour, b.Hour))
	})
	fmt.Printf("\ndelays: the worst of %s hours, by minutes lost\n  %-6s %-20s %7s %9s %9s\n", commas(len(delays)), "origin", "hour", "flights", "mean", "max")
	for _, x := range delays[:min(rowsShown, len(delays))] {
		fmt.Printf("  %-6s %-20s %7d %9.1f %9d\n", x.Origin, x.Hour, x.Flights, x.Mean, x.Max)
	}
	slices.SortFunc(tops, func(a, b Top) int {
		return cmp.Or(cmp.Compare(b.Flights, a.Flights), cmp.Compare(a.Day, b.Day), cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Dest, b.Dest))
	})
	fmt.Printf("\ntop: the busiest of %s routes and days\n  %-6s %-10s %4s %-4s %7s\n", commas(len(tops)), "origin", "day", "rank", "dest", "flights")
	for _, x := range tops[:min(rowsShown, len(tops))] {
		fmt.Printf("  %-6s %-10s %4d %-4s %7d\n", x.Origin, x.Day, x.Rank, x.Dest, x.Flights)
	}
	slices.SortFunc(streaks, func(a, b Streak) int {
		return cmp.Or(cmp.Compare(b.Flights, a.Flights), cmp.Compare(b.DelaySum, a.DelaySum), cmp.Compare(a.Tail, b.Tail))
	})
	fmt.Printf("\nturnaround: the longest of %s streaks\n  %-8s %-20s %-20s %7s %9s\n", commas(len(streaks)), "aircraft", "first", "last", "flights", "delay sum")
	for _, x := range streaks[:min(rowsShown, len(streaks))] {
		fmt.Printf("  %-8s %-20s %-20s %7d %9d\n", x.Tail, x.First, x.Last, x.Flights, x.DelaySum)
	}
	d.account(r, tops)
}

// account says where every row went.
func (d *demo) account(r *weir.Result, tops []Top) {
	source, _ := r.Operator("flights")
	departed := source.RowsIn - source.NoTime
	late := func(op string) int64 {
		o, _ := r.Operator(op)
		return o.Late
	}
	inTop := int64(0)
	for _, t := range tops {
		inTop += t.Flights
	}
	inDelays := int64(0)
	for _, x := range d.delays.Rows() {
		inDelays += x.Flights
	}
	counter := func(op, name string) int64 {
		o, _ := r.Operator(op)
		return o.Counters[name]
	}
	fmt.Printf("\nWhere every row went\n")
	line := func(depth int, n int64, what string) { fmt.Printf("%12s %*s%s\n", commas(int(n)), 2*depth, "", what) }
	line(0, source.RowsIn, fmt.Sprintf("rows read in %s: %s rows a second", r.Duration.Round(time.Millisecond), commas(int(float64(source.RowsIn)/r.Duration.Seconds()))))
	line(1, source.Bad, "could not be decoded")
	line(1, source.NoTime, "never departed (side output of the source)")
	line(1, departed, "departed")
	line(2, inDelays, "delays: counted in an hour")
	line(2, late("delays"), "delays: late, behind the watermark")
	line(2, inTop, "top: to one of the first three destinations of the day")
	line(2, departed-inTop-late("departures by route"), "top: to another destination")
	line(2, late("departures by route"), "top: late, behind the watermark")
	line(2, counter("known aircraft", "unknownAircraft"), "turnaround: aircraft unknown")
	line(2, counter("turnaround", "flightsOnTime"), "turnaround: not more than 30 minutes late")
	line(2, counter("turnaround", "flightsInShortStreaks"), "turnaround: late, in a streak of one or two")
	line(2, counter("turnaround", "flightsInStreaks"), "turnaround: late, in a streak that is reported")
}

// commas writes a number with commas.
func commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
