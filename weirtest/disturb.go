package weirtest

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/app"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/memory"
	"github.com/weir-stream/weir/internal/operator/source"
)

// life is one time in which the job's processes have power. disturbance.mu guards job, path and by.
type life struct {
	cancel context.CancelFunc
	ctx    context.Context // ends with it
	dir    int             // of its checkpoints

	job  *weir.Job // nil until it runs
	path string    // the savepoint it was stopped with, "" if it was not
	by   fault     // why
	asks sync.WaitGroup

	mu   sync.Mutex // a leaf
	over bool
}

func (l *life) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// end cuts the power: nothing that this life does has an effect any more.
func (l *life) end() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.cancel()
}

// disturbance is a run under a schedule. Its lock is held over no call that waits.
type disturbance struct {
	schedule
	ledger *ledger
	places *places

	mu          sync.Mutex
	now         *life
	hold        chan struct{}      // the next life waits for its end; nil if it need not
	tasks       []func(error) bool // how to let each task of the present life fail
	storage     []fault            // what becomes of the next requests
	twice       int                // how many of the next messages come twice
	parallelism int
	failures    int
	dir         int            // of the next life's checkpoints
	from        string         // the savepoint that it starts from, or ""
	claim       bool           // whether it owns that
	saved       []saved        // savepoints that were taken
	files       *fs.Mem        // nil if the job has none
	drained     bool           // the job was stopped for good
	draining    bool           // that has been asked for
	happened    map[string]int // what has happened how often
}

// disturb runs the job under a schedule, to its end, in a bubble of its own.
func disturb[R any](t *testing.T, s schedule, tr trial[R]) (out outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &disturbance{schedule: s, ledger: newLedger(), places: newPlaces(), parallelism: s.parallelism, happened: map[string]int{}}
		if tr.files {
			d.files = fs.NewMem(clock.Real{}.Now)
		}
		out = lives(t, d, tr)
		if out.err == nil && d.files == nil {
			out.forks = forks(t, d, tr)
		}
		if out.err == nil {
			out.other = d.damaged()
		}
		out.happened = d.happened
	})
	return out
}

// lives runs the job from its first life to its end.
func lives[R any](t *testing.T, d *disturbance, tr trial[R]) (out outcome) {
	began := clock.Real{}.Now()
	over := make(chan struct{})
	var faults sync.WaitGroup
	faults.Go(func() { d.happen(over) })
	for {
		var again bool
		if again, out.err = live(t, d, tr.build); !again {
			break
		}
	}
	close(over)
	faults.Wait()
	out.length = clock.Real{}.Since(began)
	out.rows, out.files = d.ledger.rows(), d.files
	return out
}

// live runs the job until it ends, is stopped or the power is cut. The last two ask for another life.
func live[R any](t *testing.T, d *disturbance, build func(env *weir.Env) weir.Stream[R]) (again bool, err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), defaultLimit, errLimit)
	defer cancel()
	d.mu.Lock()
	if hold := d.hold; hold != nil {
		d.mu.Unlock()
		<-hold
		d.mu.Lock()
	}
	l := &life{cancel: cancel, ctx: ctx, dir: d.dir}
	d.happened["lives"]++
	d.now, d.tasks = l, nil
	env := d.env(t)
	files := d.files
	d.mu.Unlock()
	stopped, ended := d.places.stopped(l.dir), d.places.ended(l.dir)
	build(env).To("weirtest.ledger", entry[R]{d.ledger, l, d.slow})
	ctx = app.WithRunner(ctx, func(ctx context.Context, w app.World, plan *app.Plan) (*app.Result, error) {
		w.Log, w.Events = slog.New(slog.DiscardHandler), events.Listener{}.EnsureDefaults() // they would tell of what is meant to happen
		w.Stores = func(dir string) (objstore.Store, error) {
			return objstore.NewFaulty(d.places.at(dir), d.request(l)), nil
		}
		w.Scratch = fs.NewMem(nil)
		if files != nil {
			w.FS = app.Files(files)
		}
		if err := pace(plan); err != nil {
			return nil, err
		}
		return app.Run(ctx, w, plan, app.RunOptions{MetricsEvery: heartbeat, OnTask: d.task(l), OnConn: d.connection})
	})
	job := env.Start(ctx)
	d.mu.Lock()
	l.job = job
	d.mu.Unlock()
	result, err := job.Wait()
	d.mu.Lock()
	d.now = nil
	if result != nil {
		d.happened["restarts"] += result.Restarts
		d.happened["checkpoints"] += result.Checkpoints
	}
	d.mu.Unlock()
	cancel()
	l.asks.Wait()
	return d.goesOn(l, err, stopped, d.places.ended(l.dir) != ended)
}

// goesOn says whether another life follows one that has ended with err. stopped is the savepoint with which a life before had
// stopped, so that this one had only that to finish; ended says that it has written that it is over.
func (d *disturbance) goesOn(l *life, err error, stopped string, ended bool) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !l.dead() && err != nil:
		return false, err
	case l.path != "" && l.by.kind == drain:
		d.drained = true
		d.happened["drains"]++
		return l.dead() && !ended, nil // the next life commits what this one may not have
	case l.path != "":
		d.from, d.claim, d.parallelism = l.path, l.by.claim, l.by.parallelism
		d.happened["stops"]++
		if l.by.elsewhere {
			d.happened["elsewhere"]++
			d.dir++
		}
		return true, nil
	case stopped != "" && (ended || !l.dead()):
		if d.draining { // whoever asked for it has had no answer
			d.drained = true
			d.happened["drains"]++
		}
		d.from = stopped
		d.happened["finished stops"]++
		return !d.drained, nil
	}
	return l.dead() && !ended, nil // one that is over was tidying up
}

// env is the environment of the next life. The caller holds mu.
func (d *disturbance) env(t *testing.T) *weir.Env {
	set := map[string]string{
		config.Parallelism.Key(): strconv.Itoa(d.parallelism), config.BatchRows.Key(): strconv.Itoa(d.batch),
		config.OperatorChaining.Key(): strconv.FormatBool(d.chained), config.StateBackend.Key(): d.backend,
		config.HeartbeatInterval.Key(): heartbeat.String(), config.HeartbeatTimeout.Key(): (10 * heartbeat).String(),
	}
	if d.interval > 0 {
		set[config.CheckpointInterval.Key()] = d.interval.String()
		set[config.CheckpointDir.Key()] = checkpointsIn(d.dir)
		set[config.SavepointDir.Key()] = "savepoints"
		set[config.CheckpointConcurrent.Key()] = strconv.Itoa(d.concurrent)
		set[config.CheckpointUnaligned.Key()] = strconv.FormatBool(d.unaligned)
		set[config.CheckpointAlignedTimeout.Key()] = d.switchAfter.String()
		set[config.CheckpointTolerable.Key()] = strconv.Itoa(d.tolerable)
		set[config.CheckpointTimeout.Key()] = d.timeout.String()
		set[config.CheckpointRetained.Key()] = strconv.Itoa(d.retained)
		set[config.CheckpointIncremental.Key()] = strconv.FormatBool(d.incremental)
		set[config.StateCache.Key()] = "8mb"
		set[config.StateLocalDir.Key()] = "states"
	}
	if d.atLeastOnce {
		set[config.CheckpointMode.Key()] = "AT_LEAST_ONCE"
	}
	if d.from != "" {
		set[config.RestorePath.Key()] = d.from
		if d.claim {
			set[config.RestoreMode.Key()] = "CLAIM"
		}
	}
	env := weir.NewEnv(jobName(t)).Output(t.Output())
	for k, v := range set {
		env.Set(k, v)
	}
	return env
}

func jobName(t *testing.T) string { return strings.SplitN(t.Name(), "/", 2)[0] }

// task takes a task of a life, which fail lets fail.
func (d *disturbance) task(l *life) func(fail func(error) bool) {
	return func(fail func(error) bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.now == l {
			d.tasks = append(d.tasks, fail)
		}
	}
}

// pace lets each batch of a source take a millisecond, so that virtual time goes by while a job works.
func pace(plan *app.Plan) error {
	for _, v := range plan.Job.Vertices {
		for _, op := range v.Operators {
			if d, ok := op.Node.Factory.(*source.Descriptor); ok {
				paced := *d
				paced.Make = pacedMaker(d.Make)
				op.Node.Factory = &paced
			}
		}
	}
	return nil
}

// places are the stores of all directories, which outlive every process. Its lock is a leaf.
type places struct {
	mu     sync.Mutex
	stores map[string]*memory.Store
}

func newPlaces() *places { return &places{stores: map[string]*memory.Store{}} }

func (p *places) at(dir string) *memory.Store {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stores[dir]
	if s == nil {
		s = memory.New()
		p.stores[dir] = s
	}
	return s
}

// open is at, as a storage.Places.
func (p *places) open(dir string) (objstore.Store, error) { return p.at(dir), nil }

func checkpointsIn(dir int) string { return "checkpoints-" + strconv.Itoa(dir) }

// limitOfAsking is how often a savepoint is asked for that cannot be taken, since the job is just being restarted.
const (
	limitOfAsking = 30
	askAgain      = 2 * time.Millisecond
)
