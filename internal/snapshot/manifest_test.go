package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
)

// sample is what testdata/v1/manifest holds. It uses every field.
func sample() *snapshot.Manifest {
	return &snapshot.Manifest{
		Job: ids.JobID{1, 2, 15: 0xff}, Epoch: 412, Term: 3, Purpose: snapshot.PurposeSavepoint, Plan: "5f<>&", KeyGroups: 32768,
		Operators: []snapshot.Operator{
			{Name: "orders", Parallelism: 2, Watermarks: []int64{math.MinInt64, 1700000000123}, Finished: []int{1},
				Positions: []snapshot.Position{{Split: "topic-0", Subtask: 0, Data: []byte{0, 1, 2}}, {Split: "topic-1", Subtask: 1, Done: true}},
				Blobs:     []snapshot.Blob{{Name: "enumerator", Subtask: -1, Data: []byte("next")}}},
			{Name: "hourly ü", Parallelism: 3, KeySchema: []byte{1, 5}, KeyWidth: 8,
				States: []snapshot.State{
					{ID: 1, Name: "total", Kind: snapshot.KindValue, Width: 8, NamespaceWidth: 16, Schema: []byte{1, 5}},
					{ID: 2, Name: "seen", Kind: snapshot.KindMap, NamespaceWidth: -1},
					{ID: 7, Name: "items", Kind: snapshot.KindList},
					{ID: 8, Name: "ends", Kind: snapshot.KindEventTimers, NamespaceWidth: 16},
					{ID: 9, Name: "alarms", Kind: snapshot.KindProcessingTimer},
				},
				Watermarks: []int64{5, 6, math.MaxInt64}},
		},
		Objects: []snapshot.Object{
			{Name: "shared/a-1", Operator: "hourly ü", Size: 1234, CRC: 0xdeadbeef, From: 0, To: 10922, Entries: 17, RawBytes: 5000},
			{Name: "shared/a-2", Operator: "hourly ü", Size: 99, CRC: 1, From: 10922, To: 32768, Entries: 1, RawBytes: 20},
		},
	}
}

func TestManifestRefuses(t *testing.T) {
	for what, change := range map[string]func(m *snapshot.Manifest){
		"no job":               func(m *snapshot.Manifest) { m.Job = ids.JobID{} },
		"purpose":              func(m *snapshot.Manifest) { m.Purpose = "x" },
		"operator twice":       func(m *snapshot.Manifest) { m.Operators[1].Name = "orders" },
		"operator, no name":    func(m *snapshot.Manifest) { m.Operators[0].Name = "" },
		"operator, not UTF-8":  func(m *snapshot.Manifest) { m.Operators[0].Name = "\xff" },
		"parallelism 0":        func(m *snapshot.Manifest) { m.Operators[0].Parallelism = 0 },
		"parallelism too high": func(m *snapshot.Manifest) { m.Operators[0].Parallelism = 32769 },
		"watermarks":           func(m *snapshot.Manifest) { m.Operators[0].Watermarks = []int64{1} },
		"finished":             func(m *snapshot.Manifest) { m.Operators[0].Finished = []int{1, 1} },
		"finished, no subtask": func(m *snapshot.Manifest) { m.Operators[0].Finished = []int{2} },
		"state twice":          func(m *snapshot.Manifest) { m.Operators[1].States[1].Name = "total" },
		"state id twice":       func(m *snapshot.Manifest) { m.Operators[1].States[1].ID = 1 },
		"state kind":           func(m *snapshot.Manifest) { m.Operators[1].States[1].Kind = "set" },
		"state width":          func(m *snapshot.Manifest) { m.Operators[1].States[1].Width = -1 },
		"split twice":          func(m *snapshot.Manifest) { m.Operators[0].Positions[1].Split = "topic-0" },
		"split's subtask":      func(m *snapshot.Manifest) { m.Operators[0].Positions[1].Subtask = 2 },
		"blob's subtask":       func(m *snapshot.Manifest) { m.Operators[0].Blobs[0].Subtask = -2 },
		"object twice":         func(m *snapshot.Manifest) { m.Objects[1].Name = m.Objects[0].Name },
		"object outside":       func(m *snapshot.Manifest) { m.Objects[1].Name = "a/../../b" },
		"object absolute":      func(m *snapshot.Manifest) { m.Objects[1].Name = "/etc" },
		"object of nobody":     func(m *snapshot.Manifest) { m.Objects[1].Operator = "x" },
		"object's size":        func(m *snapshot.Manifest) { m.Objects[1].Size = -1 },
		"object's groups":      func(m *snapshot.Manifest) { m.Objects[1].To = 32769 },
		"object's order":       func(m *snapshot.Manifest) { m.Objects[1].From, m.Objects[1].To = 2, 1 },
	} {
		m := sample()
		change(m)
		if _, err := m.Encode(); errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Pitfall P28: state of another number of groups is refused, with both numbers, and not mapped in silence.
func TestAnotherNumberOfKeyGroups(t *testing.T) {
	m := sample()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(b), "\n")
	_, err = snapshot.DecodeManifest(sealed(1, strings.Replace(body, `"keyGroups": 32768`, `"keyGroups": 128`, 1)))
	if errs.CodeOf(err) != errs.CodeSchema || !strings.Contains(err.Error(), "cut into 128 key groups, and this program cuts it into 32768") {
		t.Errorf("error %v", err)
	}
}

func sealed(version int, body string) []byte {
	return fmt.Appendf(nil, "WEIRMANIFEST %d %d %08x\n%s", version, len(body), crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)), body)
}

func TestDecodeManifestRefuses(t *testing.T) {
	good, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, bodyBytes, _ := bytes.Cut(good, []byte("\n"))
	body := string(bodyBytes)
	if !bytes.Equal(sealed(1, body), good) {
		t.Fatalf("the head is %q", good[:60])
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		if m, err := snapshot.DecodeManifest(bad); err == nil {
			t.Fatalf("byte %d changed and accepted: %+v", i, m)
		}
		if _, err := snapshot.DecodeManifest(good[:i]); err == nil {
			t.Fatalf("cut to %d bytes and accepted", i)
		}
	}
	for what, b := range map[string][]byte{
		"a later version":   sealed(2, body),
		"version 0":         sealed(0, body),
		"an unknown field":  sealed(1, strings.Replace(body, ` "epoch"`, ` "extra": 1, "epoch"`, 1)),
		"a field twice":     sealed(1, strings.Replace(body, ` "epoch"`, ` "epoch": 5, "epoch"`, 1)),
		"another case":      sealed(1, strings.Replace(body, `"epoch"`, `"Epoch"`, 1)),
		"other white space": sealed(1, body+" "),
		"deep nesting":      sealed(1, strings.Repeat("[", 1<<16)),
		"nothing":           nil,
	} {
		if _, err := snapshot.DecodeManifest(b); errs.CodeOf(err) != errs.CodeCorrupt || errs.ClassOf(err) != errs.ClassFailJob {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestVerify(t *testing.T) {
	m := sample()
	sizes := map[string]int64{"shared/a-1": 1234, "shared/a-2": 99}
	size := func(name string) (int64, error) {
		if n, ok := sizes[name]; ok {
			return n, nil
		}
		return 0, errs.New("object.not-found", errs.ClassFailTask, name, "does not exist")
	}
	if err := m.Verify(size); err != nil {
		t.Fatal(err)
	}
	sizes["shared/a-1"] = 1233
	delete(sizes, "shared/a-2")
	err := m.Verify(size)
	if errs.CodeOf(err) != errs.CodeCorrupt || errs.ClassOf(err) != errs.ClassFailJob {
		t.Fatalf("Verify = %v", err)
	}
	for _, part := range []string{"savepoint 412", "2 of its 2", `shared/a-1 of operator "hourly ü" has 1233 bytes, not 1234`, "shared/a-2", "restore another one"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
	busy := errs.New("object.unavailable", errs.ClassRetry, "", "slow down")
	if err := m.Verify(func(string) (int64, error) { return 0, busy }); !errors.Is(err, busy) || errs.ClassOf(err) != errs.ClassRetry {
		t.Errorf("a store that cannot be asked: %v", err)
	}
	for i := range 20 {
		m.Objects = append(m.Objects, snapshot.Object{Name: fmt.Sprint("x/", i), Operator: "orders"})
	}
	if err := m.Verify(size); !strings.Contains(err.Error(), "22 of its 22") || !strings.Contains(err.Error(), "and 12 more") {
		t.Errorf("many missing: %v", err)
	}
}

func TestOverlapping(t *testing.T) {
	m := sample()
	for _, c := range []struct {
		i, p int
		want string
	}{{0, 1, "a-1 a-2"}, {0, 4, "a-1"}, {1, 4, "a-1 a-2"}, {3, 4, "a-2"}} {
		var got []string
		for _, o := range m.Overlapping("hourly ü", keygroup.RangeOf(c.i, c.p)) {
			got = append(got, strings.TrimPrefix(o.Name, "shared/"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("subtask %d of %d: %v, want %s", c.i, c.p, got, c.want)
		}
	}
}

// FuzzManifest: no bytes panic; what decodes encodes to the same bytes.
func FuzzManifest(f *testing.F) {
	good, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	_, body, _ := bytes.Cut(good, []byte("\n"))
	f.Add(good, false)
	f.Add(body, true)
	f.Add([]byte(`{"job":"01"}`), true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal { // past the checksum
			b = sealed(1, string(b))
		}
		m, err := snapshot.DecodeManifest(b)
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%v: %q becomes %q", err, b, again)
		}
	})
}
