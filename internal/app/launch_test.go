package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/sink"
	"github.com/weir-stream/weir/internal/operator/source"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// numbers is a source of 0..n-1, cut into one split a subtask.
type numbers struct{ n int64 }

func (numbers) Name() string                       { return "numbers" }
func (numbers) Boundedness() connector.Boundedness { return connector.Bounded }
func (numbers) Enumerator(connector.EnumeratorContext, []byte) (connector.Enumerator, error) {
	return nil, nil
}
func (s numbers) Reader(c connector.ReaderContext) (connector.Reader[int64], error) {
	per := s.n / int64(c.Parallelism)
	from := per * int64(c.Subtask)
	to := from + per
	if c.Subtask == c.Parallelism-1 {
		to = s.n
	}
	return &numberReader{next: from, end: to}, nil
}

type numberReader struct{ next, end int64 }

func (r *numberReader) AddSplit(connector.Split) error { return nil }
func (r *numberReader) Poll(b *connector.Batch[int64]) (string, connector.Status, error) {
	for ; r.next < r.end && !b.Full(); r.next++ {
		b.Rows = append(b.Rows, r.next)
	}
	if r.next == r.end {
		return "", connector.Done, nil
	}
	return "", connector.More, nil
}
func (r *numberReader) Wait(ctx context.Context) error       { <-ctx.Done(); return nil }
func (r *numberReader) Pause(map[string]bool)                {}
func (r *numberReader) Snapshot() ([]connector.Split, error) { return nil, nil }
func (r *numberReader) Close() error                         { return nil }

// total is a sink that adds up.
type total struct {
	mu   sync.Mutex
	rows int
	sum  int64
	bad  error // of opening it
}

func (*total) Name() string { return "total" }
func (t *total) Writer(connector.WriterContext) (connector.Writer[int64], error) {
	return &totalWriter{t: t}, t.bad
}

type totalWriter struct {
	t    *total
	rows int
	sum  int64
}

func (w *totalWriter) Write(rows []int64, _ []int64) error {
	w.rows += len(rows)
	for _, r := range rows {
		w.sum += r
	}
	return nil
}
func (w *totalWriter) Flush() error { return nil }
func (w *totalWriter) Close() error {
	w.t.mu.Lock()
	defer w.t.mu.Unlock()
	w.t.rows += w.rows
	w.t.sum += w.sum
	return nil
}

// master is the least of a job's master: it answers each request for a split with "no more".
type master struct {
	mu    sync.Mutex
	run   taskmanager.Running
	fails []error
	told  int // phases
}

func (m *master) Phase(_ ids.TaskID, p rpc.Phase, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told++
	if p == rpc.PhaseFailed {
		m.fails = append(m.fails, err)
		go m.run.Cancel(err)
	}
}
func (m *master) Metrics(...rpc.OpMetrics)    {}
func (m *master) Progress(rpc.SourceProgress) {}
func (m *master) Checkpoint(rpc.Body)         {}
func (m *master) RequestSplit(op rpc.OpRef) {
	m.run.AssignSplits(&rpc.SplitAssign{Source: op, NoMore: true})
}
func (m *master) Side(context.Context, rpc.OpRef, []byte) error { return nil }

func runPlan(tb testing.TB, g *graph.Graph, settings ...string) (*running, []error) {
	tb.Helper()
	m := &master{}
	l, d := launching(tb, g, settings...)
	r, err := l.Launch(context.Background(), d, m)
	if err != nil {
		tb.Fatal(err)
	}
	m.run = r
	r.Start()
	select {
	case <-r.Done():
	case <-time.After(time.Minute):
		tb.Fatal("the job has not ended after a minute")
	}
	return r.(*running), m.fails
}

// launching returns what deploys a job on a single worker.
func launching(tb testing.TB, g *graph.Graph, settings ...string) (*launcher, taskmanager.Deployment) {
	tb.Helper()
	c := config.NewRegistry(config.Core()...).New()
	if err := c.SetFlags(settings); err != nil {
		tb.Fatal(err)
	}
	plan, err := NewPlan(Program{Graph: g, Config: c})
	if err != nil {
		tb.Fatal(err)
	}
	x, err := graph.Expand(plan.Job, graph.Cluster{Workers: 1})
	if err != nil {
		tb.Fatal(err)
	}
	d := taskmanager.Deployment{Deploy: &rpc.Deploy{Workers: make([]rpc.WorkerAddr, 1)}}
	for _, v := range plan.Job.Vertices {
		d.Deploy.Placement = append(d.Deploy.Placement, make([]int32, v.Parallelism))
	}
	for _, t := range x.Tasks {
		d.Tasks = append(d.Tasks, t.ID)
	}
	return &launcher{world: World{Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)}, plan: plan}, d
}

// Tasks that could be opened end in silence if another one could not: the master hears only why.
func TestUnopenedSaysOnlyWhy(t *testing.T) {
	for range 20 {
		g, out := numbersJob(100, true)
		out.bad = errors.New("no such sink")
		l, d := launching(t, g, "parallelism.default=2")
		m := &master{}
		r, err := l.Launch(context.Background(), d, m)
		if r != nil || err == nil || !strings.Contains(err.Error(), "no such sink") || m.told != 0 {
			t.Fatalf("%v, %v, and %d phases were told", r, err, m.told)
		}
	}
}

// numbersJob is: numbers -> keep even -> times 3 -> by key -> plus 1 -> total.
func numbersJob(n int64, keyed bool) (*graph.Graph, *total) {
	g := graph.New("numbers")
	out := &total{}
	src := numbers{n}
	s := g.Add(graph.Node{Name: "src", Kind: "source", Source: true, Stateful: true, Bounded: true, Factory: &source.Descriptor{
		Make: func() operator.Operator { return source.New[int64](src, source.Options[int64]{}) }}})
	f := g.Add(graph.Node{Kind: "filter", Inputs: []graph.Edge{{From: s.ID, Type: "int64"}},
		Factory: operator.Maker(func() operator.Operator { return basic.NewFilter(func(v int64) bool { return v%2 == 0 }) })})
	m := g.Add(graph.Node{Kind: "map", Inputs: []graph.Edge{{From: f.ID, Type: "int64"}},
		Factory: operator.Maker(func() operator.Operator { return basic.NewMap(func(v int64) int64 { return v * 3 }) })})
	e := graph.Edge{From: m.ID, Type: "int64"}
	if keyed {
		e.Partition = graph.Partition{Kind: graph.Keyed, Explicit: true, Type: "int64", Fn: operator.HasherMaker(func() operator.Hasher {
			return func(b event.Batch) {
				in := b.(*event.Records[int64])
				in.Compact()
				in.Hash = in.Hash[:len(in.Rows)]
				for i, v := range in.Rows {
					in.Hash[i] = uint64(v) * 0x9E3779B97F4A7C15
				}
			}
		})}
	}
	p := g.Add(graph.Node{Kind: "map", Inputs: []graph.Edge{e},
		Factory: operator.Maker(func() operator.Operator { return basic.NewMap(func(v int64) int64 { return v + 1 }) })})
	g.Add(graph.Node{Name: "out", Kind: "sink", Sink: true, Inputs: []graph.Edge{{From: p.ID, Type: "int64"}},
		Factory: operator.Maker(func() operator.Operator { return sink.New[int64](out) })})
	return g, out
}

func TestNumbersJobInEveryShape(t *testing.T) {
	const n = 10_001 // even numbers 0..10000: 5001 of them, their sum 5000*5001
	wantRows, wantSum := 5001, int64(3*5000*5001+5001)
	for _, keyed := range []bool{false, true} {
		for _, parallelism := range []string{"1", "2", "3", "7"} {
			for _, chain := range []string{"true", "false"} {
				for _, batch := range []string{"1", "2", "0"} {
					g, out := numbersJob(n, keyed)
					_, fails := runPlan(t, g, "parallelism.default="+parallelism, "pipeline.operator-chaining.enabled="+chain, "execution.batch-size="+batch)
					if len(fails) > 0 || out.rows != wantRows || out.sum != wantSum {
						t.Errorf("keyed %v, parallelism %s, chaining %s, batch %s: %d rows, sum %d, want %d and %d; failures %v",
							keyed, parallelism, chain, batch, out.rows, out.sum, wantRows, wantSum, fails)
					}
				}
			}
		}
	}
}

func BenchmarkNumbers(b *testing.B) {
	for _, keyed := range []bool{false, true} {
		name := "chained"
		p := "1"
		if keyed {
			name, p = "keyed-2x2", "2"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			g, _ := numbersJob(int64(b.N), keyed)
			runPlan(b, g, "parallelism.default="+p)
		})
	}
}
