package recovery_test

import (
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/blackhole"
	"github.com/weir-stream/weir/connector/generator"
)

// pipeline counts n rows by key beside other pipelines of the same job. trip is called for each row in front of the counting.
func pipeline(env *weir.Env, name string, n int64, rate float64, trip func(i int64) error) *weir.Gathered[counted] {
	return weir.From(env, name, generator.Of(func(i int64) counted { return counted{Key: i, N: 1} }, generator.Count(n), generator.RowsPerSecond(rate))).
		ProcessEach("trip "+name, func(_ *weir.Context, c counted, out weir.Out[counted]) error {
			out.Emit(counted{c.Key % 7, c.N})
			return trip(c.Key)
		}).
		KeyBy(func(c counted) int64 { return c.Key }).
		Reduce("count "+name, func(have, row counted) counted { return counted{have.Key, have.N + row.N} }).
		Gather()
}

// tally counts how often each row came by.
type tally struct {
	mu   sync.Mutex
	seen map[int64]int
}

func (c *tally) add(i int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[int64]int{}
	}
	c.seen[i]++
}

// again counts the rows that came more than once.
func (c *tally) again() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.seen {
		if k > 1 {
			n++
		}
	}
	return n
}

// One of two pipelines fails three times: the rows of the other one are read once, and what both count is right.
func TestPipelineGoesOnBesideOneThatFails(t *testing.T) {
	const n = 8000
	for _, c := range []struct {
		name     string
		parallel int
		set      map[string]string
	}{
		{"one task each", 1, nil},
		{"three subtasks", 3, nil},
		{"unaligned, nothing chained", 2, map[string]string{"execution.checkpointing.unaligned.enabled": "true", "pipeline.operator-chaining.enabled": "false"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := weir.NewEnv("pipelines").Parallelism(c.parallel)
			env.Set("execution.checkpointing.interval", "20 ms")
			for k, v := range c.set {
				env.Set(k, v)
			}
			var failures atomic.Int64
			var read tally
			fails := pipeline(env, "fails", n, 10_000, func(i int64) error {
				if at := failures.Load(); at < 3 && i > (at+1)*n/5 && failures.CompareAndSwap(at, at+1) {
					panic("a passing fault")
				}
				return nil
			})
			goesOn := pipeline(env, "goes on", n, 10_000, func(i int64) error {
				read.add(i)
				return nil
			})
			res, err := env.Execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if res.Restarts != 3 || res.Checkpoints < 5 {
				t.Errorf("%d restarts, %d checkpoints", res.Restarts, res.Checkpoints)
			}
			if len(read.seen) != n || read.again() > 0 {
				t.Errorf("the pipeline that goes on has read %d rows, %d of them again", len(read.seen), read.again())
			}
			if op, _ := res.Operator("goes on"); op.RowsOut != n {
				t.Errorf("its source counts %d rows: its counters have begun anew", op.RowsOut)
			}
			for name, g := range map[string]*weir.Gathered[counted]{"fails": fails, "goes on": goesOn} {
				if got := highest(g.Rows()); !maps.Equal(got, undisturbed(n)) || len(g.Rows()) != n {
					t.Errorf("%s: %d rows, counts %v", name, len(g.Rows()), got)
				}
			}
		})
	}
}

// With failover-strategy full, the whole job restarts.
func TestFullFailover(t *testing.T) {
	const n = 4000
	env := weir.NewEnv("pipelines")
	env.Set("execution.checkpointing.interval", "20 ms")
	env.Set("jobmanager.execution.failover-strategy", "full")
	var once sync.Once
	var read tally
	fails := pipeline(env, "fails", n, 10_000, func(i int64) (err error) {
		if i > n/2 {
			once.Do(func() { err = errors.New("a passing fault") })
		}
		return err
	})
	goesOn := pipeline(env, "goes on", n, 10_000, func(i int64) error {
		read.add(i)
		return nil
	})
	if _, err := env.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if read.again() == 0 {
		t.Error("no row was read again")
	}
	for _, g := range []*weir.Gathered[counted]{fails, goesOn} {
		if got := highest(g.Rows()); !maps.Equal(got, undisturbed(n)) {
			t.Errorf("counts %v", got)
		}
	}
}

// Each subtask of a job without an exchange is a region of its own: when one fails, the others read no row again, although all
// are handed splits by one enumerator; and the files hold each row once.
func TestLaneFailsAlone(t *testing.T) {
	const n, lanes = 20_000, 4
	dir := filepath.Join(t.TempDir(), "out")
	env := weir.NewEnv("lanes").Parallelism(lanes)
	env.Set("execution.checkpointing.interval", "30 ms")
	var failures atomic.Int64
	var read [lanes]tally
	rows := weir.From(env, "numbers", generator.Of(func(i int64) numbered { return numbered{i} }, generator.Count(n), generator.RowsPerSecond(20_000))).
		ProcessEach("trip", func(ctx *weir.Context, r numbered, out weir.Out[numbered]) error {
			read[ctx.Subtask()].add(r.N)
			out.Emit(r)
			if at := failures.Load(); ctx.Subtask() == 1 && at < 3 && r.N > (at+1)*n/5 && failures.CompareAndSwap(at, at+1) {
				return errors.New("a passing fault")
			}
			return nil
		})
	writeNumbers(rows, dir)
	res, err := env.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, _, hidden := readBack(t, dir)
	wantOnce(t, got, n)
	if res.Restarts != 3 || hidden > 0 {
		t.Errorf("%d restarts, %d hidden files", res.Restarts, hidden)
	}
	for i := range read {
		if again := read[i].again(); (again > 0) != (i == 1) {
			t.Errorf("lane %d has read %d rows again", i, again)
		}
	}
}

// Without checkpoints the lane that fails begins anew, with all splits that it was ever given.
func TestLaneBeginsAnew(t *testing.T) {
	const n = 4000
	env := weir.NewEnv("lanes").Parallelism(3)
	env.Set("restart-strategy.type", "fixed-delay")
	env.Set("restart-strategy.fixed-delay.delay", "10 ms")
	var once sync.Once
	var all tally
	weir.From(env, "numbers", generator.Of(func(i int64) numbered { return numbered{i} }, generator.Count(n), generator.RowsPerSecond(20_000))).
		ProcessEach("trip", func(ctx *weir.Context, r numbered, out weir.Out[numbered]) (err error) {
			if r.N > n/2 && ctx.Subtask() == 1 {
				once.Do(func() { err = errors.New("a passing fault") })
			}
			all.add(r.N)
			return err
		}).To("nowhere", blackhole.Sink[numbered]())
	res, err := env.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(all.seen) != n || res.Restarts != 1 || all.again() == 0 || all.again() > n*3/4 {
		t.Errorf("%d rows of %d were read, %d of them again, with %d restarts", len(all.seen), n, all.again(), res.Restarts)
	}
}

// A worker process is killed: the lanes of the other one go on in it, and no row that they print comes again.
func TestLaneOfAKilledWorkerFailsAlone(t *testing.T) {
	const n = 15_000
	p := start(t, t.TempDir(), n, 5_000, 2, map[int64]int64{}, "lanes")
	p.awaitRows(1500)
	pids := p.workers()
	if len(pids) != 2 {
		t.Fatalf("worker processes %v\n%s", pids, &p.errs)
	}
	lives, dies := int64(pids[0]), pids[1]
	if err := syscall.Kill(dies, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Fatalf("%v\n%s", err, &p.errs)
		}
	case <-time.After(60 * time.Second):
		t.Fatalf("the job does not end\n%s", &p.errs)
	}
	by := map[int64]*tally{}
	all := map[int64]bool{}
	for _, r := range p.pairs {
		if by[r.N] == nil {
			by[r.N] = &tally{}
		}
		by[r.N].add(r.Key)
		all[r.Key] = true
	}
	if len(all) != n {
		t.Errorf("%d rows of %d were printed\n%s", len(all), n, &p.errs)
	}
	if len(by) != 3 || by[lives] == nil || by[int64(dies)] == nil {
		t.Fatalf("rows of %d processes, with those of %v", len(by), pids)
	}
	for pid, rows := range by {
		if again := rows.again(); again > 0 {
			t.Errorf("process %d has printed %d rows again", pid, again)
		}
	}
	if got := len(by[lives].seen); got < n/3 {
		t.Errorf("the process that lives has printed %d rows of %d", got, n)
	}
	if text := p.errs.String(); !strings.Contains(text, "restarting 1 of 2 regions") {
		t.Errorf("what is said of the restart:\n%s", text)
	}
}
