// Package lsm keeps keyed state that may be larger than memory: in a log-structured store on local disk (Pebble), behind a
// write-back cache of rows.
//
// A Store is what all states of a process share: the directory, the cache of blocks, the budget of memory. A Backend is
// the state of one operator in one task, with a database of its own.
//
// # Rows
//
// Everything is rows of bytes; rowkey.go has the encoding. A value is a row; so is each entry of a map; a list is a row
// with its newest elements and a row for each 4 KiB of older ones. Rows are in the order of key groups, and those of a map
// in the order of its entries.
//
// # The cache of rows
//
// All reads and writes go through it (rows.go): a row that is used often is changed in place, in memory, and never written
// between two cuts. When the budget is used up, rows that were not used again (evict.go) are dropped, the dirty ones after they were
// written, in batches in the order of their keys.
//
// # Cuts
//
// There is no write-ahead log: a checkpoint is the log. A cut hands the list of dirty rows over and counts the epoch up,
// nothing more. A row of that list is copied before it is changed again, so another goroutine can read the list while the
// task goes on. Whoever visits the cut first writes those rows to the database and takes a snapshot of it (flush.go); until
// then the task writes nothing, so that the snapshot is the state as it was at the cut. A task that needs room sooner does
// that work itself.
//
// # Changes
//
// Whoever writes a row to the database notes its key in the log of the interval between two cuts (changelog.go), as long as somebody
// asks what has changed (changes.go). A log is filled by the task, then by the flush of the cut that ends its interval, and only read from then on.
//
// # Failures
//
// The file system under Pebble (disk.go) never tells it that a write has failed: Pebble would end the process, or wait
// until there is room again. It notes the error, which is the backend's from then on: every access answers as if there
// were nothing, every write is refused, Keyed.Err and Fallible.Err say why.
//
// # Goroutines and locks
//
// A Backend and its states belong to the task's goroutine; a frozen state to whoever visits it. Pebble has goroutines
// of its own for flushes and compactions. flush.mu is held while dirty rows are written, life.mu is a leaf.
package lsm
