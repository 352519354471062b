// Package timer keeps keyed timers: at most one for each key, namespace and time.
//
// Timers lie in buckets of 64 ms, found by a table, with a heap over the times of the buckets. A bucket is a log:
// Register and Delete append a record and look for nothing, which makes them cheap. When a bucket fires, its records are
// sorted by time, hash, key, namespace and age, and of equal ones only the youngest counts: that is where duplicates and
// deletions are resolved.
//
//	heap of bucket numbers      table: number -> bucket        chunks (64 B, 512 B, 4 KiB, 64 KiB)
//	[ 3 | 9 | 4 | ... ]         3 -> {head, tail, count}  -->  [ next | used | record | record ] -> [ ... ]
//
// A log that is mostly duplicates and deletions is compacted. How much of it is alive is estimated from an exact set of
// every 64th timer, chosen by hash, so that a log without duplicates is never compacted in vain.
//
// While a bucket fires it is the run: its sorted records. What is registered or deleted meanwhile at the time of the run
// or before goes to a second log with a heap over it, the overlay, which is merged with the run.
//
// Order. Timers fire in ascending order of time; at equal times in ascending order of the key's hash, then of the key's
// bytes, then of the namespace's bytes. So the order depends neither on the order of registration nor on parallelism, and
// visits the segments of a state table one after the other.
//
// All memory is free of pointers. A Timers belongs to the goroutine of its task; two of them serve event time and
// processing time.
package timer
