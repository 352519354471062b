package model

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// id is a key with its namespace.
type id struct {
	hash    uint64
	key, ns string
}

func (i id) parts() (statebackend.Key, []byte) {
	return statebackend.Key{Hash: i.hash, Bytes: []byte(i.key)}, []byte(i.ns)
}

// Backend implements statebackend.Keyed.
type Backend struct {
	cfg    statebackend.Config
	opened []statebackend.Descriptor
	tables map[string]any
	bytes  int64
}

var _ statebackend.Keyed = (*Backend)(nil)

// New returns a backend without any state.
func New(cfg statebackend.Config) *Backend {
	if cfg.Groups == (keygroup.Range{}) {
		cfg.Groups = keygroup.All()
	}
	return &Backend{cfg: cfg, tables: map[string]any{}}
}

func open[T any](b *Backend, d statebackend.Descriptor, kind statebackend.Kind, make func(base) T) (T, error) {
	var was *statebackend.Descriptor
	if i := slices.IndexFunc(b.opened, func(o statebackend.Descriptor) bool { return o.Name == d.Name }); i >= 0 {
		was = &b.opened[i]
	}
	var none T
	if err := statebackend.Check(d, kind, was); err != nil {
		return none, err
	}
	if was != nil {
		return b.tables[d.Name].(T), nil
	}
	d.Kind = kind
	d.Schema = slices.Clone(d.Schema)
	t := make(base{b, d})
	b.opened = append(b.opened, d)
	b.tables[d.Name] = t
	return t, nil
}

// Value opens a value state.
func (b *Backend) Value(d statebackend.Descriptor) (statebackend.Value, error) {
	return open(b, d, statebackend.KindValue, func(s base) statebackend.Value { return &value{s, map[id][]byte{}} })
}

// List opens a list state.
func (b *Backend) List(d statebackend.Descriptor) (statebackend.List, error) {
	return open(b, d, statebackend.KindList, func(s base) statebackend.List { return &list{s, map[id][][]byte{}} })
}

// Map opens a map state.
func (b *Backend) Map(d statebackend.Descriptor) (statebackend.Map, error) {
	return open(b, d, statebackend.KindMap, func(s base) statebackend.Map { return &mapState{s, map[id]map[string][]byte{}} })
}

// Descriptors returns the states in the order of opening.
func (b *Backend) Descriptors() []statebackend.Descriptor { return slices.Clone(b.opened) }

// Bytes returns a rough size: the keys and values that were ever put.
func (b *Backend) Bytes() int64 { return b.bytes }

// Err returns nil.
func (b *Backend) Err() error { return nil }

// Close forgets everything.
func (b *Backend) Close() error {
	b.tables, b.opened = nil, nil
	return nil
}

type base struct {
	b *Backend
	d statebackend.Descriptor
}

// id checks the promises of a caller that faster backends rely on, and panics if one is broken.
func (s base) id(key statebackend.Key, ns []byte) id {
	switch {
	case s.b.cfg.KeyWidth > 0 && len(key.Bytes) != s.b.cfg.KeyWidth:
		panic(fmt.Sprintf("state %s: key of %d bytes, declared %d", s.d.Name, len(key.Bytes), s.b.cfg.KeyWidth))
	case s.d.NamespaceWidth >= 0 && len(ns) != s.d.NamespaceWidth:
		panic(fmt.Sprintf("state %s: namespace of %d bytes, declared %d", s.d.Name, len(ns), s.d.NamespaceWidth))
	case !s.b.cfg.Groups.ContainsHash(key.Hash):
		panic(fmt.Sprintf("state %s: key of group %d in a task that owns %v", s.d.Name, keygroup.Of(key.Hash), s.b.cfg.Groups))
	}
	return id{key.Hash, string(key.Bytes), string(ns)}
}

// own copies a value into memory aligned to 8 bytes, which Ref promises.
func (s base) own(v []byte) []byte {
	if s.d.Width > 0 && len(v) != s.d.Width {
		panic(fmt.Sprintf("state %s: %d bytes, declared %d", s.d.Name, len(v), s.d.Width))
	}
	s.b.bytes += int64(len(v))
	words := make([]uint64, (len(v)+7)/8+1)
	c := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(v))
	copy(c, v)
	return c
}

type value struct {
	base
	m map[id][]byte
}

func (v *value) Get(key statebackend.Key, ns []byte) ([]byte, bool) {
	b, ok := v.m[v.id(key, ns)]
	return b, ok
}

func (v *value) Put(key statebackend.Key, ns, b []byte) { v.m[v.id(key, ns)] = v.own(b) }

func (v *value) Ref(key statebackend.Key, ns []byte) (unsafe.Pointer, bool) {
	i := v.id(key, ns)
	b, ok := v.m[i]
	if !ok {
		b = v.own(make([]byte, v.d.Width))
		v.m[i] = b
	}
	return unsafe.Pointer(unsafe.SliceData(b)), !ok
}

func (v *value) Clear(key statebackend.Key, ns []byte) bool { return remove(v.m, v.id(key, ns)) }

func (v *value) All(f func(statebackend.Key, []byte, []byte) bool) {
	for i, b := range v.m {
		if key, ns := i.parts(); !f(key, ns, b) {
			return
		}
	}
}

func (v *value) Len() int { return len(v.m) }

func remove[V any](m map[id]V, i id) bool {
	_, ok := m[i]
	delete(m, i)
	return ok
}

type list struct {
	base
	m map[id][][]byte
}

func (l *list) Append(key statebackend.Key, ns, e []byte) {
	i := l.id(key, ns)
	l.m[i] = append(l.m[i], l.own(e))
}

func (l *list) Put(key statebackend.Key, ns []byte, elements [][]byte) {
	l.Clear(key, ns)
	for _, e := range elements {
		l.Append(key, ns, e)
	}
}

func (l *list) Each(key statebackend.Key, ns []byte, f func([]byte) bool) {
	for _, e := range l.m[l.id(key, ns)] {
		if !f(e) {
			return
		}
	}
}

func (l *list) Count(key statebackend.Key, ns []byte) int { return len(l.m[l.id(key, ns)]) }

func (l *list) Clear(key statebackend.Key, ns []byte) bool { return remove(l.m, l.id(key, ns)) }

func (l *list) All(f func(statebackend.Key, []byte, []byte) bool) {
	for i, es := range l.m {
		key, ns := i.parts()
		for _, e := range es {
			if !f(key, ns, e) {
				return
			}
		}
	}
}

func (l *list) Len() int { return len(l.m) }

type mapState struct {
	base
	m map[id]map[string][]byte
}

func (m *mapState) Get(key statebackend.Key, ns, entry []byte) ([]byte, bool) {
	b, ok := m.m[m.id(key, ns)][string(entry)]
	return b, ok
}

func (m *mapState) Put(key statebackend.Key, ns, entry, v []byte) {
	i := m.id(key, ns)
	if m.m[i] == nil {
		m.m[i] = map[string][]byte{}
	}
	m.m[i][string(entry)] = m.own(v)
}

func (m *mapState) Remove(key statebackend.Key, ns, entry []byte) bool {
	i := m.id(key, ns)
	_, ok := m.m[i][string(entry)]
	delete(m.m[i], string(entry))
	if len(m.m[i]) == 0 {
		delete(m.m, i)
	}
	return ok
}

func (m *mapState) Range(key statebackend.Key, ns, from, to []byte, f func(entry, v []byte) bool) {
	each(m.m[m.id(key, ns)], from, to, f)
}

func each(entries map[string][]byte, from, to []byte, f func(entry, v []byte) bool) bool {
	for _, e := range slices.Sorted(maps.Keys(entries)) {
		if bytes.Compare([]byte(e), from) < 0 || (to != nil && bytes.Compare([]byte(e), to) >= 0) {
			continue
		}
		if !f([]byte(e), entries[e]) {
			return false
		}
	}
	return true
}

func (m *mapState) Count(key statebackend.Key, ns []byte) int { return len(m.m[m.id(key, ns)]) }

func (m *mapState) Clear(key statebackend.Key, ns []byte) bool { return remove(m.m, m.id(key, ns)) }

func (m *mapState) All(f func(key statebackend.Key, ns, entry, v []byte) bool) {
	for i, entries := range m.m {
		key, ns := i.parts()
		if !each(entries, nil, nil, func(e, v []byte) bool { return f(key, ns, e, v) }) {
			return
		}
	}
}
