package shapes

import (
	"fmt"
	"net/netip"

	"github.com/weir-stream/weir"
)

func one(f func(ride) string) func() []string {
	return lines(func(r ride) []string { return []string{f(r)} })
}

// streams are the operators without state, and the ways between them.
func streams() []pipeline {
	moved := func(name string, how func(weir.Stream[ride]) weir.Stream[ride]) pipeline {
		return pipeline{name, func(env *weir.Env, p pipe) {
			// The first exchange spreads the rows, the second is the one at hand.
			rows := rides(env, p).Rebalance().Filter(func(ride) bool { return true })
			show(how(rows).Filter(func(ride) bool { return true }), p, ride.text)
		}, one(ride.text)}
	}
	same := func(s weir.Stream[ride]) weir.Stream[ride] { return s }
	ps := []pipeline{
		moved("rebalance", weir.Stream[ride].Rebalance),
		moved("rescale", weir.Stream[ride].Rescale),
		moved("shuffle", weir.Stream[ride].Shuffle),
		moved("global", weir.Stream[ride].Global),
		moved("forward", weir.Stream[ride].Forward),
		moved("custom", func(s weir.Stream[ride]) weir.Stream[ride] {
			return s.PartitionBy(func(r ride, n int) int { return int(r.ID) % n })
		}),
		moved("unchained", func(s weir.Stream[ride]) weir.Stream[ride] { return s.DisableChaining() }),
		moved("newChain", func(s weir.Stream[ride]) weir.Stream[ride] { return s.StartNewChain() }),
		moved("slotGroup", func(s weir.Stream[ride]) weir.Stream[ride] { return s.SlotGroup("other") }),
		moved("uid", func(s weir.Stream[ride]) weir.Stream[ride] { return s.Name("renamed").UID("renamed-uid") }),
		moved("parallelism", func(s weir.Stream[ride]) weir.Stream[ride] { return same(s).Parallelism(2) }),
		{"broadcast", func(env *weir.Env, p pipe) {
			rows := rides(env, p).Broadcast().RichMap(func() weir.Mapper[ride, string] { return &firstOnly{} })
			show(rows.Filter(func(s string) bool { return s != "" }), p, func(s string) string { return s })
		}, one(ride.text)},
		{"map", func(env *weir.Env, p pipe) {
			show(rides(env, p).Map(func(r ride) weir.Pair[netip.Addr, *string] {
				return weir.Pair[netip.Addr, *string]{First: r.From, Second: r.Note}
			}), p,
				func(v weir.Pair[netip.Addr, *string]) string { return fmt.Sprint(v.First, v.Second == nil) })
		}, one(func(r ride) string { return fmt.Sprint(r.From, r.ID%3 == 0) })},
		{"tryMap", func(env *weir.Env, p pipe) {
			show(rides(env, p).TryMap(func(r ride) (int64, error) { return r.ID + 1, nil }), p, func(v int64) string { return fmt.Sprint(v) })
		}, one(func(r ride) string { return fmt.Sprint(r.ID + 1) })},
		{"flatMap", func(env *weir.Env, p pipe) {
			show(rides(env, p).FlatMap(func(r ride, emit func(string)) {
				for _, tag := range r.Tags {
					emit(tag)
				}
			}), p, func(s string) string { return s })
		}, lines(func(r ride) []string { return r.Tags })},
		{"filter", func(env *weir.Env, p pipe) {
			show(rides(env, p).Filter(func(r ride) bool { return r.Fare > 50 }), p, ride.short)
		}, lines(func(r ride) []string {
			if r.Fare > 50 {
				return []string{r.short()}
			}
			return nil
		})},
		{"union", func(env *weir.Env, p pipe) {
			a, b, c := rides(env, p), rides(env, p).Map(func(r ride) ride { r.ID += 1000; return r }), rides(env, p).Filter(func(r ride) bool { return r.ID == 3 })
			show(a.Union(b, c), p, ride.short)
		}, func() []string {
			out := []string{newRide(3).short()}
			for _, r := range allRides() {
				out = append(out, r.short(), fmt.Sprintf("%d %s %d", r.ID+1000, r.Zone, r.Fare))
			}
			return out
		}},
		{"connectMap", func(env *weir.Env, p pipe) {
			ids := rides(env, p).Map(func(r ride) int64 { return r.ID })
			show(rides(env, p).Connect(ids).Map(func(r ride) string { return r.Zone }, func(id int64) string { return fmt.Sprint(id) }), p,
				func(s string) string { return s })
		}, lines(func(r ride) []string { return []string{r.Zone, fmt.Sprint(r.ID)} })},
		{"connectFlatMap", func(env *weir.Env, p pipe) {
			ids := rides(env, p).Map(func(r ride) int64 { return r.ID })
			show(rides(env, p).Rebalance().Connect(ids.Rebalance()).FlatMap(
				func(r ride, out weir.Out[string]) { out.Emit(r.Zone); out.Emit("z") }, func(id int64, out weir.Out[string]) { out.Emit(fmt.Sprint(id)) }), p,
				func(s string) string { return s })
		}, lines(func(r ride) []string { return []string{r.Zone, "z", fmt.Sprint(r.ID)} })},
	}
	return append(ps, keys()...)
}

// firstOnly says which rows the first subtask gets.
type firstOnly struct{}

func (*firstOnly) Map(ctx *weir.Context, r ride) (string, error) {
	if ctx.Subtask() != 0 {
		return "", nil
	}
	return r.text(), nil
}

// spot is a key of several fields.
type spot struct {
	Zone string
	Odd  bool
	Near [2]int8
}

// keys are the types that keys may have.
func keys() []pipeline {
	return []pipeline{
		keyed("keyString", func(r ride) string { return r.Zone }),
		keyed("keyStruct", func(r ride) spot { return spot{r.Zone, r.ID%2 == 1, [2]int8{int8(r.ID % 3), 1}} }),
		keyed("keyAddr", func(r ride) netip.Prefix { return netip.PrefixFrom(r.From, 30).Masked() }),
		keyed("keyFloat", func(r ride) float64 { return float64(r.ID % 5) }),
		keyed("keyTime", func(r ride) [1]int64 { return [1]int64{r.At.Truncate(1e9 * 3600).Unix()} }),
		keyed("keyBool", func(r ride) bool { return r.ID%4 == 0 }),
	}
}

func keyed[K comparable](name string, key func(ride) K) pipeline {
	return pipeline{name, func(env *weir.Env, p pipe) {
		show(rides(env, p).KeyBy(key).Count(p.in("count")), p, func(v weir.Keyed[K, int64]) string { return fmt.Sprint(v.Key, v.Value) })
	}, func() []string {
		n := map[K]int64{}
		var out []string
		for _, r := range allRides() {
			n[key(r)]++
			out = append(out, fmt.Sprint(key(r), n[key(r)]))
		}
		return out
	}}
}
