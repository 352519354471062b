package paged

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// frozenState is a state at a cut: a table with the keys, and for lists and maps one with the parts that do not lie there.
type frozenState struct {
	layout
	keys  *FrozenTable
	parts *FrozenTable // nil for values
	// each shows what lies under one key.
	each func(hash uint64, stored []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool
}

var _ statebackend.Drainer = (*frozenState)(nil)

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
		// The parts are in the groups of their keys, of which the last may have keys in the next segment.
		if last := s.keys.segs[i].last; last >= 1<<keygroup.Shift {
			s.parts.drained((keygroup.Of(last) - 1).Last())
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
		return s.each(hash, value, key, ns, f)
	}
}

func (v *valueState) cut() statebackend.Frozen {
	return &frozenState{layout: v.layout, keys: v.t.Cut(),
		each: func(_ uint64, value []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool {
			return f(key, ns, nil, value)
		}}
}

func (l *listState) cut() statebackend.Frozen {
	f := &frozenList{listState: listState{layout: l.layout, width: l.width}, parts: l.chunks.Cut()}
	return &frozenState{layout: l.layout, keys: l.heads.Cut(), parts: f.parts, each: f.each}
}

type frozenList struct {
	listState // for the form of elements
	parts     *FrozenTable
	chunk     []byte
}

func (l *frozenList) each(hash uint64, head []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool {
	visit := func(e []byte) bool { return f(key, ns, nil, e) }
	for id := binary.LittleEndian.Uint64(head); id != 0; {
		k := nodeKey(id)
		l.chunk, _, _ = l.parts.get(nodeHash(hash, id), k[:], l.chunk[:0])
		if !l.listState.each(l.chunk[chunkHead:], visit) {
			return false
		}
		id = binary.LittleEndian.Uint64(l.chunk)
	}
	return l.listState.each(head[listHead:], visit)
}

func (m *mapState) cut() statebackend.Frozen {
	f := &frozenMap{parts: m.nodes.Cut()}
	return &frozenState{layout: m.layout, keys: m.roots.Cut(), parts: f.parts, each: f.each}
}

type frozenMap struct {
	parts *FrozenTable
	nodes [][]byte // by level
}

func (m *frozenMap) each(hash uint64, root []byte, key statebackend.Key, ns []byte, f statebackend.Visit) bool {
	return m.below(hash, root, func(e, v []byte) bool { return f(key, ns, e, v) })
}

// below shows the entries below n in their order.
func (m *frozenMap) below(hash uint64, n node, f func(entry, value []byte) bool) bool {
	level := n.level()
	for len(m.nodes) < level {
		m.nodes = append(m.nodes, nil)
	}
	for i := range n.count() {
		if level == 0 {
			if !f(n.key(i), n.value(i)) {
				return false
			}
			continue
		}
		id := n.child(i)
		k := nodeKey(id)
		m.nodes[level-1], _, _ = m.parts.get(nodeHash(hash, id), k[:], m.nodes[level-1][:0])
		if !m.below(hash, m.nodes[level-1], f) {
			return false
		}
	}
	return true
}
