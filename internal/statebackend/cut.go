package statebackend

import (
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
)

// Visit sees one unit of state; its slices are borrowed. user is the key of a map's entry or the time of a timer, else
// nil. It returns false to end the visit.
type Visit func(key Key, ns, user, value []byte) bool

// Frozen is one state as it was at a cut. Each and Release may be called on another goroutine than the task's, one at a
// time, while the task goes on changing the state.
type Frozen interface {
	// Each visits every unit whose key group is in groups, until f returns false; in any order, but the elements of one
	// list and the entries of one map one after the other. It may be called several times, also for parts of the groups, and
	// says the same each time.
	Each(groups keygroup.Range, f Visit)
	// Release gives back what the cut holds. Each must not be called afterwards. It may be called twice.
	Release()
}

// Ordered is a Frozen that visits in ascending order of key groups, so that nobody has to sort.
type Ordered interface {
	Frozen
	Ordered()
}

// Fallible is a Frozen that does I/O. Whoever visits one asks Err afterwards: an error means that Each did not show all.
type Fallible interface {
	Frozen
	Err() error
}

// Each visits as from.Each does, and returns what kept it from showing all.
func Each(from Frozen, groups keygroup.Range, f Visit) error {
	from.Each(groups, f)
	return Failure(from)
}

// Failure returns what kept a state that does I/O from showing all, nil for others.
func Failure(f Frozen) error {
	if e, ok := f.(Fallible); ok {
		return e.Err()
	}
	return nil
}

// Drainer is an Ordered that can be visited for the last time: what has been visited is given back at once, so that the cut
// burdens the task less and less.
type Drainer interface {
	Ordered
	// Drain visits every unit, as Each would for all groups, until f returns false. Afterwards only Release may be called.
	Drain(f Visit)
}

// Part is one state in a cut: what it is and what it held. The id in State is given when it is written.
type Part struct {
	State snapshot.State
	Data  Frozen
}

// Cutter is a Keyed that can be cut in bounded time. One without it is copied as a whole.
type Cutter interface {
	Keyed
	// Cut returns every open state as it is now, in the order of opening. It is called on the task's goroutine; an
	// error means that there is no cut and nothing to release.
	Cut() ([]Part, error)
}

// StateOf describes an open state for snapshots.
func StateOf(d Descriptor) snapshot.State {
	return snapshot.State{Name: d.Name, Kind: snapshot.Kind(d.Kind.String()), Width: d.Width, NamespaceWidth: d.NamespaceWidth, Schema: d.Schema}
}

// CutOf returns what k holds now, by its own Cut if it has one and else by a copy.
func CutOf(k Keyed) ([]Part, error) {
	if c, ok := k.(Cutter); ok {
		return c.Cut()
	}
	return CopyOf(k)
}
