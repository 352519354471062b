package recovery_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/generator"
	"github.com/weir-stream/weir/internal/errs"
)

// A source and all tasks that only it feeds have ended long before the checkpoint that the job goes on from, at another
// parallelism. Its rows are neither read again nor lost: those in files stay there once, those that were counted with another
// source's stay counted.
func TestSourceHasEndedLongAgo(t *testing.T) {
	const short, long = 700, 12_000
	for _, to := range []int{1, 3} {
		t.Run(fmt.Sprintf("2 to %d", to), func(t *testing.T) {
			dir := t.TempDir()
			files := filepath.ToSlash(filepath.Join(dir, "files"))
			describe := func(parallelism int) (*weir.Env, *weir.Gathered[counted]) {
				env := weir.NewEnv("count").Parallelism(parallelism).EnableCheckpointing(20*time.Millisecond).Set("execution.checkpointing.dir", filepath.Join(dir, "ck"))
				row := func(i int64) counted { return counted{Key: i % 7, N: 1} }
				first := weir.From(env, "short", generator.Of(row, generator.Count(short)))
				second := weir.From(env, "long", generator.Of(func(i int64) counted { return row(i + short) }, generator.Count(long), generator.RowsPerSecond(12_000)))
				weir.From(env, "alone", generator.Of(func(i int64) numbered { return numbered{i} }, generator.Count(short))).
					To("files", file.JSONSink[numbered](files))
				return env, first.Union(second).KeyBy(func(c counted) int64 { return c.Key }).
					Reduce("count", func(have, row counted) counted { return counted{have.Key, have.N + row.N} }).Gather()
			}
			env, had := describe(2)
			job := env.Start(t.Context())
			awaitRows(t, had, 5000)
			awaitFinished(t, filepath.Join(dir, "ck", "count", "manifests"))
			job.Cancel()
			if _, err := job.Wait(); !errs.IsCanceled(err) {
				t.Fatal(err)
			}
			if got, _, hidden := readBack(t, files); hidden > 0 {
				t.Errorf("%d of the ended source's %d rows are in files, %d files hidden", len(got), short, hidden)
			}
			env, rest := describe(to)
			if _, err := env.Execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			rows := rest.Rows()
			if h := highest(rows); !maps.Equal(h, undisturbed(short+long)) || len(rows) >= short+long {
				t.Errorf("it counts %v in %d rows", h, len(rows))
			}
			got, _, hidden := readBack(t, files)
			wantOnce(t, got, short)
			if hidden > 0 {
				t.Errorf("%d files are hidden", hidden)
			}
		})
	}
}

// awaitFinished waits until the newest manifest lists subtasks of three operators as finished: the two short sources and the sink.
func awaitFinished(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		all, _ := os.ReadDir(dir)
		if len(all) == 0 {
			continue
		}
		if b, _ := os.ReadFile(filepath.Join(dir, all[len(all)-1].Name())); strings.Count(string(b), `"finished"`) >= 3 {
			return
		}
	}
	t.Fatal("no checkpoint has finished tasks")
}
