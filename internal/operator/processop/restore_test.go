package processop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/operator/processop"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/model"
	"github.com/weir-stream/weir/state"
)

type visit struct {
	Key string
	N   int
}

func visitKey(v visit) string { return v.Key }

func stringKeys(t testing.TB) *codec.KeyCodec[string] {
	t.Helper()
	kc, err := codec.KeyFor[string]()
	if err != nil {
		t.Fatal(err)
	}
	return kc
}

func hashVisits(kc *codec.KeyCodec[string]) operator.Hasher {
	return func(b event.Batch) {
		in := b.(*event.Records[visit])
		in.Hash = in.Hash[:len(in.Rows)]
		for i := range in.Rows {
			in.Hash[i] = kc.Hash(&in.Rows[i].Key)
		}
	}
}

// everything uses each kind of state, both kinds of timers and a broadcast state. Rows say what becomes of their key; each
// says what it found.
func everything(kc *codec.KeyCodec[string]) operator.Operator {
	return processop.NewKeyed(kc, func(k *processop.Keyed[string], out *basic.Outlet[string]) (processop.Function, error) {
		var (
			count state.Value[int]
			notes state.List[string]
			seen  state.Map[int, string]
			sum   state.Reducing[int]
		)
		rules := func() state.Broadcast[int, string] {
			b, err := state.OpenBroadcast(&k.Broadcasts, state.BroadcastOf[int, string]("rules"))
			if err != nil {
				panic(err)
			}
			return b
		}
		open := func() error {
			s, err := k.Store()
			if err != nil {
				return err
			}
			count, _ = state.Open(s, state.ValueOf[int]("count"))
			notes, _ = state.Open(s, state.ListOf[string]("notes"))
			seen, _ = state.Open(s, state.MapOf[int, string]("seen"))
			sum, _ = state.Open(s, state.ReducingOf("sum", func(a, b int) int { return a + b }))
			return nil
		}
		say := func(what string) {
			c, _ := count.Get()
			total, _ := sum.Get()
			var entries []string
			for n, s := range seen.All() {
				entries = append(entries, fmt.Sprint(n, "=", s))
			}
			out.Emit(fmt.Sprint(what, " ", k.Place.Key.Hash>>40, " count ", c, " sum ", total, " notes ", slices.Collect(notes.All()), " seen ", entries, " watermark ", k.Watermark))
		}
		row := func(v *visit) error {
			count.Update(func(c *int) { *c++ })
			sum.Add(v.N)
			notes.Add(fmt.Sprint("n", v.N))
			rule, _ := rules().Get(v.N % 3)
			seen.Put(v.N%5, rule)
			k.RegisterEvent(k.Time + int64(v.N))
			k.RegisterProcessing(k.Now() + int64(v.N))
			if v.N%4 == 0 {
				k.DeleteEvent(k.Time + int64(v.N/2))
				k.DeleteProcessing(k.Now() + int64(v.N/2))
			}
			say("row")
			return nil
		}
		onTimer := func(at int64, processing bool) error {
			say(fmt.Sprint("timer ", at, processing))
			switch at % 4 {
			case 0:
				notes.Clear()
			case 1:
				count.Clear()
				sum.Clear()
			case 2:
				seen.Clear()
			}
			return nil
		}
		broadcast := func(v *visit) error {
			if v.N == 0 {
				rules().Delete(len(v.Key) % 3)
			} else {
				rules().Put(v.N%3, v.Key)
			}
			return nil
		}
		return processop.Function{Open: open, OnTimer: onTimer, Inputs: []processop.Input{
			processop.KeyedRows(k, visitKey, row), processop.Rows(&k.Runtime, broadcast)}}, nil
	})
}

func TestKeyedFunctionSurvives(t *testing.T) {
	kc := stringKeys(t)
	hash := hashVisits(kc)
	for name, backend := range map[string]func(statebackend.Config) (statebackend.Keyed, error){
		"paged": nil,
		"model": func(c statebackend.Config) (statebackend.Keyed, error) { return model.New(c), nil },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				tr := &optest.Trial{
					Make: func() *optest.Harness {
						h := optest.New(everything(kc))
						if backend != nil {
							h.Backend = backend
						}
						h.BatchRows = rapid.SampledFrom([]int{1, 3, 0}).Draw(rt, "batch")
						return h
					},
					Output: func(h *optest.Harness) []string { return optest.Lines[string](h) },
				}
				tr.Steps = drawKeyedSteps(rt, hash)
				if err := tr.Survives(optest.DrawCrashes(rt, len(tr.Steps))); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

func drawKeyedSteps(rt *rapid.T, hash operator.Hasher) (steps []func(*optest.Fleet) error) {
	watermark, now := int64(0), int64(0)
	row := func() optest.Row[visit] {
		v := visit{rapid.StringMatching("[a-f]").Draw(rt, "key"), rapid.IntRange(0, 20).Draw(rt, "n")}
		return optest.At(v, watermark+rapid.Int64Range(0, 9).Draw(rt, "ahead"))
	}
	for range rapid.IntRange(1, 12).Draw(rt, "steps") {
		switch rapid.IntRange(0, 4).Draw(rt, "what") {
		case 0:
			watermark += rapid.Int64Range(1, 15).Draw(rt, "watermark")
			to := watermark
			steps = append(steps, func(f *optest.Fleet) error { return f.Watermark(to) })
		case 1:
			now += rapid.Int64Range(1, 15).Draw(rt, "clock")
			to := now
			steps = append(steps, func(f *optest.Fleet) error { return f.Advance(to) })
		case 2:
			r := row()
			steps = append(steps, func(f *optest.Fleet) error { return optest.FeedEach(f, 1, r) })
		default:
			var rows []optest.Row[visit]
			for range rapid.IntRange(1, 8).Draw(rt, "rows") {
				rows = append(rows, row())
			}
			steps = append(steps, func(f *optest.Fleet) error { return optest.FeedAll(f, 0, hash, rows...) })
		}
	}
	return append(steps, func(f *optest.Fleet) error { return f.End(2) })
}

// A processing-time timer whose time has gone by while nothing ran fires at once, an event-time timer at the next watermark
// behind it, without another row of its key (P26).
func TestTimersOfAnIdleKey(t *testing.T) {
	kc := stringKeys(t)
	op := func() operator.Operator {
		return processop.NewKeyed(kc, func(k *processop.Keyed[string], out *basic.Outlet[string]) (processop.Function, error) {
			return processop.Function{
				OnTimer: func(at int64, processing bool) error {
					key, _ := k.Key()
					out.Emit(fmt.Sprint(key, at, processing))
					return nil
				},
				Inputs: []processop.Input{processop.KeyedRows(k, visitKey, func(v *visit) error {
					k.RegisterProcessing(int64(v.N))
					k.RegisterEvent(int64(v.N) + 1)
					return nil
				})},
			}, nil
		})
	}
	h := optest.New(op())
	if err := h.Open(); err != nil {
		t.Fatal(err)
	}
	if err := optest.Feed(h, 0, hashVisits(kc), optest.At(visit{"a", 100}, 1), optest.At(visit{"a", 900}, 1)); err != nil {
		t.Fatal(err)
	}
	s, err := h.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again := optest.New(op())
	if err := again.Advance(500); err != nil { // the machine was off until then
		t.Fatal(err)
	}
	if err := again.Restore(s); err != nil {
		t.Fatal(err)
	}
	if err := again.Advance(500); err != nil {
		t.Fatal(err)
	}
	if got := optest.Lines[string](again); !slices.Equal(got, []string{"a100 true@-9223372036854775808"}) {
		t.Errorf("overdue: %q", got)
	}
	if err := again.Watermark(101); err != nil {
		t.Fatal(err)
	}
	if got := optest.Lines[string](again); !slices.Equal(got, []string{"a101 false@101"}) {
		t.Errorf("at the watermark: %q", got)
	}
	if err := again.Advance(900); err != nil {
		t.Fatal(err)
	}
	if got := optest.Lines[string](again); len(got) != 1 || !strings.HasPrefix(got[0], "a900 true") {
		t.Errorf("at its time: %q", got)
	}
}

// holder keeps rows in a list that is split and numbers in one that everybody gets, and shows them when it is told to.
func holder(union bool, opensLate bool) operator.Operator {
	return processop.New(func(rt *processop.Runtime, out *basic.Outlet[string]) (processop.Function, error) {
		var held state.OperatorList[string]
		opened := false
		open := func() (err error) {
			if opened {
				return nil
			}
			opened = true
			d := state.OperatorListOf[string]("held")
			if union {
				d = state.OperatorUnionOf[string]("held")
			}
			if held, err = state.OpenOperatorList(&rt.Lists, d); err != nil {
				return err
			}
			if union && rt.Op.Restored != nil { // what is mine is what falls on my number
				var mine []string
				for v := range held.All() {
					if int(v[len(v)-1])%rt.Op.Parallelism == rt.Op.Subtask {
						mine = append(mine, v)
					}
				}
				held.Set(mine)
			}
			return nil
		}
		row := func(v *visit) error {
			if err := open(); err != nil {
				return err
			}
			if v.Key != "" {
				held.Add(v.Key)
				return nil
			}
			for s := range held.All() {
				out.Emit(s)
			}
			held.Clear()
			return nil
		}
		f := processop.Function{Open: open, Inputs: []processop.Input{processop.Rows(rt, row)}}
		if opensLate {
			f.Open = nil
		}
		return f, nil
	})
}

// The multiset of what lists hold is the same at every parallelism, down and up (P27). Lists that are opened late, by some
// subtasks only, lose nothing either.
func TestListsDownAndUp(t *testing.T) {
	show := func(f *optest.Fleet) error { return optest.FeedEach(f, 0, optest.At(visit{}, 0)) }
	add := func(n int) func(f *optest.Fleet) error {
		return func(f *optest.Fleet) error {
			for i := range n {
				if err := optest.FeedAll(f, 0, nil, optest.At(visit{Key: fmt.Sprint("v", n, ".", i)}, 0)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	end := func(f *optest.Fleet) error { return f.End(1) }
	for _, union := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			if union && late {
				continue // a list that everybody gets must be trimmed in Open
			}
			tr := &optest.Trial{
				Make:   func() *optest.Harness { return optest.New(holder(union, late)) },
				Steps:  []func(*optest.Fleet) error{add(23), add(2), add(1), add(11), show, end},
				Output: func(h *optest.Harness) []string { return optest.Lines[string](h) },
			}
			crashes := []optest.Crash{{Cut: 1, At: 2, Parallelism: 2}, {Cut: 2, At: 2, Parallelism: 5}, {Cut: 3, At: 4, Parallelism: 5}, {Cut: 4, At: 5, Parallelism: 3}}
			out, err := tr.Run(4, crashes)
			if err != nil {
				t.Fatal(err)
			}
			if len(out) != 23+2+1+11 {
				t.Errorf("union %v, late %v: %d elements, want 37", union, late, len(out))
			}
			if err := tr.Survives(4, crashes); err != nil {
				t.Errorf("union %v, late %v: %v", union, late, err)
			}
		}
	}
}

// With the same parallelism a subtask finds its own list again, in its order.
func TestListStaysWithItsSubtask(t *testing.T) {
	f, err := optest.NewFleet(3, func() *optest.Harness { return optest.New(holder(false, false)) })
	if err != nil {
		t.Fatal(err)
	}
	feed := func(sub int, keys ...string) {
		for _, k := range keys {
			if err := optest.Feed(f.Subtasks[sub], 0, nil, optest.At(visit{Key: k}, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	feed(0, "a", "b", "c", "d")
	feed(2, "e")
	s, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Crash(s, 3); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"a b c d", "", "e"} {
		feed(i, "")
		if got := optest.Values(optest.Take[string](f.Subtasks[i])); strings.Join(got, " ") != want {
			t.Errorf("subtask %d holds %q, want %q", i, got, want)
		}
	}
}
