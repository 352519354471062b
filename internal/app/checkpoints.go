package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/memory"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
)

// saving is where a process keeps the checkpoints of a job: the same for its master and its tasks.
type saving struct {
	dir    string // "" in memory
	store  objstore.Store
	places storage.Places
}

// takesCheckpoints reports whether a job has anything to do with checkpoints or savepoints.
func takesCheckpoints(c *config.Config) bool {
	return c.Get(config.CheckpointInterval) > 0 || c.Get(config.CheckpointDir) != "" || c.Get(config.SavepointDir) != "" || c.Get(config.RestorePath) != ""
}

// newSaving opens the store of the job's checkpoints, nil if it takes none. writer names who writes, and is like no other that
// ever wrote there.
func newSaving(w World, c *config.Config, writer string) (*saving, error) {
	if !takesCheckpoints(c) {
		return nil, nil
	}
	s := &saving{dir: c.Get(config.CheckpointDir), places: storage.Places(w.Stores)}
	if w.Stores == nil {
		s.places = storage.LocalPlaces(fs.Real{}, writer)
	}
	if s.dir == "" {
		s.store = memory.New()
		return s, nil
	}
	var err error
	s.store, err = s.places(s.dir)
	return s, errs.Wrap(err, errs.CodeOf(err), errs.ClassUser, config.CheckpointDir.Key(), "the directory of checkpoints cannot be used")
}

// usable refuses a directory of checkpoints that cannot be written to, before the job does anything. What may pass, such as a
// full disk, is left to the job, which tries again.
func (s *saving) usable(ctx context.Context, job string) error {
	if s == nil {
		return nil
	}
	store, ok := s.store.(interface {
		Check(ctx context.Context, dir string) error
	})
	if !ok {
		return nil
	}
	err := store.Check(ctx, storage.JobDir(job))
	if err == nil || errs.IsCanceled(err) || objstore.Is(err, objstore.CodeNoSpace) {
		return nil
	}
	return errs.Wrap(err, errs.CodeConfigInvalid, errs.ClassUser, config.CheckpointDir.Key()+" "+s.dir,
		"the directory of checkpoints cannot be written to: mend that, or name another one")
}

// nonce returns a name that no other process has.
func (w World) nonce() string {
	b := make([]byte, 8)
	if w.Rand != nil {
		if _, err := io.ReadFull(w.Rand, b); err == nil {
			return fmt.Sprintf("%x", b)
		}
	}
	return fmt.Sprintf("%x", w.Clock.Now().UnixNano())
}

// coordinatorConfig is what the options say of the taking of checkpoints.
func coordinatorConfig(c *config.Config) checkpoint.Config {
	out := checkpoint.Config{
		Unaligned: c.Get(config.CheckpointUnaligned), AlignedTimeout: c.Get(config.CheckpointAlignedTimeout),
		Interval: c.Get(config.CheckpointInterval), MinPause: c.Get(config.CheckpointMinPause), Timeout: c.Get(config.CheckpointTimeout),
		ConcurrentMax: c.Get(config.CheckpointConcurrent), TolerableFailures: c.Get(config.CheckpointTolerable), Retain: c.Get(config.CheckpointRetained),
		Final: takesFinal(c),
	}
	if c.Get(config.CheckpointMode) == "AT_LEAST_ONCE" {
		out.Mode = checkpoint.AtLeastOnce
	}
	return out
}

// takesFinal reports whether tasks at the end of their input wait for a checkpoint that holds the end.
func takesFinal(c *config.Config) bool {
	return c.Get(config.CheckpointInterval) > 0 && c.Get(config.CheckpointAfterFinish)
}

// stateName is how an operator is called in checkpoints.
func stateName(n *graph.Node) string { return cmp.Or(n.StateName(), n.Label()) }

// keeper is the jobmanager.CheckpointStore of a plan.
type keeper struct {
	world World
	plan  *Plan
	job   ids.JobID
	at    *saving
	// nonce names this process.
	nonce string
	// planned says that the operators of this process can read what they are restored from.
	planned bool
}

// Open implements jobmanager.CheckpointStore.
func (k *keeper) Open(ctx context.Context) (jobmanager.Checkpoints, jobmanager.Found, error) {
	conf := k.plan.Config
	job, found, err := storage.Open(ctx, storage.Config{Store: k.at.store, Dir: k.at.dir, Places: k.at.places, Clock: k.world.Clock, Name: k.plan.Job.Name, ID: k.job,
		Writer: k.nonce, Retain: conf.Get(config.CheckpointRetained), Tell: k.tell})
	if err != nil {
		return nil, jobmanager.Found{}, err
	}
	if n := len(found.Completed); n > 0 {
		k.world.Log.Info("the job goes on from a checkpoint of an earlier run", "job", k.plan.Job.Name, "checkpoint", found.Completed[n-1].Epoch, "dir", k.at.dir)
		passedOver(k.world, k.plan, found.Completed[n-1].Epoch)
	}
	return &kept{keeper: k, store: job}, jobmanager.Found{Term: found.Term, Reserved: found.Reserved, Completed: found.Completed}, nil
}

func (k *keeper) tell(text string, err error) { k.world.Log.Warn(text, "err", err) }

// kept is what a keeper has opened.
type kept struct {
	*keeper
	store   *storage.Job
	sweep   ids.Generation   // deployments before it have left what is to be swept; 0 if nothing is
	alive   []ids.Generation // of these: they go on
	claimed bool
}

// Begin implements jobmanager.Checkpoints.
func (k *kept) Begin(ctx context.Context, epoch ids.Epoch, p event.Purpose, target string) (string, error) {
	dir := ""
	if p == event.PurposeSavepoint || p == event.PurposeStop {
		base := cmp.Or(target, k.plan.Config.Get(config.SavepointDir))
		if base == "" {
			return "", errs.New(errs.CodeConfigInvalid, errs.ClassUser, config.SavepointDir.Key(), "no directory is named for the savepoint; set the option, or name one")
		}
		dir = k.store.SavepointDir(base, epoch)
	}
	k.sweepOnce(ctx) // before a task writes: the files of one attempt that failed are there at most
	k.store.Begin(epoch)
	return dir, nil
}

// Reserve implements jobmanager.Checkpoints.
func (k *kept) Reserve(ctx context.Context, through ids.Epoch) error {
	return k.store.Reserve(ctx, through)
}

// Publish implements jobmanager.Checkpoints.
func (k *kept) Publish(ctx context.Context, c jobmanager.Collected) (jobmanager.Published, error) {
	d := &storage.Draft{Epoch: c.Epoch, Purpose: c.Purpose, Target: c.Target, Plan: k.plan.Fingerprint, Finished: c.Finished, Parts: parts(c.Parts)}
	for _, v := range k.plan.Job.Vertices {
		for _, op := range v.Operators {
			d.Operators = append(d.Operators, storage.Operator{Name: stateName(op.Node), Vertex: v.ID, Parallelism: v.Parallelism})
		}
	}
	for _, s := range c.Sources {
		d.Blobs = append(d.Blobs, storage.OperatorBlob{Operator: k.sourceName(s.Vertex, s.Op), Blob: snapshot.Blob{Name: enumeratorBlob, Subtask: -1, Data: s.State}})
	}
	size, err := k.store.WriteManifest(ctx, d)
	if err != nil {
		return jobmanager.Published{}, err
	}
	where := c.Target
	if where == "" {
		where = path.Join(cmp.Or(k.at.dir, "memory"), storage.ManifestName(storage.JobDir(k.plan.Job.Name), c.Epoch))
	}
	return jobmanager.Published{Path: where, Size: size}, nil
}

// enumeratorBlob is the name of an enumerator's state among the blobs of its source.
const enumeratorBlob = "weir.enumerator"

func parts(in []jobmanager.TaskPart) (out []storage.TaskPart) {
	for _, p := range in {
		out = append(out, storage.TaskPart{Task: p.Task, Part: p.Part})
	}
	return out
}

func (k *keeper) sourceName(v ids.VertexID, op int32) string {
	return stateName(k.plan.Job.Vertices[v].Operators[op].Node)
}

// sweepOnce deletes what earlier deployments have left, when the present one takes its first checkpoint: that rows flow again
// does not wait for it.
func (k *kept) sweepOnce(ctx context.Context) {
	if k.sweep == 0 {
		return
	}
	if err := k.store.Sweep(ctx, k.sweep, k.alive...); err != nil {
		k.tell("what earlier deployments have left could not be deleted", err)
	}
	k.sweep = 0
}

// Discard implements jobmanager.Checkpoints.
func (k *kept) Discard(ctx context.Context, c jobmanager.Collected) error {
	return k.store.Discard(ctx, c.Epoch, c.Target, parts(c.Parts))
}

// Forget implements jobmanager.Checkpoints.
func (k *kept) Forget(ctx context.Context, epoch ids.Epoch) error { return k.store.Forget(ctx, epoch) }

// Restore implements jobmanager.Checkpoints.
func (k *kept) Restore(ctx context.Context, epoch ids.Epoch, g ids.Generation, alive []ids.Generation, damaged map[ids.Epoch]error) (jobmanager.Restored, error) {
	if err := k.store.Leads(ctx); err != nil {
		return jobmanager.Restored{}, err
	}
	r, err := k.restore(ctx, epoch, g, alive, damaged)
	if err != nil { // another leader may have deleted it meanwhile
		if lost := k.store.Leads(ctx); errs.CodeOf(lost) == errs.CodeFenced {
			err = lost
		}
	}
	return r, err
}

func (k *kept) restore(ctx context.Context, epoch ids.Epoch, g ids.Generation, alive []ids.Generation, damaged map[ids.Epoch]error) (jobmanager.Restored, error) {
	k.sweep, k.alive = g, alive
	var ref storage.Ref
	var err error
	if epoch > 0 {
		ref, epoch, err = k.store.Restorable(ctx, epoch, damaged)
	} else {
		ref, err = k.given(ctx)
	}
	if err != nil || ref.IsZero() {
		return jobmanager.Restored{}, err
	}
	snap, err := storage.Load(ctx, k.at.store, k.at.places, ref)
	if err != nil {
		return jobmanager.Restored{}, err
	}
	if err := k.plans(ctx, snap.Manifest); err != nil {
		return jobmanager.Restored{}, err
	}
	if epoch == 0 && !k.claimed && k.plan.Config.Get(config.RestoreMode) == "CLAIM" {
		if err := k.store.Claim(ctx, ref); err != nil {
			return jobmanager.Restored{}, err
		}
		k.claimed = true
	}
	out := jobmanager.Restored{Epoch: epoch, Tasks: rpc.Restore{Dir: ref.Dir, Manifest: ref.Manifest}}
	for i := range snap.Operators {
		if s, ok := k.sourceOf(&snap.Operators[i]); ok {
			out.Sources = append(out.Sources, s)
		}
	}
	return out, nil
}

// given is the savepoint that the job is started from, if one is named.
func (k *kept) given(ctx context.Context) (storage.Ref, error) {
	name := k.plan.Config.Get(config.RestorePath)
	if name == "" {
		return storage.Ref{}, nil
	}
	refuse := func(err error) (storage.Ref, error) {
		return storage.Ref{}, errs.Wrap(err, errs.CodeOf(err), errs.ClassUser, config.RestorePath.Key()+" "+name, "the job cannot be started from it")
	}
	ref, err := storage.Resolve(ctx, k.at.places, name)
	if err != nil {
		return refuse(err)
	}
	snap, err := storage.Load(ctx, k.at.store, k.at.places, ref)
	if err == nil {
		err = snap.Check(ctx)
	}
	if err != nil {
		return refuse(err)
	}
	return ref, nil
}

// plans refuses what the job cannot go on from. What operators open does not change while a process lives, so that only its
// first restore is planned.
func (k *kept) plans(ctx context.Context, m *snapshot.Manifest) error {
	if k.planned {
		return nil
	}
	p, err := k.plan.PlanRestore(ctx, k.world, m)
	if err != nil {
		return err
	}
	if err := p.Refused(); err != nil {
		return err
	}
	k.planned = true
	for _, d := range p.Dropped() {
		k.world.Log.Warn("state is dropped, because the job does not have its operator", "dropped", d)
	}
	return nil
}

// sourceOf is what the master needs of an operator of a checkpoint, if that is a source of the plan.
func (k *kept) sourceOf(o *snapshot.Operator) (out jobmanager.SourceRestore, ok bool) {
	for _, v := range k.plan.Job.Vertices {
		if n := v.Head(); n.Source && stateName(n) == o.Name {
			out.Vertex, ok = v.ID, true
		}
	}
	if !ok {
		return out, false
	}
	ok = false
	for _, b := range o.Blobs {
		if b.Name == enumeratorBlob && b.Subtask < 0 {
			out.State, ok = append([]byte{}, b.Data...), true
		}
	}
	out.Parallelism = o.Parallelism
	for _, p := range o.Positions {
		if !p.Done {
			out.Splits = append(out.Splits, jobmanager.PlacedSplit{Split: rpc.Split{ID: p.Split, State: p.Data}, Subtask: p.Subtask})
		}
	}
	return out, ok
}

// End implements jobmanager.Checkpoints.
func (k *kept) End(ctx context.Context, phase string) error {
	e := storage.End{Outcome: phase, Final: phase == "finished", Keep: phase != "finished"}
	if phase == "canceled" && k.plan.Config.Get(config.CheckpointRetention) == "DELETE_ON_CANCELLATION" {
		e.Final, e.Keep = true, false
	}
	return k.store.End(ctx, e)
}
