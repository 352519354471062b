package paged

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
)

// A table that tracks remembers, cut by cut, which cells changed and which keys went, until a complete checkpoint makes that
// superfluous. Both belong to intervals between two cuts: an interval has the number of the cut that ended it.
//
// The bits of an interval follow their cells when these move to another block. They may be too many: a cell that a deletion
// moved back counts as changed.

const (
	// intervalsMax bounds the intervals that are remembered when no checkpoint becomes complete.
	intervalsMax = 8
	// removalsMin is how many keys may be removed in an interval, however small the table is.
	removalsMin = 1024
)

// tracking is what a table remembers beyond the bits of its segments.
type tracking struct {
	on     bool
	fresh  bool   // something changed since the last cut
	base   uint64 // changes since the cut of this number, and later ones, are known
	gone   *removals
	past   []pastRemovals
	shared *trackShared // nil before the first cut that tracks
}

// trackShared is what cuts tell their table, from any goroutine.
type trackShared struct {
	asked    atomic.Bool   // somebody wants to know the changes
	complete atomic.Uint64 // the number of the last cut whose checkpoint is complete
}

// pastBits are the cells that changed in an interval. They are not written any more.
type pastBits struct {
	cut  uint64
	bits []uint64
}

// pastRemovals are the keys that were removed in an interval.
type pastRemovals struct {
	cut  uint64
	gone *removals
}

// removals is a list of keys, or of entries of maps:
//
//	[ hash 8 | bytes of key 4 | bytes of user key 4, all ones for none | key | user key ] ...
type removals struct {
	buf  []byte
	n    int
	lost bool // there were too many, or the table was emptied as a whole
}

func (r *removals) add(hash uint64, key, user []byte, most int) {
	if r.lost {
		return
	}
	if r.n >= max(most, removalsMin) {
		*r = removals{lost: true}
		return
	}
	le, size := binary.LittleEndian, noUser
	if user != nil {
		size = uint32(len(user))
	}
	b := le.AppendUint32(le.AppendUint64(r.buf, hash), uint32(len(key)))
	r.buf = append(append(le.AppendUint32(b, size), key...), user...)
	r.n++
}

const noUser = ^uint32(0)

// removal is an element of removals.
type removal struct {
	hash      uint64
	key, user []byte
}

func compareRemovals(a, b removal) int {
	if c := cmp.Compare(a.hash, b.hash); c != 0 {
		return c
	}
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c
	}
	switch {
	case a.user == nil && b.user != nil:
		return -1
	case a.user != nil && b.user == nil:
		return 1
	}
	return bytes.Compare(a.user, b.user)
}

// collect returns the removals of groups in intervals behind the cut, sorted by hash, key and user key, each once. Those
// without a user key come before the others of a key.
func collect(past []pastRemovals, since uint64, groups keygroup.Range) []removal {
	var all []removal
	le := binary.LittleEndian
	for _, p := range past {
		if p.cut <= since {
			continue
		}
		for b := p.gone.buf; len(b) > 0; {
			r := removal{hash: le.Uint64(b)}
			k, u := int(le.Uint32(b[8:])), le.Uint32(b[12:])
			b = b[16:]
			r.key, b = b[:k:k], b[k:]
			if u != noUser {
				r.user, b = b[:u:u], b[u:]
			}
			if groups.ContainsHash(r.hash) {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, compareRemovals)
	return slices.CompactFunc(all, func(a, b removal) bool { return compareRemovals(a, b) == 0 })
}

// of returns the removals of a key, from a list that collect has made.
func of(all []removal, hash uint64, key []byte) []removal {
	lo := sort.Search(len(all), func(i int) bool {
		r := &all[i]
		return r.hash > hash || r.hash == hash && bytes.Compare(r.key, key) >= 0
	})
	hi := lo
	for hi < len(all) && all[hi].hash == hash && bytes.Equal(all[hi].key, key) {
		hi++
	}
	return all[lo:hi]
}

// beginInterval is called by a cut, after its number was given and before the bits of segments are taken.
func (t *Table) beginInterval() {
	k := &t.track
	if k.shared == nil {
		k.shared = &trackShared{}
	} else if k.on && !k.shared.asked.Load() {
		k.on, k.gone, k.past = false, nil, nil
		return
	} else if !k.on && !k.shared.asked.Load() {
		return
	}
	if !k.on {
		k.on, k.base, k.gone, k.fresh = true, t.seq, &removals{}, false
		return
	}
	if k.fresh { // else the state has the same mark, and there is nothing to remember
		k.past = append(k.past, pastRemovals{t.seq, k.gone})
		k.gone, k.fresh = &removals{}, false
	}
	k.base = max(k.base, min(k.shared.complete.Load(), t.seq))
	for len(k.past) > intervalsMax && k.past[0].cut > k.base {
		k.base = k.past[0].cut
		k.past = k.past[1:]
	}
	for len(k.past) > 0 && k.past[0].cut <= k.base {
		k.past = k.past[1:]
	}
}

// endInterval keeps the bits of a segment and drops those that nobody will ask for. It is part of a cut.
func (t *Table) endInterval(s *segment) {
	if !t.track.on {
		s.past = nil
		return
	}
	for len(s.past) > 0 && s.past[0].cut <= t.track.base {
		s.past = s.past[1:]
	}
	if s.bits != nil && t.track.base < t.seq {
		s.past = append(s.past, pastBits{t.seq, s.bits})
	}
}

// noteRemoval remembers a key that is about to go.
func (t *Table) noteRemoval(s *segment, i uint64) {
	if t.track.on {
		cell := t.cellAt(s, i)
		t.track.gone.add(*(*uint64)(cell), t.keyOf(s, cell), nil, t.n)
	}
}

// follow makes the bits of a new block of cells, to which the cells of s are about to move one by one.
func (t *Table) follow(s, to *segment) {
	if !t.track.on {
		return
	}
	words := t.bitWords(to)
	if s.bits != nil {
		to.bits = make([]uint64, words)
	}
	to.past = make([]pastBits, len(s.past))
	for i, p := range s.past {
		to.past[i] = pastBits{p.cut, make([]uint64, words)}
	}
}

// moved sets the bits of a cell that has moved, by the offsets of its places.
func (t *Table) moved(s *segment, from uintptr, to *segment, at uintptr) {
	if !t.track.on {
		return
	}
	from, at = from>>t.bitShift, at>>t.bitShift
	if s.bits != nil {
		to.bits[at>>6] |= s.bits[from>>6] >> (from & 63) & 1 << (at & 63)
	}
	for i := range s.past {
		to.past[i].bits[at>>6] |= s.past[i].bits[from>>6] >> (from & 63) & 1 << (at & 63)
	}
}

func (t *Table) bitWords(s *segment) int {
	return int(uintptr(s.mask+1)*t.cellBytes>>t.bitShift>>6) + 1
}

// known reports whether the changes since a cut are known.
func (f *FrozenTable) known(since uint64) bool {
	if !f.tracked || since < f.base || since > f.seq {
		return false
	}
	for _, p := range f.gone {
		if p.cut > since && p.gone.lost {
			return false
		}
	}
	return true
}

// changed calls f for every key in r that is new or has changed since a cut, as Each does. Some may not have changed.
func (f *FrozenTable) changed(since uint64, r keygroup.Range, visit func(hash uint64, key, value []byte) bool) {
	if r.Len() == 0 {
		return
	}
	first, last := r.From.First(), (r.To - 1).Last()
	var union []uint64
	for i := f.segmentFor(first); i < len(f.segs); i++ {
		union = union[:0]
		for _, p := range f.segs[i].past {
			if p.cut <= since {
				continue
			}
			union = append(union, make([]uint64, max(len(p.bits)-len(union), 0))...)
			for w, x := range p.bits {
				union[w] |= x
			}
		}
		if m := f.segs[i].image; m != nil && len(union) > 0 {
			v := f.viewOf()
			v.loadBits(m, f.seq, union)
			if !v.show(r, f.segs[i].n, visit) {
				return
			}
		}
		if f.segs[i].last >= last {
			return
		}
	}
}

// loadBits makes v a copy of the cells of m with a bit, as they were at the cut.
func (v *view) loadBits(m *image, seq uint64, set []uint64) {
	v.size = uintptr(m.mask+1) * v.cellBytes
	v.words = slices.Grow(v.words[:0], int(v.size/8))[:v.size/8]
	clear(v.words)
	v.bytes = v.bytes[:0]
	for w := 0; w < len(set); {
		m.mu.Lock()
		w = v.copySet(m, seq, set, w)
		m.mu.Unlock()
		v.pace.Break()
	}
	v.overlayLogs(m, seq, set)
	v.close()
}

// copySet copies cells of the w-th and further words of set that have not changed since the cut, and returns where to go on.
func (v *view) copySet(m *image, seq uint64, set []uint64, w int) int {
	logs := m.changedSince(seq)
	for copied := 0; w < len(set) && copied < v.lockBytes; w++ {
		for x := set[w]; x != 0; x &= x - 1 {
			bit := uintptr(w<<6 + bits.TrailingZeros64(x))
			off := (bit<<v.bitShift + v.cellBytes - 1) / v.cellBytes * v.cellBytes
			if slices.ContainsFunc(logs, func(u *undo) bool { return u.has(v.shape, off) }) {
				continue
			}
			cell := unsafe.Add(m.cells, off)
			key, val := v.refs(&m.arena, cell)
			v.put(off, cell, key, val)
			copied += int(v.cellBytes) + len(key) + len(val)
		}
	}
	return w
}
