package state

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/planted"
)

// OperatorListDescriptor declares a list that belongs to a subtask of an operator and not to a key.
type OperatorListDescriptor[V any] struct {
	name  string
	union bool
	from  migrations
}

// Migrate is what it is for ValueDescriptor, for each element.
func (d OperatorListDescriptor[V]) Migrate[Old any](f func(Old) (V, error)) OperatorListDescriptor[V] {
	d.from = migrating(d.from, f)
	return d
}

// OperatorListOf declares a list of V that belongs to a subtask. When a job goes on from a checkpoint with the same parallelism,
// each subtask finds its own list again; with another one the elements of all lists, one behind the other, are dealt out
// evenly.
func OperatorListOf[V any](name string) OperatorListDescriptor[V] {
	return OperatorListDescriptor[V]{name: name}
}

// OperatorUnionOf declares a list of V of which each subtask finds the elements of all subtasks when a job goes on from a
// checkpoint. It takes what is its own and removes the rest: what it leaves in the list is saved once more by each subtask.
func OperatorUnionOf[V any](name string) OperatorListDescriptor[V] {
	return OperatorListDescriptor[V]{name: name, union: true}
}

// OperatorList is a list of V that belongs to a subtask. It lies in memory as Go values: what elements point to must not be
// changed.
type OperatorList[V any] struct{ s *operatorList[V] }

type operatorList[V any] struct {
	codec  *codec.Codec[V]
	typ    *codec.Values
	values []V
}

// Add appends values at the end.
func (l OperatorList[V]) Add(xs ...V) { l.s.values = append(l.s.values, xs...) }

// Set replaces the list.
func (l OperatorList[V]) Set(xs []V) { l.s.values = slices.Clone(xs) }

// All yields the values in order. Changes of the list inside the loop do not show in it.
func (l OperatorList[V]) All() iter.Seq[V] { return slices.Values(slices.Clone(l.s.values)) }

// Len returns the number of values.
func (l OperatorList[V]) Len() int { return len(l.s.values) }

// Clear removes all values.
func (l OperatorList[V]) Clear() { l.s.values = nil }

func (s *operatorList[V]) save() []byte {
	l := saved{schema: s.codec.Schema().Append(nil)}
	for i := range s.values {
		l.elements = append(l.elements, s.codec.Append(nil, &s.values[i]))
	}
	return l.bytes()
}

// OperatorLists holds the lists of one instance of a function. The zero value is ready. The engine keeps one; it belongs to
// the goroutine of its task.
type OperatorLists struct {
	all  []namedList
	left map[string]*leftList // what an earlier run has left, by name
}

type namedList struct {
	name string
	list openBlob // *operatorList[V]
}

// Types is what it is for Broadcasts; lists have no keys.
func (in *OperatorLists) Types(f func(name string, values any)) {
	for _, l := range in.all {
		_, values := l.list.types()
		f(l.name, values)
	}
}

func (s *operatorList[V]) types() (*codec.Schema, *codec.Values) { return nil, s.typ }

// leftList is a list of an earlier run.
type leftList struct {
	share []saved // what is this subtask's until somebody opens the list
	all   []saved
}

// SavedList is a list as a subtask has saved it.
type SavedList struct {
	Subtask int
	Data    []byte
}

// Restore takes what the subtasks of an earlier run have left of a list, in their order, for the given one of the subtasks of
// now. The engine calls it before a list is opened.
func (in *OperatorLists) Restore(name string, all []SavedList, subtask, parallelism, then int) error {
	l := &leftList{}
	n := 0
	for _, b := range all {
		part, err := readList(b.Data)
		if err != nil {
			return fmt.Errorf("list state %q: %w", name, err)
		}
		l.all = append(l.all, part)
		n += len(part.elements)
		if parallelism == then && b.Subtask == subtask {
			l.share = append(l.share, part)
		}
	}
	if parallelism != then && planted.Is(planted.ListTwice) {
		l.share = l.all
	} else if parallelism != then {
		l.share = slice(l.all, n*subtask/parallelism, n*(subtask+1)/parallelism)
	}
	if in.left == nil {
		in.left = map[string]*leftList{}
	}
	in.left[name] = l
	return nil
}

// slice returns the elements [from, to) of several lists.
func slice(all []saved, from, to int) (out []saved) {
	for _, l := range all {
		n := len(l.elements)
		if a, b := max(from, 0), min(to, n); a < b {
			out = append(out, saved{l.schema, l.elements[a:b]})
		}
		from, to = from-n, to-n
	}
	return out
}

// Save calls f with each list as bytes, at most one for each name and subtask unless nobody has opened it. The engine calls
// it at a checkpoint.
func (in *OperatorLists) Save(f func(name string, data []byte)) {
	for _, l := range in.all {
		f(l.name, l.list.save())
	}
	for _, name := range slices.Sorted(maps.Keys(in.left)) {
		for _, part := range in.left[name].share {
			f(name, part.bytes())
		}
	}
}

// OpenOperatorList returns the handle of a list. The engine calls it; functions use their context's ListState.
func OpenOperatorList[V any](in *OperatorLists, d OperatorListDescriptor[V]) (OperatorList[V], error) {
	for i := range in.all {
		if in.all[i].name != d.name {
			continue
		}
		if s, ok := in.all[i].list.(*operatorList[V]); ok {
			return OperatorList[V]{s}, nil
		}
		return OperatorList[V]{}, fmt.Errorf("list state %q is opened with another type than before: give the two states different names", d.name)
	}
	c, err := codec.For[V]()
	if err != nil {
		return OperatorList[V]{}, err
	}
	typ, err := valuesOf[V](d.from)
	if err != nil {
		return OperatorList[V]{}, opening(d.name, err)
	}
	s := &operatorList[V]{codec: c, typ: typ}
	if l := in.left[d.name]; l != nil {
		from := l.share
		if d.union && !planted.Is(planted.UnionDealtOut) {
			from = l.all
		}
		if s.values, err = decodeList[V](typ, from); err != nil {
			return OperatorList[V]{}, fmt.Errorf("list state %q: %w", d.name, err)
		}
		delete(in.left, d.name)
	}
	in.all = append(in.all, namedList{d.name, s})
	return OperatorList[V]{s}, nil
}
