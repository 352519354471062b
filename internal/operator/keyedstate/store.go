package keyedstate

import (
	"bytes"
	"slices"
	"unsafe"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/state"
)

// Store implements state.Store over a backend. It belongs to the task's goroutine.
type Store struct {
	backend statebackend.Keyed
	at      *Place
	nsWidth int
	// namespace is what namespaces are, for schemas.
	namespace string
	// touch holds the first states that can be told of the keys to come. Telling more of them costs more than it saves:
	// not every state is used for every row.
	touch []statebackend.Toucher
}

const touchStates = 2

// Touch tells the first states which keys come next.
func (s *Store) Touch(hashes []uint64) {
	for _, t := range s.touch {
		t.Touch(hashes)
	}
}

// Place is the key and the namespace at work. Several stores may share one.
type Place struct {
	// Key is the key at work; its bytes are borrowed from whoever set it. A key without bytes that were set is none.
	Key statebackend.Key
	// NS is the namespace at work, nil for stores without.
	NS []byte
	// Set says that there is a key.
	Set bool
}

// At makes key the one at work.
func (p *Place) At(hash uint64, key []byte) {
	p.Key.Hash, p.Key.Bytes, p.Set = hash, key, true
}

// Leave says that no key is at work.
func (p *Place) Leave() { p.Key.Bytes, p.Set = nil, false }

// New returns a store of states without namespaces.
func New(backend statebackend.Keyed, at *Place) *Store { return &Store{backend: backend, at: at} }

// NewSpaced returns a store of states whose namespaces have a width, or statebackend.VariableNamespace. what says what they are;
// a restore refuses state whose namespaces were something else.
func NewSpaced(backend statebackend.Keyed, at *Place, width int, what string) *Store {
	return &Store{backend: backend, at: at, nsWidth: width, namespace: what}
}

var _ state.Store = (*Store)(nil)

func (s *Store) descriptor(spec state.Spec) (statebackend.Descriptor, error) {
	d := statebackend.Descriptor{Name: spec.Name, Width: spec.Width, NamespaceWidth: s.nsWidth, Schema: spec.Schema, Ordered: spec.Ordered}
	d.Values, _ = spec.Values.(*codec.Values)
	if t := spec.TTL; t != nil {
		d.Expiry = &statebackend.Expiry{After: t.After.Milliseconds(), OnRead: t.RefreshOnRead, ShowExpired: t.ShowExpired, EventTime: t.EventTime}
	}
	if s.namespace == "" {
		return d, nil
	}
	t, err := codec.ParseTable(spec.Schema)
	if err != nil {
		return d, errs.Wrap(err, errs.CodeBug, errs.ClassBug, "state "+spec.Name, "its schema")
	}
	t.Namespace = s.namespace
	d.Schema = t.Append(nil)
	return d, nil
}

// OpenValue implements state.Store.
func (s *Store) OpenValue(spec state.Spec) (state.RawValue, error) {
	d, err := s.descriptor(spec)
	if err != nil {
		return nil, err
	}
	v, err := s.backend.Value(d)
	if err == nil {
		s.tellKeys(v)
	}
	return &value{at: s.at, name: spec.Name, v: v}, err
}

// tellKeys has a state told of the keys to come, if it can use that.
func (s *Store) tellKeys(of any) {
	if t, ok := of.(statebackend.Toucher); ok && len(s.touch) < touchStates && !slices.Contains(s.touch, t) {
		s.touch = append(s.touch, t)
	}
}

// OpenList implements state.Store.
func (s *Store) OpenList(spec state.Spec) (state.RawList, error) {
	d, err := s.descriptor(spec)
	if err != nil {
		return nil, err
	}
	l, err := s.backend.List(d)
	return &list{at: s.at, name: spec.Name, l: l}, err
}

// OpenMap implements state.Store.
func (s *Store) OpenMap(spec state.Spec) (state.RawMap, error) {
	d, err := s.descriptor(spec)
	if err != nil {
		return nil, err
	}
	m, err := s.backend.Map(d)
	if err == nil {
		s.tellKeys(m)
	}
	return &mapping{at: s.at, name: spec.Name, m: m}, err
}

// key returns the key at work.
func (p *Place) key(name string) statebackend.Key {
	if !p.Set {
		panic(noKey(name))
	}
	return p.Key
}

func noKey(name string) error {
	return errs.New(errs.CodeUserFunction, errs.ClassUser, "state "+name,
		"used while there is no key: keyed state is there for a row of a keyed stream and for a timer, not in Open and Close and not for rows of a broadcast stream (ApplyToKeys visits all keys)")
}

type value struct {
	at   *Place
	name string
	v    statebackend.Value
}

func (v *value) Get() ([]byte, bool)         { return v.v.Get(v.at.key(v.name), v.at.NS) }
func (v *value) Put(b []byte)                { v.v.Put(v.at.key(v.name), v.at.NS, b) }
func (v *value) Ref() (unsafe.Pointer, bool) { return v.v.Ref(v.at.key(v.name), v.at.NS) }
func (v *value) Clear()                      { v.v.Clear(v.at.key(v.name), v.at.NS) }
func (v *value) Keys(f func(uint64, []byte)) {
	var seen distinct
	v.v.All(func(k statebackend.Key, _, _ []byte) bool { return seen.visit(k, f) })
}

type list struct {
	at   *Place
	name string
	l    statebackend.List
}

func (l *list) Append(b []byte)          { l.l.Append(l.at.key(l.name), l.at.NS, b) }
func (l *list) Put(elements [][]byte)    { l.l.Put(l.at.key(l.name), l.at.NS, elements) }
func (l *list) Each(f func([]byte) bool) { l.l.Each(l.at.key(l.name), l.at.NS, f) }
func (l *list) Count() int               { return l.l.Count(l.at.key(l.name), l.at.NS) }
func (l *list) Clear()                   { l.l.Clear(l.at.key(l.name), l.at.NS) }
func (l *list) Keys(f func(uint64, []byte)) {
	var seen distinct
	l.l.All(func(k statebackend.Key, _, _ []byte) bool { return seen.visit(k, f) })
}

type mapping struct {
	at   *Place
	name string
	m    statebackend.Map
}

func (m *mapping) Get(e []byte) ([]byte, bool)   { return m.m.Get(m.at.key(m.name), m.at.NS, e) }
func (m *mapping) Put(e, v []byte)               { m.m.Put(m.at.key(m.name), m.at.NS, e, v) }
func (m *mapping) Remove(e []byte) bool          { return m.m.Remove(m.at.key(m.name), m.at.NS, e) }
func (m *mapping) Each(f func(e, v []byte) bool) { m.m.Range(m.at.key(m.name), m.at.NS, nil, nil, f) }
func (m *mapping) Count() int                    { return m.m.Count(m.at.key(m.name), m.at.NS) }
func (m *mapping) Clear()                        { m.m.Clear(m.at.key(m.name), m.at.NS) }
func (m *mapping) Keys(f func(uint64, []byte)) {
	var seen distinct
	m.m.All(func(k statebackend.Key, _, _, _ []byte) bool { return seen.visit(k, f) })
}

// distinct passes on each key once: a backend visits all elements of a key one after the other. (A key with state in
// several namespaces may come once for each.)
type distinct struct {
	last []byte
	any  bool
}

func (d *distinct) visit(k statebackend.Key, f func(uint64, []byte)) bool {
	if !d.any || !bytes.Equal(d.last, k.Bytes) {
		d.last, d.any = append(d.last[:0], k.Bytes...), true
		f(k.Hash, k.Bytes)
	}
	return true
}
