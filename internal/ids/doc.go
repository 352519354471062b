// Package ids gives every kind of identity in the engine a type of its own, so that the compiler finds swapped arguments.
//
// The package imports only the standard library and holds no logic beyond printing, parsing and derivation. Numbers
// that identify (JobID, OperatorID) are stable over restarts; numbers that count (Epoch, Term, Generation, an attempt)
// only grow, and zero means "none yet".
package ids
