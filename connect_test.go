package weir_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/state"
)

// everyWay runs a job at parallelism 1 to 3 and with batches of 1, 2 and as many rows as fit.
func everyWay(t *testing.T, run func(t *testing.T, env *weir.Env)) {
	for _, p := range []int{1, 2, 3} {
		for _, rows := range []string{"1", "2", ""} {
			t.Run(fmt.Sprintf("p=%d/batch=%s", p, rows), func(t *testing.T) {
				env := weir.NewEnv(t.Name()).Parallelism(p)
				if rows != "" {
					env.Set("execution.batch-size", rows)
				}
				run(t, env)
			})
		}
	}
}

func sorted[T any](env *weir.Env, s weir.Stream[T]) (out []string) {
	for v := range s.Collect(context.Background()) {
		out = append(out, fmt.Sprint(v))
	}
	slices.Sort(out)
	return out
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

type sale struct {
	Shop   string
	Amount int64
	Nr     int
}

var sales = []sale{{"a", 5, 1}, {"b", 2, 2}, {"a", 3, 3}, {"a", 3, 4}, {"b", 9, 5}, {"a", 8, 6}}

func shops(env *weir.Env) weir.KeyedStream[string, sale] {
	return weir.From(env, "sales", slice.Of(sales...)).Parallelism(1).KeyBy(func(s sale) string { return s.Shop })
}

func TestRolling(t *testing.T) {
	amount := func(s *sale) *int64 { return &s.Amount }
	by := func(s sale) int64 { return s.Amount }
	for name, c := range map[string]struct {
		s    func(weir.KeyedStream[string, sale]) weir.Stream[sale]
		want []string
	}{
		"sum": {func(k weir.KeyedStream[string, sale]) weir.Stream[sale] { return k.Sum("x", amount) },
			[]string{"{a 5 1}", "{b 2 2}", "{a 8 1}", "{a 11 1}", "{b 11 2}", "{a 19 1}"}},
		"min": {func(k weir.KeyedStream[string, sale]) weir.Stream[sale] { return k.Min("x", amount) },
			[]string{"{a 5 1}", "{b 2 2}", "{a 3 1}", "{a 3 1}", "{b 2 2}", "{a 3 1}"}},
		"max": {func(k weir.KeyedStream[string, sale]) weir.Stream[sale] { return k.Max("x", amount) },
			[]string{"{a 5 1}", "{b 2 2}", "{a 5 1}", "{a 5 1}", "{b 9 2}", "{a 8 1}"}},
		"minBy": {func(k weir.KeyedStream[string, sale]) weir.Stream[sale] { return k.MinBy("x", by) },
			[]string{"{a 5 1}", "{b 2 2}", "{a 3 3}", "{a 3 3}", "{b 2 2}", "{a 3 3}"}},
		"minBy last": {func(k weir.KeyedStream[string, sale]) weir.Stream[sale] { return k.MinBy("x", by, weir.LastWins) },
			[]string{"{a 5 1}", "{b 2 2}", "{a 3 3}", "{a 3 4}", "{b 2 2}", "{a 3 4}"}},
		"maxBy": {func(k weir.KeyedStream[string, sale]) weir.Stream[sale] { return k.MaxBy("x", by) },
			[]string{"{a 5 1}", "{b 2 2}", "{a 5 1}", "{a 5 1}", "{b 9 5}", "{a 8 6}"}},
		"reduce": {func(k weir.KeyedStream[string, sale]) weir.Stream[sale] {
			return k.Reduce("x", func(have, row sale) sale { return sale{have.Shop, have.Amount*10 + row.Amount, row.Nr} })
		}, []string{"{a 5 1}", "{b 2 2}", "{a 53 3}", "{a 533 4}", "{b 29 5}", "{a 5338 6}"}},
	} {
		t.Run(name, func(t *testing.T) {
			everyWay(t, func(t *testing.T, env *weir.Env) { equal(t, sorted(env, c.s(shops(env))), c.want...) })
		})
	}
	t.Run("count", func(t *testing.T) {
		everyWay(t, func(t *testing.T, env *weir.Env) {
			equal(t, sorted(env, shops(env).Count("x")), "{a 1}", "{b 1}", "{a 2}", "{a 3}", "{b 2}", "{a 4}")
		})
	})
	t.Run("mean", func(t *testing.T) {
		everyWay(t, func(t *testing.T, env *weir.Env) {
			equal(t, sorted(env, shops(env).Aggregate("x", weir.Mean(by))), "{a 5}", "{b 2}", "{a 4}", fmt.Sprintf("{a %v}", 11./3), "{b 5.5}", "{a 4.75}")
		})
	})
}

func TestConnectedMaps(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		words, numbers := weir.From(env, "words", slice.Of("x", "y")), weir.From(env, "numbers", slice.Of(1, 2, 3))
		got := sorted(env, words.Connect(numbers).Map(strings.ToUpper, func(n int) string { return fmt.Sprint(n * n) }))
		equal(t, got, "X", "Y", "1", "4", "9")
	})
	everyWay(t, func(t *testing.T, env *weir.Env) {
		words, numbers := weir.From(env, "words", slice.Of("x", "y")), weir.From(env, "numbers", slice.Of(1, 2, 3))
		got := sorted(env, words.Connect(numbers).FlatMap(
			func(w string, out weir.Out[string]) { out.Emit(w); out.Emit(w + w) },
			func(n int, out weir.Out[string]) {
				if n > 2 {
					out.Emit(fmt.Sprint(n))
				}
			}))
		equal(t, got, "x", "xx", "y", "yy", "3")
	})
}

// prices pairs orders with the price that comes on the other stream, before or after, and gives up at a timer.
type prices struct {
	waiting state.List[int]
	price   state.Value[float64]
}

type order struct {
	Item string
	N    int
}
type price struct {
	Item string
	Each float64
}

func (f *prices) Open(ctx *weir.KeyedContext[string]) error {
	f.waiting = ctx.State(state.ListOf[int]("waiting"))
	f.price = ctx.State(state.ValueOf[float64]("price"))
	return nil
}

func (f *prices) Process1(ctx *weir.KeyedContext[string], o order, out weir.Out[string]) error {
	if p, ok := f.price.Get(); ok {
		out.Emit(fmt.Sprint(ctx.Key(), " ", float64(o.N)*p))
		return nil
	}
	f.waiting.Add(o.N)
	ctx.RegisterEventTimer(time.UnixMilli(1_000_000))
	return nil
}

func (f *prices) Process2(ctx *weir.KeyedContext[string], p price, out weir.Out[string]) error {
	f.price.Set(p.Each)
	for n := range f.waiting.All() {
		out.Emit(fmt.Sprint(ctx.Key(), " ", float64(n)*p.Each))
	}
	f.waiting.Clear()
	return nil
}

func (f *prices) OnTimer(ctx *weir.KeyedContext[string], _ weir.Timer, out weir.Out[string]) error {
	for n := range f.waiting.All() {
		out.Emit(fmt.Sprint(ctx.Key(), " no price for ", n))
	}
	f.waiting.Clear()
	return nil
}

func TestKeyedConnectSharesState(t *testing.T) {
	everyWay(t, func(t *testing.T, env *weir.Env) {
		orders := weir.From(env, "orders", slice.Of(order{"tea", 2}, order{"rum", 1}, order{"tea", 3}, order{"rum", 4}, order{"ice", 5}))
		list := weir.From(env, "prices", slice.Of(price{"tea", 1.5}, price{"ice", 2}))
		got := sorted(env, orders.KeyBy(func(o order) string { return o.Item }).
			Connect(list.KeyBy(func(p price) string { return p.Item })).
			Process("pairs", func() weir.KeyedCoProcess[string, order, price, string] { return &prices{} }))
		equal(t, got, "tea 3", "tea 4.5", "ice 10", "rum no price for 1", "rum no price for 4")
	})
}

// limits keeps, by key, what exceeds the broadcast limits, and applies new limits to what was kept.
type limits struct{ seen state.Value[int64] }

var limitState = state.BroadcastOf[string, int64]("limits")

func (f *limits) Open(ctx *weir.KeyedContext[string]) error {
	f.seen = ctx.State(state.ValueOf[int64]("seen"))
	return nil
}

func (f *limits) Process(ctx *weir.KeyedBroadcastReader[string], s sale, out weir.Out[string]) error {
	f.seen.Update(func(n *int64) { *n += s.Amount })
	return nil
}

func (f *limits) ProcessBroadcast(ctx *weir.KeyedBroadcastContext[string], limit price, out weir.Out[string]) error {
	ctx.Broadcast(limitState).Put(limit.Item, int64(limit.Each))
	return ctx.ApplyToKeys(f.seen, func(key string) error {
		if n, _ := f.seen.Get(); key == limit.Item && n > int64(limit.Each) {
			out.Emit(fmt.Sprint(key, " had ", n))
			f.seen.Clear()
		}
		return nil
	})
}

func TestKeyedBroadcast(t *testing.T) {
	env := weir.NewEnv("limits")
	keyed := shops(env)
	h := optest.New(weir.OperatorOf(keyed.ConnectBroadcast(weir.From(env, "limits", slice.Of[price]())).
		Process("limits", func() weir.KeyedBroadcastProcess[string, sale, price, string] { return &limits{} })))
	must(t, h.Open())
	var rows []optest.Row[sale]
	for _, s := range sales {
		rows = append(rows, optest.At(s, 0))
	}
	must(t, optest.Feed(h, 0, weir.HasherOf(keyed), rows...))
	rules := func(p ...price) []string {
		for _, r := range p {
			must(t, optest.Feed(h, 1, nil, optest.At(r, 7)))
		}
		return optest.Values(optest.Take[string](h))
	}
	equal(t, rules(price{"a", 18}, price{"b", 11}), "a had 19") // a sold for 5+3+3+8, b for 2+9
	equal(t, rules(price{"a", 18}))                             // its state was cleared
	must(t, optest.Feed(h, 0, weir.HasherOf(keyed), rows[:1]...))
	equal(t, rules(price{"b", 10}, price{"a", 4}), "b had 11", "a had 5")
	must(t, h.End(2))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type caser struct{}

var upperState = state.BroadcastOf[int, bool]("upper")

func (caser) Process(ctx *weir.BroadcastReader, w string, out weir.Out[string]) error {
	if up, _ := ctx.Broadcast(upperState).Get(0); up {
		w = strings.ToUpper(w)
	}
	out.Emit(strings.ToLower(w))
	return nil
}

func (caser) ProcessBroadcast(ctx *weir.BroadcastContext, up bool, out weir.Out[string]) error {
	ctx.Broadcast(upperState).Put(0, up)
	out.Emit(fmt.Sprint("rule ", ctx.Broadcast(upperState).Len()))
	return nil
}

func TestBroadcastReachesEverySubtask(t *testing.T) {
	for p := 1; p <= 3; p++ {
		env := weir.NewEnv("case").Parallelism(p)
		got := sorted(env, weir.From(env, "words", slice.Of("a", "B")).ConnectBroadcast(weir.From(env, "rules", slice.Of(true))).
			Process("case", func() weir.BroadcastProcess[string, bool, string] { return caser{} }))
		want := []string{"a", "b"}
		for range p {
			want = append(want, "rule 1")
		}
		equal(t, got, want...)
	}
}
