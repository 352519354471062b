// Package transfer moves keyed state between a backend and the written form of package snapshot.
//
// [SaveParts] writes what a cut held of a range of key groups as one data object, and [SaveChanges] what has changed since an
// earlier cut, whatever backend keeps it and on whatever goroutine; [Load] puts entries into a backend, whatever backend they
// came from and at whatever parallelism, on the goroutine that owns the backend, and has blocks decoded on others. Timers take
// part by a cut and a [Sink] of their own, which package timer makes.
package transfer
