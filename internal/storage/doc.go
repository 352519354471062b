// Package storage keeps the checkpoints and savepoints of jobs in object stores. It is the master's side: a [Job] is one
// job's directory in the store of execution.checkpointing.dir. The workers' side, which writes and reads the state of tasks,
// is taskstore.
//
//	<store>/<job's name, escaped>/
//	  terms/<term>                 who leads; claimed, the highest wins
//	  epochs/<last epoch of a block>  reservations; claimed, hold their term
//	  manifests/<epoch>            complete checkpoints; claimed, written last
//	  data/<term>-<generation>/<vertex>-<subtask>-<epoch>-<number>
//	  ended/<last reserved epoch>  the run up to that epoch is over
//	  claimed/<hash>               savepoints elsewhere that the job owns
//	<savepoint's directory>/
//	  manifest, data/...
//
// Numbers are decimal; of terms, epochs and ends padded to 20 digits, so that names sort as the numbers do. No two names
// differ in case only. Names in a manifest are relative to the place that it is for, so a savepoint and the directory of a
// job can be moved.
//
// Invariants:
//   - a manifest is written when all that it lists is durable, and what it lists is deleted only after the manifest is;
//   - reference counts are never stored: what may go is computed from the manifests that are there;
//   - only the holder of the newest term deletes what another writer may have written; a manifest that cannot be read
//     stops the sweep, since nobody knows what it lists;
//   - a write under a name that others may want is repeated until it is certain who has the name.
//
// The methods of a Job block for as long as the store does and are called by one goroutine at a time. There are no locks.
package storage
