// Package connector defines what a source and a sink are, for the connectors in the folders below it and for those that
// anybody writes outside this module. It imports no engine package.
//
// # Sources
//
// A Source makes one Enumerator, which finds splits (a file, a byte range, a partition of a topic) and runs beside the
// job's coordinator, and any number of Readers, one in each source task. The engine asks the enumerator for splits on a
// reader's behalf and hands them over; each split is owned by exactly one reader at any time. A reader's position within a
// split is part of the split's state: Reader.Snapshot returns the splits it owns, each at the position behind the last row
// that it has handed out, and a reader that is given such a split goes on from there.
//
// # Sinks
//
// A Sink makes a Writer in each sink task. What a simple writer writes is visible at once and, after a failure, written
// again: at least once. A sink that implements TwoPhase writes exactly once: its writers prepare committables at barriers,
// its Committer makes them visible when the checkpoint is complete, and again after a restore.
//
// # Bad records
//
// A reader reports a record that it cannot decode through ReaderContext.Bad and goes on, or fails, as the answer says: the
// policy (fail, skip, quarantine) belongs to the engine, not to the connector.
package connector
