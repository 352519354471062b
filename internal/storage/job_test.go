package storage_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/local"
	"github.com/weir-stream/weir/internal/objstore/memory"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a store of checkpoints and directories of savepoints.
type world struct {
	store  objstore.Store
	places storage.Places
	writer int
	told   []string
}

func newWorld(fault func(objstore.Op) objstore.Fault) *world {
	w := &world{store: memory.New()}
	if fault != nil {
		w.store = objstore.NewFaulty(w.store, fault)
	}
	w.places = storage.LocalPlaces(fs.NewMem(nil), "t")
	return w
}

func (w *world) config(name string) storage.Config {
	w.writer++
	return storage.Config{Store: w.store, Places: w.places, Clock: clock.NewVirtual(time.UnixMilli(1_700_000_000_000)), Name: name, ID: ids.JobID{1, byte(w.writer)},
		Writer: fmt.Sprint("w", w.writer), Tell: func(text string, err error) { w.told = append(w.told, fmt.Sprint(text, ": ", err)) }}
}

func (w *world) open(t testing.TB, name string) (*storage.Job, *storage.Found) {
	t.Helper()
	j, f, err := storage.Open(ctx, w.config(name))
	must(t, err)
	return j, f
}

var padding = regexp.MustCompile(`/0{10,}([0-9]+)`)

// names lists what is in the store.
func (w *world) names(t testing.TB) string {
	t.Helper()
	var out []string
	for info, err := range w.store.List(ctx, "") {
		must(t, err)
		out = append(out, padding.ReplaceAllString(info.Name, "/$1"))
	}
	return strings.Join(out, " ")
}

// put writes a data object as a task would.
func put(t testing.TB, store objstore.Store, dir string, n storage.DataName) snapshot.Object {
	t.Helper()
	w, err := store.Put(ctx, dir+n.String(), objstore.Bytes([]byte(n.String())))
	must(t, err)
	return snapshot.Object{Name: n.String(), Size: w.Size, CRC: w.CRC, To: 1, Entries: 1, RawBytes: 1}
}

func part(t testing.TB, subtask int, objects ...snapshot.Object) storage.TaskPart {
	t.Helper()
	p := storage.Part{Ops: []storage.OpPart{{Name: "count", KeyWidth: 8, Watermark: int64(100 + subtask), Objects: objects,
		States: []snapshot.State{{ID: 1, Name: "n", Kind: snapshot.KindValue, Width: 8}}}}}
	b, err := p.Encode()
	must(t, err)
	return storage.TaskPart{Task: ids.TaskID{Vertex: 1, Subtask: int32(subtask)}, Part: b}
}

func draft(epoch ids.Epoch, parts ...storage.TaskPart) *storage.Draft {
	return &storage.Draft{Epoch: epoch, Purpose: event.PurposeCheckpoint, Plan: "p", Parts: parts,
		Operators: []storage.Operator{{Name: "source", Parallelism: 1}, {Name: "count", Vertex: 1, Parallelism: 2}},
		Blobs:     []storage.OperatorBlob{{Operator: "source", Blob: snapshot.Blob{Name: "enumerator", Subtask: -1, Data: []byte("e")}}}}
}

func TestJobLife(t *testing.T) {
	w := newWorld(nil)
	j, f := w.open(t, "Orders")
	if f.Term != 1 || f.Reserved != 0 || f.Completed != nil || f.Ended != nil {
		t.Fatalf("found %+v", f)
	}
	must(t, j.Reserve(ctx, 64))
	object := func(epoch ids.Epoch, subtask int32) snapshot.Object {
		return put(t, w.store, "+orders/", storage.DataName{Term: 1, Generation: 1, Vertex: 1, Subtask: subtask, Epoch: epoch})
	}
	one, two := object(1, 0), object(1, 1)
	j.Begin(1)
	size, err := j.WriteManifest(ctx, draft(1, part(t, 1, two), part(t, 0, one)))
	must(t, err)
	s, err := storage.Load(ctx, w.store, nil, storage.Ref{Manifest: storage.ManifestName("+orders", 1)})
	must(t, err)
	if b, _ := s.Encode(); int64(len(b)) != size || fmt.Sprint(s.Operators[1].Watermarks) != "[100 101]" || s.JobName != "Orders" || s.Objects[1].Subtask != 1 {
		t.Errorf("%d bytes: %+v", size, s.Manifest)
	}
	must(t, s.Check(ctx))

	// The second lists an object of the first again, and replaces the other one.
	three := object(2, 1)
	j.Begin(2)
	_, err = j.WriteManifest(ctx, draft(2, part(t, 0, one), part(t, 1, three)))
	must(t, err)
	must(t, j.Forget(ctx, 1))
	const want = "+orders/completed/1 +orders/data/1-1/1-0-1-0 +orders/data/1-1/1-1-2-0 +orders/epochs/64 +orders/manifests/2 +orders/terms/1"
	if got := w.names(t); got != want {
		t.Errorf("after two checkpoints:\n%s\nwant\n%s", got, want)
	}

	// An epoch that fails, and one that only the task knows of.
	j.Begin(3)
	must(t, j.Discard(ctx, 3, "", []storage.TaskPart{part(t, 0, one, object(3, 0))}))
	if got := w.names(t); got != want {
		t.Errorf("after an epoch that failed:\n%s\nwant\n%s", got, want)
	}
	object(4, 1)

	// The next leader.
	j2, f2 := w.open(t, "Orders")
	if f2.Term != 2 || f2.Reserved != 64 || fmt.Sprint(f2.Completed) != "[{2 false}]" || f2.Ended != nil {
		t.Fatalf("found %+v", f2)
	}
	must(t, j2.Reserve(ctx, 128))
	must(t, j2.Sweep(ctx, 1))
	if got, want := w.names(t), strings.NewReplacer("terms/1", "terms/2", "epochs/64", "epochs/128").Replace(want); got != want {
		t.Errorf("after the second leader's sweep:\n%s\nwant\n%s", got, want)
	}
	ref, epoch, err := j2.Restorable(ctx, 2, nil)
	must(t, err)
	if epoch != 2 || ref.Manifest != storage.ManifestName("+orders", 2) {
		t.Error(ref, epoch)
	}

	// The first one is none any more.
	for what, err := range map[string]error{"reserve": j.Reserve(ctx, 128), "forget": j.Forget(ctx, 2), "sweep": j.Sweep(ctx, 9), "end": j.End(ctx, storage.End{}), "leads": j.Leads(ctx)} {
		if errs.CodeOf(err) != errs.CodeFenced {
			t.Errorf("%s by the old leader: %v", what, err)
		}
	}

	must(t, j2.End(ctx, storage.End{Outcome: "finished", Final: true}))
	if got := w.names(t); strings.Contains(got, "data/") || strings.Contains(got, "manifests/") || strings.Contains(got, "completed/") {
		t.Errorf("after the end: %s", got)
	}
	_, f3 := w.open(t, "Orders")
	if f3.Term != 3 || f3.Ended == nil || f3.Ended.Outcome != "finished" || f3.Completed != nil || f3.Reserved != 128 {
		t.Errorf("after the end: %+v", f3)
	}
}

func TestNames(t *testing.T) {
	names := map[string]string{"": "=", "Orders": "+orders", "orders": "orders", "a b/c": "a=20b=2fc", "..": "=2e.", "é": "=c3=a9",
		strings.Repeat("x", 61): strings.Repeat("x", 60) + ",5f5ade4ac3ab1ba7"}
	for name, want := range names {
		got := storage.JobDir(name)
		if len(name) == 61 {
			got, want = got[:61], want[:61]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		must(t, objstore.CheckName(got))
	}
	n := storage.DataName{Term: 3, Generation: 2, Vertex: 1, Subtask: 7, Epoch: 1 << 60, N: 4}
	if got, ok := storage.ParseDataName(n.String()); !ok || got != n {
		t.Error(n, got)
	}
	for _, bad := range []string{"", "data/1-1/1-1-1", "data/1-1/1-1-1-1-1", "data/01-1/1-1-1-1", "x/1-1/1-1-1-1"} {
		if n, ok := storage.ParseDataName(bad); ok {
			t.Error(bad, n)
		}
	}
}

// A name that the store cannot have, because a file stands where a directory must be, is certain: nobody is asked again, and
// the virtual clock, which stands still, would show it by a wait without end.
func TestClaimOfAnImpossibleName(t *testing.T) {
	w := newWorld(nil)
	disk := fs.NewMem(nil)
	f, err := disk.Create("/manifests")
	must(t, err)
	must(t, f.Close())
	w.store, err = local.New(disk, "/", "t")
	must(t, err)
	if _, err := w.store.PutIfAbsent(ctx, "manifests/1", objstore.Bytes(nil)); !objstore.Is(err, objstore.CodeName) {
		t.Fatalf("the store says %v", err)
	}
	if mine, err := storage.ClaimForTest(ctx, w.config("x"), w.store, "manifests/1", []byte("m")); mine || !objstore.Is(err, objstore.CodeName) {
		t.Errorf("mine %v, %v", mine, err)
	}
}
