// Package taskmanager is the worker's side of the control plane: it tells the job's master that it is there, has the tasks
// built that the master deploys to it, reports their phases, figures and side rows, and cancels them.
//
// What a task is stays unknown here: the composition root hands in a Launcher. So a worker is a Launcher, a connection
// (rpc.Conn) and one Worker value, whether it lives beside the master in one process or in a process of its own.
//
// # Goroutines
//
//	Run      the caller's; owns the deployments, one for each failover region that is deployed here; receives nothing itself and never blocks on the connection
//	receive  reads the connection and hands messages to Run
//	outbox   writes the connection
//	launch   one for each deployment: runs Launcher.Launch, which may take its time (it opens files, connects to peers), and
//	         waits for the end of the tasks
//
// Reporter's methods may be called from any goroutine; only Side blocks.
//
// # Locks
//
// reporter.mu alone, held for no more than a few instructions; no other lock is taken under it.
package taskmanager
