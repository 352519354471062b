// Package errs holds the one error type of the engine: a code from a closed list, the recovery class that decides what
// the runtime does with it, and the operation during which it happened.
//
// The class decides recovery, never the text. Wrap foreign errors at the seam where they enter the engine; the cause
// stays reachable through errors.Is and errors.As.
package errs
