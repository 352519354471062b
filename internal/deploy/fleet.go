package deploy

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/xsync"
)

// The environment of a worker.
const (
	envWorker  = "WEIR_WORKER"         // its name; says that the process is a worker
	envControl = "WEIR_CONTROL"        // where the master listens
	envSecret  = "WEIR_WORKER_SECRETS" // the number of the file descriptor that the secret comes from
)

// secretFD is the descriptor of the first extra file of a child.
const secretFD = 3

// outputTimeout bounds the wait for the rest of a dead child's output: what it has started itself may hold it open.
const outputTimeout = 500 * time.Millisecond

// Config says what to start. All fields are required except Exited.
type Config struct {
	// Executable is the path of the binary, Args its arguments without the program's name, Environ its environment. All are
	// those of this process.
	Executable    string
	Args, Environ []string
	// Workers are the names of the processes to start.
	Workers []ids.WorkerID
	// ControlAddr is where the master listens.
	ControlAddr string
	// Authority issues the workers' identities.
	Authority *rpc.Authority
	// Stdout and Stderr receive what the workers print, whole lines with the worker's name before each.
	Stdout, Stderr io.Writer
	Clock          clock.Clock
	// Exited is told of the end of each process, once, at once, and before the process of the same name that replaces it is
	// started. The error is never nil: also an exit with status 0 is one that the job may not have expected. The call may
	// block; it runs on a goroutine of its own that Close does not wait for.
	Exited func(worker ids.WorkerID, how error)

	noDeathSignal bool // for tests: the other ways must do
}

// Fleet is a set of worker processes.
type Fleet struct {
	cfg     Config
	relays  [2]*relay
	all     sync.WaitGroup    // all goroutines of the fleet
	again   chan ids.WorkerID // workers to be started on the thread that starts them
	closing chan struct{}     // closed when Close is called
	release chan struct{}     // closed when all children are gone
	mu      struct {
		xsync.Mutex
		closing  bool
		children []*child // of one name, the last is the present one
	}
}

// child is one worker process.
type child struct {
	worker ids.WorkerID
	cmd    *exec.Cmd
	parent *os.File // the end of the secret's pipe that we hold
	gone   chan struct{}
	told   chan struct{} // closed when Exited has returned
	mu     struct {
		xsync.Mutex
		killed string // why we have killed it, "" if we have not
	}
}

// Start starts the workers. If one cannot be started, those that were are killed.
func Start(cfg Config) (*Fleet, error) {
	out := &relay{to: cfg.Stdout}
	f := &Fleet{cfg: cfg, relays: [2]*relay{out, {to: cfg.Stderr}}, again: make(chan ids.WorkerID), closing: make(chan struct{}), release: make(chan struct{})}
	if sameWriter(cfg.Stdout, cfg.Stderr) {
		f.relays[1] = out // one lock for one writer
	}
	started := make(chan error, 1)
	f.all.Go(func() {
		// The kernel ties a child's death signal to the thread that started it, so that thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := f.startAll()
		started <- err
		for err == nil {
			select {
			case w := <-f.again:
				f.restart(w)
			case <-f.release:
				return
			}
		}
	})
	if err := <-started; err != nil {
		f.Close(0)
		return nil, err
	}
	return f, nil
}

func (f *Fleet) startAll() error {
	for _, w := range f.cfg.Workers {
		if err := f.start(w); err != nil {
			return errs.Wrap(err, errs.CodeWorkerLost, errs.ClassFailJob, "worker "+string(w), "its process cannot be started")
		}
	}
	return nil
}

// restart starts a worker in the place of one that is gone.
func (f *Fleet) restart(w ids.WorkerID) {
	if err := f.start(w); err != nil && f.cfg.Exited != nil {
		go f.cfg.Exited(w, errs.Wrap(err, errs.CodeWorkerLost, errs.ClassFailTask, "worker "+string(w), "its process cannot be started again"))
	}
}

// Replace starts another process in the place of a worker's, as soon as that is gone; it is killed if it is not. It does not
// block; what goes wrong is told as the exit of the worker. After Close it does nothing.
func (f *Fleet) Replace(worker ids.WorkerID) {
	c := f.child(worker)
	f.mu.Lock()
	defer f.mu.Unlock()
	if c == nil || f.mu.closing {
		return
	}
	f.all.Go(func() {
		c.kill("another process takes its place")
		<-c.gone
		select {
		case <-c.told:
		case <-f.closing:
			return
		}
		select {
		case f.again <- worker:
		case <-f.closing:
		}
	})
}

// start starts one worker and the goroutines that look after it.
func (f *Fleet) start(w ids.WorkerID) (err error) {
	identity, err := f.cfg.Authority.Issue(string(w))
	if err != nil {
		return err
	}
	secret, err := identity.Encode()
	if err != nil {
		return err
	}
	var files []*os.File // to be closed if it comes to nothing
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	secretR, secretW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	c := &child{worker: w, parent: secretW, gone: make(chan struct{}), told: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.mu.closing {
		err = errs.New(errs.CodeCanceled, errs.ClassCanceled, "", "the job has ended")
	}
	if err == nil {
		c.cmd = exec.Command(f.cfg.Executable, f.cfg.Args...)
		c.cmd.Env = append(withoutWorkerEnv(f.cfg.Environ), envWorker+"="+string(w), envControl+"="+f.cfg.ControlAddr, fmt.Sprintf("%s=%d", envSecret, secretFD))
		c.cmd.Stdout, c.cmd.Stderr = outW, errW
		c.cmd.ExtraFiles = []*os.File{secretR}
		c.cmd.SysProcAttr = sysProcAttr(!f.cfg.noDeathSignal)
		err = c.cmd.Start()
	}
	if err != nil {
		for _, file := range files {
			file.Close()
		}
		return err
	}
	secretR.Close()
	outW.Close()
	errW.Close()
	f.mu.children = append(f.mu.children, c)
	// A pipe holds the secret many times over, so this does not block; if the child is dead, its exit says more than EPIPE.
	_, _ = secretW.Write(append(secret, '\n'))
	f.watch(c, outR, errR)
	return nil
}

// watch looks after a child until it is gone.
func (f *Fleet) watch(c *child, outR, errR *os.File) {
	var output sync.WaitGroup
	for i, r := range []*os.File{outR, errR} {
		output.Go(func() { f.relays[i].copy(r, string(c.worker)) })
	}
	f.all.Go(func() {
		state, err := c.cmd.Process.Wait()
		killGroup(c.cmd.Process.Pid) // what it has started itself
		how := c.exit(state, err)
		close(c.gone)
		c.parent.Close()
		go func() {
			if f.cfg.Exited != nil {
				f.cfg.Exited(c.worker, how)
			}
			close(c.told)
		}()
		cut := f.cfg.Clock.AfterFunc(outputTimeout, func() {
			outR.Close()
			errR.Close()
		})
		output.Wait()
		cut.Stop()
		outR.Close()
		errR.Close()
	})
}

// exit says how a child has ended.
func (c *child) exit(state *os.ProcessState, err error) error {
	c.mu.Lock()
	killed := c.mu.killed
	c.mu.Unlock()
	e := errs.New(errs.CodeWorkerLost, errs.ClassFailTask, fmt.Sprintf("worker %s (pid %d)", c.worker, c.cmd.Process.Pid), "")
	var status syscall.WaitStatus
	if state != nil {
		status, _ = state.Sys().(syscall.WaitStatus)
	}
	switch {
	case err != nil:
		e.Msg, e.Err = "its process is gone, and nobody knows how", err
	case killed != "":
		e.Msg = "its process was killed by the job's master: " + killed
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		e.Msg = "its process was killed by signal 9 (SIGKILL): by a person, or by the system because memory ran out"
	case status.Signaled():
		e.Msg = fmt.Sprintf("its process was ended by signal %d (%v); what it printed last may tell why", int(status.Signal()), status.Signal())
	default:
		e.Msg = fmt.Sprintf("its process has exited with status %d; what it printed last may tell why", state.ExitCode())
	}
	return e
}

// withoutWorkerEnv drops what would make a process a worker, should this one be one.
func withoutWorkerEnv(environ []string) []string {
	var out []string
	for _, e := range environ {
		if name, _, _ := strings.Cut(e, "="); name != envWorker && name != envControl && name != envSecret {
			out = append(out, e)
		}
	}
	return out
}

// PID is the process id of a worker, 0 if there is none of that name.
func (f *Fleet) PID(worker ids.WorkerID) int {
	if c := f.child(worker); c != nil {
		return c.cmd.Process.Pid
	}
	return 0
}

func (f *Fleet) child(worker ids.WorkerID) *child {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range slices.Backward(f.mu.children) {
		if c.worker == worker {
			return c
		}
	}
	return nil
}

// Kill ends a worker by force, with what it has started. The reason is part of what Exited is told. It does not block.
func (f *Fleet) Kill(worker ids.WorkerID, reason string) {
	if c := f.child(worker); c != nil {
		c.kill(reason)
	}
}

func (c *child) kill(reason string) {
	c.mu.Lock()
	if c.mu.killed == "" {
		c.mu.killed = reason
	}
	c.mu.Unlock()
	_ = c.cmd.Process.Kill() // its error says that it is dead already
}

// Close waits for the workers to exit by themselves, for as long as patience, then kills those that are left, and returns
// when all are gone and what they printed has been written.
func (f *Fleet) Close(patience time.Duration) {
	f.mu.Lock()
	if !f.mu.closing {
		f.mu.closing = true
		close(f.closing)
	}
	children := slices.Clone(f.mu.children)
	f.mu.Unlock()
	timer := f.cfg.Clock.NewTimer(patience)
	defer timer.Stop()
	waiting := timer.C()
	for _, c := range children {
		select {
		case <-c.gone:
			continue
		case <-waiting:
			waiting = closedTime
		}
		c.kill("it has not exited in time after the end of the job")
		<-c.gone
	}
	select {
	case <-f.release:
	default:
		close(f.release)
	}
	f.all.Wait()
}

// closedTime is a timer that has fired for good.
var closedTime = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()
