// Package taskstore is the workers' side of storage: an [Uploader] writes the snapshots of a worker's tasks to the job's
// directory, or to that of a savepoint, and a [Source] reads what the tasks of a later deployment are restored from.
//
// Uploads run on goroutines of their own, a bounded number at a time, in the order in which snapshots came. A task's part of
// an epoch is reported when all of it is durable. What was written for an epoch that is given up is deleted, whether it had
// been reported or not; what an epoch left that nobody has decided about is swept by the master.
//
// Locks: Uploader.mu and Task.mu are never held together, and no I/O is done under them; a state's Complete is called under
// Task.mu.
package taskstore
