package paged

import (
	"encoding/binary"
	"sort"
)

// node is one page of a B+ tree: entries sorted by the bytes of their keys.
//
//	+-------+-------+--------+- ... -+--------+----------------------------+- ...
//	| level | count | end 0  |       | end n-1| head 0 | key | value | entry 1 ...
//	+-------+-------+--------+- ... -+--------+----------------------------+- ...
//	  u16     u16     u32              u32      u32
//
// level 0 is a leaf. Above it a value is the number of the child (u64) that holds the keys from its own on; the first
// child also holds all smaller ones. end i is where entry i ends, counted from the end of the table of ends.
//
// The head of an entry has the size of its key in the lower 20 bits; all ones say that the size follows in a u32 of its own.
// The upper 12 bits are, in a leaf, the number of the last cut before the entry was put, modulo 4096.
type node []byte

const (
	nodeHead = 4
	// leafBytesMax and innerBytesMax are the sizes above which a node splits. A leaf is rewritten by every insert, so it
	// is small; an inner node only by splits, so it is larger and the tree flat.
	leafBytesMax  = 1024
	innerBytesMax = 4 << 10

	keySizeBits = 20
	longKey     = 1<<keySizeBits - 1
	stamps      = 1 << (32 - keySizeBits)
)

// splitEntry returns the key of the entry at the start of e, and how many bytes lie before it.
func splitEntry(e []byte) (key []byte, at int) {
	size, at := binary.LittleEndian.Uint32(e)&longKey, 4
	if size == longKey {
		size, at = binary.LittleEndian.Uint32(e[4:]), 8
	}
	return e[at : at+int(size) : at+int(size)], at
}

// appendHead appends what lies before a key.
func appendHead(b, key []byte, stamp uint32) []byte {
	stamp = stamp % stamps << keySizeBits
	if len(key) < longKey {
		return binary.LittleEndian.AppendUint32(b, stamp|uint32(len(key)))
	}
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, stamp|longKey), uint32(len(key)))
}

func headBytes(key []byte) int {
	if len(key) < longKey {
		return 4
	}
	return 8
}

func (n node) level() int { return int(binary.LittleEndian.Uint16(n)) }
func (n node) count() int { return int(binary.LittleEndian.Uint16(n[2:])) }

func (n node) bytesMax() int {
	if n.level() == 0 {
		return leafBytesMax
	}
	return innerBytesMax
}

// splitMin is how many entries a node must have to split. Two children on each side keep a tree of very long keys from
// growing into a chain.
func (n node) splitMin() int {
	if n.level() == 0 {
		return 2
	}
	return 4
}

// end returns where entry i ends in n; entry -1 ends where the first begins.
func (n node) end(i int) int {
	base := nodeHead + 4*n.count()
	if i < 0 {
		return base
	}
	return base + int(binary.LittleEndian.Uint32(n[nodeHead+4*i:]))
}

func (n node) key(i int) []byte {
	key, _ := splitEntry(n[n.end(i-1):])
	return key
}

// stamp returns when entry i was put.
func (n node) stamp(i int) uint32 { return binary.LittleEndian.Uint32(n[n.end(i-1):]) >> keySizeBits }

// setStamp says that entry i is put now.
func (n node) setStamp(i int, stamp uint32) {
	e := n[n.end(i-1):]
	binary.LittleEndian.PutUint32(e, binary.LittleEndian.Uint32(e)&longKey|stamp%stamps<<keySizeBits)
}

func (n node) value(i int) []byte {
	e, end := n.end(i-1), n.end(i)
	key, at := splitEntry(n[e:])
	return n[e+at+len(key) : end : end]
}

func (n node) child(i int) uint64 { return binary.LittleEndian.Uint64(n.value(i)) }

// search returns the first entry whose key is not below key, and whether it is key.
func (n node) search(key []byte) (int, bool) {
	i := n.lower(0, key)
	return i, i < n.count() && string(n.key(i)) == string(key)
}

// descend returns the entry of the child that holds key. The key of the first entry is not looked at: it may be larger
// than keys below it, once earlier children are gone.
func (n node) descend(key []byte) int {
	i := n.lower(1, key)
	if i < n.count() && string(n.key(i)) == string(key) {
		return i
	}
	return i - 1
}

// lower returns the first entry from lo on whose key is not below key.
func (n node) lower(lo int, key []byte) int {
	hi := n.count()
	ends := n[nodeHead-4:]
	base := n[nodeHead+4*hi:]
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		at := uint32(0)
		if mid > 0 {
			at = binary.LittleEndian.Uint32(ends[4*mid:])
		}
		if k, _ := splitEntry(base[at:]); string(k) < string(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// appendNode appends a node with the entries [from, to) of n.
func appendNode(b []byte, n node, from, to int) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(n.level()))
	b = binary.LittleEndian.AppendUint16(b, uint16(to-from))
	base := n.end(from - 1)
	for i := from; i < to; i++ {
		b = binary.LittleEndian.AppendUint32(b, uint32(n.end(i)-base))
	}
	return append(b, n[base:n.end(to-1)]...)
}

// appendEdited appends n with the entry at position at replaced (replace) or pushed back by (key, value).
func appendEdited(b []byte, n node, at int, replace bool, key, value []byte, stamp uint32) []byte {
	count, skip := n.count(), 0
	if replace {
		skip = 1
	}
	start, cut, rest := n.end(-1), n.end(at-1), n.end(at-1+skip)
	size := headBytes(key) + len(key) + len(value)
	shift := size - (rest - cut)
	b = binary.LittleEndian.AppendUint16(b, uint16(n.level()))
	b = binary.LittleEndian.AppendUint16(b, uint16(count+1-skip))
	b = append(b, n[nodeHead:nodeHead+4*at]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(cut-start+size))
	for i := at + skip; i < count; i++ {
		b = binary.LittleEndian.AppendUint32(b, uint32(n.end(i)-start+shift))
	}
	b = append(b, n[start:cut]...)
	b = append(append(appendHead(b, key, stamp), key...), value...)
	return append(b, n[rest:]...)
}

// touch reads every cache line of n, so that their misses overlap; a search would wait for one after the other.
func (n node) touch() uint64 {
	sum := uint64(0)
	for i := 0; i < len(n); i += 64 {
		sum += uint64(n[i])
	}
	return sum
}

// insertedBytes is what inserting an entry adds to a node.
func insertedBytes(key, value []byte) int { return 4 + headBytes(key) + len(key) + len(value) }

// insert puts an entry at position at of the node in the first size bytes of n, which has exactly the room for it.
func (n node) insert(size, at int, key, value []byte, stamp uint32) {
	count := n.count()
	start, cut := n.end(-1), n.end(at-1)
	add := headBytes(key) + len(key) + len(value)
	copy(n[cut+4+add:], n[cut:size])
	copy(n[start+4:], n[start:cut])
	for i := count; i > at; i-- {
		e := binary.LittleEndian.Uint32(n[nodeHead+4*(i-1):])
		binary.LittleEndian.PutUint32(n[nodeHead+4*i:], e+uint32(add))
	}
	binary.LittleEndian.PutUint32(n[nodeHead+4*at:], uint32(cut-start+add))
	binary.LittleEndian.PutUint16(n[2:], uint16(count+1))
	e := append(appendHead(n[cut+4:cut+4], key, stamp), key...)
	_ = append(e, value...)
}

// appendWithout appends n without the entry at position at.
func appendWithout(b []byte, n node, at int) []byte {
	count := n.count()
	start, cut, rest := n.end(-1), n.end(at-1), n.end(at)
	b = binary.LittleEndian.AppendUint16(b, uint16(n.level()))
	b = binary.LittleEndian.AppendUint16(b, uint16(count-1))
	b = append(b, n[nodeHead:nodeHead+4*at]...)
	for i := at + 1; i < count; i++ {
		b = binary.LittleEndian.AppendUint32(b, uint32(n.end(i)-start-(rest-cut)))
	}
	b = append(b, n[start:cut]...)
	return append(b, n[rest:]...)
}

// appendEmpty appends a node without entries.
func appendEmpty(b []byte, level int) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(level))
	return append(b, 0, 0)
}

// middle returns the position that splits n into two halves of about the same size, both with at least half of splitMin entries.
func (n node) middle() int {
	half := n.end(-1) + (len(n)-n.end(-1))/2
	i := sort.Search(n.count(), func(i int) bool { return n.end(i) > half })
	least := n.splitMin() / 2
	return min(max(i, least), n.count()-least)
}
