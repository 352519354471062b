package snapshot_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
)

var writeVersion2 = flag.Bool("write-version-2", false, "write testdata/v2 anew, before it is released")

// sample2 uses every field of version 2.
func sample2() *snapshot.Manifest {
	m := sample()
	m.JobName, m.Created, m.Place = "Orders ü", 1700000000123, "/savepoints/orders-17"
	m.Operators[0].Blobs = append(m.Operators[0].Blobs, snapshot.Blob{Name: "list", Data: []byte("a")}, snapshot.Blob{Name: "list", Data: []byte("b")},
		snapshot.Blob{Name: "big", Subtask: 1, Object: "data/blobs", Offset: 10, Length: 90})
	m.Objects[0].Subtask, m.Objects[0].States = 1, []uint32{7, 1}
	m.Objects = append(m.Objects,
		snapshot.Object{Name: "data/delta", Operator: "hourly ü", Size: 80, CRC: 2, From: 1, To: 2, Entries: 1, RawBytes: 9, Kind: snapshot.ObjectDelta},
		snapshot.Object{Name: "data/rows", Operator: "orders", Size: 40, CRC: 3, Entries: 1, RawBytes: 8, Kind: snapshot.ObjectRows, Subtask: 1},
		snapshot.Object{Name: "data/blobs", Operator: "orders", Size: 100, CRC: 4, Kind: snapshot.ObjectBlobs, Subtask: 1})
	return m
}

func deltaObject(t testing.TB) []byte {
	var b bytes.Buffer
	w := snapshot.NewWriter(&b, snapshot.Form{Delta: true, Compression: snapshot.CompressZstd})
	entry := func(key string) snapshot.Entry {
		return snapshot.Entry{State: 1, Hash: xxh3.Hash([]byte(key)), Key: []byte(key), Namespace: []byte{}}
	}
	gone, kept, list := entry("b"), entry("b"), entry("b")
	gone.UserKey, gone.Removed = []byte("u"), true
	kept.UserKey, kept.Value = []byte("v"), []byte("value")
	list.State, list.Removed = 2, true
	element := list
	element.Removed, element.Value = false, []byte("e")
	for _, e := range []snapshot.Entry{gone, kept, list, element} {
		if err := w.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func rowsObject(t testing.TB) []byte {
	var b bytes.Buffer
	w := snapshot.NewRowsWriter(&b)
	for i, batch := range []string{"first", "", "third"} {
		if err := w.Add(i%2, i, []byte(batch)); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Close()
	if err != nil || sum.Size != int64(b.Len()) || sum.Entries != 3 || sum.RawBytes != 10 {
		t.Fatal(sum, err)
	}
	return b.Bytes()
}

func rowsText(b []byte) (string, error) {
	var out strings.Builder
	err := snapshot.ReadRows(b, func(gate, channel int, batch []byte) error {
		fmt.Fprintf(&out, "gate=%d channel=%d %q\n", gate, channel, batch)
		return nil
	})
	return out.String(), err
}

// The objects of version 2 must open for ever, and say the same, as those of version 1.
func TestGoldenVersion2(t *testing.T) {
	manifest, err := sample2().Encode()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"manifest": manifest, "delta": deltaObject(t), "rows": rowsObject(t)}
	for name, b := range files {
		file := filepath.Join("testdata/v2", name)
		if *writeVersion2 {
			if err := os.WriteFile(file, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(want, b) {
			t.Errorf("%s is written otherwise now: %v\n%q", name, err, b)
		}
		files[name] = want
	}
	got, err := snapshot.DecodeManifest(files["manifest"])
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", sample2()) {
		t.Errorf("%v: got %+v", err, got)
	}
	const delta = `group=11181 state=1 hash=575a0b1c44d8843f key="b" ns="" user="u" removed
group=11181 state=1 hash=575a0b1c44d8843f key="b" ns="" user="v" value="value"
group=11181 state=2 hash=575a0b1c44d8843f key="b" ns="" user=- removed
group=11181 state=2 hash=575a0b1c44d8843f key="b" ns="" user=- value="e"`
	if got := strings.Join(lines(t, files["delta"], keygroup.All()), "\n"); got != delta {
		t.Errorf("the delta says\n%s", got)
	}
	rows, err := rowsText(files["rows"])
	if want := "gate=0 channel=0 \"first\"\ngate=1 channel=1 \"\"\ngate=0 channel=2 \"third\"\n"; err != nil || rows != want {
		t.Errorf("%v: the rows say\n%s", err, rows)
	}
}

func TestVersion2Refuses(t *testing.T) {
	for what, change := range map[string]func(m *snapshot.Manifest){
		"a kind":                      func(m *snapshot.Manifest) { m.Objects[2].Kind = "x" },
		"an object's subtask":         func(m *snapshot.Manifest) { m.Objects[3].Subtask = 2 },
		"rows with states":            func(m *snapshot.Manifest) { m.Objects[3].States = []uint32{1} },
		"a state of nobody":           func(m *snapshot.Manifest) { m.Objects[0].States = []uint32{3} },
		"no state":                    func(m *snapshot.Manifest) { m.Objects[0].States = []uint32{} },
		"a blob in no object":         func(m *snapshot.Manifest) { m.Operators[0].Blobs[3].Object = "data/x" },
		"a blob in rows":              func(m *snapshot.Manifest) { m.Operators[0].Blobs[3].Object = "data/rows" },
		"a blob beyond the end":       func(m *snapshot.Manifest) { m.Operators[0].Blobs[3].Length = 91 },
		"a blob of a negative length": func(m *snapshot.Manifest) { m.Operators[0].Blobs[3].Length = -1 },
		"a blob here and there":       func(m *snapshot.Manifest) { m.Operators[0].Blobs[3].Data = []byte{1} },
		"a place without an object":   func(m *snapshot.Manifest) { m.Operators[0].Blobs[0].Length = 1 },
		"before 1970":                 func(m *snapshot.Manifest) { m.Created = -1 },
	} {
		m := sample2()
		change(m)
		if _, err := m.Encode(); errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%s: %v", what, err)
		}
	}
	good, err := sample2().Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := bytes.Cut(good, []byte("\n"))
	if _, err := snapshot.DecodeManifest(sealed(1, string(body))); errs.CodeOf(err) != errs.CodeCorrupt {
		t.Errorf("fields of version 2 in a manifest of version 1: %v", err)
	}
	old := deltaObject(t)
	old[8] = 1
	r, err := snapshot.NewReader(bytes.NewReader(old), int64(len(old)))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Each(keygroup.All(), func(*snapshot.Entry) error { return nil }); errs.CodeOf(err) != errs.CodeCorrupt {
		t.Errorf("a removed entry in an object of version 1: %v", err)
	}
	w := snapshot.NewWriter(&bytes.Buffer{}, snapshot.Form{})
	if err := w.Add(&snapshot.Entry{Removed: true}); errs.CodeOf(err) != errs.CodeBug {
		t.Errorf("a removed entry in an object that is no delta: %v", err)
	}
}

func TestRowsRefuse(t *testing.T) {
	good := rowsObject(t)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, err := rowsText(bad); errs.CodeOf(err) != errs.CodeCorrupt {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	stop := errors.New("stop")
	if err := snapshot.ReadRows(good, func(int, int, []byte) error { return stop }); err != stop {
		t.Error(err)
	}
}

func FuzzRows(f *testing.F) {
	f.Add(rowsObject(f))
	f.Fuzz(func(_ *testing.T, b []byte) { rowsText(b) })
}

func TestStateID(t *testing.T) {
	o := snapshot.Object{States: []uint32{7, 1}}
	for id, want := range map[uint32]uint32{1: 7, 2: 1} {
		if got, ok := o.StateID(id); got != want || !ok {
			t.Error(id, got, ok)
		}
	}
	for _, id := range []uint32{0, 3} {
		if _, ok := o.StateID(id); ok {
			t.Error(id, "is found")
		}
	}
	if got, ok := (&snapshot.Object{}).StateID(9); got != 9 || !ok {
		t.Error(got, ok)
	}
}
