package lsm

import (
	"encoding/binary"
	"fmt"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// A row's key is
//
//	state (2) | hash (8, most significant first) | [size of key] | key | [size of namespace] | namespace | rest
//
// Sizes are uvarints and only there if keys or namespaces vary. rest is nothing for a value, the entry's key for a map, and
// for a list the number of a chunk (4 bytes) or tailRow. The top bits of the hash are the key group, so the rows of a state
// are in the order of key groups; no key with its namespace is a prefix of another's, so the rows of a map or list lie
// together, and those of a map in the order of its entries.

const (
	stateBytes = 2
	headBytes  = stateBytes + 8
)

// tailRow is the number of the row with the newest elements of a list, behind all chunks.
const tailRow = ^uint32(0)

// layout composes the keys of one state's rows.
type layout struct {
	name    string
	id      uint16
	key, ns int // widths; 0 for a key and VariableNamespace for a namespace mean that it varies
	groups  keygroup.Range
	buf     []byte
}

// prefix returns the key of a value's row, which those of a map and a list begin with. It is borrowed until the next call
// and may be appended to.
func (l *layout) prefix(key statebackend.Key, ns []byte) []byte {
	switch {
	case l.ns >= 0 && len(ns) != l.ns:
		panic(fmt.Sprintf("state %s: namespace of %d bytes, declared %d", l.name, len(ns), l.ns))
	case l.key != 0 && len(key.Bytes) != l.key:
		panic(fmt.Sprintf("state %s: key of %d bytes, declared %d", l.name, len(key.Bytes), l.key))
	case !l.groups.ContainsHash(key.Hash):
		panic(fmt.Sprintf("state %s: key of group %d in a task that owns %v", l.name, keygroup.Of(key.Hash), l.groups))
	}
	b := binary.BigEndian.AppendUint16(l.buf[:0], l.id)
	b = binary.BigEndian.AppendUint64(b, key.Hash)
	if l.key == 0 {
		b = binary.AppendUvarint(b, uint64(len(key.Bytes)))
	}
	b = append(b, key.Bytes...)
	if l.ns < 0 {
		b = binary.AppendUvarint(b, uint64(len(ns)))
	}
	l.buf = append(b, ns...)
	return l.buf
}

// split takes a row's key apart. The results point into row.
func (l *layout) split(row []byte) (key statebackend.Key, ns, rest []byte) {
	key.Hash = binary.BigEndian.Uint64(row[stateBytes:])
	b := row[headBytes:]
	take := func(width int, varies bool) []byte {
		n := width
		if varies {
			size, w := binary.Uvarint(b)
			b, n = b[w:], int(size)
		}
		part := b[:n:n]
		b = b[n:]
		return part
	}
	key.Bytes = take(l.key, l.key == 0)
	ns = take(l.ns, l.ns < 0)
	if l.ns == 0 {
		ns = nil
	}
	return key, ns, b
}

// bounds returns the rows of the state with groups, as the first key and the first behind them.
func (l *layout) bounds(groups keygroup.Range) (from, to []byte) {
	edge := func(g keygroup.Group) []byte {
		b := binary.BigEndian.AppendUint16(nil, l.id)
		if g == keygroup.Count {
			return binary.BigEndian.AppendUint16(nil, l.id+1)
		}
		return binary.BigEndian.AppendUint64(b, g.First())
	}
	return edge(groups.From), edge(groups.To)
}

// after returns the first key behind all that begin with prefix, appended to dst.
func after(dst, prefix []byte) []byte {
	b := append(dst, prefix...)
	for i := len(b) - 1; i >= 0; i-- {
		b[i]++
		if b[i] != 0 {
			return b[:i+1]
		}
	}
	return b
}
