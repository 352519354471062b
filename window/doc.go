// Package window describes windows: how rows are assigned to them, when they fire, and what they keep.
//
// A user writes a [Spec], which says nothing about the type of the rows, so that one spelling serves every stream:
//
//	window.Tumbling(time.Hour).AllowedLateness(time.Minute)
//	window.Days(1).In(newYork).Trigger(window.EarlyAndLate(window.EveryProcessingTime(time.Second), nil))
//	window.SessionDynamic(func(r Ride) time.Duration { return r.Patience })
//
// Parts that do look at a row (a dynamic gap, a delta trigger, a trigger of the user's own) carry their row type in
// themselves. [Bind] checks them against the stream when the job is built, and yields a [Bound], which is what an
// operator works with. Nothing here panics on a wrong argument: Validate and Bind return every complaint at once.
//
// The package is pure. It reads no clock, holds no lock, starts no goroutine and keeps no state of its own: watermark,
// processing time, timers and trigger memory all come in through [Context]. Values of Spec, Trigger, Evictor, Grid and
// Bound are immutable and may be shared; a Cursor and a Sessions belong to one goroutine.
//
// Times are int64 milliseconds since 1970-01-01T00:00:00Z, wherever a row is near; durations and locations are those of
// package time wherever a user is near.
//
// # The laws
//
//   - A window is [Start, End). It holds ts if Start <= ts < End. Its results carry the time MaxTimestamp = End-1.
//   - A window fires when the watermark reaches MaxTimestamp, because watermark t says that no row with a time <= t comes.
//   - A window is late, and its rows are dropped, when MaxTimestamp + allowed lateness <= watermark.
//   - Start = ts - floorMod(ts-offset, size), also before 1970: floor, never truncation.
//   - Two sessions merge if they overlap or touch: rows exactly one gap apart are in one session.
package window
