package recovery_test

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is a running job over worker processes.
type program struct {
	t    *testing.T
	cmd  *exec.Cmd
	errs bytes.Buffer
	done chan error

	mu      sync.Mutex
	best    map[int64]int64 // the greatest count of each key that was printed
	rows    int
	pairs   []counted      // all that was printed
	news    chan time.Time // when the first row was printed that counts further than all before; asked for by watch
	watched bool
}

// start starts the job with so many workers; best is what an earlier program has printed.
func start(t *testing.T, dir string, n, rate, workers int, best map[int64]int64, args ...string) *program {
	p := &program{t: t, done: make(chan error, 1), best: best, news: make(chan time.Time, 1)}
	args = append([]string{strconv.Itoa(n), strconv.Itoa(rate), "--workers", strconv.Itoa(workers), "--progress", "none", "-p", "2",
		"-D", "execution.checkpointing.interval=100 ms", "-D", "execution.checkpointing.dir=" + dir}, args...)
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Env = append(os.Environ(), programEnv+"=1")
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.line(lines.Text())
		}
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func (p *program) line(text string) {
	_, text, _ = strings.Cut(text, "> ")
	var key, n int64
	if _, err := fmt.Sscanf(text, "%d %d", &key, &n); err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows++
	p.pairs = append(p.pairs, counted{key, n})
	if n <= p.best[key] {
		return
	}
	p.best[key] = n
	if p.watched {
		p.watched = false
		p.news <- time.Now()
	}
}

// watch asks for the time of the next row that is new.
func (p *program) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched = true
}

// first waits for that time.
func (p *program) first() time.Time {
	p.t.Helper()
	select {
	case at := <-p.news:
		return at
	case <-time.After(30 * time.Second):
		p.t.Fatalf("no new row comes\n%s", &p.errs)
		return time.Time{}
	}
}

func (p *program) counts() (map[int64]int64, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.best), p.rows
}

// awaitRows waits until so many rows were printed.
func (p *program) awaitRows(n int) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, rows := p.counts(); rows >= n {
			return
		}
		select {
		case err := <-p.done:
			p.t.Fatalf("the job has ended early: %v\n%s", err, &p.errs)
		default:
		}
		if time.Now().After(end) {
			p.t.Fatalf("no rows come\n%s", &p.errs)
		}
	}
}

// lives reports whether a process runs and is no zombie that nobody has waited for.
func lives(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.HasPrefix(string(b[bytes.LastIndexByte(b, ')')+1:]), " Z")
}

// workers lists the process ids of the job's worker processes.
func (p *program) workers() (out []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(f) > 1 && f[1] == strconv.Itoa(p.cmd.Process.Pid) && f[0] != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			out = append(out, pid)
		}
	}
	return out
}

// finish waits for the end of the job and compares the counts.
func (p *program) finish(n int) {
	p.t.Helper()
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Fatalf("%v\n%s", err, &p.errs)
		}
	case <-time.After(60 * time.Second):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.done
		p.t.Fatalf("the job does not end\n%s", &p.errs)
	}
	if got, _ := p.counts(); !maps.Equal(got, undisturbed(int64(n))) {
		p.t.Errorf("counts %v, want %v\n%s", got, undisturbed(int64(n)), &p.errs)
	}
}

// Worker processes are killed, one after the other; each is replaced, and the job goes on from its latest checkpoint.
func TestWorkersAreKilled(t *testing.T) {
	const n = 15_000
	p := start(t, t.TempDir(), n, 5_000, 2, map[int64]int64{})
	p.awaitRows(1500)
	for i := range 3 {
		pids := p.workers()
		if len(pids) != 2 {
			t.Fatalf("worker processes %v\n%s", pids, &p.errs)
		}
		killed := time.Now()
		p.watch()
		if err := syscall.Kill(pids[i%2], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		t.Logf("first new row after %v", p.first().Sub(killed))
		_, rows := p.counts()
		p.awaitRows(rows + 1500)
	}
	p.finish(n)
}

// The coordinating process is killed, its workers end by themselves, and the same command goes on from the latest checkpoint.
func TestCoordinatorIsKilled(t *testing.T) {
	const n = 15_000
	dir := t.TempDir()
	p := start(t, dir, n, 5_000, 2, map[int64]int64{})
	for range 2 {
		_, rows := p.counts()
		p.awaitRows(rows + 2000)
		workers := p.workers()
		killed := time.Now()
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.done
		best, _ := p.counts()
		p = start(t, dir, n, 5_000, 2, best)
		p.watch()
		t.Logf("first new row after %v", p.first().Sub(killed))
		for _, pid := range workers {
			if lives(pid) {
				t.Errorf("worker process %d of the dead coordinator lives", pid)
			}
		}
	}
	p.finish(n)
}

// A running program is asked by signal for a savepoint, and then to stop with one.
func TestSignals(t *testing.T) {
	const n = 10_000
	dir, saves := t.TempDir(), t.TempDir()
	p := start(t, dir, n, 5_000, 2, map[int64]int64{}, "-D", "execution.checkpointing.savepoint-dir="+saves)
	p.awaitRows(1000)
	workers := p.workers()
	for _, pid := range workers { // as a broad pkill sends it: they take no notice
		if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	_, rows := p.counts()
	p.awaitRows(rows + 1000)
	if now := p.workers(); !slices.Equal(now, workers) {
		t.Errorf("workers %v are %v now", workers, now)
	}
	if err := p.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	if err := <-p.done; err != nil {
		t.Fatalf("%v\n%s", err, &p.errs)
	}
	said := strings.Split(strings.TrimSpace(p.errs.String()), "\n")
	path, ok := strings.CutPrefix(said[len(said)-1], "savepoint: ")
	if made, _ := filepath.Glob(saves + "/*/manifest"); !ok || len(made) != 2 {
		t.Fatalf("savepoints %v\n%s", made, &p.errs)
	}
	best, rows := p.counts()
	again := start(t, dir, n, 5_000, 3, best, "--restore", path)
	again.finish(n)
	if _, more := again.counts(); rows+more != n {
		t.Errorf("%d rows before and %d after the stop", rows, more)
	}
}
