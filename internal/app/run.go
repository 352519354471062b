package app

import (
	"context"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/restart"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// Version is the engine's version: master and workers must have the same.
const Version = "0.1.0-dev"

// RunOptions says how a plan is run.
type RunOptions struct {
	// Progress is called now and then while the job runs, and once when it has ended, on one goroutine. May be nil.
	Progress func(Snapshot)
	// ProgressEvery is the time between calls of Progress; 500 ms if zero.
	ProgressEvery time.Duration
	// MetricsEvery is the time between the worker's reports of its figures; 200 ms if zero. Tests on virtual time make it
	// long: each report would cost them real time.
	MetricsEvery time.Duration
	// OnTask is called for each task that is made, with a function that lets it fail and reports whether it still lived. For
	// tests; may be nil.
	OnTask func(fail func(error) bool)
	// OnConn may replace the ends of the control connection. For tests; may be nil.
	OnConn func(rpc.Conn) rpc.Conn
}

// Snapshot is how a job is doing.
type Snapshot struct {
	// Phase is the job's phase ("running").
	Phase string
	// Result holds the figures so far.
	Result
}

// Run runs a plan on an embedded cluster, a master and one worker in this process, until it ends or ctx does. It returns
// what is known of the job, also when it has failed.
func Run(ctx context.Context, w World, plan *Plan, opt RunOptions) (*Result, error) {
	const worker = ids.WorkerID("embedded")
	run, err := newJobRun(ctx, w, plan, []ids.WorkerID{worker})
	if err != nil {
		return nil, err
	}
	defer run.close()
	if run.saving, err = newSaving(w, plan.Config, storage.WriterName(0, 0, run.nonce)); err != nil {
		return nil, err
	}
	if err := run.saving.usable(ctx, plan.Job.Name); err != nil {
		return nil, err
	}
	seen, err := observe(ctx, w, plan, string(worker), plan.Config.Get(config.MetricsAddress))
	if err != nil {
		return nil, err
	}
	defer seen.close()
	if err := run.start(nil, nil, nil); err != nil {
		return nil, err
	}
	run.reportJob(seen)
	masterEnd, workerEnd := rpc.Pair()
	if opt.OnConn != nil {
		masterEnd, workerEnd = opt.OnConn(masterEnd), opt.OnConn(workerEnd)
	}
	l := &launcher{world: w, plan: plan, metrics: seen.worker, saving: run.saving, onTask: opt.OnTask}
	defer l.close()
	conf := workerConfig(worker, w, plan, l)
	if opt.MetricsEvery > 0 {
		conf.MetricsInterval = opt.MetricsEvery
	}
	var both sync.WaitGroup
	both.Go(func() { run.master.Attach(masterEnd) })
	both.Go(func() {
		// What ends the worker ends the job, which reports it.
		_ = taskmanager.Run(context.WithoutCancel(ctx), workerEnd, conf)
	})
	result, err := run.do(ctx, opt)
	both.Wait()
	return result, err
}

func workerConfig(id ids.WorkerID, w World, plan *Plan, l taskmanager.Launcher) taskmanager.Config {
	timeout := plan.Config.Get(config.TaskCancelTimeout)
	if timeout == 0 {
		timeout = -1
	}
	return taskmanager.Config{Worker: id, Fingerprint: plan.Fingerprint, Version: Version, Clock: w.Clock, Log: w.Log, Launcher: l,
		HeartbeatInterval: plan.Config.Get(config.HeartbeatInterval), CancellationTimeout: timeout, MetricsInterval: 200 * time.Millisecond}
}

// jobRun is the coordinating side of one run of a job.
type jobRun struct {
	world  World
	plan   *Plan
	x      *graph.ExecutionGraph
	job    jobmanager.Job
	master *jobmanager.Master // nil before start
	finds  *enumerators
	cancel context.CancelFunc
	saving *saving // nil if no checkpoints are taken
	nonce  string  // a name that no other process has
}

func newJobRun(ctx context.Context, w World, plan *Plan, workers []ids.WorkerID) (*jobRun, error) {
	x, err := graph.Expand(plan.Job, graph.Cluster{Workers: len(workers)})
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &jobRun{world: w, plan: plan, x: x, cancel: cancel, nonce: w.nonce()}
	if r.finds, err = newEnumerators(life, w, plan.Job); err != nil {
		cancel()
		return nil, err
	}
	r.job = jobmanager.Job{
		ID: ids.JobIDFrom(plan.Job.Name, strconv.FormatInt(w.Clock.Now().UnixNano(), 10)), Name: plan.Job.Name, Generation: 1, Term: 1,
		Fingerprint: plan.Fingerprint, Version: Version, Workers: workers, Sources: r.finds.list, Options: optionsOf(plan), Upstream: r.upstream,
	}
	for _, v := range plan.Job.Vertices {
		places := make([]int32, v.Parallelism)
		for s := range places {
			places[s] = int32(x.Tasks[x.TaskAt(v.ID, s)].Worker)
		}
		r.job.Placement = append(r.job.Placement, places)
		r.job.VertexNames = append(r.job.VertexNames, v.Name)
	}
	if plan.Config.Get(config.FailoverStrategy) == "region" {
		r.job.Regions = regionsOf(x)
	}
	return r, nil
}

// regionsOf divides the tasks into failover regions; nil if there is one. Where a task starts when another has ended, regions
// depend on one another, and all are restarted.
func regionsOf(x *graph.ExecutionGraph) [][]int32 {
	regions := graph.Regions(x)
	if len(regions) < 2 || slices.ContainsFunc(x.Job.Edges, func(e *graph.JobEdge) bool { return e.Edge.Blocking }) {
		return nil
	}
	out := make([][]int32, len(x.Job.Vertices))
	for _, v := range x.Job.Vertices {
		out[v.ID] = make([]int32, v.Parallelism)
	}
	for r, tasks := range regions {
		for _, t := range tasks {
			id := x.Tasks[t].ID
			out[id.Vertex][id.Subtask] = int32(r)
		}
	}
	return out
}

// upstream lists the tasks that a task reads from.
func (r *jobRun) upstream(id ids.TaskID) (out []ids.TaskID) {
	for _, ch := range r.x.Inputs(r.x.TaskAt(id.Vertex, int(id.Subtask))) {
		out = append(out, r.x.Tasks[ch.From].ID)
	}
	return out
}

// start makes the master. kill ends a worker process and replace starts another in its place; nil if the worker is this process.
func (r *jobRun) start(secret []byte, kill func(ids.WorkerID, string), replace func(ids.WorkerID)) error {
	conf := r.plan.Config
	r.job.Secret = secret
	mc := jobmanager.Config{Clock: r.world.Clock, Log: r.world.Log, Events: r.world.Events, Enumerators: r.finds, Describe: r.finds.describing(r.world.FS), Sides: sides{r.plan},
		HeartbeatTimeout: conf.Get(config.HeartbeatTimeout), Processes: kill != nil, Kill: kill, Replace: replace}
	taken := conf.Get(config.CheckpointInterval) > 0
	strategy, err := restart.New(conf, taken, r.jitter())
	if err != nil {
		return err
	}
	if mc.Stalls, err = restart.NewStalls(conf, taken); err != nil {
		return err
	}
	if strategy.Restarts() {
		mc.Restart = strategy
	}
	if r.saving != nil {
		mc.Checkpoints = &jobmanager.CheckpointConfig{Config: coordinatorConfig(conf),
			Store: &keeper{world: r.world, plan: r.plan, job: r.job.ID, at: r.saving, nonce: storage.WriterName(0, 0, r.nonce)}}
	}
	r.master = jobmanager.New(r.job, mc)
	if r.plan.Started != nil {
		r.plan.Started(&Control{r.master})
	}
	return nil
}

// jitter is the source of jitter of restarts: it differs from run to run.
func (r *jobRun) jitter() *rand.Rand {
	id := r.job.ID
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])))
}

func optionsOf(plan *Plan) (out []rpc.Option) {
	settings := plan.Config.Settings()
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		out = append(out, rpc.Option{Key: k, Value: settings[k]})
	}
	return out
}

// do runs the master and reports progress meanwhile.
func (r *jobRun) do(ctx context.Context, opt RunOptions) (*Result, error) {
	began := r.world.Clock.Now()
	var watch sync.WaitGroup
	stop := make(chan struct{})
	if opt.Progress != nil {
		every := opt.ProgressEvery
		if every <= 0 {
			every = 500 * time.Millisecond
		}
		watch.Go(func() { r.report(began, every, opt.Progress, stop) })
	}
	res, err := r.master.Run(ctx)
	close(stop)
	watch.Wait()
	out := &Result{Job: r.plan.Job.Name, Duration: res.Duration, Operators: figuresOf(r.plan.Job, res.Operators), Checkpoints: r.master.Progress().Checkpoints}
	if opt.Progress != nil {
		opt.Progress(Snapshot{Phase: res.Phase, Result: *out})
	}
	return out, err
}

func (r *jobRun) report(began time.Time, every time.Duration, f func(Snapshot), stop <-chan struct{}) {
	t := r.world.Clock.NewTimer(every)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C():
		}
		p := r.master.Progress()
		f(Snapshot{Phase: p.Phase, Result: Result{Job: r.plan.Job.Name, Duration: r.world.Clock.Since(began), Operators: figuresOf(r.plan.Job, p.Operators), Checkpoints: p.Checkpoints}})
		t.Reset(every)
	}
}

func (r *jobRun) close() {
	r.cancel()
	r.finds.close()
}

// sides hands payloads to the program.
type sides struct{ plan *Plan }

// Rows implements jobmanager.SideSink.
func (s sides) Rows(_ context.Context, op rpc.OpRef, payload []byte) (err error) {
	ops := s.plan.Job.Vertices[op.Task.Vertex].Operators
	node := ops[op.Op].Node
	take := s.plan.Sides[node.ID]
	if take == nil {
		return nil
	}
	defer func() { // the program's code runs here on a goroutine of the engine
		if p := recover(); p != nil {
			err = errs.New(errs.CodeUserPanic, errs.ClassFailTask, node.Label(), "the program panicked when it took the rows: %v\n%s", p, debug.Stack())
		}
	}()
	if err = take(int(op.Task.Subtask), payload); err != nil && errs.CodeOf(err) == "" {
		return errs.Wrap(err, errs.CodeSink, errs.ClassFailTask, node.Label(), "the program did not take the rows")
	}
	return errs.Wrap(err, "", 0, node.Label(), "the program did not take the rows")
}
