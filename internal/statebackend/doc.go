// Package statebackend defines keyed state at the level of bytes: what an operator's state is to the runtime, whatever
// keeps it.
//
// An operator opens its states by name from one Keyed. Each access names a key (with its hash) and a namespace, which is
// a window's encoding or nothing. Values are encoded; the typed facade compiles the codecs. Reducing and aggregating
// state are values to a backend.
//
// Backends are sub-packages: model (Go maps, obviously right, for tests), paged (the default) and lsm (on disk, for state
// larger than memory). They pass one conformance suite, in backendtest, which compares them by random sequences of operations,
// cuts and restores. Package expiry lets entries of any of them expire; package transfer moves state to and from its written form.
package statebackend
