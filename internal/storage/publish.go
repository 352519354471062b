package storage

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
)

// SavepointDir returns the directory of the savepoint of an epoch below target. No other savepoint has it.
func (j *Job) SavepointDir(target string, epoch ids.Epoch) string {
	id := j.cfg.ID.String()
	return path.Join(target, fmt.Sprintf("savepoint-%s-%s-%d-%d", path.Base(j.dir), id[:8], j.term, epoch))
}

// Begin says that an epoch was triggered. Until it is written or discarded, nothing that the manifests of now list is
// deleted, since tasks may list it again.
func (j *Job) Begin(epoch ids.Epoch) {
	j.seq++
	j.pending[epoch] = j.seq
}

// WriteManifest publishes an epoch, and returns the size of the manifest. It returns when the outcome is certain: nil, the
// manifest is durable; an error of errs.CodeFenced, another leader's has its name; any other error, it is not there and never
// will be. Only when ctx has ended nothing is known. With a newer leader about, the manifest may be there and the error of
// CodeFenced; then it is the other's to decide whether it counts.
func (j *Job) WriteManifest(ctx context.Context, d *Draft) (int64, error) {
	m, err := j.manifest(d)
	if err == nil {
		err = j.standing(ctx)
	}
	if err == nil {
		err = j.checkReused(ctx, d, m)
	}
	if err != nil {
		return 0, err
	}
	size := int64(0)
	if d.Target != "" {
		if size, err = j.publishSavepoint(ctx, d, m); err != nil || d.Purpose != event.PurposeStop {
			if err == nil {
				j.settled(ctx, d.Epoch)
			}
			return size, err
		}
		m.Place = d.Target
	}
	b, err := m.Encode()
	if err != nil {
		return 0, err
	}
	mine, err := j.claim(ctx, ManifestName(path.Base(j.dir), d.Epoch), b)
	switch {
	case err != nil:
		return 0, err
	case !mine:
		return 0, j.fenced("checkpoint %d is another's", d.Epoch)
	}
	// A leader of a newer term has either found the manifest, or will never count on it: it is not for this one to say that
	// the epoch is complete.
	if err := j.current(ctx); err != nil {
		return 0, err
	}
	k := &kept{}
	k.list(m)
	j.manifests[d.Epoch] = k
	j.suspect = false
	j.markCompleted(ctx, d.Epoch)
	j.settled(ctx, d.Epoch)
	j.subsumeClaims(ctx)
	return max(size, int64(len(b))), nil
}

func (j *Job) publishSavepoint(ctx context.Context, d *Draft, m *snapshot.Manifest) (int64, error) {
	b, err := m.Encode()
	if err != nil {
		return 0, err
	}
	if j.cfg.Places == nil {
		return 0, errs.New(errs.CodeConfigInvalid, errs.ClassUser, "savepoint "+d.Target, "this job has no access to directories")
	}
	store, err := j.cfg.Places(d.Target)
	if err != nil {
		return 0, err
	}
	mine, err := claimIn(ctx, j.cfg, store, savepointManifest, b)
	if err == nil && !mine {
		err = errs.New(objstore.CodeExists, errs.ClassFailTask, "savepoint "+d.Target, "another manifest is there already")
	}
	return int64(len(b)), err
}

// checkReused asks for the objects that earlier epochs have written: a part may list one that was deleted before the task
// heard of the epoch that does not need it any more.
func (j *Job) checkReused(ctx context.Context, d *Draft, m *snapshot.Manifest) error {
	marks, _ := j.marks()
	var again []*snapshot.Object // of complete epochs
	for i := range m.Objects {
		o := &m.Objects[i]
		n, ok := ParseDataName(o.Name)
		if ok && n.Epoch == d.Epoch && n.Term == j.term {
			continue
		}
		if marks[o.Name] && d.Target == "" {
			again = append(again, o)
			continue
		}
		if d.Target != "" {
			return errs.New(errs.CodeBug, errs.ClassBug, "savepoint "+d.Target, "lists the object %s of another checkpoint", o.Name)
		}
		if err := j.look(ctx, o); err != nil {
			return errs.Wrap(err, errs.CodeOf(err), errs.ClassFailTask, "checkpoint", "epoch %d lists the object %s again", d.Epoch, o.Name)
		}
	}
	return j.lookAround(ctx, again)
}

// look returns an error unless an object is there with its size.
func (j *Job) look(ctx context.Context, o *snapshot.Object) error {
	return j.retry(ctx, func() error {
		info, err := j.store.Stat(ctx, j.dir+o.Name)
		if err == nil && info.Size != o.Size {
			err = errs.New(errs.CodeCorrupt, errs.ClassFailTask, "checkpoint", "the object %s has %d bytes, not %d", o.Name, info.Size, o.Size)
		}
		return err
	})
}

// Discard deletes what the tasks have written for an epoch that failed; a manifest of it is certainly not there. parts are
// those that have been acked; the other tasks delete their own. target is that of a savepoint.
func (j *Job) Discard(ctx context.Context, epoch ids.Epoch, target string, parts []TaskPart) error {
	defer j.settled(ctx, epoch)
	if target != "" {
		return j.discardSavepoint(ctx, target)
	}
	var problems []error
	for _, tp := range parts {
		part, err := DecodePart(tp.Part)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for i := range part.Ops {
			for _, o := range part.Ops[i].Objects {
				if n, ok := ParseDataName(o.Name); ok && n.Epoch == epoch && n.Term == j.term {
					problems = append(problems, j.delete(ctx, j.store, j.dir+o.Name))
				}
			}
		}
	}
	return errors.Join(problems...)
}

func (j *Job) discardSavepoint(ctx context.Context, target string) error {
	if j.cfg.Places == nil {
		return nil
	}
	store, err := j.cfg.Places(target)
	if err != nil {
		return err
	}
	// That of a stop is there if only its copy with the job could not be written.
	if err := j.delete(ctx, store, savepointManifest); err != nil {
		return err
	}
	return j.deleteAll(ctx, store, dataDir, func(string) bool { return true })
}
