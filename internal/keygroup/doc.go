// Package keygroup maps key hashes to key groups and key groups to subtasks.
//
// A key group is one of Count equal ranges of the 64-bit key hash: its top 15 bits. The number of groups never depends
// on parallelism and is no setting, so state written at one parallelism is found at any other. Subtask i of p owns the
// groups [i*Count/p, (i+1)*Count/p), a range of the hash space, and every table of keyed state is split along it.
//
// The package is pure arithmetic: no allocation except for the tables it returns, no goroutine, no I/O.
package keygroup
