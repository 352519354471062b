package weir_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/model"
	"github.com/weir-stream/weir/state"
)

// command is a row that says what the function is to do with its key's state.
type command[K any] struct {
	Key K
	Op  int
	Arg int64
}

const commandOps = 13

type label struct{ Text string } // varies in size

// interpreter runs commands and emits what it sees after each.
type interpreter[K any] struct {
	value  state.Value[int64]
	text   state.Value[label]
	list   state.List[int64]
	texts  state.List[string]
	table  state.Map[string, int64]
	most   state.Reducing[int64]
	digits state.Aggregating[int64, [4]int64, int64]
}

func (f *interpreter[K]) Open(ctx *weir.KeyedContext[K]) error {
	f.value = ctx.State(state.ValueOf[int64]("value"))
	f.text = ctx.State(state.ValueOf[label]("text"))
	f.list = ctx.State(state.ListOf[int64]("list"))
	f.texts = ctx.State(state.ListOf[string]("texts"))
	f.table = ctx.State(state.MapOf[string, int64]("table"))
	f.most = ctx.State(state.ReducingOf("most", func(a, b int64) int64 { return max(a, b) }))
	f.digits = ctx.State(state.AggregatingOf("digits", func(a *[4]int64, n int64) { a[n&3]++ },
		func(a *[4]int64) int64 { return a[0] + 10*a[1] + 100*a[2] + 1000*a[3] }))
	return nil
}

func (f *interpreter[K]) Process(ctx *weir.KeyedContext[K], c command[K], out weir.Out[string]) error {
	at := time.UnixMilli(c.Arg)
	switch c.Op {
	case 0:
		f.value.Set(c.Arg)
	case 1:
		f.value.Update(func(v *int64) { *v += c.Arg })
	case 2:
		f.value.Clear()
		f.text.Clear()
		f.most.Clear()
	case 3:
		f.text.Update(func(l *label) { l.Text += fmt.Sprint(c.Arg) })
	case 4:
		f.list.Add(c.Arg, -c.Arg)
		f.texts.Add(fmt.Sprint(c.Arg))
	case 5:
		f.list.Set([]int64{c.Arg})
		f.texts.Clear()
	case 6:
		f.table.Put(fmt.Sprint(c.Arg%5), c.Arg)
	case 7:
		f.table.Delete(fmt.Sprint(c.Arg % 5))
	case 8:
		f.most.Add(c.Arg)
		f.digits.Add(c.Arg)
	case 9:
		ctx.RegisterEventTimer(at)
	case 10:
		ctx.DeleteEventTimer(at)
	case 11:
		ctx.RegisterProcessingTimer(at)
	case 12:
		ctx.DeleteProcessingTimer(at)
	}
	out.Emit(f.describe(ctx))
	return nil
}

func (f *interpreter[K]) describe(ctx *weir.KeyedContext[K]) string {
	v, ok := f.value.Get()
	text, has := f.text.Get()
	most, any := f.most.Get()
	digits, _ := f.digits.Get()
	return fmt.Sprint(ctx.Key(), v, ok, text.Text, has, most, any, digits, slices.Collect(f.list.All()), f.list.Len(),
		slices.Collect(f.texts.All()), maps.Collect(f.table.All()), f.table.Len())
}

func (f *interpreter[K]) OnTimer(ctx *weir.KeyedContext[K], t weir.Timer, out weir.Out[string]) error {
	out.Emit(fmt.Sprint(t.Time.UnixMilli(), t.Processing, f.describe(ctx)))
	f.value.Update(func(v *int64) {
		if *v%4 == 1 {
			if t.Processing {
				ctx.RegisterProcessingTimer(t.Time.Add(3 * time.Millisecond))
			} else {
				ctx.RegisterEventTimer(t.Time.Add(3 * time.Millisecond))
			}
		}
		*v--
	})
	return nil
}

// plain is the obvious form of the interpreter: Go maps.
type plain[K comparable] struct{ keys map[K]*plainKey }

type plainKey struct {
	value, most *int64
	text        *label
	digits      int64
	list        []int64
	texts       []string
	table       map[string]int64
	timers      [2]map[int64]bool // event, processing
}

func (p *plain[K]) at(k K) *plainKey {
	s := p.keys[k]
	if s == nil {
		s = &plainKey{table: map[string]int64{}, timers: [2]map[int64]bool{{}, {}}}
		p.keys[k] = s
	}
	return s
}

func (p *plain[K]) run(c command[K]) string {
	s := p.at(c.Key)
	switch c.Op {
	case 0:
		s.value = &c.Arg
	case 1:
		s.add(c.Arg)
	case 2:
		s.value, s.text, s.most = nil, nil, nil
	case 3:
		if s.text == nil {
			s.text = &label{}
		}
		s.text = &label{s.text.Text + fmt.Sprint(c.Arg)}
	case 4:
		s.list = append(s.list, c.Arg, -c.Arg)
		s.texts = append(s.texts, fmt.Sprint(c.Arg))
	case 5:
		s.list, s.texts = []int64{c.Arg}, nil
	case 6:
		s.table[fmt.Sprint(c.Arg%5)] = c.Arg
	case 7:
		delete(s.table, fmt.Sprint(c.Arg%5))
	case 8:
		if s.most == nil || *s.most < c.Arg {
			s.most = &c.Arg
		}
		s.digits += []int64{1, 10, 100, 1000}[c.Arg&3]
	case 9, 11:
		s.timers[(c.Op-9)/2][c.Arg] = true
	case 10, 12:
		delete(s.timers[(c.Op-9)/2], c.Arg)
	}
	return s.describe(c.Key)
}

func (s *plainKey) add(n int64) {
	if s.value != nil {
		n += *s.value
	}
	s.value = &n
}

func (s *plainKey) describe(key any) string {
	or := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	text := label{}
	if s.text != nil {
		text = *s.text
	}
	return fmt.Sprint(key, or(s.value), s.value != nil, text.Text, s.text != nil, or(s.most), s.most != nil, s.digits,
		s.list, len(s.list), s.texts, s.table, len(s.table))
}

// fire fires all timers up to t of one domain, the earliest of all keys first.
func (p *plain[K]) fire(domain int, t int64) (out []string) {
	for {
		var first *plainKey
		var key K
		at := int64(math.MaxInt64)
		for k, s := range p.keys {
			for x := range s.timers[domain] {
				if x <= t && (first == nil || x < at) {
					first, key, at = s, k, x
				}
			}
		}
		if first == nil {
			return out
		}
		delete(first.timers[domain], at)
		out = append(out, fmt.Sprint(at, domain == 1, first.describe(key)))
		if first.value != nil && *first.value%4 == 1 {
			first.timers[domain][at+3] = true
		}
		first.add(-1)
	}
}

func TestKeyedProcessAgreesWithMaps(t *testing.T) {
	t.Run("int64", func(t *testing.T) { againstMaps(t, func(n int) int64 { return int64(n) }) })
	t.Run("string", func(t *testing.T) { againstMaps(t, func(n int) string { return fmt.Sprintf("%0*d", n, n) }) })
	type pair struct{ A, B int32 }
	t.Run("struct", func(t *testing.T) { againstMaps(t, func(n int) pair { return pair{int32(n), int32(-n)} }) })
}

func againstMaps[K comparable](t *testing.T, key func(int) K) {
	rapid.Check(t, func(rt *rapid.T) {
		env := weir.NewEnv("model")
		keyed := weir.From(env, "commands", slice.Of[command[K]]()).KeyBy(func(c command[K]) K { return c.Key })
		h := optest.New(weir.OperatorOf(keyed.Process("interpreter", func() weir.KeyedProcess[K, command[K], string] { return &interpreter[K]{} })))
		if rapid.Bool().Draw(rt, "model backend") {
			h.Backend = func(c statebackend.Config) (statebackend.Keyed, error) { return model.New(c), nil }
		}
		h.BatchRows = rapid.SampledFrom([]int{0, 1, 2}).Draw(rt, "batch")
		h.Context.BatchRows = h.BatchRows
		if err := h.Open(); err != nil {
			rt.Fatal(err)
		}
		p := &plain[K]{keys: map[K]*plainKey{}}
		watermark, now := int64(-100), int64(0)
		check := func(err error, want []string) {
			if err != nil {
				rt.Fatal(err)
			}
			got := optest.Values(optest.Take[string](h))
			if !slices.Equal(got, want) {
				rt.Fatalf("got  %q\nwant %q", got, want)
			}
		}
		timers := func(err error, want []string) {
			if err != nil {
				rt.Fatal(err)
			}
			rows := optest.Take[string](h)
			for i := range rows { // in the order of their times; keys of one time in any order
				if i > 0 && cmp.Compare(leading(rows[i].Value), leading(rows[i-1].Value)) < 0 {
					rt.Fatalf("timers out of order: %q", optest.Values(rows))
				}
			}
			got := optest.Values(rows)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				rt.Fatalf("got  %q\nwant %q", got, want)
			}
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				watermark += rapid.Int64Range(1, 30).Draw(rt, "watermark")
				timers(h.Watermark(watermark), p.fire(0, watermark))
			case 1:
				now += rapid.Int64Range(0, 30).Draw(rt, "now")
				timers(h.Advance(now), p.fire(1, now))
			default:
				var rows []optest.Row[command[K]]
				var want []string
				for range rapid.IntRange(1, 8).Draw(rt, "rows") {
					c := command[K]{key(rapid.IntRange(0, 4).Draw(rt, "key")), rapid.IntRange(0, commandOps-1).Draw(rt, "op"), rapid.Int64Range(0, 90).Draw(rt, "arg")}
					rows = append(rows, optest.At(c, c.Arg))
					want = append(want, p.run(c))
				}
				check(optest.Feed(h, 0, weir.HasherOf(keyed), rows...), want)
			}
		}
		timers(h.End(1), p.fire(0, math.MaxInt64))
	})
}

// leading is the number that a timer's row begins with: its time.
func leading(s string) (n int64) {
	_, _ = fmt.Sscanf(s, "%d", &n)
	return n
}
