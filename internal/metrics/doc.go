// Package metrics is the registry of a process's metrics, with Flink's scopes and names, and its exporter in Prometheus'
// text form.
//
// A Registry is a tree of groups: the process, its jobs, their tasks, their operators, and below each whatever the
// engine or a user's function adds. Groups of the engine (Registry.TaskManager, Group.Job, Group.Task, Group.Operator)
// give a scope and its variables, from which come a metric's full name (host.taskmanager.tm1.flights.map.0.numRecordsIn)
// and its labels. Closing a group takes everything below it out of the registry; handles go on working.
//
// Updates never touch the registry. What looks at it (a scrape, the dashboard, the progress view) reads the handles, and
// the engine's own counters through functions. Rates and histograms live on Tick, which Run calls every TickInterval.
//
// Locks: Registry.mu guards the tree, and is a leaf: no function of a gauge is called, and nothing is logged, under it.
// Registry.tick is taken by Tick alone and before mu.
package metrics
