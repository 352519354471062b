package taskstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/memory"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/storage/taskstore"
	"github.com/weir-stream/weir/internal/task"
	"github.com/weir-stream/weir/internal/testkit/seeds"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// table is the obvious keyed state: a map that remembers what changed at which mark.
type table struct {
	state snapshot.State
	now   uint64
	units map[string]*unit
}

type unit struct {
	hash          uint64
	key, ns, user []byte
	value         []byte
	list          [][]byte
	gone          bool
	changed       uint64
}

func newTable(name string, kind snapshot.Kind) *table {
	return &table{state: snapshot.State{Name: name, Kind: kind, NamespaceWidth: -1}, units: map[string]*unit{}, now: 1}
}

func (b *table) unit(key, ns, user []byte) *unit {
	id := fmt.Sprintf("%x/%x/%x", key, ns, user)
	u := b.units[id]
	if u == nil {
		u = &unit{hash: xxh3.Hash(key), key: key, ns: ns, user: user, gone: true}
		b.units[id] = u
	}
	b.now++
	u.changed = b.now
	return u
}

func (b *table) put(key, ns, user, value []byte) {
	u := b.unit(key, ns, user)
	if u.gone {
		u.list = nil
	}
	u.gone, u.value = false, value
	u.list = append(u.list, value)
}

func (b *table) remove(key, ns, user []byte) { b.unit(key, ns, user).gone = true }

// frozen is a deep enough copy: units are copied, their bytes never change.
type frozen struct {
	table
	forgets bool
}

func (b *table) cut() *frozen {
	f := &frozen{table: table{state: b.state, now: b.now, units: map[string]*unit{}}}
	for id, u := range b.units {
		c := *u
		c.list = slices.Clone(u.list)
		f.units[id] = &c
	}
	return f
}

func (f *frozen) sorted() []*unit {
	var out []*unit
	for _, id := range slices.Sorted(maps.Keys(f.units)) {
		out = append(out, f.units[id])
	}
	return out
}

// Each implements statebackend.Frozen.
func (f *frozen) Each(groups keygroup.Range, visit statebackend.Visit) {
	for _, u := range f.sorted() {
		if u.gone || !groups.ContainsHash(u.hash) {
			continue
		}
		values := [][]byte{u.value}
		if f.state.Kind == snapshot.KindList {
			values = u.list
		}
		for _, v := range values {
			if !visit(statebackend.Key{Hash: u.hash, Bytes: u.key}, u.ns, u.user, v) {
				return
			}
		}
	}
}

// Release implements statebackend.Frozen.
func (f *frozen) Release() {}

// Mark implements statebackend.Changing.
func (f *frozen) Mark() uint64 { return f.now }

// Complete implements statebackend.Changing.
func (f *frozen) Complete() {}

// Changes implements statebackend.Changing.
func (f *frozen) Changes(since uint64, groups keygroup.Range, visit statebackend.VisitChange) bool {
	if f.forgets {
		return false
	}
	for _, u := range f.sorted() {
		if u.changed <= since || !groups.ContainsHash(u.hash) {
			continue
		}
		k := statebackend.Key{Hash: u.hash, Bytes: u.key}
		if (u.gone || f.state.Kind == snapshot.KindList) && !visit(k, u.ns, u.user, nil, true) {
			return true
		}
		values := [][]byte{u.value}
		if f.state.Kind == snapshot.KindList {
			values = u.list
		}
		for _, v := range values {
			if !u.gone && !visit(k, u.ns, u.user, v, false) {
				return true
			}
		}
	}
	return true
}

// job is an operator "op" of several subtasks whose state is one table a kind, all in one place.
type job struct {
	t      testing.TB
	store  objstore.Store
	places storage.Places
	master *storage.Job
	p      int
	tables []*table
	incr   bool
	// objectBytes is how large an object of keyed state becomes; 0 is the default.
	objectBytes int64
	gen         ids.Generation
	up          *taskstore.Uploader
	tasks       []*taskstore.Task
	clock       clock.Clock
	extra       func(s *task.Snapshot, subtask int)
}

func newJob(t testing.TB, store objstore.Store, p int, incremental bool) *job {
	j := &job{t: t, store: store, places: storage.LocalPlaces(fs.NewMem(nil), "m"), clock: clock.Real{}, p: p, incr: incremental,
		tables: []*table{newTable("v", snapshot.KindValue), newTable("m", snapshot.KindMap), newTable("l", snapshot.KindList)}}
	var err error
	j.master, _, err = storage.Open(ctx, storage.Config{Store: store, Places: j.places, Clock: j.clock, Name: "job", ID: ids.JobID{1}, Writer: "m"})
	must(t, err)
	must(t, j.master.Reserve(ctx, 1000))
	j.deploy(p)
	return j
}

// deploy begins a new generation.
func (j *job) deploy(p int) {
	if j.up != nil {
		j.up.Close()
	}
	j.gen++
	j.p, j.tasks = p, nil
	j.up = taskstore.NewUploader(taskstore.Config{Store: j.store, Places: j.places, Clock: j.clock, JobName: "job", Term: j.master.Term(),
		Generation: j.gen, Incremental: j.incr, Compression: snapshot.Compression(j.gen % 3), ObjectBytes: j.objectBytes})
	for i := range p {
		j.tasks = append(j.tasks, j.up.Task(ids.TaskID{Vertex: 1, Subtask: int32(i)}, p, []string{"op"}))
	}
}

// snapshots starts the uploads of an epoch; the result waits for them.
func (j *job) snapshots(epoch ids.Epoch, purpose event.Purpose) func() (*storage.Draft, int64, error) {
	d := &storage.Draft{Epoch: epoch, Purpose: purpose, Operators: []storage.Operator{{Name: "op", Vertex: 1, Parallelism: j.p}}}
	j.master.Begin(epoch)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	var written int64
	for i, tk := range j.tasks {
		s := &task.Snapshot{Barrier: event.Barrier{Epoch: uint64(epoch), Purpose: purpose}}
		cut := &operator.Cut{Watermark: int64(1000 + i)}
		for _, b := range j.tables {
			cut.Parts = append(cut.Parts, statebackend.Part{State: b.state, Data: b.cut()})
		}
		s.Ops = []task.OpSnapshot{{Cut: cut}}
		if j.extra != nil {
			j.extra(s, i)
		}
		wg.Add(1)
		tk.Upload(s, func(got storage.Stored, err error) {
			mu.Lock()
			defer mu.Unlock()
			defer wg.Done()
			if err != nil {
				first = err
				return
			}
			written += got.Written
			d.Parts = append(d.Parts, storage.TaskPart{Task: ids.TaskID{Vertex: 1, Subtask: int32(i)}, Part: got.Part})
		})
	}
	return func() (*storage.Draft, int64, error) { wg.Wait(); return d, written, first }
}

// checkpoint takes a complete checkpoint and returns the bytes that it wrote.
func (j *job) checkpoint(epoch ids.Epoch) int64 {
	j.t.Helper()
	d, written, err := j.snapshots(epoch, event.PurposeCheckpoint)()
	must(j.t, err)
	_, err = j.master.WriteManifest(ctx, d)
	must(j.t, err)
	for _, tk := range j.tasks {
		tk.Completed(epoch)
	}
	return written
}

func (j *job) ref(epoch ids.Epoch) storage.Ref {
	return storage.Ref{Manifest: storage.ManifestName("job", epoch)}
}

// contents is what the tables hold, as text.
func (j *job) contents() string {
	var out []string
	for _, b := range j.tables {
		b.cut().Each(keygroup.All(), func(k statebackend.Key, ns, user, value []byte) bool {
			out = append(out, line(b.state.Name, k.Bytes, ns, user, value))
			return true
		})
	}
	return sortedText(out)
}

func line(state string, key, ns, user, value []byte) string {
	return fmt.Sprintf("%s %x %x %x=%x", state, key, ns, user, value)
}

// sortedText sorts lines by all but the value, so that elements of lists stay in their order.
func sortedText(lines []string) string {
	slices.SortStableFunc(lines, func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	})
	return strings.Join(lines, "\n")
}

// restored reads a snapshot at a parallelism, and returns what its subtasks get, as contents does.
func (j *job) restored(ref storage.Ref, p int) string {
	j.t.Helper()
	src, err := taskstore.Open(ctx, j.store, j.places, ref)
	must(j.t, err)
	return j.restoredOp(src, "op", p)
}

func (j *job) restoredOp(src *taskstore.Source, op string, p int) string {
	j.t.Helper()
	var out []string
	for i := range p {
		r, err := src.Op(op, true, i, p)
		must(j.t, err)
		groups := keygroup.RangeOf(i, p)
		sinks := map[string]transfer.Sink{}
		take := func(name string) transfer.Sink {
			return func(e *snapshot.Entry) error {
				if !groups.Contains(e.Group()) || e.Removed {
					j.t.Fatalf("subtask %d of %d is given an entry of group %d (removed: %v)", i, p, e.Group(), e.Removed)
				}
				out = append(out, line(name, e.Key, e.Namespace, e.UserKey, e.Value))
				return nil
			}
		}
		sinks["v"] = take("v") // the others are unopened
		must(j.t, r.Load(groups, sinks, func(s *snapshot.State) (transfer.Sink, error) { return take(s.Name), nil }))
		if len(sinks) != 1 {
			j.t.Fatal("the caller's sinks have changed")
		}
	}
	return sortedText(out)
}

// change does random things to the tables.
func (j *job) change(r *rand.Rand, n int) {
	for range n {
		key := binary.BigEndian.AppendUint64(nil, uint64(r.IntN(500)))
		ns := bytes.Repeat([]byte{7}, r.IntN(2))
		b := j.tables[r.IntN(3)]
		var user []byte
		if b.state.Kind == snapshot.KindMap {
			user = binary.AppendUvarint(nil, uint64(r.IntN(5)))
		}
		if r.IntN(4) == 0 {
			b.remove(key, ns, user)
		} else {
			b.put(key, ns, user, bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(40)))
		}
	}
}

// The law: whatever changed between checkpoints, and whether they are written whole or as changes, each is restored at any
// parallelism as the state was when it was cut.
func TestCheckpointsRestore(t *testing.T) {
	seeds.Run(t, 8, func(t *testing.T, r *rand.Rand) {
		j := newJob(t, memory.New(), 1+r.IntN(4), r.IntN(4) > 0)
		if r.IntN(2) == 0 {
			j.objectBytes = 100 + r.Int64N(3000)
			j.deploy(j.p)
		}
		defer func() { j.up.Close() }()
		epoch, last, failed := ids.Epoch(0), ids.Epoch(0), ids.Epoch(0)
		for range 12 {
			j.change(r, r.IntN(3)*r.IntN(300))
			epoch++
			switch r.IntN(5) {
			case 0: // one that fails, when some or all tasks have acked
				wait := j.snapshots(epoch, event.PurposeCheckpoint)
				if r.IntN(2) == 0 {
					for _, tk := range j.tasks {
						tk.GivenUp(epoch)
					}
					d, _, _ := wait()
					must(t, j.master.Discard(ctx, epoch, "", d.Parts))
				} else {
					d, _, err := wait()
					must(t, err)
					for _, tk := range j.tasks {
						tk.GivenUp(epoch)
					}
					must(t, j.master.Discard(ctx, epoch, "", d.Parts))
				}
				failed = epoch
				continue
			case 1: // a restart
				if last > 0 {
					j.deploy(1 + r.IntN(5))
					must(t, j.master.Sweep(ctx, j.gen))
				}
			}
			j.checkpoint(epoch)
			if last > 0 {
				must(t, j.master.Forget(ctx, last))
			}
			last = epoch
			for _, p := range []int{1, 3, 7} {
				if got, want := j.restored(j.ref(epoch), p), j.contents(); got != want {
					t.Fatalf("epoch %d at %d:\n%s\nwant\n%s", epoch, p, got, want)
				}
			}
		}
		if last == 0 {
			return
		}
		// Nothing is there but what the last manifest lists, and perhaps what the last failed epoch left.
		j.up.Close()
		listed := map[string]bool{}
		s, err := storage.Load(ctx, j.store, nil, j.ref(last))
		must(t, err)
		for _, o := range s.Objects {
			listed["job/"+o.Name] = true
		}
		for info, err := range j.store.List(ctx, "job/data/") {
			must(t, err)
			n, ok := storage.ParseDataName(strings.TrimPrefix(info.Name, "job/"))
			if !listed[info.Name] && (!ok || n.Epoch != failed) {
				t.Errorf("%s is left over", info.Name)
			}
		}
	})
}

func TestNothingChangedNothingWritten(t *testing.T) {
	j := newJob(t, memory.New(), 2, true)
	defer j.up.Close()
	j.change(rand.New(rand.NewPCG(1, 1)), 2000)
	full := j.checkpoint(1)
	if n := j.checkpoint(2); n != 0 {
		t.Errorf("%d bytes written although nothing has changed", n)
	}
	must(t, j.master.Forget(ctx, 1))
	j.change(rand.New(rand.NewPCG(2, 1)), 20)
	if n := j.checkpoint(3); n == 0 || n > full/10 {
		t.Errorf("%d bytes written for 20 changes, %d for all", n, full)
	}
	if got, want := j.restored(j.ref(3), 3), j.contents(); got != want {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
}

// A savepoint holds everything, in its directory, which can be moved.
func TestSavepoint(t *testing.T) {
	j := newJob(t, memory.New(), 2, true)
	defer j.up.Close()
	j.change(rand.New(rand.NewPCG(1, 1)), 500)
	j.checkpoint(1)
	dir := j.master.SavepointDir("file:///save", 2)
	wait := j.snapshots(2, event.PurposeSavepoint)
	j.up.Target(2, dir) // after the barrier
	d, _, err := wait()
	must(t, err)
	d.Target = dir
	_, err = j.master.WriteManifest(ctx, d)
	must(t, err)
	from, err := j.places(dir)
	must(t, err)
	to, err := j.places("/elsewhere")
	must(t, err)
	for info, err := range from.List(ctx, "") {
		must(t, err)
		b, err := objstore.ReadAll(ctx, from, info.Name, info.Size)
		must(t, err)
		_, err = to.Put(ctx, info.Name, objstore.Bytes(b))
		must(t, err)
		must(t, from.Delete(ctx, info.Name))
	}
	ref, err := storage.Resolve(ctx, j.places, "/elsewhere/")
	must(t, err)
	if got, want := j.restored(ref, 5), j.contents(); got != want {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
}

func TestBlobsRowsPositions(t *testing.T) {
	j := newJob(t, memory.New(), 3, true)
	defer j.up.Close()
	j.extra = func(s *task.Snapshot, i int) {
		cut := s.Ops[0].Cut
		cut.Blob("list", i, []byte{byte(i)})
		cut.Blob("list", i, bytes.Repeat([]byte{byte(i)}, 10_000))
		cut.Blob("list", i, bytes.Repeat([]byte{byte(i + 10)}, 20_000))
		cut.Positions = []snapshot.Position{{Split: fmt.Sprint("s", i), Subtask: i, Data: []byte{9}}}
		s.Inflight = []task.Inflight{{Gate: 0, Channel: 1, Batches: [][]byte{{1, byte(i)}, {2, byte(i)}}}, {Gate: 1, Channel: 4, Batches: [][]byte{{3}}}}
	}
	j.checkpoint(1)
	src, err := taskstore.Open(ctx, j.store, j.places, j.ref(1))
	must(t, err)
	r, err := src.Op("op", true, 0, 2)
	must(t, err)
	var lengths []int
	for i, b := range r.Restored.Union("list") {
		lengths = append(lengths, len(b))
		if want := byte(i/3 + i%3/2*10); b[0] != want || b[len(b)-1] != want {
			t.Errorf("blob %d holds %d", i, b[0])
		}
	}
	if fmt.Sprint(lengths) != "[1 10000 20000 1 10000 20000 1 10000 20000]" || r.Restored.Watermark != 1000 || len(r.Restored.Positions) != 3 {
		t.Errorf("blobs of %v bytes, watermark %d, %d positions", lengths, r.Restored.Watermark, len(r.Restored.Positions))
	}
	// At another parallelism every subtask sees all, at the same one its own.
	if got := rowsText(r.Inflight); got != "0:[[1 0] [2 0]] 1:[[3]] 0:[[1 1] [2 1]] 1:[[3]] 0:[[1 2] [2 2]] 1:[[3]]" {
		t.Error(got)
	}
	r, err = src.Op("op", true, 2, 3)
	must(t, err)
	if got := rowsText(r.Inflight); got != "0:[[1 2] [2 2]] 1:[[3]]" {
		t.Error(got)
	}
	if r, err := src.Op("op", false, 0, 2); err != nil || r.Inflight != nil {
		t.Error(r.Inflight, err)
	}
	if r, err := src.Op("new", true, 0, 2); err != nil || r != nil {
		t.Error(r, err)
	}
}

func rowsText(in []task.Inflight) string {
	var out []string
	for _, r := range in {
		out = append(out, fmt.Sprint(r.Gate, ":", r.Batches))
	}
	return strings.Join(out, " ")
}

// A store that is slow, full or away for a moment: the upload is repeated, or the task declines and nothing stays.
func TestFaults(t *testing.T) {
	for what, c := range map[string]struct {
		fault func() objstore.Fault
		times int
		want  errs.Code
	}{
		"two answers lost": {objstore.LostAnswer, 2, ""},
		"one 503":          {objstore.Unavailable, 1, ""},
		"503 for ever":     {objstore.Unavailable, 1 << 30, objstore.CodeUnavailable},
		"full":             {objstore.NoSpace, 1 << 30, objstore.CodeNoSpace},
		"torn, then whole": {func() objstore.Fault { return objstore.Fault{Torn: 1} }, 1, ""},
		"torn for ever":    {func() objstore.Fault { return objstore.Fault{Torn: 100} }, 1 << 30, objstore.CodeUnavailable},
		"lost for ever":    {objstore.LostAnswer, 1 << 30, objstore.CodeUnavailable},
		"nothing is wrong": {nil, 0, ""},
	} {
		for _, objectBytes := range []int64{0, 2000} {
			t.Run(fmt.Sprint(what, objectBytes), func(t *testing.T) {
				t.Parallel()
				left, on := c.times, false
				var mu sync.Mutex
				inner := memory.New()
				store := objstore.NewFaulty(inner, func(op objstore.Op) objstore.Fault {
					mu.Lock()
					defer mu.Unlock()
					if !on || left == 0 || op.Kind != objstore.OpPut {
						return objstore.Fault{}
					}
					left--
					return c.fault()
				})
				j := newJob(t, store, 1, true)
				if j.objectBytes = objectBytes; objectBytes > 0 {
					j.deploy(1)
				}
				defer func() { j.up.Close() }()
				j.change(rand.New(rand.NewPCG(1, 1)), 500)
				on = true
				d, _, err := j.snapshots(1, event.PurposeCheckpoint)()
				if errs.CodeOf(err) != c.want {
					t.Fatalf("got %v, want %s", err, c.want)
				}
				if err != nil {
					for info := range inner.List(ctx, "job/data/") {
						t.Errorf("%s is left over", info.Name)
					}
					return
				}
				_, err = j.master.WriteManifest(ctx, d)
				must(t, err)
				if got, want := j.restored(j.ref(1), 2), j.contents(); got != want {
					t.Error("not what was cut")
				}
				s, err := storage.Load(ctx, j.store, nil, j.ref(1))
				must(t, err)
				if n := len(s.Objects); (n > 3) != (objectBytes > 0) {
					t.Errorf("%d objects", n)
				}
			})
		}
	}
}

// A savepoint whose directory is not known yet, or never will be, holds no checkpoint up, of whatever task.
func TestSavepointWaits(t *testing.T) {
	j := newJob(t, memory.New(), 3, true)
	defer j.up.Close()
	j.change(rand.New(rand.NewPCG(1, 1)), 500)
	never := j.snapshots(1, event.PurposeSavepoint)
	j.checkpoint(2)
	if n := j.checkpoint(3); n != 0 {
		t.Errorf("%d bytes written although nothing has changed", n)
	}
	for _, tk := range j.tasks {
		tk.GivenUp(1)
	}
	if _, _, err := never(); !errs.IsCanceled(err) {
		t.Errorf("given up: %v", err)
	}
	must(t, j.master.Discard(ctx, 1, "", nil))
}
