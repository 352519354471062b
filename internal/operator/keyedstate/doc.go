// Package keyedstate stands between the typed handles of package state and a state backend: Store holds the key and the
// namespace at work, which handles then need not name, and Batch computes the encoded keys of a whole batch at once.
package keyedstate
