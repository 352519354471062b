package app

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/metrics"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/xsync"
)

// observed is the metrics of one process, which live as long as its part in a job.
type observed struct {
	registry *metrics.Registry
	worker   *metrics.Group // of this worker; nil in a process that only coordinates
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// observe makes the metrics of a process, and serves them at addr unless that is "". worker is "" in a process that only
// coordinates. The caller closes what is returned.
func observe(ctx context.Context, w World, plan *Plan, worker, addr string) (*observed, error) {
	host := w.Host
	if host == "" {
		host = "localhost"
	}
	o := &observed{registry: metrics.NewRegistry(metrics.ConfigFrom(plan.Config, host, worker), w.Log), stop: func() {}}
	if worker != "" {
		o.worker = o.registry.TaskManager()
		o.worker.ReportRuntime()
	}
	if addr == "" {
		return o, nil
	}
	l, err := listen(ctx, w.Network, addr)
	if err != nil {
		return nil, err
	}
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	o.running.Go(func() { _ = o.registry.Run(ctx, w.Clock) }) // rates are measured for those who look at them
	o.running.Go(func() {
		if err := o.registry.Serve(ctx, l); err != nil {
			w.Log.Error("metrics are served no more", "err", err)
		}
	})
	args := []any{"url", "http://" + l.Addr().String() + "/metrics"}
	if worker != "" {
		args = append(args, "worker", worker)
	}
	w.Log.Info("metrics are served", args...)
	return o, nil
}

func listen(ctx context.Context, n netx.Network, addr string) (netx.Listener, error) {
	where := config.MetricsAddress.Key() + " " + addr
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, errs.New(errs.CodeConfigInvalid, errs.ClassUser, where, "HOST:PORT is expected, such as 127.0.0.1:9249 or :9249")
	}
	if n == nil {
		return nil, errs.New(errs.CodeConfigInvalid, errs.ClassUser, where, "metrics cannot be served here: there is no network")
	}
	l, err := n.Listen(ctx, addr)
	return l, errs.Wrap(err, errs.CodeConfigInvalid, errs.ClassUser, where, "metrics cannot be served; choose a free port of this machine")
}

// close takes the metrics down.
func (o *observed) close() {
	o.stop()
	o.running.Wait()
}

// figuresAge is how old the figures of a job may be that its metrics are read from: one scrape reads them many times.
const figuresAge = 100 * time.Millisecond

// reportJob reports the job's figures, added up over its workers.
func (r *jobRun) reportJob(o *observed) {
	jm := o.registry.JobManager()
	jm.ReportRuntime()
	jm.GaugeFunc(metrics.NumRegisteredTaskManagers, func() float64 { return float64(r.master.Progress().Workers) })
	running := func() bool { return r.master.Progress().Phase == "running" }
	jm.GaugeFunc(metrics.NumRunningJobs, func() float64 {
		if running() {
			return 1
		}
		return 0
	})
	job := jm.Job(metrics.JobVars{ID: r.job.ID.String(), Name: r.job.Name})
	r.reportCheckpoints(job)
	job.GaugeFunc(metrics.Uptime, func() float64 {
		if !running() {
			return -1
		}
		return float64(r.world.Clock.Since(r.master.Progress().Checkpoints.Running).Milliseconds())
	})
	sums := &sums{run: r}
	for i, f := range figuresOf(r.plan.Job, nil) {
		sums.report(job, i, f)
	}
}

// sums is the figures of a job's operators for its metrics.
type sums struct {
	run *jobRun
	mu  struct {
		xsync.Mutex
		at      time.Time
		figures []Figures
		groups  []*metrics.Group
		known   map[string]bool // user counters that are reported, by operator and name
	}
}

// report reports the operator at index i, as f describes it.
func (s *sums) report(job *metrics.Group, i int, f Figures) {
	group := job.Label(metrics.OperatorLabel, f.Name).(*metrics.Group)
	s.mu.groups = append(s.mu.groups, group)
	of := func(read func(f *Figures) int64) func() int64 { return func() int64 { return read(s.get(i)) } }
	group.ReportOperator(metrics.OperatorSource{
		RowsIn:  of(func(f *Figures) int64 { return f.RowsIn }),
		RowsOut: of(func(f *Figures) int64 { return f.RowsOut }),
		Late:    of(func(f *Figures) int64 { return f.Late }),
		Bad:     of(func(f *Figures) int64 { return f.Bad }),
		NoTime:  of(func(f *Figures) int64 { return f.NoTime }),
		Unread:  of(func(f *Figures) int64 { return f.Unread }),
		Low:     of(func(f *Figures) int64 { return f.Watermark }),
	})
	if f.Head {
		group.ReportTimes(func() (busy, idle, back time.Duration) {
			f := s.get(i)
			return f.Busy, f.Idle, f.Backpressured
		})
	}
}

// get returns the figures of an operator, which must not be changed, no older than figuresAge. It may be called from any
// goroutine. Counters of functions come up while the job runs: the first look at one makes it known.
func (s *sums) get(i int) *Figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.run.world.Clock.Now()
	if s.mu.figures == nil || now.Sub(s.mu.at) >= figuresAge {
		s.mu.at = now
		s.mu.figures = figuresOf(s.run.plan.Job, s.run.master.Progress().Operators)
		s.reportCounters()
	}
	return &s.mu.figures[i]
}

// reportCounters reports the counters of functions that are new. The registry's lock comes behind the one held.
func (s *sums) reportCounters() {
	if s.mu.known == nil {
		s.mu.known = map[string]bool{}
	}
	for i, f := range s.mu.figures {
		for name := range f.Counters {
			key := f.Name + "\x00" + name
			if s.mu.known[key] {
				continue
			}
			s.mu.known[key] = true
			s.mu.groups[i].Group(metrics.UserGroup).(*metrics.Group).CounterFunc(name, func() int64 { return s.get(i).Counters[name] })
		}
	}
}

// reportCheckpoints reports the figures of checkpoints and restarts.
func (r *jobRun) reportCheckpoints(job *metrics.Group) {
	gauge := func(name string, read func(f *jobmanager.CheckpointFigures) float64) {
		job.GaugeFunc(name, func() float64 {
			f := r.master.Progress().Checkpoints
			return read(&f)
		})
	}
	gauge(metrics.NumRestarts, func(f *jobmanager.CheckpointFigures) float64 { return float64(f.Restarts) })
	gauge(metrics.RestartingTime, func(f *jobmanager.CheckpointFigures) float64 {
		if f.Restarting.IsZero() {
			return 0
		}
		return float64(r.world.Clock.Since(f.Restarting).Milliseconds())
	})
	if r.saving == nil {
		return
	}
	last := func(name string, read func(l *jobmanager.LastCheckpoint) float64) {
		gauge(name, func(f *jobmanager.CheckpointFigures) float64 {
			if f.Last.Epoch == 0 {
				return -1
			}
			return read(&f.Last)
		})
	}
	last(metrics.LastCheckpointDuration, func(l *jobmanager.LastCheckpoint) float64 { return float64(l.Duration.Milliseconds()) })
	last(metrics.LastCheckpointSize, func(l *jobmanager.LastCheckpoint) float64 { return float64(l.Written) })
	last(metrics.LastCheckpointFullSize, func(l *jobmanager.LastCheckpoint) float64 { return float64(l.Size) })
	last(metrics.LastCompletedCheckpointID, func(l *jobmanager.LastCheckpoint) float64 { return float64(l.Epoch) })
	last(metrics.LastCheckpointCompletedTime, func(l *jobmanager.LastCheckpoint) float64 { return float64(l.At.UnixMilli()) })
	gauge(metrics.LastCheckpointRestoreTime, func(f *jobmanager.CheckpointFigures) float64 {
		if f.RestoredAt.IsZero() {
			return -1
		}
		return float64(f.RestoredAt.UnixMilli())
	})
	gauge(metrics.CheckpointsInProgress, func(f *jobmanager.CheckpointFigures) float64 { return float64(f.InProgress) })
	gauge(metrics.CheckpointsCompleted, func(f *jobmanager.CheckpointFigures) float64 { return float64(f.Completed) })
	gauge(metrics.CheckpointsFailed, func(f *jobmanager.CheckpointFigures) float64 { return float64(f.Failed) })
	gauge(metrics.CheckpointsTotal, func(f *jobmanager.CheckpointFigures) float64 { return float64(f.Completed + f.Failed + f.InProgress) })
}
