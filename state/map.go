package state

import (
	"iter"
	"time"

	"github.com/weir-stream/weir/internal/codec"
)

// MapDescriptor declares a state of a map from K to V a key.
type MapDescriptor[K, V any] struct {
	name string
	from migrations
	ttl  *TTL
	// ordered is what Ordered has asked for.
	ordered bool
}

// MapOf declares a state of a map from K to V a key. K must be a type that could be the key of a stream.
func MapOf[K, V any](name string) MapDescriptor[K, V] { return MapDescriptor[K, V]{name: name} }

// Migrate is what it is for ValueDescriptor, for the value of each entry. The type of the entries' keys cannot change.
func (d MapDescriptor[K, V]) Migrate[Old any](f func(Old) (V, error)) MapDescriptor[K, V] {
	d.from = migrating(d.from, f)
	return d
}

// TTL is what it is for ValueDescriptor, for each entry by itself.
func (d MapDescriptor[K, V]) TTL(after time.Duration, options ...TTLOption) MapDescriptor[K, V] {
	d.ttl = ttlOf(after, options)
	return d
}

// Ordered returns the declaration of a map that is large for some keys and of which All is mostly left early, like a queue by
// time: each loop costs what it visits then. All yields in the order of keys in any case, but without Ordered a loop over a large map
// costs something for all of its entries; with it changing entries of large maps is two to three times slower.
func (d MapDescriptor[K, V]) Ordered() MapDescriptor[K, V] {
	d.ordered = true
	return d
}

func (d MapDescriptor[K, V]) open(in Store) (Map[K, V], error) {
	kc, err := codec.KeyFor[K]()
	if err != nil {
		return Map[K, V]{}, opening(d.name, err)
	}
	c, err := newCells[V](d.from)
	if err != nil {
		return Map[K, V]{}, opening(d.name, err)
	}
	spec := c.spec(d.name, d.ttl, codec.Table{Entry: kc.Schema()})
	spec.Ordered = d.ordered
	raw, err := in.OpenMap(spec)
	return Map[K, V]{&mapping[K, V]{cells: c, entries: kc, raw: raw, guard: guard{name: d.name}}}, err
}

// Map is a state of a map from K to V for the key at work.
type Map[K, V any] struct{ s *mapping[K, V] }

type mapping[K, V any] struct {
	cells[V]
	guard
	entries *codec.KeyCodec[K]
	key     []byte
	raw     RawMap
}

func (s *mapping[K, V]) entry(k *K) []byte {
	s.key = s.entries.Append(s.key[:0], k)
	return s.key
}

// Get returns the value of an entry, and whether there is one.
func (m Map[K, V]) Get(k K) (V, bool) {
	b, ok := m.s.raw.Get(m.s.entry(&k))
	if !ok {
		var zero V
		return zero, false
	}
	return m.s.decode(b), true
}

// Has reports whether there is an entry for k.
func (m Map[K, V]) Has(k K) bool {
	_, ok := m.s.raw.Get(m.s.entry(&k))
	return ok
}

// Put sets an entry.
func (m Map[K, V]) Put(k K, v V) {
	m.s.changes()
	m.s.raw.Put(m.s.entry(&k), m.s.encode(&v))
}

// Update lets f change the value of an entry; a missing one is made first, as the zero value. f must not keep the pointer.
func (m Map[K, V]) Update(k K, f func(*V)) {
	v, _ := m.Get(k)
	f(&v)
	m.Put(k, v)
}

// Delete removes an entry and reports whether it was there.
func (m Map[K, V]) Delete(k K) bool {
	m.s.changes()
	return m.s.raw.Remove(m.s.entry(&k))
}

// All yields the entries in the order of their keys' encoding, which for integers, floats and strings is their own. The
// map must not be changed inside the loop.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	s := m.s
	return func(yield func(K, V) bool) {
		s.loops++
		defer func() { s.loops-- }()
		s.raw.Each(func(entry, value []byte) bool {
			var k K
			if err := s.entries.Decode(ownKey(s.entries, entry), &k); err != nil {
				panic(err)
			}
			return yield(k, s.decode(value))
		})
	}
}

// ownKey copies the bytes of a key whose strings would alias them.
func ownKey[K any](c *codec.KeyCodec[K], b []byte) []byte {
	if _, fixed := c.FixedWidth(); fixed {
		return b
	}
	return append([]byte(nil), b...)
}

// Len returns the number of entries.
func (m Map[K, V]) Len() int { return m.s.raw.Count() }

// Clear removes all entries.
func (m Map[K, V]) Clear() {
	m.s.changes()
	m.s.raw.Clear()
}

func (m Map[K, V]) keys() RawKeys { return m.s.raw }
