package app

import (
	"context"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/storage/taskstore"
	"github.com/weir-stream/weir/internal/task"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// taskStates is where the tasks of one deployment on one worker leave their state, and what they begin from.
type taskStates struct {
	mode  checkpoint.Mode
	final bool
	// periodic says that checkpoints are taken by themselves.
	periodic bool
	uploads  *taskstore.Uploader
	from     *taskstore.Source // nil: from nothing
}

// newTaskStates opens what a deployment is restored from. ctx ends with the deployment.
func (l *launcher) newTaskStates(ctx context.Context, d taskmanager.Deployment) (*taskStates, error) {
	at := l.saving
	if at == nil {
		return nil, nil
	}
	conf := l.plan.Config
	if at.dir != "" && l.data != nil { // each deployment of a process writes under a name of its own
		var err error
		if at, err = newSaving(l.world, conf, storage.WriterName(d.Term, d.Generation, l.world.nonce())); err != nil {
			return nil, err
		}
	}
	coordinator := coordinatorConfig(conf)
	s := &taskStates{mode: coordinator.Mode, final: coordinator.Final, periodic: coordinator.Interval > 0}
	s.uploads = taskstore.NewUploader(taskstore.Config{Store: at.store, Places: at.places, Clock: l.world.Clock, JobName: l.plan.Job.Name, Term: d.Term,
		Generation: d.Generation, Incremental: conf.Get(config.CheckpointIncremental),
		Compression: compressionOf(conf.Get(config.CheckpointCompression)), Tell: func(text string, err error) { l.world.Log.Warn(text, "err", err) }})
	if r := d.Deploy.Restore; r.Manifest != "" {
		var err error
		if s.from, err = taskstore.Open(ctx, at.store, at.places, storage.Ref{Dir: r.Dir, Manifest: r.Manifest}); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// compressionOf returns what the option's word stands for.
func compressionOf(word string) snapshot.Compression {
	switch word {
	case "s2", "true":
		return snapshot.CompressS2
	case "zstd":
		return snapshot.CompressZstd
	}
	return snapshot.CompressNone
}

func (s *taskStates) close() {
	if s != nil {
		s.uploads.Close()
	}
}

// join has a task take part in checkpoints.
func (s *taskStates) join(r taskmanager.Reporter, t *runningTask, v *graph.Vertex, cfg *task.Config) {
	names := make([]string, len(v.Operators))
	for i, op := range v.Operators {
		names[i] = stateName(op.Node)
	}
	t.saves = s.uploads.Task(t.id, v.Parallelism, names)
	decline := func(epoch uint64, err error) {
		r.Checkpoint(&rpc.CheckpointDecline{Task: t.id, Epoch: ids.Epoch(epoch), Failure: rpc.FailureOf(err)})
	}
	cfg.Checkpoints = task.Checkpoints{
		Mode: s.mode, Periodic: s.periodic,
		OnSnapshot: func(snap *task.Snapshot) {
			ack := &rpc.CheckpointAck{Task: t.id, Epoch: ids.Epoch(snap.Barrier.Epoch), Aligned: snap.Aligned, Cut: snap.Cut}
			t.saves.Upload(snap, func(stored storage.Stored, err error) {
				switch {
				case err == nil:
					ack.Part, ack.Size, ack.Written, ack.InFlight, ack.Stored = stored.Part, stored.Size, stored.Written, stored.InFlight, stored.Took
					r.Checkpoint(ack)
				case !errs.IsCanceled(err):
					decline(uint64(ack.Epoch), err)
				}
			})
		},
		OnDeclined: decline,
		OnGivenUp:  func(epoch uint64) { t.saves.GivenUp(ids.Epoch(epoch)) },
	}
	if s.final {
		cfg.Checkpoints.OnDrained = func() { r.Checkpoint(&rpc.TaskDrained{Task: t.id}) }
	}
	if s.from != nil {
		cfg.Checkpoints.Stopped = s.from.Stopped()
		cfg.Restore = func(op int) (*task.OpRestore, error) {
			return s.from.Op(names[op], true, int(t.id.Subtask), v.Parallelism)
		}
	}
}
