// Package statebackend defines keyed state at the level of bytes: what an operator's state is to the runtime, whatever
// keeps it.
//
// An operator opens its states by name from one Keyed. Each access names a key (with its hash) and a namespace, which is
// a window's encoding or nothing. Values are encoded; the typed facade compiles the codecs. Reducing and aggregating
// state are values to a backend.
//
// Backends are sub-packages: model (Go maps, obviously right, for tests) and paged (the default). They pass one
// conformance suite, in backendtest, which compares them by random sequences of operations.
package statebackend
