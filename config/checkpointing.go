package config

import "time"

// Options of checkpoints, state and recovery. Names and meanings are Flink's where Flink has them; defaults differ where
// the comment says so.
var (
	CheckpointInterval = Duration("execution.checkpointing.interval", 0,
		"Time between the triggers of checkpoints. 0 ms takes none by itself.")

	CheckpointDir = String("execution.checkpointing.dir", "",
		"Directory of checkpoints. A job of the same name that is started again with it goes on from its latest checkpoint, unless it had come to its end. Without it an embedded job keeps checkpoints in memory; worker processes need it.")

	SavepointDir = String("execution.checkpointing.savepoint-dir", "",
		"Directory in which savepoints are made when none is named.")

	CheckpointMode = Enum("execution.checkpointing.mode", "EXACTLY_ONCE", []string{"EXACTLY_ONCE", "AT_LEAST_ONCE"},
		"What a failure may do to state: nothing, or count rows again.")

	CheckpointTimeout = Duration("execution.checkpointing.timeout", 10*time.Minute,
		"A checkpoint that takes longer is given up. That alone never fails the job. 0 ms is 10 minutes.")

	CheckpointMinPause = Duration("execution.checkpointing.min-pause", 0,
		"Least time from the end of a checkpoint to the trigger of the next.")

	CheckpointConcurrent = Between(Int("execution.checkpointing.max-concurrent-checkpoints", 1,
		"Checkpoints that may be under way at a time."), 1, 64)

	CheckpointTolerable = Int("execution.checkpointing.tolerable-failed-checkpoints", 0,
		"How many checkpoints in a row may fail before the job is restarted; -1 is any number.")

	CheckpointRetained = Between(Int("execution.checkpointing.num-retained", 1,
		"Complete checkpoints that are kept."), 1, 1000)

	// CheckpointRetention is NO_EXTERNALIZED_CHECKPOINTS in Flink.
	CheckpointRetention = Enum("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION",
		[]string{"RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION"},
		"What becomes of the checkpoints of a job that is cancelled. Those of a job that has failed are kept, those of one that has finished deleted.")

	// CheckpointIncremental is false in Flink.
	CheckpointIncremental = Bool("execution.checkpointing.incremental", true,
		"Write only what has changed since the last complete checkpoint.")

	// CheckpointCompression is a switch in Flink: false is none, true is snappy, which s2 is a faster relative of.
	CheckpointCompression = Enum("execution.checkpointing.snapshot-compression", "none", []string{"none", "s2", "zstd", "false", "true"},
		"How keyed state is compressed in checkpoints and savepoints: not at all, which takes the least CPU time; with s2, a nanosecond a byte, half to two thirds of the size; with zstd, four nanoseconds, a third to a half. false is none, true is s2. A checkpoint can be read whatever this says.")

	CheckpointUnaligned = Bool("execution.checkpointing.unaligned.enabled", false,
		"Barriers overtake rows, which become part of the checkpoint: it completes under backpressure too.")

	CheckpointAlignedTimeout = Duration("execution.checkpointing.aligned-checkpoint-timeout", 0,
		"With unaligned checkpoints: how long after its trigger a checkpoint stays aligned. 0 ms is not at all.")

	CheckpointAfterFinish = Bool("execution.checkpointing.checkpoints-after-tasks-finish", true,
		"Let tasks at the end of their input wait for a last checkpoint, behind which sinks commit what is left. Without it they end at once, and sinks commit then. Checkpoints of the tasks that still run are taken in either case.")

	// StateBackend is hashmap or rocksdb in Flink.
	StateBackend = Enum("state.backend.type", "paged", []string{"paged", "lsm", "model"},
		"What keeps keyed state: pages in memory, a log-structured store on disk for state larger than memory, or Go maps (for tests). A checkpoint of one can be restored into another.")

	StateLocalDir = String("state.backend.local-dir", "",
		"Directory of the files of the lsm backend; they are scratch and hold nothing that outlives the process. Without it, the system's directory for temporary files.")

	StateCache = Bytes("state.backend.lsm.cache-size", 256<<20,
		"Memory of the caches of rows and of blocks that all lsm states of a process share.")

	RestorePath = String("execution.state-recovery.path", "",
		"Savepoint or checkpoint that the job starts from. A job that finds a later checkpoint of its own goes on from that.")

	RestoreIgnoreUnclaimed = Bool("execution.state-recovery.ignore-unclaimed-state", false,
		"Start although the savepoint has state that no operator of the job claims; it is dropped. Without it the start is refused.")

	RestoreMode = Enum("execution.state-recovery.claim-mode", "NO_CLAIM", []string{"NO_CLAIM", "CLAIM"},
		"Who owns the checkpoint that is restored: the user, who may delete it once the first checkpoint is complete, or the job, which deletes it when it is not needed any more.")

	RestartStrategy = Enum("restart-strategy.type", "default", []string{"default", "none", "fixed-delay", "failure-rate", "exponential-delay"},
		"What happens when a task fails. default is exponential-delay if checkpoints are taken, else none.")

	FailoverStrategy = Enum("jobmanager.execution.failover-strategy", "region", []string{"region", "full"},
		"Which tasks a failure restarts: those that are connected with the failed one by channels, or all. With region the others go on meanwhile; no checkpoint is taken until all run again.")

	RestartFixedAttempts = Int("restart-strategy.fixed-delay.attempts", 1, "Restarts before the job fails.")
	RestartFixedDelay    = Duration("restart-strategy.fixed-delay.delay", time.Second, "Time before each restart.")

	RestartRateMax      = Int("restart-strategy.failure-rate.max-failures-per-interval", 1, "Failures within the interval before the job fails.")
	RestartRateInterval = Duration("restart-strategy.failure-rate.failure-rate-interval", time.Minute, "Interval in which failures are counted.")
	RestartRateDelay    = Duration("restart-strategy.failure-rate.delay", time.Second, "Time before each restart.")

	// RestartExpInitial is 1 s in Flink.
	RestartExpInitial    = Duration("restart-strategy.exponential-delay.initial-backoff", 50*time.Millisecond, "Time before the first restart.")
	RestartExpMax        = Duration("restart-strategy.exponential-delay.max-backoff", time.Minute, "Time before a restart at most.")
	RestartExpMultiplier = Float("restart-strategy.exponential-delay.backoff-multiplier", 1.5, "By what the time grows from restart to restart.")
	RestartExpReset      = Duration("restart-strategy.exponential-delay.reset-backoff-threshold", time.Hour, "After so long without a failure the time begins anew.")
	RestartExpJitter     = Float("restart-strategy.exponential-delay.jitter-factor", 0.1, "The part of the time that is added or taken off at random.")
	RestartExpAttempts   = Int("restart-strategy.exponential-delay.attempts-before-reset-backoff", -1, "Restarts without a reset before the job fails; -1 is any number.")

	// RestartSameAttempts and RestartSameDuration are Weir's own: Flink's exponential delay restarts a job without end.
	RestartSameAttempts = Int("restart-strategy.repeated-failure.attempts", 10,
		"Restarts of a job that fails in the same way and completes no checkpoint in between, with any strategy, before it ends with an error. 0 is any number. A record that a function fails on ends the job sooner.")
	RestartSameDuration = Duration("restart-strategy.repeated-failure.duration", 10*time.Minute,
		"For how long that must have gone on as well, if what fails may lie outside of the program and come back. A panic and a process that exits by itself do not wait for it.")
)

// fault lists the options of this file.
func fault() []Any {
	return []Any{CheckpointInterval, CheckpointDir, SavepointDir, CheckpointMode, CheckpointTimeout, CheckpointMinPause, CheckpointConcurrent,
		CheckpointTolerable, CheckpointRetained, CheckpointRetention, CheckpointIncremental, CheckpointCompression, CheckpointUnaligned, CheckpointAlignedTimeout,
		CheckpointAfterFinish, StateBackend, StateLocalDir, StateCache, RestorePath, RestoreIgnoreUnclaimed, RestoreMode, FailoverStrategy, RestartStrategy,
		RestartFixedAttempts, RestartFixedDelay, RestartRateMax, RestartRateInterval, RestartRateDelay, RestartExpInitial, RestartExpMax,
		RestartExpMultiplier, RestartExpReset, RestartExpJitter, RestartExpAttempts,
		RestartSameAttempts, RestartSameDuration}
}
