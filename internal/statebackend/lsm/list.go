package lsm

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/statebackend"
)

// A list is a tail row and chunk rows. The tail's value is
//
//	number of elements (8) | number of chunks (4) | zero (4) | the newest elements
//
// least significant first. When the elements of a tail have chunkBytes they become the next chunk. An element of a state
// without fixed width has its size before it, as a uvarint.
const (
	tailHead  = 16
	chunkSize = 4 << 10
)

// listState implements statebackend.List.
type listState struct {
	common
	chunk int // bytes of a tail that becomes a chunk; less in tests
}

// tail returns the key of the tail row, borrowed like prefix.
func (l *listState) tail(key statebackend.Key, ns []byte) []byte {
	return l.numbered(l.prefix(key, ns), tailRow)
}

func (l *listState) numbered(prefix []byte, n uint32) []byte {
	l.buf = binary.BigEndian.AppendUint32(prefix, n)
	return l.buf
}

func (l *listState) frame(e []byte) (size int, head [binary.MaxVarintLen64]byte) {
	if l.width == 0 {
		size = binary.PutUvarint(head[:], uint64(len(e)))
	}
	return size, head
}

func (l *listState) Append(key statebackend.Key, ns, element []byte) {
	l.check(element)
	if l.begin() {
		l.append(l.tail(key, ns), element)
	}
}

func (l *listState) append(tail, element []byte) {
	r := l.r
	id := r.load(tail)
	w := r.row(id)
	if w.flags&rowDead != 0 {
		clear(l.change(id, tailHead, 0))
	}
	framed, head := l.frame(element)
	have := int(w.val)
	b := l.change(id, have+framed+len(element), have)
	copy(b[have:], head[:framed])
	copy(b[have+framed:], element)
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+1)
	if len(b)-tailHead < l.chunk {
		return
	}
	n := binary.LittleEndian.Uint32(b[8:])
	binary.LittleEndian.PutUint32(b[8:], n+1)
	chunk := r.blind(l.numbered(tail[:len(tail)-4], n), len(b)-tailHead)
	copy(l.change(chunk, len(b)-tailHead, 0), b[tailHead:])
	l.change(id, tailHead, tailHead)
}

func (l *listState) Put(key statebackend.Key, ns []byte, elements [][]byte) {
	for _, e := range elements {
		l.check(e)
	}
	l.Clear(key, ns)
	for _, e := range elements {
		l.Append(key, ns, e)
	}
}

func (l *listState) Each(key statebackend.Key, ns []byte, f func(element []byte) bool) {
	if !l.begin() {
		return
	}
	tail := l.tail(key, ns)
	last, ok := l.get(tail)
	if !ok {
		return
	}
	prefix := tail[:len(tail)-4]
	for i := range binary.LittleEndian.Uint32(last[8:]) {
		b, ok := l.get(l.numbered(prefix, i))
		if !ok || !eachElement(b, l.width, f) {
			return
		}
		l.let()
		l.r.makeRoom()
	}
	eachElement(last[tailHead:], l.width, f)
}

// eachElement calls f with the elements in b until it returns false, and then returns false.
func eachElement(b []byte, width int, f func(element []byte) bool) bool {
	for len(b) > 0 {
		n := width
		if width == 0 {
			size, w := binary.Uvarint(b)
			n, b = int(size), b[w:]
		}
		if !f(b[:n:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}

func (l *listState) Count(key statebackend.Key, ns []byte) int {
	if !l.begin() {
		return 0
	}
	b, ok := l.get(l.tail(key, ns))
	if !ok {
		return 0
	}
	return int(binary.LittleEndian.Uint64(b))
}

func (l *listState) Clear(key statebackend.Key, ns []byte) bool {
	if !l.begin() {
		return false
	}
	tail := l.tail(key, ns)
	b, ok := l.get(tail)
	if !ok {
		return false
	}
	chunks := binary.LittleEndian.Uint32(b[8:])
	l.remove(tail)
	for i := range chunks {
		l.remove(l.numbered(tail[:len(tail)-4], i))
	}
	return true
}

func (l *listState) All(f func(key statebackend.Key, ns, element []byte) bool) {
	l.all(statebackend.KindList, func(key statebackend.Key, ns, _, e []byte) bool { return f(key, ns, e) })
}

// Len visits everything.
func (l *listState) Len() (n int) {
	if !l.begin() {
		return 0
	}
	l.r.writeAll()
	it, err := l.r.iterator(l.bounds(l.groups))
	if err == nil {
		for ok := it.First(); ok; ok = it.Next() {
			if _, _, rest := l.split(it.Key()); binary.BigEndian.Uint32(rest) == tailRow {
				n++
			}
		}
		err = it.Error()
		_ = it.Close()
	}
	if err != nil {
		l.r.failed(err)
	}
	return n
}
