package backendtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/model"
)

// lives runs a backend with one state of each kind through changes, cuts that are read while it goes on, and restores
// from cuts into a new backend that owns other key groups.
func lives(rt *rapid.T, open Open) {
	w := newLife(rt, open)
	defer w.end(rt)
	rt.Repeat(map[string]func(*rapid.T){
		"value": w.changeValue, "list": w.changeList, "map": w.changeMap,
		"cut": w.cut, "read cut": w.readCut, "read cut beside": w.readBeside, "release cut": w.releaseCut,
		"restore": w.restore,
		"":        w.compare,
	})
}

// life is a backend beside the model, and the cuts that were taken of it.
type life struct {
	open        Open
	cfg         statebackend.Config
	ds          [3]statebackend.Descriptor
	test, model side
	cuts        []*cut
	beside      []chan string
}

// side is a backend with its states.
type side struct {
	k statebackend.Keyed
	v statebackend.Value
	l statebackend.List
	m statebackend.Map
}

// cut is a cut of the backend, and what the model held then.
type cut struct {
	parts []statebackend.Part
	want  []statebackend.Part
	busy  bool // a goroutine reads it
}

func newLife(rt *rapid.T, open Open) *life {
	w := &life{open: open}
	w.cfg.KeyWidth = rapid.SampledFrom([]int{0, 8}).Draw(rt, "key width")
	w.drawGroups(rt)
	for i, name := range []string{"v", "l", "m"} {
		w.ds[i] = statebackend.Descriptor{
			Name: name, Kind: statebackend.Kind(i + 1), Width: rapid.SampledFrom([]int{0, 8}).Draw(rt, "width"),
			NamespaceWidth: rapid.SampledFrom([]int{0, 4, statebackend.VariableNamespace}).Draw(rt, "namespace width"),
			Ordered:        rapid.Bool().Draw(rt, "ordered"),
		}
	}
	w.begin(rt)
	return w
}

func (w *life) drawGroups(rt *rapid.T) {
	p := rapid.IntRange(1, 3).Draw(rt, "parallelism")
	w.cfg.Groups = keygroup.RangeOf(rapid.IntRange(0, p-1).Draw(rt, "subtask"), p)
}

// begin makes both sides anew.
func (w *life) begin(rt *rapid.T) {
	for s, k := range map[*side]statebackend.Keyed{&w.test: w.open(w.cfg), &w.model: model.New(w.cfg)} {
		s.k = k
		var err [3]error
		s.v, err[0] = k.Value(w.ds[0])
		s.l, err[1] = k.List(w.ds[1])
		s.m, err[2] = k.Map(w.ds[2])
		for _, e := range err {
			if e != nil {
				rt.Fatal(e)
			}
		}
	}
}

func (w *life) end(rt *rapid.T) {
	for _, b := range w.beside {
		<-b
	}
	for _, c := range w.cuts {
		release(c.parts)
	}
	if err := w.test.k.Close(); err != nil {
		rt.Errorf("Close: %v", err)
	}
}

func release(parts []statebackend.Part) {
	for _, p := range parts {
		p.Data.Release()
	}
}

// key draws a key that the backend owns; the hash of each is the same for every range.
func (w *life) key(rt *rapid.T) statebackend.Key {
	var own []statebackend.Key
	for n := range 24 {
		b := bytes.Repeat([]byte{7}, n+1)
		if w.cfg.KeyWidth > 0 {
			b = binary.BigEndian.AppendUint64(nil, uint64(n))
		}
		if h := xxh3.Hash(b); w.cfg.Groups.ContainsHash(h) {
			own = append(own, statebackend.Key{Hash: h, Bytes: b})
		}
	}
	return rapid.SampledFrom(own).Draw(rt, "key")
}

func (w *life) ns(rt *rapid.T, d int) []byte {
	switch n := w.ds[d].NamespaceWidth; n {
	case 0:
		return nil
	case statebackend.VariableNamespace:
		return bytes.Repeat([]byte{7}, rapid.IntRange(0, 2).Draw(rt, "namespace"))
	default:
		return append([]byte{byte(rapid.IntRange(0, 1).Draw(rt, "namespace"))}, make([]byte, n-1)...)
	}
}

func (w *life) bytes(rt *rapid.T, d int) []byte {
	n := w.ds[d].Width
	if n == 0 {
		n = rapid.IntRange(0, 70).Draw(rt, "bytes")
	}
	return bytes.Repeat([]byte{rapid.Byte().Draw(rt, "value")}, n)
}

func (w *life) changeValue(rt *rapid.T) {
	k, ns, a, b := w.key(rt), w.ns(rt, 0), w.test.v, w.model.v
	switch rapid.IntRange(0, 3).Draw(rt, "what") {
	case 0:
		same(rt, "Clear", a.Clear(k, ns), b.Clear(k, ns))
	case 1:
		x := w.bytes(rt, 0)
		a.Put(k, ns, x)
		b.Put(k, ns, x)
	default:
		if w.ds[0].Width == 0 {
			return
		}
		pa, ca := a.Ref(k, ns)
		pb, cb := b.Ref(k, ns)
		same(rt, "created", ca, cb)
		*(*uint64)(pa)++
		*(*uint64)(pb)++
		same(rt, "in place", *(*[8]byte)(pa), *(*[8]byte)(unsafe.Pointer(pb)))
	}
}

func (w *life) changeList(rt *rapid.T) {
	k, ns, a, b := w.key(rt), w.ns(rt, 1), w.test.l, w.model.l
	switch rapid.IntRange(0, 5).Draw(rt, "what") {
	case 0:
		same(rt, "Clear", a.Clear(k, ns), b.Clear(k, ns))
	case 1:
		es := [][]byte{w.bytes(rt, 1), w.bytes(rt, 1)}
		a.Put(k, ns, es)
		b.Put(k, ns, es)
	default:
		for range rapid.IntRange(1, 4).Draw(rt, "n") {
			x := w.bytes(rt, 1)
			a.Append(k, ns, x)
			b.Append(k, ns, x)
		}
	}
}

func (w *life) changeMap(rt *rapid.T) {
	k, ns, a, b := w.key(rt), w.ns(rt, 2), w.test.m, w.model.m
	from := rapid.IntRange(0, 30).Draw(rt, "entry")
	entry := func(i int) []byte { return fmt.Appendf(nil, "%03d", from+i) }
	switch rapid.IntRange(0, 7).Draw(rt, "what") {
	case 0:
		same(rt, "Clear", a.Clear(k, ns), b.Clear(k, ns))
	case 1, 2:
		for i := range rapid.IntRange(1, 10).Draw(rt, "n") {
			same(rt, "Remove", a.Remove(k, ns, entry(i)), b.Remove(k, ns, entry(i)))
		}
	default:
		x := w.bytes(rt, 2)
		for i := range rapid.IntRange(1, 20).Draw(rt, "n") {
			a.Put(k, ns, entry(i), x)
			b.Put(k, ns, entry(i), x)
		}
	}
}

func (w *life) compare(rt *rapid.T) {
	k, ns := w.key(rt), w.ns(rt, 0)
	va, oka := w.test.v.Get(k, ns)
	vb, okb := w.model.v.Get(k, ns)
	same(rt, "Get", []any{va, oka}, []any{vb, okb})
	ns = w.ns(rt, 1)
	same(rt, "Each", elements(w.test.l, k, ns, 1000), elements(w.model.l, k, ns, 1000))
	ns = w.ns(rt, 2)
	same(rt, "Range", entries(w.test.m, k, ns, nil, nil, 1000), entries(w.model.m, k, ns, nil, nil, 1000))
	if err := w.test.k.Err(); err != nil {
		rt.Fatalf("Err: %v", err)
	}
}

func (w *life) take(rt *rapid.T) *cut {
	c := &cut{}
	var err error
	if c.parts, err = statebackend.CutOf(w.test.k); err != nil {
		rt.Fatalf("Cut: %v", err)
	}
	if c.want, err = statebackend.CopyOf(w.model.k); err != nil {
		rt.Fatal(err)
	}
	for i, p := range c.parts {
		same(rt, "State", p.State, c.want[i].State)
	}
	return c
}

func (w *life) cut(rt *rapid.T) {
	if len(w.cuts) < 4 {
		w.cuts = append(w.cuts, w.take(rt))
	}
}

// pick draws a cut that no goroutine reads, or nil.
func (w *life) pick(rt *rapid.T) *cut {
	free := slices.DeleteFunc(slices.Clone(w.cuts), func(c *cut) bool { return c.busy })
	if len(free) == 0 {
		return nil
	}
	return rapid.SampledFrom(free).Draw(rt, "cut")
}

func drawRange(rt *rapid.T) keygroup.Range {
	p := rapid.IntRange(1, 5).Draw(rt, "parts")
	return keygroup.RangeOf(rapid.IntRange(0, p-1).Draw(rt, "part"), p)
}

func (w *life) readCut(rt *rapid.T) {
	if c := w.pick(rt); c != nil {
		if diff := c.diff(drawRange(rt)); diff != "" {
			rt.Fatal(diff)
		}
	}
}

// readBeside lets a goroutine read a cut while the task goes on. The cut is released by it.
func (w *life) readBeside(rt *rapid.T) {
	c := w.pick(rt)
	if c == nil {
		return
	}
	c.busy = true
	groups, done := drawRange(rt), make(chan string, 1)
	go func() { done <- c.diff(groups) }()
	w.beside = append(w.beside, done)
	if len(w.beside) < 3 {
		return
	}
	w.join(rt)
}

func (w *life) join(rt *rapid.T) {
	for _, done := range w.beside {
		if diff := <-done; diff != "" {
			rt.Fatal(diff)
		}
	}
	w.beside = nil
	for _, c := range w.cuts {
		c.busy = false
	}
}

func (w *life) releaseCut(rt *rapid.T) {
	c := w.pick(rt)
	if c == nil {
		return
	}
	release(c.parts)
	release(c.parts)
	w.cuts = slices.DeleteFunc(w.cuts, func(o *cut) bool { return o == c })
}

// diff compares a cut with what the model held, and returns what is wrong.
func (c *cut) diff(groups keygroup.Range) string {
	for i, p := range c.parts {
		var last keygroup.Group
		_, ordered := p.Data.(statebackend.Ordered)
		unordered := ""
		got, err := units(p.Data, groups, func(k statebackend.Key) {
			if g := keygroup.Of(k.Hash); ordered && g < last {
				unordered = fmt.Sprintf("%s: group %d comes after %d", p.State.Name, g, last)
			} else {
				last = g
			}
		})
		want, _ := units(c.want[i].Data, groups, func(statebackend.Key) {})
		switch {
		case err != nil:
			return fmt.Sprintf("%s: %v", p.State.Name, err)
		case unordered != "":
			return unordered
		case !slices.Equal(got, want):
			return fmt.Sprintf("the cut of %s has\n%s\nthe model had\n%s", p.State.Name, got, want)
		}
	}
	return ""
}

// units prints what a frozen state holds: for each key and namespace its units, elements of lists in their order.
func units(from statebackend.Frozen, groups keygroup.Range, see func(statebackend.Key)) ([]string, error) {
	by, isMap := map[string][]string{}, false
	err := statebackend.Each(from, groups, func(k statebackend.Key, ns, user, value []byte) bool {
		see(k)
		id := fmt.Sprintf("%x %x %x", k.Hash, k.Bytes, ns)
		by[id] = append(by[id], fmt.Sprintf("%x=%s", user, shorten(value)))
		isMap = isMap || user != nil
		return true
	})
	if isMap {
		anyOrder(by)
	}
	return flatten(by), err
}

// restore goes on in a new backend from a cut, with other key groups.
func (w *life) restore(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "really") > 0 {
		return
	}
	w.join(rt)
	c := w.take(rt)
	defer release(c.parts)
	old := w.cfg.Groups
	w.drawGroups(rt)
	was := w.test
	w.begin(rt)
	if err := was.k.Close(); err != nil { // a cut outlives its backend
		rt.Fatalf("Close: %v", err)
	}
	groups := old.Intersect(w.cfg.Groups)
	for i := range c.parts {
		if err := w.test.load(c.parts[i], groups); err != nil {
			rt.Fatal(err)
		}
		if err := w.model.load(c.want[i], groups); err != nil {
			rt.Fatal(err)
		}
	}
}

func (s *side) load(p statebackend.Part, groups keygroup.Range) error {
	return statebackend.Each(p.Data, groups, func(k statebackend.Key, ns, user, value []byte) bool {
		switch p.State.Name {
		case "v":
			s.v.Put(k, ns, value)
		case "l":
			s.l.Append(k, ns, value)
		default:
			s.m.Put(k, ns, user, value)
		}
		return true
	})
}
