// Package restore decides what becomes of saved state when a job starts from a checkpoint or savepoint: per state reuse,
// migrate, drop, refuse or keep, with reasons; and it makes what turns saved entries into those that the job's operators expect.
//
// [Make] is the planner. It compares a manifest with the operators of the job and the states that they open, and neither reads
// data nor runs anything: it is asked before any task starts, and all that it refuses is said at once. [Sink] is the
// worker's side of the same decisions: it wraps what takes a state's entries, and refuses what Make would.
//
// Everything here is pure. A Plan is immutable; what Sink returns belongs to one goroutine.
package restore
