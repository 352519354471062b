package paged

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/statebackend"
)

// listState implements statebackend.List. A sequence is one blob: elements of fixed width one after the other, others
// each behind its size as a varint. The blob's counter is the number of elements.
type listState struct {
	layout
	width   int
	t       *Table
	scratch []byte
}

var _ statebackend.List = (*listState)(nil)

func (l *listState) Append(key statebackend.Key, ns, element []byte) {
	hash, k := l.compose(key, ns)
	if l.width == 0 {
		l.scratch = l.encode(l.scratch[:0], element)
		element = l.scratch
	}
	checkWidth(l.name, l.width, element)
	l.t.AppendBytes(hash, k, element)
}

func (l *listState) encode(b, element []byte) []byte {
	if l.width > 0 {
		checkWidth(l.name, l.width, element)
		return append(b, element...)
	}
	return append(binary.AppendUvarint(b, uint64(len(element))), element...)
}

func (l *listState) Put(key statebackend.Key, ns []byte, elements [][]byte) {
	hash, k := l.compose(key, ns)
	if len(elements) == 0 {
		l.t.Delete(hash, k)
		return
	}
	l.scratch = l.scratch[:0]
	for _, e := range elements {
		l.scratch = l.encode(l.scratch, e)
	}
	l.t.PutBytes(hash, k, l.scratch)
	l.t.SetBlobCount(hash, k, uint32(len(elements)))
}

func (l *listState) Each(key statebackend.Key, ns []byte, f func(element []byte) bool) {
	hash, k := l.compose(key, ns)
	b, _ := l.t.GetBytes(hash, k)
	l.each(b, f)
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
	return int(l.t.BlobCount(l.compose(key, ns)))
}

func (l *listState) Clear(key statebackend.Key, ns []byte) bool {
	return l.t.Delete(l.compose(key, ns))
}

func (l *listState) All(f func(key statebackend.Key, ns, element []byte) bool) {
	l.t.AllBytes(func(hash uint64, k, b []byte) bool {
		key, ns := l.split(hash, k)
		return l.each(b, func(e []byte) bool { return f(key, ns, e) })
	})
}

func (l *listState) Len() int { return l.t.Len() }
