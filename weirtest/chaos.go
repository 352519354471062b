package weirtest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/memory"
	"github.com/weir-stream/weir/internal/operator/source"
)

// Chaos shows that a job survives. It runs the whole job that build describes undisturbed, and then once for each seed with
// checkpoints and with what goes wrong in a real cluster, at places that the seed chooses: tasks fail, all processes lose
// their power and the job goes on from its storage at another parallelism, the storage is slow, refuses, forgets, tears or is
// full, messages come twice. The stream that build returns must have the same rows each time, each once, in any order.
//
//	func TestSurvives(t *testing.T) {
//		weirtest.Chaos(t, func(env *weir.Env) weir.Stream[Total] {
//			return totals(weir.From(env, "orders", slice.Of(orders...)))
//		}, weirtest.Seeds(20)...)
//	}
//
// A seed that fails is printed with the shortest schedule that still fails.
// build is called for each start, and must make its sources anew; they must be ones that can be read again from a position,
// such as files, slices and generators. Everything happens on virtual time, in memory (see Run). A batch of a source takes
// a millisecond of it.
func Chaos[R any](t *testing.T, build func(env *weir.Env) weir.Stream[R], from ...uint64) {
	t.Helper()
	if len(from) == 0 {
		from = Seeds(10)
	}
	run := func(t *testing.T, s schedule) outcome { return disturb(t, s, build) }
	calm := run(t, undisturbed)
	if calm.err != nil {
		t.Fatalf("weirtest: the job has failed although nothing disturbed it: %v", calm.err)
	}
	for _, seed := range from {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := draw(seed, calm.length)
			wrong := run(t, s).against(calm)
			if wrong == "" {
				return
			}
			least := shorten(s, func(s schedule) bool { return run(t, s).against(calm) != "" })
			if w := run(t, least).against(calm); w != "" {
				wrong = w
			}
			t.Fatalf("weirtest: %s\n\nThe shortest schedule that fails, of %sTo run it alone: weirtest.Chaos(t, build, %d)", wrong, least, seed)
		})
	}
}

// undisturbed is the schedule without faults and checkpoints.
var undisturbed = schedule{parallelism: 1, batch: 7, chained: true, backend: "paged", concurrent: 1}

// Seeds returns the seeds 1 to n.
func Seeds(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i + 1)
	}
	return out
}

// outcome is what a run has left.
type outcome struct {
	rows   []string
	length time.Duration
	err    error
}

// against says how the outcome differs from that of the undisturbed run, "" if it does not.
func (o outcome) against(calm outcome) string {
	if o.err != nil {
		return fmt.Sprintf("the job has failed: %v", o.err)
	}
	if slices.Equal(o.rows, calm.rows) {
		return ""
	}
	count := map[string]int{}
	for _, r := range calm.rows {
		count[r]++
	}
	for _, r := range o.rows {
		count[r]--
	}
	var missing, many []string
	for r, n := range count {
		switch {
		case n > 0:
			missing = append(missing, r)
		case n < 0:
			many = append(many, r)
		}
	}
	slices.Sort(missing)
	slices.Sort(many)
	return fmt.Sprintf("%d rows instead of %d: %s; %s", len(o.rows), len(calm.rows), few("missing", missing), few("too many", many))
}

func few(what string, rows []string) string {
	const most = 5
	text := strings.Join(rows[:min(most, len(rows))], "\n\t")
	if text != "" {
		text = "\n\t" + text
	}
	return fmt.Sprintf("%d %s%s", len(rows), what, text)
}

// life is one time in which the job's processes have power.
type life struct {
	cancel context.CancelFunc
	mu     sync.Mutex
	over   bool
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

// disturbance is a run under a schedule. Its lock is a leaf.
type disturbance struct {
	schedule
	store  objstore.Store
	ledger *ledger

	mu          sync.Mutex
	now         *life
	tasks       []func(error) bool // how to let each task of the present life fail
	storage     []fault            // what becomes of the next requests
	twice       int                // how many of the next messages come twice
	parallelism int
	failures    int
}

// disturb runs the job under a schedule, to its end, in a bubble of its own.
func disturb[R any](t *testing.T, s schedule, build func(env *weir.Env) weir.Stream[R]) (out outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := clock.Real{}.Now()
		d := &disturbance{schedule: s, store: memory.New(), ledger: newLedger(), parallelism: s.parallelism}
		stop := make(chan struct{})
		var faults sync.WaitGroup
		faults.Go(func() { d.happen(stop) })
		for {
			var again bool
			if again, out.err = live(t, d, build); !again {
				break
			}
		}
		close(stop)
		faults.Wait()
		out.length = clock.Real{}.Since(began)
		out.rows = d.ledger.rows()
	})
	return out
}

// live runs the job until it ends or the power is cut, which asks for another life.
func live[R any](t *testing.T, d *disturbance, build func(env *weir.Env) weir.Stream[R]) (again bool, err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), defaultLimit, errLimit)
	defer cancel()
	l := &life{cancel: cancel}
	d.mu.Lock()
	d.now, d.tasks = l, nil
	env := d.env(t)
	d.mu.Unlock()
	build(env).To("weirtest.ledger", entry[R]{d.ledger, l, d.slow})
	ctx = app.WithRunner(ctx, func(ctx context.Context, w app.World, plan *app.Plan) (*app.Result, error) {
		w.Log, w.Events = slog.New(slog.DiscardHandler), events.Listener{}.EnsureDefaults() // they would tell of what is meant to happen
		w.Stores = func(string) (objstore.Store, error) { return objstore.NewFaulty(d.store, d.request(l)), nil }
		if err := pace(plan); err != nil {
			return nil, err
		}
		return app.Run(ctx, w, plan, app.RunOptions{MetricsEvery: heartbeat, OnTask: d.task(l), OnConn: d.connection})
	})
	_, err = env.Execute(ctx)
	if l.dead() && d.ended() {
		return false, nil // it has done everything, and was tidying up
	}
	return l.dead(), err
}

// ended reports whether a life has written that the job is over: started again, it would begin from nothing.
func (d *disturbance) ended() bool {
	for o, err := range d.store.List(context.Background(), "") {
		if err == nil && strings.Contains(o.Name, "/ended/") {
			return true
		}
	}
	return false
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
		set[config.CheckpointDir.Key()] = "chaos"
		set[config.CheckpointConcurrent.Key()] = strconv.Itoa(d.concurrent)
		set[config.CheckpointUnaligned.Key()] = strconv.FormatBool(d.unaligned)
		set[config.CheckpointAlignedTimeout.Key()] = d.switchAfter.String()
		set[config.CheckpointTolerable.Key()] = "-1"
	}
	env := weir.NewEnv(strings.SplitN(t.Name(), "/", 2)[0]).Output(t.Output())
	for k, v := range set {
		env.Set(k, v)
	}
	return env
}

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

// happen lets the faults of the schedule happen, each at its time.
func (d *disturbance) happen(stop <-chan struct{}) {
	began := clock.Real{}.Now()
	for _, f := range d.faults {
		timer := clock.Real{}.NewTimer(f.at - clock.Real{}.Since(began))
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C():
		}
		d.mu.Lock()
		switch f.kind {
		case failTask:
			d.failures++
			err := errs.New(errs.CodeUserFunction, errs.ClassFailTask, "weirtest", "injected failure %d", d.failures)
			for i := range d.tasks { // one that still lives
				if d.tasks[(f.pick+i)%len(d.tasks)](err) {
					break
				}
			}
		case powerCut:
			if d.now != nil {
				d.parallelism = f.parallelism
				d.now.end()
			}
		case twice:
			d.twice += f.pick
		default:
			d.storage = append(d.storage, f)
		}
		d.mu.Unlock()
	}
}

// request says what becomes of a request to the storage.
func (d *disturbance) request(l *life) func(objstore.Op) objstore.Fault {
	return func(op objstore.Op) objstore.Fault {
		if l.dead() {
			return objstore.Fault{Err: errs.Wrap(errDead, errs.CodeCanceled, errs.ClassCanceled, "weirtest", "")}
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.storage) == 0 {
			return objstore.Fault{}
		}
		f := &d.storage[0]
		kind, slow := f.kind, f.slow
		if f.pick--; f.pick <= 0 || kind == storeForgets || kind == storeTears {
			d.storage = d.storage[1:]
		}
		switch kind {
		case storeRefuses:
			return objstore.Unavailable()
		case storeForgets:
			return objstore.LostAnswer()
		case storeFull:
			return objstore.NoSpace()
		case storeTears:
			return objstore.Fault{Torn: 7}
		case storeWaits:
			return objstore.Fault{Wait: func(ctx context.Context) error { return clock.Real{}.Sleep(ctx, slow) }}
		}
		return objstore.Fault{}
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
