package paged

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/statebackend"
)

// listState implements statebackend.List.
//
// A sequence is a head blob under its key and, when it is long, a chain of chunks in a second table, so that an append
// never copies more than a chunk:
//
//	head    [ first chunk u64 | last chunk u64 | newest elements ... ]
//	chunk   [ next chunk u64 | elements ... ]
//
// Chunks are numbered; 0 is none. Elements of fixed width lie one after the other, others each behind its size as a
// varint. The counter of the head's blob is the number of elements.
type listState struct {
	layout
	width   int
	heads   *Table
	chunks  *Table
	last    uint64 // number of the newest chunk
	mark    uint64 // of the last cut
	max     int    // chunkBytesMax, less in tests
	scratch []byte
}

const (
	listHead  = 16
	chunkHead = 8
	// chunkBytesMax is the size of the newest elements from which they become a chunk.
	chunkBytesMax = 16 << 10
)

var _ statebackend.List = (*listState)(nil)

func (l *listState) Append(key statebackend.Key, ns, element []byte) {
	hash, k := l.compose(key, ns)
	l.scratch = l.encode(l.scratch[:0], element)
	l.append(hash, k, l.scratch)
}

// append adds an encoded element.
func (l *listState) append(hash uint64, k, element []byte) {
	s, b := l.heads.findBlob(hash, k)
	if b == nil {
		l.heads.PutBytes(hash, k, make([]byte, listHead))
		s, b = l.heads.findBlob(hash, k)
	}
	if int(b.len)+len(element) > l.max && b.len > listHead {
		l.spill(hash, s, b)
	}
	old := int(b.len)
	copy(l.heads.extend(hash, s, b, old+len(element))[old:], element)
	b.user++
	l.heads.settle(s, norm(hash))
}

// spill makes the newest elements of a head a chunk.
func (l *listState) spill(hash uint64, s *segment, b *blob) {
	l.heads.markBlob(hash, b)
	head := s.arena.slice(b.off, b.len)
	l.last++
	chunk := append(make([]byte, chunkHead, chunkHead+len(head)), head[listHead:]...)
	id := nodeKey(l.last)
	l.chunks.PutBytes(nodeHash(hash, l.last), id[:], chunk)
	if last := binary.LittleEndian.Uint64(head[8:]); last != 0 {
		prev := nodeKey(last)
		h := nodeHash(hash, last)
		cs, cb := l.chunks.findBlob(h, prev[:])
		binary.LittleEndian.PutUint64(l.chunks.resize(h, cs, cb, int(cb.len)), l.last)
	} else {
		binary.LittleEndian.PutUint64(head, l.last)
	}
	binary.LittleEndian.PutUint64(head[8:], l.last)
	b.len = listHead
}

func (l *listState) encode(b, element []byte) []byte {
	if l.width > 0 {
		checkWidth(l.name, l.width, element)
		return append(b, element...)
	}
	return append(binary.AppendUvarint(b, uint64(len(element))), element...)
}

func (l *listState) Put(key statebackend.Key, ns []byte, elements [][]byte) {
	l.Clear(key, ns)
	hash, k := l.compose(key, ns)
	for _, e := range elements {
		l.scratch = l.encode(l.scratch[:0], e)
		l.append(hash, k, l.scratch)
	}
}

func (l *listState) Each(key statebackend.Key, ns []byte, f func(element []byte) bool) {
	hash, k := l.compose(key, ns)
	if head, ok := l.heads.GetBytes(hash, k); ok {
		l.eachOf(hash, head, f)
	}
}

// eachOf visits the elements of the sequence with this head and reports whether to go on.
func (l *listState) eachOf(hash uint64, head []byte, f func(element []byte) bool) bool {
	for id := binary.LittleEndian.Uint64(head); id != 0; {
		k := nodeKey(id)
		chunk, _ := l.chunks.GetBytes(nodeHash(hash, id), k[:])
		if !l.each(chunk[chunkHead:], f) {
			return false
		}
		id = binary.LittleEndian.Uint64(chunk)
	}
	return l.each(head[listHead:], f)
}

func (l *listState) each(b []byte, f func(element []byte) bool) bool {
	for len(b) > 0 {
		n, head := l.width, 0
		if n == 0 {
			size, used := binary.Uvarint(b)
			n, head = int(size), used
		}
		if !f(b[head : head+n : head+n]) {
			return false
		}
		b = b[head+n:]
	}
	return true
}

func (l *listState) Count(key statebackend.Key, ns []byte) int {
	return int(l.heads.BlobCount(l.compose(key, ns)))
}

func (l *listState) Clear(key statebackend.Key, ns []byte) bool {
	hash, k := l.compose(key, ns)
	head, ok := l.heads.GetBytes(hash, k)
	if !ok {
		return false
	}
	for id := binary.LittleEndian.Uint64(head); id != 0; {
		ck, h := nodeKey(id), nodeHash(hash, id)
		chunk, _ := l.chunks.GetBytes(h, ck[:])
		id = binary.LittleEndian.Uint64(chunk)
		l.chunks.Delete(h, ck[:])
	}
	return l.heads.Delete(hash, k)
}

func (l *listState) All(f func(key statebackend.Key, ns, element []byte) bool) {
	l.heads.AllBytes(func(hash uint64, k, head []byte) bool {
		key, ns := l.split(hash, k)
		return l.eachOf(hash, head, func(e []byte) bool { return f(key, ns, e) })
	})
}

func (l *listState) Len() int { return l.heads.Len() }

// Expect implements statebackend.Expecter.
func (l *listState) Expect(keysPerGroup float64) { l.heads.expectPerGroup(keysPerGroup) }
