package paged

import (
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

var (
	_ statebackend.Sweeper = (*valueState)(nil)
	_ statebackend.Sweeper = (*listState)(nil)
	_ statebackend.Sweeper = (*mapState)(nil)
)

// Sweep implements statebackend.Sweeper. It costs the segments that overlap groups.
func (v *valueState) Sweep(groups keygroup.Range, f statebackend.Visit) {
	if v.width == 0 {
		v.t.BytesInGroups(groups, func(hash uint64, k, value []byte) bool {
			key, ns := v.split(hash, k)
			return f(key, ns, nil, value)
		})
		return
	}
	v.t.InGroups(groups, func(hash uint64, k []byte, p unsafe.Pointer) bool {
		key, ns := v.split(hash, k)
		return f(key, ns, nil, unsafe.Slice((*byte)(p), v.width))
	})
}

// Sweep implements statebackend.Sweeper.
func (l *listState) Sweep(groups keygroup.Range, f statebackend.Visit) {
	l.heads.BytesInGroups(groups, func(hash uint64, k, head []byte) bool {
		key, ns := l.split(hash, k)
		return l.eachOf(hash, head, func(e []byte) bool { return f(key, ns, nil, e) })
	})
}

// Sweep implements statebackend.Sweeper.
func (m *mapState) Sweep(groups keygroup.Range, f statebackend.Visit) {
	m.roots.BytesInGroups(groups, m.entries(f))
}
