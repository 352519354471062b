package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	kills    = flag.Int("kills", 3, "how many processes TestKill kills")
	killRows = flag.Int64("kill-rows", 4_000_000, "orders of TestKill; enough for the job to live through all kills")
	killSeed = flag.Uint64("kill-seed", 1, "what TestKill draws from")
)

// TestKill kills processes of the job at random, its first one and its workers, and starts the same command again after
// the first one; each tenth is the first one, and the job goes on at another parallelism. In the end the files hold every row
// once.
//
//	go test ./examples/orders -run TestKill -kills 100 -kill-rows 100000000 -timeout 0 -v
func TestKill(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc to find the worker processes")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "orders")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := rand.New(rand.NewPCG(*killSeed, 0))
	j := &killed{t: t, bin: bin, dir: dir, parallelism: 2}
	j.start()
	coordinators := 0
	for n := range *kills {
		if !j.lives(300*time.Millisecond + time.Duration(r.IntN(1200))*time.Millisecond) {
			t.Fatalf("the job has ended after %d kills: more -kill-rows", n)
		}
		pids := append([]int{j.cmd.Process.Pid}, children(j.cmd.Process.Pid)...)
		at := r.IntN(len(pids))
		switch {
		case n%10 == 0:
			at = 0
		case n == 1: // at least one of each kind in the shortest run
			at = len(pids) - 1
		}
		if err := syscall.Kill(pids[at], syscall.SIGKILL); err != nil {
			t.Logf("kill %d: process %d: %v", n, pids[at], err)
		}
		if at > 0 {
			continue
		}
		<-j.done
		coordinators++
		if n%10 == 0 {
			j.parallelism = 1 + (j.parallelism+r.IntN(4))%5 // never the same
			t.Logf("kill %d: goes on at parallelism %d", n, j.parallelism)
		}
		j.start()
	}
	<-j.done
	if j.err != nil {
		t.Fatalf("the job has failed: %v\n%s", j.err, j.output.String())
	}
	t.Logf("%d kills, %d of them of the first process", *kills, coordinators)
	check(t, filepath.Join(dir, "out"), truthOf(*killRows))
}

// killed is the job's first process and what it printed.
type killed struct {
	t           *testing.T
	bin, dir    string
	parallelism int
	cmd         *exec.Cmd
	output      bytes.Buffer
	done        chan struct{} // closed when the first process is gone
	err         error         // how; valid after done
}

func (j *killed) start() {
	j.output.Reset()
	j.cmd = exec.Command(j.bin, "--out", filepath.Join(j.dir, "out"), "--rows", strconv.FormatInt(*killRows, 10),
		"--workers", "3", "--parallelism", strconv.Itoa(j.parallelism),
		"-D", "execution.checkpointing.dir="+filepath.Join(j.dir, "checkpoints"), "-D", "execution.checkpointing.interval=250ms")
	j.cmd.Stdout, j.cmd.Stderr = &j.output, &j.output
	if err := j.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { _ = j.cmd.Process.Kill() })
	done := make(chan struct{})
	j.done = done
	go func() {
		j.err = j.cmd.Wait()
		close(done)
	}()
}

// lives waits for d, and reports whether the job still runs.
func (j *killed) lives(d time.Duration) bool {
	select {
	case <-j.done:
		if j.err != nil {
			j.t.Fatalf("the job has failed: %v\n%s", j.err, j.output.String())
		}
		return false
	case <-time.After(d):
		return true
	}
}

// children lists the processes that a process has started.
func children(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var out []int
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue // gone meanwhile
		}
		// pid (name) state ppid ...; the name may hold anything
		rest := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(rest) > 1 && rest[1] == strconv.Itoa(parent) && rest[0] != "Z" {
			var pid int
			if _, err := fmt.Sscan(string(b), &pid); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}
