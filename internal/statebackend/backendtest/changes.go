package backendtest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// content is what a state holds: units by key and namespace, then by user key.
type content map[string]map[string][]string

func (c content) add(k statebackend.Key, ns, user, value []byte) {
	id := fmt.Sprintf("%x %x %x", k.Hash, k.Bytes, ns)
	if c[id] == nil {
		c[id] = map[string][]string{}
	}
	// Units of one list add up, others replace each other.
	u := string(user)
	if user == nil {
		u = "\xff"
	}
	c[id][u] = append(c[id][u], shorten(value))
}

func (c content) lines() []string {
	var out []string
	for id, units := range c {
		for u, values := range units {
			out = append(out, fmt.Sprint(id, " ", shorten([]byte(u)), values))
		}
	}
	slices.Sort(out)
	return out
}

func (c content) clone() content {
	out := content{}
	for id, units := range c {
		out[id] = map[string][]string{}
		for u, values := range units {
			out[id][u] = slices.Clone(values)
		}
	}
	return out
}

// apply makes the changes, as a restore would. It returns what is wrong with their order.
func (c content) apply(kind string, groups keygroup.Range, changes func(keygroup.Range, statebackend.VisitChange) bool) string {
	seen, last, wrong := map[string]bool{}, "", ""
	ok := changes(groups, func(k statebackend.Key, ns, user, value []byte, removed bool) bool {
		id := fmt.Sprintf("%x %x %x", k.Hash, k.Bytes, ns)
		if id != last && seen[id] {
			wrong = "changes of one key do not follow one another"
		}
		seen[id], last = true, id
		switch {
		case removed && value != nil:
			wrong = "a removal with a value"
		case removed && user == nil:
			delete(c, id)
		case removed:
			delete(c[id], string(user))
			if len(c[id]) == 0 {
				delete(c, id)
			}
		default:
			if kind != "list" && c[id] != nil {
				u := string(user)
				if user == nil {
					u = "\xff"
				}
				delete(c[id], u)
			}
			c.add(k, ns, user, value)
		}
		return true
	})
	if !ok {
		return "not known"
	}
	return wrong
}

// checkpoint is a cut of all states, and what they held.
type checkpoint struct {
	number  int
	parts   []statebackend.Part
	want    []content
	since   *checkpoint
	marks   []uint64
	got     chan []content
	wrong   []string
	unknown bool
}

// changesWorld takes checkpoints of a backend, of which some become complete, and builds each upon the last complete one.
type changesWorld struct {
	*cutWorld
	taken    int
	complete *checkpoint
	pending  []*checkpoint
}

// changes checks that a complete checkpoint and the changes since say what the state is, whatever happens to the state while
// they are read and whichever checkpoints fail.
func changes(rt *rapid.T, open Open) {
	w := &changesWorld{cutWorld: newCutWorld(rt, open)}
	defer func() { _ = w.test.Close() }()
	if _, ok := w.test.(statebackend.Cutter); !ok {
		return
	}
	for _, p := range w.take(rt) {
		c, ok := p.Data.(statebackend.Changing)
		if !ok {
			return
		}
		c.Mark()
		c.Release()
	}
	rt.Repeat(map[string]func(*rapid.T){
		"values":     w.values,
		"lists":      w.lists,
		"maps":       w.maps,
		"checkpoint": w.checkpoint,
		"end": func(rt *rapid.T) {
			if len(w.pending) > 0 {
				w.end(rt, rapid.IntRange(0, len(w.pending)-1).Draw(rt, "which"), rapid.IntRange(0, 2).Draw(rt, "fate") > 0)
			}
		},
	})
	for len(w.pending) > 0 {
		w.end(rt, 0, false)
	}
}

func (w *changesWorld) take(rt *rapid.T) []statebackend.Part {
	parts, err := statebackend.CutOf(w.test)
	if err != nil {
		rt.Fatal(err)
	}
	return parts
}

func (w *changesWorld) checkpoint(rt *rapid.T) {
	w.taken++
	c := &checkpoint{number: w.taken, parts: w.take(rt), since: w.complete, got: make(chan []content, 1)}
	copied, err := statebackend.CopyOf(w.model)
	if err != nil {
		rt.Fatal(err)
	}
	for i, p := range copied {
		want := content{}
		p.Data.Each(keygroup.All(), func(k statebackend.Key, ns, user, value []byte) bool {
			want.add(k, ns, user, value)
			return true
		})
		c.want = append(c.want, want)
		c.marks = append(c.marks, c.parts[i].Data.(statebackend.Changing).Mark())
	}
	late := rapid.Bool().Draw(rt, "late")
	split := rapid.Bool().Draw(rt, "in two ranges")
	w.pending = append(w.pending, c)
	if !late {
		go c.read(split)
	} else {
		c.wrong = []string{"late"}
	}
	if c.since == nil {
		return
	}
	for i := range c.parts {
		if c.marks[i] < c.since.marks[i] {
			rt.Fatalf("mark %d after %d", c.marks[i], c.since.marks[i])
		}
		if c.marks[i] == c.since.marks[i] {
			sameLines(rt, "state of the same mark", c.since.want[i].lines(), c.want[i].lines())
		}
	}
}

func (c *checkpoint) read(split bool) {
	var out []content
	for i, p := range c.parts {
		now := content{}
		if c.since == nil {
			p.Data.Each(keygroup.All(), func(k statebackend.Key, ns, user, value []byte) bool {
				now.add(k, ns, user, value)
				return true
			})
			out = append(out, now)
			continue
		}
		now = c.since.want[i].clone()
		ranges := []keygroup.Range{keygroup.All()}
		if split {
			ranges = []keygroup.Range{{From: 0, To: 9000}, {From: 9000, To: keygroup.Count}}
		}
		for _, r := range ranges {
			switch wrong := now.apply(string(p.State.Kind), r, func(r keygroup.Range, f statebackend.VisitChange) bool {
				return p.Data.(statebackend.Changing).Changes(c.since.marks[i], r, f)
			}); wrong {
			case "":
			case "not known":
				c.unknown = true
			default:
				c.wrong = append(c.wrong, p.State.Name+": "+wrong)
			}
		}
		out = append(out, now)
	}
	c.got <- out
}

// end waits for the reader of a checkpoint and decides about it.
func (w *changesWorld) end(rt *rapid.T, i int, complete bool) {
	c := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	if slices.Equal(c.wrong, []string{"late"}) {
		c.wrong = nil
		c.read(false)
	}
	got := <-c.got
	if len(c.wrong) > 0 {
		rt.Fatal(strings.Join(c.wrong, "; "))
	}
	switch {
	case !c.unknown:
		for j := range got {
			sameLines(rt, "state "+c.parts[j].State.Name+" by its changes", got[j].lines(), c.want[j].lines())
		}
	case c.number-c.since.number < 5:
		rt.Fatalf("changes of checkpoint %d since %d are not known", c.number, c.since.number)
	}
	for _, p := range c.parts {
		p.Data.Release()
		if complete {
			p.Data.(statebackend.Changing).Complete()
		}
	}
	if complete && (w.complete == nil || c.number > w.complete.number) {
		w.complete = c
	}
}
