package app

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/sink"
	"github.com/weir-stream/weir/internal/operator/source"
)

// mapJob is numbers -> f -> total, each in a task of its own.
func mapJob(n int64, f func(int64) int64, settings ...string) (*Plan, error) {
	g := graph.New("map")
	src := finding{numbers{n}}
	s := g.Add(graph.Node{Name: "src", Kind: "source", Source: true, Stateful: true, Bounded: true, Factory: &source.Descriptor{
		Make: func() operator.Operator { return source.New[int64](src, source.Options[int64]{}) }, Enumerator: src.Enumerator}})
	m := g.Add(graph.Node{Name: "f", Kind: "map", Inputs: []graph.Edge{{From: s.ID, Type: "int64", Partition: graph.Partition{Kind: graph.Rebalance, Explicit: true}}},
		Factory: operator.Maker(func() operator.Operator { return basic.NewMap(f) })})
	g.Add(graph.Node{Name: "out", Kind: "sink", Sink: true, Inputs: []graph.Edge{{From: m.ID, Type: "int64"}},
		Factory: operator.Maker(func() operator.Operator { return sink.New[int64](&total{}) })})
	c := config.NewRegistry(config.Core()...).New()
	if err := c.SetFlags(append(settings, "pipeline.operator-chaining.enabled=false")); err != nil {
		return nil, err
	}
	return NewPlan(Program{Graph: g, Config: c})
}

// finding is numbers with an enumerator, which has no splits: its readers know what to read.
type finding struct{ numbers }

func (finding) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	return nothing{}, nil
}

type nothing struct{}

func (nothing) Next(int) (s connector.Split, ok, done bool, wait time.Duration, err error) {
	return s, false, true, 0, nil
}
func (nothing) Return(int, []connector.Split) {}
func (nothing) Snapshot() ([]byte, error)     { return nil, nil }
func (nothing) Close() error                  { return nil }

// lines is a log that can be waited for.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	wait chan struct{}
	want string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if l.want != "" && strings.Contains(l.text.String(), l.want) {
		l.want = ""
		close(l.wait)
	}
	return len(p), nil
}

func (l *lines) world() World {
	log := slog.New(slog.NewTextHandler(l, nil))
	return World{Clock: clock.Real{}, Log: log, Events: events.Log(log)}
}

// What one task fails with ends the job, and is what the job fails with: once, and before anything else.
func TestFirstCause(t *testing.T) {
	plan, err := mapJob(1_000_000, func(v int64) int64 {
		if v == 500_123 {
			panic("no such number")
		}
		return v
	}, "parallelism.default=3")
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	res, err := Run(context.Background(), log.world(), plan, RunOptions{})
	if errs.CodeOf(err) != errs.CodeUserPanic || strings.Count(err.Error(), "no such number") != 1 || !strings.Contains(err.Error(), "row 500123") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(strings.SplitN(err.Error(), "\n", 2)[0], "no such number") {
		t.Errorf("the first line does not tell the cause: %v", err)
	}
	if res == nil || len(res.Operators) != 3 {
		t.Errorf("the result of a failed job is %+v", res)
	}
}

// hang is a user function that does not return before the test lets it.
func hang(entered func(), until <-chan struct{}) func(int64) int64 {
	return func(v int64) int64 {
		entered()
		<-until
		return v
	}
}

// A function that does not return after the job was cancelled is complained about by its name, and again; the job ends when
// it does return.
func TestHangingFunctionIsNamed(t *testing.T) {
	for _, timeout := range []string{"0 ms", "100 ms"} {
		t.Run("timeout "+timeout, func(t *testing.T) {
			let, in := make(chan struct{}), make(chan struct{})
			free := sync.OnceFunc(func() { close(let) })
			defer free()
			plan, err := mapJob(100, hang(sync.OnceFunc(func() { close(in) }), let), "task.cancellation.interval=10 ms", "task.cancellation.timeout="+timeout)
			if err != nil {
				t.Fatal(err)
			}
			log := &lines{want: "for=20ms", wait: make(chan struct{})} // the second complaint
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := Run(ctx, log.world(), plan, RunOptions{})
				done <- err
			}()
			<-in
			cancel()
			select {
			case <-log.wait:
			case <-time.After(20 * time.Second):
				t.Fatal("nobody complains")
			}
			if timeout == "0 ms" {
				free()
			}
			select {
			case err = <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("the job does not end")
			}
			log.mu.Lock()
			defer log.mu.Unlock()
			text := log.text.String()
			if !strings.Contains(text, "app.hang") || !strings.Contains(text, `task="f (1/1)"`) {
				t.Errorf("the complaint does not name the function: %s", text)
			}
			if !errs.IsCanceled(err) { // with a timeout the task was given up, and that is in the log
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHeartbeatsMustFitTheirTimeout(t *testing.T) {
	for settings, ok := range map[[2]string]bool{{"10 s", "50 s"}: true, {"10 s", "10 s"}: false, {"10 s", "0 s"}: false, {"0 s", "50 s"}: false} {
		_, err := mapJob(1, func(v int64) int64 { return v }, "heartbeat.interval="+settings[0], "heartbeat.timeout="+settings[1])
		if (err == nil) != ok {
			t.Errorf("interval and timeout %v: %v", settings, err)
		}
	}
}
