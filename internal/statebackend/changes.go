package statebackend

import "github.com/weir-stream/weir/internal/keygroup"

// VisitChange sees one change; its slices are borrowed. Unless removed, it is a unit as Visit sees it, which replaces the one
// of the same key, namespace and user key. If removed, value is nil, and what is gone is that entry of a map, or without user
// everything of the key and namespace; the elements of a list that has changed all follow such a removal. The visits of one
// key, namespace and state follow one another. It returns false to end the visit.
type VisitChange func(key Key, ns, user, value []byte, removed bool) bool

// Changing is a Frozen that can also show what has changed since an earlier cut of the same state, so that a checkpoint writes
// no more than that.
type Changing interface {
	Frozen
	// Mark names the cut. Equal marks of two cuts of one state mean equal content; otherwise the later one has the higher mark.
	// A state for whose cuts nobody asks the mark stops to remember changes.
	Mark() uint64
	// Changes visits, as Each does, the changes in groups since the cut of the mark; it may show units that have not changed.
	// It returns false, before it visits anything, if they are not known: then the state is written whole. Only the marks of
	// cuts that a complete checkpoint has, and of later ones, are asked for.
	Changes(since uint64, groups keygroup.Range, f VisitChange) bool
	// Complete says that the checkpoint of this cut is complete: what changed before the cut will not be asked for again. It may
	// be called from any goroutine, also after Release, or not at all: then changes add up until a later one is complete.
	Complete()
}
