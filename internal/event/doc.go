// Package event defines what flows between tasks: batches of rows, watermarks, idleness, barriers and the end of input.
//
// # Ownership
//
// A batch is moved. Whoever receives one (from Poll, in Process, in Emit, in Send) owns it alone and either passes it on
// or calls Release, exactly once. Nobody else may touch it afterwards: its memory is used again, and in builds with the
// invariants (or race) tag it is overwritten on release, so that a late reader fails at once. A consumer that shares rows with a second one
// copies them with CopyTo.
//
// A user function sees rows by value and may keep them; strings in rows that came out of a decoder may alias the batch's
// byte buffer only where the producer guarantees that the buffer is never reused.
//
// # Two forms
//
// Records[T] holds typed rows for the DataStream API; column.Batch holds Arrow-like vectors for SQL. The runtime sees the
// Batch interface only, one dynamic call a batch and never one a row.
//
// The package is pure and knows no goroutine besides the free list of a Pool, which may be used from any.
package event
