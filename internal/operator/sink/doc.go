// Package sink is the operator in front of a connector's Writer: it hands over batches, flushes when the input runs dry and
// before barriers, and turns the writer's errors and panics into ones that name the operator.
//
// # Two-phase commit
//
// With a connector.TwoPhase sink the operator keeps the committables from their preparation until the committer has said
// that they are visible (commits). They are blobs of every cut in between.
//
//   - A cut flushes, prepares, and takes all committables that are not known to be committed.
//   - CheckpointComplete(n) commits everything up to n, epoch by epoch; it may come late, twice, or only for a later epoch.
//   - What a restored checkpoint lists is committed again before anything else, dealt out evenly among the subtasks.
//   - A commit that fails for now is tried again without end; one that fails for good fails the job, with the rows' range.
//   - Behind the last row the task waits in CheckpointComplete, or in Finish without checkpoints, until all is committed.
//
// The committer runs on a goroutine of its own, one call at a time, which belongs to commits and ends in Close. Its answers
// come back by mail. There are no locks.
package sink
