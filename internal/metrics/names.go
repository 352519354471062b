package metrics

// Names of the engine's metrics: Flink's, where Flink measures the same thing.
const (
	NumRecordsIn            = "numRecordsIn" // with ...PerSecond, as all that begin with num...In and num...Out
	NumRecordsOut           = "numRecordsOut"
	NumBytesInLocal         = "numBytesInLocal"
	NumBytesInRemote        = "numBytesInRemote"
	NumBytesOut             = "numBytesOut"
	NumBuffersInLocal       = "numBuffersInLocal"
	NumBuffersInRemote      = "numBuffersInRemote"
	NumBuffersOut           = "numBuffersOut"
	NumFiredTimers          = "numFiredTimers"
	NumLateRecordsDropped   = "numLateRecordsDropped"
	NumSplitsProcessed      = "numSplitsProcessed"
	CurrentInputWatermark   = "currentInputWatermark"
	CurrentOutputWatermark  = "currentOutputWatermark"
	WatermarkAlignmentDrift = "watermarkAlignmentDrift"

	BusyTime          = "busyTimeMsPerSecond"
	IdleTime          = "idleTimeMsPerSecond"
	BackPressuredTime = "backPressuredTimeMsPerSecond"
	IsBackPressured   = "isBackPressured"
	InputQueueLength  = "inputQueueLength"  // below the group "buffers"
	OutputQueueLength = "outputQueueLength" // below the group "buffers"
	MailboxQueueSize  = "mailboxQueueSize"

	NumRegisteredTaskManagers = "numRegisteredTaskManagers"
	NumRunningJobs            = "numRunningJobs"
	TaskSlotsAvailable        = "taskSlotsAvailable"
	TaskSlotsTotal            = "taskSlotsTotal"
	Uptime                    = "uptime"
	NumRestarts               = "numRestarts"
)

// What Weir counts and Flink does not: rows that reach no result, by reason.
const (
	NumBadRecords        = "numBadRecords"        // failed to decode
	NumRecordsNoTime     = "numRecordsNoTime"     // have no event time
	NumRecordsUnreadSide = "numRecordsUnreadSide" // went to a side output that nobody reads
)

// perSecond is what Flink appends to a counter's name for its rate.
const perSecond = "PerSecond"
