// Package background makes long work on goroutines of its own give way to the tasks of the process.
//
// The scheduler of Go has no priorities. A goroutine that computes without end keeps its core for 10 ms at a time, and as
// long as every core is kept so, a batch waits that long at each task on its way, and so do timers. [Pace.Point], which
// such work calls between small pieces, looks each 100 us whether other goroutines wait for a core, and if so waits itself
// until the scheduler has given its core to one of them. Where nobody waits it goes on at once.
//
// Work that is kept waiting by a stream that never rests gets a part of a core all the same: little at first, since a stream
// that has just been cut copies every cell that it changes and is behind for a moment; more when the work has become old, so that
// it is finished some time.
//
// Invariants. Nothing waits for anybody else, so a Point cannot deadlock; but whoever holds a lock that a task takes should
// not call it. Where time does not pass while goroutines run (a bubble of testing/synctest), a Point does nothing.
package background
