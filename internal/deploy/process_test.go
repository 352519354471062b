package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/deploy"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// The test binary plays all parts: the environment says which.
const (
	envMode        = "WEIR_TEST_MODE"        // what workers do
	envCoordinator = "WEIR_TEST_COORDINATOR" // set: the process is a coordinator that is going to be killed
)

func TestMain(m *testing.M) {
	child, err := deploy.FromEnv()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	case child != nil:
		os.Exit(work(child, os.Getenv(envMode)))
	case os.Getenv(envCoordinator) != "":
		coordinate()
	}
	os.Exit(m.Run())
}

// work is the main function of a worker.
func work(child *deploy.Child, mode string) int {
	fmt.Printf("hello from %s\nan unfinished line", child.Worker)
	if mode == "hang" && child.Worker == "w2" {
		select {}
	}
	if mode == "exit" && child.Worker == "w2" {
		return 7
	}
	if mode == "deaf" { // neither the connection nor the job ends it
		<-child.ParentGone()
		return 1
	}
	if mode == "forever" { // only the kernel does
		select {}
	}
	go func() {
		<-child.ParentGone()
		os.Exit(1)
	}()
	conn, err := rpc.Dial(context.Background(), netx.Real{}, child.ControlAddr, rpc.Endpoint{Identity: child.Identity, Clock: clock.Real{}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	fingerprint := "f1"
	if mode == "mismatch" && child.Worker == "w2" {
		fingerprint = "f2"
	}
	err = taskmanager.Run(context.Background(), conn, taskmanager.Config{Worker: child.Worker, PID: os.Getpid(), Fingerprint: fingerprint, Version: "v1",
		Clock: clock.Real{}, Launcher: launcher{mode}, OnStuck: func([]ids.TaskID, string) { os.Exit(5) }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 6
	}
	return 0
}

// launcher runs tasks that finish at once, or (mode "steady") when they are cancelled.
type launcher struct{ mode string }

func (l launcher) Launch(_ context.Context, d taskmanager.Deployment, r taskmanager.Reporter) (taskmanager.Running, error) {
	return &tasks{mode: l.mode, ids: d.Tasks, report: r, canceled: make(chan struct{}), done: make(chan struct{})}, nil
}

type tasks struct {
	mode           string
	ids            []ids.TaskID
	report         taskmanager.Reporter
	canceled, done chan struct{}
}

func (t *tasks) Start() {
	go func() {
		defer close(t.done)
		for _, id := range t.ids {
			t.report.Phase(id, rpc.PhaseRunning, nil)
		}
		end := rpc.PhaseFinished
		if t.mode == "steady" {
			<-t.canceled
			end = rpc.PhaseCanceled
		}
		for _, id := range t.ids {
			t.report.Phase(id, end, nil)
		}
	}()
}
func (t *tasks) AssignSplits(*rpc.SplitAssign) {}
func (t *tasks) AlignTo(*rpc.AlignTo)          {}
func (t *tasks) Checkpoint(rpc.Body)           {}
func (t *tasks) Cancel(error)                  { close(t.canceled) }
func (t *tasks) Done() <-chan struct{}         { return t.done }
func (t *tasks) Metrics() []rpc.OpMetrics      { return nil }

// session is a master with two worker processes.
type session struct {
	master   *jobmanager.Master
	fleet    *deploy.Fleet
	listener rpc.Listener
	out, err lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(mode string, cfg jobmanager.Config, tweak func(*deploy.Config)) (*session, error) {
	s := &session{}
	authority, err := rpc.NewAuthority(rand.Reader, time.Now())
	if err != nil {
		return nil, err
	}
	identity, err := authority.Issue(rpc.MasterName)
	if err != nil {
		return nil, err
	}
	raw, err := netx.Real{}.Listen(context.Background(), ":0")
	if err != nil {
		return nil, err
	}
	if s.listener, err = rpc.Serve(raw, rpc.Endpoint{Identity: identity, Clock: clock.Real{}}); err != nil {
		return nil, err
	}
	workers := []ids.WorkerID{"w1", "w2"}
	cfg.Clock, cfg.Processes = clock.Real{}, true
	cfg.Kill = func(w ids.WorkerID, reason string) { s.fleet.Kill(w, reason) }
	s.master = jobmanager.New(jobmanager.Job{ID: ids.JobIDFrom("p"), Name: "p", Generation: 1, Fingerprint: "f1", Version: "v1", Workers: workers,
		Placement: [][]int32{{0, 1}}}, cfg)
	go s.master.Serve(s.listener)
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dc := deploy.Config{Executable: exe, Environ: append(os.Environ(), envMode+"="+mode, envCoordinator+"="), Workers: workers, ControlAddr: s.listener.Addr(),
		Authority: authority, Stdout: &s.out, Stderr: &s.err, Clock: clock.Real{}, Exited: s.master.WorkerExited}
	if tweak != nil {
		tweak(&dc)
	}
	s.fleet, err = deploy.Start(dc)
	return s, err
}

func mustStart(t *testing.T, mode string, cfg jobmanager.Config) *session {
	t.Helper()
	s, err := start(mode, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// end closes everything and checks that no process is left.
func (s *session) end(t *testing.T) {
	t.Helper()
	s.fleet.Close(5 * time.Second)
	s.listener.Close()
	for _, w := range []ids.WorkerID{"w1", "w2"} {
		if pid := s.fleet.PID(w); alive(pid) {
			t.Errorf("worker %s (pid %d) is left", w, pid)
		}
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", s.out.String(), s.err.String())
	}
}

// alive reports whether a process runs; a zombie that nobody has waited for does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(b, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z' && rest[0] != 'X'
}

func TestNormalEnd(t *testing.T) {
	s := mustStart(t, "finish", jobmanager.Config{})
	res, err := s.master.Run(t.Context())
	if err != nil || res.Phase != "finished" {
		t.Errorf("%+v, %v", res, err)
	}
	s.end(t)
	for _, want := range []string{"[w1] hello from w1\n", "[w2] hello from w2\n", "[w1] an unfinished line\n"} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("no %q in\n%s", want, s.out.String())
		}
	}
}

// TestFailures lists what may happen to a worker process, and what the job's error must say.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		cfg        jobmanager.Config
		kill       syscall.Signal // sent to w2 once the job runs
		want       []string
		code       errs.Code
	}{
		{name: "killed", mode: "steady", kill: syscall.SIGKILL, want: []string{"worker w2 (pid PID)", "signal 9 (SIGKILL)"}, code: errs.CodeWorkerLost},
		{name: "terminated", mode: "steady", kill: syscall.SIGTERM, want: []string{"worker w2 (pid PID)", "signal 15"}, code: errs.CodeWorkerLost},
		{name: "exits at once", mode: "exit", want: []string{"worker w2 (pid PID)", "exited with status 7"}, code: errs.CodeWorkerLost},
		{name: "hangs at its start", mode: "hang", cfg: jobmanager.Config{JoinTimeout: 2 * time.Second},
			want: []string{"w2", "1 of 2 workers have not connected"}, code: errs.CodeWorkerLost},
		{name: "another plan", mode: "mismatch", want: []string{"worker w2", "f2", "f1"}, code: errs.CodePlanMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			running := make(chan struct{})
			c.cfg.Phase = func(phase string) {
				if phase == "running" {
					close(running)
				}
			}
			s := mustStart(t, c.mode, c.cfg)
			killed := make(chan time.Time, 1)
			if c.kill != 0 {
				go func() {
					<-running
					killed <- time.Now()
					syscall.Kill(s.fleet.PID("w2"), c.kill)
				}()
			}
			res, err := s.master.Run(t.Context())
			if c.kill != 0 {
				t.Logf("failed %v after the signal: %v", time.Since(<-killed).Round(time.Millisecond), err)
			}
			if err == nil || res.Phase != "failed" || errs.CodeOf(err) != c.code {
				t.Fatalf("%+v, %v", res, err)
			}
			for _, want := range c.want {
				want = strings.Replace(want, "PID", strconv.Itoa(s.fleet.PID("w2")), 1)
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
			if c.mode == "hang" {
				s.fleet.Kill("w2", "end of the test")
			}
			s.end(t)
		})
	}
}

// TestCloseKills: a worker that does not care about the end of the job is killed.
func TestCloseKills(t *testing.T) {
	exits := make(chan error, 2)
	s, err := start("forever", jobmanager.Config{}, func(c *deploy.Config) {
		c.Exited = func(_ ids.WorkerID, how error) { exits <- how }
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fleet.Kill("w1", "a reason")
	if how := <-exits; !strings.Contains(how.Error(), "killed by the job's master: a reason") {
		t.Error(how)
	}
	s.fleet.Close(0)
	if how := <-exits; !strings.Contains(how.Error(), "has not exited in time") {
		t.Error(how)
	}
	s.end(t)
}

func TestStartFails(t *testing.T) {
	s, err := start("finish", jobmanager.Config{}, func(c *deploy.Config) { c.Executable = "/nonexistent/binary" })
	if err == nil || !strings.Contains(err.Error(), "worker w1") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	s.listener.Close()
}

// coordinate is the main function of a coordinator that the test kills: it prints the pids of its workers and goes on.
func coordinate() {
	s, err := start(os.Getenv(envMode), jobmanager.Config{}, func(c *deploy.Config) {
		if os.Getenv(envCoordinator) == "without death signal" {
			deploy.WithoutDeathSignal(c)
		}
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for !strings.Contains(s.out.String(), "hello from w1") || !strings.Contains(s.out.String(), "hello from w2") {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(s.fleet.PID("w1"), s.fleet.PID("w2"))
	s.master.Run(context.Background())
}

// TestCoordinatorKilled: no worker survives its coordinator, whichever of the three ways is left to notice.
func TestCoordinatorKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, mode, how string }{
		{"death signal alone", "forever", "with all"},
		{"pipe alone", "deaf", "without death signal"},
		{"all of them", "steady", "with all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), envMode+"="+c.mode, envCoordinator+"="+c.how)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var pids [2]int
			if _, err := fmt.Fscan(bufio.NewReader(out), &pids[0], &pids[1]); err != nil {
				t.Fatal(err)
			}
			if !alive(pids[0]) || !alive(pids[1]) {
				t.Fatalf("workers %v do not run", pids)
			}
			cmd.Process.Kill()
			killed := time.Now()
			io.Copy(io.Discard, out)
			cmd.Wait()
			for alive(pids[0]) || alive(pids[1]) {
				if time.Since(killed) > 20*time.Second {
					t.Fatalf("workers %v live on", pids)
				}
				time.Sleep(time.Millisecond)
			}
			t.Logf("workers gone %v after the coordinator", time.Since(killed).Round(time.Millisecond))
		})
	}
}
