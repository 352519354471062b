package app

import (
	"context"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/metrics"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/storage/taskstore"
	"github.com/weir-stream/weir/internal/task"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// running is the tasks of one deployment on one worker.
type running struct {
	world    World
	x        *graph.ExecutionGraph
	reporter taskmanager.Reporter
	mesh     *mesh          // nil in the embedded cluster
	reports  *metrics.Group // of the job; nil if nothing is reported
	tasks    []*runningTask
	byID     map[ids.TaskID]*runningTask
	ctx      context.Context
	cancel   context.CancelFunc
	left     sync.WaitGroup
	opened   chan error    // one for each task, when its operators are open and its state is loaded
	start    chan struct{} // closed when the tasks may run
	done     chan struct{}
	state    *taskStates // nil if no checkpoints are taken
	hand     *handStates // of a ByHand
	// linger takes the mesh of tasks that a stop has ended, instead of closing it: they sent no ends, so peers whose tasks have
	// not heard of the stop yet would take a closed link for a failure. May be nil.
	linger  func(*mesh)
	stopped atomic.Bool // the tasks were told of a stop
	// unopened says that a task could not be opened, and that the others end for that.
	unopened atomic.Bool
	// complainEvery is the time between complaints about tasks that do not stop; 0 makes none.
	complainEvery time.Duration
	complaining   bool
	job           ids.JobID
}

type runningTask struct {
	id   ids.TaskID
	task *task.Task
	name string
	head bool // it has no inputs
	// ops names the operators of the chain.
	ops   []string
	ended atomic.Bool
	// saves is nil if no checkpoints are taken.
	saves *taskstore.Task
}

func newRunning(w World, x *graph.ExecutionGraph, r taskmanager.Reporter, m *metrics.Group) *running {
	g := &running{world: w, x: x, reporter: r, reports: m, byID: map[ids.TaskID]*runningTask{}, start: make(chan struct{}), done: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// traits are what add has to know of a task besides its configuration.
type traits struct {
	aligned bool // a source with watermark alignment
	remote  bool // some tasks of the job are in other processes
	vertex  *graph.Vertex
}

// add adds a task. Only a source with watermark alignment reports its progress: it does so after nearly every batch.
func (g *running) add(id ids.TaskID, is traits, cfg task.Config) {
	t := &runningTask{id: id, head: len(cfg.Gates) == 0, name: operator.Place(cfg.Vertex, int(id.Subtask), cfg.Parallelism)}
	for _, op := range cfg.Ops {
		t.ops = append(t.ops, op.Name)
	}
	cfg.OnSplitWanted = func(op int) { g.reporter.RequestSplit(opRef(id, op)) }
	if is.aligned {
		cfg.OnProgress = func(op int, low int64, blocked bool) {
			g.reporter.Progress(rpc.SourceProgress{Source: opRef(id, op), Watermark: low, Idle: low == event.MaxTime, Blocked: blocked})
		}
	}
	cfg.Side = func(op int, payload []byte) error { return g.side(t, op, payload) }
	if g.state != nil {
		g.state.join(g.reporter, t, is.vertex, &cfg)
	}
	if g.hand != nil {
		g.hand.join(t, is.vertex, &cfg)
	}
	report := g.prepare(id, is, &cfg)
	t.task = task.New(cfg)
	report(t.task)
	g.tasks = append(g.tasks, t)
	g.byID[id] = t
}

// side sends rows to the client. Its only failure is the end of the job.
func (g *running) side(t *runningTask, op int, payload []byte) error {
	if err := g.reporter.Side(g.ctx, opRef(t.id, op), payload); err != nil {
		return errs.Canceled
	}
	return nil
}

// open starts the goroutines of the tasks and waits until each has opened its operators and loaded its state. If one cannot,
// or ctx ends, all are ended again. The tasks run when start is closed.
func (g *running) open(ctx context.Context) error {
	g.opened = make(chan error, len(g.tasks))
	for _, t := range g.tasks {
		g.left.Add(1)
		go g.run(t)
	}
	stop := ctx.Done()
	var failed error
	for range g.tasks {
		var err error
		select {
		case err = <-g.opened:
		case <-stop:
			stop = nil
			failed = errs.Wrap(context.Cause(ctx), errs.CodeCanceled, errs.ClassCanceled, "", "cancelled while the tasks opened")
			g.cancelTasks()
			err = <-g.opened
		}
		if err != nil && (failed == nil || errs.IsCanceled(failed) && !errs.IsCanceled(err)) {
			failed = err
			g.unopened.Store(true)
			g.cancelTasks()
		}
	}
	if failed != nil {
		g.cancelTasks()
		g.left.Wait()
		g.closeMetrics()
		return failed
	}
	go g.await()
	return nil
}

// Start implements taskmanager.Running.
func (g *running) Start() {
	for _, t := range g.tasks {
		g.reporter.Phase(t.id, rpc.PhaseRunning, nil)
	}
	close(g.start)
}

func (g *running) await() {
	g.left.Wait()
	g.cancel()
	g.state.close()
	g.closeMetrics()
	if g.stopped.Load() && g.linger != nil {
		g.linger(g.mesh)
	} else {
		g.mesh.close()
	}
	close(g.done)
}

// run is the goroutine of one task.
func (g *running) run(t *runningTask) {
	defer g.left.Done()
	labels := pprof.Labels("job", g.x.Job.Name, "vertex", t.name, "subtask", strconv.Itoa(int(t.id.Subtask)))
	pprof.Do(g.ctx, labels, func(context.Context) {
		err := t.task.Open()
		g.opened <- err
		if err != nil {
			t.ended.Store(true)
			return
		}
		select {
		case <-g.start:
		case <-g.ctx.Done(): // Run closes the operators
		}
		err = t.task.Run()
		t.ended.Store(true)
		if g.unopened.Load() {
			return // it ends because another one could not be opened, and that is what the master has to hear
		}
		if err == nil && t.saves != nil {
			t.saves.Told(g.ctx)
		}
		g.reporter.Metrics(g.metrics(t)...)
		switch {
		case err == nil:
			g.reporter.Phase(t.id, rpc.PhaseFinished, nil)
		case errs.IsCanceled(err):
			g.reporter.Phase(t.id, rpc.PhaseCanceled, nil)
		default:
			g.reporter.Phase(t.id, rpc.PhaseFailed, err)
		}
	})
}

// Checkpoint implements taskmanager.Running.
func (g *running) Checkpoint(b rpc.Body) {
	switch b := b.(type) {
	case *rpc.CheckpointTrigger:
		if b.Target != "" && g.state != nil {
			g.state.uploads.Target(b.Epoch, b.Target)
		}
		switchAt := time.Duration(0)
		if b.SwitchIn > 0 {
			switchAt = time.Duration(g.world.Clock.Now().UnixNano()) + b.SwitchIn
		}
		barrier := event.Barrier{Epoch: uint64(b.Epoch), Purpose: event.Purpose(b.Purpose), Unaligned: b.Unaligned}
		g.each(b.Tasks, func(t *runningTask) { t.task.Trigger(barrier, b.Drain, switchAt) })
	case *rpc.CheckpointAbort:
		g.each(b.Tasks, func(t *runningTask) {
			t.task.Abort(uint64(b.Epoch))
			if t.saves != nil {
				if b.Whole {
					t.saves.Whole()
				}
				t.saves.GivenUp(b.Epoch)
			}
		})
	case *rpc.CheckpointComplete:
		if b.Stop {
			g.stopped.Store(true)
		}
		g.each(b.Tasks, func(t *runningTask) {
			if t.saves != nil {
				t.saves.Completed(b.Epoch)
			}
			t.task.Complete(uint64(b.Epoch), b.Stop)
		})
	}
}

func (g *running) each(tasks []ids.TaskID, f func(*runningTask)) {
	for _, id := range tasks {
		if t := g.byID[id]; t != nil {
			f(t)
		}
	}
}

// AssignSplits implements taskmanager.Running.
func (g *running) AssignSplits(a *rpc.SplitAssign) {
	t := g.byID[a.Source.Task]
	if t == nil {
		return
	}
	splits := make([]connector.Split, len(a.Splits))
	for i, s := range a.Splits {
		splits[i] = connector.Split{ID: s.ID, State: s.State}
	}
	t.task.AddSplits(splits, a.NoMore)
}

// AlignTo implements taskmanager.Running.
func (g *running) AlignTo(a *rpc.AlignTo) {
	for _, t := range g.tasks {
		if t.id.Vertex == a.Vertex {
			own := event.NoTime
			if t.id.Subtask == a.Slowest {
				own = a.SlowestMax
			}
			t.task.AlignTo(a.Max, own)
		}
	}
}

// Cancel implements taskmanager.Running.
func (g *running) Cancel(error) {
	g.cancelTasks()
	if every := g.complainEvery; every > 0 && !g.complaining {
		g.complaining = true
		go g.complain(every)
	}
}

func (g *running) cancelTasks() {
	g.cancel()
	for _, t := range g.tasks {
		t.task.Cancel()
	}
}

// Done implements taskmanager.Running.
func (g *running) Done() <-chan struct{} { return g.done }

// Metrics implements taskmanager.Running.
func (g *running) Metrics() []rpc.OpMetrics {
	var out []rpc.OpMetrics
	for _, t := range g.tasks {
		out = append(out, g.metrics(t)...)
	}
	return out
}

// metrics returns the figures of one task's operators.
func (g *running) metrics(t *runningTask) []rpc.OpMetrics {
	counts, user := t.task.Counts(), t.task.UserCounts()
	out := make([]rpc.OpMetrics, len(counts))
	for i, c := range counts {
		out[i] = rpc.OpMetrics{
			Op: opRef(t.id, i), RowsIn: c.RowsIn.Load(), RowsOut: c.RowsOut.Load(), Late: c.Late.Load(), Bad: c.Bad.Load(),
			Watermark: watermarkOf(c),
			Counters:  []rpc.Count{{Name: counterNoTime, Value: c.NoTime.Load()}, {Name: counterUnread, Value: c.Unread.Load()}},
		}
		for _, n := range user[i] {
			out[i].Counters = append(out[i].Counters, rpc.Count{Name: n.Name, Value: n.Value})
		}
	}
	out[0].Busy, out[0].Idle, out[0].Backpressured = t.task.Times()
	return out
}

// watermarkOf returns the watermark that an operator has taken in, or has made if it is a source.
func watermarkOf(c *operator.Counts) int64 {
	if in := c.WatermarkIn.Load(); in != event.NoTime {
		return in
	}
	return c.WatermarkOut.Load()
}
