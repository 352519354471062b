package storage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
)

// take writes a complete checkpoint of two new objects.
func take(t testing.TB, w *world, j *storage.Job, dir string, epoch ids.Epoch) {
	t.Helper()
	j.Begin(epoch)
	name := storage.DataName{Term: j.Term(), Generation: 1, Vertex: 1, Epoch: epoch}
	other := name
	other.Subtask = 1
	_, err := j.WriteManifest(ctx, draft(epoch, part(t, 0, put(t, w.store, dir, name)), part(t, 1, put(t, w.store, dir, other))))
	must(t, err)
}

// save writes a savepoint, or a stop, and returns its directory.
func save(t testing.TB, w *world, j *storage.Job, epoch ids.Epoch, p event.Purpose) string {
	t.Helper()
	dir := j.SavepointDir("/save", epoch)
	store, err := w.places(dir)
	must(t, err)
	j.Begin(epoch)
	name := storage.DataName{Term: j.Term(), Generation: 1, Vertex: 1, Epoch: epoch}
	d := draft(epoch, part(t, 0, put(t, store, "", name)), part(t, 1))
	d.Purpose, d.Target = p, dir
	_, err = j.WriteManifest(ctx, d)
	must(t, err)
	return dir
}

func count(t testing.TB, w *world, dir string) (n int) {
	t.Helper()
	store, err := w.places(dir)
	must(t, err)
	for _, err := range store.List(ctx, "") {
		must(t, err)
		n++
	}
	return n
}

// A checkpoint with a missing object is passed over, loudly; with none that is whole there is nothing to go on from.
func TestFallsBack(t *testing.T) {
	w := newWorld(nil)
	j, _ := w.open(t, "job")
	must(t, j.Reserve(ctx, 9))
	take(t, w, j, "job/", 1)
	take(t, w, j, "job/", 2)
	take(t, w, j, "job/", 3)
	must(t, w.store.Delete(ctx, "job/data/1-1/1-0-3-0"))
	ref, epoch, err := j.Restorable(ctx, 3, nil)
	if err != nil || epoch != 2 || ref.Manifest != storage.ManifestName("job", 2) {
		t.Errorf("restores %v, %d: %v", ref, epoch, err)
	}
	if len(w.told) != 1 || !strings.Contains(w.told[0], "CHECKPOINT 3 CANNOT BE RESTORED") || !strings.Contains(w.told[0], "1-0-3-0") {
		t.Errorf("told %q", w.told)
	}
	must(t, w.store.Delete(ctx, "job/data/1-1/1-1-2-0"))
	_, err = w.store.Put(ctx, "job/data/1-1/1-1-1-0", objstore.Bytes([]byte("short")))
	must(t, err)
	if _, _, err := j.Restorable(ctx, 3, nil); errs.ClassOf(err) != errs.ClassFailJob || !strings.Contains(err.Error(), "1-0-3-0") {
		t.Errorf("nothing can be restored: %v", err)
	}
}

// A manifest that cannot be read is not counted, and nothing is deleted beside it.
func TestUnreadableManifest(t *testing.T) {
	w := newWorld(nil)
	j, _ := w.open(t, "job")
	must(t, j.Reserve(ctx, 9))
	take(t, w, j, "job/", 1)
	take(t, w, j, "job/", 2)
	_, err := w.store.Put(ctx, storage.ManifestName("job", 2), objstore.Bytes([]byte("WEIRMANIFEST 1 7 00000000\n")))
	must(t, err)
	j, f := w.open(t, "job")
	if fmt.Sprint(f.Completed) != "[{1 false}]" {
		t.Errorf("complete: %v", f.Completed)
	}
	before := w.names(t)
	must(t, j.Reserve(ctx, 20))
	must(t, j.Sweep(ctx, 1))
	must(t, j.Forget(ctx, 1))
	for _, object := range []string{"1-0-1-0", "1-1-1-0", "1-0-2-0", "1-1-2-0"} {
		if !strings.Contains(w.names(t), object) {
			t.Errorf("%s is gone; before:\n%s", object, before)
		}
	}
	if told := strings.Join(w.told, "\n"); !strings.Contains(told, "should have 7 bytes") || !strings.Contains(told, "CHECKPOINT 2 CANNOT BE RESTORED; going on from the older one of epoch 1") {
		t.Errorf("told %q", w.told)
	}
	take(t, w, j, "job/", 10)
	// The user takes it away: the next deployment sweeps.
	must(t, w.store.Delete(ctx, storage.ManifestName("job", 2)))
	j, _ = w.open(t, "job")
	must(t, j.Reserve(ctx, 30))
	must(t, j.Sweep(ctx, 1))
	if got := w.names(t); strings.Count(got, "data/") != 2 || !strings.Contains(got, "data/2-1/1-0-10-0") || !strings.Contains(got, "data/2-1/1-1-10-0") {
		t.Errorf("left over: %s", got)
	}
}

// A stop lies with the user, and the job goes on from it and from nothing older.
func TestStop(t *testing.T) {
	w := newWorld(nil)
	j, _ := w.open(t, "job")
	must(t, j.Reserve(ctx, 9))
	take(t, w, j, "job/", 1)
	dir := save(t, w, j, 2, event.PurposeStop)
	j, f := w.open(t, "job")
	if fmt.Sprint(f.Completed) != "[{1 false} {2 true}]" {
		t.Fatalf("complete: %v", f.Completed)
	}
	ref, epoch, err := j.Restorable(ctx, 2, nil)
	must(t, err)
	s, err := storage.Load(ctx, w.store, w.places, ref)
	must(t, err)
	if err := s.Check(ctx); err != nil || epoch != 2 || s.Place != dir || s.Purpose != snapshot.PurposeSavepoint {
		t.Errorf("epoch %d at %q: %v", epoch, s.Place, err)
	}
	store, err := w.places(dir)
	must(t, err)
	must(t, store.Delete(ctx, "data/1-1/1-0-2-0"))
	if _, _, err := j.Restorable(ctx, 2, nil); err == nil || !strings.Contains(err.Error(), "cannot go on from an older state") {
		t.Errorf("with the savepoint damaged: %v", err)
	}
	// The end of the job takes the copy, not the savepoint.
	must(t, j.Reserve(ctx, 20))
	must(t, j.End(ctx, storage.End{Outcome: "finished", Final: true}))
	if n := count(t, w, dir); n != 1 || strings.Contains(w.names(t), "manifests") {
		t.Errorf("%d files of the savepoint are left; %s", n, w.names(t))
	}
}

// What a job was restored from without a claim it never touches; what it claims it deletes when enough checkpoints follow, also
// if another leader completes them.
func TestClaims(t *testing.T) {
	for _, claimed := range []bool{false, true} {
		w := newWorld(nil)
		j, _ := w.open(t, "first")
		must(t, j.Reserve(ctx, 9))
		dir := save(t, w, j, 5, event.PurposeSavepoint)
		// Another job begins from it, with epochs below and above those of the first.
		cfg := w.config("second")
		cfg.Retain = 2
		second, _, err := storage.Open(ctx, cfg)
		must(t, err)
		must(t, second.Reserve(ctx, 4))
		ref, err := storage.Resolve(ctx, w.places, dir+"/")
		must(t, err)
		if claimed {
			must(t, second.Claim(ctx, ref))
		}
		must(t, second.Reserve(ctx, 30))
		take(t, w, second, "second/", 20)
		if n := count(t, w, dir); n != 2 {
			t.Errorf("claimed %v: %d files of the savepoint after one checkpoint", claimed, n)
		}
		cfg.Writer = "next"
		third, _, err := storage.Open(ctx, cfg)
		must(t, err)
		must(t, third.Reserve(ctx, 40))
		take(t, w, third, "second/", 31)
		want := 2
		if claimed {
			want = 0
		}
		if n := count(t, w, dir); n != want || strings.Contains(w.names(t), "claimed/") {
			t.Errorf("claimed %v: %d files of the savepoint after two checkpoints, want %d; %s", claimed, n, want, w.names(t))
		}
		must(t, third.Sweep(ctx, 1))
		must(t, third.End(ctx, storage.End{Outcome: "finished", Final: true}))
		if n := count(t, w, dir); n != want {
			t.Errorf("claimed %v: %d files of the savepoint after the end", claimed, n)
		}
	}
}

// A claimed checkpoint of another job goes without what its neighbours list.
func TestClaimedCheckpointSharesObjects(t *testing.T) {
	w := newWorld(nil)
	root, err := w.places("/ckpt")
	must(t, err)
	w.store = root
	j, _ := w.open(t, "first")
	must(t, j.Reserve(ctx, 9))
	take(t, w, j, "first/", 1)
	name := storage.DataName{Term: 1, Generation: 1, Vertex: 1, Epoch: 1}
	shared := snapshot.Object{Name: name.String(), Size: int64(len(name.String())), CRC: objstore.Checksum([]byte(name.String())), To: 1, Entries: 1, RawBytes: 1}
	_, err = j.WriteManifest(ctx, draft(2, part(t, 0, shared), part(t, 1)))
	must(t, err)
	second, _ := w.open(t, "second")
	ref, err := storage.Resolve(ctx, w.places, "/ckpt/first/manifests/00000000000000000001")
	must(t, err)
	must(t, second.Claim(ctx, ref))
	must(t, second.Reserve(ctx, 9))
	take(t, w, second, "second/", 1)
	if got := w.names(t); strings.Contains(got, "first/manifests/1 ") || strings.Contains(got, "first/data/1-1/1-1-1-0") || !strings.Contains(got, "first/data/1-1/1-0-1-0") {
		t.Errorf("left: %s", got)
	}
	if _, epoch, err := j.Restorable(ctx, 2, nil); err != nil || epoch != 2 {
		t.Errorf("the neighbour: %d, %v", epoch, err)
	}
}

// How a run ended decides what the next one finds.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		end   storage.End
		found string
		left  bool
	}{
		{storage.End{Outcome: "finished", Final: true}, "[]", false},
		{storage.End{Outcome: "stopped", Final: true, Keep: true}, "[]", true},
		{storage.End{Outcome: "canceled", Keep: true}, "[{1 false}]", true},
		{storage.End{Outcome: "failed", Keep: true}, "[{1 false}]", true},
		{storage.End{Outcome: "canceled", Final: true}, "[]", false},
	} {
		w := newWorld(nil)
		j, _ := w.open(t, "job")
		must(t, j.Reserve(ctx, 9))
		take(t, w, j, "job/", 1)
		must(t, j.End(ctx, c.end))
		j, f := w.open(t, "job")
		if fmt.Sprint(f.Completed) != c.found || f.Ended == nil || f.Ended.Outcome != c.end.Outcome || f.Ended.Through != 9 {
			t.Errorf("%+v: found %+v", c.end, f)
		}
		if got := strings.Contains(w.names(t), "data/"); got != c.left {
			t.Errorf("%+v: left %s", c.end, w.names(t))
		}
		// The next run has an end of its own.
		must(t, j.Reserve(ctx, 20))
		must(t, j.Sweep(ctx, 1))
		if got := strings.Contains(w.names(t), "data/"); got != c.left {
			t.Errorf("%+v: after a sweep %s", c.end, w.names(t))
		}
		take(t, w, j, "job/", 10)
		_, f = w.open(t, "job")
		if n := len(f.Completed); n == 0 || f.Completed[n-1].Epoch != 10 || f.Ended != nil {
			t.Errorf("%+v: then found %+v", c.end, f)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	w := newWorld(nil)
	for _, dir := range []string{"s3://bucket/a", "", "hdfs:x"} {
		if _, err := storage.Resolve(ctx, w.places, dir); errs.ClassOf(err) != errs.ClassUser {
			t.Errorf("%q: %v", dir, err)
		}
	}
	if _, err := storage.Resolve(ctx, nil, "/x"); errs.CodeOf(err) != errs.CodeConfigInvalid {
		t.Error(err)
	}
	if _, err := storage.Resolve(ctx, w.places, "/x/manifest"); !objstore.Is(err, objstore.CodeNotFound) {
		t.Error(err)
	}
}

// A savepoint that failed leaves nothing, also when its manifest was written and only the copy of a stop was not.
func TestDiscardSavepoint(t *testing.T) {
	w := newWorld(nil)
	j, _ := w.open(t, "job")
	must(t, j.Reserve(ctx, 9))
	dir := save(t, w, j, 5, event.PurposeSavepoint)
	must(t, j.Discard(ctx, 5, dir, nil))
	if n := count(t, w, dir); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// What a job goes on from by itself is its newest checkpoint, until a run has come to its end.
func TestOwn(t *testing.T) {
	w := newWorld(nil)
	places := func(string) (objstore.Store, error) { return w.store, nil }
	want := func(what, want string) {
		t.Helper()
		ref, err := storage.Own(ctx, w.config("job").Clock, places, "/ck", "job")
		if err != nil || ref.String() != want {
			t.Errorf("%s: %v, %v, want %q", what, ref, err, want)
		}
	}
	want("nothing", "")
	j, _ := w.open(t, "job")
	must(t, j.Reserve(ctx, 9))
	take(t, w, j, "job/", 1)
	take(t, w, j, "job/", 2)
	before := w.names(t)
	want("running", "/ck/"+storage.ManifestName("job", 2))
	if got := w.names(t); got != before {
		t.Errorf("it has written: %s", got)
	}
	must(t, j.End(ctx, storage.End{Outcome: "canceled", Keep: true}))
	want("cancelled", "/ck/"+storage.ManifestName("job", 2))
	must(t, j.End(ctx, storage.End{Outcome: "finished", Final: true, Keep: true}))
	want("finished", "")
}
