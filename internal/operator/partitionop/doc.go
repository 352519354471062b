// Package partitionop holds the operators that work on a whole partition of a bounded stream: all rows of a subtask, or of a
// key on a keyed stream.
//
// They hold watermarks back and emit at the final one, so that the rows they emit, which carry their own event times, are
// not late for what follows. Rows and accumulators are kept in the keyed backend. On a stream without keys a subtask's
// partition is one key, empty and with a hash in the subtask's first key group.
//
// Whole keeps all rows and needs memory for them; Fold keeps an accumulator.
package partitionop
