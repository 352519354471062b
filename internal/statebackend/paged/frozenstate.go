package paged

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// frozenState is a state at a cut: a table with the keys, and for lists and maps one with the parts that do not lie there.
type frozenState struct {
	layout
	mark  uint64
	keys  *FrozenTable
	parts *FrozenTable // nil for values
	kind  frozenKind
}

// frozenKind is what differs between values, lists and maps.
type frozenKind interface {
	// each shows what lies under one key.
	each(hash uint64, stored []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool
	// changes shows what has changed under one key since a cut; gone are the removals of the key and of its entries.
	changes(since uint64, hash uint64, stored []byte, gone []removal, key statebackend.Key, ns []byte, f statebackend.VisitChange) bool
	// all says that changes has to be asked for every key, not for those only whose cells have changed.
	all() bool
}

var (
	_ statebackend.Drainer  = (*frozenState)(nil)
	_ statebackend.Changing = (*frozenState)(nil)
)

// Ordered implements statebackend.Ordered.
func (s *frozenState) Ordered() {}

// Each implements statebackend.Frozen.
func (s *frozenState) Each(groups keygroup.Range, f statebackend.Visit) {
	s.keys.Each(groups, s.visit(f))
}

// Drain implements statebackend.Drainer.
func (s *frozenState) Drain(f statebackend.Visit) {
	visit := s.visit(f)
	if s.parts == nil {
		s.keys.Drain(visit)
		return
	}
	for i := range s.keys.segs {
		if !s.keys.visit(i, keygroup.All(), visit) {
			return
		}
		s.keys.leave(i)
		// The parts of the keys to come begin as their hashes do.
		if next := (s.keys.segs[i].last + 1) >> (64 - partBits) << (64 - partBits); next > 0 {
			s.parts.drained(next - 1)
		}
	}
}

// Release implements statebackend.Frozen.
func (s *frozenState) Release() {
	s.keys.Release()
	if s.parts != nil {
		s.parts.Release()
	}
}

func (s *frozenState) visit(f statebackend.Visit) func(hash uint64, key, value []byte) bool {
	return func(hash uint64, k, value []byte) bool {
		key, ns := s.split(hash, k)
		return s.kind.each(hash, value, key, ns, f)
	}
}

// Mark implements statebackend.Changing.
func (s *frozenState) Mark() uint64 {
	s.keys.shared.asked.Store(true)
	return s.mark
}

// Complete implements statebackend.Changing.
func (s *frozenState) Complete() {
	for c := &s.keys.shared.complete; ; {
		old := c.Load()
		if old >= s.mark || c.CompareAndSwap(old, s.mark) {
			return
		}
	}
}

// Changes implements statebackend.Changing.
func (s *frozenState) Changes(since uint64, groups keygroup.Range, f statebackend.VisitChange) bool {
	if !s.keys.known(since) || s.mark-min(since, s.mark) >= stamps {
		return false
	}
	if since >= s.mark {
		return true
	}
	gone := collect(s.keys.gone, since, groups)
	// Keys that are there again are shown with what they hold.
	var absent []removal
	for _, r := range gone {
		if _, there := s.keys.get(r.hash, r.key, nil); !there && r.user == nil {
			absent = append(absent, r)
		}
	}
	next, more := 0, true
	upTo := func(g keygroup.Group) bool {
		for ; next < len(absent) && keygroup.Of(absent[next].hash) <= g && more; next++ {
			key, ns := s.split(absent[next].hash, absent[next].key)
			more = f(key, ns, nil, nil, true)
		}
		return more
	}
	visit := func(hash uint64, k, stored []byte) bool {
		if !upTo(keygroup.Of(hash)) {
			return false
		}
		key, ns := s.split(hash, k)
		more = s.kind.changes(since, hash, stored, of(gone, hash, k), key, ns, f)
		return more
	}
	if s.kind.all() {
		s.keys.Each(groups, visit)
	} else {
		s.keys.changed(since, groups, visit)
	}
	upTo(keygroup.Count)
	return true
}

// frozenValue is the kind of values.
type frozenValue struct{}

func (v *valueState) cut() statebackend.Frozen {
	fresh := v.t.track.fresh || !v.t.track.on
	keys := v.t.cut(true)
	if fresh {
		v.mark = keys.seq
	}
	return &frozenState{layout: v.layout, mark: v.mark, keys: keys, kind: frozenValue{}}
}

func (frozenValue) each(_ uint64, value []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool {
	return f(key, ns, nil, value)
}

func (frozenValue) changes(_, _ uint64, value []byte, _ []removal, key statebackend.Key, ns []byte, f statebackend.VisitChange) bool {
	return f(key, ns, nil, value, false)
}

func (frozenValue) all() bool { return false }

// frozenList is the kind of lists.
type frozenList struct {
	form  listState // for the form of elements
	parts *FrozenTable
	chunk []byte
}

func (l *listState) cut() statebackend.Frozen {
	fresh := l.heads.track.fresh || !l.heads.track.on
	k := &frozenList{form: listState{layout: l.layout, width: l.width}, parts: l.chunks.Cut()}
	keys := l.heads.cut(true)
	if fresh {
		l.mark = keys.seq
	}
	return &frozenState{layout: l.layout, mark: l.mark, keys: keys, parts: k.parts, kind: k}
}

func (l *frozenList) each(hash uint64, head []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool {
	return l.elements(hash, head, func(e []byte) bool { return f(key, ns, nil, e) })
}

func (l *frozenList) elements(hash uint64, head []byte, f func(element []byte) bool) bool {
	for id := binary.LittleEndian.Uint64(head); id != 0; {
		k := nodeKey(id)
		l.chunk, _ = l.parts.get(nodeHash(hash, id), k[:], l.chunk[:0])
		if !l.form.each(l.chunk[chunkHead:], f) {
			return false
		}
		id = binary.LittleEndian.Uint64(l.chunk)
	}
	return l.form.each(head[listHead:], f)
}

func (l *frozenList) changes(_, hash uint64, head []byte, _ []removal, key statebackend.Key, ns []byte, f statebackend.VisitChange) bool {
	return f(key, ns, nil, nil, true) && l.elements(hash, head, func(e []byte) bool { return f(key, ns, nil, e, false) })
}

func (l *frozenList) all() bool { return false }

// frozenMap is the kind of maps.
type frozenMap struct {
	parts  *FrozenTable
	seq    uint64
	nodes  [][]byte // by level
	bucket []byte
}

func (m *mapState) cut() statebackend.Frozen {
	fresh := m.fresh || !m.roots.track.on
	k := &frozenMap{parts: m.nodes.Cut()}
	keys := m.roots.cut(true)
	k.seq, m.fresh = keys.seq, false
	if fresh {
		m.mark = keys.seq
	}
	return &frozenState{layout: m.layout, mark: m.mark, keys: keys, parts: k.parts, kind: k}
}

func (m *frozenMap) each(hash uint64, root []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool {
	return m.below(hash, root, func(leaf node, i int) bool { return f(key, ns, leaf.key(i), leaf.value(i)) })
}

// changes looks at the stamps of all entries.
func (m *frozenMap) changes(since, hash uint64, root []byte, gone []removal, key statebackend.Key, ns []byte, f statebackend.VisitChange) bool {
	for _, r := range gone {
		if !f(key, ns, r.user, nil, true) {
			return false
		}
	}
	return m.below(hash, root, func(leaf node, i int) bool {
		// Entries put after cut c and before the next carry c.
		if (leaf.stamp(i)-uint32(since))%stamps >= uint32(m.seq-since) {
			return true
		}
		return f(key, ns, leaf.key(i), leaf.value(i), false)
	})
}

func (m *frozenMap) all() bool { return true }

// inBuckets shows the entries of all buckets in no particular order.
func (m *frozenMap) inBuckets(hash uint64, dir node, f func(leaf node, i int) bool) bool {
	for i := range dir.buckets() {
		k := nodeKey(dir.bucketID(i))
		m.bucket, _ = m.parts.get(nodeHash(hash, dir.bucketID(i)), k[:], m.bucket[:0])
		if !m.below(hash, m.bucket, f) {
			return false
		}
	}
	return true
}

// below shows the entries of the leaves below n, in their order if they are in a tree.
func (m *frozenMap) below(hash uint64, n node, f func(leaf node, i int) bool) bool {
	if n.isBuckets() {
		return m.inBuckets(hash, n, f)
	}
	level := n.level()
	for len(m.nodes) < level {
		m.nodes = append(m.nodes, nil)
	}
	for i := range n.count() {
		if level == 0 {
			if !f(n, i) {
				return false
			}
			continue
		}
		id := n.child(i)
		k := nodeKey(id)
		m.nodes[level-1], _ = m.parts.get(nodeHash(hash, id), k[:], m.nodes[level-1][:0])
		if !m.below(hash, m.nodes[level-1], f) {
			return false
		}
	}
	return true
}
