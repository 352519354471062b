// Package checkpoint decides when state is cut and when a cut counts. It holds two pure machines, without goroutine, lock,
// clock or I/O: Coordinator, one for a job, beside its leader; and Aligner, one for a task. Drivers carry out their commands
// and feed back what happened; instants are handed in.
//
//	Coordinator                     tasks (each with an Aligner)                storage
//	Trigger ──────────────────────► sources cut, send the barrier
//	                                others cut when it has come on all channels
//	                                upload ───────────────────────────────────► snapshots
//	        ◄──────────────── Acked (the task's part is durable)
//	WriteManifest ────────────────────────────────────────────────────────────► manifest, put if absent
//	        ◄──────────────────────────────────────────────── ManifestWritten
//	NotifyComplete ───────────────► sinks commit
//	Forget ───────────────────────────────────────────────────────────────────► older manifest deleted
//
// # Laws, checked by the properties and the explorer in the tests
//
//   - A manifest is written only when every task that is not gone has acked the epoch, each in its present attempt.
//   - An epoch is complete, and sinks hear of it, only when its manifest is durable.
//   - An epoch whose manifest may be durable is never given up: from WriteManifest on only the storage's answer decides. So
//     no file is deleted that a manifest lists, and no restart chooses its epoch while a manifest is in the air.
//   - A job is restored from the newest epoch that sinks may have committed, or from a newer one.
//   - Epochs rise over terms, and no two terms have one in common. A term first reserves a block of epochs, durably and only
//     if nobody else has them, above every block of an earlier term. So a manifest that an old leader writes late is older
//     than every manifest of the new one, and never the newest again.
//   - Each request is answered once.
//   - Each Block is followed by one Unblock of the channel. No channel stays blocked by an epoch that was given up, once
//     the Aligner hears of that, or of a newer epoch.
//   - In the mode exactly-once no row behind a barrier has an effect on the snapshot, and each row in front of it is in the
//     snapshot of the receiving task, in effect or as an in-flight row, once.
//   - Events that come twice or late change nothing, and commands carried out twice do no more than once.
//
// # Savepoints, stops, ends
//
// A savepoint is the user's: it is neither subsumed nor counted, commits nothing and serves no recovery. A stop is a savepoint
// whose effects are final: it subsumes, commits, and counts as a restore point, but is never forgotten. A task at the end of
// its input (Drained) still takes part, triggered by the Coordinator itself, because no barrier can follow an end; it leaves
// after a complete epoch that was triggered later. When all tasks are drained, that epoch is triggered at once.
package checkpoint
