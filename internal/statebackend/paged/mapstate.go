package paged

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/statebackend"
)

// mapState implements statebackend.Map: one B+ tree for each key and namespace, so that an entry is put without copying
// the map, and entries come in the order of their bytes.
//
// The root is a blob under the key itself, so a small map is one lookup. All other nodes of all trees are blobs in a
// second table under a number, with the key's group in their hash. The counter of the root's blob is the number of
// entries. Nodes that become empty are freed; half-empty ones are not merged. A map that is not read in order has buckets
// instead once it is larger than a leaf, see buckets.go.
type mapState struct {
	layout
	width int
	roots *Table
	nodes *Table
	last  uint64 // number of the newest node of a tree
	// ordered makes trees of large maps. buckets is the number of the newest map with buckets otherwise.
	ordered bool
	buckets uint64
	picked  []bool
	n       int    // entries
	fresh   bool   // something changed since the last cut
	mark    uint64 // of the last cut

	path    []step
	leaf    place // of the node at the end of path
	root    place
	scratch [2][]byte
}

// step is one node on the way from the root to a leaf, with the entry that was followed. The root's number is 0.
type step struct {
	id uint64
	at int
}

// place is where a node lies. It is valid until a node is added or freed.
type place struct {
	t    *Table
	hash uint64
	s    *segment
	b    *blob
}

func (p place) node() node {
	if p.b == nil {
		return nil
	}
	return node(p.s.arena.slice(p.b.off, p.b.len))
}

var (
	_ statebackend.Map     = (*mapState)(nil)
	_ statebackend.Toucher = (*mapState)(nil)
)

// partBits of the hash of a key are the first bits of the hashes of its parts: nodes and chunks. They are few, because the parts of
// one key may be a whole table, and its directory has to tell them apart; and some, so that a cut that is drained gives
// parts back as it goes.
const partBits = 3

// nodeHash returns the hash of a part of what a key with this hash has.
func nodeHash(hash, id uint64) uint64 {
	const shift = 64 - partBits
	return hash>>shift<<shift | (fold(id, 0x9E3779B97F4A7C15)^id<<20)>>partBits
}

func nodeKey(id uint64) [8]byte {
	var k [8]byte
	binary.LittleEndian.PutUint64(k[:], id)
	return k
}

// tree is one map while it is worked on.
type tree struct {
	m    *mapState
	hash uint64
	key  []byte // of the root, borrowed
}

func (t tree) load(id uint64) node { return t.place(id).node() }

func (t tree) place(id uint64) place {
	if id == 0 {
		s, b := t.m.roots.findBlob(t.hash, t.key)
		return place{t.m.roots, t.hash, s, b}
	}
	k := nodeKey(id)
	h := nodeHash(t.hash, id)
	s, b := t.m.nodes.findBlob(h, k[:])
	return place{t.m.nodes, h, s, b}
}

func (t tree) store(id uint64, n node) {
	if id == 0 {
		t.m.roots.PutBytes(t.hash, t.key, n)
		return
	}
	k := nodeKey(id)
	t.m.nodes.PutBytes(nodeHash(t.hash, id), k[:], n)
}

func (t tree) free(id uint64) {
	k := nodeKey(id)
	t.m.nodes.Delete(nodeHash(t.hash, id), k[:])
}

func (t tree) add(n node) uint64 {
	t.m.last++
	t.store(t.m.last, n)
	return t.m.last
}

func (m *mapState) tree(key statebackend.Key, ns []byte) tree {
	hash, k := m.compose(key, ns)
	return tree{m, hash, k}
}

// walk goes down to the leaf that may hold entry and leaves the way in m.path; nil means that there is no tree.
func (t tree) walk(entry []byte) node {
	m := t.m
	m.path = m.path[:0]
	id := uint64(0)
	m.root = t.place(0)
	m.leaf = m.root
	n := m.root.node()
	if n != nil && n.isBuckets() {
		id = n.bucketID(n.bucketOf(entryHash(entry)))
		m.leaf = t.place(id)
		n = m.leaf.node()
		m.nodes.sink += n.touch()
	}
	for n != nil && n.level() > 0 {
		at := n.descend(entry)
		m.path = append(m.path, step{id, at})
		id = n.child(at)
		m.leaf = t.place(id)
		n = m.leaf.node()
		m.nodes.sink += n.touch()
	}
	m.path = append(m.path, step{id: id})
	return n
}

func (m *mapState) Get(key statebackend.Key, ns, entry []byte) ([]byte, bool) {
	n := m.tree(key, ns).walk(entry)
	if n == nil {
		return nil, false
	}
	at, found := n.search(entry)
	if !found {
		return nil, false
	}
	return n.value(at), true
}

func (m *mapState) Put(key statebackend.Key, ns, entry, value []byte) {
	checkWidth(m.name, m.width, value)
	m.fresh = true
	t := m.tree(key, ns)
	n := t.walk(entry)
	if n == nil {
		m.n++
		m.scratch[0] = appendEdited(m.scratch[0][:0], appendEmpty(nil, 0), 0, false, entry, value, m.stamp())
		m.roots.PutBytes(t.hash, t.key, m.scratch[0])
		m.roots.addBlobCount(t.hash, t.key, 1)
		return
	}
	at, found := n.search(entry)
	p := m.leaf
	if found {
		if len(n.value(at)) == len(value) {
			leaf := node(p.t.resize(p.hash, p.s, p.b, len(n)))
			copy(leaf.value(at), value)
			leaf.setStamp(at, m.stamp())
			return
		}
	} else {
		m.root.t.markBlob(m.root.hash, m.root.b)
		m.root.b.user++
		m.n++
		inBucket := p.t != m.roots && !m.ordered
		if size := len(n) + insertedBytes(entry, value); size <= n.bytesMax() || inBucket {
			node(p.t.resize(p.hash, p.s, p.b, size)).insert(len(n), at, entry, value, m.stamp())
			p.t.settle(p.s, norm(p.hash))
			if inBucket && size > bucketBytes {
				t.addBucket()
			}
			return
		}
	}
	m.scratch[0] = appendEdited(m.scratch[0][:0], n, at, found, entry, value, m.stamp())
	n = m.scratch[0]
	switch id := m.path[len(m.path)-1].id; {
	case m.ordered:
		t.settle(n)
	case id != 0:
		t.storeBucket(id, n)
	case len(n) > leafBytesMax && n.count() > 1:
		t.spread(n)
	default:
		t.store(0, n)
	}
}

// settle stores n, the new content of the node at the end of m.path, and splits it and its parents as far as needed.
func (t tree) settle(n node) {
	m := t.m
	for depth := len(m.path) - 1; ; depth-- {
		id := m.path[depth].id
		if len(n) <= n.bytesMax() || n.count() < n.splitMin() {
			t.store(id, n)
			return
		}
		mid := n.middle()
		var right [8]byte
		m.scratch[1] = appendNode(m.scratch[1][:0], n, mid, n.count())
		binary.LittleEndian.PutUint64(right[:], t.add(m.scratch[1]))
		separator := append([]byte(nil), n.key(mid)...)
		m.scratch[1] = appendNode(m.scratch[1][:0], n, 0, mid)
		if id == 0 {
			var left [8]byte
			binary.LittleEndian.PutUint64(left[:], t.add(m.scratch[1]))
			root := node(appendEmpty(nil, n.level()+1))
			root = appendEdited(nil, root, 0, false, nil, left[:], 0)
			t.store(0, appendEdited(nil, root, 1, false, separator, right[:], 0))
			return
		}
		t.store(id, m.scratch[1])
		parent := m.path[depth-1]
		m.scratch[0] = appendEdited(m.scratch[0][:0], t.load(parent.id), parent.at+1, false, separator, right[:], 0)
		n = m.scratch[0]
	}
}

func (m *mapState) Remove(key statebackend.Key, ns, entry []byte) bool {
	t := m.tree(key, ns)
	n := t.walk(entry)
	if n == nil {
		return false
	}
	at, found := n.search(entry)
	if !found {
		return false
	}
	m.fresh = true
	m.n--
	if m.roots.BlobCount(t.hash, t.key) == 1 {
		t.drop(t.load(0))
		m.roots.Delete(t.hash, t.key)
		return true
	}
	m.roots.addBlobCount(t.hash, t.key, -1)
	if k := &m.roots.track; k.on {
		k.gone.add(norm(t.hash), t.key, notNil(entry), m.n)
	}
	if id := m.path[len(m.path)-1].id; id != 0 && !m.ordered {
		m.scratch[0] = appendWithout(m.scratch[0][:0], n, at)
		t.storeBucket(id, m.scratch[0])
		if len(m.scratch[0]) < bucketBytes/4 {
			t.removeBucket()
		}
		return true
	}
	for depth := len(m.path) - 1; ; depth-- {
		id := m.path[depth].id
		m.scratch[0] = appendWithout(m.scratch[0][:0], n, at)
		if n = m.scratch[0]; n.count() > 0 {
			t.store(id, n)
			break
		}
		t.free(id) // not the root: it has an entry as long as the map has
		parent := m.path[depth-1]
		n, at = t.load(parent.id), parent.at
	}
	t.lower()
	return true
}

// lower takes levels away as long as the root has a single child.
func (t tree) lower() {
	for {
		root := t.load(0)
		if root.level() == 0 || root.count() > 1 {
			return
		}
		child := root.child(0)
		t.m.scratch[0] = append(t.m.scratch[0][:0], t.load(child)...)
		t.store(0, t.m.scratch[0])
		t.free(child)
	}
}

// drop frees all nodes below n.
func (t tree) drop(n node) {
	if n.level() == 0 {
		return
	}
	if n.isBuckets() {
		for i := range n.buckets() {
			t.free(n.bucketID(i))
		}
		return
	}
	// Freeing may move what n points to if it is not the root.
	children := make([]uint64, n.count())
	for i := range children {
		children[i] = n.child(i)
	}
	for _, c := range children {
		t.drop(t.load(c))
		t.free(c)
	}
}

func (m *mapState) Range(key statebackend.Key, ns, from, to []byte, f func(entry, value []byte) bool) {
	t := m.tree(key, ns)
	if root := t.load(0); root != nil {
		t.rangeOf(root, from, to, f)
	}
}

// rangeOf visits the entries below n in [from, to) and reports whether to go on.
func (t tree) rangeOf(n node, from, to []byte, f func(entry, value []byte) bool) bool {
	if n.isBuckets() {
		return t.rangeOfBuckets(n, from, to, f)
	}
	i := 0
	if from != nil {
		if n.level() == 0 {
			i, _ = n.search(from)
		} else {
			i = n.descend(from)
		}
	}
	for ; i < n.count(); i++ {
		key := n.key(i)
		// The first key of an inner node is no lower bound of what is below it.
		if to != nil && string(key) >= string(to) && (n.level() == 0 || i > 0) {
			return false
		}
		if n.level() > 0 {
			if !t.rangeOf(t.load(n.child(i)), from, to, f) {
				return false
			}
		} else if !f(key, n.value(i)) {
			return false
		}
	}
	return true
}

func (m *mapState) Count(key statebackend.Key, ns []byte) int {
	return int(m.roots.BlobCount(m.compose(key, ns)))
}

func (m *mapState) Clear(key statebackend.Key, ns []byte) bool {
	t := m.tree(key, ns)
	root := t.load(0)
	if root == nil {
		return false
	}
	m.fresh = true
	m.n -= int(m.roots.BlobCount(t.hash, t.key))
	t.drop(root)
	m.roots.Delete(t.hash, t.key)
	return true
}

// stamp is what entries put now carry.
func (m *mapState) stamp() uint32 { return uint32(m.roots.seq) }

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func (m *mapState) All(f func(key statebackend.Key, ns, entry, value []byte) bool) {
	m.roots.AllBytes(m.entries(f))
}

// entries makes a visit of entries one of roots.
func (m *mapState) entries(f statebackend.Visit) func(hash uint64, k, root []byte) bool {
	return func(hash uint64, k, root []byte) bool {
		key, ns := m.split(hash, k)
		stop := false
		tree{m, hash, k}.rangeOf(root, nil, nil, func(entry, value []byte) bool {
			stop = !f(key, ns, entry, value)
			return !stop
		})
		return !stop
	}
}

// Expect implements statebackend.Expecter.
func (m *mapState) Expect(keysPerGroup float64) { m.roots.expectPerGroup(keysPerGroup) }

// Touch implements statebackend.Toucher: a small map is in the cache then, and of a large one the root.
func (m *mapState) Touch(hashes []uint64) {
	if m.ns == 0 {
		m.roots.touchAll(hashes)
	}
}
