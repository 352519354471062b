package taskstore

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/task"
)

const (
	uploadsDefault = 2
	objectDefault  = 16 << 20
	// epochsMax bounds the epochs that a task remembers without hearing of their fate.
	epochsMax = 64
	// triesMost bounds how often an object is written before the task declines.
	triesMost  = 4
	retryFirst = 20 * time.Millisecond
)

// Config is what an Uploader needs.
type Config struct {
	// Store is that of the job's checkpoints, Places opens the directories of savepoints.
	Store  objstore.Store
	Places storage.Places
	Clock  clock.Clock
	// JobName, Term and Generation name what is written.
	JobName    string
	Term       ids.Term
	Generation ids.Generation
	// Uploads bounds the uploads at a time; 0 is 2.
	Uploads int
	// Incremental lists objects again in which nothing has changed, and writes only what has.
	Incremental bool
	// Compression is what is tried on keyed state.
	Compression snapshot.Compression
	// ObjectBytes is from which size on keyed state goes on in another object; 0 is 16 MiB. Each upload holds two in memory.
	ObjectBytes int64
	// Tell takes what should be in the log; it must not block. nil tells nobody.
	Tell func(text string, err error)
}

// Uploader writes the snapshots of the tasks of one deployment. All methods may be called from any goroutine.
type Uploader struct {
	cfg    Config
	dir    string
	life   context.Context
	cancel context.CancelFunc
	slots  chan struct{} // one for each upload at a time
	all    sync.WaitGroup

	mu      sync.Mutex
	targets map[ids.Epoch]*target
}

// target is the directory of a savepoint, which may become known after the first snapshot for it.
type target struct {
	known chan struct{}
	dir   string
}

// NewUploader returns the uploader of a deployment.
func NewUploader(cfg Config) *Uploader {
	if cfg.Uploads <= 0 {
		cfg.Uploads = uploadsDefault
	}
	if cfg.ObjectBytes <= 0 {
		cfg.ObjectBytes = objectDefault
	}
	if cfg.Tell == nil {
		cfg.Tell = func(string, error) {}
	}
	u := &Uploader{cfg: cfg, dir: storage.JobDir(cfg.JobName) + "/", slots: make(chan struct{}, cfg.Uploads), targets: map[ids.Epoch]*target{}}
	u.life, u.cancel = context.WithCancel(context.Background())
	return u
}

// Target says where the savepoint of an epoch is written. Its uploads wait for that.
func (u *Uploader) Target(epoch ids.Epoch, dir string) {
	t := u.target(epoch)
	u.mu.Lock()
	defer u.mu.Unlock()
	if t.dir == "" && dir != "" {
		t.dir = dir
		close(t.known)
	}
}

func (u *Uploader) target(epoch ids.Epoch) *target {
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.targets[epoch]
	if t == nil {
		for e := range u.targets { // of long ago
			if e+epochsMax < epoch {
				delete(u.targets, e)
			}
		}
		t = &target{known: make(chan struct{})}
		u.targets[epoch] = t
	}
	return t
}

// Close ends all uploads and waits for them. What they have written so far is garbage for the next deployment's sweep.
func (u *Uploader) Close() {
	u.cancel()
	u.all.Wait()
}

// Task is the uploads of one task.
type Task struct {
	u      *Uploader
	id     ids.TaskID
	ops    []string
	groups keygroup.Range

	mu     sync.Mutex
	epochs map[ids.Epoch]*upload
	flying map[*upload]struct{} // what became of them is still to be told
	last   chan struct{}        // closed when the checkpoint before is uploaded: those of a task follow one another

	chains []chain
	// planned counts the uploads under way: they count on what was complete when they began, and settled cuts hear of that
	// when they have ended.
	planned int
	settled []statebackend.Changing
}

// upload is what is known of one epoch.
type upload struct {
	cancel  context.CancelFunc
	store   objstore.Store
	written []string // full names in store; of the upload's goroutine until done is closed
	done    chan struct{}
	told    chan struct{} // closed when whoever asked for it has been told
	full    bool          // a savepoint, which later checkpoints do not settle
	chains  []link        // what a later epoch may build upon, once this one is complete
}

// Task returns the uploads of a task whose chain has operators of these names, head first.
func (u *Uploader) Task(id ids.TaskID, parallelism int, ops []string) *Task {
	t := &Task{u: u, id: id, ops: ops, groups: keygroup.RangeOf(int(id.Subtask), parallelism), epochs: map[ids.Epoch]*upload{}, flying: map[*upload]struct{}{},
		last: make(chan struct{}), chains: make([]chain, len(ops))}
	close(t.last)
	return t
}

// Upload takes over a snapshot, writes it and calls done once, on another goroutine: with the task's part when it is durable,
// or with the error for which the task declines; that of an epoch that was given up is of class canceled.
func (t *Task) Upload(s *task.Snapshot, done func(storage.Stored, error)) {
	epoch := ids.Epoch(s.Barrier.Epoch)
	ctx, cancel := context.WithCancel(t.u.life)
	up := &upload{cancel: cancel, done: make(chan struct{}), told: make(chan struct{}), full: full(s.Barrier)}
	t.mu.Lock()
	for e := range t.epochs {
		if e+epochsMax < epoch {
			delete(t.epochs, e)
		}
	}
	t.epochs[epoch] = up
	t.flying[up] = struct{}{}
	before := t.last
	if !full(s.Barrier) { // a savepoint, which may wait for its directory, holds nobody up
		t.last = up.done
	}
	t.mu.Unlock()
	t.u.all.Go(func() {
		defer cancel()
		stored, err := t.run(ctx, up, before, s)
		s.Release()
		close(up.done)
		if ctx.Err() != nil && err != nil {
			err = errs.Canceled
		}
		done(stored, err)
		t.mu.Lock()
		delete(t.flying, up)
		t.mu.Unlock()
		close(up.told)
	})
}

// Told returns when it has been told of every upload what became of it, or when ctx ends. A task that has left says so only then:
// who is gone without having told has no part of an epoch, as far as anybody knows.
func (t *Task) Told(ctx context.Context) {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.flying))
	t.mu.Unlock()
	for _, up := range all {
		select {
		case <-up.told:
		case <-ctx.Done():
			return
		}
	}
}

// run waits for the task's turn and the uploader's, and uploads.
func (t *Task) run(ctx context.Context, up *upload, before chan struct{}, s *task.Snapshot) (storage.Stored, error) {
	place, err := t.place(ctx, s.Barrier)
	if !full(s.Barrier) {
		<-before // it ends by itself
	}
	if err != nil {
		return storage.Stored{}, err
	}
	select {
	case t.u.slots <- struct{}{}:
	case <-ctx.Done():
		return storage.Stored{}, ctx.Err()
	}
	defer func() { <-t.u.slots }()
	up.store = place.store
	w := &writing{t: t, ctx: ctx, up: up, place: place, s: s}
	t.plans(1)
	defer t.plans(-1)
	start := t.u.cfg.Clock.Now()
	stored, err := w.all()
	stored.Took = t.u.cfg.Clock.Since(start)
	if err != nil {
		t.remove(t.u.life, up)
	}
	return stored, err
}

// place is where an epoch's objects go.
type place struct {
	store  objstore.Store
	prefix string // before the names of objects
	full   bool   // a savepoint: nothing of others is listed
}

// full reports whether a snapshot is a savepoint, or ends as one.
func full(b event.Barrier) bool {
	return b.Purpose == event.PurposeSavepoint || b.Purpose == event.PurposeStop
}

func (t *Task) place(ctx context.Context, b event.Barrier) (place, error) {
	if !full(b) {
		return place{store: t.u.cfg.Store, prefix: t.u.dir}, nil
	}
	at := t.u.target(ids.Epoch(b.Epoch))
	select {
	case <-at.known:
	case <-ctx.Done():
		return place{}, ctx.Err()
	}
	if t.u.cfg.Places == nil {
		return place{}, errs.New(errs.CodeConfigInvalid, errs.ClassUser, "savepoint "+at.dir, "this job has no access to directories")
	}
	store, err := t.u.cfg.Places(at.dir)
	return place{store: store, full: true}, err
}

// Completed says that an epoch is complete, and with it every checkpoint before is settled.
func (t *Task) Completed(epoch ids.Epoch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	up := t.epochs[epoch]
	for e, before := range t.epochs { // a savepoint settles nothing but itself
		if e == epoch || e < epoch && !before.full && (up == nil || !up.full) {
			delete(t.epochs, e)
		}
	}
	if up == nil {
		return
	}
	select {
	case <-up.done:
	default:
		return // it cannot be: a part that was not reported is in no manifest
	}
	for i := range up.chains {
		if !up.chains[i].written {
			continue
		}
		t.settled = append(t.settled, up.chains[i].cuts...)
		up.chains[i].cuts = nil
		t.chains[i].complete = up.chains[i]
	}
	t.settle()
}

// settle tells cuts that their checkpoint is complete, so that the state forgets what changed before. The caller holds mu.
func (t *Task) settle() {
	if t.planned > 0 {
		return
	}
	for _, c := range t.settled {
		c.Complete()
	}
	t.settled = nil
}

// plans marks the time in which an upload asks for changes since the complete epoch.
func (t *Task) plans(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.planned += n
	t.settle()
}

// Whole says that what complete epochs have written is lost: the next one does not build upon it.
func (t *Task) Whole() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.chains {
		t.chains[i].complete = link{}
	}
}

// GivenUp says that an epoch will never be complete: its upload ends, and its files go.
func (t *Task) GivenUp(epoch ids.Epoch) {
	t.mu.Lock()
	up := t.epochs[epoch]
	delete(t.epochs, epoch)
	t.mu.Unlock()
	if up == nil {
		return
	}
	up.cancel()
	t.u.all.Go(func() {
		<-up.done
		t.remove(t.u.life, up)
	})
}

// remove deletes what an upload has written. What stays is swept later.
func (t *Task) remove(ctx context.Context, up *upload) {
	for _, name := range up.written {
		if err := up.store.Delete(ctx, name); err != nil && ctx.Err() == nil {
			t.u.cfg.Tell("an object of a checkpoint that was given up stays", err)
		}
	}
	up.written = nil
}
