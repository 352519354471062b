package backendtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/model"
)

// Open makes the backend under test.
type Open func(statebackend.Config) statebackend.Keyed

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	t.Run("value", func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { values(rt, open) }) })
	t.Run("list", func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { lists(rt, open) }) })
	t.Run("map", func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { maps(rt, open) }) })
	t.Run("cut", func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { cuts(rt, open) }) })
	t.Run("lives", func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { lives(rt, open) }) })
	t.Run("changes", func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { changes(rt, open) }) })
	t.Run("expiry", func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { expiries(rt, open) }) })
	t.Run("names", func(t *testing.T) { names(t, open) })
	t.Run("batch", func(t *testing.T) { batches(t, open) })
	t.Run("close", func(t *testing.T) { closes(t, open) })
}

// world is one backend beside the model, with a generator of keys and namespaces.
type world struct {
	cfg         statebackend.Config
	d           statebackend.Descriptor
	test, model statebackend.Keyed
}

func newWorld(rt *rapid.T, open Open) *world {
	w := &world{}
	w.cfg.KeyWidth = rapid.SampledFrom([]int{0, 8, 12}).Draw(rt, "key width")
	w.cfg.Groups = keygroup.RangeOf(rapid.IntRange(0, 2).Draw(rt, "subtask"), 3)
	w.d = statebackend.Descriptor{
		Name:           "s",
		Width:          rapid.SampledFrom([]int{0, 8, 12}).Draw(rt, "width"),
		NamespaceWidth: rapid.SampledFrom([]int{0, 16, statebackend.VariableNamespace}).Draw(rt, "namespace width"),
		Ordered:        rapid.Bool().Draw(rt, "ordered"),
	}
	w.test, w.model = open(w.cfg), model.New(w.cfg)
	return w
}

// key returns the n-th key. Variable ones are prefixes of each other, so that a backend that glues key and namespace
// together is caught.
func (w *world) key(n int) statebackend.Key {
	var b []byte
	switch w.cfg.KeyWidth {
	case 0:
		b = bytes.Repeat([]byte{7}, n)
	default:
		b = append(binary.BigEndian.AppendUint64(nil, uint64(n)), "12345678"...)[:w.cfg.KeyWidth]
	}
	lo, hi := w.cfg.Groups.From.First(), (w.cfg.Groups.To - 1).Last()
	return statebackend.Key{Hash: lo + xxh3.Hash(b)%(hi-lo), Bytes: b}
}

func (w *world) drawKey(rt *rapid.T) statebackend.Key {
	return w.key(rapid.IntRange(0, 12).Draw(rt, "key"))
}

func (w *world) drawNS(rt *rapid.T) []byte {
	switch w.d.NamespaceWidth {
	case 0:
		return nil
	case statebackend.VariableNamespace:
		return bytes.Repeat([]byte{7}, rapid.IntRange(0, 4).Draw(rt, "namespace"))
	}
	ns := make([]byte, w.d.NamespaceWidth)
	ns[0] = byte(rapid.IntRange(0, 3).Draw(rt, "namespace"))
	return ns
}

func (w *world) drawValue(rt *rapid.T) []byte {
	n := w.d.Width
	if n == 0 {
		n = rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 300)).Draw(rt, "bytes")
	}
	b := make([]byte, n)
	for i, seed := 0, rapid.Byte().Draw(rt, "value"); i < n; i++ {
		b[i] = seed + byte(i)
	}
	return b
}

// same compares two answers by their print.
func same(rt rapid.TB, what string, got, want any) {
	rt.Helper()
	if g, w := fmt.Sprintf("%x", got), fmt.Sprintf("%x", want); g != w {
		rt.Fatalf("%s: %s, the model says %s", what, g, w)
	}
}

func sameError(rt rapid.TB, got, want error) {
	rt.Helper()
	if (got == nil) != (want == nil) {
		rt.Fatalf("error %v, the model says %v", got, want)
	}
}

func values(rt *rapid.T, open Open) {
	w := newWorld(rt, open)
	defer w.test.Close()
	a, errA := w.test.Value(w.d)
	b, errB := w.model.Value(w.d)
	sameError(rt, errA, errB)
	ops := map[string]func(*rapid.T){
		"put": func(rt *rapid.T) {
			k, ns, v := w.drawKey(rt), w.drawNS(rt), w.drawValue(rt)
			a.Put(k, ns, v)
			b.Put(k, ns, v)
		},
		"clear": func(rt *rapid.T) {
			k, ns := w.drawKey(rt), w.drawNS(rt)
			same(rt, "Clear", a.Clear(k, ns), b.Clear(k, ns))
		},
		"": func(rt *rapid.T) {
			k, ns := w.drawKey(rt), w.drawNS(rt)
			va, oka := a.Get(k, ns)
			vb, okb := b.Get(k, ns)
			same(rt, "Get", []any{va, oka}, []any{vb, okb})
			same(rt, "Len", a.Len(), b.Len())
			same(rt, "All", allValues(a), allValues(b))
		},
	}
	if w.d.Width > 0 {
		ops["ref"] = func(rt *rapid.T) {
			k, ns, add := w.drawKey(rt), w.drawNS(rt), rapid.Byte().Draw(rt, "add")
			pa, ca := a.Ref(k, ns)
			pb, cb := b.Ref(k, ns)
			same(rt, "created", ca, cb)
			same(rt, "in place", unsafe.Slice((*byte)(pa), w.d.Width), unsafe.Slice((*byte)(pb), w.d.Width))
			if uintptr(pa)%8 != 0 {
				rt.Fatalf("Ref is not aligned: %p", pa)
			}
			unsafe.Slice((*byte)(pa), w.d.Width)[w.d.Width-1] += add
			unsafe.Slice((*byte)(pb), w.d.Width)[w.d.Width-1] += add
		}
	}
	rt.Repeat(ops)
}

func allValues(v statebackend.Value) []string {
	var out []string
	v.All(func(k statebackend.Key, ns, b []byte) bool {
		out = append(out, fmt.Sprintf("%x %x %x=%x", k.Hash, k.Bytes, ns, b))
		return true
	})
	slices.Sort(out)
	return out
}

func lists(rt *rapid.T, open Open) {
	w := newWorld(rt, open)
	defer w.test.Close()
	a, errA := w.test.List(w.d)
	b, errB := w.model.List(w.d)
	sameError(rt, errA, errB)
	rt.Repeat(map[string]func(*rapid.T){
		"append": func(rt *rapid.T) {
			k, ns := w.drawKey(rt), w.drawNS(rt)
			for range rapid.IntRange(1, 5).Draw(rt, "n") {
				v := w.drawValue(rt)
				a.Append(k, ns, v)
				b.Append(k, ns, v)
			}
		},
		"put": func(rt *rapid.T) {
			k, ns := w.drawKey(rt), w.drawNS(rt)
			var es [][]byte
			for range rapid.IntRange(0, 4).Draw(rt, "n") {
				es = append(es, w.drawValue(rt))
			}
			a.Put(k, ns, es)
			b.Put(k, ns, es)
		},
		"clear": func(rt *rapid.T) {
			k, ns := w.drawKey(rt), w.drawNS(rt)
			same(rt, "Clear", a.Clear(k, ns), b.Clear(k, ns))
		},
		"": func(rt *rapid.T) {
			k, ns, limit := w.drawKey(rt), w.drawNS(rt), rapid.IntRange(1, 8).Draw(rt, "limit")
			same(rt, "Each", elements(a, k, ns, limit), elements(b, k, ns, limit))
			same(rt, "Count", a.Count(k, ns), b.Count(k, ns))
			same(rt, "Len", a.Len(), b.Len())
			same(rt, "All", allElements(a), allElements(b))
		},
	})
}

func elements(l statebackend.List, k statebackend.Key, ns []byte, limit int) (out []string) {
	l.Each(k, ns, func(e []byte) bool {
		out = append(out, shorten(e))
		return len(out) < limit
	})
	return out
}

// allElements keeps the order inside a sequence and sorts the sequences.
func allElements(l statebackend.List) []string {
	bySeq := map[string][]string{}
	l.All(func(k statebackend.Key, ns, e []byte) bool {
		id := fmt.Sprintf("%x %x %x", k.Hash, k.Bytes, ns)
		bySeq[id] = append(bySeq[id], shorten(e))
		return true
	})
	return flatten(bySeq)
}

// anyOrder sorts what was shown of each map: a cut shows entries in any order.
func anyOrder(m map[string][]string) map[string][]string {
	for _, es := range m {
		slices.Sort(es)
	}
	return m
}

func flatten(m map[string][]string) (out []string) {
	for id, es := range m {
		out = append(out, fmt.Sprint(id, es))
	}
	slices.Sort(out)
	return out
}

func maps(rt *rapid.T, open Open) {
	w := newWorld(rt, open)
	defer w.test.Close()
	a, errA := w.test.Map(w.d)
	b, errB := w.model.Map(w.d)
	sameError(rt, errA, errB)
	spread := rapid.SampledFrom([]int{5, 2000}).Draw(rt, "entries")
	pad := rapid.SampledFrom([]int{1, 1, 3000}).Draw(rt, "entry size")
	entry := func(n int) []byte { return fmt.Appendf(nil, "%0*d", pad, n) }
	drawEntry := func(rt *rapid.T) []byte { return entry(rapid.IntRange(0, spread).Draw(rt, "entry")) }
	rt.Repeat(map[string]func(*rapid.T){
		"put": func(rt *rapid.T) {
			k, ns, e, v := w.drawKey(rt), w.drawNS(rt), drawEntry(rt), w.drawValue(rt)
			a.Put(k, ns, e, v)
			b.Put(k, ns, e, v)
		},
		"put many": func(rt *rapid.T) {
			k, ns, v := w.key(rapid.IntRange(0, 1).Draw(rt, "key")), w.drawNS(rt), w.drawValue(rt)
			from, step := rapid.IntRange(0, spread).Draw(rt, "from"), rapid.IntRange(-3, 3).Draw(rt, "step")
			for i := range rapid.IntRange(1, 100).Draw(rt, "n") {
				e := entry(max(from+i*step, 0))
				a.Put(k, ns, e, v)
				b.Put(k, ns, e, v)
			}
		},
		"remove many": func(rt *rapid.T) {
			k, ns := w.key(rapid.IntRange(0, 1).Draw(rt, "key")), w.drawNS(rt)
			from := rapid.IntRange(0, spread).Draw(rt, "from")
			for i := range rapid.IntRange(1, 100).Draw(rt, "n") {
				e := entry(from + i)
				same(rt, "Remove", a.Remove(k, ns, e), b.Remove(k, ns, e))
			}
		},
		"clear": func(rt *rapid.T) {
			if rapid.IntRange(0, 3).Draw(rt, "really") == 0 {
				k, ns := w.drawKey(rt), w.drawNS(rt)
				same(rt, "Clear", a.Clear(k, ns), b.Clear(k, ns))
			}
		},
		"": func(rt *rapid.T) {
			k, ns, e := w.key(rapid.IntRange(0, 2).Draw(rt, "key")), w.drawNS(rt), drawEntry(rt)
			va, oka := a.Get(k, ns, e)
			vb, okb := b.Get(k, ns, e)
			same(rt, "Get", []any{va, oka}, []any{vb, okb})
			same(rt, "Count", a.Count(k, ns), b.Count(k, ns))
			var from, to []byte
			if rapid.Bool().Draw(rt, "bounded below") {
				from = e
			}
			if rapid.Bool().Draw(rt, "bounded above") {
				to = drawEntry(rt)
			}
			limit := rapid.SampledFrom([]int{3, 1 << 20}).Draw(rt, "limit")
			same(rt, "Range", entries(a, k, ns, from, to, limit), entries(b, k, ns, from, to, limit))
			if rapid.IntRange(0, 7).Draw(rt, "all") == 0 {
				same(rt, "All", allEntries(a), allEntries(b))
			}
		},
	})
}

func entries(m statebackend.Map, k statebackend.Key, ns, from, to []byte, limit int) (out []string) {
	m.Range(k, ns, from, to, func(e, v []byte) bool {
		out = append(out, shorten(e)+"="+shorten(v))
		return len(out) < limit
	})
	return out
}

// shorten makes a long byte string short for printing and keeps it telling.
func shorten(b []byte) string {
	if len(b) <= 40 {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%x..(%d bytes, %x)", b[len(b)-8:], len(b), xxh3.Hash(b))
}

func allEntries(m statebackend.Map) []string {
	byMap := map[string][]string{}
	m.All(func(k statebackend.Key, ns, e, v []byte) bool {
		id := fmt.Sprintf("%x %x %x", k.Hash, k.Bytes, ns)
		byMap[id] = append(byMap[id], shorten(e)+"="+shorten(v))
		return true
	})
	return flatten(byMap)
}
