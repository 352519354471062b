package upgrade_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
)

const rows = 3000

// newEnv is the environment of one start of the job.
func newEnv(parallelism int, settings ...string) *weir.Env {
	env := weir.NewEnv("sales").Parallelism(parallelism)
	for i := 0; i < len(settings); i += 2 {
		env.Set(settings[i], settings[i+1])
	}
	return env
}

const restorePath = "execution.state-recovery.path"

// stopped runs the job until it has emitted a good part, stops it with a savepoint below dir, and returns that and what came out.
func stopped(t *testing.T, dir string) (savepoint string, out []string) {
	t.Helper()
	env := newEnv(2, "execution.checkpointing.interval", "50 ms")
	got := build(env, firstVersion(), rows, 600).Gather()
	job := env.Start(t.Context())
	for len(got.Rows()) < 3000 {
		time.Sleep(5 * time.Millisecond)
	}
	savepoint, err := job.Stop(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(); err != nil {
		t.Fatal(err)
	}
	return savepoint, got.Rows()
}

// run runs a version to its end and returns what comes out.
func run[S, V, C, D, A, N any](t *testing.T, env *weir.Env, v *version[S, V, C, D, A, N]) []string {
	t.Helper()
	got := build(env, v, rows, 0).Gather()
	if _, err := env.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got.Rows()
}

// check compares what two programs have emitted, one behind the other, with what one emits that is never stopped.
func check(t *testing.T, before, after []string) {
	t.Helper()
	want := run(t, newEnv(1), secondVersion())
	got := append(slices.Clone(before), after...)
	slices.Sort(want)
	slices.Sort(got)
	if len(before) == 0 || len(after) == 0 {
		t.Errorf("%d rows before the stop, %d after: nothing is shown", len(before), len(after))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("row %d is %q, want %q (%d rows, want %d)", i, got[i], want[i], len(got), len(want))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	// The totals, by hand.
	for shop := range int64(shops) {
		sum, n := int64(0), 0
		for i := shop; i < rows; i += shops {
			sum += i % 97
			n++
		}
		text := fmt.Sprintf("totals shop%d %d of %d most ", shop, sum, n)
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, text) }) {
			t.Errorf("no row says %q", text)
		}
	}
}

// A program goes on with other types from where the one before was stopped, at another parallelism, and what both have emitted is what
// one would have that was never stopped.
func TestEvolved(t *testing.T) {
	savepoint, before := stopped(t, t.TempDir())
	for _, parallelism := range []int{1, 3} {
		after := run(t, newEnv(parallelism, restorePath, savepoint), secondVersion())
		check(t, before, after)
	}
	check(t, before, run(t, newEnv(2, restorePath, savepoint), firstVersion()))
}

// An operator that was renamed finds its state by its former name, which is its UID now.
func TestRenamed(t *testing.T) {
	b, err := os.ReadFile("testdata/v2/before")
	if err != nil {
		t.Fatal(err)
	}
	env := newEnv(2, restorePath, saved)
	got := shaped(env, secondVersion(), rows, 0, shape{renamed: true}).Gather()
	if _, err := env.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, strings.Split(strings.TrimSpace(string(b)), "\n"), got.Rows())
}

// Savepoints of every version of the format are opened for ever, by the program that wrote them and by one whose types have
// evolved. WEIR_GOLDEN=write makes the one of the present version, if it is not there.
func TestGolden(t *testing.T) {
	const present = "testdata/v2"
	if _, err := os.Stat(present); err != nil && os.Getenv("WEIR_GOLDEN") == "write" {
		savepoint, before := stopped(t, t.TempDir())
		if err := os.CopyFS(filepath.Join(present, "savepoint"), os.DirFS(savepoint)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(present, "before"), []byte(strings.Join(before, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	versions, err := filepath.Glob("testdata/v*")
	if err != nil || len(versions) == 0 {
		t.Fatal("no savepoints", err)
	}
	for _, dir := range versions {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, "before"))
			if err != nil {
				t.Fatal(err)
			}
			before := strings.Split(strings.TrimSpace(string(b)), "\n")
			check(t, before, run(t, newEnv(2, restorePath, filepath.Join(dir, "savepoint")), firstVersion()))
			check(t, before, run(t, newEnv(3, restorePath, filepath.Join(dir, "savepoint")), secondVersion()))
		})
	}
}
