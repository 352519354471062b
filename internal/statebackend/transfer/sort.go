package transfer

import (
	"encoding/binary"
	"slices"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
)

// sorted brings what all shows in any order into that of groups, and leaves it as it is inside a group. It takes one visit
// to add up the bytes of each group, and one for every run of groups that has at most budget bytes or is one group.
func sorted(all func(visitEntry) error, groups keygroup.Range, budget int) func(visitEntry) error {
	return func(f visitEntry) error {
		sizes := make([]int64, groups.Len())
		if err := all(func(e *snapshot.Entry) bool {
			if g := e.Group(); groups.Contains(g) {
				sizes[g-groups.From] += int64(entryBytes(e))
			}
			return true
		}); err != nil {
			return err
		}
		var s sorter
		for from := groups.From; from < groups.To; {
			to, sum := from, int64(0)
			for ; to < groups.To && (sum == 0 || sum+sizes[to-groups.From] <= int64(budget)); to++ {
				sum += sizes[to-groups.From]
			}
			if sum > 0 {
				if err := s.gather(all, keygroup.Range{From: from, To: to}, sum); err != nil {
					return err
				}
				if !s.each(f) {
					return nil
				}
			}
			from = to
		}
		return nil
	}
}

// sorter holds the entries of a run, each encoded in buf, and sorts them by group.
type sorter struct {
	buf []byte
	// order has the group in the upper 16 bits and the place in buf in the lower 48. The place grows from entry to entry,
	// so sorting keeps the order inside a group.
	order []uint64
}

const (
	placeBits = 48
	entryHead = 24
	// noUserKey and removed are sizes that no user key and no value has.
	noUserKey = ^uint32(0)
	removed   = ^uint32(0)
)

func entryBytes(e *snapshot.Entry) int {
	return entryHead + len(e.Key) + len(e.Namespace) + len(e.UserKey) + len(e.Value)
}

func (s *sorter) gather(all func(visitEntry) error, groups keygroup.Range, bytes int64) error {
	s.buf, s.order = slices.Grow(s.buf[:0], int(bytes)), s.order[:0]
	le := binary.LittleEndian
	err := all(func(e *snapshot.Entry) bool {
		g := e.Group()
		if !groups.Contains(g) {
			return true
		}
		s.order = append(s.order, uint64(g)<<placeBits|uint64(len(s.buf)))
		user, value := uint32(len(e.UserKey)), uint32(len(e.Value))
		if e.UserKey == nil {
			user = noUserKey
		}
		if e.Removed {
			value = removed
		}
		b := le.AppendUint64(s.buf, e.Hash)
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(e.Key))), uint32(len(e.Namespace)))
		b = le.AppendUint32(le.AppendUint32(b, user), value)
		s.buf = append(append(append(append(b, e.Key...), e.Namespace...), e.UserKey...), e.Value...)
		return true
	})
	slices.Sort(s.order)
	return err
}

// each shows the entries and reports whether to go on.
func (s *sorter) each(f visitEntry) bool {
	le := binary.LittleEndian
	var e snapshot.Entry
	for _, o := range s.order {
		b := s.buf[o&(1<<placeBits-1):]
		e = snapshot.Entry{Hash: le.Uint64(b)}
		head := b[8:entryHead]
		b = b[entryHead:]
		take := func(n uint32) []byte {
			part := b[:n:n]
			b = b[n:]
			return part
		}
		e.Key = take(le.Uint32(head))
		e.Namespace = take(le.Uint32(head[4:]))
		if n := le.Uint32(head[8:]); n != noUserKey {
			e.UserKey = take(n)
		}
		if n := le.Uint32(head[12:]); n != removed {
			e.Value = take(n)
		} else {
			e.Removed = true
		}
		if !f(&e) {
			return false
		}
	}
	return true
}
