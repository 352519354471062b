package recovery_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/internal/errs"
)

// life runs a job that counts n rows with checkpoints in dir. It is cancelled when it has counted stopAt rows, unless that
// is 0; meanwhile is called after the first 2000.
func life(t *testing.T, dir string, n, stopAt int, meanwhile func(), settings ...string) ([]counted, *weir.Result, error) {
	t.Helper()
	env := weir.NewEnv("count").EnableCheckpointing(20*time.Millisecond).Set("execution.checkpointing.dir", dir).
		Set("execution.checkpointing.num-retained", "2").Set("execution.checkpointing.incremental", "false")
	for i := 0; i < len(settings); i += 2 {
		env.Set(settings[i], settings[i+1])
	}
	got := countRows(env, int64(n), 20_000, func(int64) error { return nil }).Gather()
	job := env.Start(t.Context())
	if meanwhile != nil {
		awaitRows(t, got, 2000)
		meanwhile()
		stopAt = max(stopAt, min(len(got.Rows())+2000, n-1000)) // those of another checkpoint
	}
	if stopAt > 0 {
		awaitRows(t, got, stopAt)
		job.Cancel()
	}
	res, err := job.Wait()
	if stopAt > 0 && errs.IsCanceled(err) {
		err = nil
	}
	return got.Rows(), res, err
}

// flip changes a bit in the midst of each file that match accepts, and returns how many there were.
func flip(t *testing.T, dir string, match func(name string) bool) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !match(e.Name()) {
			return err
		}
		n++
		b, err := os.ReadFile(name)
		if err == nil {
			b[len(b)/2] ^= 0x10
			err = os.WriteFile(name, b, 0o666)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newestManifest(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(filepath.Join(dir, "count", "manifests"))
	if err != nil || len(all) < 2 {
		t.Fatalf("%d manifests, %v", len(all), err)
	}
	return all[len(all)-1].Name()
}

// The bytes of the newest checkpoint have changed, in its state or in its manifest: the job goes on from the one before. When
// no other is left it ends, and says which object is damaged.
func TestDamagedCheckpoint(t *testing.T) {
	const n = 12_000
	for _, what := range []string{"data", "manifests"} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			if _, _, err := life(t, dir, n, 4000, nil); err != nil {
				t.Fatal(err)
			}
			newest := newestManifest(t, dir)
			epoch := strings.TrimLeft(newest, "0")
			if flip(t, filepath.Join(dir, "count", what), func(name string) bool { return name == newest || strings.HasSuffix(name, "-"+epoch+"-0") }) == 0 {
				t.Fatal("nothing to damage")
			}
			rows, _, err := life(t, dir, n, 0, nil)
			if h := highest(rows); err != nil || !maps.Equal(h, undisturbed(n)) || len(rows) >= n {
				t.Errorf("it counts %v in %d rows: %v", h, len(rows), err)
			}
		})
	}
	t.Run("all", func(t *testing.T) {
		dir := t.TempDir()
		if _, _, err := life(t, dir, n, 4000, nil); err != nil {
			t.Fatal(err)
		}
		flip(t, filepath.Join(dir, "count", "data"), func(string) bool { return true })
		_, _, err := life(t, dir, n, 0, nil)
		if errs.CodeOf(err) != errs.CodeDamaged || errs.ClassOf(err) != errs.ClassFailJob || !strings.Contains(err.Error(), "data/1-1/0-0-") || !strings.Contains(err.Error(), "no checkpoint of it can be restored") {
			t.Errorf("it ends with %v", err)
		}
	})
}

// Somebody deletes the directory of a running job. The job goes on, and its next checkpoints are whole.
func TestDirectoryIsDeleted(t *testing.T) {
	const n = 24_000
	for _, below := range []string{"", "data"} {
		dir := t.TempDir()
		gone := filepath.Join(dir, "count", below)
		_, res, err := life(t, dir, n, 4000, func() {
			for os.RemoveAll(gone) != nil { // something is written meanwhile
				continue
			}
		}, "execution.checkpointing.incremental", "true")
		if err != nil || res.Restarts != 0 {
			t.Fatalf("deleted %q: %v, %d restarts", below, err, res.Restarts)
		}
		rows, _, err := life(t, dir, n, 0, nil)
		if h := highest(rows); err != nil || !maps.Equal(h, undisturbed(n)) || len(rows) >= n {
			t.Errorf("deleted %q: it counts %v in %d rows: %v", below, h, len(rows), err)
		}
	}
}

// Somebody deletes what a job would go on from. It says so, and does not begin anew.
func TestManifestsAreDeleted(t *testing.T) {
	const n = 8000
	dir := t.TempDir()
	if _, _, err := life(t, dir, n, 3000, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "count", "manifests")); err != nil {
		t.Fatal(err)
	}
	if rows, _, err := life(t, dir, n, 0, nil); errs.CodeOf(err) != errs.CodeGone || len(rows) > 0 || !strings.Contains(err.Error(), "delete the directory "+filepath.ToSlash(dir)+"/count to begin from nothing") {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "count")); err != nil {
		t.Fatal(err)
	}
	if rows, _, err := life(t, dir, n, 0, nil); err != nil || len(rows) != n {
		t.Errorf("from nothing it has %d rows, %v", len(rows), err)
	}
}
