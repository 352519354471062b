package main

import (
	"fmt"

	"github.com/weir-stream/weir"
)

// Streak is an aircraft's run of late departures.
type Streak struct {
	Tail     string `json:"tailnum"`
	First    string `json:"first"`
	Last     string `json:"last"`
	Flights  int64  `json:"flights"`
	DelaySum int64  `json:"delay_sum"`
}

// demo shows what the jobs have found.
type demo struct {
	jobs       []string
	delays     *weir.Gathered[Delay]
	top        *weir.Gathered[Top]
	turnaround *weir.Gathered[Streak]
}

func (d *demo) print(r *weir.Result) { fmt.Println(len(d.delays.Rows()), len(d.top.Rows())) }

func turnaround(flights weir.Stream[Flight]) weir.Stream[Streak] {
	return flights.FlatMap(func(f Flight, emit func(Streak)) {})
}
