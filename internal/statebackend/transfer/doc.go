// Package transfer moves keyed state between a backend and the written form of package snapshot.
//
// [Save] writes the state of a range of key groups as one data object, whatever backend keeps it; [Load] puts entries
// into a backend, whatever backend they came from and at whatever parallelism. Timers take part as a [Source] and a [Sink]
// of their own, which package timer makes.
//
// [SaveParts] and [SaveChanges] write a cut, on whatever goroutine; Save reads the sources themselves and so runs where they
// may be read. Load runs on the goroutine that owns the backend, and has blocks decoded on others.
package transfer
