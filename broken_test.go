package weir_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/print"
	"github.com/weir-stream/weir/connector/sequence"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/window"
)

type parcel struct {
	Shop  string
	Euros int
}

func broughtIn(env *weir.Env, opts ...weir.SourceOption[parcel]) weir.Stream[parcel] {
	return weir.From(env, "sales", slice.Of(parcel{"a", 1}, parcel{"b", 2}), opts...)
}

func shop(s parcel) string { return s.Shop }

func drop[T any](s weir.Stream[T]) { s.To("out", blackhole.Sink[T]()) }

// Everything here must be refused while the plan is made, at a line of this file, with the words given.
func TestRefusedPrograms(t *testing.T) {
	hourly := window.Tumbling(time.Hour)
	late := weir.NewTag[parcel]("late")
	cases := map[string]struct {
		build func(*weir.Env)
		want  []string
	}{
		"side output of a map": {func(e *weir.Env) {
			drop(broughtIn(e).Map(shop).Side(weir.NewTag[string]("late")))
		}, []string{"graph.side.unknown", `side output "late"`}},
		"misspelt side output": {func(e *weir.Env) {
			drop(broughtIn(e).KeyBy(shop).Window("w", hourly).SideLate(late).Aggregate(weir.Count[parcel]()).Side(weir.NewTag[parcel]("lat")))
		}, []string{"graph.side.unknown", `Did you mean "late"?`}},
		"side output of another type": {func(e *weir.Env) {
			drop(broughtIn(e).KeyBy(shop).Window("w", hourly).SideLate(late).Aggregate(weir.Count[parcel]()).Side(weir.NewTag[string]("late")))
		}, []string{"graph.side.type", "as rows of string, but they are weir_test.parcel"}},
		"side output of two types": {func(e *weir.Env) {
			s := broughtIn(e).ProcessEach("p", func(*weir.Context, parcel, weir.Out[parcel]) error { return nil })
			drop(s.Side(late))
			s.Side(weir.NewTag[int]("late")).To("other", blackhole.Sink[int]())
		}, []string{"graph.side.type", "as rows of int", "as rows of weir_test.parcel"}},
		"late rows of two types in one output": {func(e *weir.Env) {
			counts := broughtIn(e).KeyBy(shop).Count("c").KeyBy(func(c weir.Keyed[string, int64]) string { return c.Key })
			drop(broughtIn(e).KeyBy(shop).JoinWindow("j", counts, hourly).LateLeft(late).LateRight(weir.NewTag[weir.Keyed[string, int64]]("late")).
				Inner(func(s parcel, _ weir.Keyed[string, int64]) parcel { return s }))
		}, []string{"graph.side.type", `to one side output "late"`}},
		"rows without time of a map": {func(e *weir.Env) { drop(broughtIn(e).Map(shop).NoTime()) }, []string{"graph.side.unknown"}},
		"times": {func(e *weir.Env) {
			drop(broughtIn(e, weir.SourceOption[parcel]{}, weir.EventTime[parcel](nil, nil, weir.OutOfOrder(-time.Second), weir.Idle(-1), weir.Aligned(time.Microsecond))))
		}, []string{"EventTime is nil", "OutOfOrder is negative, -1s", "Idle is negative", "Aligned is 1µs"}},
		"bad records": {func(e *weir.Env) { drop(broughtIn(e, weir.OnBadRecord[parcel](weir.SkipBad(-5)))) }, []string{"-5 bad records"}},
		"nil functions in aggregations": {func(e *weir.Env) {
			k := broughtIn(e).KeyBy(shop)
			drop(k.Window("sum", hourly).Aggregate(weir.Sum[parcel, int](nil)))
			drop(k.Window("mean", hourly).Aggregate(weir.Mean[parcel, int](nil)))
			drop(k.Window("max", hourly).Aggregate(weir.Max[parcel, int](nil)))
			drop(k.Window("reducing", hourly).Aggregate(weir.Reducing[parcel](nil)))
			drop(k.Window("both", hourly).Aggregate(weir.Both(weir.Count[parcel](), weir.Sum[parcel, int](nil))))
			drop(k.Window("both sessions", window.Session(time.Hour)).Aggregate(weir.Both(weir.Count[parcel](), weir.Aggregation[parcel, int, int]{
				Add: func(*int, parcel) {}, Result: func(*int) int { return 0 }})))
		}, []string{`"sum" has no Add`, `"mean" has no Add`, `"max" has no Add`, `"reducing" has no Add`, `"both" has no Add`, `"both sessions" has no Merge`}},
		"maximum parallelism": {func(e *weir.Env) { drop(broughtIn(e).Map(shop).MaxParallelism(0)) }, []string{"maximum parallelism 0 is out of range"}},
		"nil writer and callback": {func(e *weir.Env) {
			e.Output(nil).AtEnd(nil)
			broughtIn(e).To("out", print.Sink[parcel]())
		}, []string{"graph.output.nil", "graph.function.nil"}},
		"option": {func(e *weir.Env) { drop(broughtIn(e.Set("parallelism.defalt", "3"))) },
			[]string{`config.unknown-key: broken_test.go`, `there is no option "parallelism.defalt".` + "\n  Did you mean"}},
		"key":     {func(e *weir.Env) { drop(broughtIn(e).KeyBy(func(parcel) *int { return nil }).Count("c")) }, []string{"*int cannot be a key: *int"}},
		"no sink": {func(e *weir.Env) { broughtIn(e) }, []string{"graph.sink.none", `.To("out", print.Sink[Row]())`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			env := weir.NewEnv(name)
			c.build(env)
			_, err := env.Explain()
			if err == nil {
				t.Fatal("the program is taken")
			}
			text := err.Error()
			for _, want := range append(c.want, "broken_test.go:") {
				if !strings.Contains(text, want) {
					t.Errorf("missing %q in\n%s", want, text)
				}
			}
			if strings.Contains(text, "\ngithub.com/") || strings.Contains(text, "config.unknown-key: broken_test.go:1: config") {
				t.Errorf("noise in\n%s", text)
			}
		})
	}
}

// The program's code that takes a sink's rows runs on a goroutine of the engine: its panic fails the job, not the process.
func TestPanicWhereRowsAreTaken(t *testing.T) {
	env := weir.NewEnv("panics").Output(writerFunc(func([]byte) (int, error) { panic("no paper") }))
	broughtIn(env).To("out", print.Sink[parcel]())
	_, err := env.Execute(context.Background())
	if err == nil || !strings.Contains(err.Error(), "out: ") || !strings.Contains(err.Error(), "no paper") {
		t.Fatalf("error %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// The loop over Collect runs the job, so it can be run once.
func TestCollectTwice(t *testing.T) {
	rows := broughtIn(weir.NewEnv("twice")).CollectErr(context.Background())
	n := 0
	for _, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	var second error
	for _, err := range rows {
		second = err
	}
	if n != 2 || second == nil || !strings.Contains(second.Error(), "already") {
		t.Fatalf("%d rows, then %v", n, second)
	}
}

// A zero Stream has no job to report to: using it is told apart from a mistake of the engine.
func TestZeroStream(t *testing.T) {
	defer func() {
		if p, ok := recover().(string); !ok || !strings.Contains(p, "begin with weir.From") {
			t.Fatalf("panic %v", p)
		}
	}()
	var none weir.Stream[parcel]
	none.Map(shop)
}

// The text of a panic ends where the engine begins, and says what happened once.
func TestPanicText(t *testing.T) {
	env := weir.NewEnv("panics")
	var nothing map[string]int
	drop(broughtIn(env).Map(func(s parcel) parcel { nothing[s.Shop] = 1; return s }))
	_, err := env.Execute(context.Background())
	if err == nil || strings.Count(err.Error(), "assignment to entry in nil map") != 1 || strings.Contains(err.Error(), "internal/task.") {
		t.Fatalf("error %v", err)
	}
}

// Functions that choose where a row goes are called at the end of a task: their panics name their own line and the row.
func TestPanicWhereRowsAreSent(t *testing.T) {
	refuse := func(p parcel) int {
		if p.Euros == 2 {
			panic("no such shop")
		}
		return 0
	}
	for name, build := range map[string]func(weir.Stream[parcel]){
		"KeyBy": func(s weir.Stream[parcel]) {
			drop(s.KeyBy(refuse).Count("counts"))
		},
		"PartitionBy": func(s weir.Stream[parcel]) {
			drop(s.PartitionBy(func(p parcel, _ int) int { return refuse(p) }).Map(shop).Parallelism(2))
		},
	} {
		env := weir.NewEnv(name)
		build(broughtIn(env))
		_, err := env.Execute(context.Background())
		for _, want := range []string{"user.panic: " + name + " at broken_test.go:", "no such shop", "{Shop:b Euros:2}"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: missing %q in %v", name, want, err)
			}
		}
	}
}

// tricky is a source whose enumerator or reader panics.
type tricky struct {
	connector.Source[parcel]
	where string
}

func (s tricky) Enumerator(ctx connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	e, err := s.Source.Enumerator(ctx, restored)
	return trickyEnumerator{e, s.where}, err
}

func (s tricky) Reader(ctx connector.ReaderContext) (connector.Reader[parcel], error) {
	r, err := s.Source.Reader(ctx)
	return trickyReader{r, s.where}, err
}

type trickyEnumerator struct {
	connector.Enumerator
	where string
}

func (e trickyEnumerator) Close() error {
	if e.where == "enumerator" {
		panic("cannot close")
	}
	return e.Enumerator.Close()
}

type trickyReader struct {
	connector.Reader[parcel]
	where string
}

func (r trickyReader) AddSplit(s connector.Split) error {
	if r.where == "split" {
		panic("cannot add")
	}
	return r.Reader.AddSplit(s)
}

// A connector that panics where nobody expects it is not taken for a mistake of the engine, and ends no process.
func TestPanicInConnector(t *testing.T) {
	run := func(where string) error {
		env := weir.NewEnv(where)
		drop(weir.From[parcel](env, "parcels", tricky{slice.Of(parcel{"a", 1}), where}))
		_, err := env.Execute(context.Background())
		return err
	}
	if err := run("enumerator"); err != nil { // all rows have been read: it is logged
		t.Error(err)
	}
	if err := run("split"); err == nil || !strings.Contains(err.Error(), "user.panic: parcels (1/1): panic: cannot add") {
		t.Error(err)
	}
}

// A tag for each value would cost a search and a batch each: it is refused, with what to do instead.
func TestTooManySideOutputsAreRefused(t *testing.T) {
	env := weir.NewEnv("tags")
	weir.From(env, "numbers", sequence.Of(0, 2000)).
		ProcessEach("tagged", func(ctx *weir.Context, n int64, _ weir.Out[int64]) error {
			ctx.Side(weir.NewTag[int64](fmt.Sprint("tag ", n)), n)
			return nil
		}).To("out", blackhole.Sink[int64]())
	_, err := env.Execute(t.Context())
	if err == nil || !strings.Contains(err.Error(), "more than 1000 side outputs") || !strings.Contains(err.Error(), `"tag 1000"`) {
		t.Fatalf("error is %v", err)
	}
}
