package backendtest

import (
	"bytes"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
)

// cutWorld is a backend with a state of each kind beside the model, and cuts that are being read.
type cutWorld struct {
	*world
	kinds   [2]kinds // of the backend and of the model
	pending []*reading
}

type kinds struct {
	v statebackend.Value
	l statebackend.List
	m statebackend.Map
}

// reading is a cut that another goroutine reads.
type reading struct {
	parts []statebackend.Part
	want  []string
	got   chan []string
	begin func() // lets the reader begin
}

func newCutWorld(rt *rapid.T, open Open) *cutWorld {
	w := &cutWorld{world: newWorld(rt, open)}
	for i, k := range []statebackend.Keyed{w.test, w.model} {
		var errs [3]error
		d := w.d
		d.Name = "v"
		w.kinds[i].v, errs[0] = k.Value(d)
		d.Name = "l"
		w.kinds[i].l, errs[1] = k.List(d)
		d.Name = "m"
		w.kinds[i].m, errs[2] = k.Map(d)
		if errs != [3]error{} {
			rt.Fatal(errs)
		}
	}
	return w
}

// cuts checks that a cut says what the state was at that moment, whatever happens to the state while the cut is read on
// another goroutine.
func cuts(rt *rapid.T, open Open) {
	w := newCutWorld(rt, open)
	defer func() {
		for _, r := range w.pending {
			r.begin()
			<-r.got
		}
		_ = w.test.Close()
	}()
	rt.Repeat(map[string]func(*rapid.T){
		"values": w.values,
		"lists":  w.lists,
		"maps":   w.maps,
		"cut":    w.cut,
		"join": func(rt *rapid.T) {
			if len(w.pending) > 0 {
				w.join(rt, rapid.IntRange(0, len(w.pending)-1).Draw(rt, "which"))
			}
		},
	})
	for len(w.pending) > 0 {
		w.join(rt, 0)
	}
}

func (w *cutWorld) values(rt *rapid.T) {
	from, n, v := rapid.IntRange(0, 300).Draw(rt, "key"), rapid.IntRange(1, 150).Draw(rt, "n"), w.drawValue(rt)
	ns, clear := w.drawNS(rt), rapid.IntRange(0, 2).Draw(rt, "clear") == 0
	for i := range n {
		for _, k := range w.kinds {
			if clear {
				k.v.Clear(w.key(from+i), ns)
			} else {
				k.v.Put(w.key(from+i), ns, v)
			}
		}
	}
}

func (w *cutWorld) lists(rt *rapid.T) {
	from, n, v := rapid.IntRange(0, 40).Draw(rt, "key"), rapid.IntRange(1, 20).Draw(rt, "n"), w.drawValue(rt)
	ns, op := w.drawNS(rt), rapid.IntRange(0, 3).Draw(rt, "op")
	for i := range n {
		for _, k := range w.kinds {
			switch op {
			case 0:
				k.l.Clear(w.key(from+i), ns)
			case 1:
				k.l.Put(w.key(from+i), ns, [][]byte{v, v})
			default:
				k.l.Append(w.key(from+i/op), ns, v)
			}
		}
	}
}

func (w *cutWorld) maps(rt *rapid.T) {
	key, from, v := w.drawKey(rt), rapid.IntRange(0, 1000).Draw(rt, "entry"), w.drawValue(rt)
	ns, op, n := w.drawNS(rt), rapid.IntRange(0, 9).Draw(rt, "op"), rapid.IntRange(1, 100).Draw(rt, "n")
	for i := range n {
		e := fmt.Appendf(nil, "entry %05d", from+i)
		for _, k := range w.kinds {
			switch {
			case op == 0:
				k.m.Clear(key, ns)
			case op < 4:
				k.m.Remove(key, ns, e)
			default:
				k.m.Put(key, ns, e, v)
			}
		}
	}
}

func (w *cutWorld) cut(rt *rapid.T) {
	parts, err := statebackend.CutOf(w.test)
	if err != nil {
		rt.Fatal(err)
	}
	copied, err := statebackend.CopyOf(w.model)
	if err != nil {
		rt.Fatal(err)
	}
	r := &reading{parts: parts, got: make(chan []string, 1)}
	for i, p := range copied {
		r.want = append(r.want, all(p, w.cfg.Groups, 0)...)
		if a, b := p.State, parts[i].State; a.Name != b.Name || a.Kind != b.Kind || a.Width != b.Width || a.NamespaceWidth != b.NamespaceWidth {
			rt.Fatalf("part %d is %+v, not %+v", i, b, a)
		}
	}
	how := rapid.IntRange(0, 3).Draw(rt, "way of reading")
	w.pending = append(w.pending, r)
	begin := make(chan struct{})
	if r.begin = func() { close(begin) }; rapid.Bool().Draw(rt, "at once") {
		close(begin)
		r.begin = func() {}
	}
	go func() {
		<-begin
		var got []string
		for _, p := range parts {
			if how == 2 {
				_ = all(p, w.cfg.Groups, 0) // reading again says the same
			}
			got = append(got, all(p, w.cfg.Groups, how)...)
		}
		r.got <- got
	}()
}

// join waits for the reader of a cut and compares.
func (w *cutWorld) join(rt *rapid.T, i int) {
	r := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	r.begin()
	got := <-r.got
	for _, p := range r.parts {
		p.Data.Release()
		p.Data.Release()
	}
	sameLines(rt, "cut", got, r.want)
}

// sameLines compares two sorted lists of lines and shows what only one has.
func sameLines(rt rapid.TB, what string, got, want []string) {
	rt.Helper()
	only := func(a, b []string) (out []string) {
		for _, x := range a {
			if _, ok := slices.BinarySearch(b, x); !ok {
				out = append(out, x[:min(len(x), 300)])
			}
		}
		return out[:min(len(out), 3)]
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		rt.Fatalf("%s of %d lines, of which the model lacks %q;\nit has %d, of which these are missing: %q", what, len(got), only(got, want), len(want), only(want, got))
	}
}

// all returns what a part shows, one line a key and namespace, sorted.
func all(p statebackend.Part, groups keygroup.Range, how int) []string {
	bySeq := map[string][]string{}
	last, group := "", keygroup.Group(0)
	_, ordered := p.Data.(statebackend.Ordered)
	visit := func(k statebackend.Key, ns, user, value []byte) bool {
		id := fmt.Sprintf("%s %x %x %x", p.State.Name, k.Hash, k.Bytes, ns)
		if id != last && bySeq[id] != nil || ordered && keygroup.Of(k.Hash) < group || !groups.ContainsHash(k.Hash) {
			bySeq[id] = append(bySeq[id], "OUT OF ORDER")
		}
		last, group = id, keygroup.Of(k.Hash)
		if (user != nil) != (p.State.Kind == "map") {
			bySeq[id] = append(bySeq[id], "KIND")
		}
		bySeq[id] = append(bySeq[id], shorten(user)+"="+shorten(bytes.Clone(value)))
		return true
	}
	d, drains := p.Data.(statebackend.Drainer)
	switch {
	case how == 1 && drains:
		d.Drain(visit)
	case how == 3:
		mid := groups.From + keygroup.Group(groups.Len()/3)
		for _, r := range []keygroup.Range{{From: 0, To: mid}, {From: mid, To: keygroup.Count}} {
			group = 0
			p.Data.Each(r, visit)
		}
	default:
		p.Data.Each(keygroup.All(), visit)
	}
	if p.State.Kind == snapshot.KindMap {
		anyOrder(bySeq)
	}
	return flatten(bySeq)
}
