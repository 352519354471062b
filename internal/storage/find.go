package storage

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/snapshot"
)

// Ref names a manifest. The zero Ref is none.
type Ref struct {
	// Dir is the directory of the store that holds it; "" is the job's own (execution.checkpointing.dir).
	Dir string
	// Manifest is the name of the manifest's object in that store.
	Manifest string
}

// CodeSeveral is the code of a failure: a directory has checkpoints of several jobs.
const CodeSeveral errs.Code = "checkpoint.several-jobs"

// IsSavepoint reports whether the Ref names a savepoint's manifest.
func IsSavepoint(r Ref) bool { return r.Manifest == savepointManifest }

// EpochOf returns the epoch that a manifest's name tells, 0 for that of a savepoint.
func EpochOf(r Ref) ids.Epoch {
	n, _ := unpad(path.Base(r.Manifest))
	return ids.Epoch(n)
}

// IsZero reports whether the Ref names nothing.
func (r Ref) IsZero() bool { return r.Manifest == "" }

// String is how messages name it.
func (r Ref) String() string { return path.Join(r.Dir, r.Manifest) }

// Snapshot is a checkpoint or savepoint that was found: its manifest, and where its objects lie.
type Snapshot struct {
	Ref Ref
	*snapshot.Manifest
	store objstore.Store
	place string // what the names of objects are relative to, with its slash
}

// Load reads the manifest that ref names. own is the job's store, for a Ref without Dir.
func Load(ctx context.Context, own objstore.Store, places Places, ref Ref) (*Snapshot, error) {
	store := own
	if ref.Dir != "" {
		var err error
		if store, err = open(places, ref.Dir); err != nil {
			return nil, err
		}
	}
	b, err := objstore.ReadAll(ctx, store, ref.Manifest, snapshot.ManifestBytesMax+100)
	if err != nil {
		return nil, err
	}
	m, err := snapshot.DecodeManifest(b)
	if err != nil {
		return nil, errs.Wrap(err, "", 0, "snapshot", "%v", ref)
	}
	s := &Snapshot{Ref: ref, Manifest: m, store: store, place: placeOf(ref.Manifest)}
	if m.Place != "" {
		if s.store, err = open(places, m.Place); err != nil {
			return nil, err
		}
		s.place = ""
	}
	return s, nil
}

func open(places Places, dir string) (objstore.Store, error) {
	if places == nil {
		return nil, errs.New(errs.CodeConfigInvalid, errs.ClassUser, "directory "+dir, "this job has no access to directories")
	}
	return places(dir)
}

// Object returns the store and the name in it of an object of the manifest.
func (s *Snapshot) Object(name string) (objstore.Store, string) { return s.store, s.place + name }

// Check returns an error unless every object is there with its size. Nothing of a job starts before.
func (s *Snapshot) Check(ctx context.Context) error {
	err := s.Verify(func(name string) (int64, error) {
		info, err := s.store.Stat(ctx, s.place+name)
		return info.Size, err
	})
	if err != nil && s.Place != "" {
		return errs.Wrap(err, "", 0, "savepoint "+s.Place, "the job was stopped with it and cannot go on from an older state")
	}
	return err
}

// Resolve finds what a user's path names: the directory of a savepoint, that of a job (its newest checkpoint), the directory
// of checkpoints if only one job has any, or a manifest.
func Resolve(ctx context.Context, places Places, dir string) (Ref, error) {
	dir = strings.TrimRight(dir, "/")
	if base := path.Base(dir); base == savepointManifest {
		return exact(ctx, places, path.Dir(dir), base)
	} else if parent := path.Dir(dir); path.Base(parent) == strings.TrimSuffix(manifestsDir, "/") {
		return exact(ctx, places, path.Dir(parent), manifestsDir+base)
	}
	store, err := open(places, dir)
	if err != nil {
		return Ref{}, err
	}
	names, err := manifestsIn(ctx, store)
	if err != nil && !objstore.Is(err, objstore.CodeNotFound) {
		return Ref{}, err
	}
	if len(names) == 0 {
		return Ref{}, errs.New(objstore.CodeNotFound, errs.ClassUser, "snapshot "+dir,
			"no checkpoint or savepoint is there: name the directory of a savepoint or of a job, or a manifest")
	}
	if slices.Contains(names, savepointManifest) {
		return Ref{Dir: dir, Manifest: savepointManifest}, nil
	}
	newest := names[len(names)-1]
	if placeOf(names[0]) != placeOf(newest) {
		return Ref{}, errs.New(CodeSeveral, errs.ClassUser, "snapshot "+dir,
			"several jobs have checkpoints there, %s and %s: name the directory of one", placeOf(names[0]), placeOf(newest))
	}
	return Ref{Dir: dir, Manifest: newest}, nil
}

// Own finds what a job of that name goes on from by itself, whatever it is told to be started from: the newest checkpoint in its
// directory, unless the run of it has come to its end. The zero Ref is none. Nothing is written.
func Own(ctx context.Context, clk clock.Clock, places Places, dir, job string) (Ref, error) {
	store, err := open(places, dir)
	if err != nil {
		return Ref{}, err
	}
	j := &Job{cfg: Config{Store: store, Clock: clk, Name: job, Tell: func(string, error) {}}, store: store, dir: JobDir(job) + "/"}
	_, through, err := j.lastEnd(ctx)
	if err != nil {
		return Ref{}, err
	}
	newest, err := j.highest(ctx, manifestsDir)
	if err != nil || ids.Epoch(newest) <= through {
		return Ref{}, err
	}
	return Ref{Dir: dir, Manifest: ManifestName(JobDir(job), ids.Epoch(newest))}, nil
}

// Find lists the manifests in a directory: of a savepoint, or of jobs, whose checkpoints rise.
func Find(ctx context.Context, places Places, dir string) ([]Ref, error) {
	store, err := open(places, dir)
	if err != nil {
		return nil, err
	}
	names, err := manifestsIn(ctx, store)
	var out []Ref
	for _, name := range names {
		out = append(out, Ref{Dir: dir, Manifest: name})
	}
	return out, err
}

func exact(ctx context.Context, places Places, dir, name string) (Ref, error) {
	store, err := open(places, dir)
	if err == nil {
		_, err = store.Stat(ctx, name)
	}
	return Ref{Dir: dir, Manifest: name}, err
}

// manifestsIn lists the manifests in a store, those of a job rising.
func manifestsIn(ctx context.Context, store objstore.Store) ([]string, error) {
	if _, err := store.Stat(ctx, savepointManifest); err == nil {
		return []string{savepointManifest}, nil
	} else if !objstore.Is(err, objstore.CodeNotFound) {
		return nil, err
	}
	var out []string
	for info, err := range store.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		place := placeOf(info.Name)
		rest, ok := strings.CutPrefix(strings.TrimPrefix(info.Name, place), manifestsDir)
		if _, isNumber := unpad(rest); ok && isNumber {
			out = append(out, info.Name)
		}
	}
	return out, nil
}

// Restorable returns the manifest to restore from: that of epoch, if all its objects are there, or else, loudly, the newest
// one before it that is whole. After a stop there is no other. It also returns the epoch of what it has found.
// damaged are epochs that tasks could not load, and why.
func (j *Job) Restorable(ctx context.Context, epoch ids.Epoch, damaged map[ids.Epoch]error) (Ref, ids.Epoch, error) {
	var first error
	for at := epoch; ; {
		ref := Ref{Manifest: ManifestName(path.Base(j.dir), at)}
		var s *Snapshot
		err := damaged[at]
		if err == nil {
			err = j.retry(ctx, func() (err error) {
				if planted.Is(planted.DamageUnseen) {
					return nil
				}
				if s, err = Load(ctx, j.store, j.cfg.Places, ref); err == nil {
					err = s.Check(ctx)
				}
				return err
			})
		}
		if err == nil {
			return ref, at, nil
		}
		if first == nil {
			first = err
		}
		owned := j.manifests[at] != nil && j.manifests[at].owned
		if errs.ClassOf(err) == errs.ClassRetry || ctx.Err() != nil || owned {
			return Ref{}, 0, err
		}
		before := j.before(at)
		if before == 0 {
			return Ref{}, 0, errs.Wrap(first, errs.CodeOf(first), errs.ClassFailJob, "job "+j.cfg.Name, "no checkpoint of it can be restored, and it does not begin from nothing by itself: "+
				"bring back what is missing or damaged, start from a savepoint with another execution.checkpointing.dir, or delete the directory %s to begin from nothing", j.place())
		}
		j.cfg.Tell(fmt.Sprintf("CHECKPOINT %d CANNOT BE RESTORED; trying the older one of epoch %d: what sinks have committed since comes again", at, before), err)
		at = before
	}
}

// before returns the newest epoch of this run before epoch that has a manifest, 0 if there is none.
func (j *Job) before(epoch ids.Epoch) (out ids.Epoch) {
	for e, k := range j.manifests {
		if e < epoch && !k.earlier && k.unknown == nil {
			out = max(out, e)
		}
	}
	return out
}
