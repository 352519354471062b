// Package expiry lets values, list elements and map entries of a state backend expire.
//
// A Keyed stands before any backend. States whose descriptor has no Expiry pass through it untouched. In the others it
// keeps a stamp before each value: eight bytes, least significant first, the time in ms of the last write (or read), or
// Unknown. The duration is not stored, so another one applies to old values too.
//
// What has expired is removed when it is met by an access, by a sweep that goes round through the key groups a few units for
// each access, and by being left out of snapshots. Whatever is removed is counted. A removal happens only inside an
// access, so what an operator holds stays valid as long as the backend's contract says.
//
// The descriptors that a Keyed shows, and what it gives to a cut, are those of the backend behind it: with the stamps. A
// restore loads stamps and all, through a state opened by such a descriptor.
//
// It belongs to the task's goroutine and has no lock.
package expiry
