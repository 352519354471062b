package transfer

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
)

// ChangeSource is one state of which the changes since an earlier cut are saved.
type ChangeSource struct {
	State snapshot.State
	// All calls f with every change in groups, those of one key and namespace one after the other. It is called several times
	// and must say the same each time.
	All func(groups keygroup.Range, f statebackend.VisitChange) error
}

// SaveChanges writes the changes in groups to w as a delta, sorted as Save sorts.
func SaveChanges(w io.Writer, sources []ChangeSource, groups keygroup.Range) (snapshot.Summary, error) {
	out := snapshot.NewDeltaWriter(w)
	sizes := make([]int64, groups.Len())
	for i := range sources {
		err := sources[i].All(groups, func(k statebackend.Key, ns, user, value []byte, _ bool) bool {
			sizes[keygroup.Of(k.Hash)-groups.From] += int64(entryBytes(k, ns, user, value))
			return true
		})
		if err != nil {
			return snapshot.Summary{}, err
		}
	}
	var c changes
	for from := groups.From; from < groups.To; {
		to, sum := from, int64(0)
		for ; to < groups.To && (sum == 0 || sum+sizes[to-groups.From] <= DefaultBudget); to++ {
			sum += sizes[to-groups.From]
		}
		if sum > 0 {
			if err := c.gather(sources, keygroup.Range{From: from, To: to}, sum); err != nil {
				return snapshot.Summary{}, err
			}
			if err := c.write(out, sources); err != nil {
				return snapshot.Summary{}, err
			}
		}
		from = to
	}
	return out.Close()
}

// changes holds the changes of a run of groups, as sorter does entries.
type changes struct {
	buf   []byte
	order []uint64
}

// removedValue stands for the length of the value of a removal.
const removedValue = ^uint32(0)

func (c *changes) gather(sources []ChangeSource, groups keygroup.Range, bytes int64) error {
	c.buf, c.order = slices.Grow(c.buf[:0], int(bytes)), c.order[:0]
	le := binary.LittleEndian
	for i := range sources {
		err := sources[i].All(groups, func(k statebackend.Key, ns, user, value []byte, removed bool) bool {
			c.order = append(c.order, uint64(keygroup.Of(k.Hash))<<placeBits|uint64(len(c.buf)))
			b := le.AppendUint32(le.AppendUint64(c.buf, k.Hash), uint32(i))
			userBytes, valueBytes := uint32(len(user)), uint32(len(value))
			if user == nil {
				userBytes = noUserKey
			}
			if removed {
				value, valueBytes = nil, removedValue
			}
			for _, n := range []uint32{uint32(len(k.Bytes)), uint32(len(ns)), userBytes, valueBytes} {
				b = le.AppendUint32(b, n)
			}
			c.buf = append(append(append(append(b, k.Bytes...), ns...), user...), value...)
			return true
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(c.order)
	return nil
}

func (c *changes) write(out *snapshot.Writer, sources []ChangeSource) error {
	le := binary.LittleEndian
	for _, o := range c.order {
		b := c.buf[o&(1<<placeBits-1):]
		e := snapshot.Entry{Hash: le.Uint64(b), State: sources[le.Uint32(b[8:])].State.ID}
		head := b[12:entryHead]
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
		if n := le.Uint32(head[12:]); n != removedValue {
			e.Value = take(n)
		} else {
			e.Removed = true
		}
		if err := out.Add(&e); err != nil {
			return err
		}
	}
	return nil
}
