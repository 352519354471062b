package weirtest

import (
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// The jobs of the simulation. What is right for each is worked out in soak_truth_test.go, by plain loops.

// inOrder is n rows with rising times, one each step seconds, none of them late.
func inOrder(env *weir.Env, name string, n, step int64) weir.Stream[mark] {
	return weir.From(env, name, generator.Of(func(i int64) mark { return mark{N: i, Key: keys()[i*i%13], At: step * i} }, generator.Count(n)),
		weir.EventTime(func(e mark) time.Time { return time.Unix(e.At, 0) }))
}

// endOfTime is behind the times of all rows: what waits for it happens when the last source has ended.
var endOfTime = time.Unix(1_000_000, 0)

// kept adds up the rows of a key, and gives the sum when all sources have ended.
type kept struct{ sum state.Value[int64] }

func (k *kept) Open(ctx *weir.KeyedContext[int64]) error {
	k.sum = ctx.State(state.ValueOf[int64]("sum"))
	return nil
}

func (k *kept) Process(ctx *weir.KeyedContext[int64], m mark, _ weir.Out[mark]) error {
	n, _ := k.sum.Get()
	k.sum.Set(n + m.N)
	ctx.RegisterEventTimer(endOfTime)
	return nil
}

func (k *kept) OnTimer(ctx *weir.KeyedContext[int64], _ weir.Timer, out weir.Out[mark]) error {
	n, _ := k.sum.Get()
	out.Emit(mark{N: n, Key: ctx.Key()})
	return nil
}

func keepSums(name string, s weir.Stream[mark]) weir.Stream[mark] {
	return s.KeyBy(keyOf).Process(name, func() weir.KeyedProcess[int64, mark, mark] { return &kept{} })
}

func countSeen(name string, s weir.Stream[mark]) weir.Stream[mark] {
	return s.KeyBy(func(m mark) int64 { return m.N }).Process(name, func() weir.KeyedProcess[int64, mark, mark] { return &seen{} })
}

// shared has what belongs to subtasks and not to keys, and what grows old.
func shared(env *weir.Env) weir.Stream[string] {
	a, rules := inOrder(env, "a", 200, 1), inOrder(env, "rules", 12, 1)
	ruled := a.KeyBy(keyOf).ConnectBroadcast(rules).Process("ruled", func() weir.KeyedBroadcastProcess[int64, mark, mark, mark] { return &ruled{} })
	bell := keepSums("bell", a)
	shelves := a.Rebalance().ConnectBroadcast(bell).Process("shelves", func() weir.BroadcastProcess[mark, mark, mark] { return &shelves{} })
	return text("ruled", ruled).Union(text("shelf", shelves), text("aged", a.KeyBy(keyOf).Process("aging", func() weir.KeyedProcess[int64, mark, mark] { return &aging{} })))
}

// ruled adds up the rows of a key, and in the end gives the sum, how many rules there are and what they add up to.
type ruled struct{ sum state.Value[int64] }

var rulesOf = state.BroadcastOf[int64, int64]("rules")

func (r *ruled) Open(ctx *weir.KeyedContext[int64]) error {
	r.sum = ctx.State(state.ValueOf[int64]("sum"))
	ctx.OpenBroadcast(rulesOf)
	return nil
}

func (r *ruled) Process(ctx *weir.KeyedBroadcastReader[int64], m mark, _ weir.Out[mark]) error {
	n, _ := r.sum.Get()
	r.sum.Set(n + m.N)
	ctx.RegisterEventTimer(endOfTime)
	return nil
}

func (r *ruled) ProcessBroadcast(ctx *weir.KeyedBroadcastContext[int64], rule mark, _ weir.Out[mark]) error {
	ctx.Broadcast(rulesOf).Put(rule.N, rule.At*rule.At)
	return nil
}

func (r *ruled) OnTimer(ctx *weir.KeyedBroadcastReader[int64], _ weir.Timer, out weir.Out[mark]) error {
	n, _ := r.sum.Get()
	rules := ctx.Broadcast(rulesOf)
	of := int64(0)
	for _, v := range rules.All() {
		of += v
	}
	out.Emit(mark{N: n, Key: ctx.Key(), At: of*100 + int64(rules.Len())})
	return nil
}

// shelves keep rows in a list until the bell rings, and in a union list of which each subtask takes what is its own. Both come
// out when the bell rings, and what comes later at once.
type shelves struct{ held, mine, rung state.OperatorList[int64] }

func (s *shelves) Open(ctx *weir.Context) error {
	s.held = ctx.ListState(state.OperatorListOf[int64]("held"))
	s.mine = ctx.ListState(state.OperatorUnionOf[int64]("mine"))
	s.rung = ctx.ListState(state.OperatorUnionOf[int64]("rung"))
	var own []int64
	for n := range s.mine.All() {
		if n%int64(ctx.Parallelism()) == int64(ctx.Subtask()) {
			own = append(own, n)
		}
	}
	s.mine.Set(own)
	if s.rung.Len() > 1 {
		s.rung.Set([]int64{1})
	}
	return nil
}

func (s *shelves) Process(_ *weir.BroadcastReader, m mark, out weir.Out[mark]) error {
	if s.rung.Len() > 0 {
		out.Emit(mark{N: m.N, Key: 1})
		out.Emit(mark{N: m.N, Key: 2})
		return nil
	}
	s.held.Add(m.N)
	s.mine.Add(m.N)
	return nil
}

func (s *shelves) ProcessBroadcast(_ *weir.BroadcastContext, _ mark, out weir.Out[mark]) error {
	for n := range s.held.All() {
		out.Emit(mark{N: n, Key: 1})
	}
	for n := range s.mine.All() {
		out.Emit(mark{N: n, Key: 2})
	}
	s.held.Clear()
	s.mine.Clear()
	s.rung.Set([]int64{1})
	return nil
}

// aging compares a state with a time to live with one without, which knows when it was written.
type aging struct {
	fresh, ever state.Value[int64]
	later       state.Value[int64]
	laterEver   state.Value[int64]
}

const (
	timeToLive      = 9 * time.Millisecond
	eventTimeToLive = 20 * time.Second
)

func (a *aging) Open(ctx *weir.KeyedContext[int64]) error {
	a.fresh = ctx.State(state.ValueOf[int64]("fresh").TTL(timeToLive))
	a.ever = ctx.State(state.ValueOf[int64]("ever"))
	a.later = ctx.State(state.ValueOf[int64]("later").TTL(eventTimeToLive, state.EventTime))
	a.laterEver = ctx.State(state.ValueOf[int64]("later ever"))
	return nil
}

func (a *aging) Process(ctx *weir.KeyedContext[int64], m mark, out weir.Out[mark]) error {
	now := ctx.ProcessingTime().UnixMilli()
	at, there := a.fresh.Get()
	written, ever := a.ever.Get()
	wrong := int64(0)
	switch old := now-written >= timeToLive.Milliseconds(); {
	case there && (!ever || at != written || old):
		wrong = 1 // it has come back
	case !there && ever && !old:
		wrong = 2 // it has gone too early
	}
	a.fresh.Set(now)
	a.ever.Set(now)
	// By event time a subtask may have been further than it is after a restore at another parallelism: something may be gone
	// that is not old any more.
	if wm, ok := ctx.Watermark(); ok {
		at, there := a.later.Get()
		written, ever := a.laterEver.Get()
		if there && (!ever || at != written || wm.UnixMilli()-written >= eventTimeToLive.Milliseconds()) {
			wrong += 10
		}
		a.later.Set(wm.UnixMilli())
		a.laterEver.Set(wm.UnixMilli())
	}
	out.Emit(mark{N: m.N, Key: wrong})
	return nil
}

// again is for checkpoints that let rows come again.
func again(env *weir.Env) weir.Stream[string] {
	a, b := inOrder(env, "a", 240, 1), inOrder(env, "b", 60, 4)
	return text("row", countSeen("seen", a)).Union(text("sum", keepSums("sums", a.Union(b))))
}

// drains is stopped as if its sources had ended, at some moment.
func drains(env *weir.Env) weir.Stream[string] {
	a := inOrder(env, "a", 240, 1)
	return text("row", countSeen("seen", a)).Union(text("sum", keepSums("sums", a)),
		text("window", a.KeyBy(keyOf).Window("windows", window.Tumbling(20*time.Second)).Aggregate(weir.Count[mark]())))
}

// writesFiles writes to buckets that a function names, in parts that are full soon.
func writesFiles(env *weir.Env) weir.Stream[string] {
	a := countSeen("seen", inOrder(env, "a", 240, 1))
	a.To("files", file.JSONSink[mark]("out", file.BucketBy(func(m mark) string { return bucketOf(m.N) }), file.RollSize(200)))
	return text("row", a)
}

// pauses has a source whose splits stand still for a while, and are idle then.
func pauses(env *weir.Env) weir.Stream[string] {
	late := weir.NewTag[mark]("late")
	a := inOrder(env, "a", 240, 1)
	p := weir.From(env, "pausing", pausing{}, weir.EventTime(func(e mark) time.Time { return time.Unix(e.At, 0) }, weir.Idle(3*time.Millisecond)))
	both := a.Union(p).KeyBy(keyOf)
	windows := both.Window("windows", window.Tumbling(20*time.Second)).SideLate(late).Aggregate(weir.Count[mark]())
	over := both.ProcessEach("over", func(ctx *weir.KeyedContext[int64], m mark, out weir.Out[mark]) error {
		if wm, ok := ctx.Watermark(); ok && wm.After(endOfTime) {
			out.Emit(m) // its source has not ended
		}
		return nil
	})
	return text("window", windows).Union(text("late", windows.Side(late)), text("over", over))
}
