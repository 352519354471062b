package config

import "time"

// The core options. Names and meanings are Flink's where Flink has them; defaults differ where the comment says so.
var (
	JobName = String("pipeline.name", "", "Name of the job in logs, metrics and the dashboard. Without it, the name of the program.")

	Parallelism = Between(Int("parallelism.default", 1,
		"Parallelism of operators that set none."), 1, 32768)

	OperatorChaining = Bool("pipeline.operator-chaining.enabled", true,
		"Run operators that are connected subtask by subtask in one task, where they call each other directly. Without it, each operator has tasks of its own: slower, and easier to measure.")

	// BufferTimeout is 100 ms in Flink.
	BufferTimeout = Duration("execution.buffer-timeout.interval", 10*time.Millisecond,
		"How long a row may wait for its batch to fill before it is sent to the next task. 0 ms sends after each batch that was read. An input that has run dry flushes at once.")

	BufferTimeoutEnabled = Bool("execution.buffer-timeout.enabled", true,
		"Send batches that are not full after the buffer timeout. Without it, only full batches are sent, and what is left at the end.")

	BatchRows = Between(Int("execution.batch-size", 0,
		"Rows a batch at most; 0 is the best size for the type of row. For tests: results must not depend on it."), 0, 512)

	// AutoWatermarkInterval is 200 ms in Flink, where a watermark does not wait for the rows in front of it.
	AutoWatermarkInterval = Duration("pipeline.auto-watermark-interval", 0,
		"How often at most a source sends its watermark while rows keep coming. 0 ms sends it behind each batch of rows. When there is nothing to read it is sent at once.")

	TaskCancelInterval = Duration("task.cancellation.interval", 30*time.Second,
		"A task that was told to stop and still runs is reported this often, with the stack of the function that does not return.")

	TaskCancelTimeout = Duration("task.cancellation.timeout", 3*time.Minute,
		"A task that still runs so long after it was told to stop is fatal for its worker process. 0 ms waits for ever.")

	ProcessMemory = Bytes("taskmanager.memory.process.size", 0,
		"Memory of the process, of which the Go runtime may use three quarters before it collects garbage harder. 0 bytes takes the limit of the control group, or else the machine's memory. The environment variables GOMEMLIMIT and GOGC win.")

	HeartbeatInterval = Duration("heartbeat.interval", 10*time.Second,
		"How often JobManager and workers tell each other that they live.")

	HeartbeatTimeout = Duration("heartbeat.timeout", 50*time.Second,
		"A worker or JobManager that was silent for so long is taken for dead.")

	// MetricsAddress replaces metrics.reporter.<name>.port: there is one reporter of this kind.
	MetricsAddress = String("metrics.address", "",
		"Address on which metrics are served in Prometheus' text form at /metrics, such as 127.0.0.1:9249. Without it they are not served.")

	MetricsDelimiter = String("metrics.scope.delimiter", ".",
		"What stands between the parts of a metric's full name.")

	MetricsScopeJobManager = String("metrics.scope.jm", "<host>.jobmanager",
		"Scope of the metrics of a JobManager.")
	MetricsScopeJobManagerJob = String("metrics.scope.jm-job", "<host>.jobmanager.<job_name>",
		"Scope of the metrics of a job on the JobManager.")
	MetricsScopeTaskManager = String("metrics.scope.tm", "<host>.taskmanager.<tm_id>",
		"Scope of the metrics of a worker.")
	MetricsScopeTaskManagerJob = String("metrics.scope.tm-job", "<host>.taskmanager.<tm_id>.<job_name>",
		"Scope of the metrics of a job on a worker.")
	MetricsScopeTask = String("metrics.scope.task", "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
		"Scope of the metrics of a task.")
	MetricsScopeOperator = String("metrics.scope.operator", "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
		"Scope of the metrics of an operator.")

	LogLevel = Enum("env.log.level", "INFO", []string{"DEBUG", "INFO", "WARN", "ERROR"},
		"The lowest level of messages that are logged.")
)

// Core returns the options of the engine. The slice is the caller's.
func Core() []Any {
	return append(fault(), JobName, Parallelism, OperatorChaining, BufferTimeout, BufferTimeoutEnabled, BatchRows, AutoWatermarkInterval,
		TaskCancelInterval, TaskCancelTimeout, ProcessMemory,
		HeartbeatInterval, HeartbeatTimeout, MetricsAddress, MetricsDelimiter, MetricsScopeJobManager, MetricsScopeJobManagerJob,
		MetricsScopeTaskManager, MetricsScopeTaskManagerJob, MetricsScopeTask, MetricsScopeOperator, LogLevel)
}
