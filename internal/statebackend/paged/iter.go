package paged

import (
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
)

// All calls f for every key until it returns false. The order is ascending by segment, that is roughly by key group, and
// unspecified inside a segment. f must not write, insert or delete. key and val are
// borrowed for the call. For a table of blobs, val is no value: use AllBytes.
func (t *Table) All(f func(hash uint64, key []byte, val unsafe.Pointer) bool) {
	t.InGroups(t.cfg.Groups, f)
}

// InGroups is All for the keys whose group is in r. It costs the segments that overlap r.
func (t *Table) InGroups(r keygroup.Range, f func(hash uint64, key []byte, val unsafe.Pointer) bool) {
	t.cells(r, func(s *segment, cell unsafe.Pointer) bool {
		return f(*(*uint64)(cell), t.keyOf(s, cell), unsafe.Add(cell, t.valOff))
	})
}

// AllBytes is All for a table of blobs.
func (t *Table) AllBytes(f func(hash uint64, key, value []byte) bool) {
	t.BytesInGroups(t.cfg.Groups, f)
}

// BytesInGroups is InGroups for a table of blobs.
func (t *Table) BytesInGroups(r keygroup.Range, f func(hash uint64, key, value []byte) bool) {
	t.cells(r, func(s *segment, cell unsafe.Pointer) bool {
		b := (*blob)(unsafe.Add(cell, t.valOff))
		return f(*(*uint64)(cell), t.keyOf(s, cell), s.arena.slice(b.off, b.len))
	})
}

func (t *Table) cells(r keygroup.Range, f func(*segment, unsafe.Pointer) bool) {
	r = r.Intersect(t.cfg.Groups)
	if r.Len() == 0 {
		return
	}
	last := (r.To - 1).Last()
	all := r == t.cfg.Groups
	for i := int(r.From.First()>>t.shift - t.dirBase); i < len(t.segs) && (t.dirBase+uint64(i))<<t.shift <= last; {
		s := t.segs[i]
		n := t.spanOf(i, s)
		for p := uint64(0); p <= s.mask && s.n > 0; p++ {
			cell := t.cellAt(s, p)
			tag := *(*uint64)(cell)
			if tag != 0 && (all || r.ContainsHash(tag)) && !f(s, cell) {
				return
			}
		}
		i += n
	}
}
