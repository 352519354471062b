package recovery_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/window"
)

// awaitRows waits until a job has counted so many rows.
func awaitRows(t *testing.T, g *weir.Gathered[counted], n int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); len(g.Rows()) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no rows come")
		}
	}
}

// A job is stopped with a savepoint, over and over, and each time started from it at another parallelism. Nothing is counted
// twice or lost: each count is printed once.
func TestStopAndStartAtAnotherParallelism(t *testing.T) {
	const n = 20_000
	for name, settings := range map[string][]string{
		"aligned":                        nil,
		"unaligned":                      {"execution.checkpointing.unaligned.enabled", "true", "execution.checkpointing.interval", "10 ms"},
		"with checkpoints at least once": {"execution.checkpointing.mode", "AT_LEAST_ONCE", "execution.checkpointing.interval", "10 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, from := t.TempDir(), ""
			seen := map[counted]int{}
			for i, parallelism := range []int{3, 7, 2, 1} {
				env := weir.NewEnv("count").Parallelism(parallelism).Set("execution.checkpointing.savepoint-dir", dir)
				for j := 0; j < len(settings); j += 2 {
					env.Set(settings[j], settings[j+1])
				}
				if from != "" {
					env.Set("execution.state-recovery.path", from)
				}
				got := countRows(env, n, 20_000, func(int64) error { return nil }).Gather()
				job := env.Start(t.Context())
				if i < 3 {
					awaitRows(t, got, 2000)
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					var err error
					if from, err = job.Stop(ctx, ""); err != nil {
						t.Fatal(err)
					}
					cancel()
				}
				if _, err := job.Wait(); err != nil {
					t.Fatal(err)
				}
				for _, r := range got.Rows() {
					seen[r]++
				}
			}
			best := map[int64]int64{}
			for r, times := range seen {
				if times != 1 {
					t.Errorf("%v came %d times", r, times)
				}
				best[r.Key] = max(best[r.Key], r.N)
			}
			if want := undisturbed(n); !maps.Equal(best, want) || len(seen) != n {
				t.Errorf("%d rows, counts %v, want %v", len(seen), best, want)
			}
		})
	}
}

// A savepoint is taken while the job goes on; another job is started from it. A drained job prints everything.
func TestSavepointOfARunningJob(t *testing.T) {
	const n = 10_000
	dir := t.TempDir()
	env := weir.NewEnv("count").Parallelism(2).Set("execution.checkpointing.savepoint-dir", dir)
	got := countRows(env, n, 20_000, func(int64) error { return nil }).Gather()
	job := env.Start(t.Context())
	awaitRows(t, got, 1000)
	path, err := job.Savepoint(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	if h := highest(got.Rows()); !maps.Equal(h, undisturbed(n)) {
		t.Errorf("the job that was saved counts %v", h)
	}
	again := weir.NewEnv("another name").Parallelism(3).Set("execution.state-recovery.path", path)
	more := countRows(again, n, 20_000, func(int64) error { return nil }).Gather()
	if _, err := again.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := highest(more.Rows()); !maps.Equal(h, undisturbed(n)) || len(more.Rows()) >= n {
		t.Errorf("the job that was started from it counts %v in %d rows", h, len(more.Rows()))
	}
	if _, err := job.Savepoint(t.Context(), ""); err == nil {
		t.Error("a savepoint of a job that has ended")
	}
}

// A drained job fires the windows that no watermark of the source itself would ever close.
func TestDrain(t *testing.T) {
	env := weir.NewEnv("count").Parallelism(2).Set("execution.checkpointing.savepoint-dir", t.TempDir())
	rows := weir.From(env, "numbers", generator.Of(func(i int64) counted { return counted{Key: i % 7, N: 1} }, generator.RowsPerSecond(10_000)))
	stamped := rows.WithEventTime(func(counted) time.Time { return time.UnixMilli(0) })
	passed := stamped.ProcessEach("pass", func(_ *weir.Context, c counted, out weir.Out[counted]) error {
		out.Emit(c)
		return nil
	}).Gather()
	sums := stamped.KeyBy(func(c counted) int64 { return c.Key }).Window("sums", window.Tumbling(time.Hour)).
		Reduce(func(have, row counted) counted { return counted{have.Key, have.N + row.N} }).Gather()
	job := env.Start(t.Context())
	awaitRows(t, passed, 1000)
	if len(sums.Rows()) != 0 {
		t.Error("the window has fired already")
	}
	if _, err := job.Drain(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, r := range sums.Rows() {
		total += r.N
	}
	if n := len(passed.Rows()); len(sums.Rows()) != 7 || total != int64(n) {
		t.Errorf("%d windows with %d of %d rows", len(sums.Rows()), total, n)
	}
}
