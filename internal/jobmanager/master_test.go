package jobmanager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// script is what the tasks of a test do: body runs as the task, on a goroutine of its own. Its error is the task's end.
type script struct {
	body   func(ctx context.Context, t *fakeTask) error
	launch func(ctx context.Context) error // may be nil
	// marks is told how many splits a task had been given when a trigger came; may be nil.
	marks func(task ids.TaskID, epoch ids.Epoch, given int)
}

// fakeTask is one running task of a test.
type fakeTask struct {
	id     ids.TaskID
	report taskmanager.Reporter
	splits chan *rpc.SplitAssign
	limits chan *rpc.AlignTo
	epochs chan rpc.Body
	given  int // splits; of the worker's goroutine
}

func (t *fakeTask) op() rpc.OpRef { return rpc.OpRef{Task: t.id} }

// Launch implements taskmanager.Launcher.
func (s script) Launch(ctx context.Context, d taskmanager.Deployment, r taskmanager.Reporter) (taskmanager.Running, error) {
	if s.launch != nil {
		if err := s.launch(ctx); err != nil {
			return nil, err
		}
	}
	f := &fakeRunning{script: s, started: make(chan struct{}), done: make(chan struct{}), tasks: map[ids.TaskID]*fakeTask{}}
	f.ctx, f.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	for _, id := range d.Tasks {
		t := &fakeTask{id: id, report: r, splits: make(chan *rpc.SplitAssign, 100), limits: make(chan *rpc.AlignTo, 1000), epochs: make(chan rpc.Body, 1000)}
		f.tasks[id] = t
		f.wait.Go(func() { f.run(t) })
	}
	go func() {
		f.wait.Wait()
		close(f.done)
	}()
	return f, nil
}

type fakeRunning struct {
	script  script
	ctx     context.Context
	cancel  context.CancelCauseFunc
	started chan struct{}
	done    chan struct{}
	wait    sync.WaitGroup
	tasks   map[ids.TaskID]*fakeTask
}

func (f *fakeRunning) run(t *fakeTask) {
	select {
	case <-f.started:
	case <-f.ctx.Done():
		t.report.Phase(t.id, rpc.PhaseCanceled, nil)
		return
	}
	t.report.Phase(t.id, rpc.PhaseRunning, nil)
	err := f.script.body(f.ctx, t)
	switch {
	case err == nil:
		t.report.Metrics(rpc.OpMetrics{Op: t.op(), RowsOut: int64(10 + t.id.Subtask)})
		t.report.Phase(t.id, rpc.PhaseFinished, nil)
	case f.ctx.Err() != nil && (errors.Is(err, context.Cause(f.ctx)) || errs.IsCanceled(err)):
		t.report.Phase(t.id, rpc.PhaseCanceled, nil)
	default:
		t.report.Phase(t.id, rpc.PhaseFailed, err)
	}
}

func (f *fakeRunning) Start() { close(f.started) }
func (f *fakeRunning) AssignSplits(a *rpc.SplitAssign) {
	t := f.tasks[a.Source.Task]
	t.given += len(a.Splits)
	t.splits <- a
}
func (f *fakeRunning) AlignTo(a *rpc.AlignTo) {
	for _, t := range f.tasks {
		if t.id.Vertex == a.Vertex {
			t.limits <- a
		}
	}
}
func (f *fakeRunning) Checkpoint(b rpc.Body) {
	for _, t := range f.tasks {
		if tr, ok := b.(*rpc.CheckpointTrigger); ok && f.script.marks != nil {
			f.script.marks(t.id, tr.Epoch, t.given)
		}
		select {
		case t.epochs <- b:
		default:
		}
	}
}
func (f *fakeRunning) Cancel(cause error)       { f.cancel(cause) }
func (f *fakeRunning) Done() <-chan struct{}    { return f.done }
func (f *fakeRunning) Metrics() []rpc.OpMetrics { return nil }

// cluster is a master with in-memory workers.
type cluster struct {
	job     jobmanager.Job
	cfg     jobmanager.Config
	scripts []script // of the workers; a single one serves all
	tweak   func(i int, c *taskmanager.Config)
	wrap    func(i int, conn rpc.Conn) rpc.Conn // of the master's ends; may be nil

	master  *jobmanager.Master
	conns   []rpc.Conn
	workers []error // what each worker's Run returned
	wait    sync.WaitGroup
}

func twoByTwo() jobmanager.Job {
	return jobmanager.Job{ID: ids.JobIDFrom("test"), Name: "test", Generation: 1, Term: 1, Fingerprint: "f1", Version: "v1",
		Workers: []ids.WorkerID{"w1", "w2"}, Placement: [][]int32{{0, 1}, {0, 1}}, VertexNames: []string{"source", "sink"},
		Sources: []jobmanager.Source{{Vertex: 0}}}
}

// start attaches the workers; it must be called before run.
func (c *cluster) start(ctx context.Context) {
	c.cfg.Clock = clock.Real{}
	c.master = jobmanager.New(c.job, c.cfg)
	c.workers = make([]error, len(c.job.Workers))
	for i, id := range c.job.Workers {
		m, w := rpc.Pair()
		c.conns = append(c.conns, m)
		cfg := taskmanager.Config{Worker: id, PID: 100 + i, Fingerprint: c.job.Fingerprint, Version: c.job.Version, Clock: clock.Real{},
			Launcher: c.scripts[i%len(c.scripts)]}
		if c.tweak != nil {
			c.tweak(i, &cfg)
		}
		conn := m
		if c.wrap != nil {
			conn = c.wrap(i, m)
		}
		c.wait.Go(func() { c.master.Attach(conn) })
		c.wait.Go(func() { c.workers[i] = taskmanager.Run(ctx, w, cfg) })
	}
}

func (c *cluster) run(ctx context.Context) (jobmanager.Result, error) {
	c.start(ctx)
	res, err := c.master.Run(ctx)
	c.wait.Wait()
	return res, err
}

func untilCancelled(ctx context.Context, _ *fakeTask) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestFinishes runs a whole job: splits on request, side rows in order, figures, and nobody is left behind.
func TestFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		read := map[string]int{} // split -> how often it was read
		body := func(ctx context.Context, task *fakeTask) error {
			if task.id.Vertex == 1 {
				for i := range 100 {
					if err := task.report.Side(ctx, task.op(), fmt.Appendf(nil, "%d", i)); err != nil {
						return err
					}
				}
				return nil
			}
			for {
				task.report.RequestSplit(task.op())
				a := <-task.splits
				for _, s := range a.Splits {
					mu.Lock()
					read[s.ID]++
					mu.Unlock()
				}
				if a.NoMore {
					return nil
				}
			}
		}
		sink := &slowSink{rows: map[ids.TaskID][]string{}}
		c := &cluster{job: twoByTwo(), scripts: []script{{body: body}},
			cfg: jobmanager.Config{Enumerators: &numbered{splits: 7, pauses: 2}, Sides: sink}}
		res, err := c.run(t.Context())
		if err != nil || res.Phase != "finished" {
			t.Fatalf("result %+v, error %v", res, err)
		}
		for i := range 7 {
			if n := read[fmt.Sprintf("split-%d", i)]; n != 1 {
				t.Errorf("split %d was read %d times", i, n)
			}
		}
		want := make([]string, 100)
		for i := range want {
			want[i] = fmt.Sprint(i)
		}
		for _, task := range []ids.TaskID{{Vertex: 1}, {Vertex: 1, Subtask: 1}} {
			if !slices.Equal(sink.rows[task], want) {
				t.Errorf("task %v: side rows %v", task, sink.rows[task])
			}
		}
		var rows []int64
		for _, m := range res.Operators {
			rows = append(rows, m.RowsOut)
		}
		if !slices.Equal(rows, []int64{10, 11, 10, 11}) {
			t.Errorf("rows out by vertex and subtask %v", rows)
		}
		for i, err := range c.workers {
			if err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
		}
	})
}

// numbered gives out splits split-0, split-1, ...; before each it says "not ready" a few times.
type numbered struct {
	splits, pauses int
	next, paused   int
}

func (n *numbered) Next(ctx context.Context, _ ids.VertexID, _ int32, _ int) (rpc.Split, bool, bool, time.Duration, error) {
	if n.next == n.splits {
		return rpc.Split{}, false, true, 0, nil
	}
	if n.paused < n.pauses {
		n.paused++
		return rpc.Split{}, false, false, time.Second, nil
	}
	n.paused = 0
	n.next++
	return rpc.Split{ID: fmt.Sprintf("split-%d", n.next-1)}, true, false, 0, nil
}

// Snapshot returns how many splits have been handed out.
func (n *numbered) Snapshot(context.Context, ids.VertexID, int32) ([]byte, error) {
	return fmt.Append(nil, n.next), nil
}

// Reset implements jobmanager.Enumerators.
func (n *numbered) Reset(_ context.Context, _ []jobmanager.Source, states []jobmanager.EnumeratorState) (err error) {
	n.next, n.paused = 0, 0
	for _, s := range states {
		n.next, err = strconv.Atoi(string(s.State))
	}
	return err
}

// slowSink takes its time, so that the job has to wait for it at its end.
type slowSink struct {
	mu   sync.Mutex
	rows map[ids.TaskID][]string
	fail error
}

func (s *slowSink) Rows(ctx context.Context, op rpc.OpRef, payload []byte) error {
	time.Sleep(10 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[op.Task] = append(s.rows[op.Task], string(payload))
	return s.fail
}

// TestFailures lists what may go wrong in a job of two workers, and the error that a person must see.
func TestFailures(t *testing.T) {
	failing := func(err error) script {
		return script{body: func(ctx context.Context, task *fakeTask) error {
			if task.id.Vertex == 1 {
				return err
			}
			return untilCancelled(ctx, task)
		}}
	}
	steady := script{body: untilCancelled}
	sides := script{body: func(ctx context.Context, task *fakeTask) error {
		for {
			if err := task.report.Side(ctx, task.op(), []byte("x")); err != nil {
				return err
			}
		}
	}}
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		scripts []script
		cfg     jobmanager.Config
		tweak   func(i int, c *taskmanager.Config)
		job     func(j *jobmanager.Job)
		during  func(c *cluster)
		want    []string
		code    errs.Code
	}{
		{name: "a task fails", scripts: []script{steady, failing(boom)}, want: []string{"boom"}, code: errs.CodeUserFunction},
		{name: "a broken data connection gives way to the failure behind it",
			scripts: []script{failing(errs.New(errs.CodePeerLost, errs.ClassFailTask, "", "a peer")), {body: func(ctx context.Context, task *fakeTask) error {
				time.Sleep(100 * time.Millisecond)
				return boom
			}}}, want: []string{"boom"}, code: errs.CodeUserFunction},
		{name: "a launch fails", scripts: []script{steady, {launch: func(context.Context) error { return boom }}}, want: []string{"boom"}},
		{name: "a connection breaks", scripts: []script{steady}, during: func(c *cluster) { rpc.Break(c.conns[1]) },
			want: []string{"worker w2 (pid 101)", "broke"}, code: errs.CodeWorkerLost},
		{name: "a worker has another plan", scripts: []script{steady}, tweak: func(i int, c *taskmanager.Config) {
			if i == 1 {
				c.Fingerprint = "f2"
			}
		}, want: []string{"w2", "f1", "f2", "build function"}, code: errs.CodePlanMismatch},
		{name: "a worker is of another version", scripts: []script{steady}, tweak: func(i int, c *taskmanager.Config) {
			if i == 1 {
				c.Version = "v0"
			}
		}, want: []string{"w2", `"v0"`, `"v1"`}, code: errs.CodePlanMismatch},
		{name: "a worker never comes", scripts: []script{steady}, tweak: func(i int, c *taskmanager.Config) {
			if i == 1 {
				c.Worker = "w9"
			}
		}, want: []string{"w2", "1 of 2 workers have not connected"}, code: errs.CodeWorkerLost},
		{name: "a worker hangs while it deploys", scripts: []script{steady, {launch: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}}, want: []string{"w2", "1 of 2 workers have not deployed"}, code: errs.CodeWorkerLost},
		{name: "a worker falls silent", scripts: []script{steady}, tweak: func(i int, c *taskmanager.Config) {
			if i == 1 {
				c.HeartbeatInterval, c.MetricsInterval = time.Hour, time.Hour
			}
		}, want: []string{"w2", "no sign of life"}, code: errs.CodeWorkerLost},
		{name: "splits cannot be listed", scripts: []script{{body: func(ctx context.Context, task *fakeTask) error {
			task.report.RequestSplit(task.op())
			return untilCancelled(ctx, task)
		}}}, cfg: jobmanager.Config{Enumerators: &brokenEnumerator{}}, want: []string{"source", "no such directory"}, code: errs.CodeSource},
		{name: "the client does not take rows", scripts: []script{sides}, cfg: jobmanager.Config{Sides: &slowSink{rows: map[ids.TaskID][]string{}, fail: boom}},
			want: []string{"boom", "client"}, code: errs.CodeSink},
		{name: "a task never stops", scripts: []script{failing(boom), {body: func(context.Context, *fakeTask) error {
			time.Sleep(24 * time.Hour) // user code that does not look at its context
			return nil
		}}}, want: []string{"boom"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := &cluster{job: twoByTwo(), cfg: c.cfg, scripts: c.scripts, tweak: c.tweak}
				cl.start(t.Context())
				if c.during != nil {
					go func() {
						time.Sleep(time.Second)
						c.during(cl)
					}()
				}
				res, err := cl.master.Run(t.Context())
				cl.wait.Wait()
				time.Sleep(25 * time.Hour) // the stuck task comes back after all
				if err == nil || res.Phase != "failed" {
					t.Fatalf("result %+v, error %v", res, err)
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the error %q says nothing of %q", err, want)
					}
				}
				if c.code != "" && errs.CodeOf(err) != c.code {
					t.Errorf("code %q, want %q", errs.CodeOf(err), c.code)
				}
			})
		})
	}
}

type brokenEnumerator struct{ numbered }

func (*brokenEnumerator) Next(context.Context, ids.VertexID, int32, int) (rpc.Split, bool, bool, time.Duration, error) {
	return rpc.Split{}, false, false, 0, errors.New("no such directory")
}

// TestStuck checks the complaint about a task that never stops: its stacks reach the master, the job ends with the first
// cause, and the worker says that it has given up.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []ids.TaskID
		var stacks string
		exits := 0
		c := &cluster{job: twoByTwo(), scripts: []script{{body: untilCancelled}, {body: func(ctx context.Context, task *fakeTask) error {
			if task.id.Vertex == 1 {
				time.Sleep(24 * time.Hour)
			}
			return untilCancelled(ctx, task)
		}}}, cfg: jobmanager.Config{Stuck: func(w ids.WorkerID, s *rpc.TaskStacks) { told, stacks = s.Tasks, s.Stacks }},
			tweak: func(i int, c *taskmanager.Config) {
				c.CancellationTimeout = time.Minute
				c.OnStuck = func([]ids.TaskID, string) { exits++ }
			}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		c.start(context.WithoutCancel(ctx))
		res, err := c.master.Run(ctx)
		c.wait.Wait()
		time.Sleep(25 * time.Hour) // the stuck task comes back after all
		if !errs.IsCanceled(err) || !errors.Is(err, context.Canceled) || res.Phase != "canceled" {
			t.Errorf("result %+v, error %v", res, err)
		}
		if !slices.Equal(told, []ids.TaskID{{Vertex: 1, Subtask: 1}}) || !strings.Contains(stacks, "goroutine") {
			t.Errorf("told of %v, stacks %.40q", told, stacks)
		}
		if exits != 1 || errs.CodeOf(c.workers[1]) != errs.CodeTaskStuck {
			t.Errorf("exit asked %d times, worker's error %v", exits, c.workers[1])
		}
		if got := res.Duration.Round(time.Second); got != 61*time.Second {
			t.Errorf("the job took %v, want 1 s + the cancellation timeout", got)
		}
	})
}

// TestAlignment runs two tasks of one source with alignment: all splits are handed out before anything is read, and the
// fast reader is never further ahead than the drift allows.
func TestAlignment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const drift = 100
		var mu sync.Mutex
		at := map[int32]int64{}
		got := map[int32][]string{}
		body := func(ctx context.Context, task *fakeTask) error {
			if task.id.Vertex == 1 {
				return nil
			}
			a := <-task.splits
			mu.Lock()
			for _, s := range a.Splits {
				got[task.id.Subtask] = append(got[task.id.Subtask], s.ID)
			}
			mu.Unlock()
			if !a.NoMore {
				return errors.New("more splits are to come")
			}
			limit := int64(0)
			for watermark := int64(0); watermark < 2000; watermark += 10 {
				task.report.Progress(rpc.SourceProgress{Source: task.op(), Watermark: watermark})
				for watermark > limit {
					limit = (<-task.limits).Max
				}
				mu.Lock()
				at[task.id.Subtask] = watermark
				if other := at[1-task.id.Subtask]; task.id.Subtask == 0 && watermark > other+drift+10 && other < 1990 {
					t.Errorf("subtask 0 is at %d, subtask 1 at %d", watermark, other)
				}
				mu.Unlock()
				if task.id.Subtask == 1 {
					time.Sleep(time.Second) // the slow one
				}
			}
			return nil
		}
		job := twoByTwo()
		job.Sources[0].Group, job.Sources[0].MaxDrift = "g", drift*time.Millisecond
		c := &cluster{job: job, scripts: []script{{body: body}}, cfg: jobmanager.Config{Enumerators: &numbered{splits: 5}}}
		if _, err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := map[int32][]string{0: {"split-0", "split-2", "split-4"}, 1: {"split-1", "split-3"}}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("splits %v, want %v", got, want)
		}
	})
}

// TestDiscovery: with alignment, splits found later are handed out as they come.
func TestDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var first []int
		total := 0
		body := func(ctx context.Context, task *fakeTask) error {
			for i := 0; task.id.Vertex == 0; i++ {
				a := <-task.splits
				mu.Lock()
				if total += len(a.Splits); i == 0 {
					first = append(first, len(a.Splits))
				}
				mu.Unlock()
				if a.NoMore {
					break
				}
			}
			return nil
		}
		job := twoByTwo()
		job.Sources[0].Group = "g"
		c := &cluster{job: job, scripts: []script{{body: body}}, cfg: jobmanager.Config{Enumerators: &numbered{splits: 3, pauses: 1}}}
		if _, err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if total != 3 || !slices.Equal(first, []int{0, 0}) {
			t.Errorf("%d splits, in the first round %v: want 3, and an empty first round for both", total, first)
		}
	})
}

// TestSideWindow: a client that takes nothing holds the task back after a few payloads, and no longer once the job is cancelled.
func TestSideWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent, result = make(chan int, 1), make(chan error, 1)
		body := func(ctx context.Context, task *fakeTask) error {
			if task.id != (ids.TaskID{Vertex: 1}) {
				return untilCancelled(ctx, task)
			}
			for i := 0; ; i++ {
				if err := task.report.Side(ctx, task.op(), nil); err != nil {
					sent <- i
					result <- err
					return err
				}
			}
		}
		c := &cluster{job: twoByTwo(), scripts: []script{{body: body}}, cfg: jobmanager.Config{Sides: blockedSink{}}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		c.start(t.Context())
		if _, err := c.master.Run(ctx); !errs.IsCanceled(err) {
			t.Error(err)
		}
		c.wait.Wait()
		if n := <-sent; n != taskmanager.SideWindow {
			t.Errorf("%d payloads were under way, want %d", n, taskmanager.SideWindow)
		}
		if err := <-result; err == nil {
			t.Error("no error after the cancellation")
		}
	})
}

type blockedSink struct{}

func (blockedSink) Rows(ctx context.Context, _ rpc.OpRef, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestWorkerIsTold: a worker whose own context ends (a signal) stops its tasks and says why; the job fails with that.
func TestWorkerIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		c := &cluster{job: twoByTwo(), scripts: []script{{body: untilCancelled}}}
		c.start(ctx)
		time.AfterFunc(time.Second, func() { cancel(errors.New("signal 15")) })
		_, err := c.master.Run(t.Context())
		c.wait.Wait()
		if errs.CodeOf(err) != errs.CodeWorkerLost || !strings.Contains(err.Error(), "signal 15") {
			t.Error(err)
		}
	})
}

// TestMasterGone: workers whose master dies cancel their tasks and return an error.
func TestMasterGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{job: twoByTwo(), scripts: []script{{body: untilCancelled}}}
		c.start(t.Context())
		time.AfterFunc(time.Second, func() {
			for _, conn := range c.conns {
				rpc.Break(conn)
			}
		})
		if _, err := c.master.Run(t.Context()); errs.CodeOf(err) != errs.CodeWorkerLost {
			t.Error(err)
		}
		c.wait.Wait()
		for i, err := range c.workers {
			if errs.CodeOf(err) != errs.CodePeerLost {
				t.Errorf("worker %d: %v", i, err)
			}
		}
	})
}

// TestLateWorker: a worker that has connected, but not said hello when the job fails, is told to go like the others.
func TestLateWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		c := &cluster{job: twoByTwo(), scripts: []script{{body: untilCancelled}}, cfg: jobmanager.Config{ExitTimeout: time.Hour}}
		c.wrap = func(i int, conn rpc.Conn) rpc.Conn {
			if i == 1 {
				return &slowStart{Conn: conn, late: late}
			}
			return conn
		}
		c.start(t.Context())
		time.AfterFunc(time.Second, func() { rpc.Break(c.conns[0]) })
		time.AfterFunc(2*time.Second, func() { close(late) })
		if _, err := c.master.Run(t.Context()); errs.CodeOf(err) != errs.CodeWorkerLost {
			t.Error(err)
		}
		c.wait.Wait()
		if c.workers[1] != nil {
			t.Errorf("the late worker: %v", c.workers[1])
		}
	})
}

// slowStart is a connection whose first message comes late.
type slowStart struct {
	rpc.Conn
	late <-chan struct{}
}

func (s *slowStart) Recv() (rpc.Message, error) {
	<-s.late
	return s.Conn.Recv()
}

// TestStrangers: a connection that says nothing, rubbish, or the name of another worker does not disturb the job.
func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{job: twoByTwo(), scripts: []script{{body: func(context.Context, *fakeTask) error {
			time.Sleep(time.Minute)
			return nil
		}}}}
		c.start(t.Context())
		go func() {
			time.Sleep(time.Second)
			for _, body := range []rpc.Body{nil, &rpc.Start{}, &rpc.TaskPhase{Phase: rpc.PhaseFailed}, &rpc.Hello{Worker: "w1", Fingerprint: "f9"}, &rpc.Hello{Worker: "w7"}} {
				m, w := rpc.Pair()
				c.master.Attach(m)
				if body != nil {
					w.Send(rpc.Message{Job: c.job.ID, Generation: 1, Body: body})
				}
				go func() {
					for {
						if _, err := w.Recv(); err != nil {
							w.Close()
							return
						}
					}
				}()
			}
		}()
		if _, err := c.master.Run(t.Context()); err != nil {
			t.Error(err)
		}
		c.wait.Wait()
	})
}

// counted is a connection of the master that calls at once it has received a number of messages.
type counted struct {
	rpc.Conn
	left int
	at   func()
}

func (c *counted) Recv() (rpc.Message, error) {
	m, err := c.Conn.Recv()
	if c.left--; c.left == 0 {
		c.at()
	}
	return m, err
}

// TestTroubleAtEveryMoment cancels a job, or breaks a connection, after each number of messages from a worker. The job ends
// each time, in a way that fits, and soon.
func TestTroubleAtEveryMoment(t *testing.T) {
	const messages = 9 // hello, deployed, running, last figures and end of two tasks each, goodbye
	for after := 1; after <= messages+1; after++ {
		for _, trouble := range []string{"cancel", "break"} {
			synctest.Test(t, func(t *testing.T) {
				body := func(ctx context.Context, task *fakeTask) error {
					select {
					case <-time.After(time.Second):
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				reached := false
				c := &cluster{job: twoByTwo(), scripts: []script{{body: body}}}
				c.wrap = func(i int, conn rpc.Conn) rpc.Conn {
					if i != 1 {
						return conn
					}
					return &counted{Conn: conn, left: after, at: func() {
						if reached = true; trouble == "cancel" {
							cancel()
						} else {
							rpc.Break(conn)
						}
					}}
				}
				c.start(t.Context())
				res, err := c.master.Run(ctx)
				c.wait.Wait()
				fits := err == nil && after >= messages-2 || trouble == "cancel" && errs.IsCanceled(err) || trouble == "break" && errs.CodeOf(err) == errs.CodeWorkerLost
				if !fits || res.Duration > 2*time.Second || !reached && after <= messages {
					t.Errorf("%s after %d messages (reached: %v): %+v, %v", trouble, after, reached, res, err)
				}
			})
		}
	}
}
