package main

import (
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/metric"
	"github.com/weir-stream/weir/state"
)

// Streak is an aircraft's run of late departures.
type Streak struct {
	Tail     string `json:"tailnum"`
	First    string `json:"first"`
	Last     string `json:"last"`
	Flights  int64  `json:"flights"`
	DelaySum int64  `json:"delay_sum"`
}

const (
	lateMinutes = 30             // a departure is late if its delay is more
	gapMax      = 12 * time.Hour // departures further apart are of two streaks
	streakMin   = 3              // flights of a streak that is reported
)

// turnaround finds aircraft that leave late again and again.
func turnaround(flights weir.Stream[Flight], ny *time.Location) weir.Stream[Streak] {
	return flights.
		Process("known aircraft", func() weir.ProcessFunc[Flight, Flight] { return &known{} }).
		KeyBy(func(f Flight) string { return f.Tail.V }).
		Process("turnaround", func() weir.KeyedProcess[string, Flight, Streak] { return &streaks{ny: ny} })
}

// known passes on the flights whose aircraft is known, and counts the others.
type known struct{ unknown *metric.Counter }

func (k *known) Open(ctx *weir.Context) error {
	k.unknown = ctx.Metrics().Counter("unknownAircraft")
	return nil
}

func (k *known) Process(_ *weir.Context, f Flight, out weir.Out[Flight]) error {
	if f.Tail.V == "" {
		k.unknown.Inc()
		return nil
	}
	out.Emit(f)
	return nil
}

// departure orders the departures of an aircraft.
type departure struct {
	Instant, Scheduled int64 // ms
	Number             int32
	Origin             string
}

// late is a departure with its delay in minutes.
type late struct {
	departure
	delay int32
}

// run is the late departures in a row so far.
type run struct {
	First, Last int64 // ms
	Flights     int64
	Delay       int64
}

// streaks keeps for each aircraft the departures that wait for the watermark, because an earlier one may still come, and
// the run that is open.
type streaks struct {
	ny                      *time.Location
	pending                 state.Map[departure, int32]
	open                    state.Value[run]
	due                     []late // memory of OnTimer
	onTime, short, reported *metric.Counter
}

func (s *streaks) Open(ctx *weir.KeyedContext[string]) error {
	s.pending = ctx.State(state.MapOf[departure, int32]("pending"))
	s.open = ctx.State(state.ValueOf[run]("open"))
	s.onTime = ctx.Metrics().Counter("flightsOnTime")
	s.short = ctx.Metrics().Counter("flightsInShortStreaks")
	s.reported = ctx.Metrics().Counter("flightsInStreaks")
	return nil
}

// Process keeps a departure until the watermark says that all before it are known.
func (s *streaks) Process(ctx *weir.KeyedContext[string], f Flight, _ weir.Out[Streak]) error {
	at := f.instant(s.ny)
	s.pending.Put(departure{at.UnixMilli(), f.scheduled(s.ny).UnixMilli(), f.Number, f.Origin}, f.Delay.V)
	ctx.RegisterEventTimer(at)
	return nil
}

// OnTimer is called at the instant of each departure, and when a run has had no departure for too long.
func (s *streaks) OnTimer(ctx *weir.KeyedContext[string], t weir.Timer, out weir.Out[Streak]) error {
	now := t.Time.UnixMilli()
	s.due = s.due[:0]
	for d, delay := range s.pending.All() { // in the order of their instants
		if d.Instant > now {
			break
		}
		s.due = append(s.due, late{d, delay})
	}
	for _, d := range s.due {
		s.pending.Delete(d.departure)
		s.depart(ctx, d.Instant, int64(d.delay), out)
	}
	if r, ok := s.open.Get(); ok && now > r.Last+gapMax.Milliseconds() {
		s.end(ctx, r, out)
	}
	return nil
}

func (s *streaks) depart(ctx *weir.KeyedContext[string], at, delay int64, out weir.Out[Streak]) {
	r, ok := s.open.Get()
	if ok && (delay <= lateMinutes || at > r.Last+gapMax.Milliseconds()) {
		s.end(ctx, r, out)
		r, ok = run{}, false
	}
	if delay <= lateMinutes {
		s.onTime.Inc()
		return
	}
	if !ok {
		r.First = at
	}
	r.Last = at
	r.Flights++
	r.Delay += delay
	s.open.Set(r)
	ctx.RegisterEventTimer(time.UnixMilli(at).Add(gapMax + time.Millisecond))
}

func (s *streaks) end(ctx *weir.KeyedContext[string], r run, out weir.Out[Streak]) {
	s.open.Clear()
	if r.Flights < streakMin {
		s.short.Add(r.Flights)
		return
	}
	s.reported.Add(r.Flights)
	text := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	out.Emit(Streak{Tail: ctx.Key(), First: text(r.First), Last: text(r.Last), Flights: r.Flights, DelaySum: r.Delay})
}
