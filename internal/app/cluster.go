package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/deploy"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// Processes is what the coordinating side needs to start workers: this very process, once more.
type Processes struct {
	// Workers is how many to start.
	Workers int
	// Executable, Args and Environ are those of this process.
	Executable    string
	Args, Environ []string
	// Stdout and Stderr receive what workers print themselves, each line with the worker's name.
	Stdout, Stderr io.Writer
	// Network is where the master and the workers listen.
	Network netx.Network
	// Rand is a source of unpredictable bytes.
	Rand io.Reader
}

// anyPort is any free port of the loopback.
const anyPort = "127.0.0.1:0"

// secretBytes is the length of the secret of data connections.
const secretBytes = 32

// shutdownPatience is how long workers may take to go after the job's end before they are killed.
const shutdownPatience = 2 * time.Second

// RunWorkers runs a plan on worker processes that it starts, and returns when the job has ended and all of them are gone.
func RunWorkers(ctx context.Context, w World, plan *Plan, p Processes, opt RunOptions) (*Result, error) {
	workers := make([]ids.WorkerID, p.Workers)
	for i := range workers {
		workers[i] = ids.WorkerID(fmt.Sprintf("worker-%d", i+1))
	}
	run, err := newJobRun(ctx, w, plan, workers)
	if err != nil {
		return nil, err
	}
	defer run.close()
	if plan.Config.Get(config.CheckpointDir) == "" && takesCheckpoints(plan.Config) {
		return nil, errs.New(errs.CodeConfigInvalid, errs.ClassUser, config.CheckpointDir.Key(),
			"checkpoints of worker processes need a directory that all of them reach: set %s (or --checkpoint-dir), or leave out --workers to keep checkpoints in memory", config.CheckpointDir.Key())
	}
	if run.saving, err = newSaving(w, plan.Config, storage.WriterName(0, 0, run.nonce)); err != nil {
		return nil, err
	}
	if err := run.saving.usable(ctx, plan.Job.Name); err != nil {
		return nil, err
	}
	seen, err := observe(ctx, w, plan, "", plan.Config.Get(config.MetricsAddress))
	if err != nil {
		return nil, err
	}
	defer seen.close()
	authority, err := rpc.NewAuthority(p.Rand, w.Clock.Now())
	if err != nil {
		return nil, err
	}
	listener, err := serveControl(ctx, w, p, authority)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	secret := make([]byte, secretBytes)
	if _, err := io.ReadFull(p.Rand, secret); err != nil {
		return nil, err
	}
	var fleet *deploy.Fleet
	// The fleet is there before the master runs.
	if err := run.start(secret, func(w ids.WorkerID, reason string) { fleet.Kill(w, reason) }, func(w ids.WorkerID) { fleet.Replace(w) }); err != nil {
		return nil, err
	}
	run.reportJob(seen)
	fleet, err = deploy.Start(deploy.Config{Executable: p.Executable, Args: p.Args, Environ: p.Environ, Workers: workers,
		ControlAddr: listener.Addr(), Authority: authority, Stdout: p.Stdout, Stderr: p.Stderr, Clock: w.Clock, Exited: run.exited})
	if err != nil {
		// The master must have its end all the same: it is told of the exits of those that were started.
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, _ = run.master.Run(ended)
		return nil, err
	}
	defer fleet.Close(shutdownPatience)
	go func() { _ = run.master.Serve(listener) }() // ends when the listener is closed
	return run.do(ctx, opt)
}

// exited takes the end of a worker's process.
func (r *jobRun) exited(w ids.WorkerID, how error) {
	r.world.Events.EnsureDefaults().WorkerExited(events.WorkerExited{Worker: w, Err: how})
	r.master.WorkerExited(w, how)
}

func serveControl(ctx context.Context, w World, p Processes, a *rpc.Authority) (rpc.Listener, error) {
	identity, err := a.Issue(rpc.MasterName)
	if err != nil {
		return nil, err
	}
	l, err := p.Network.Listen(ctx, ":0")
	if err != nil {
		return nil, err
	}
	return rpc.Serve(l, rpc.Endpoint{Identity: identity, Clock: w.Clock})
}

// RunWorker is the life of a worker process: it serves the master that has started it until that ends it. The caller
// watches child.ParentGone.
func RunWorker(ctx context.Context, w World, plan *Plan, child *deploy.Child, p Processes, pid int, exit func(code int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	listener, err := p.Network.Listen(ctx, ":0")
	if err != nil {
		return err
	}
	defer listener.Close()
	conn, err := rpc.Dial(ctx, p.Network, child.ControlAddr, rpc.Endpoint{Identity: child.Identity, Clock: w.Clock})
	if err != nil {
		return err
	}
	addr := ""
	if plan.Config.Get(config.MetricsAddress) != "" {
		addr = anyPort // the address itself is the master's
	}
	seen, err := observe(ctx, w, plan, string(child.Worker), addr)
	if err != nil {
		return err
	}
	defer seen.close()
	saves, err := newSaving(w, plan.Config, storage.WriterName(0, 0, w.nonce()))
	if err != nil {
		return err
	}
	l := &launcher{world: w, plan: plan, metrics: seen.worker, saving: saves, data: newDataPlane(ctx, w.Clock, p, listener)}
	defer l.close()
	cfg := workerConfig(child.Worker, w, plan, l)
	cfg.PID, cfg.DataAddr = pid, listener.Addr().String()
	cfg.OnStuck = func(tasks []ids.TaskID, _ string) {
		w.Log.Error("tasks do not stop: the process ends", "tasks", tasks)
		exit(exitStuck)
	}
	err = taskmanager.Run(ctx, conn, cfg)
	l.data.leave()
	if errs.IsCanceled(err) {
		return nil
	}
	return err
}

// Exit codes of worker processes.
const (
	// ExitOrphan: the coordinating process has died.
	ExitOrphan = 3
	// exitStuck: tasks did not stop within the cancellation timeout.
	exitStuck = 4
)
