package weirtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/invariant"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/testkit/seeds"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/window"
)

// The simulation: coordinator, workers, storage and sinks under the faults of a seed. make soak SEEDS=2000.
func TestSoak(t *testing.T)        { soaks["everything"].run(t, seeds.List(8)) }
func TestSoakShared(t *testing.T)  { soaks["shared"].run(t, seeds.List(8)) }
func TestSoakAgain(t *testing.T)   { soaks["again"].run(t, seeds.List(8)) }
func TestSoakDamaged(t *testing.T) { soaks["damaged"].run(t, seeds.List(8)) }
func TestSoakDrained(t *testing.T) { soaks["drained"].run(t, seeds.List(8)) }
func TestSoakFiles(t *testing.T)   { soaks["files"].run(t, seeds.List(8)) }
func TestSoakPausing(t *testing.T) { soaks["pausing"].run(t, seeds.List(8)) }

// soaks are the jobs of the simulation, and what is asked of them.
var soaks = map[string]trial[string]{
	// State of each kind by key, with sources of unequal length.
	"everything": {build: everything, wrong: exactly(rightEverything)},
	// State of subtasks, broadcast state, and time to live.
	"shared": {build: shared, wrong: exactly(rightShared)},
	// Checkpoints that let rows come again.
	"again": {build: again, wrong: neverLess, change: func(s *schedule, _ time.Duration) { s.atLeastOnce, s.unaligned, s.switchAfter = true, false, 0 }},
	// The newest checkpoint is damaged: the job goes on from the one before, and rows come again.
	"damaged": {build: everything, wrong: atLeast(rightEverything), change: func(s *schedule, length time.Duration) {
		s.retained = max(s.retained, 2)
		s.add(damage, length)
	}},
	// Stopped as if the sources had ended.
	"drained": {build: drains, wrong: asIfEnded, change: func(s *schedule, length time.Duration) {
		s.faults = slices.DeleteFunc(s.faults, func(f fault) bool { return f.kind == stop }) // that one would have to be gone on from
		s.add(drain, length)
	}},
	// Files that hold each row once.
	"files": {build: writesFiles, wrong: inFiles, files: true},
	// Splits that stand still, and are idle.
	"pausing": {build: pauses, wrong: inTimeOrLate},
}

// add adds a fault at a time of the seed's.
func (s *schedule) add(kind faultKind, length time.Duration) {
	r := rand.New(rand.NewPCG(s.seed, 0x61646465))
	s.faults = append(s.faults, fault{kind: kind, at: time.Duration(r.Int64N(int64(length)*int64(undisturbed.batch)/int64(s.batch*s.parallelism) + 1)), pick: r.IntN(8), parallelism: 1 + r.IntN(3)})
	slices.SortStableFunc(s.faults, func(a, b fault) int { return int(a.at - b.at) })
}

// shownBy says which job of the simulation is to find a mistake, where it is not everything.
var shownBy = map[planted.Mistake]string{
	planted.DrainIgnored: "drained", planted.UnionDealtOut: "shared", planted.ListTwice: "shared", planted.BroadcastForgotten: "shared",
	planted.TimeToLiveAnew: "shared", planted.CutAtFirstBarrier: "again", planted.IdleTakenForEnd: "pausing", planted.WriterForgotten: "files",
	planted.DamageUnseen: "damaged",
}

// near are seeds that have found mistakes that take long to find: an ordinary run begins there.
var near = map[planted.Mistake]uint64{planted.ManifestBeforeData: 85, planted.CommitBeforeManifest: 14, planted.WatermarkForgotten: 171, planted.DamageUnseen: 25,
	planted.EnumeratorForgotten: 17, planted.ClaimDeletedEarly: 14, planted.CommittablesForgotten: 9, planted.SplitTwice: 19, planted.DeletedTooEarly: 24,
	planted.InflightForgotten: 29, planted.OlderForgotten: 8, planted.PositionBehind: 7, planted.CutAtFirstBarrier: 9}

// TestPlantedMistakes shows what the simulation can see: it finds each mistake that can be planted within so many seeds. make soak
// looks for all from the first seed on.
func TestPlantedMistakes(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the race detector would take minutes for it, and has TestSoak")
	}
	findMistakes(t, near)
}

func TestSoakPlantedMistakes(t *testing.T) {
	if os.Getenv("WEIR_SEEDS") == "" {
		t.Skip("make soak")
	}
	findMistakes(t, nil)
}

func findMistakes(t *testing.T, near map[planted.Mistake]uint64) {
	const most = 200
	calm := map[string]outcome{}
	for _, m := range planted.All() {
		job := cmp.Or(shownBy[m], "everything")
		tr := soaks[job]
		if _, ok := calm[job]; !ok {
			calm[job] = tr.calm(t)
		}
		t.Run(m.String(), func(t *testing.T) {
			planted.Plant(t, m)
			first := max(near[m], 1)
			for i := range uint64(most) {
				seed := (first+i-1)%most + 1
				if wrong := tr.try(t, tr.draw(seed, calm[job]), calm[job]); wrong != "" {
					t.Logf("found by seed %d, the %d. that was tried: %.200s", seed, i+1, wrong)
					return
				}
			}
			t.Errorf("not found within %d seeds", most)
		})
	}
}

type mark struct {
	N, Key, At int64 // s
}

// marks are n rows, one each step seconds, not quite in order.
func marks(env *weir.Env, name string, n, step int64) weir.Stream[mark] {
	// Each seventh row of the last eighth is late for certain, however rows are cut into batches and blocks are spread over
	// readers. An earlier one need not be: the slowest reader may still be at the first minute.
	row := func(i int64) mark {
		if i > n*7/8 && i%7 == 0 {
			return mark{N: i, Key: keys()[i%13], At: 1}
		}
		return mark{N: i, Key: keys()[i*i%13], At: step * (i + i*7%5)}
	}
	return weir.From(env, name, generator.Of(row, generator.Count(n)),
		weir.EventTime(func(e mark) time.Time { return time.Unix(e.At, 0) }, weir.OutOfOrder(time.Duration(3*step)*time.Second)))
}

// everything has a state of each kind, in one job.
func everything(env *weir.Env) weir.Stream[string] {
	a, b, c := marks(env, "a", 240, 1), marks(env, "b", 80, 3), inOrder(env, "short", 9, 1)
	late := weir.NewTag[mark]("late")
	windows := a.KeyBy(keyOf).Window("windows", window.Tumbling(20*time.Second)).SideLate(late).Aggregate(weir.Count[mark]())
	return text("window", windows).Union(
		text("late", windows.Side(late)),
		text("sliding", a.KeyBy(keyOf).Window("sliding", window.Sliding(30*time.Second, 10*time.Second)).Aggregate(weir.Sum(func(e mark) int64 { return e.N }))),
		text("session", b.KeyBy(keyOf).Window("sessions", window.Session(7*time.Second)).Aggregate(weir.Count[mark]())),
		text("minute", a.KeyBy(keyOf).Process("minutes", func() weir.KeyedProcess[int64, mark, mark] { return &minutes{} })),
		text("seen", countSeen("seen", a)),
		// A source that ends long before the others: what it gave is kept up to the end, and does not come again.
		text("short", countSeen("shorts", c)),
		text("kept", keepSums("kept", c.Union(a.Filter(func(mark) bool { return false })))),
		text("pair", a.KeyBy(keyOf).JoinInterval("pairs", b.KeyBy(keyOf), -4*time.Second, 4*time.Second).
			Inner(func(a, b mark) mark { return mark{N: a.N, Key: b.N, At: a.At} })),
	)
}

// keys are 13 keys, four of which lie in the last key group of a subtask at parallelism 1, 2 or 3: mistakes are made at
// borders.
var keys = sync.OnceValue(func() (keys []int64) {
	c, err := codec.KeyFor[int64]()
	if err != nil {
		panic(err)
	}
	for _, border := range []keygroup.Range{keygroup.RangeOf(0, 1), keygroup.RangeOf(0, 2), keygroup.RangeOf(0, 3), keygroup.RangeOf(1, 3)} {
		for k := int64(0); ; k++ {
			if keygroup.Of(c.Hash(&k)) == border.To-1 {
				keys = append(keys, k)
				break
			}
		}
	}
	for k := int64(-1); len(keys) < 13; k-- {
		keys = append(keys, k)
	}
	return keys
})

func text[T any](what string, s weir.Stream[T]) weir.Stream[string] {
	return s.Map(func(v T) string { return fmt.Sprint(what, " ", render(v)) })
}

// seen counts how often it has met a row: always once.
type seen struct{ times state.Value[int64] }

func (s *seen) Open(ctx *weir.KeyedContext[int64]) error {
	s.times = ctx.State(state.ValueOf[int64]("times"))
	return nil
}

func (s *seen) Process(_ *weir.KeyedContext[int64], m mark, out weir.Out[mark]) error {
	n, _ := s.times.Get()
	s.times.Set(n + 1)
	out.Emit(mark{N: m.N, Key: n + 1})
	return nil
}

// minutes adds up the rows of a key by minute, and gives each sum when its minute is over.
type minutes struct{ sums state.Map[int64, int64] }

func (m *minutes) Open(ctx *weir.KeyedContext[int64]) error {
	m.sums = ctx.State(state.MapOf[int64, int64]("sums"))
	return nil
}

func (m *minutes) Process(ctx *weir.KeyedContext[int64], e mark, _ weir.Out[mark]) error {
	end := e.At/60*60 + 60
	sum, _ := m.sums.Get(end)
	m.sums.Put(end, sum+e.N)
	ctx.RegisterEventTimer(time.Unix(end, 0))
	return nil
}

func (m *minutes) OnTimer(ctx *weir.KeyedContext[int64], at weir.Timer, out weir.Out[mark]) error {
	sum, _ := m.sums.Get(at.Time.Unix())
	m.sums.Delete(at.Time.Unix())
	out.Emit(mark{N: sum, Key: ctx.Key(), At: at.Time.Unix()})
	return nil
}
