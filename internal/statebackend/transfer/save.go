package transfer

import (
	"io"

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

// Save writes all entries of the groups to w as one data object. Sources have no order, so each is visited once to add up the
// bytes of its groups, and once more for every run of groups that has at most its share of budget (or is one group), to sort
// that in memory. budget 0 is DefaultBudget.
func Save(w io.Writer, sources []Source, groups keygroup.Range, budget int) (snapshot.Summary, error) {
	feeds := make([]feed, len(sources))
	for i := range sources {
		all := sources[i].All
		feeds[i] = feed{state: sources[i].State.ID, each: sorted(func(f visitEntry) error {
			all(visitOf(f))
			return nil
		}, groups, share(budget, len(sources)))}
	}
	return merge(snapshot.NewWriter(w), feeds)
}

func share(budget, n int) int {
	if budget <= 0 {
		budget = DefaultBudget
	}
	return budget / max(n, 1)
}

// SaveParts writes what the parts held to w as one data object, all at once if they are ordered. With drain, which only one
// try can have, parts that can be drained give back what was visited as it goes.
func SaveParts(w io.Writer, parts []statebackend.Part, groups keygroup.Range, drain bool) (snapshot.Summary, error) {
	feeds := make([]feed, len(parts))
	for i, p := range parts {
		each := func(f visitEntry) error {
			return statebackend.Each(p.Data, groups, visitOf(f))
		}
		d, drains := p.Data.(statebackend.Drainer)
		if drain && drains {
			each = func(f visitEntry) error {
				visit := visitOf(f)
				d.Drain(func(k statebackend.Key, ns, user, value []byte) bool {
					return !groups.ContainsHash(k.Hash) || visit(k, ns, user, value)
				})
				return statebackend.Failure(p.Data)
			}
		}
		if _, ordered := p.Data.(statebackend.Ordered); !ordered {
			each = sorted(each, groups, share(0, len(parts)))
		}
		feeds[i] = feed{state: p.State.ID, each: each}
	}
	return merge(snapshot.NewWriter(w), feeds)
}

// visitOf makes entries of units. The entry is the same for all.
func visitOf(f visitEntry) statebackend.Visit {
	var e snapshot.Entry
	return func(k statebackend.Key, ns, user, value []byte) bool {
		e = snapshot.Entry{Hash: k.Hash, Key: k.Bytes, Namespace: ns, UserKey: user, Value: value}
		return f(&e)
	}
}

// SaveChanges writes what has changed in the parts since the cuts that since has the marks of, by the names of the states, as a
// delta. Every part must be Changing and know that.
func SaveChanges(w io.Writer, parts []statebackend.Part, since map[string]uint64, groups keygroup.Range) (snapshot.Summary, error) {
	feeds := make([]feed, len(parts))
	for i, p := range parts {
		each := func(f visitEntry) error {
			var e snapshot.Entry
			c, ok := p.Data.(statebackend.Changing)
			mark, known := since[p.State.Name]
			if !ok || !known || !c.Changes(mark, groups, func(k statebackend.Key, ns, user, value []byte, removed bool) bool {
				e = snapshot.Entry{Hash: k.Hash, Key: k.Bytes, Namespace: ns, UserKey: user, Value: value, Removed: removed}
				return f(&e)
			}) {
				return errs.New(errs.CodeBug, errs.ClassBug, "state "+p.State.Name, "what has changed since mark %d is not known", mark)
			}
			return statebackend.Failure(p.Data)
		}
		if _, ordered := p.Data.(statebackend.Ordered); !ordered {
			each = sorted(each, groups, share(0, len(parts)))
		}
		feeds[i] = feed{state: p.State.ID, each: each}
	}
	return merge(snapshot.NewDeltaWriter(w), feeds)
}
