package state

import (
	"iter"
	"time"

	"github.com/weir-stream/weir/internal/codec"
)

// ListDescriptor declares a state of a sequence of V a key.
type ListDescriptor[V any] struct {
	name string
	from migrations
	ttl  *TTL
}

// ListOf declares a state of a sequence of V a key.
func ListOf[V any](name string) ListDescriptor[V] { return ListDescriptor[V]{name: name} }

// Migrate is what it is for ValueDescriptor, for each value of the sequence.
func (d ListDescriptor[V]) Migrate[Old any](f func(Old) (V, error)) ListDescriptor[V] {
	d.from = migrating(d.from, f)
	return d
}

// TTL is what it is for ValueDescriptor, for each value of the sequence by itself.
func (d ListDescriptor[V]) TTL(after time.Duration, options ...TTLOption) ListDescriptor[V] {
	d.ttl = ttlOf(after, options)
	return d
}

func (d ListDescriptor[V]) open(in Store) (List[V], error) {
	c, err := newCells[V](d.from)
	if err != nil {
		return List[V]{}, opening(d.name, err)
	}
	raw, err := in.OpenList(c.spec(d.name, d.ttl, codec.Table{}))
	return List[V]{&list[V]{cells: c, raw: raw, guard: guard{name: d.name}}}, err
}

// List is a state of a sequence of V for the key at work.
type List[V any] struct{ s *list[V] }

type list[V any] struct {
	cells[V]
	guard
	raw   RawList
	rows  [][]byte
	bytes []byte
}

// Add appends values at the end.
func (l List[V]) Add(xs ...V) {
	s := l.s
	s.changes()
	for i := range xs {
		s.raw.Append(s.encode(&xs[i]))
	}
}

// Set replaces the whole sequence.
func (l List[V]) Set(xs []V) {
	s := l.s
	s.changes()
	s.bytes, s.rows = s.bytes[:0], s.rows[:0]
	ends := make([]int, len(xs))
	for i := range xs {
		s.bytes = s.codec.Append(s.bytes, &xs[i])
		ends[i] = len(s.bytes)
	}
	from := 0
	for _, end := range ends {
		s.rows = append(s.rows, s.bytes[from:end])
		from = end
	}
	s.raw.Put(s.rows)
}

// All yields the values in order. The list must not be changed inside the loop.
func (l List[V]) All() iter.Seq[V] {
	s := l.s
	return func(yield func(V) bool) {
		s.loops++
		defer func() { s.loops-- }()
		s.raw.Each(func(b []byte) bool { return yield(s.decode(b)) })
	}
}

// Len returns the number of values.
func (l List[V]) Len() int { return l.s.raw.Count() }

// Clear removes all values.
func (l List[V]) Clear() {
	l.s.changes()
	l.s.raw.Clear()
}

func (l List[V]) keys() RawKeys { return l.s.raw }

// guard catches changes to a state inside a loop over it, which would read pages that have moved.
type guard struct {
	name  string
	loops int
}

func (g *guard) changes() {
	if g.loops > 0 {
		panic("state " + g.name + " is changed inside a loop over it: gather what to change and do it behind the loop")
	}
}
