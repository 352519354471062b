package main

import (
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/window"
)

// Delay is the delays of an airport in an hour.
type Delay struct {
	Origin  string  `json:"origin"`
	Hour    string  `json:"hour"`
	Flights int64   `json:"flights"`
	Mean    float64 `json:"mean_dep_delay"`
	Max     int32   `json:"max_dep_delay"`
}

// delayState gathers the delays of an hour.
type delayState struct {
	Flights, Sum int64
	Max          int32
}

// delays are by origin and UTC hour of the departure.
func delays(flights weir.Stream[Flight]) weir.Stream[Delay] {
	return flights.
		KeyBy(func(f Flight) string { return f.Origin }).
		Window("delays", window.Tumbling(time.Hour)).
		Aggregate(weir.Aggregation[Flight, delayState, delayState]{
			Add: func(s *delayState, f Flight) {
				if s.Flights == 0 || f.Delay.V > s.Max {
					s.Max = f.Delay.V
				}
				s.Flights++
				s.Sum += int64(f.Delay.V)
			},
			Result: func(s *delayState) delayState { return *s },
		}).
		Map(func(w weir.Windowed[string, delayState]) Delay {
			d := w.Value
			return Delay{Origin: w.Key, Hour: w.Start().Format(time.RFC3339), Flights: d.Flights,
				Mean: float64(d.Sum) / float64(d.Flights), Max: d.Max}
		}).Name("delay rows")
}
