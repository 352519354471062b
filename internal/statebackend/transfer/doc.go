// Package transfer moves keyed state between a backend and the written form of package snapshot.
//
// [Save] writes the state of a range of key groups as one data object, whatever backend keeps it; [Load] puts entries
// into a backend, whatever backend they came from and at whatever parallelism. Timers take part as a [Source] and a [Sink]
// of their own, which package timer makes.
//
// Both run on the goroutine that owns the backend, because they read and write it. A backend that can cut its state in
// bounded time will write from the cut instead; this is the way that every backend has, and the one to compare with.
package transfer
