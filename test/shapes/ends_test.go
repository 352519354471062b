package shapes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/function"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/connector/sequence"
	"github.com/weir-stream/weir/window"
)

// chunks gives rows by a function, which the engine asks for them a few at a time.
func chunks[T any](rows []T) connector.Source[T] {
	return function.Source(func(_ context.Context, emit func(T) error) error {
		for _, r := range rows {
			if err := emit(r); err != nil {
				return err
			}
		}
		return nil
	}, function.Bounded())
}

// attempts fails the first two calls for every third ride.
type attempts struct {
	mu sync.Mutex
	n  map[int64]int
}

func (a *attempts) fail(id int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n[id]++
	return id%3 == 0 && a.n[id] < 3
}

var errNotYet = errors.New("not yet")

// calls are asynchronous calls.
func calls() []pipeline {
	text := func(s string) string { return s }
	retry := weir.Retry{Attempts: 3, Backoff: weir.ExponentialBackoff(time.Millisecond, 4*time.Millisecond, 2), If: func(err error) bool { return errors.Is(err, errNotYet) }}
	async := func(name string, opts weir.Async) pipeline {
		return pipeline{name, func(env *weir.Env, p pipe) {
			tries := &attempts{n: map[int64]int{}}
			show(rides(env, p).Rebalance().AsyncMap(p.in("call"), opts, func(_ context.Context, r ride) (ride, error) {
				if tries.fail(r.ID) {
					return r, errNotYet
				}
				r.Fare++
				return r, nil
			}), p, ride.short)
		}, one(func(r ride) string { r.Fare++; return r.short() })}
	}
	return []pipeline{
		async("asyncOrdered", weir.Async{Retry: retry}),
		async("asyncUnordered", weir.Async{Unordered: true, Capacity: 7, Timeout: time.Minute, Retry: retry}),
		{"asyncFlatMap", func(env *weir.Env, p pipe) {
			show(rides(env, p).Rebalance().AsyncFlatMap(p.in("call"), weir.Async{}, func(_ context.Context, r ride) ([]string, error) { return r.Tags, nil }), p, text)
		}, lines(func(r ride) []string { return r.Tags })},
		{"asyncOr", func(env *weir.Env, p pipe) {
			show(rides(env, p).Rebalance().AsyncMapOr(p.in("call"), weir.Async{}, func(_ context.Context, r ride) (string, error) { return r.Zone, errNotYet },
				func(r ride, err error) (string, error) { return fmt.Sprint(r.ID, err), nil }), p, text)
		}, one(func(r ride) string { return fmt.Sprint(r.ID, " not yet") })},
	}
}

// partitions look at all rows at once.
func partitions() []pipeline {
	sorted := func(rows []ride) string {
		text := ""
		for _, r := range rows {
			text += fmt.Sprint(r.Fare, ":", r.ID, " ")
		}
		return text
	}
	total := func(a, b ride) ride { a.Fare += b.Fare; return a }
	fares := func() []string {
		sum := map[string]int64{}
		for _, r := range allRides() {
			sum[r.Zone] += r.Fare
		}
		var out []string
		for z := range 7 {
			out = append(out, fmt.Sprintf("%d z%d %d", z, z, sum[fmt.Sprint("z", z)]))
		}
		return out
	}
	return []pipeline{
		{"partitionSort", func(env *weir.Env, p pipe) {
			rows := byZone(env, p).FullPartition(p.in("sort")).Sort(func(a, b ride) int { return int(a.Fare - b.Fare) })
			// That the order is right is seen by key, in one subtask.
			show(rows.KeyBy(func(r ride) string { return r.Zone }).FullPartition(p.in("look")).Map(func(_ string, rows []ride, out weir.Out[string]) { out.Emit(sorted(rows)) }), p,
				func(s string) string { return s })
		}, func() (out []string) {
			for z := range int64(7) {
				text := ""
				for fare := range int64(101) {
					for id := z; id < rideCount; id += 7 {
						if newRide(id).Fare == fare {
							text += fmt.Sprint(fare, ":", id, " ")
						}
					}
				}
				out = append(out, text)
			}
			return out
		}},
		{"partitionReduce", func(env *weir.Env, p pipe) {
			show(byZone(env, p).FullPartition(p.in("reduce")).Reduce(total), p, ride.short)
		}, fares},
		{"partitionAggregate", func(env *weir.Env, p pipe) {
			show(byZone(env, p).FullPartition(p.in("agg")).Aggregate(weir.Sum(func(r ride) int64 { return r.Fare })), p,
				func(v weir.Keyed[string, int64]) string { return fmt.Sprintf("%s %s %d", v.Key[1:], v.Key, v.Value) })
		}, fares},
		{"partitionWhole", func(env *weir.Env, p pipe) {
			rows := rides(env, p).Rebalance().Filter(func(ride) bool { return true }).Global()
			show(rows.FullPartition(p.in("sort")).Sort(func(a, b ride) int { return int(b.ID - a.ID) }).Parallelism(1).
				FullPartition(p.in("look")).Map(func(rows []ride, out weir.Out[string]) { out.Emit(sorted(rows)) }).Parallelism(1), p,
				func(s string) string { return s })
		}, func() []string {
			text := ""
			for id := int64(rideCount - 1); id >= 0; id-- {
				text += fmt.Sprint(newRide(id).Fare, ":", id, " ")
			}
			return []string{text}
		}},
	}
}

const badCSV = "id,zone\n1,a\nx,b\n3,c\n4\n5,e\n"

type csvRow struct {
	ID   int64  `csv:"id"`
	Zone string `csv:"zone"`
}

// ends are sources and sinks.
func ends() []pipeline {
	fromCSV := func(env *weir.Env, p pipe) weir.Stream[csvRow] {
		return weir.From(env, p.in("csv"), file.CSV[csvRow](filepath.Join(p.dir, "bad.csv")), weir.OnBadRecord[csvRow](weir.QuarantineBad(0)))
	}
	return []pipeline{
		{"sequence", func(env *weir.Env, p pipe) {
			show(weir.From(env, p.in("n"), sequence.Of(5, 2005)), p, func(n int64) string { return fmt.Sprint(n) })
		}, func() (out []string) {
			for n := range 2001 {
				out = append(out, fmt.Sprint(n+5))
			}
			return out
		}},
		{"generator", func(env *weir.Env, p pipe) {
			show(weir.From(env, p.in("n"), generator.Of(newRide, generator.Count(rideCount), generator.RowsPerSecond(4000))), p, ride.text)
		}, one(ride.text)},
		{"parallelFunction", func(env *weir.Env, p pipe) {
			show(weir.From(env, p.in("n"), function.Parallel(4, func(_ context.Context, split, splits int, emit func(ride) error) error {
				for i := int64(split); i < rideCount; i += int64(splits) {
					if err := emit(newRide(i)); err != nil {
						return err
					}
				}
				return nil
			}, function.Bounded())), p, ride.text)
		}, one(ride.text)},
		{"csv", func(env *weir.Env, p pipe) {
			show(fromCSV(env, p), p, func(r csvRow) string { return fmt.Sprint(r.ID, r.Zone) })
		}, func() []string { return []string{"1a", "3c", "5e"} }},
		{"quarantine", func(env *weir.Env, p pipe) {
			show(fromCSV(env, p).BadRecords(), p, func(b connector.BadRecord) string {
				return fmt.Sprintf("%s:%d %s %q %q", filepath.Base(b.Where), b.Line, b.Field, b.Value, strings.TrimSpace(string(b.Raw)))
			})
		}, func() []string { return []string{`bad.csv:3 id "x" "x,b"`, `bad.csv:5  "1 fields: 4" "4"`} }},
		{"noTime", func(env *weir.Env, p pipe) {
			s := weir.From(env, p.in("n"), chunks(allRides()), weir.EventTime(func(r ride) time.Time {
				if r.ID%2 == 0 {
					return time.Time{}
				}
				return r.At
			}))
			show(s.NoTime(), p, ride.text)
		}, lines(func(r ride) []string {
			if r.ID%2 == 0 {
				return []string{r.text()}
			}
			return nil
		})},
		{"withEventTime", func(env *weir.Env, p pipe) {
			// The batches carry no times; the rides in them do.
			batches := weir.From(env, p.in("n"), chunks(slices.Collect(slices.Chunk(allRides(), 10)))).Parallelism(1)
			s := batches.Rebalance().FlatMap(func(rows []ride, emit func(ride)) {
				for _, r := range rows {
					emit(r)
				}
			}).WithEventTime(func(r ride) time.Time { return r.At }, weir.OutOfOrder(100*time.Hour), weir.Idle(time.Minute))
			show(s.KeyBy(func(r ride) string { return r.Zone }).Window(p.in("w"), window.Tumbling(24*time.Hour)).Aggregate(weir.Count[ride]()), p, windowed)
		}, byDay(func(zone string, w window.Window, rows []ride) []string {
			return []string{windowed(weir.Windowed[string, int]{Key: zone, Window: w, Value: len(rows)})}
		})},
		{"jsonFile", func(env *weir.Env, p pipe) {
			rows := rides(env, p).Rebalance().Map(func(r ride) csvRow { return csvRow{r.ID, r.Zone} })
			rows.To(p.name, file.JSONSink[csvRow](filepath.Join(p.dir, p.name+".out")+"/"))
		}, one(func(r ride) string { return fmt.Sprintf(`{"ID":%d,"Zone":%q}`, r.ID, r.Zone) })},
		{"printed", func(env *weir.Env, p pipe) {
			got := rides(env, p).Rebalance().ProcessEach(p.in("count"), func(ctx *weir.Context, r ride, out weir.Out[ride]) error {
				ctx.Metrics().Counter("seen").Add(2)
				if r.ID%10 == 0 {
					out.Emit(r)
				}
				return nil
			}).Gather()
			env.AtEnd(func(res *weir.Result) {
				for _, r := range got.Rows() {
					fmt.Printf("%s> %s\n", p.name, r.text())
				}
				src, ok := res.Operator(p.in("rides1"))
				count, _ := res.Operator(p.in("count"))
				fmt.Printf("%s> %v %d %d %d %d\n", p.name, ok, src.RowsIn, count.RowsIn, count.RowsOut, count.Counters["seen"])
			})
		}, func() []string {
			out := []string{fmt.Sprint("true ", rideCount, " ", rideCount, " ", rideCount/10, " ", 2*rideCount)}
			for id := int64(0); id < rideCount; id += 10 {
				out = append(out, newRide(id).text())
			}
			return out
		}},
	}
}
