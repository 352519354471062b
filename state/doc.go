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
// # Time to live
//
// State stays until it is cleared, unless its declaration has a time to live:
//
//	state.ValueOf[Session]("session").TTL(24*time.Hour, state.RefreshOnRead)
//	state.MapOf[string, bool]("seen").TTL(time.Hour, state.EventTime)
//
// What was not written for so long has expired: a value, each element of a list, each entry of a map, an accumulator. It is
// not seen again, and the next write begins anew. RefreshOnRead counts from the last read or write, ShowExpired lets it be
// seen as long as it is not removed, EventTime measures by the operator's watermark in the place of the clock. With EventTime
// the age is that between the watermark at the write and the watermark now, so rows that come out of order do not change it. The
// final watermark at the end of the input lets nothing expire, and before the first watermark nothing has an age.
//
// What has expired is removed when it is met, when a sweep comes by that looks at a few things at each access to the state, and
// by being left out of checkpoints that are written whole. All that is removed is counted in the counter numExpired, labelled
// with the state, except what is overwritten without a look. A state that is never accessed is not swept. Timers do not expire.
//
// A stamp of eight bytes lies beside each value, list element or entry. It is a time and not a duration, so another time to
// live counts for what is there already. A state can be given a time to live, lose it, or change its clock: a restore migrates it,
// and the age of what is there counts from then.
package state
