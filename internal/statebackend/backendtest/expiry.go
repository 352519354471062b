package backendtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/expiry"
)

// expiries runs states that expire over the backend, on a virtual clock, beside a model that keeps the time of each unit's last
// write and looks at nothing else. Sweeps, cuts and restores at other key groups happen in between and must not show.
func expiries(rt *rapid.T, open Open) {
	w := &expiryWorld{open: open, now: expiry.Unknown}
	w.cfg.KeyWidth = 8
	w.cfg.Groups = keygroup.All()
	w.life = statebackend.Expiry{After: 10, OnRead: rapid.Bool().Draw(rt, "on read"), EventTime: rapid.Bool().Draw(rt, "event time")}
	if !w.life.EventTime {
		w.now = 1000
	}
	w.width = rapid.SampledFrom([]int{0, 8}).Draw(rt, "width")
	w.ns = rapid.SampledFrom([]int{0, 4}).Draw(rt, "namespace width")
	w.begin(rt)
	defer func() { _ = w.raw.Close() }()
	rt.Repeat(map[string]func(*rapid.T){
		"clock": func(rt *rapid.T) {
			first := w.now == expiry.Unknown
			w.now = max(w.now, 0) + int64(rapid.IntRange(0, 8).Draw(rt, "ms"))
			if first {
				w.readAll() // what has no time gets it when it is first met; let that be now
			}
		},
		"value": w.value, "list": w.list, "map": w.mapping,
		"restore": w.restore, "base": w.takeBase,
		"": w.compare,
	})
	w.sweepAll(rt)
}

type expiryWorld struct {
	open    Open
	cfg     statebackend.Config
	life    statebackend.Expiry
	width   int
	ns      int
	now     int64
	raw     statebackend.Keyed
	k       *expiry.Keyed
	v       statebackend.Value
	l       statebackend.List
	m       statebackend.Map
	units   []modelUnit // in the order of writing
	counted int64
	expired int64
	base    *expiryBase // a complete checkpoint of k, or nil
}

// modelUnit is a value, an element or an entry.
type modelUnit struct {
	state, user string
	key         int
	stamp       int64
	b           string
}

func (w *expiryWorld) begin(rt *rapid.T) {
	w.raw = w.open(w.cfg)
	now := func() int64 { return w.now }
	wrong := func() int64 { rt.Fatal("the wrong clock is read"); return 0 }
	clocks := expiry.Clocks{Processing: now, Event: wrong}
	if w.life.EventTime {
		clocks = expiry.Clocks{Processing: wrong, Event: now}
	}
	w.k = expiry.New(w.raw, w.cfg, clocks, func(string) func(int64) { return func(n int64) { w.counted += n } })
	d := statebackend.Descriptor{Width: w.width, NamespaceWidth: w.ns, Expiry: &w.life}
	var err [3]error
	d.Name = "v"
	w.v, err[0] = w.k.Value(d)
	d.Name = "l"
	w.l, err[1] = w.k.List(d)
	d.Name = "m"
	w.m, err[2] = w.k.Map(d)
	if err != [3]error{} {
		rt.Fatal(err)
	}
}

// at returns the n-th key and its namespace.
func (w *expiryWorld) at(n int) (statebackend.Key, []byte) {
	b := binary.BigEndian.AppendUint64(nil, uint64(n/2))
	ns := make([]byte, w.ns)
	if w.ns > 0 {
		ns[0] = byte(n % 2)
	}
	return statebackend.Key{Hash: xxh3.Hash(b), Bytes: b}, ns
}

func (w *expiryWorld) draw(rt *rapid.T) (n int, k statebackend.Key, ns []byte) {
	n = rapid.IntRange(0, 7).Draw(rt, "key")
	if w.ns == 0 {
		n = n / 2 * 2
	}
	k, ns = w.at(n)
	return n, k, ns
}

func (w *expiryWorld) bytes(rt *rapid.T) []byte {
	n := w.width
	if n == 0 {
		n = rapid.IntRange(0, 40).Draw(rt, "bytes")
	}
	return bytes.Repeat([]byte{rapid.Byte().Draw(rt, "value")}, n)
}

// prune gives what is new to the clock its time, and forgets what has expired.
func (w *expiryWorld) prune() {
	w.units = slices.DeleteFunc(w.units, func(u modelUnit) bool {
		gone := w.now != expiry.Unknown && u.stamp != expiry.Unknown && w.now >= u.stamp+w.life.After
		if gone {
			w.expired++
		}
		return gone
	})
}

// find returns the units of a state and key, those of one user key if it is not nil.
func (w *expiryWorld) find(state string, key int, user *string) (at []int) {
	w.prune()
	for i, u := range w.units {
		if u.state == state && u.key == key && (user == nil || u.user == *user) {
			at = append(at, i)
		}
	}
	if state == "m" {
		slices.SortFunc(at, func(a, b int) int { return bytes.Compare([]byte(w.units[a].user), []byte(w.units[b].user)) })
	}
	return at
}

// read returns what a read sees, and counts it as one.
func (w *expiryWorld) read(state string, key int, user *string) (out []string) {
	for _, i := range w.find(state, key, user) {
		u := &w.units[i]
		if w.now != expiry.Unknown && (w.life.OnRead || u.stamp == expiry.Unknown) {
			u.stamp = w.now
		}
		out = append(out, u.user+"="+u.b)
	}
	return out
}

func (w *expiryWorld) remove(state string, key int, user *string) bool {
	at := w.find(state, key, user)
	slices.Sort(at)
	for _, i := range slices.Backward(at) {
		w.units = slices.Delete(w.units, i, i+1)
	}
	return len(at) > 0
}

func (w *expiryWorld) add(state string, key int, user string, b []byte) {
	w.units = append(w.units, modelUnit{state, user, key, w.now, fmt.Sprintf("%x", b)})
}

func (w *expiryWorld) value(rt *rapid.T) {
	n, k, ns := w.draw(rt)
	switch rapid.IntRange(0, 3).Draw(rt, "what") {
	case 0:
		same(rt, "Clear", w.v.Clear(k, ns), w.remove("v", n, nil))
	case 1:
		if w.width == 0 {
			return
		}
		at := w.find("v", n, nil)
		p, created := w.v.Ref(k, ns)
		same(rt, "created", created, len(at) == 0)
		b := (*[8]byte)(p)
		if created {
			same(rt, "a new value", b[:], make([]byte, 8))
		}
		b[3]++
		w.remove("v", n, nil)
		w.add("v", n, "", b[:])
	default:
		b := w.bytes(rt)
		w.v.Put(k, ns, b)
		w.remove("v", n, nil)
		w.add("v", n, "", b)
	}
}

func (w *expiryWorld) list(rt *rapid.T) {
	n, k, ns := w.draw(rt)
	switch rapid.IntRange(0, 5).Draw(rt, "what") {
	case 0:
		same(rt, "Clear", w.l.Clear(k, ns), w.remove("l", n, nil))
	case 1:
		es := [][]byte{w.bytes(rt), w.bytes(rt)}
		w.l.Put(k, ns, es)
		w.remove("l", n, nil)
		w.add("l", n, "", es[0])
		w.add("l", n, "", es[1])
	default:
		b := w.bytes(rt)
		w.l.Append(k, ns, b)
		w.add("l", n, "", b)
	}
}

func (w *expiryWorld) mapping(rt *rapid.T) {
	n, k, ns := w.draw(rt)
	e := string('a' + rune(rapid.IntRange(0, 5).Draw(rt, "entry")))
	switch rapid.IntRange(0, 7).Draw(rt, "what") {
	case 0:
		same(rt, "Clear", w.m.Clear(k, ns), w.remove("m", n, nil))
	case 1:
		same(rt, "Remove", w.m.Remove(k, ns, []byte(e)), w.remove("m", n, &e))
	default:
		b := w.bytes(rt)
		w.m.Put(k, ns, []byte(e), b)
		w.remove("m", n, &e)
		w.add("m", n, e, b)
	}
}

func (w *expiryWorld) readAll() {
	for n := range 8 {
		k, ns := w.at(n)
		w.v.Get(k, ns)
		w.l.Each(k, ns, func([]byte) bool { return true })
		w.m.Range(k, ns, nil, nil, func(_, _ []byte) bool { return true })
		for _, state := range []string{"v", "l", "m"} {
			w.read(state, n, nil)
		}
	}
}

func (w *expiryWorld) compare(rt *rapid.T) {
	n, k, ns := w.draw(rt)
	switch rapid.IntRange(0, 5).Draw(rt, "look") {
	case 0:
		var got []string
		if b, ok := w.v.Get(k, ns); ok {
			got = append(got, fmt.Sprintf("=%x", b))
		}
		same(rt, "Get", got, w.read("v", n, nil))
	case 1:
		var got []string
		w.l.Each(k, ns, func(e []byte) bool { got = append(got, fmt.Sprintf("=%x", e)); return true })
		same(rt, "Each", got, w.read("l", n, nil))
	case 2:
		var got []string
		w.m.Range(k, ns, nil, nil, func(e, b []byte) bool { got = append(got, fmt.Sprintf("%s=%x", e, b)); return true })
		same(rt, "Range", got, w.read("m", n, nil))
	case 3:
		e := "b"
		var got []string
		if b, ok := w.m.Get(k, ns, []byte(e)); ok {
			got = append(got, fmt.Sprintf("%s=%x", e, b))
		}
		same(rt, "Get of an entry", got, w.read("m", n, &e))
	case 4:
		same(rt, "Count", w.l.Count(k, ns), len(w.find("l", n, nil)))
		same(rt, "Count of entries", w.m.Count(k, ns), len(w.find("m", n, nil)))
	case 5:
		w.prune()
		same(rt, "All", allValues(w.v), w.all("v"))
	}
	w.prune()
	if w.counted > w.expired {
		rt.Fatalf("%d units were counted as expired, only %d have", w.counted, w.expired)
	}
}

// all prints what the model has of a state, as allValues does.
func (w *expiryWorld) all(state string) []string {
	var out []string
	for _, u := range w.units {
		if k, ns := w.at(u.key); u.state == state {
			out = append(out, fmt.Sprintf("%x %x %x=%s", k.Hash, k.Bytes, ns, u.b))
		}
	}
	slices.Sort(out)
	return out
}

// restore goes on in a new backend from a cut, in which nothing is that has expired.
func (w *expiryWorld) restore(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "really") > 0 {
		return
	}
	w.prune()
	parts, err := statebackend.CutOf(w.k)
	if err != nil {
		rt.Fatal(err)
	}
	defer release(parts)
	ds := w.k.Descriptors()
	old := w.raw
	var merged [][]rawUnit
	if w.base != nil {
		merged = w.base.with(rt, parts)
		w.base = nil
	}
	w.begin(rt)
	defer old.Close()
	n := 0
	for i, p := range parts {
		d := ds[i]
		v, _ := w.k.Value(d)
		l, _ := w.k.List(d)
		m, _ := w.k.Map(d)
		load := func(k statebackend.Key, ns, user, b []byte) bool {
			n++
			switch d.Kind {
			case statebackend.KindValue:
				v.Put(k, ns, b)
			case statebackend.KindList:
				l.Append(k, ns, b)
			default:
				m.Put(k, ns, user, b)
			}
			return true
		}
		if merged != nil {
			for _, u := range merged[i] {
				// Changes hold what has expired; in the whole it would be left out.
				if at := int64(binary.LittleEndian.Uint64(u.value)); w.now == expiry.Unknown || at == expiry.Unknown || w.now < at+w.life.After {
					load(u.key, u.ns, u.user, u.value)
				}
			}
		} else if err := statebackend.Each(p.Data, keygroup.All(), load); err != nil {
			rt.Fatal(err)
		}
	}
	same(rt, "units in the cut", n, len(w.units))
}

// expiryBase is what a cut holds, with the marks of its states.
type expiryBase struct {
	marks []uint64
	units [][]rawUnit
}

type rawUnit struct {
	key             statebackend.Key
	ns, user, value []byte
}

func rawOf(k statebackend.Key, ns, user, value []byte) rawUnit {
	k.Bytes = bytes.Clone(k.Bytes)
	return rawUnit{k, bytes.Clone(ns), bytes.Clone(user), bytes.Clone(value)}
}

// takeBase takes a checkpoint upon which the next restore is built, if the backend knows what changes.
func (w *expiryWorld) takeBase(rt *rapid.T) {
	parts, err := statebackend.CutOf(w.k)
	if err != nil {
		rt.Fatal(err)
	}
	defer release(parts)
	b := &expiryBase{}
	for _, p := range parts {
		c, ok := p.Data.(statebackend.Changing)
		if !ok {
			return
		}
		b.marks = append(b.marks, c.Mark())
		var units []rawUnit
		if err := statebackend.Each(p.Data, keygroup.All(), func(k statebackend.Key, ns, user, value []byte) bool {
			units = append(units, rawOf(k, ns, user, value))
			return true
		}); err != nil {
			rt.Fatal(err)
		}
		b.units = append(b.units, units)
		c.Complete()
	}
	w.base = b
}

// with returns what the parts hold, by the changes since.
func (b *expiryBase) with(rt *rapid.T, parts []statebackend.Part) [][]rawUnit {
	for i, p := range parts {
		units := b.units[i]
		if !p.Data.(statebackend.Changing).Changes(b.marks[i], keygroup.All(), func(k statebackend.Key, ns, user, value []byte, removed bool) bool {
			if removed || p.State.Kind != "list" {
				units = slices.DeleteFunc(units, func(u rawUnit) bool {
					return bytes.Equal(u.key.Bytes, k.Bytes) && bytes.Equal(u.ns, ns) && (removed && user == nil || bytes.Equal(u.user, user))
				})
			}
			if !removed {
				units = append(units, rawOf(k, ns, user, value))
			}
			return true
		}) {
			// The mark that turns the memory of changes on belongs to the first cut, or the one after.
			rt.Fatalf("changes of %s are not known", p.State.Name)
		}
		b.units[i] = units
	}
	return b.units
}

// sweepAll lets everything expire: a sweep finds it, although nobody asks for it.
func (w *expiryWorld) sweepAll(rt *rapid.T) {
	w.now = max(w.now, 0) + 100
	k, ns := w.at(1000)
	again := func() {
		for range 3000 {
			w.v.Get(k, ns)
			w.l.Count(k, ns)
			w.m.Count(k, ns)
		}
	}
	again() // what had no time has one now
	w.now += 100
	again()
	for _, d := range w.raw.Descriptors() {
		left := 0
		f := func(statebackend.Key, []byte, []byte) bool { left++; return true }
		switch d.Kind {
		case statebackend.KindValue:
			v, _ := w.raw.Value(d)
			v.All(f)
		case statebackend.KindList:
			l, _ := w.raw.List(d)
			l.All(f)
		default:
			m, _ := w.raw.Map(d)
			m.All(func(k statebackend.Key, ns, _, b []byte) bool { return f(k, ns, b) })
		}
		if left > 0 {
			rt.Fatalf("%d expired units are left in %s", left, d.Name)
		}
	}
}
