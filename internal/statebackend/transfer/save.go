package transfer

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Visit sees one unit of state; its slices are borrowed. user is nil except for the entries of maps and for timers.
// It returns false to end the visit.
type Visit = statebackend.Visit

// Source is one state to be saved.
type Source struct {
	State snapshot.State
	// All calls f with everything, in any order, but the elements of one list and the entries of one map one after the
	// other. It is called several times and must say the same each time.
	All func(f Visit)
}

// Sources returns the states of a backend, numbered from 1 in the order of opening.
func Sources(from statebackend.Keyed) ([]Source, error) {
	var out []Source
	for i, d := range from.Descriptors() {
		s := Source{State: snapshot.State{ID: uint32(i + 1), Name: d.Name, Kind: snapshot.Kind(d.Kind.String()), Width: d.Width,
			NamespaceWidth: d.NamespaceWidth, Schema: d.Schema}}
		switch d.Kind {
		case statebackend.KindValue:
			v, err := from.Value(d)
			if err != nil {
				return nil, err
			}
			s.All = func(f Visit) { v.All(func(k statebackend.Key, ns, b []byte) bool { return f(k, ns, nil, b) }) }
		case statebackend.KindList:
			l, err := from.List(d)
			if err != nil {
				return nil, err
			}
			s.All = func(f Visit) { l.All(func(k statebackend.Key, ns, b []byte) bool { return f(k, ns, nil, b) }) }
		case statebackend.KindMap:
			m, err := from.Map(d)
			if err != nil {
				return nil, err
			}
			s.All = func(f Visit) {
				m.All(func(k statebackend.Key, ns, e, b []byte) bool { return f(k, ns, notNil(e), b) })
			}
		default:
			return nil, errs.New(errs.CodeBug, errs.ClassBug, "state "+d.Name, "of unknown kind %d", d.Kind)
		}
		out = append(out, s)
	}
	return out, nil
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// DefaultBudget is what Save gathers in memory at a time.
const DefaultBudget = 64 << 20

// Save writes all entries of the groups to w as one data object. Backends have no order, so it first adds up the bytes of
// each group, cuts the groups into runs of at most budget bytes (or one group), and visits everything once more for each
// run, to sort it in memory. budget 0 is DefaultBudget.
func Save(w io.Writer, sources []Source, groups keygroup.Range, budget int) (snapshot.Summary, error) {
	if budget <= 0 {
		budget = DefaultBudget
	}
	out := snapshot.NewWriter(w)
	sizes := make([]int64, groups.Len())
	for i := range sources {
		sources[i].All(func(k statebackend.Key, ns, user, value []byte) bool {
			if g := keygroup.Of(k.Hash); groups.Contains(g) {
				sizes[g-groups.From] += int64(entryBytes(k, ns, user, value))
			}
			return true
		})
	}
	var s sorter
	for from := groups.From; from < groups.To; {
		to, sum := from, int64(0)
		for ; to < groups.To && (sum == 0 || sum+sizes[to-groups.From] <= int64(budget)); to++ {
			sum += sizes[to-groups.From]
		}
		if sum > 0 {
			s.gather(sources, keygroup.Range{From: from, To: to}, sum)
			if err := s.write(out, sources); err != nil {
				return snapshot.Summary{}, err
			}
		}
		from = to
	}
	return out.Close()
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
	entryHead = 28
	noUserKey = ^uint32(0)
)

func entryBytes(k statebackend.Key, ns, user, value []byte) int {
	return entryHead + len(k.Bytes) + len(ns) + len(user) + len(value)
}

func (s *sorter) gather(sources []Source, groups keygroup.Range, bytes int64) {
	s.buf, s.order = slices.Grow(s.buf[:0], int(bytes)), s.order[:0]
	le := binary.LittleEndian
	for i := range sources {
		sources[i].All(func(k statebackend.Key, ns, user, value []byte) bool {
			g := keygroup.Of(k.Hash)
			if !groups.Contains(g) {
				return true
			}
			s.order = append(s.order, uint64(g)<<placeBits|uint64(len(s.buf)))
			b := le.AppendUint64(s.buf, k.Hash)
			b = le.AppendUint32(b, uint32(i))
			userBytes := uint32(len(user))
			if user == nil {
				userBytes = noUserKey
			}
			for _, n := range []uint32{uint32(len(k.Bytes)), uint32(len(ns)), userBytes, uint32(len(value))} {
				b = le.AppendUint32(b, n)
			}
			s.buf = append(append(append(append(b, k.Bytes...), ns...), user...), value...)
			return true
		})
	}
	slices.Sort(s.order)
}

func (s *sorter) write(out *snapshot.Writer, sources []Source) error {
	le := binary.LittleEndian
	for _, o := range s.order {
		b := s.buf[o&(1<<placeBits-1):]
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
		e.Value = take(le.Uint32(head[12:]))
		if err := out.Add(&e); err != nil {
			return err
		}
	}
	return nil
}
