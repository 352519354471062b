// Package objstore defines where checkpoints, savepoints and blobs lie: a flat space of named, immutable objects, as S3
// and its like offer it.
//
// An object is there whole or not at all. It is written by Put or PutIfAbsent, never changed in part, and removed by
// Delete. PutIfAbsent is the fence: of several writers of one name, one wins, whatever their clocks and leases say.
//
// Stores are sub-packages: local (a directory, over internal/fs) and memory (tests, embedded jobs). They pass one
// conformance suite, in storetest, which a store outside the tree can run too. [Faulty] wraps another store and lets a
// test see, refuse, tear, delay or forget each request. [Claim] is PutIfAbsent with the loss of answers taken care of.
//
// Errors carry one of the codes of this package. Class Retry says that the same request may succeed later.
//
// Locks: memory's is a leaf; local and Faulty hold none while they do I/O or call a test's function.
package objstore
