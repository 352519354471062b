package inspect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/storage/inspect"
	"github.com/weir-stream/weir/internal/testkit/golden"
)

const (
	kept = "../testdata/v2"
	job  = "checkpoints/+orders=20=c3=bc"
)

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, places storage.Places, path string, full bool) string {
	t.Helper()
	r, err := inspect.Path(ctx, places, path, full)
	must(t, err)
	var b strings.Builder
	must(t, r.Text(&b))
	return b.String()
}

// What is printed of the checkpoints and the savepoint that are kept for ever. Their entries were counted by hand: 40 keys,
// 5 of them again before the second checkpoint, each with a value, an entry of a map (5 removed later) and an element of a list.
func TestGolden(t *testing.T) {
	places := storage.LocalPlaces(fs.Real{}, "reads")
	golden.Check(t, "job.txt", text(t, places, kept+"/checkpoints", false))
	golden.Check(t, "checkpoint.txt", text(t, places, kept+"/"+job+"/manifests/00000000000000000001", false))
	golden.Check(t, "savepoint.txt", text(t, places, kept+"/savepoint", true))
	r, err := inspect.Path(ctx, places, kept+"/savepoint/manifest", false)
	must(t, err)
	b, err := json.MarshalIndent(r, "", "  ")
	must(t, err)
	golden.Check(t, "savepoint.json", string(b)+"\n")
}

// copied is the kept files in a file system that can be changed.
func copied(t *testing.T) storage.Places {
	t.Helper()
	from, to := storage.LocalPlaces(fs.Real{}, "reads"), storage.LocalPlaces(fs.NewMem(nil), "writes")
	src, err := from(kept)
	must(t, err)
	dst, err := to("/")
	must(t, err)
	for info, err := range src.List(ctx, "") {
		must(t, err)
		b, err := objstore.ReadAll(ctx, src, info.Name, info.Size)
		must(t, err)
		_, err = dst.Put(ctx, info.Name, objstore.Bytes(b))
		must(t, err)
	}
	return to
}

func TestProblems(t *testing.T) {
	places := copied(t)
	root, err := places("/")
	must(t, err)
	const object = job + "/data/1-1/1-0-1-0"
	b, err := objstore.ReadAll(ctx, root, object, 1<<20)
	must(t, err)
	b[30] ^= 1
	_, err = root.Put(ctx, object, objstore.Bytes(b))
	must(t, err)
	if got := text(t, places, "/checkpoints", true); !strings.Contains(got, "PROBLEM: ") || !strings.Contains(got, "fails its checksum") {
		t.Errorf("a damaged block:\n%s", got)
	}
	must(t, root.Delete(ctx, object))
	got := text(t, places, "/checkpoints/", true)
	for _, part := range []string{"PROBLEM: data.corrupt: snapshot: checkpoint 2 cannot be restored", "1 of its 6 objects", "data/1-1/1-0-1-0"} {
		if !strings.Contains(got, part) {
			t.Errorf("a missing object: the text lacks %q:\n%s", part, got)
		}
	}
	if n := strings.Count(got, "PROBLEM"); n != 3 { // both lines of the list, and the newest
		t.Errorf("%d problems:\n%s", n, got)
	}
	const other = "checkpoints/other/manifests/00000000000000000007"
	_, err = root.Put(ctx, other, objstore.Bytes([]byte("rubbish")))
	must(t, err)
	got = text(t, places, "/checkpoints", true)
	if !strings.Contains(got, "/checkpoints/other") || !strings.Contains(got, "not a manifest") || strings.Contains(got, "parallelism") {
		t.Errorf("two jobs:\n%s", got)
	}
	if _, err := inspect.Path(ctx, places, "/"+other, true); errs.CodeOf(err) != errs.CodeCorrupt {
		t.Errorf("a rubbish manifest: %v", err)
	}
	for _, dir := range []string{"/nowhere", "s3://bucket/x"} {
		if _, err := inspect.Path(ctx, places, dir, true); errs.ClassOf(err) != errs.ClassUser {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
