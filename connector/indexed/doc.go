// Package indexed is the common part of sources whose rows have numbers: slices, sequences, generators. A row is a function
// of its index, and so the rows are the same whatever the parallelism, and after every restart.
//
// # Splits
//
// The enumerator of a bounded source hands out blocks of consecutive indices in rising order, so that one reader reads the
// rows in their order and several ones stay close to each other. An endless source has one split for each reader that it
// began with, and they take the indices in turn: of three, the second one has the indices 1, 4, 7, .... With more readers
// later the new ones have nothing to do. A split's state is the index of its next row.
//
// # Rate
//
// A limit holds for the whole source: each reader takes its share of it, by a token bucket that holds at most a second's
// tokens. A limited source has small blocks, about a tenth of a second each.
package indexed
