package storage

import (
	"context"
	"fmt"
	"path"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
)

// lookMost bounds the objects of complete epochs that are looked for when another one lists them again.
const lookMost = 8

// place is where the job's directory is, for messages.
func (j *Job) place() string { return path.Join(j.cfg.Dir, j.dir) }

// checkFound refuses to go on when the run has completed checkpoints and none can be read: beginning from nothing would repeat
// what sinks have committed, and nobody would know. A manifest of a later version is refused in any case: nothing is wrong
// with it, and the program that wrote it can go on from it.
func (j *Job) checkFound(ctx context.Context, through ids.Epoch, found []checkpoint.Completion) error {
	var unread ids.Epoch
	for e, k := range j.manifests {
		if k.earlier || k.unknown == nil {
			continue
		}
		if errs.CodeOf(k.unknown) == snapshot.CodeVersion {
			return errs.Wrap(k.unknown, snapshot.CodeVersion, errs.ClassFailJob, "job "+j.cfg.Name, "the manifest %s cannot be read", j.manifestPath(e))
		}
		unread = max(unread, e)
	}
	newest := ids.Epoch(0)
	if n := len(found); n > 0 {
		newest = found[n-1].Epoch
	}
	switch {
	case unread > newest && newest > 0:
		j.cfg.Tell(fmt.Sprintf("CHECKPOINT %d CANNOT BE RESTORED; going on from the older one of epoch %d: what sinks have committed since comes again", unread, newest), j.manifests[unread].unknown)
		return nil
	case unread > 0 && newest == 0:
		return errs.Wrap(j.manifests[unread].unknown, errs.CodeCorrupt, errs.ClassFailJob, "job "+j.cfg.Name,
			"the manifest %s cannot be read, and there is no other checkpoint: bring it back, or delete the directory %s to begin from nothing", j.manifestPath(unread), j.place())
	}
	last, err := j.highest(ctx, completedDir)
	if err == nil && newest == 0 && ids.Epoch(last) > through {
		return errs.New(errs.CodeGone, errs.ClassFailJob, "job "+j.cfg.Name,
			"it has completed checkpoint %d, and later ones perhaps, and none is in %s any more: bring them back, or delete the directory %s to begin from nothing", last, path.Join(j.place(), manifestsDir), j.place())
	}
	return err
}

func (j *Job) manifestPath(e ids.Epoch) string {
	return path.Join(j.cfg.Dir, ManifestName(path.Base(j.dir), e))
}

// markCompleted writes that the run has completed a checkpoint, once a term, so that a later leader does not take a directory whose
// manifests were deleted for one that never had any.
func (j *Job) markCompleted(ctx context.Context, epoch ids.Epoch) {
	if j.marked {
		return
	}
	name := j.dir + completedDir + padded(uint64(epoch))
	_, err := j.store.Put(ctx, name, objstore.Bytes(j.record(leader{Term: j.term, Epoch: epoch})))
	if err == nil {
		j.marked = true
		err = j.deleteBelow(ctx, completedDir, uint64(epoch))
	}
	if err != nil && ctx.Err() == nil {
		j.cfg.Tell("that a checkpoint was completed could not be noted", err)
	}
}

// standing returns an error of errs.CodeFenced if there is another leader, and of errs.CodeGone, after it has written what makes a
// leader again, if the job's directory was emptied under this one.
func (j *Job) standing(ctx context.Context) error {
	last, err := j.highest(ctx, termsDir)
	switch {
	case err != nil || ids.Term(last) == j.term:
		return err
	case ids.Term(last) > j.term:
		return j.fenced("term %d is newer than this leader's %d", last, j.term)
	case last > 0:
		return j.fenced("the directory was emptied, and term %d has begun in it since", last)
	}
	return j.begin(ctx)
}

// begin makes the leader of a directory that was emptied its leader again.
func (j *Job) begin(ctx context.Context) error {
	mine, err := j.claim(ctx, j.dir+termsDir+padded(uint64(j.term)), j.record(leader{Term: j.term}))
	if err == nil && !mine {
		return j.fenced("term %d is another's", j.term)
	}
	if err == nil && j.holds {
		err = j.Reserve(ctx, j.reserved)
	}
	there, listErr := j.numbers(ctx, manifestsDir)
	if err == nil {
		err = listErr
	}
	if err != nil {
		return err
	}
	have := map[ids.Epoch]bool{}
	for _, n := range there {
		have[ids.Epoch(n)] = true
	}
	last := j.found
	for e := range j.manifests {
		last = max(last, e)
		if !have[e] {
			delete(j.manifests, e)
		}
	}
	if j.marked = false; last > 0 {
		j.markCompleted(ctx, last) // a later leader must not begin from nothing
	}
	return j.gone(errs.New(errs.CodeGone, errs.ClassFailTask, "job "+j.cfg.Name, "its directory %s was deleted or emptied while it runs", j.place()))
}

// gone tells that what complete checkpoints list is lost, and returns why.
func (j *Job) gone(why error) error {
	j.suspect = true
	j.cfg.Tell("THE CHECKPOINTS OF THIS JOB ARE GONE; until the next one is complete there is nothing to go on from", why)
	return why
}

// lookAround looks for some of the objects of complete epochs that are listed again, other ones each time; for all of them if
// one was missing lately.
func (j *Job) lookAround(ctx context.Context, again []*snapshot.Object) error {
	step := max(1, (len(again)+lookMost-1)/lookMost)
	if j.suspect {
		step = 1
	}
	j.looked++
	for i := j.looked % step; i < len(again); i += step {
		err := j.look(ctx, again[i])
		switch {
		case objstore.Is(err, objstore.CodeNotFound) || errs.CodeOf(err) == errs.CodeCorrupt:
			return j.gone(errs.Wrap(err, errs.CodeGone, errs.ClassFailTask, "job "+j.cfg.Name, "the object %s of complete checkpoints was deleted or changed", path.Join(j.place(), again[i].Name)))
		case err != nil:
			return errs.Wrap(err, errs.CodeOf(err), errs.ClassFailTask, "checkpoint", "the object %s is listed again", again[i].Name)
		}
	}
	return nil
}
