package storage

import (
	"context"
	"errors"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/planted"
)

// Forget takes the manifest of an epoch away, and then what only it lists. What may still be listed again by an epoch that
// has begun goes when that is settled. A leader that has lost its term deletes nothing and returns errs.CodeFenced.
func (j *Job) Forget(ctx context.Context, epoch ids.Epoch) error {
	k := j.manifests[epoch]
	if k == nil {
		return nil
	}
	if err := j.current(ctx); err != nil {
		return err
	}
	if err := j.delete(ctx, j.store, j.dir+manifestsDir+padded(uint64(epoch))); err != nil {
		return err
	}
	delete(j.manifests, epoch)
	j.seq++
	j.condemned = append(j.condemned, condemned{k.objects, j.seq})
	return j.execute(ctx)
}

// forgetEarlier takes the manifests of runs that have ended away.
func (j *Job) forgetEarlier(ctx context.Context) error {
	var problems []error
	for epoch, k := range j.manifests {
		if k.earlier {
			problems = append(problems, j.Forget(ctx, epoch))
		}
	}
	return errors.Join(problems...)
}

// settled notes that an epoch is complete or has failed, and deletes what waited for that.
func (j *Job) settled(ctx context.Context, epoch ids.Epoch) {
	delete(j.pending, epoch)
	if err := j.execute(ctx); err != nil {
		j.cfg.Tell("objects of forgotten checkpoints stay", err)
	}
}

// execute deletes what is condemned, unless an epoch that began before may list it, or a manifest does.
func (j *Job) execute(ctx context.Context) error {
	oldest := j.seq + 1
	for _, began := range j.pending {
		oldest = min(oldest, began)
	}
	marks, known := j.marks()
	if !known {
		return nil
	}
	var problems []error
	rest := j.condemned[:0]
	for _, c := range j.condemned {
		if c.at > oldest {
			rest = append(rest, c)
			continue
		}
		for _, name := range c.objects {
			if !marks[name] || planted.Is(planted.DeletedTooEarly) {
				problems = append(problems, j.delete(ctx, j.store, j.dir+name))
			}
		}
	}
	clear(j.condemned[len(rest):])
	j.condemned = rest
	return errors.Join(problems...)
}

// marks returns the objects that manifests list, and whether all manifests are known.
func (j *Job) marks() (map[string]bool, bool) {
	marks := map[string]bool{}
	for _, k := range j.manifests {
		if k.unknown != nil {
			return nil, false
		}
		for _, name := range k.objects {
			marks[name] = true
		}
	}
	return marks, true
}

// Sweep deletes what deployments before generation g of this term have left and no manifest lists: all their tasks have
// stopped, but those of the generations that live on, and no manifest is being written. What tasks of g and of these write stays. The term has reserved epochs, and with them it is
// written which manifests it has found.
func (j *Job) Sweep(ctx context.Context, g ids.Generation, alive ...ids.Generation) error {
	if !j.holds {
		return errs.New(errs.CodeBug, errs.ClassBug, "job "+j.cfg.Name, "a term sweeps before it has reserved epochs")
	}
	if err := j.current(ctx); err != nil {
		return err
	}
	if planted.Is(planted.ClaimDeletedEarly) {
		j.subsumeClaims(ctx)
	}
	err := j.forgetLate(ctx)
	if err == nil {
		err = j.deleteData(ctx, func(n DataName) bool { return n.deadBefore(j.term, g, alive) })
	}
	if s, ok := j.store.(interface {
		Sweep(ctx context.Context, dead func(writer string) bool) (int, error)
	}); ok {
		_, sweepErr := s.Sweep(ctx, func(writer string) bool { return deadWriter(writer, j.term, g, alive) })
		err = errors.Join(err, sweepErr)
	}
	return err
}

// forgetLate deletes the manifests that an older leader has written since this one looked: nobody has counted on them, and what
// they list may be gone.
func (j *Job) forgetLate(ctx context.Context) error {
	there, err := j.numbers(ctx, manifestsDir)
	for _, n := range there {
		if err == nil && j.manifests[ids.Epoch(n)] == nil {
			err = j.delete(ctx, j.store, j.dir+manifestsDir+padded(n))
		}
	}
	return err
}

// deleteData deletes the data objects that no manifest lists and old accepts.
func (j *Job) deleteData(ctx context.Context, old func(DataName) bool) error {
	marks, known := j.marks()
	if !known {
		j.cfg.Tell("nothing is swept: a manifest cannot be read, so what it lists is not known", nil)
		return nil
	}
	return j.deleteAll(ctx, j.store, j.dir+dataDir, func(name string) bool {
		name = strings.TrimPrefix(name, j.dir)
		n, ok := ParseDataName(name)
		return ok && (!marks[name] || planted.Is(planted.DeletedTooEarly)) && old(n)
	})
}

// deleteAll deletes the objects of a store whose names start with prefix and that garbage accepts.
func (j *Job) deleteAll(ctx context.Context, store objstore.Store, prefix string, garbage func(name string) bool) error {
	var names []string
	err := j.retry(ctx, func() error {
		names = names[:0]
		for info, err := range store.List(ctx, prefix) {
			if err != nil {
				return err
			}
			if garbage(info.Name) {
				names = append(names, info.Name)
			}
		}
		return nil
	})
	problems := []error{err}
	for _, name := range names {
		problems = append(problems, j.delete(ctx, store, name))
	}
	return errors.Join(problems...)
}
