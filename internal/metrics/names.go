package metrics

// Names of the engine's metrics: Flink's, where Flink measures the same thing. Catalogue says what they mean.
const (
	NumRecordsIn           = "numRecordsIn"
	NumRecordsOut          = "numRecordsOut"
	NumRecordsInErrors     = "numRecordsInErrors"
	NumLateRecordsDropped  = "numLateRecordsDropped"
	NumBytesInRemote       = "numBytesInRemote"
	NumBytesOut            = "numBytesOut"
	NumBuffersInLocal      = "numBuffersInLocal"
	NumBuffersInRemote     = "numBuffersInRemote"
	NumBuffersOut          = "numBuffersOut"
	CurrentInputWatermark  = "currentInputWatermark"
	CurrentOutputWatermark = "currentOutputWatermark"

	BusyTime                 = "busyTimeMsPerSecond"
	IdleTime                 = "idleTimeMsPerSecond"
	BackPressuredTime        = "backPressuredTimeMsPerSecond"
	AccumulatedBusy          = "accumulateBusyTimeMs" // sic
	AccumulatedIdle          = "accumulateIdleTimeMs"
	AccumulatedBackPressured = "accumulateBackPressuredTimeMs"
	IsBackPressured          = "isBackPressured"
	InputQueueLength         = "inputQueueLength" // below the group "buffers"
	MailboxQueueSize         = "mailboxQueueSize"
	AlignmentTime            = "checkpointAlignmentTime"
	StartDelay               = "checkpointStartDelayNanos"
	SyncDuration             = "checkpointSyncDurationNanos" // Flink has it per checkpoint only

	NumRegisteredTaskManagers = "numRegisteredTaskManagers"
	NumRunningJobs            = "numRunningJobs"
	Uptime                    = "uptime"
	NumRestarts               = "numRestarts"
	RestartingTime            = "restartingTime"

	LastCheckpointDuration      = "lastCheckpointDuration"
	LastCheckpointSize          = "lastCheckpointSize"
	LastCheckpointFullSize      = "lastCheckpointFullSize"
	LastCompletedCheckpointID   = "lastCompletedCheckpointId"
	LastCheckpointCompletedTime = "lastCheckpointCompletedTimestamp"
	LastCheckpointRestoreTime   = "lastCheckpointRestoreTimestamp"
	CheckpointsInProgress       = "numberOfInProgressCheckpoints"
	CheckpointsCompleted        = "numberOfCompletedCheckpoints"
	CheckpointsFailed           = "numberOfFailedCheckpoints"
	CheckpointsTotal            = "totalNumberOfCheckpoints"
)

// What Weir counts and Flink does not: rows that reach no result, by reason, and what of an operator is added up over the job.
const (
	NumRecordsNoTime     = "numRecordsNoTime"
	NumRecordsUnreadSide = "numRecordsUnreadSide"
	LowWatermark         = "lowWatermark"
	OperatorLabel        = "operator" // of JobManagerJob groups
	UserGroup            = "user"     // below it: counters of functions
)

// perSecond is what Flink appends to a counter's name for its rate.
const perSecond = "PerSecond"
