// Package deploy starts the worker processes of a job on this machine and makes sure that none of them outlives its use.
//
// A worker is the same binary with the same arguments; the environment says that it is one, where the master listens and
// under which name it goes. Its secret (rpc.Identity) comes through a pipe that only this child inherits, never on the
// command line or in the environment, where other users of the machine could read it. Both sides:
//
//	coordinator                                   worker
//	Start(Config) -> Fleet                        FromEnv -> Child
//	  Exited(worker, how) once for each             rpc.Dial(Child.ControlAddr), taskmanager.Run
//	Fleet.Kill, Fleet.Close                         Child.ParentGone: the coordinator has died; exit
//
// # No orphan remains
//
// A worker ends when (1) the master shuts it down, (2) its control connection breaks (taskmanager.Run returns), (3) the
// pipe of the secret, whose other end the coordinator holds for life, comes to its end, (4) on Linux the kernel sends it
// SIGKILL because the thread that started it has died, (5) Fleet.Close kills it. (4) alone needs no help of the worker's
// code; (3) also works where user code hangs, as long as the Go scheduler runs.
//
// Children are leaders of process groups of their own: a Ctrl-C at the terminal reaches the coordinator alone, which then
// cancels the job in order, and what a worker has started itself goes with it.
//
// # Goroutines and locks
//
// One goroutine for each child waits for its exit, two relay its output; one more keeps the thread that started the
// children. Fleet.Close waits for all of them. relay.mu is held while a line is written; child.mu for a few instructions.
// Neither is taken under the other.
package deploy
