package weir_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/events"
)

// eventLog writes down all events, as "Name{field:value ...}".
type eventLog struct {
	mu  sync.Mutex
	all []string
}

func (l *eventLog) listener() (out events.Listener) {
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func(in []reflect.Value) []reflect.Value {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.all = append(l.all, fmt.Sprintf("%s%+v", name, in[0].Interface()))
			return nil
		}))
	}
	return out
}

// named returns the events whose name begins with one of those, in order.
func (l *eventLog) named(names ...string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.all {
		if name, _, _ := strings.Cut(e, "{"); slices.Contains(names, name) {
			out = append(out, e)
		}
	}
	return out
}

// run runs the job of env with the log as its listener.
func (l *eventLog) run(ctx context.Context, env *weir.Env) error {
	_, err := env.Execute(app.WithRunner(ctx, func(ctx context.Context, w app.World, plan *app.Plan) (*app.Result, error) {
		w.Events = l.listener()
		return app.Run(ctx, w, plan, app.RunOptions{})
	}))
	return err
}

// words checks that the events are as many as wanted and have the wanted words.
func words(t *testing.T, got []string, want ...string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(want); i++ {
		for w := range strings.FieldsSeq(want[i]) {
			ok = ok && strings.Contains(got[i], w)
		}
	}
	if !ok {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestEventsOfAJob(t *testing.T) {
	log := &eventLog{}
	env := weir.NewEnv("told").Parallelism(2)
	weir.From(env, "numbers", slice.Of(1, 2, 3)).Parallelism(1).Map(func(v int) int { return v }).Name("same").To("out", blackhole.Sink[int]())
	if err := log.run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	words(t, log.named("JobBegin", "JobPhase", "JobEnd", "DeployBegin", "DeployEnd", "WorkerConnected", "WorkerLost"),
		"JobBegin Name:told Vertices:2 Tasks:3",
		"JobPhase From:CREATED To:DEPLOYING",
		"WorkerConnected Worker:embedded",
		"DeployBegin Generation:1 Tasks:3 Workers:1",
		"JobPhase From:DEPLOYING To:RUNNING",
		"DeployEnd Err:<nil>",
		"JobPhase From:RUNNING To:FINISHING",
		"JobPhase From:FINISHING To:FINISHED",
		"WorkerLost Worker:embedded Err:<nil> Tasks:3",
		"JobEnd Phase:FINISHED Err:<nil>")
	words(t, log.named("SplitAssigned", "SplitFinished"), "SplitAssigned Operator:numbers Subtask:0", "SplitFinished Operator:numbers Rows:1",
		"SplitAssigned", "SplitFinished", "SplitAssigned", "SplitFinished")
	for _, task := range []string{"v0/0#0", "v1/0#0", "v1/1#0"} {
		var of []string
		for _, e := range log.named("TaskPhase") {
			if strings.Contains(e, "Task:"+task+" ") {
				of = append(of, e)
			}
		}
		words(t, of, "To:RUNNING Worker:embedded", "From:RUNNING To:FINISHED Err:<nil>")
	}
	if log.all[0][:8] != "JobBegin" || log.all[len(log.all)-1][:6] != "JobEnd" {
		t.Errorf("the first is %s, the last %s", log.all[0], log.all[len(log.all)-1])
	}
}

func TestEventsOfAJobThatFails(t *testing.T) {
	log := &eventLog{}
	env := weir.NewEnv("fails").Parallelism(1)
	weir.From(env, "numbers", generator.Of(func(i int64) int64 { return i })).
		Map(func(v int64) int64 { return 1 / (1000 - v) }).Name("divide").To("out", blackhole.Sink[int64]())
	if err := log.run(t.Context(), env); err == nil {
		t.Fatal("it has not failed")
	}
	words(t, log.named("TaskPhase"), "To:RUNNING", "From:RUNNING To:FAILED divide")
	words(t, log.named("JobBegin", "JobEnd", "DeployBegin", "DeployEnd"), "JobBegin", "DeployBegin", "DeployEnd Err:<nil>", "JobEnd Phase:FAILED divide")
}

func TestEventsOfAJobThatIsCancelled(t *testing.T) {
	log := &eventLog{}
	ctx, cancel := context.WithCancel(t.Context())
	env := weir.NewEnv("stops").Parallelism(1)
	weir.From(env, "numbers", generator.Of(func(i int64) int64 {
		if i == 1000 {
			cancel()
		}
		return i
	})).To("out", blackhole.Sink[int64]())
	if err := log.run(ctx, env); err == nil {
		t.Fatal("it has not been cancelled")
	}
	words(t, log.named("TaskPhase"), "To:RUNNING", "From:RUNNING To:CANCELED")
	words(t, log.named("JobBegin", "JobEnd"), "JobBegin", "JobEnd Phase:CANCELED Err:<nil>")
}

func TestEventsOfAlignment(t *testing.T) {
	log := &eventLog{}
	env := weir.NewEnv("aligned").Parallelism(2)
	at := func(i int64) time.Time { return time.UnixMilli(i) }
	// Subtask 0 reads the even numbers, whose times are their values; subtask 1 the odd ones, a hundred times as far.
	times := func(i int64) int64 {
		if i%2 == 1 {
			return 100 * i
		}
		return i
	}
	var src connector.Source[int64] = generator.Of(times, generator.Count(20_000))
	weir.From(env, "numbers", src, weir.EventTime(at, weir.Aligned(100*time.Millisecond))).To("out", blackhole.Sink[int64]())
	if err := log.run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	begun, ended := map[string]int{}, map[string]int{}
	for _, e := range log.named("AlignmentPauseBegin", "AlignmentPauseEnd") {
		_, subtask, _ := strings.Cut(e, "Subtask:")
		subtask = subtask[:1]
		if strings.HasPrefix(e, "AlignmentPauseBegin") {
			begun[subtask]++
		} else {
			ended[subtask]++
		}
		if d := begun[subtask] - ended[subtask]; d != 0 && d != 1 {
			t.Fatalf("no pair: %s after %d begun and %d ended", e, begun[subtask], ended[subtask])
		}
	}
	if len(begun) == 0 {
		t.Error("no source was paused")
	}
}
