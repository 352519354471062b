package windowop

import (
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// The specs of window/testdata/flink_2.3.0_operator.txt, by number.
func flinkSpecs() []window.Spec {
	far := func(a, b int) float64 { return math.Abs(float64(a - b)) }
	ten, twenty, six, lateSix := window.Tumbling(ms(10)), window.Tumbling(ms(20)), window.Session(ms(6)), window.Session(ms(6)).AllowedLateness(ms(8))
	return []window.Spec{
		ten,
		ten.AllowedLateness(ms(5)),
		ten.Offset(ms(3)),
		window.Sliding(ms(10), ms(4)).AllowedLateness(ms(3)),
		six,
		lateSix,
		ten.Trigger(window.OnCount(3)),
		ten.AllowedLateness(ms(5)).Trigger(window.Purging(window.OnCount(2))),
		twenty.AllowedLateness(ms(10)).Trigger(window.EveryEventTime(ms(7))),
		six.Trigger(window.EveryEventTime(ms(5))),
		lateSix.Trigger(window.Purging(window.OnEventTime())),
		twenty.AllowedLateness(ms(8)).Evictor(window.KeepLast(2)),
		window.Sliding(ms(15), ms(5)).Evictor(window.KeepWithin(ms(4))),
		window.Global().Trigger(window.Purging(window.OnCount(3))),
		window.Global().Trigger(window.OnCount(2)).Evictor(window.KeepLast(4)),
		lateSix.Trigger(window.OnCount(3)),
		window.Global().Trigger(window.OnDelta(3000, far)),
		window.Sliding(ms(3), ms(7)),
		twenty.Trigger(window.Purging(window.OnDelta(2000, far))),
		lateSix.Evictor(window.KeepLast(2).After()),
		window.SessionDynamic(func(row int) time.Duration { return ms(int64(row%9) + 1) }).AllowedLateness(ms(5)),
		twenty.AllowedLateness(ms(8)).Evictor(window.KeepNear(4000, far)),
	}
}

// tally is the accumulator of the tests: rows and their sum. The Note makes it one that must be encoded.
type tally struct{ Rows, Sum int }

type notedTally struct {
	T    tally
	Note string
}

func show(w window.Window, t tally) string {
	if w.IsGlobal() {
		return fmt.Sprintf("global %d %d", t.Rows, t.Sum)
	}
	return fmt.Sprintf("[%d,%d) %d %d", w.Start, w.End, t.Rows, t.Sum)
}

func oneKey(int) string { return "k" }

func hashOne(b event.Batch) {
	in := b.(*event.Records[int])
	kc, _ := codec.KeyFor[string]()
	in.Hash = in.Hash[:len(in.Rows)]
	key := "k"
	for i := range in.Rows {
		in.Hash[i] = kc.Hash(&key)
	}
}

var tallying = Aggregate[int, tally, tally]{
	Add:    func(a *tally, v int) { a.Rows++; a.Sum += v },
	Merge:  func(a, from *tally) { a.Rows += from.Rows; a.Sum += from.Sum },
	Result: func(a *tally) tally { return *a },
}

// tallies returns the operators that can serve a spec, by name. Each writes its results as lines.
func tallies(t testing.TB, spec window.Spec) map[string]func() operator.Operator {
	t.Helper()
	b, err := window.Bind[int](spec)
	if err != nil {
		t.Fatal(err)
	}
	kc, err := codec.KeyFor[string]()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config[string, int, tally, tally, string]{Window: b, Key: oneKey, Keys: kc, LateSide: "late", Aggregate: tallying,
		Make: func(_ string, w window.Window, r tally) string { return show(w, r) }}
	noted := Config[string, int, notedTally, tally, string]{Window: b, Key: oneKey, Keys: kc, LateSide: "late", Make: cfg.Make,
		Aggregate: Aggregate[int, notedTally, tally]{
			Add:    func(a *notedTally, v int) { tallying.Add(&a.T, v); a.Note = "seen" },
			Merge:  func(a, from *notedTally) { tallying.Merge(&a.T, &from.T); a.Note += from.Note },
			Result: func(a *notedTally) tally { return a.T },
		}}
	whole := Whole(func(c *Call[string], out *basic.Outlet[string]) Hooks[iter.Seq[int]] {
		return Hooks[iter.Seq[int]]{Fire: func(rows iter.Seq[int]) error {
			var r tally
			for v := range rows {
				tallying.Add(&r, v)
			}
			out.Emit(show(c.Window, r))
			return nil
		}}
	})
	general := func(f Function[string, int, string]) func() operator.Operator {
		return func() operator.Operator {
			return NewGeneral(GeneralConfig[string, int, string]{Window: b, Key: oneKey, Keys: kc, Function: f, LateSide: "late"})
		}
	}
	return map[string]func() operator.Operator{
		"chosen":                      func() operator.Operator { return New(cfg) },
		"chosen, encoded accumulator": func() operator.Operator { return New(noted) },
		"general, incremental":        general(cfg.Incremental()),
		"general, encoded":            general(noted.Incremental()),
		"general, whole":              general(whole),
	}
}

// What comes out, results and late rows, is what came out of Flink 2.3.0: the same lines, whatever their order among windows that
// fire at one watermark.
func TestAsFlink(t *testing.T) {
	text, err := os.ReadFile("../../../window/testdata/flink_2.3.0_operator.txt")
	if err != nil {
		t.Fatal(err)
	}
	specs := flinkSpecs()
	scenarios := strings.Split(string(text), "spec ")[1:]
	if len(scenarios) != 3*len(specs) {
		t.Errorf("%d scenarios, want %d", len(scenarios), 3*len(specs))
	}
	for _, scenario := range scenarios {
		lines := strings.Split(strings.TrimSpace(scenario), "\n")
		number, script, _ := strings.Cut(lines[0], ":")
		i, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		want := lines[1:]
		slices.Sort(want)
		for name, op := range tallies(t, specs[i]) {
			for _, batch := range []int{1, 2, 0} {
				got := playScript(t, op(), script, batch)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s, batches of %d:%s\n got %q\nwant %q", specs[i], name, batch, script, got, want)
				}
			}
		}
	}
}

// playScript feeds rows "value@time", watermarks "wm=time" and processing times "now=time", ends the input, and returns
// the results in order, and behind them "late value" for each late row.
func playScript(t testing.TB, op operator.Operator, script string, batch int) (lines []string) {
	t.Helper()
	h := opened(t, op, batch)
	var pending []optest.Row[int]
	flush := func() {
		must(t, optest.Feed(h, 0, hashOne, pending...))
		pending = nil
	}
	for step := range strings.FieldsSeq(script) {
		var row int
		var at int64
		if _, err := fmt.Sscanf(step, "wm=%d", &at); err == nil {
			flush()
			must(t, h.Watermark(at))
		} else if _, err := fmt.Sscanf(step, "now=%d", &at); err == nil {
			flush()
			must(t, h.Advance(at))
		} else if _, err := fmt.Sscanf(step, "%d@%d", &row, &at); err == nil {
			pending = append(pending, optest.At(row, at))
		} else {
			t.Fatalf("step %q", step)
		}
	}
	flush()
	must(t, h.End(1))
	lines = optest.Values(optest.Take[string](h))
	for _, late := range optest.Values(optest.TakeSide[int](h, "late")) {
		lines = append(lines, fmt.Sprintf("late %d", late))
	}
	return lines
}
