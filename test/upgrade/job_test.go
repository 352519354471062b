// Package upgrade_test stops jobs with a savepoint and starts changed programs from it: each kind of operator with state, types
// that have evolved, and changes that must be refused. Its testdata holds savepoints of former versions of the format, which every
// later version has to open.
package upgrade_test

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// version is one version of a program: S are its rows, V, C and D what it keeps, A its windows' accumulators.
type version[S, V, C, D, A, N any] struct {
	sale  func(i int64) S
	shop  func(S) string
	cents func(S) int64
	at    func(S) int64

	sum    state.ValueDescriptor[V]
	add    func(sum *V, cents int64)
	text   func(V) string
	recent state.ListDescriptor[C]
	most   state.ReducingDescriptor[C]
	c      func(cents int64) C
	days   state.MapDescriptor[int64, D]
	addDay func(d *D, cents int64)
	day    func(D) int64

	window  weir.Aggregation[S, A, int64]
	counter weir.Aggregation[S, N, int64]
}

const shops = 5

func saleAt(i int64) (shop string, cents, at int64) {
	return fmt.Sprint("shop", i%shops), i % 97, i * 10
}

// The first version.
type (
	sale1 struct {
		Shop  string
		Cents int32
		At    int64
	}
	sum1 struct { // of fixed width
		Cents int64
		N     int32
	}
	acc1 struct { // of fixed width, as sessions need it
		Sum int32
	}
	count1 struct{ Rows uint16 }
)

func firstVersion() *version[sale1, sum1, int32, int32, acc1, count1] {
	return &version[sale1, sum1, int32, int32, acc1, count1]{
		sale: func(i int64) sale1 {
			shop, cents, at := saleAt(i)
			return sale1{shop, int32(cents), at}
		},
		shop:  func(s sale1) string { return s.Shop },
		cents: func(s sale1) int64 { return int64(s.Cents) },
		at:    func(s sale1) int64 { return s.At },
		sum:   state.ValueOf[sum1]("sum"),
		add: func(sum *sum1, cents int64) {
			sum.Cents += cents
			sum.N++
		},
		text:   func(s sum1) string { return fmt.Sprint(s.Cents, " of ", s.N) },
		recent: state.ListOf[int32]("recent"),
		most:   state.ReducingOf("most", func(a, b int32) int32 { return max(a, b) }),
		c:      func(cents int64) int32 { return int32(cents) },
		days:   state.MapOf[int64, int32]("days"),
		addDay: func(d *int32, cents int64) { *d += int32(cents) },
		day:    func(d int32) int64 { return int64(d) },
		window: weir.Aggregation[sale1, acc1, int64]{
			Add:    func(a *acc1, s sale1) { a.Sum += s.Cents },
			Merge:  func(a, from *acc1) { a.Sum += from.Sum },
			Result: func(a *acc1) int64 { return int64(a.Sum) },
		},
		counter: weir.Aggregation[sale1, count1, int64]{
			Add:    func(n *count1, _ sale1) { n.Rows++ },
			Result: func(n *count1) int64 { return int64(n.Rows) },
		},
	}
}

// The second version: fields that are wider, renamed, new, in another order, and may be missing; a value that is no longer of
// fixed width; entries of a map that a migration makes.
type (
	sale2 struct {
		At       int64
		Name     string `weir:"Name,was=Shop"`
		Currency *string
		Cents    int64
	}
	sum2 struct {
		N     int64
		Total int64 `weir:"Total,was=Cents"`
		Note  string
	}
	day2 struct{ Cents []int64 }
	acc2 struct {
		Rows int64
		Sum  int64
	}
	count2 struct {
		N    int64 `weir:"N,was=Rows"`
		Last string
	}
)

func secondVersion() *version[sale2, sum2, int64, day2, acc2, count2] {
	return &version[sale2, sum2, int64, day2, acc2, count2]{
		sale: func(i int64) sale2 {
			shop, cents, at := saleAt(i)
			return sale2{Name: shop, Cents: cents, At: at}
		},
		shop:  func(s sale2) string { return s.Name },
		cents: func(s sale2) int64 { return s.Cents },
		at:    func(s sale2) int64 { return s.At },
		sum:   state.ValueOf[sum2]("sum"),
		add: func(sum *sum2, cents int64) {
			sum.Total += cents
			sum.N++
			sum.Note = "seen"
		},
		text:   func(s sum2) string { return fmt.Sprint(s.Total, " of ", s.N) },
		recent: state.ListOf[int64]("recent"),
		most:   state.ReducingOf("most", func(a, b int64) int64 { return max(a, b) }),
		c:      func(cents int64) int64 { return cents },
		days:   state.MapOf[int64, day2]("days").Migrate(func(old int32) (day2, error) { return day2{[]int64{int64(old)}}, nil }),
		addDay: func(d *day2, cents int64) { d.Cents = append(d.Cents, cents) },
		day: func(d day2) (sum int64) {
			for _, c := range d.Cents {
				sum += c
			}
			return sum
		},
		window: weir.Aggregation[sale2, acc2, int64]{
			Add: func(a *acc2, s sale2) {
				a.Sum += s.Cents
				a.Rows++
			},
			Merge: func(a, from *acc2) {
				a.Sum += from.Sum
				a.Rows += from.Rows
			},
			Result: func(a *acc2) int64 { return a.Sum },
		},
		counter: weir.Aggregation[sale2, count2, int64]{
			Add: func(n *count2, s sale2) {
				n.N++
				n.Last = s.Name
			},
			Result: func(n *count2) int64 { return n.N },
		},
	}
}

// A version whose types cannot take what the first has left.
type (
	saleBroken struct {
		Shop  string
		Cents int16
		At    time.Time
	}
	accBroken struct{ Sum int16 }
)

func brokenVersion() *version[saleBroken, string, bool, day2, accBroken, string] {
	return &version[saleBroken, string, bool, day2, accBroken, string]{
		sale:    func(i int64) saleBroken { return saleBroken{} },
		shop:    func(s saleBroken) string { return s.Shop },
		cents:   func(s saleBroken) int64 { return int64(s.Cents) },
		at:      func(s saleBroken) int64 { return s.At.UnixMilli() },
		sum:     state.ValueOf[string]("sum").Migrate(func(sum2) (string, error) { return "", nil }),
		add:     func(*string, int64) {},
		text:    func(s string) string { return s },
		recent:  state.ListOf[bool]("recent"),
		most:    state.ReducingOf("most", func(a, b bool) bool { return a || b }),
		c:       func(int64) bool { return false },
		days:    state.MapOf[int64, day2]("days"),
		addDay:  func(*day2, int64) {},
		day:     func(day2) int64 { return 0 },
		window:  weir.Aggregation[saleBroken, accBroken, int64]{Add: func(*accBroken, saleBroken) {}, Merge: func(_, _ *accBroken) {}, Result: func(*accBroken) int64 { return 0 }},
		counter: weir.Aggregation[saleBroken, string, int64]{Add: func(*string, saleBroken) {}, Result: func(*string) int64 { return 0 }},
	}
}

// totals keeps a state of each kind for each shop and shows them at the end, by a timer.
type totals[S, V, C, D, A, N any] struct {
	v      *version[S, V, C, D, A, N]
	sum    state.Value[V]
	recent state.List[C]
	most   state.Reducing[C]
	days   state.Map[int64, D]
}

func (f *totals[S, V, C, D, A, N]) Open(ctx *weir.KeyedContext[string]) error {
	f.sum, f.recent, f.most, f.days = ctx.State(f.v.sum), ctx.State(f.v.recent), ctx.State(f.v.most), ctx.State(f.v.days)
	return nil
}

var end = time.UnixMilli(1 << 40)

func (f *totals[S, V, C, D, A, N]) Process(ctx *weir.KeyedContext[string], s S, _ weir.Out[string]) error {
	cents := f.v.cents(s)
	f.sum.Update(func(sum *V) { f.v.add(sum, cents) })
	f.most.Add(f.v.c(cents))
	if cents == 1 {
		f.recent.Add(f.v.c(f.v.at(s)))
	}
	f.days.Update(f.v.at(s)/10_000, func(d *D) { f.v.addDay(d, cents) })
	ctx.RegisterEventTimer(end)
	return nil
}

func (f *totals[S, V, C, D, A, N]) OnTimer(ctx *weir.KeyedContext[string], _ weir.Timer, out weir.Out[string]) error {
	sum, _ := f.sum.Get()
	most, _ := f.most.Get()
	text := fmt.Sprint("totals ", ctx.Key(), " ", f.v.text(sum), " most ", most, " days")
	for day, d := range f.days.All() {
		text += fmt.Sprint(" ", day, "=", f.v.day(d))
	}
	n := 0
	for range f.recent.All() {
		n++
	}
	out.Emit(fmt.Sprint(text, " recent ", n))
	return nil
}

// build describes the job. n bounds its rows, rate those of a second.
func build[S, V, C, D, A, N any](env *weir.Env, v *version[S, V, C, D, A, N], n int64, rate float64) weir.Stream[string] {
	return shaped(env, v, n, rate, shape{})
}

// shape is how a program may differ from the first in more than types.
type shape struct {
	// without leaves the operator "count" out.
	without bool
	// windows makes "sliding" tumble and gives "sessions" a gap of the clock; keys joins by another type of key.
	windows, keys bool
	// renamed gives "totals" another name, and its former one as the UID.
	renamed bool
}

func shaped[S, V, C, D, A, N any](env *weir.Env, v *version[S, V, C, D, A, N], n int64, rate float64, sh shape) weir.Stream[string] {
	opts := []generator.Option{generator.Count(n)}
	if rate > 0 {
		opts = append(opts, generator.RowsPerSecond(rate))
	}
	sales := weir.From(env, "sales", generator.Of(v.sale, opts...), weir.EventTime(func(s S) time.Time { return time.UnixMilli(v.at(s)) }))
	byShop := sales.KeyBy(v.shop)
	type windowed = weir.Windowed[string, int64]
	show := func(what string) func(w windowed) string {
		return func(w windowed) string { return fmt.Sprint(what, " ", w.Key, " ", w.Window, " ", w.Value) }
	}
	name := "totals"
	if sh.renamed {
		name = "sums"
	}
	all := byShop.Process(name, func() weir.KeyedProcess[string, S, string] { return &totals[S, V, C, D, A, N]{v: v} })
	if sh.renamed {
		all = all.UID("totals")
	}
	sliding, sessions := window.Sliding(time.Second, 250*time.Millisecond), window.Session(40*time.Millisecond)
	if sh.windows {
		sliding, sessions = window.Tumbling(time.Second), sessions.ProcessingTime()
	}
	if sh.keys {
		byNumber := sales.KeyBy(func(s S) int64 { return v.at(s) / 10 % shops })
		all = all.Union(byNumber.JoinInterval("near", byNumber, 0, 0).Inner(func(a, b S) string { return "" }))
	} else {
		all = all.Union(byShop.JoinInterval("near", byShop, -30*time.Millisecond, 60*time.Millisecond).Inner(func(a, b S) string {
			return fmt.Sprint("near ", v.shop(a), " ", v.at(a), " ", v.at(b))
		}))
	}
	if !sh.without {
		all = all.Union(byShop.Aggregate("count", v.counter).Map(func(n weir.Keyed[string, int64]) string { return fmt.Sprint("count ", n.Key, " ", n.Value) }))
	}
	return all.Union(
		byShop.Window("sliding", sliding).Aggregate(v.window).Map(show("sliding")),
		byShop.Window("sessions", sessions).Aggregate(v.window).Map(show("session")),
		byShop.Window("purging", window.Tumbling(700*time.Millisecond).Trigger(window.Purging(window.OnEventTime()))).Aggregate(v.window).Map(show("purging")),
		byShop.JoinWindow("both", byShop, window.Tumbling(time.Second)).CoGroup(func(k string, w window.Window, a, b []S, out weir.Out[string]) {
			out.Emit(fmt.Sprint("both ", k, " ", w, " ", len(a), " ", len(b)))
		}),
	)
}
