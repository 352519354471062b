package recovery_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/file"
	"github.com/weir-stream/weir/connector/generator"
)

type numbered struct{ N int64 }

// numbers writes n numbers to files below dir, in buckets. trip is called for each row in front of the sink.
func numbers(env *weir.Env, dir string, n int64, rate float64, trip func(i int64) error) weir.SinkHandle {
	rows := weir.From(env, "numbers", generator.Of(func(i int64) numbered { return numbered{i} }, generator.Count(n), generator.RowsPerSecond(rate))).
		ProcessEach("trip", func(_ *weir.Context, r numbered, out weir.Out[numbered]) error {
			out.Emit(r)
			return trip(r.N)
		})
	return writeNumbers(rows, dir)
}

// writeNumbers writes rows to files below dir, in buckets.
func writeNumbers(rows weir.Stream[numbered], dir string) weir.SinkHandle {
	return rows.
		To("files", file.JSONSink[numbered](filepath.ToSlash(dir), file.RollSize(8<<10),
			file.BucketBy(func(r numbered) string { return fmt.Sprint("bucket=", r.N%3) })))
}

// readBack returns the numbers in the visible files below dir, sorted, and how many files that are; hidden ones are counted.
func readBack(t *testing.T, dir string) (got []int64, files, hidden int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") {
			hidden++
			return nil
		}
		files++
		b, err := os.ReadFile(name)
		for l := range strings.Lines(string(b)) {
			n, perr := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(l, `{"N":`), "}\n"), 10, 64)
			if perr != nil {
				t.Errorf("%s: line %q", name, l)
			}
			got = append(got, n)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	slices.Sort(got)
	return got, files, hidden
}

// wantOnce compares with the numbers below n.
func wantOnce(t *testing.T, got []int64, n int64) {
	t.Helper()
	var lost, twice int
	seen := map[int64]int{}
	for _, v := range got {
		if seen[v]++; seen[v] > 1 {
			twice++
		}
	}
	for i := range n {
		if seen[i] == 0 {
			lost++
		}
	}
	if lost+twice > 0 || int64(len(got)) != n {
		t.Errorf("%d rows of %d in the files: %d lost, %d twice", len(got), n, lost, twice)
	}
}

// A job that fails several times leaves every row in its files once, and nothing hidden.
func TestFilesHoldEachRowOnce(t *testing.T) {
	const n = 20_000
	for _, parallelism := range []int{1, 3} {
		t.Run(fmt.Sprintf("parallelism %d", parallelism), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			env := weir.NewEnv("files").Parallelism(parallelism)
			env.Set("execution.checkpointing.interval", "30 ms")
			env.Set("restart-strategy.type", "fixed-delay")
			env.Set("restart-strategy.fixed-delay.attempts", "10")
			env.Set("restart-strategy.fixed-delay.delay", "1 ms")
			var failures atomic.Int64
			early := 0
			numbers(env, dir, n, 20_000, func(i int64) error {
				if at := failures.Load(); at < 4 && i > (at+1)*n/5 && failures.CompareAndSwap(at, at+1) {
					if at == 2 {
						_, early, _ = readBack(t, dir)
					}
					return errors.New("a passing fault")
				}
				return nil
			})
			if _, err := env.Execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, files, hidden := readBack(t, dir)
			wantOnce(t, got, n)
			if failures.Load() != 4 || hidden > 0 || early == 0 {
				t.Errorf("%d failures; %d files, of which %d were visible before the end, and %d hidden ones", failures.Load(), files, early, hidden)
			}
			t.Logf("%d files, %d of them early", files, early)
		})
	}
}

// Workers and the coordinating process are killed at random times, and each new command has another parallelism: the files
// hold each row once.
func TestFilesHoldEachRowOnceThroughKills(t *testing.T) {
	const n, rate, kills = 30_000, 6_000, 9
	out, checkpoints := filepath.Join(t.TempDir(), "out"), t.TempDir()
	rnd := rand.New(rand.NewPCG(4, 2))
	run := func(parallelism int) *program {
		return start(t, checkpoints, n, rate, 2, map[int64]int64{}, out, "-p", strconv.Itoa(parallelism))
	}
	p := run(2)
	for i := range kills {
		select {
		case err := <-p.done:
			t.Fatalf("the job has ended before kill %d: %v\n%s", i, err, &p.errs)
		case <-time.After(time.Duration(150+rnd.IntN(500)) * time.Millisecond):
		}
		if i%3 == 2 {
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.done
			p = run([]int{3, 1, 4}[i/3%3])
			continue
		}
		if pids := p.workers(); len(pids) > 0 {
			_ = syscall.Kill(pids[rnd.IntN(len(pids))], syscall.SIGKILL)
		}
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Fatalf("%v\n%s", err, &p.errs)
		}
	case <-time.After(60 * time.Second):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		t.Fatalf("the job does not end\n%s", &p.errs)
	}
	got, files, hidden := readBack(t, out)
	wantOnce(t, got, n)
	t.Logf("%d kills, %d files, %d hidden", kills, files, hidden)
	if hidden > 0 {
		t.Errorf("%d hidden files are left\n%s", hidden, &p.errs)
	}
}
