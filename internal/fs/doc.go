// Package fs is the only way to files.
//
// Every part of the engine that reads or writes files takes an [FS] as a value. [Real] is the operating system's;
// [Mem] holds files in memory and can say what a crash would leave ([Mem.CrashClone]); [Faulty] wraps another one and
// lets a test see, refuse or tear each operation.
//
// Invariants that all forms keep, checked by one conformance suite:
//   - names use the separator '/' (Real also takes the system's), errors are *fs.PathError or *os.LinkError and answer to
//     errors.Is(err, ErrNotExist) and the like;
//   - bytes are durable after File.Sync, a name is durable after SyncDir of its directory;
//   - Rename replaces the target in one step;
//   - an open file goes on to exist after Remove.
//
// Locks: Mem.mu guards the tree and all contents and is a leaf. Faulty calls the test's function without a lock.
package fs
