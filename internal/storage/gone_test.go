package storage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
)

// refused opens a job that must not begin from nothing.
func refused(t *testing.T, w *world, code errs.Code, says ...string) {
	t.Helper()
	_, _, err := storage.Open(ctx, w.config("job"))
	if errs.CodeOf(err) != code || errs.ClassOf(err) != errs.ClassFailJob {
		t.Errorf("got %v, want code %s", err, code)
		return
	}
	for _, s := range append(says, "job job") {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q is not in %v", s, err)
		}
	}
}

// A job whose manifests somebody has deleted does not begin from nothing; nor does one whose only manifest is damaged, or one
// of which a later program has written a manifest, whatever else is there.
func TestDoesNotBeginFromNothing(t *testing.T) {
	manifest := func(e ids.Epoch) string { return storage.ManifestName("job", e) }
	t.Run("deleted", func(t *testing.T) {
		w := newWorld(nil)
		j, _ := w.open(t, "job")
		must(t, j.Reserve(ctx, 9))
		w.open(t, "job") // nothing was completed yet
		j, _ = w.open(t, "job")
		must(t, j.Reserve(ctx, 20))
		take(t, w, j, "job/", 11)
		take(t, w, j, "job/", 12)
		for _, e := range []ids.Epoch{11, 12} {
			must(t, w.store.Delete(ctx, manifest(e)))
		}
		refused(t, w, errs.CodeGone, "completed checkpoint 11, and later ones perhaps", "delete the directory job to begin from nothing")
		must(t, w.store.Delete(ctx, "job/completed/00000000000000000011"))
		w.open(t, "job")
	})
	t.Run("damaged", func(t *testing.T) {
		w := newWorld(nil)
		j, _ := w.open(t, "job")
		must(t, j.Reserve(ctx, 9))
		take(t, w, j, "job/", 1)
		_, err := w.store.Put(ctx, manifest(1), objstore.Bytes([]byte("rubbish")))
		must(t, err)
		refused(t, w, errs.CodeCorrupt, "there is no other checkpoint")
	})
	t.Run("later", func(t *testing.T) {
		w := newWorld(nil)
		j, _ := w.open(t, "job")
		must(t, j.Reserve(ctx, 9))
		take(t, w, j, "job/", 1)
		_, err := w.store.Put(ctx, manifest(2), objstore.Bytes([]byte("WEIRMANIFEST 99 0 00000000\n")))
		must(t, err)
		refused(t, w, snapshot.CodeVersion, "version 99", "use the program that wrote it")
	})
	t.Run("ended", func(t *testing.T) { // a run that came to its end has nothing to go on from
		w := newWorld(nil)
		j, _ := w.open(t, "job")
		must(t, j.Reserve(ctx, 9))
		take(t, w, j, "job/", 1)
		must(t, j.End(ctx, storage.End{Outcome: "finished", Final: true, Keep: true}))
		must(t, w.store.Delete(ctx, manifest(1)))
		w.open(t, "job")
	})
}

// The directory of a running job is deleted: the next checkpoint fails, says so and makes the directory anew, and what lists
// nothing of before is complete. An older leader and a newer one know their place.
func TestDirectoryDeletedMeanwhile(t *testing.T) {
	w := newWorld(nil)
	j, _ := w.open(t, "job")
	must(t, j.Reserve(ctx, 9))
	take(t, w, j, "job/", 1)
	empty := func() {
		var all []string
		for info, err := range w.store.List(ctx, "") {
			must(t, err)
			all = append(all, info.Name)
		}
		for _, name := range all {
			must(t, w.store.Delete(ctx, name))
		}
	}
	empty()
	j.Begin(2)
	object := func(epoch ids.Epoch, subtask int32) snapshot.Object {
		return put(t, w.store, "job/", storage.DataName{Term: 1, Generation: 1, Vertex: 1, Subtask: subtask, Epoch: epoch})
	}
	_, err := j.WriteManifest(ctx, draft(2, part(t, 0, object(2, 0)), part(t, 1, object(2, 1))))
	if errs.CodeOf(err) != errs.CodeGone || !strings.Contains(err.Error(), "deleted or emptied while it runs") {
		t.Fatalf("got %v", err)
	}
	if got := w.names(t); !strings.Contains(got, "job/completed/1") {
		t.Errorf("there is %s", got)
	}
	take(t, w, j, "job/", 3)
	if got := w.names(t); !strings.Contains(got, "job/terms/1") || !strings.Contains(got, "job/epochs/9") || !strings.Contains(got, "job/manifests/3") {
		t.Errorf("there is %s", got)
	}
	if !strings.Contains(strings.Join(w.told, "\n"), "THE CHECKPOINTS OF THIS JOB ARE GONE") {
		t.Errorf("told %q", w.told)
	}
	j2, f := w.open(t, "job")
	if f.Term != 2 || f.Reserved != 9 || fmt.Sprint(f.Completed) != "[{3 false}]" {
		t.Errorf("found %+v", f)
	}

	empty()
	w.open(t, "job") // term 1 again
	_, err = j2.WriteManifest(ctx, draft(10, part(t, 0), part(t, 1)))
	if errs.CodeOf(err) != errs.CodeFenced {
		t.Errorf("the leader of before: %v", err)
	}
}

// Objects of complete checkpoints that are listed again are looked for: a few at a time, so that what is missing is found
// before all of them were listed eight times over, and all of them until a checkpoint is complete that lists none of them.
func TestObjectsDeletedMeanwhile(t *testing.T) {
	w := newWorld(nil)
	j, _ := w.open(t, "job")
	must(t, j.Reserve(ctx, 99))
	var many []snapshot.Object
	for n := range 60 {
		many = append(many, put(t, w.store, "job/", storage.DataName{Term: 1, Generation: 1, Vertex: 1, Epoch: 1, N: n}))
	}
	write := func(epoch ids.Epoch, objects ...snapshot.Object) error {
		j.Begin(epoch)
		_, err := j.WriteManifest(ctx, draft(epoch, part(t, 0, objects...), part(t, 1)))
		return err
	}
	must(t, write(1, many...))
	must(t, write(2, many...))
	must(t, w.store.Delete(ctx, "job/"+many[17].Name))
	failed := ids.Epoch(0)
	for e := ids.Epoch(3); e < 20 && failed == 0; e++ {
		if err := write(e, many...); err != nil {
			if failed = e; errs.CodeOf(err) != errs.CodeGone || !strings.Contains(err.Error(), many[17].Name) {
				t.Fatal(err)
			}
		}
	}
	if failed == 0 || failed > 10 { // 60 objects, 8 a time
		t.Fatalf("found at epoch %d", failed)
	}
	if err := write(failed+1, many...); errs.CodeOf(err) != errs.CodeGone {
		t.Errorf("the next one: %v", err)
	}
	must(t, write(failed+2, put(t, w.store, "job/", storage.DataName{Term: 1, Generation: 1, Vertex: 1, Epoch: failed + 2})))
}
