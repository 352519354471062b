// Package app is the composition root: it makes a running job out of a plan. It alone knows the control plane (jobmanager,
// taskmanager), the data plane (exchange, task) and the plan (graph) at once, and hands to each what it needs of the others.
//
//	program.go     what the facade hands in, and the job graph that follows from it
//	run.go         a job with its one worker in this process
//	cluster.go     a job over worker processes: the coordinating side and the worker's side
//	launch.go      taskmanager.Launcher: tasks, inboxes and outputs of one worker, out of the execution graph
//	inflight.go    which channels take part in unaligned checkpoints
//	mesh.go        the connections of one worker to the others
//	running.go     taskmanager.Running: the tasks of one worker while they run
//	stuck.go       complaints about tasks that do not stop
//	enumerators.go jobmanager.Enumerators: the splits of the plan's sources
//	files.go       the file system that connectors see
//	observed.go    metrics of a process and of a job, and where they are served
//	reports.go     metrics of tasks and operators
//	runner.go      how tests of jobs take the embedded cluster's place
//	byhand.go      a job whose tasks a test moves by hand; byhand_snapshot.go: what it can go on from
//	control.go     what a running job can be asked for: savepoints, stops
//	checkpoints.go jobmanager.CheckpointStore: the job's directory, manifests, what a job starts from
//	taskstates.go  where the tasks of a worker leave their state, and what they begin from
//	restoreplan.go what becomes of saved state, asked before a task starts; --dry-run
//	states.go      the state backends that the options choose
//	result.go      what is known of a job when it has ended
//
// Everything that touches the world comes in through World.
package app
