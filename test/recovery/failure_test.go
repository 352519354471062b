package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/internal/errs"
)

// A function fails on one row for ever. The job is restarted a few times, and then ends with an error that shows the row; it
// does not go on for ever.
func TestSameRowFailsAgain(t *testing.T) {
	env := weir.NewEnv("count").EnableCheckpointing(20*time.Millisecond).Set("restart-strategy.exponential-delay.max-backoff", "60 ms")
	rows := countRows(env, 20_000, 20_000, func(int64) error { return nil })
	rows.ProcessEach("picky", func(_ *weir.Context, c counted, out weir.Out[counted]) error {
		if c == (counted{3, 500}) {
			return errors.New("not this one")
		}
		out.Emit(c)
		return nil
	}).Gather()
	_, err := env.Execute(t.Context())
	if err == nil {
		t.Fatal("the job has finished")
	}
	for _, want := range []string{"picky", "not this one", "{Key:3 N:500}", "the same record has failed"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if errs.ClassOf(err) != errs.ClassFailJob {
		t.Errorf("class %v", errs.ClassOf(err))
	}
}

// Two processes lead one job. The one that came later goes on from the other's checkpoint; the other ends and says why.
func TestSecondLeader(t *testing.T) {
	const n = 20_000
	dir := t.TempDir()
	describe := func() (*weir.Env, *weir.Gathered[counted]) {
		env := weir.NewEnv("count").EnableCheckpointing(20*time.Millisecond).Set("execution.checkpointing.dir", dir)
		return env, countRows(env, n, 20_000, func(int64) error { return nil }).Gather()
	}
	first, had := describe()
	old := first.Start(t.Context())
	awaitRows(t, had, 4000)
	second, got := describe()
	if _, err := second.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Wait(); errs.CodeOf(err) != errs.CodeFenced {
		t.Errorf("the first leader ends with %v", err)
	}
	rows := got.Rows()
	if h := highest(rows); !maps.Equal(h, undisturbed(n)) || len(rows) >= n {
		t.Errorf("the second leader counts %v in %d rows", h, len(rows))
	}
}

// A job that was cancelled goes on from its latest checkpoint when it is started again; one that has finished begins anew.
func TestSameJobAgain(t *testing.T) {
	const n = 10_000
	dir := t.TempDir()
	run := func(ctx context.Context, stopAt int) []counted {
		env := weir.NewEnv("count").EnableCheckpointing(20*time.Millisecond).Set("execution.checkpointing.dir", dir)
		got := countRows(env, n, 20_000, func(int64) error { return nil }).Gather()
		job := env.Start(ctx)
		if stopAt > 0 {
			awaitRows(t, got, stopAt)
			job.Cancel()
		}
		if _, err := job.Wait(); (stopAt > 0) != errs.IsCanceled(err) || stopAt == 0 && err != nil {
			t.Fatal(err)
		}
		return got.Rows()
	}
	run(t.Context(), 4000)
	if rows := run(t.Context(), 0); len(rows) >= n || !maps.Equal(highest(rows), undisturbed(n)) {
		t.Errorf("started again it counts %v in %d rows", highest(rows), len(rows))
	}
	if rows := run(t.Context(), 0); len(rows) != n {
		t.Errorf("a third run has %d rows", len(rows))
	}
}

// Without checkpoints a job fails, unless a strategy is named: then it begins anew.
func TestRestartWithoutCheckpoints(t *testing.T) {
	for _, c := range []struct {
		settings []string
		fails    int // how often the function fails
		ok       bool
	}{
		{nil, 1, false},
		{[]string{"restart-strategy.type", "fixed-delay", "restart-strategy.fixed-delay.delay", "10 ms", "restart-strategy.fixed-delay.attempts", "2"}, 2, true},
		{[]string{"restart-strategy.type", "fixed-delay", "restart-strategy.fixed-delay.delay", "10 ms", "restart-strategy.fixed-delay.attempts", "2"}, 3, false},
	} {
		t.Run(fmt.Sprint(c.fails, c.ok), func(t *testing.T) {
			const n = 2000
			env := weir.NewEnv("count")
			for i := 0; i < len(c.settings); i += 2 {
				env.Set(c.settings[i], c.settings[i+1])
			}
			var mu sync.Mutex
			failed := 0
			got := countRows(env, n, 50_000, func(i int64) error {
				mu.Lock()
				defer mu.Unlock()
				if i%1000 == 0 && failed < c.fails {
					failed++
					return fmt.Errorf("fault %d", failed)
				}
				return nil
			}).Gather()
			_, err := env.Execute(t.Context())
			if (err == nil) != c.ok {
				t.Fatal(err)
			}
			if c.ok && !maps.Equal(highest(got.Rows()), undisturbed(n)) {
				t.Errorf("counts %v", highest(got.Rows()))
			}
			if !c.ok && len(c.settings) > 0 && !strings.Contains(err.Error(), "restart-strategy.fixed-delay.attempts") {
				t.Errorf("the error does not say why it is not restarted: %v", err)
			}
		})
	}
}
