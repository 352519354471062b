// Package paged holds keyed state in open-addressing tables without pointers.
//
// A Table keeps key and value in one cell, so that an update of a large table costs one cache miss, and the garbage
// collector never looks inside, however many keys there are. The table is cut by the top bits of the hash, which are
// the key groups, into segments of at most 2 MiB of cells. A full segment doubles while it is small and then splits in
// two: growing never touches more than one segment, which bounds the pause of an insert whatever the size of the table.
//
//	directory (hash >> shift)        segment                            cell
//	+-----+-----+-----+-----+        cells  [ .. | .. | .. | .. ]      [ tag 8 | key | value ]
//	|  0  |  0  |  1  |  2  |  -->   arena  [ bytes of keys, blobs ]   tag: the hash; 0 = empty
//	+-----+-----+-----+-----+        bits   [ changed since the cut ]
//
// A key of variable size, and a value of variable size (a blob), are bytes in the segment's arena; the cell holds offset
// and length. Overwritten and deleted bytes are counted and squeezed out when they are more than half.
//
// Invariants:
//   - a segment holds exactly the keys whose hash begins with its prefix;
//   - from the home slot of a key (low bits of the hash) to its cell no cell is empty, so a deletion shifts cells back
//     instead of leaving a tombstone;
//   - memory of a cell that is not in use is zero, so a new value begins as zero;
//   - a cell is marked before it changes, so that a cut can copy what it was: a reader uses Lookup, a writer Mutate or Upsert.
//
// A Table belongs to one goroutine at a time and has no lock. The Pool behind it has one and may be shared.
// The layout assumes a little-endian machine.
package paged
