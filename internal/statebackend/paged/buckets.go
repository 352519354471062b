package paged

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A large map that is not read in order (statebackend.Descriptor.Ordered) is no tree: its entries lie in buckets by their
// hash, which linear hashing adds one by one, so that a put costs two look-ups however large the map is. The blob of the root is
//
//	+--------+-------+-----------+-------------------+
//	| 0xffff |   0   | number n  | first node's id   |   the counter is the number of entries, as for a tree
//	+--------+-------+-----------+-------------------+
//	   u16      u16       u32            u64
//
// Bucket i is the node whose id is the first one plus i: a leaf, sorted by the bytes of the keys as any, of any size.
const (
	bucketLevel = 1<<16 - 1
	bucketHead  = 16
	// bucketBytes is the size of a bucket above which one more is added. The one that is split then is the next in turn, so
	// some buckets are larger for a while.
	bucketBytes = 640
	// bucketRoom is what a bucket has from the start, so that it is not moved as it fills.
	bucketRoom = bucketBytes + 128
	// bucketIDBits are the low bits of the id of a bucket: its number.
	bucketIDBits = 28
)

func (n node) isBuckets() bool { return n.level() == bucketLevel }

func (n node) buckets() uint32 { return binary.LittleEndian.Uint32(n[4:]) }

func (n node) setBuckets(count uint32) { binary.LittleEndian.PutUint32(n[4:], count) }

// bucketID returns the id of bucket i.
func (n node) bucketID(i uint32) uint64 { return binary.LittleEndian.Uint64(n[8:]) + uint64(i) }

// bucketOf returns the bucket of an entry with this hash.
func (n node) bucketOf(hash uint64) uint32 {
	count := n.buckets()
	i := uint32(hash) & (1<<bits.Len32(count-1) - 1)
	if i >= count {
		i &= 1<<(bits.Len32(count-1)-1) - 1
	}
	return i
}

// splitOf returns the bucket that shares its entries with bucket i when that is made.
func splitOf(i uint32) uint32 { return i &^ (1 << (bits.Len32(i) - 1)) }

// entryHash spreads the key of an entry over 64 bits. It is not part of any format and may change.
func entryHash(b []byte) uint64 {
	h := uint64(len(b))*0x9E3779B97F4A7C15 + 0x8EBC6AF09C88C6E3
	p := b
	for ; len(p) > 8; p = p[8:] {
		h = fold(h^binary.LittleEndian.Uint64(p), 0x589965CC75374CC3)
	}
	var tail uint64
	if len(b) >= 8 {
		tail = binary.LittleEndian.Uint64(b[len(b)-8:])
	} else {
		for i, c := range b {
			tail |= uint64(c) << (8 * i)
		}
	}
	return fold(h^tail, 0x1D8E4E27C47D124F)
}

// spread makes buckets of n, a leaf that became too large for the root.
func (t tree) spread(n node) {
	m := t.m
	m.buckets++
	head := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0, 0}, 1), m.buckets<<bucketIDBits)
	t.store(0, head)
	t.storeBucket(node(head).bucketID(0), n)
	t.addBucket()
}

// addBucket makes one more bucket and moves half of the entries of another there. It does nothing when there is a bucket for
// each entry already, whose values are large then.
func (t tree) addBucket() {
	m := t.m
	root := t.place(0)
	dir := root.node()
	count := dir.buckets()
	if count >= root.b.user || count >= 1<<bucketIDBits-1 {
		return
	}
	m.roots.resize(root.hash, root.s, root.b, bucketHead)
	from := splitOf(count)
	at, to, mask := dir.bucketID(from), dir.bucketID(count), uint64(1)<<(bits.Len32(count)-1)
	dir.setBuckets(count + 1)
	n := t.load(at)
	m.picked = m.picked[:0]
	moved := 0
	for i := range n.count() {
		move := entryHash(n.key(i))&mask != 0
		m.picked = append(m.picked, move)
		if move {
			moved++
		}
	}
	m.scratch[0] = appendPicked(m.scratch[0][:0], n, m.picked, false, n.count()-moved)
	m.scratch[1] = appendPicked(m.scratch[1][:0], n, m.picked, true, moved)
	t.storeBucket(at, m.scratch[0])
	t.storeBucket(to, m.scratch[1])
}

// storeBucket is store for a bucket, which keeps its room.
func (t tree) storeBucket(id uint64, n node) {
	k, in := nodeKey(id), t.m.nodes
	hash := norm(nodeHash(t.hash, id))
	v, _ := in.again(hash, k[:])
	b, s := (*blob)(v), in.segmentOf(hash)
	if len(n) > int(b.cap)*8 {
		b.len = 0
		in.moveBlob(s, b, max(len(n), bucketRoom))
	}
	b.len = uint32(len(n))
	copy(s.arena.slice(b.off, b.len), n)
	in.settle(s, hash)
}

// removeBucket takes the last bucket away if its entries and those of the bucket that they go to make less than half a bucket. The
// last two become a leaf in the root.
func (t tree) removeBucket() {
	m := t.m
	root := t.place(0)
	dir := root.node()
	last := dir.buckets() - 1
	to, from := dir.bucketID(splitOf(last)), dir.bucketID(last)
	a, b := t.load(to), t.load(from)
	if len(a)+len(b) > bucketBytes/2 {
		return
	}
	m.scratch[0] = appendMerged(m.scratch[0][:0], a, b)
	if last == 1 {
		t.free(from)
		t.free(to)
		t.store(0, m.scratch[0])
		return
	}
	m.roots.resize(root.hash, root.s, root.b, bucketHead)
	dir.setBuckets(last)
	t.free(from)
	t.storeBucket(to, m.scratch[0])
}

// appendPicked appends a node with those of the entries of n whose mark is want.
func appendPicked(b []byte, n node, marks []bool, want bool, count int) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(n.level()))
	b = binary.LittleEndian.AppendUint16(b, uint16(count))
	end, last := 0, n.end(-1)
	for i, mark := range marks {
		next := n.end(i)
		if mark == want {
			end += next - last
			b = binary.LittleEndian.AppendUint32(b, uint32(end))
		}
		last = next
	}
	last = n.end(-1)
	for i, mark := range marks {
		next := n.end(i)
		if mark == want {
			b = append(b, n[last:next]...)
		}
		last = next
	}
	return b
}

// appendMerged appends a leaf with the entries of two that have no key in common.
func appendMerged(b []byte, x, y node) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(x.level()))
	b = binary.LittleEndian.AppendUint16(b, uint16(x.count()+y.count()))
	ends := len(b)
	b = append(b, make([]byte, 4*(x.count()+y.count()))...)
	start := len(b)
	for i, j := 0, 0; i < x.count() || j < y.count(); {
		if j == y.count() || i < x.count() && bytes.Compare(x.key(i), y.key(j)) < 0 {
			b = append(b, x[x.end(i-1):x.end(i)]...)
			i++
		} else {
			b = append(b, y[y.end(j-1):y.end(j)]...)
			j++
		}
		binary.LittleEndian.PutUint32(b[ends:], uint32(len(b)-start))
		ends += 4
	}
	return b
}

// cursor is an entry of a bucket, and those behind it.
type cursor struct {
	key []byte
	n   node
	at  int
}

// rangeOfBuckets visits the entries of all buckets in [from, to) in their order, with a heap of the buckets by their next entry.
func (t tree) rangeOfBuckets(dir node, from, to []byte, f func(entry, value []byte) bool) bool {
	heap := make([]cursor, 0, dir.buckets())
	for i := range dir.buckets() {
		c := cursor{n: t.load(dir.bucketID(i))}
		if from != nil {
			c.at, _ = c.n.search(from)
		}
		if c.at < c.n.count() {
			c.key = c.n.key(c.at)
			heap = append(heap, c)
		}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i)
	}
	for len(heap) > 0 {
		c := &heap[0]
		if to != nil && string(c.key) >= string(to) {
			return true // as all that come behind it
		}
		if !f(c.key, c.n.value(c.at)) {
			return false
		}
		if c.at++; c.at < c.n.count() {
			c.key = c.n.key(c.at)
		} else {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap, 0)
	}
	return true
}

// sink moves an entry of a heap down to its place.
func sink(heap []cursor, i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if string(heap[child].key) < string(heap[least].key) {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
