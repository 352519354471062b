package transfer_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/local"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/model"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/testkit/seeds"
	"github.com/weir-stream/weir/internal/timer"
)

var ctx = context.Background()

// subtask is the state of one parallel instance.
type subtask struct {
	groups keygroup.Range
	keyed  statebackend.Keyed
	timers *timer.Timers
}

func newSubtask(cfg statebackend.Config, onPages bool) *subtask {
	s := &subtask{groups: cfg.Groups, keyed: model.New(cfg), timers: timer.New(nil)}
	if onPages {
		s.keyed = paged.NewBackend(cfg, nil)
	}
	return s
}

func newOperator(keyWidth, p int, onPages bool) []*subtask {
	out := make([]*subtask, p)
	for i := range out {
		out[i] = newSubtask(statebackend.Config{KeyWidth: keyWidth, Groups: keygroup.RangeOf(i, p)}, onPages)
	}
	return out
}

func closeAll(op []*subtask) {
	for _, s := range op {
		s.keyed.Close()
		s.timers.Close()
	}
}

var descriptors = []statebackend.Descriptor{
	{Name: "total", Kind: statebackend.KindValue, Width: 8, Schema: []byte{1, 5}},
	{Name: "text", Kind: statebackend.KindValue, NamespaceWidth: statebackend.VariableNamespace},
	{Name: "items", Kind: statebackend.KindList, NamespaceWidth: 4},
	{Name: "seen", Kind: statebackend.KindMap, Schema: []byte{1, 17}},
}

var timerState = snapshot.State{ID: 100, Name: "ends", Kind: snapshot.KindEventTimers}

// fill does random operations on the subtask of each key and on all, which holds everything.
func fill(t *testing.T, r *rand.Rand, keyWidth, n int, op []*subtask, all *subtask) {
	t.Helper()
	bytesOf := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for range n {
		num := r.IntN(200)
		key := binary.BigEndian.AppendUint64(nil, uint64(num))
		if keyWidth == 0 {
			key = bytes.Repeat([]byte{7}, num%40)
		}
		k := statebackend.Key{Hash: xxh3.Hash(key), Bytes: key}
		owner := op[keygroup.Owner(keygroup.Of(k.Hash), len(op))]
		kind, small, value, clear := r.IntN(5), r.IntN(3), bytesOf(r.IntN(400)), r.IntN(8) == 0
		for _, s := range []*subtask{owner, all} {
			v, err := s.keyed.Value(descriptors[0])
			must(t, err)
			text, err := s.keyed.Value(descriptors[1])
			must(t, err)
			items, err := s.keyed.List(descriptors[2])
			must(t, err)
			seen, err := s.keyed.Map(descriptors[3])
			must(t, err)
			ns := bytes.Repeat([]byte{byte(small)}, small)
			ns4 := []byte{byte(small), 0, 0, 0}
			switch {
			case kind == 0 && clear:
				v.Clear(k, nil)
			case kind == 0:
				v.Put(k, nil, binary.LittleEndian.AppendUint64(nil, uint64(len(value))))
			case kind == 1:
				text.Put(k, ns, value)
			case kind == 2 && clear:
				items.Clear(k, ns4)
			case kind == 2:
				items.Append(k, ns4, value)
			case kind == 3 && clear:
				seen.Remove(k, nil, value[:min(len(value), 1)])
			case kind == 3:
				seen.Put(k, nil, value[:min(len(value), 1+small)], value)
			default:
				s.timers.Register(k, ns, int64(small-1)*1_000_000_007)
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// copied returns everything that k holds, in no order of key groups, numbered from 1.
func copied(t testing.TB, k statebackend.Keyed) []statebackend.Part {
	t.Helper()
	parts, err := statebackend.CopyOf(k)
	must(t, err)
	for i := range parts {
		parts[i].State.ID = uint32(i + 1)
	}
	return parts
}

// parts returns everything that s holds, timers last.
func (s *subtask) parts(t testing.TB) []statebackend.Part {
	t.Helper()
	timers, err := s.timers.Cut()
	must(t, err)
	t.Cleanup(timers.Release)
	return append(copied(t, s.keyed), statebackend.Part{State: timerState, Data: timers})
}

// contents prints all state of an operator; the elements of a list stay in their order.
func contents(t *testing.T, op []*subtask) string {
	t.Helper()
	all := map[string][]string{}
	for _, s := range op {
		for _, src := range s.parts(t) {
			src.Data.Each(keygroup.All(), func(k statebackend.Key, ns, user, value []byte) bool {
				if !s.groups.ContainsHash(k.Hash) {
					t.Fatalf("a key of group %d in %v", keygroup.Of(k.Hash), s.groups)
				}
				id := fmt.Sprintf("%s %+v %016x %x %x", src.State.Name, src.State, k.Hash, k.Bytes, ns)
				all[id] = append(all[id], fmt.Sprintf("%x=%x", user, value))
				return true
			})
		}
	}
	var out strings.Builder
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(id, "ends ") {
			slices.Sort(all[id])
		}
		fmt.Fprintln(&out, id, all[id])
	}
	return out.String()
}

// save writes one object a subtask, and the manifest last, as a checkpoint does.
func save(t *testing.T, store objstore.Store, dir string, keyWidth int, op []*subtask, budget int) {
	t.Helper()
	m := &snapshot.Manifest{Job: ids.JobID{1}, Epoch: 1, Purpose: snapshot.PurposeCheckpoint, KeyGroups: keygroup.Count,
		Operators: []snapshot.Operator{{Name: "op", Parallelism: len(op), KeyWidth: keyWidth}}}
	for i, s := range op {
		sources := s.parts(t)
		if len(sources) > len(m.Operators[0].States) {
			m.Operators[0].States = nil
			for _, src := range sources {
				m.Operators[0].States = append(m.Operators[0].States, src.State)
			}
		}
		var b bytes.Buffer
		sum, err := transfer.SaveParts(&b, sources, s.groups, transfer.Options{Budget: budget})
		must(t, err)
		name := fmt.Sprint("op-", i)
		w, err := store.Put(ctx, dir+"/"+name, objstore.Content{Reader: &b, Size: sum.Size, CRC: sum.CRC, Checked: true})
		must(t, err)
		m.Objects = append(m.Objects, snapshot.Object{Name: name, Operator: "op", Size: w.Size, CRC: w.CRC, From: sum.Groups.From,
			To: sum.Groups.To, Entries: sum.Entries, RawBytes: sum.RawBytes})
	}
	encoded, err := m.Encode()
	must(t, err)
	mine, err := objstore.Claim(ctx, store, dir+"/manifest", encoded, 3)
	if !mine || err != nil {
		t.Fatalf("manifest: %v, %v", mine, err)
	}
}

func load(t *testing.T, store objstore.Store, dir string, p int, onPages bool) []*subtask {
	t.Helper()
	b, err := objstore.ReadAll(ctx, store, dir+"/manifest", snapshot.ManifestBytesMax)
	must(t, err)
	m, err := snapshot.DecodeManifest(b)
	must(t, err)
	must(t, m.Verify(func(name string) (int64, error) {
		info, err := store.Stat(ctx, dir+"/"+name)
		return info.Size, err
	}))
	from := &m.Operators[0]
	op := newOperator(from.KeyWidth, p, onPages)
	for _, s := range op {
		sinks, err := transfer.Sinks(s.keyed, from.States)
		must(t, err)
		sinks[timerState.ID] = s.timers.Sink()
		for _, o := range m.Overlapping("op", s.groups) {
			r, err := snapshot.NewReader(objstore.ReaderAt(ctx, store, dir+"/"+o.Name), o.Size)
			must(t, err)
			must(t, transfer.Load(r, s.groups, from.KeyWidth, sinks))
		}
	}
	return op
}

// The law: state is the same after it was written at one parallelism and restored at another, into either backend. What
// it is is said by a model that was never saved.
func TestRescale(t *testing.T) {
	seeds.Run(t, 6, func(t *testing.T, r *rand.Rand) {
		keyWidth := []int{0, 8}[r.IntN(2)]
		onPages := r.IntN(2) == 0
		store, err := local.New(fs.NewMem(nil), "/ckpt", "w1")
		must(t, err)
		all := newSubtask(statebackend.Config{KeyWidth: keyWidth, Groups: keygroup.All()}, false)
		op := newOperator(keyWidth, 3, onPages)
		defer func() { closeAll(append(op, all)) }()
		fill(t, r, keyWidth, r.IntN(3000), op, all)
		want := contents(t, []*subtask{all})
		if got := contents(t, op); got != want {
			t.Fatal("the subtasks differ from the model before anything was saved")
		}
		for i, p := range []int{7, 2, 3} {
			dir := fmt.Sprint("chk-", i)
			save(t, store, dir, keyWidth, op, []int{1, 5000, 0}[r.IntN(3)])
			closeAll(op)
			onPages = !onPages
			op = load(t, store, dir, p, onPages)
			if got := contents(t, op); got != want {
				t.Fatalf("restored at %d (pages: %v):\n%s\nwant\n%s", p, onPages, got, want)
			}
		}
	})
}

// What a damaged or foreign file says must not reach a backend, which trusts widths.
func TestLoadRefuses(t *testing.T) {
	key := []byte("12345678")
	good := snapshot.Entry{State: 1, Hash: xxh3.Hash(key), Key: key, Value: make([]byte, 8)}
	states := []snapshot.State{
		{ID: 1, Name: "v", Kind: snapshot.KindValue, Width: 8},
		{ID: 2, Name: "m", Kind: snapshot.KindMap},
	}
	for what, change := range map[string]func(e *snapshot.Entry){
		"a key of another width":     func(e *snapshot.Entry) { e.Key = e.Key[:7] },
		"a value of another width":   func(e *snapshot.Entry) { e.Value = e.Value[:7] },
		"a namespace":                func(e *snapshot.Entry) { e.Namespace = []byte{1} },
		"a value with a user key":    func(e *snapshot.Entry) { e.UserKey = []byte{} },
		"a map without one":          func(e *snapshot.Entry) { e.State = 2 },
		"a state that is not listed": func(e *snapshot.Entry) { e.State = 3 },
		"":                           func(e *snapshot.Entry) {},
	} {
		e := good
		change(&e)
		var b bytes.Buffer
		w := snapshot.NewWriter(&b, snapshot.Form{})
		must(t, w.Add(&e))
		sum, err := w.Close()
		must(t, err)
		into := model.New(statebackend.Config{KeyWidth: 8})
		sinks, err := transfer.Sinks(into, states)
		must(t, err)
		r, err := snapshot.NewReader(bytes.NewReader(b.Bytes()), sum.Size)
		must(t, err)
		err = transfer.Load(r, keygroup.All(), 8, sinks)
		if (err == nil) != (what == "") || err != nil && errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%q: %v", what, err)
		}
	}
}
