// Package netx is the only way to the network.
//
// Every part of the engine that listens or dials takes a [Network] as a value. [Real] is TCP, on the loopback interface
// unless a host is named; [Mem] is a network in memory, whose waits are durable in a testing/synctest bubble; [Faulty]
// wraps another one and cuts, stalls and delays its connections.
//
// Invariants that all forms keep, checked by one conformance suite: bytes arrive in order or not at all; after Close of
// one side the other reads what was sent and then io.EOF; Read and Write past a deadline fail with os.ErrDeadlineExceeded;
// use after one's own Close fails with net.ErrClosed; Close wakes everybody who waits on the connection.
//
// Locks: the mutex of a stream before the clock's; Mem.mu and Faulty.mu are leaves.
package netx
