package shapes

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// rollings are the folds by key without windows.
func rollings() []pipeline {
	fold := func(name string, op func(k weir.KeyedStream[string, ride], name string) weir.Stream[ride], step func(have *ride, r ride)) pipeline {
		return pipeline{name, func(env *weir.Env, p pipe) {
			show(op(byZone(env, p), p.in("fold")), p, ride.short)
		}, func() []string {
			have := map[string]ride{}
			var out []string
			for _, r := range allRides() {
				acc, ok := have[r.Zone]
				if ok {
					step(&acc, r)
				} else {
					acc = r
				}
				have[r.Zone] = acc
				out = append(out, acc.short())
			}
			return out
		}}
	}
	fare := func(r *ride) *int64 { return &r.Fare }
	by := func(r ride) int64 { return r.Fare }
	type rows = weir.KeyedStream[string, ride]
	return []pipeline{
		fold("sum", func(k rows, n string) weir.Stream[ride] { return k.Sum(n, fare) }, func(h *ride, r ride) { h.Fare += r.Fare }),
		fold("min", func(k rows, n string) weir.Stream[ride] { return k.Min(n, fare) }, func(h *ride, r ride) { h.Fare = min(h.Fare, r.Fare) }),
		fold("max", func(k rows, n string) weir.Stream[ride] { return k.Max(n, fare) }, func(h *ride, r ride) { h.Fare = max(h.Fare, r.Fare) }),
		fold("minBy", func(k rows, n string) weir.Stream[ride] { return k.MinBy(n, by) }, func(h *ride, r ride) {
			if r.Fare < h.Fare {
				*h = r
			}
		}),
		fold("maxBy", func(k rows, n string) weir.Stream[ride] { return k.MaxBy(n, by, weir.LastWins) }, func(h *ride, r ride) {
			if r.Fare >= h.Fare {
				*h = r
			}
		}),
		fold("reduce", func(k rows, n string) weir.Stream[ride] {
			return k.Reduce(n, func(a, b ride) ride { a.ID, a.Fare = b.ID, a.Fare*3%1009+b.Fare; return a })
		}, func(h *ride, r ride) { h.ID, h.Fare = r.ID, h.Fare*3%1009+r.Fare }),
		{"aggregate", func(env *weir.Env, p pipe) {
			agg := weir.Both(weir.Sum(by), weir.Reducing(func(a, b ride) ride { return b }))
			show(byZone(env, p).Aggregate(p.in("fold"), agg), p, func(v weir.Keyed[string, weir.Pair[int64, ride]]) string {
				return fmt.Sprint(v.Key, v.Value.First, v.Value.Second.text())
			})
		}, func() []string {
			sum := map[string]int64{}
			return lines(func(r ride) []string {
				sum[r.Zone] += r.Fare
				return []string{fmt.Sprint(r.Zone, sum[r.Zone], r.text())}
			})()
		}},
	}
}

func windowed[R any](v weir.Windowed[string, R]) string {
	return fmt.Sprint(v.Key, " ", v.Start().Format("02T15:04"), " ", v.End().Format("02T15:04"), " ", v.Value)
}

// counts is a pipeline that counts the rows of each window.
func counts(name string, spec window.Spec, want func() []string) pipeline {
	return pipeline{name, func(env *weir.Env, p pipe) {
		show(byZone(env, p).Window(p.in("w"), spec).Aggregate(weir.Count[ride]()), p, windowed)
	}, want}
}

// inWindows counts rows of a zone by what windows gives for their time.
func inWindows(windows func(r ride) [][2]time.Time) func() []string {
	return func() []string {
		n := map[string]int64{}
		for _, r := range allRides() {
			for _, w := range windows(r) {
				n[fmt.Sprint(r.Zone, " ", w[0].UTC().Format("02T15:04"), " ", w[1].UTC().Format("02T15:04"))]++
			}
		}
		var out []string
		for k, v := range n {
			out = append(out, fmt.Sprint(k, " ", v))
		}
		return out
	}
}

func windows() []pipeline {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	daily := func(name string, op func(w weir.WindowedStream[string, ride]) weir.Stream[string], spec window.Spec, want func() []string) pipeline {
		return pipeline{name, func(env *weir.Env, p pipe) {
			show(op(byZone(env, p).Window(p.in("w"), spec)), p, func(s string) string { return s })
		}, want}
	}
	ids := func(w weir.WindowedStream[string, ride]) weir.Stream[string] {
		return w.Apply(func(ctx *weir.WindowContext[string], rows iter.Seq[ride], out weir.Out[string]) error {
			var ids []int64
			for r := range rows {
				ids = append(ids, r.ID)
			}
			out.Emit(fmt.Sprint(ctx.Key(), ctx.Window(), ids))
			return nil
		})
	}
	day := window.Tumbling(24 * time.Hour)
	far := func(a, b ride) float64 { return b.Dist - a.Dist }
	return []pipeline{
		counts("tumbling", window.Tumbling(5*time.Hour).Offset(time.Hour), inWindows(func(r ride) [][2]time.Time {
			from := r.At.Add(-time.Hour).Truncate(5 * time.Hour)
			for u := r.At.Add(-time.Hour).Unix(); from.Unix()%(5*3600) != 0 || from.Unix() > u; {
				from = time.Unix(u-u%(5*3600), 0)
			}
			return [][2]time.Time{{from.Add(time.Hour), from.Add(6 * time.Hour)}}
		})),
		counts("sliding", window.Sliding(6*time.Hour, 2*time.Hour), inWindows(func(r ride) (out [][2]time.Time) {
			last := r.At.Truncate(2 * time.Hour)
			for i := range 3 {
				from := last.Add(-time.Duration(i) * 2 * time.Hour)
				out = append(out, [2]time.Time{from, from.Add(6 * time.Hour)})
			}
			return out
		})),
		// Through the night of the change of the clocks: 2024-03-10 has 23 hours.
		counts("days", window.Days(1).In(newYork), inWindows(func(r ride) [][2]time.Time {
			y, m, d := r.At.In(newYork).Date()
			return [][2]time.Time{{time.Date(y, m, d, 0, 0, 0, 0, newYork), time.Date(y, m, d+1, 0, 0, 0, 0, newYork)}}
		})),
		// A zone has a ride every 70 minutes.
		counts("session", window.Session(75*time.Minute), func() []string {
			var out []string
			for z := range 7 {
				n := (rideCount - z + 6) / 7
				from := start.Add(time.Duration(z) * 10 * time.Minute)
				to := from.Add(time.Duration(n-1)*70*time.Minute + 75*time.Minute)
				out = append(out, fmt.Sprintf("z%d %s %s %d", z, from.Format("02T15:04"), to.Format("02T15:04"), n))
			}
			return out
		}),
		counts("dynamicSession", window.SessionDynamic(func(r ride) time.Duration {
			return gapOf(r)
		}), dynamicSessions),
		counts("earlyResults", day.Trigger(window.OnEventTime().Early(window.OnCount(5))), byDay(func(zone string, w window.Window, rows []ride) (out []string) {
			for n := 5; n <= len(rows); n += 5 {
				out = append(out, windowed(weir.Windowed[string, int]{Key: zone, Window: w, Value: n}))
			}
			return append(out, windowed(weir.Windowed[string, int]{Key: zone, Window: w, Value: len(rows)}))
		})),
		counts("purging", day.Trigger(window.Purging(window.OnCount(4))), byDay(func(zone string, w window.Window, rows []ride) (out []string) {
			return slices.Repeat([]string{windowed(weir.Windowed[string, int]{Key: zone, Window: w, Value: 4})}, len(rows)/4)
		})),
		counts("delta", window.Global().Trigger(window.OnDelta(9, far)), forever(func(rows []ride) (out []int) {
			last := rows[0]
			for i, r := range rows {
				if r.Dist-last.Dist > 9 {
					out, last = append(out, i+1), r
				}
			}
			return out
		})),
		// When it fires depends on the batches of the source; here only the shapes are compared.
		counts("continuous", day.Trigger(window.EveryEventTime(7*time.Hour)), nil),
		counts("count", window.Count(6), forever(func(rows []ride) []int { return slices.Repeat([]int{6}, len(rows)/6) })),
		counts("countSliding", window.CountSliding(6, 4), forever(func(rows []ride) (out []int) {
			for n := 4; n <= len(rows); n += 4 {
				out = append(out, min(n, 6))
			}
			return out
		})),
		daily("wholeWindow", ids, day, kept(func(_, _ ride, _ int) bool { return true })),
		daily("evictCount", ids, day.Evictor(window.KeepLast(3)), kept(func(_, _ ride, behind int) bool { return behind < 3 })),
		daily("evictTime", ids, day.Evictor(window.KeepWithin(3*time.Hour)), kept(func(r, last ride, _ int) bool { return last.At.Sub(r.At) < 3*time.Hour })),
		daily("evictDelta", ids, day.Evictor(window.KeepNear(4, far)), kept(func(r, last ride, _ int) bool { return last.Dist-r.Dist < 4 })),
		daily("evictOwn", ids, day.Evictor(window.EvictWith("odd", func(e *window.Elements[ride], _ window.Moment) {
			e.Keep(func(r ride, _ int64) bool { return r.ID%2 == 1 })
		})), kept(func(r, _ ride, _ int) bool { return r.ID%2 == 1 })),
		daily("minByWindow", func(w weir.WindowedStream[string, ride]) weir.Stream[string] {
			return extremes(w.Aggregate(weir.MinBy(func(r ride) int64 { return r.Fare % 10 })))
		}, day, best(func(r, have ride) bool { return r.Fare%10 < have.Fare%10 })),
		daily("maxByWindow", func(w weir.WindowedStream[string, ride]) weir.Stream[string] {
			return extremes(w.Aggregate(weir.MaxBy(func(r ride) int64 { return r.Fare % 10 }, weir.LastWins)))
		}, day, best(func(r, have ride) bool { return r.Fare%10 >= have.Fare%10 })),
		daily("windowReduce", func(w weir.WindowedStream[string, ride]) weir.Stream[string] {
			return w.Reduce(func(a, b ride) ride { a.Fare += b.Fare; return a }).Rebalance().Map(ride.text)
		}, day, byDay(func(_ string, _ window.Window, rows []ride) []string {
			sum := rows[0]
			for _, r := range rows[1:] {
				sum.Fare += r.Fare
			}
			return []string{sum.text()}
		})),
		daily("windowState", func(w weir.WindowedStream[string, ride]) weir.Stream[string] {
			return w.AggregateProcess(weir.Sum(func(r ride) int64 { return r.Fare }), func() weir.WindowFunction[string, int64, string] { return &firings{} })
		}, day.Trigger(window.OnEventTime().Early(window.OnCount(5))), func() []string {
			windows := map[string]int64{}
			return byDay(func(zone string, _ window.Window, rows []ride) (out []string) {
				windows[zone]++
				var sum int64
				for i, r := range rows {
					if sum += r.Fare; (i+1)%5 == 0 {
						out = append(out, firingText(zone, windows[zone], int64(i+1)/5, sum))
					}
				}
				return append(out, firingText(zone, windows[zone], int64(len(rows)/5)+1, sum))
			})()
		}),
		daily("windowApply", func(w weir.WindowedStream[string, ride]) weir.Stream[string] {
			return w.AggregateApply(weir.Mean(func(r ride) int64 { return r.Fare }), func(ctx *weir.WindowContext[string], mean float64, out weir.Out[string]) error {
				out.Emit(fmt.Sprintf("%s %s %.3f", ctx.Key(), ctx.Window(), mean))
				return nil
			})
		}, day, byDay(func(zone string, w window.Window, rows []ride) []string {
			var sum int64
			for _, r := range rows {
				sum += r.Fare
			}
			return []string{fmt.Sprintf("%s %s %.3f", zone, w, float64(sum)/float64(len(rows)))}
		})),
		{"windowAll", func(env *weir.Env, p pipe) {
			all := rides(env, p).Rebalance().Filter(func(ride) bool { return true }).WindowAll(p.in("w"), day)
			show(all.Aggregate(weir.Both(weir.Min(func(r ride) int64 { return r.ID }), weir.Max(func(r ride) int64 { return r.ID }))), p,
				func(v weir.Windowed[struct{}, weir.Pair[int64, int64]]) string {
					return fmt.Sprint(v.Start().Format("02"), v.Value)
				})
		}, func() []string {
			// The first day has the rides of twelve hours, six an hour.
			return []string{"09{0 71}", "10{72 215}", "11{216 359}", "12{360 399}"}
		}},
		{"late", func(env *weir.Env, p pipe) {
			rows := slices.Concat(slices.Repeat(allRides(), 3)) // the second and third time, all but the last window's are late
			s := weir.From(env, p.in("again"), chunks(rows), weir.EventTime(func(r ride) time.Time { return r.At })).Parallelism(1)
			tag := weir.NewTag[ride]("late")
			w := s.KeyBy(func(r ride) string { return r.Zone }).Window(p.in("w"), day).SideLate(tag).Aggregate(weir.Count[ride]())
			show(w.Side(tag), p, ride.text)
		}, func() (out []string) {
			for _, r := range allRides()[:360] { // the day of the last one is still open
				out = append(out, r.text(), r.text())
			}
			return out
		}},
	}
}

// firings numbers the windows of a key, and the firings of each.
type firings struct {
	windows, firings state.Value[int64]
}

func (f *firings) Open(ctx *weir.WindowContext[string]) error {
	f.windows, f.firings = ctx.KeyState(state.ValueOf[int64]("windows")), ctx.WindowState(state.ValueOf[int64]("firings"))
	return nil
}

func (f *firings) Process(ctx *weir.WindowContext[string], sum int64, out weir.Out[string]) error {
	f.firings.Update(func(n *int64) { *n++ })
	if f.firings.Or(0) == 1 {
		f.windows.Update(func(n *int64) { *n++ })
	}
	out.Emit(firingText(ctx.Key(), f.windows.Or(0), f.firings.Or(0), sum))
	return nil
}

// firingText numbers the window at its first firing only: others may come after that of the key's next window.
func firingText(key string, window, firing, sum int64) string {
	if firing > 1 {
		window = 0
	}
	return fmt.Sprint(key, " window ", window, " firing ", firing, " sum ", sum)
}
