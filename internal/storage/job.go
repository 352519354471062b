package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
)

const (
	retryFirst = 10 * time.Millisecond
	retryMost  = time.Second
	// triesCertain bounds the tries of what is known not to have happened.
	triesCertain = 5
	recordMax    = 64 << 10
)

// Config is what a Job needs.
type Config struct {
	// Store is the one that Dir names.
	Store objstore.Store
	// Dir is the store's directory, as it is named to workers and in messages; "" in memory.
	Dir string
	// Places opens other directories: of savepoints. Without it there are none.
	Places Places
	Clock  clock.Clock
	// Name is the job's, ID that of this run.
	Name string
	ID   ids.JobID
	// Writer is unique to this process among all that ever write there.
	Writer string
	// Retain is how many complete checkpoints are kept; a claimed savepoint goes when there are so many newer ones. 0 is 1.
	Retain int
	// Tell takes what an operator of the cluster should read in the log; it must not block. nil tells nobody.
	Tell func(text string, err error)
}

// Job is the directory of one job, in the hands of the leader of one term.
type Job struct {
	cfg   Config
	store objstore.Store
	dir   string // with its slash
	term  ids.Term

	reserved  ids.Epoch
	found     ids.Epoch           // the newest manifest when the term began
	holds     bool                // this term has reserved epochs
	manifests map[ids.Epoch]*kept // all that are there, also those of earlier runs
	pending   map[ids.Epoch]int64 // epochs that have begun, and when by seq
	condemned []condemned         // what is deleted once no pending epoch may list it
	seq       int64
	claims    []claim

	marked  bool // this term has written that it has completed a checkpoint
	suspect bool // an object that a manifest lists was found missing, and none has been complete since
	looked  int  // turns the objects that are looked for
}

// kept is a manifest that is there.
type kept struct {
	objects []string // below dir
	unknown error    // why it cannot be read; nobody knows what it lists then
	earlier bool     // of a run that has ended
	owned   bool     // a stop's copy: the objects lie elsewhere, and belong to the user
}

type condemned struct {
	objects []string
	at      int64
}

// Found is what a leader finds.
type Found struct {
	Term     ids.Term
	Reserved ids.Epoch
	// Completed are the complete epochs of this run, rising.
	Completed []checkpoint.Completion
	// Ended is how the last run ended, nil if it has not: its leader is gone, and the job goes on from the newest of Completed.
	Ended *End
}

// End says how a run of a job ended.
type End struct {
	// Outcome is a word for people: finished, stopped, canceled, failed.
	Outcome string `json:"outcome"`
	// Final says that the same job, started again, begins from nothing. Without it, it goes on from its newest checkpoint.
	Final bool `json:"final"`
	// Keep leaves the checkpoints where they are, for a restore by name.
	Keep bool `json:"keep"`

	Through ids.Epoch `json:"through"`
	Term    ids.Term  `json:"term"`
}

// leader is the content of a term or reservation; no two writers write the same.
type leader struct {
	Term  ids.Term  `json:"term"`
	Epoch ids.Epoch `json:"epoch,omitempty"`
	// Found, in a reservation, is the newest manifest that the term has found. One of an older term above it has come late:
	// nobody counts on it.
	Found  ids.Epoch `json:"found,omitempty"`
	Writer string    `json:"writer"`
	Job    string    `json:"job"`
}

// Open makes the caller the leader of the job's next term, and then looks for what is there: in this order, so that an older
// leader writes nothing after the look that could be taken for the newest. It repeats what fails for the moment until ctx ends.
func Open(ctx context.Context, cfg Config) (*Job, *Found, error) {
	if cfg.Tell == nil {
		cfg.Tell = func(string, error) {}
	}
	cfg.Retain = max(cfg.Retain, 1)
	j := &Job{cfg: cfg, store: cfg.Store, dir: JobDir(cfg.Name) + "/", manifests: map[ids.Epoch]*kept{}, pending: map[ids.Epoch]int64{}}
	if err := j.campaign(ctx); err != nil {
		return nil, nil, err
	}
	f := &Found{Term: j.term}
	last, err := j.highest(ctx, epochsDir)
	if err != nil {
		return nil, nil, err
	}
	j.reserved = ids.Epoch(last)
	var before leader
	if last > 0 {
		b, err := j.read(ctx, j.dir+epochsDir+padded(last), recordMax)
		if err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(b, &before); err != nil {
			return nil, nil, errs.New(errs.CodeCorrupt, errs.ClassFailJob, "job "+cfg.Name, "the reservation %s is damaged", j.dir+epochsDir+padded(last))
		}
	}
	var through ids.Epoch // of the runs whose manifests count no more
	if f.Ended, through, err = j.lastEnd(ctx); err != nil {
		return nil, nil, err
	}
	if f.Completed, err = j.findManifests(ctx, through, before); err != nil {
		return nil, nil, err
	}
	if n := len(f.Completed); n > 0 { // a reservation cannot be lost, but a directory may be copied in part
		j.reserved = max(j.reserved, f.Completed[n-1].Epoch)
	}
	f.Reserved = j.reserved
	if err := j.readClaims(ctx); err != nil {
		return nil, nil, err
	}
	if err := j.checkFound(ctx, through, f.Completed); err != nil {
		return nil, nil, err
	}
	if f.Ended != nil && f.Ended.Final && !f.Ended.Keep {
		err = j.forgetEarlier(ctx) // the run before may not have come to it
	}
	return j, f, err
}

// Term is the leader's.
func (j *Job) Term() ids.Term { return j.term }

// campaign claims the term above the highest.
func (j *Job) campaign(ctx context.Context) error {
	for {
		last, err := j.highest(ctx, termsDir)
		if err != nil {
			return err
		}
		term := ids.Term(last + 1)
		mine, err := j.claim(ctx, j.dir+termsDir+padded(uint64(term)), j.record(leader{Term: term}))
		if err != nil {
			return err
		}
		if !mine {
			continue
		}
		// A leader of a higher term may have deleted the name that was just claimed.
		j.term = term
		switch err := j.current(ctx); {
		case objstore.Is(err, errs.CodeFenced):
			continue
		case err != nil:
			return err
		}
		return j.deleteBelow(ctx, termsDir, uint64(term))
	}
}

func (j *Job) record(l leader) []byte {
	l.Writer, l.Job = j.cfg.Writer, j.cfg.ID.String()
	b, _ := json.Marshal(l)
	return append(b, '\n')
}

// Leads returns an error of errs.CodeFenced if another master leads the job: then what is missing here was deleted by right.
func (j *Job) Leads(ctx context.Context) error { return j.current(ctx) }

// current returns an error of errs.CodeFenced if there is a newer term.
func (j *Job) current(ctx context.Context) error {
	last, err := j.highest(ctx, termsDir)
	if err == nil && ids.Term(last) > j.term {
		err = j.fenced("term %d is newer than this leader's %d", last, j.term)
	}
	return err
}

func (j *Job) fenced(format string, args ...any) error {
	return errs.New(errs.CodeFenced, errs.ClassFailJob, "job "+j.cfg.Name, "another master leads it: "+format, args...)
}

// Reserve makes the epochs up to through this term's. An error of errs.CodeFenced says that they are another's; after an error
// of ctx nobody knows yet.
func (j *Job) Reserve(ctx context.Context, through ids.Epoch) error {
	mine, err := j.claim(ctx, j.dir+epochsDir+padded(uint64(through)), j.record(leader{Term: j.term, Epoch: through, Found: j.found}))
	if err != nil {
		return err
	}
	if !mine {
		return j.fenced("epoch %d is reserved", through)
	}
	if err := j.current(ctx); err != nil { // a newer leader may have deleted the name since
		return err
	}
	j.reserved, j.holds = max(j.reserved, through), true
	if err := j.deleteBelow(ctx, epochsDir, uint64(through)); err != nil {
		j.cfg.Tell("an old reservation of epochs stays", err)
	}
	return nil
}

// End writes that the run is over, and deletes its checkpoints unless they are kept. Tasks and uploads have ended.
func (j *Job) End(ctx context.Context, e End) error {
	if err := j.current(ctx); err != nil {
		return err
	}
	e.Through, e.Term = j.reserved, j.term
	b, err := json.Marshal(e)
	if err != nil {
		return errs.Wrap(err, errs.CodeBug, errs.ClassBug, "job "+j.cfg.Name, "encoding its end")
	}
	err = j.retry(ctx, func() error {
		_, err := j.store.Put(ctx, j.dir+endedDir+padded(uint64(e.Through)), objstore.Bytes(append(b, '\n')))
		return err
	})
	if err == nil && e.Final {
		err = errors.Join(j.deleteBelow(ctx, endedDir, uint64(e.Through)), j.deleteBelow(ctx, completedDir, uint64(e.Through)+1))
	}
	if err != nil || e.Keep {
		return err
	}
	for _, k := range j.manifests {
		k.earlier = true
	}
	if err := errors.Join(j.forgetEarlier(ctx), j.forgetLate(ctx)); err != nil {
		return err
	}
	return j.deleteData(ctx, func(DataName) bool { return true })
}

// lastEnd returns how the last run ended, and the highest epoch of the runs that do not count.
func (j *Job) lastEnd(ctx context.Context) (*End, ids.Epoch, error) {
	names, err := j.numbers(ctx, endedDir)
	if err != nil || len(names) == 0 {
		return nil, 0, err
	}
	var last *End
	var through ids.Epoch
	for _, n := range names {
		e := &End{}
		b, err := j.read(ctx, j.dir+endedDir+padded(n), recordMax)
		if err != nil {
			return nil, 0, err
		}
		if err := json.Unmarshal(b, e); err != nil || uint64(e.Through) != n {
			return nil, 0, errs.New(errs.CodeCorrupt, errs.ClassFailJob, "job "+j.cfg.Name, "the mark %s of its end is damaged", j.dir+endedDir+padded(n))
		}
		if last = e; e.Final {
			through = e.Through
		}
	}
	if last.Through < j.reserved { // a later run has begun, and not ended
		last = nil
	}
	return last, through, nil
}

// findManifests reads all manifests, and returns the epochs above through that can be restored.
func (j *Job) findManifests(ctx context.Context, through ids.Epoch, before leader) ([]checkpoint.Completion, error) {
	names, err := j.numbers(ctx, manifestsDir)
	if err != nil {
		return nil, err
	}
	var out []checkpoint.Completion
	for _, n := range names {
		epoch := ids.Epoch(n)
		k := &kept{earlier: epoch <= through}
		j.manifests[epoch] = k
		m, err := j.readManifest(ctx, epoch)
		switch {
		case err != nil && (errs.CodeOf(err) == errs.CodeCorrupt || errs.CodeOf(err) == errs.CodeLimit || errs.CodeOf(err) == snapshot.CodeVersion):
			k.unknown = err
			j.cfg.Tell(fmt.Sprintf("the manifest of checkpoint %d cannot be read; nothing is deleted while it is there", epoch), err)
			continue
		case err != nil:
			return nil, err
		}
		if m.Term < before.Term && epoch > before.Found {
			delete(j.manifests, epoch) // it came late, and goes with the next sweep
			continue
		}
		j.found = max(j.found, epoch)
		k.list(m)
		if !k.earlier {
			out = append(out, checkpoint.Completion{Epoch: epoch, Owned: k.owned})
		}
	}
	return out, nil
}

func (k *kept) list(m *snapshot.Manifest) {
	if k.owned = m.Place != ""; k.owned {
		return
	}
	for i := range m.Objects {
		k.objects = append(k.objects, m.Objects[i].Name)
	}
}

func (j *Job) readManifest(ctx context.Context, epoch ids.Epoch) (*snapshot.Manifest, error) {
	b, err := j.read(ctx, j.dir+manifestsDir+padded(uint64(epoch)), snapshot.ManifestBytesMax+100)
	if err != nil {
		return nil, err
	}
	return snapshot.DecodeManifest(b)
}

// numbers lists the numbers that are names in a directory, rising.
func (j *Job) numbers(ctx context.Context, dir string) (out []uint64, err error) {
	err = j.retry(ctx, func() error {
		out = out[:0]
		for info, err := range j.store.List(ctx, j.dir+dir) {
			if err != nil {
				return err
			}
			if n, ok := unpad(strings.TrimPrefix(info.Name, j.dir+dir)); ok {
				out = append(out, n)
			}
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

func (j *Job) highest(ctx context.Context, dir string) (uint64, error) {
	all, err := j.numbers(ctx, dir)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return all[len(all)-1], nil
}

func (j *Job) deleteBelow(ctx context.Context, dir string, n uint64) error {
	all, err := j.numbers(ctx, dir)
	for _, old := range all {
		if err == nil && old < n {
			err = j.delete(ctx, j.store, j.dir+dir+padded(old))
		}
	}
	return err
}
