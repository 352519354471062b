// Package clock is the only way to the time of day, to timers and to sleeping.
//
// Every part of the engine that waits or reads the time takes a [Clock] as a value. [Real] is the machine's clock;
// [Virtual] stands still until a test moves it, and then runs what has come due in one certain order: by instant, and
// among equals by the order in which the timers were set.
//
// Invariants. A timer fires at most once per setting. A Virtual clock never goes back. Functions of AfterFunc run on a
// goroutine of their own under Real, and on the goroutine that calls Advance under Virtual; in both cases they must not
// block. Locks: Virtual.mu is a leaf, it is never held while a timer's function runs.
package clock
