package app

import (
	"context"
	"errors"
	"path"
	"runtime/debug"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/restore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/expiry"
	"github.com/weir-stream/weir/internal/statebackend/model"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/metric"
)

// PlanRestore says what becomes of everything in a snapshot if the plan is started from it. It opens each operator with state
// once, in this process, to see which states that opens; no row runs, and the operators are closed again. Sources and sinks
// are not opened. It fails if an operator cannot be opened; what is refused is in the result.
func (p *Plan) PlanRestore(ctx context.Context, w World, m *snapshot.Manifest) (*restore.Plan, error) {
	var (
		job []restore.Operator
		bad []error
	)
	for _, v := range p.Job.Vertices {
		for _, c := range v.Operators {
			op, err := probe(ctx, w, p.Job.Name, v, c.Node)
			if err != nil {
				bad = append(bad, err)
			}
			job = append(job, op)
		}
	}
	if bad != nil {
		return nil, errs.Wrap(errors.Join(bad...), errs.CodeOf(bad[0]), errs.ClassUser, "restore",
			"operators with state are opened once before the job starts, to see which states they open, and these failed")
	}
	return restore.Make(m, p.Fingerprint, job, restore.Options{DropUnclaimed: p.Config.Get(config.RestoreIgnoreUnclaimed)}), nil
}

// DryRun plans the start from the snapshot that the options name, or else from the newest of the job's own checkpoints. Nothing
// is written.
func DryRun(ctx context.Context, w World, p *Plan) (*restore.Plan, error) {
	places := storage.Places(w.Stores)
	if places == nil {
		places = storage.LocalPlaces(fs.Real{}, "dryrun")
	}
	name, own := p.Config.Get(config.RestorePath), p.Config.Get(config.CheckpointDir)
	var ref storage.Ref
	var err error
	if own != "" {
		if ref, err = storage.Own(ctx, w.Clock, places, own, p.Job.Name); err != nil {
			return nil, errs.Wrap(err, errs.CodeOf(err), errs.ClassUser, config.CheckpointDir.Key()+" "+own, "the job's own checkpoints cannot be read")
		}
	}
	switch {
	case !ref.IsZero() && name != "":
		passedOver(w, p, storage.EpochOf(ref))
		name = ref.String()
	case !ref.IsZero():
		name = ref.String()
	case name == "" && own != "":
		return nil, errs.New(objstore.CodeNotFound, errs.ClassUser, "dry run", "the job has nothing to go on from in %s: it would begin from nothing", path.Join(own, storage.JobDir(p.Job.Name)))
	case name == "":
		return nil, errs.New(errs.CodeConfigInvalid, errs.ClassUser, "dry run", "no savepoint or checkpoint is named: add --restore PATH, or set %s to plan from the job's own newest checkpoint",
			config.CheckpointDir.Key())
	default:
		if ref, err = storage.Resolve(ctx, places, name); err != nil {
			return nil, err
		}
	}
	snap, err := storage.Load(ctx, nil, places, ref)
	if err == nil {
		err = snap.Check(ctx)
	}
	if err != nil {
		return nil, errs.Wrap(err, errs.CodeOf(err), errs.ClassUser, "restore "+name, "the job cannot be started from it")
	}
	return p.PlanRestore(ctx, w, snap.Manifest)
}

// passedOver says that what the job is told to start from is not what it starts from.
func passedOver(w World, p *Plan, own ids.Epoch) {
	if name := p.Config.Get(config.RestorePath); name != "" {
		w.Log.Warn("the job goes on from its own checkpoint, and not from "+config.RestorePath.Key()+"; to start from that, name another "+config.CheckpointDir.Key()+", or move the job's directory away",
			"job", p.Job.Name, "checkpoint", own, "passed over", name)
	}
}

// probe opens an operator with nothing around it and says which states it has opened. What is no operator with state is not
// opened.
func probe(ctx context.Context, w World, job string, v *graph.Vertex, n *graph.Node) (out restore.Operator, err error) {
	out = restore.Operator{Name: stateName(n), Keys: n.KeySchema()}
	maker, ok := n.Factory.(operator.Maker)
	if !ok || n.Source || n.Sink || !n.Stateful {
		return out, nil
	}
	out.Known = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &operator.Context{
		Ctx: ctx, Job: job, Vertex: v.Name, Operator: n.Label(), Parallelism: v.Parallelism,
		Now:    func() int64 { return w.Clock.Now().UnixMilli() },
		Timers: nowhere{}, Mailbox: nowhere{}, Counts: &operator.Counts{}, Metrics: metric.Discard(), Events: events.Listener{}.EnsureDefaults(), Log: w.Log,
		EmitWatermark: func(int64) error { return nil }, EmitIdle: func(bool) error { return nil }, SideWanted: func(string) bool { return false },
		FS: w.FS, Clock: w.Clock, Side: func([]byte) error { return nil },
	}
	var backend statebackend.Keyed
	c.OpenState = func(keyWidth int) (statebackend.Keyed, error) {
		out.KeyWidth = keyWidth
		conf := statebackend.Config{KeyWidth: keyWidth, Groups: keygroup.RangeOf(0, v.Parallelism)}
		clocks := expiry.Clocks{Processing: c.Now, Event: func() int64 { return expiry.Unknown }}
		backend = expiry.New(model.New(conf), conf, clocks, func(string) func(int64) { return func(int64) {} })
		return backend, nil
	}
	c.AddKeyed = func(p operator.KeyedPart) {
		out.States = append(out.States, restore.Opened{State: p.State, Values: p.Values})
	}
	var op operator.Operator
	err = guarded(c, "open", func() error {
		op = maker()
		return op.Open(c, nowhere{})
	})
	if err == nil {
		describe(&out, backend, op)
	}
	if op != nil {
		if cerr := guarded(c, "close", op.Close); err == nil {
			err = cerr
		}
	}
	return out, err
}

// describe adds what an operator has opened.
func describe(out *restore.Operator, backend statebackend.Keyed, op operator.Operator) {
	if backend != nil {
		for _, d := range backend.Descriptors() {
			out.States = append(out.States, restore.Opened{State: statebackend.StateOf(d), Values: d.Values})
		}
	}
	if b, ok := op.(operator.BlobStates); ok {
		b.BlobStates(func(blob string, keys *codec.Schema, values *codec.Values) {
			out.Blobs = append(out.Blobs, restore.OpenedBlob{Name: blob, Keys: keys, Values: values})
		})
	}
}

// guarded calls a part of an operator's life outside of a task.
func guarded(c *operator.Context, what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errs.New(errs.CodeUserPanic, errs.ClassUser, c.Operator, "panic in %s: %v\n%s", what, v, operator.TrimStack(debug.Stack()))
		}
	}()
	if err = f(); errs.CodeOf(err) != "" {
		return errs.Wrap(err, "", 0, c.Operator, "%s failed", what)
	}
	return errs.Wrap(err, errs.CodeUserFunction, errs.ClassUser, c.Operator, "%s failed", what)
}

// nowhere takes what an operator that is only opened asks for, and does nothing.
type nowhere struct{}

func (nowhere) At(int64, func(int64) error) func()     { return func() {} }
func (nowhere) Post(func() error) bool                 { return false }
func (nowhere) Emit(b event.Batch) error               { b.Release(); return nil }
func (nowhere) EmitSide(_ string, b event.Batch) error { b.Release(); return nil }
