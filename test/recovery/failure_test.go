package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
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

// What cannot be mended by a restart ends the job at once: a file where the sink's folder should be, a split that the source does
// not know.
func TestPermanentFailures(t *testing.T) {
	dir := t.TempDir()
	name := filepath.ToSlash(filepath.Join(dir, "out"))
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	env := weir.NewEnv("files").EnableCheckpointing(20 * time.Millisecond)
	numbers(env, name, 1000, 1e6, func(int64) error { return nil })
	if res, err := env.Execute(t.Context()); errs.ClassOf(err) != errs.ClassFailJob || res.Restarts != 0 || !strings.Contains(err.Error(), "move away what is there") {
		t.Errorf("%d restarts: %v", res.Restarts, err)
	}

	saves := filepath.Join(dir, "saves")
	count := func(n int64, settings ...string) (*weir.Env, *weir.Gathered[counted]) {
		env := weir.NewEnv("count").EnableCheckpointing(20 * time.Millisecond)
		for i := 0; i < len(settings); i += 2 {
			env.Set(settings[i], settings[i+1])
		}
		return env, countRows(env, n, 20_000, func(int64) error { return nil }).Gather()
	}
	env, got := count(100_000)
	job := env.Start(t.Context())
	awaitRows(t, got, 2000)
	saved, err := job.Stop(t.Context(), saves)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	env, _ = count(100, "execution.state-recovery.path", saved)
	if res, err := env.Execute(t.Context()); errs.ClassOf(err) != errs.ClassFailJob || res.Restarts != 0 || !strings.Contains(err.Error(), "does not belong to this source") {
		t.Errorf("%d restarts: %v", res.Restarts, err)
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

// The error of a job that ends because of a record says where the record was read: in the chain of the source which rows of which
// split that were, and behind an exchange what the sources have read since the checkpoint.
func TestSameRowFailsAgainAndIsFound(t *testing.T) {
	type line struct{ N int64 }
	const n, bad = 9000, 7000
	name := filepath.ToSlash(filepath.Join(t.TempDir(), "numbers.json"))
	var content strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "{\"N\":%d}\n", i+1)
	}
	if err := os.WriteFile(name, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	picky := func(_ *weir.Context, l line, out weir.Out[line]) error {
		if l.N == bad {
			return errors.New("not this one")
		}
		out.Emit(l)
		return nil
	}
	for _, c := range []struct {
		name  string
		build func(rows weir.Stream[line]) weir.Stream[line]
		place *regexp.Regexp
		from  bool // the place is where reading began: not before the bad line
		most  int  // rows
	}{
		{"chained", func(rows weir.Stream[line]) weir.Stream[line] { return rows.ProcessEach("picky", picky) },
			regexp.MustCompile(`\(at row \{N:7000\}\); read last in this task: (\d+) rows before line (\d+) \(byte (\d+)\) of ` + regexp.QuoteMeta(name) + `: not this one`), false, 1024},
		{"chained behind another", func(rows weir.Stream[line]) weir.Stream[line] {
			return rows.ProcessEach("pass", func(_ *weir.Context, l line, out weir.Out[line]) error {
				out.Emit(l)
				return nil
			}).ProcessEach("picky", picky)
		}, regexp.MustCompile(`\(at row \{N:7000\}\); read last in this task: (\d+) rows before line (\d+) \(byte (\d+)\) of ` + regexp.QuoteMeta(name) + `: not this one`), false, n},
		{"exchanged", func(rows weir.Stream[line]) weir.Stream[line] {
			return rows.Rebalance().ProcessEach("picky", picky)
		}, regexp.MustCompile(`What had been read since then: numbers: (\d+) rows, from line (\d+) \(byte (\d+)\) of ` + regexp.QuoteMeta(name) + ` on\. The failure: .*\(at row \{N:7000\}\): not this one`), true, n},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := weir.NewEnv("numbers").Parallelism(1).EnableCheckpointing(20*time.Millisecond).Set("restart-strategy.exponential-delay.max-backoff", "60 ms")
			c.build(weir.From(env, "numbers", file.JSON[line](name))).Gather()
			_, err := env.Execute(t.Context())
			if err == nil {
				t.Fatal("the job has finished")
			}
			m := c.place.FindStringSubmatch(err.Error())
			if m == nil {
				t.Fatalf("the place is missing in: %v", err)
			}
			var rows, at, offset int
			for i, into := range []*int{&rows, &at, &offset} {
				*into, _ = strconv.Atoi(m[i+1])
			}
			first, behind := at-rows, at
			if c.from {
				first, behind = at, at+rows
			}
			if rows > c.most || first > bad || behind <= bad || strings.Count(content.String()[:offset], "\n") != at-1 {
				t.Errorf("lines %d to %d, byte %d: %v", first, behind-1, offset, err)
			}
		})
	}
}
