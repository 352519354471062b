// Package xsync holds the mutexes of the engine.
//
// [Mutex] and [RWMutex] are those of package sync. Under the build tag `synctest` they are made of channels instead: in
// a testing/synctest bubble a goroutine that waits for a sync.Mutex is not durably blocked, so a simulated cluster in
// which a holder of a lock sleeps would never let virtual time go on; one that waits for a channel is.
//
// Zero values are ready. A channel belongs to the bubble in which it was made, so under the tag a mutex must be locked
// for the first time inside the bubble that uses it. A locked mutex may be unlocked by another goroutine. The RWMutex of
// the tag prefers readers: a writer may starve there, which only tests with endless readers would notice.
package xsync
