package weir_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/window"
)

// trip and fee are the rows of the join tests; Sec is the event time in seconds.
type trip struct {
	Taxi string
	Sec  int64
	Nr   int
}

type fee struct {
	Cents int
	Taxi  string
	Sec   int64
}

func second(s int64) time.Time { return time.Unix(s, 0).UTC() }

func trips(env *weir.Env) weir.KeyedStream[string, trip] {
	return weir.From(env, "trips", slice.Of(trip{"x", 0, 1}, trip{"y", 5, 2}, trip{"x", 20, 3}, trip{"z", 60, 4}, trip{"x", 62, 5}),
		weir.EventTime(func(v trip) time.Time { return second(v.Sec) })).KeyBy(func(v trip) string { return v.Taxi })
}

func fees(env *weir.Env) weir.KeyedStream[string, fee] {
	return weir.From(env, "fees", slice.Of(fee{100, "x", 3}, fee{200, "x", 10}, fee{300, "y", 16}, fee{400, "x", 61}, fee{500, "w", 70}),
		weir.EventTime(func(v fee) time.Time { return second(v.Sec) })).KeyBy(func(v fee) string { return v.Taxi })
}

// pairText writes a pair; a missing side is "-".
func pairText(a *trip, b *fee) string {
	left, right := "-", "-"
	if a != nil {
		left = fmt.Sprint(a.Nr)
	}
	if b != nil {
		right = fmt.Sprint(b.Cents)
	}
	return left + " " + right
}

// Trips 1 (x at 0), 2 (y at 5), 3 (x at 20), 4 (z at 60), 5 (x at 62); fees from 10 s before to 10 s after.
func TestIntervalJoinEveryWay(t *testing.T) {
	type joined = weir.IntervalJoin[string, trip, fee]
	inner := []string{"1 100", "1 200", "3 200", "5 400"}
	lonelyTrips, lonelyFees := []string{"2 -", "4 -"}, []string{"- 300", "- 500"}
	for name, c := range map[string]struct {
		join func(joined) weir.Stream[string]
		want [][]string
	}{
		"inner": {func(j joined) weir.Stream[string] {
			return j.Inner(func(a trip, b fee) string { return pairText(&a, &b) })
		}, [][]string{inner}},
		"left": {func(j joined) weir.Stream[string] {
			return j.LeftOuter(func(a trip, b *fee) string { return pairText(&a, b) })
		}, [][]string{inner, lonelyTrips}},
		"right": {func(j joined) weir.Stream[string] {
			return j.RightOuter(func(a *trip, b fee) string { return pairText(a, &b) })
		}, [][]string{inner, lonelyFees}},
		"full": {func(j joined) weir.Stream[string] { return j.FullOuter(pairText) }, [][]string{inner, lonelyTrips, lonelyFees}},
		"upper exclusive": {func(j joined) weir.Stream[string] {
			return j.UpperExclusive().Inner(func(a trip, b fee) string { return pairText(&a, &b) })
		}, [][]string{{"1 100", "3 200", "5 400"}}},
		"both exclusive": {func(j joined) weir.Stream[string] {
			return j.LowerExclusive().UpperExclusive().Inner(func(a trip, b fee) string { return pairText(&a, &b) })
		}, [][]string{{"1 100", "5 400"}}},
		"process": {func(j joined) weir.Stream[string] {
			return j.Process(func(a trip, b fee, at weir.Match, out weir.Out[string]) error {
				if !at.Left.Equal(second(a.Sec)) || !at.Right.Equal(second(b.Sec)) {
					return fmt.Errorf("times are %v", at)
				}
				out.Emit(pairText(&a, &b))
				out.Emit("again " + pairText(&a, &b))
				return nil
			})
		}, [][]string{inner, {"again 1 100", "again 1 200", "again 3 200", "again 5 400"}}},
	} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, func(t *testing.T, env *weir.Env) {
				j := trips(env).JoinInterval("fees of trips", fees(env), -10*time.Second, 10*time.Second)
				var want []string
				for _, w := range c.want {
					want = append(want, w...)
				}
				equal(t, sorted(env, c.join(j)), want...)
			})
		})
	}
}

func TestWindowJoinEveryWay(t *testing.T) {
	type joined = weir.WindowJoin[string, trip, fee]
	// Minute 0 has trips 1 2 3 and fees 100 200 300, minute 1 trips 4 5 and fees 400 500.
	inner := []string{"1 100", "1 200", "3 100", "3 200", "2 300", "5 400"}
	for name, c := range map[string]struct {
		join func(joined) weir.Stream[string]
		want []string
	}{
		"inner": {func(j joined) weir.Stream[string] {
			return j.Inner(func(a trip, b fee) string { return pairText(&a, &b) })
		}, nil},
		"left": {func(j joined) weir.Stream[string] {
			return j.LeftOuter(func(a trip, b *fee) string { return pairText(&a, b) })
		}, []string{"4 -"}},
		"right": {func(j joined) weir.Stream[string] {
			return j.RightOuter(func(a *trip, b fee) string { return pairText(a, &b) })
		}, []string{"- 500"}},
		"full": {func(j joined) weir.Stream[string] { return j.FullOuter(pairText) }, []string{"4 -", "- 500"}},
	} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, func(t *testing.T, env *weir.Env) {
				j := trips(env).JoinWindow("fees of trips", fees(env), window.Tumbling(time.Minute))
				equal(t, sorted(env, c.join(j)), append(c.want, inner...)...)
			})
		})
	}
}

func TestCoGroupEveryWay(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		s := trips(env).JoinWindow("sessions", fees(env), window.Session(12*time.Second)).
			CoGroup(func(taxi string, w window.Window, left []trip, right []fee, out weir.Out[string]) {
				out.Emit(fmt.Sprintf("%s %d-%d: %d trips, %d fees", taxi, w.Start/1000, w.End/1000, len(left), len(right)))
			})
		// x: 0, 3, 10, 20 are one session; 61, 62 another.
		equal(t, sorted(env, s), "x 0-32: 2 trips, 2 fees", "x 61-74: 1 trips, 1 fees",
			"y 5-28: 1 trips, 1 fees", "z 60-72: 1 trips, 0 fees", "w 70-82: 0 trips, 1 fees")
	})
}

// A padded row comes when its interval has passed, with a time that is not late: a window behind the join counts it.
func TestWindowBehindOuterJoinLosesNothing(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		counts := trips(env).JoinInterval("fees of trips", fees(env), -10*time.Second, 10*time.Second).FullOuter(pairText).
			KeyBy(func(string) string { return "" }).
			Window("all", window.Tumbling(10*time.Second)).Aggregate(weir.Count[string]()).
			Map(func(w weir.Windowed[string, int64]) string {
				return fmt.Sprintf("%d: %d", w.Window.Start/1000, w.Value)
			})
		// 1-100 at 3, 1-200 at 10, 3-200 at 20, 5-400 at 62; 2 at 15, 4 at 70; 300 at 26, 500 at 80.
		equal(t, sorted(env, counts), "0: 1", "10: 2", "20: 2", "60: 1", "70: 1", "80: 1")
	})
}

func TestJoinFailuresNameOperatorAndRows(t *testing.T) {
	for name, c := range map[string]struct {
		join func(env *weir.Env) weir.Stream[string]
		want []string
	}{
		"interval": {func(env *weir.Env) weir.Stream[string] {
			return trips(env).JoinInterval("fees of trips", fees(env), 0, 10*time.Second).Inner(func(trip, fee) string { panic("no till") })
		}, []string{"fees of trips", "no till", "Cents:100", "Nr:1"}},
		"coGroup": {func(env *weir.Env) weir.Stream[string] {
			return trips(env).JoinWindow("groups", fees(env), window.Tumbling(time.Minute)).
				TryCoGroup(func(taxi string, _ window.Window, _ []trip, _ []fee, _ weir.Out[string]) error {
					return fmt.Errorf("no till for %s", taxi)
				})
		}, []string{"groups", "no till for", "Key:", "Left:", "Right:"}},
		"key": {func(env *weir.Env) weir.Stream[string] {
			broken := fees(env).KeyBy(func(f fee) string {
				if f.Cents == 300 {
					panic("no key")
				}
				return f.Taxi
			})
			return trips(env).JoinWindow("groups", broken, window.Tumbling(time.Minute)).FullOuter(pairText)
		}, []string{"no key"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got error
			for _, err := range c.join(weir.NewEnv(name)).CollectErr(context.Background()) {
				got = err
			}
			for _, want := range c.want {
				if got == nil || !strings.Contains(got.Error(), want) {
					t.Errorf("error %v lacks %q", got, want)
				}
			}
		})
	}
}

func TestJoinProblemsAreFoundWhenBuilt(t *testing.T) {
	env := weir.NewEnv("wrong")
	trips(env).JoinInterval("a", fees(env), 10*time.Second, 5*time.Second).FullOuter(pairText)
	trips(env).JoinInterval("b", fees(env), time.Microsecond, 5*time.Second).FullOuter(pairText)
	trips(env).JoinInterval("c", fees(env), 0, 0).LowerExclusive().FullOuter(pairText)
	trips(env).JoinWindow("d", fees(env), window.Count(3)).FullOuter(pairText)
	trips(env).JoinWindow("e", fees(env), window.Tumbling(0)).FullOuter(pairText)
	trips(env).JoinWindow("f", fees(weir.NewEnv("other")), window.Tumbling(time.Second)).FullOuter(pairText)
	trips(env).JoinWindow("g", fees(env), window.Tumbling(time.Second)).FullOuter((func(*trip, *fee) string)(nil))
	trips(env).JoinWindow("", fees(env), window.Tumbling(time.Second)).FullOuter(pairText)
	_, err := env.Explain()
	if err == nil {
		t.Fatal("the plan is accepted")
	}
	for _, want := range []string{`"a": no time lies between`, `"b": a bound of`, `"c": no time`, `"d": count windows`, `window join "e"`,
		`join "f" belong to different environments`, "passed to FullOuter is nil", "join_test.go"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
}

func TestExplainOfJoins(t *testing.T) {
	env := weir.NewEnv("plan")
	trips(env).JoinInterval("near", fees(env), -time.Second, time.Minute).UpperExclusive().FullOuter(pairText).To("out", blackhole.Sink[string]())
	text, err := env.Explain()
	if err != nil || !strings.Contains(text, "right - left in [-1s, 1m0s)") {
		t.Fatalf("%v\n%s", err, text)
	}
}
