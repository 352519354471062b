// Package state holds the typed handles of keyed state, broadcast state, and lists that belong to a subtask.
//
// A function declares its state by descriptors and opens it once, in its Open method:
//
//	f.count = ctx.State(state.ValueOf[int64]("count"))
//
// A handle always means the key at work: that of the row or timer for which the function was called. Using one while there
// is no key (in Open and Close, for a row of a broadcast stream) panics, which fails the job with the place.
//
// State lies encoded in the engine's pages. A type of fixed size (no string, slice, map or pointer in it) is read and
// changed in place, without allocation; others are decoded at each access and encoded at each change. What a handle
// returns is a copy: changing it changes no state until it is set again. Only Update hands out the value itself.
//
// A broadcast state is a map that every subtask has a copy of. A list of OperatorListOf or OperatorUnionOf belongs to a
// subtask; both lie in memory as Go values, and go into each checkpoint whole.
//
// Names are unique in an operator and identify the state in checkpoints. Opening a name again with another kind or type
// fails.
//
// State does not expire by itself: time to live is not available yet. A timer that clears the state does the same.
package state
