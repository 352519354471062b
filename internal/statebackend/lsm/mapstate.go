package lsm

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/statebackend"
)

// mapState implements statebackend.Map. A range is read from the database, and what is dirty in the cache laid over it.
// The dirty rows of a map are found by a chain that begins at a head, a cached row of its own that is in no database.
type mapState struct {
	common
	many    int // is manyEntries, less in tests
	head    []byte
	bounds  [2][]byte
	over    []overlaid
	overBuf []byte
	iter    *pebble.Iterator
	version uint64 // of the rows that iter sees
}

// overlaid is a dirty row of a range, in mapState.overBuf.
type overlaid struct {
	at, key, val int
	dead         bool
}

const (
	headMark = 0x80 // in the first byte of a state's id
	// A chain longer than longChain is written when somebody asks for a range, so that the next one is short.
	longChain = 64
	// A map with more entries is cleared by one tombstone over its range.
	manyEntries = 1024
)

func (m *mapState) row(key statebackend.Key, ns, entry []byte) (prefix, row []byte) {
	m.buf = append(m.prefix(key, ns), entry...)
	return m.buf[:len(m.buf)-len(entry)], m.buf
}

// headOf returns the head of a map's dirty rows, or 0.
func (m *mapState) headOf(prefix []byte, create bool) rowID {
	m.head = append(m.head[:0], prefix...)
	m.head[0] |= headMark
	hash := xxh3.Hash(m.head)
	id := m.r.find(hash, m.head)
	if id == 0 && create {
		id = m.r.add(hash, m.head, 0)
		m.r.row(id).flags |= rowHead
	}
	return id
}

func (m *mapState) Get(key statebackend.Key, ns, entry []byte) ([]byte, bool) {
	if !m.begin() {
		return nil, false
	}
	_, row := m.row(key, ns, entry)
	return m.get(row)
}

func (m *mapState) Put(key statebackend.Key, ns, entry, value []byte) {
	m.check(value)
	if !m.begin() {
		return
	}
	prefix, row := m.row(key, ns, entry)
	id := m.r.blind(row, len(value))
	copy(m.change(id, len(value), 0), value)
	head := m.headOf(prefix, true)
	m.r.chain(head, id)
	if m.r.bare(head) {
		m.r.row(id).flags |= rowFresh
	}
}

func (m *mapState) Remove(key statebackend.Key, ns, entry []byte) bool {
	if !m.begin() {
		return false
	}
	prefix, row := m.row(key, ns, entry)
	return m.removeRow(prefix, row)
}

func (m *mapState) removeRow(prefix, row []byte) bool {
	id := m.r.load(row)
	w := m.r.row(id)
	if w.flags&rowDead != 0 {
		return false
	}
	m.kill(id)
	if m.r.isDirty(w) {
		m.r.chain(m.headOf(prefix, true), id)
	}
	return true
}

// overlay gathers the dirty rows of a map that lie in [from, to), in order. It reports whether these are all there are.
func (m *mapState) overlay(head rowID, from, to []byte, whole bool) (all bool) {
	r := m.r
	m.over, m.overBuf = m.over[:0], m.overBuf[:0]
	all = r.bare(head)
	n := 0
	for id := r.firstOf(head); id != 0; {
		w := r.row(id)
		next := r.linksOf(id).behind
		if !r.isDirty(w) {
			r.unchain(id, w)
			id = next
			continue
		}
		n++
		if key := r.keyOf(w); bytes.Compare(key, from) >= 0 && bytes.Compare(key, to) < 0 {
			o := overlaid{at: len(m.overBuf), key: len(key), dead: w.flags&rowDead != 0}
			m.overBuf = append(m.overBuf, key...)
			if !o.dead {
				m.overBuf = append(m.overBuf, r.valueOf(w)...)
			}
			o.val = len(m.overBuf) - o.at - o.key
			m.over = append(m.over, o)
		}
		id = next
	}
	slices.SortFunc(m.over, func(a, b overlaid) int {
		return bytes.Compare(m.overBuf[a.at:a.at+a.key], m.overBuf[b.at:b.at+b.key])
	})
	if n > longChain && !(whole && all) && len(r.pending) == 0 {
		m.writeChain(head)
		all = false
	}
	return all
}

// writeChain writes the dirty rows of a map, which are clean then.
func (m *mapState) writeChain(head rowID) {
	r := m.r
	r.victims = r.victims[:0]
	for id := r.firstOf(head); id != 0; id = r.linksOf(id).behind {
		r.victims = append(r.victims, r.dirty[r.row(id).dirtyAt-1])
	}
	if r.write(r.victims) != nil {
		return
	}
	for _, v := range r.victims {
		r.wroteOne(v.id)
	}
}

// within returns the rows of the entries from <= entry < to, in memory of its own.
func (m *mapState) within(prefix, from, to []byte) (lower, upper []byte) {
	lower = append(append(m.bounds[0][:0], prefix...), from...)
	if to == nil {
		upper = after(m.bounds[1][:0], prefix)
	} else {
		upper = append(append(m.bounds[1][:0], prefix...), to...)
	}
	m.bounds = [2][]byte{lower, upper}
	return lower, upper
}

func (m *mapState) Range(key statebackend.Key, ns, from, to []byte, f func(entry, value []byte) bool) {
	if !m.begin() || (to != nil && bytes.Compare(from, to) >= 0) {
		return
	}
	prefix := m.prefix(key, ns)
	m.rangeRows(prefix, from, to, func(row, value []byte) bool { return f(row[len(prefix):], value) })
}

// rangeRows visits the live rows of a part of a map. When the database has none of the map, it notes that.
func (m *mapState) rangeRows(prefix, from, to []byte, f func(row, value []byte) bool) {
	lower, upper := m.within(prefix, from, to)
	m.r.settle()
	head, whole := m.headOf(prefix, true), len(from) == 0 && to == nil
	if m.overlay(head, lower, upper, whole) {
		m.overlaid(f)
		return
	}
	it, err := m.iterate(lower, upper)
	if err != nil {
		m.r.failed(err)
		return
	}
	ok := it.First()
	if !ok && it.Error() == nil {
		if whole && len(m.r.pending) == 0 {
			m.r.makeBare(head)
		}
		m.overlaid(f)
		return
	}
	m.merge(it, ok, f)
}

// overlaid visits the live rows of the overlay.
func (m *mapState) overlaid(f func(row, value []byte) bool) {
	for _, o := range m.over {
		key, value := m.overBuf[o.at:o.at+o.key:o.at+o.key], m.overBuf[o.at+o.key:o.at+o.key+o.val:o.at+o.key+o.val]
		if !o.dead && !f(key, value) {
			return
		}
	}
}

// merge visits the live rows of the overlay and of an iterator, which is at its first row if ok.
func (m *mapState) merge(it *pebble.Iterator, ok bool, f func(row, value []byte) bool) {
	var err error
	over := m.over
	for ok || len(over) > 0 {
		c := -1
		var key, value []byte
		if len(over) > 0 {
			o := over[0]
			key, value = m.overBuf[o.at:o.at+o.key:o.at+o.key], m.overBuf[o.at+o.key:o.at+o.key+o.val:o.at+o.key+o.val]
			if ok {
				c = bytes.Compare(key, it.Key())
			}
		} else {
			c = 1
		}
		dead := false
		if c <= 0 {
			dead, over = over[0].dead, over[1:]
		} else {
			key = it.Key()
			if value, err = it.ValueAndErr(); err != nil {
				break
			}
		}
		if !dead && !f(key, value) {
			return
		}
		if c >= 0 {
			ok = it.Next()
		}
	}
	if err == nil {
		err = it.Error()
	}
	if err != nil {
		m.r.failed(err)
	}
}

// iterate returns an iterator over rows of the database. It is kept as long as nothing was written since.
func (m *mapState) iterate(lower, upper []byte) (*pebble.Iterator, error) {
	if m.iter != nil && m.version == m.r.written {
		m.iter.SetBounds(lower, upper)
		return m.iter, nil
	}
	if err := m.closeIter(); err != nil {
		return nil, err
	}
	it, err := m.r.iterator(lower, upper)
	if err != nil {
		return nil, err
	}
	m.iter, m.version = it, m.r.written
	return it, nil
}

func (m *mapState) closeIter() error {
	if m.iter == nil {
		return nil
	}
	err := m.iter.Close()
	m.iter = nil
	return err
}

// Count visits all entries of the map.
func (m *mapState) Count(key statebackend.Key, ns []byte) (n int) {
	m.Range(key, ns, nil, nil, func(_, _ []byte) bool { n++; return true })
	return n
}

func (m *mapState) Clear(key statebackend.Key, ns []byte) bool {
	if !m.begin() {
		return false
	}
	prefix := bytes.Clone(m.prefix(key, ns))
	var found [][]byte
	m.rangeRows(prefix, nil, nil, func(row, _ []byte) bool {
		found = append(found, bytes.Clone(row))
		return true
	})
	if len(found) <= m.many {
		for _, row := range found {
			m.removeRow(prefix, row)
		}
		return len(found) > 0
	}
	m.clearRange(prefix, found)
	return true
}

// clearRange drops the rows of a map from the cache and clears their range in the database.
func (m *mapState) clearRange(prefix []byte, found [][]byte) {
	r := m.r
	r.finish() // a cut that is not written yet must see the map
	for _, row := range found {
		if id := r.find(xxh3.Hash(row), row); id != 0 {
			r.drop(id)
		}
	}
	m.changed = true
	r.written++
	r.track.log.add(prefix, true)
	if err := r.db.DeleteRange(prefix, after(nil, prefix), pebble.NoSync); err != nil {
		r.failed(err)
		return
	}
	// What is still in the chain are dead rows, which are so now in the database.
	if head := m.headOf(prefix, false); head != 0 {
		for id := r.firstOf(head); id != 0; {
			next := r.linksOf(id).behind
			r.drop(id)
			id = next
		}
	}
}

func (m *mapState) All(f func(key statebackend.Key, ns, entry, value []byte) bool) {
	m.all(statebackend.KindMap, f)
}
