package shapes

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/state"
)

func processes() []pipeline {
	side := weir.NewTag[ride]("side")
	text := func(s string) string { return s }
	return []pipeline{
		{"process", func(env *weir.Env, p pipe) {
			out := rides(env, p).Rebalance().ProcessEach(p.in("f"), func(ctx *weir.Context, r ride, out weir.Out[string]) error {
				at, ok := ctx.Timestamp()
				out.Emit(fmt.Sprint(r.ID, at.UnixMilli(), ok, ctx.Operator() == p.in("f"), ctx.Subtask() < ctx.Parallelism()))
				return nil
			})
			show(out, p, text)
		}, one(func(r ride) string { return fmt.Sprint(r.ID, r.At.UnixMilli(), true, true, true) })},
		{"sideOutput", func(env *weir.Env, p pipe) {
			out := rides(env, p).Rebalance().ProcessEach(p.in("f"), func(ctx *weir.Context, r ride, out weir.Out[int64]) error {
				ctx.Side(side, r)
				return nil
			})
			show(out.Side(side), p, ride.text)
		}, one(ride.text)},
		{"keyedProcess", func(env *weir.Env, p pipe) {
			show(byZone(env, p).Process(p.in("f"), func() weir.KeyedProcess[string, ride, string] { return &states{} }), p, text)
		}, func() (out []string) {
			for z := range int64(7) {
				notes, fares, n, sum, total := "", map[string]int64{}, 0, int64(0), int64(0)
				var last ride
				for id := z; id < rideCount; id += 7 {
					last = newRide(id)
					if n++; id%3 == 0 {
						notes += "-"
					} else {
						notes += fmt.Sprint("note ", id)
					}
					fares[fmt.Sprint(id%3)] += last.Fare
					sum, total = sum+id, total+last.Fare
				}
				out = append(out, fmt.Sprint(last.Zone, start.AddDate(1, 0, 0), last.text(), n, notes, fares, sum, float64(total)/float64(n)))
			}
			return out
		}},
		{"coProcess", func(env *weir.Env, p pipe) {
			other := rides(env, p).Map(func(r ride) int64 { return r.ID })
			show(rides(env, p).Rebalance().Connect(other.Rebalance()).Process(p.in("f"), func() weir.CoProcess[ride, int64, string] { return both{} }), p, text)
		}, lines(func(r ride) []string { return []string{r.text(), fmt.Sprint("id ", r.ID)} })},
		{"keyedCoProcess", func(env *weir.Env, p pipe) {
			show(byZone(env, p).Connect(bills(env, p)).Process(p.in("f"), func() weir.KeyedCoProcess[string, ride, bill, string] { return &account{} }), p, text)
		}, func() []string {
			n := map[string]*[2]int64{}
			at := func(zone string) *[2]int64 {
				if n[zone] == nil {
					n[zone] = &[2]int64{}
				}
				return n[zone]
			}
			for _, r := range allRides() {
				at(r.Zone)[0]++
			}
			for _, b := range allBills() {
				at(b.Zone)[1] += b.Ride
			}
			var out []string
			for zone, v := range n {
				out = append(out, fmt.Sprint(zone, " ", v[0], " ", v[1]))
			}
			return out
		}},
		{"broadcastState", func(env *weir.Env, p pipe) {
			out := rides(env, p).Rebalance().ConnectBroadcast(bills(env, p).Stream).Process(p.in("f"), func() weir.BroadcastProcess[ride, bill, string] { return &rules{} })
			// How many rules a subtask has seen depends on when its rows came; that every subtask sees all of them does not.
			show(out, p, text)
		}, one(func(r ride) string { return fmt.Sprint("ride ", r.ID) })},
		{"keyedBroadcastState", func(env *weir.Env, p pipe) {
			out := byZone(env, p).ConnectBroadcast(bills(env, p).Stream).Process(p.in("f"), func() weir.KeyedBroadcastProcess[string, ride, bill, string] { return &keyedRules{} })
			show(out, p, text)
		}, func() []string {
			var sum int64
			for _, b := range allBills() {
				sum += b.Ride
			}
			var out []string
			for z := range 7 {
				out = append(out, fmt.Sprintf("z%d %d rules %d sum %d", z, (rideCount-z+6)/7, len(allBills()), sum))
			}
			return out
		}},
		{"rich", func(env *weir.Env, p pipe) {
			rows := rides(env, p).Rebalance().RichFilter(func() weir.Filterer[ride] { return opened{new(bool)} })
			mapped := rows.Rebalance().RichMap(func() weir.Mapper[ride, ride] { return opened{new(bool)} })
			show(mapped.Rebalance().RichFlatMap(func() weir.FlatMapper[ride, string] { return opened{new(bool)} }), p, text)
		}, lines(func(r ride) []string {
			if r.ID%2 == 1 {
				return nil
			}
			return []string{fmt.Sprint(r.ID + 1), fmt.Sprint(r.Fare)}
		})},
	}
}

// states has one state of each kind, which the timer a day behind the start reads.
type states struct {
	last  state.Value[ride]
	list  state.List[*string]
	fares state.Map[string, int64]
	sum   state.Reducing[int64]
	mean  state.Aggregating[ride, weir.MeanState, float64]
}

func (s *states) Open(ctx *weir.KeyedContext[string]) error {
	s.last = ctx.State(state.ValueOf[ride]("last"))
	s.list = ctx.State(state.ListOf[*string]("list"))
	s.fares = ctx.State(state.MapOf[string, int64]("fares"))
	s.sum = ctx.State(state.ReducingOf("sum", func(a, b int64) int64 { return a + b }))
	agg := weir.Mean(func(r ride) int64 { return r.Fare })
	s.mean = ctx.State(state.AggregatingOf("mean", agg.Add, agg.Result))
	return nil
}

func (s *states) Process(ctx *weir.KeyedContext[string], r ride, _ weir.Out[string]) error {
	s.last.Set(r)
	s.list.Add(r.Note)
	s.fares.Update(fmt.Sprint(r.ID%3), func(n *int64) { *n += r.Fare })
	s.sum.Add(r.ID)
	s.mean.Add(r)
	ctx.RegisterEventTimer(start.AddDate(1, 0, 0)) // far behind the last row: at the end
	return nil
}

func (s *states) OnTimer(ctx *weir.KeyedContext[string], t weir.Timer, out weir.Out[string]) error {
	last, _ := s.last.Get()
	sum, _ := s.sum.Get()
	mean, _ := s.mean.Get()
	notes := ""
	for n := range s.list.All() {
		if n == nil {
			notes += "-"
		} else {
			notes += *n
		}
	}
	fares := maps.Collect(s.fares.All())
	out.Emit(fmt.Sprint(ctx.Key(), t.Time, last.text(), s.list.Len(), notes, fares, sum, mean))
	return nil
}

type both struct{}

func (both) Process1(_ *weir.Context, r ride, out weir.Out[string]) error {
	out.Emit(r.text())
	return nil
}

func (both) Process2(_ *weir.Context, id int64, out weir.Out[string]) error {
	out.Emit(fmt.Sprint("id ", id))
	return nil
}

// account counts rides and adds up bills of a key.
type account struct{ v state.Value[[2]int64] }

func (a *account) Open(ctx *weir.KeyedContext[string]) error {
	a.v = ctx.State(state.ValueOf[[2]int64]("v"))
	return nil
}

func (a *account) Process1(ctx *weir.KeyedContext[string], _ ride, _ weir.Out[string]) error {
	a.v.Update(func(v *[2]int64) { v[0]++ })
	ctx.RegisterEventTimer(start.AddDate(1, 0, 0))
	return nil
}

func (a *account) Process2(ctx *weir.KeyedContext[string], b bill, _ weir.Out[string]) error {
	a.v.Update(func(v *[2]int64) { v[1] += b.Ride })
	ctx.RegisterEventTimer(start.AddDate(1, 0, 0))
	return nil
}

func (a *account) OnTimer(ctx *weir.KeyedContext[string], _ weir.Timer, out weir.Out[string]) error {
	v, _ := a.v.Get()
	out.Emit(fmt.Sprint(ctx.Key(), " ", v[0], " ", v[1]))
	return nil
}

var rulesOf = state.BroadcastOf[int64, bill]("rules")

type rules struct{}

func (*rules) Process(ctx *weir.BroadcastReader, r ride, out weir.Out[string]) error {
	if n := ctx.Broadcast(rulesOf).Len(); n > len(allBills()) {
		return fmt.Errorf("%d rules", n)
	}
	out.Emit(fmt.Sprint("ride ", r.ID))
	return nil
}

func (*rules) ProcessBroadcast(ctx *weir.BroadcastContext, b bill, _ weir.Out[string]) error {
	ctx.Broadcast(rulesOf).Put(b.Ride, b)
	return nil
}

// keyedRules says at the end what each key and its subtask's rules are.
type keyedRules struct{ n state.Value[int64] }

func (k *keyedRules) Open(ctx *weir.KeyedContext[string]) error {
	k.n = ctx.State(state.ValueOf[int64]("n"))
	return nil
}

func (k *keyedRules) Process(ctx *weir.KeyedBroadcastReader[string], _ ride, _ weir.Out[string]) error {
	k.n.Update(func(n *int64) { *n++ })
	ctx.RegisterEventTimer(start.AddDate(1, 0, 0))
	return nil
}

func (k *keyedRules) ProcessBroadcast(ctx *weir.KeyedBroadcastContext[string], b bill, _ weir.Out[string]) error {
	ctx.Broadcast(rulesOf).Put(b.Ride, b)
	return nil
}

func (k *keyedRules) OnTimer(ctx *weir.KeyedBroadcastReader[string], _ weir.Timer, out weir.Out[string]) error {
	all := ctx.Broadcast(rulesOf)
	var sum int64
	for id := range all.All() {
		sum += id
	}
	out.Emit(fmt.Sprintf("%s %d rules %d sum %d", ctx.Key(), k.n.Or(0), all.Len(), sum))
	return nil
}

// opened is a function of each kind that must be opened first.
type opened struct{ open *bool }

func (o opened) Open(*weir.Context) error { *o.open = true; return nil }
func (o opened) Close() error             { *o.open = false; return nil }

func (o opened) Filter(_ *weir.Context, r ride) (bool, error) { return r.ID%2 == 0 && *o.open, nil }

func (o opened) Map(_ *weir.Context, r ride) (ride, error) {
	if !*o.open {
		return r, fmt.Errorf("not open")
	}
	r.ID++
	return r, nil
}

func (o opened) FlatMap(_ *weir.Context, r ride, out weir.Out[string]) error {
	for _, s := range slices.Collect(slices.Values([]int64{r.ID, r.Fare})) {
		if *o.open {
			out.Emit(fmt.Sprint(s))
		}
	}
	return nil
}
