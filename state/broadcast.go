package state

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/codec"
)

// BroadcastDescriptor declares a broadcast state: a map from K to V that every subtask has a copy of.
type BroadcastDescriptor[K, V any] struct {
	name string
	from migrations
}

// BroadcastOf declares a broadcast state. K must be a type that could be the key of a stream, V one that could be kept as
// state by key.
func BroadcastOf[K, V any](name string) BroadcastDescriptor[K, V] {
	return BroadcastDescriptor[K, V]{name: name}
}

// Migrate is what it is for ValueDescriptor, for the value of each entry. The type of the keys cannot change.
func (d BroadcastDescriptor[K, V]) Migrate[Old any](f func(Old) (V, error)) BroadcastDescriptor[K, V] {
	d.from = migrating(d.from, f)
	return d
}

// Broadcasts holds the broadcast states of one instance of a function. The zero value is ready. The engine keeps one; it
// belongs to the goroutine of its task.
type Broadcasts struct {
	all  []named
	left map[string][]byte // what an earlier run has left and nobody has opened yet, by name
}

type named struct {
	name  string
	state openBlob // *broadcast[K, V]
}

// openBlob is a broadcast state or a list of any type.
type openBlob interface {
	save() []byte
	types() (keys *codec.Schema, values *codec.Values)
}

// Types calls f with the types of each open state: a *codec.Schema of the keys and the *codec.Values. The engine calls it to
// plan a restore.
func (in *Broadcasts) Types(f func(name string, keys, values any)) {
	for _, n := range in.all {
		keys, values := n.state.types()
		f(n.name, keys, values)
	}
}

// Restore takes a state as it was saved. The engine calls it before a state is opened.
func (in *Broadcasts) Restore(name string, data []byte) {
	if in.left == nil {
		in.left = map[string][]byte{}
	}
	in.left[name] = data
}

// Save calls f with each state as bytes. The engine calls it at a checkpoint.
func (in *Broadcasts) Save(f func(name string, data []byte)) {
	for _, n := range in.all {
		f(n.name, n.state.save())
	}
	for _, name := range slices.Sorted(maps.Keys(in.left)) {
		f(name, in.left[name])
	}
}

// broadcast keeps values as Go values, because they are read for each row and changed seldom.
type broadcast[K, V any] struct {
	guard
	keys    *codec.KeyCodec[K]
	values  *codec.Codec[V]
	typ     *codec.Values
	buf     []byte
	entries map[string]*broadcastEntry[K, V] // by encoded key
	sorted  []*broadcastEntry[K, V]          // by encoded key; nil after a key was added or removed
}

type broadcastEntry[K, V any] struct {
	enc   string
	key   K
	value V
}

// OpenBroadcast returns the handle of a broadcast state. The engine calls it; functions use their context's Broadcast.
func OpenBroadcast[K, V any](in *Broadcasts, d BroadcastDescriptor[K, V]) (Broadcast[K, V], error) {
	for i := range in.all {
		if in.all[i].name != d.name {
			continue
		}
		if s, ok := in.all[i].state.(*broadcast[K, V]); ok {
			return Broadcast[K, V]{BroadcastReader[K, V]{s}}, nil
		}
		return Broadcast[K, V]{}, fmt.Errorf("broadcast state %q is opened with other types than before: give the two states different names", d.name)
	}
	kc, err := codec.KeyFor[K]()
	if err != nil {
		return Broadcast[K, V]{}, err
	}
	vc, err := codec.For[V]()
	if err != nil {
		return Broadcast[K, V]{}, err
	}
	typ, err := valuesOf[V](d.from)
	if err != nil {
		return Broadcast[K, V]{}, opening(d.name, err)
	}
	s := &broadcast[K, V]{guard: guard{name: d.name}, keys: kc, values: vc, typ: typ, entries: map[string]*broadcastEntry[K, V]{}}
	if data, ok := in.left[d.name]; ok {
		if err := s.load(data); err != nil {
			return Broadcast[K, V]{}, fmt.Errorf("broadcast state %q: %w", d.name, err)
		}
		delete(in.left, d.name)
	}
	in.all = append(in.all, named{d.name, s})
	return Broadcast[K, V]{BroadcastReader[K, V]{s}}, nil
}

// BroadcastReader reads a broadcast state. What it returns is shared with the state: what values point to must not be
// changed.
type BroadcastReader[K, V any] struct{ s *broadcast[K, V] }

func (s *broadcast[K, V]) find(k *K) *broadcastEntry[K, V] {
	s.buf = s.keys.Append(s.buf[:0], k)
	return s.entries[string(s.buf)]
}

// Get returns the value of an entry, and whether there is one.
func (r BroadcastReader[K, V]) Get(k K) (V, bool) {
	if e := r.s.find(&k); e != nil {
		return e.value, true
	}
	var none V
	return none, false
}

// Len returns the number of entries.
func (r BroadcastReader[K, V]) Len() int { return len(r.s.entries) }

// All yields the entries, in the same order in every subtask: that of their keys' encoding, which for integers, floats
// and strings is their own. The state must not be changed inside the loop.
func (r BroadcastReader[K, V]) All() iter.Seq2[K, V] {
	s := r.s
	return func(yield func(K, V) bool) {
		s.loops++
		defer func() { s.loops-- }()
		for _, e := range s.inOrder() {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

func (s *broadcast[K, V]) inOrder() []*broadcastEntry[K, V] {
	if s.sorted == nil && len(s.entries) > 0 {
		for _, e := range s.entries {
			s.sorted = append(s.sorted, e)
		}
		slices.SortFunc(s.sorted, func(a, b *broadcastEntry[K, V]) int { return strings.Compare(a.enc, b.enc) })
	}
	return s.sorted
}

// Broadcast reads and changes a broadcast state. Every subtask changes its own copy: to keep them equal, changes must
// depend on nothing but the broadcast rows, and their result not on the order in which these come.
type Broadcast[K, V any] struct{ BroadcastReader[K, V] }

// Put sets an entry.
func (b Broadcast[K, V]) Put(k K, v V) {
	s := b.s
	s.changes()
	if e := s.find(&k); e != nil {
		e.value = v
		return
	}
	enc := string(s.buf)
	s.entries[enc] = &broadcastEntry[K, V]{enc, k, v}
	s.sorted = nil
}

// Delete removes an entry and reports whether it was there.
func (b Broadcast[K, V]) Delete(k K) bool {
	s := b.s
	s.changes()
	e := s.find(&k)
	if e == nil {
		return false
	}
	delete(s.entries, e.enc)
	s.sorted = nil
	return true
}

// Clear removes all entries.
func (b Broadcast[K, V]) Clear() {
	b.s.changes()
	clear(b.s.entries)
	b.s.sorted = nil
}
