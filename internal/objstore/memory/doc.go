// Package memory keeps objects in memory, for tests and for embedded jobs that need to survive nothing.
//
// The bytes of an object are never changed once it is visible, so readers share them without a lock. A replaced object
// goes on to exist for those that read it.
package memory
