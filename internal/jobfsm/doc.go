// Package jobfsm decides the life of a job: when tasks are deployed, started, cancelled, and how the job ends. It is pure:
// Step takes an event and returns commands; there is no goroutine, lock, clock or I/O. A driver (package jobmanager)
// executes the commands and feeds back what happened.
//
//	             begin          all workers deployed    all tasks finished     side rows taken
//	created ─────────► deploying ─────────────► running ─────────────► finishing ─────────► finished
//	                     │  │                    │  │                   │  │
//	                     │  └── cancel ──────────┴──│── cancel ─────────│──┴──► canceling ──► canceled
//	                     └── failure ───────────────┴── failure ────────┴─────► failing ────► failed
//
// With Config.Restart a failure that a restart may mend leads to restarting instead of failing: the tasks stop, the driver is
// asked (AskRestart), lost workers are replaced, and when the driver is Ready and all workers are there the next generation is
// deployed, with attempts of its own. What comes meanwhile of a former attempt changes nothing. A failure while the next
// generation is prepared is one more to ask about; one that no restart mends leads on to failing.
//
// # Regions
//
// Tasks lie in failover regions, each by itself deployable. What is deployed, stopped and restarted at a time is the scope: all
// regions at first and at the end, and those that a failure concerns when it is to be mended. While the scope restarts, the job is
// restarting or deploying, and the tasks of the other regions go on. The scope grows when another region fails meanwhile, and to all
// regions when that is asked for (Widen), when the job is cancelled, or when no restart mends a failure.
//
// Failing and canceling last until every task that was deployed has ended, or its worker is lost.
//
// # Which failure is the cause
//
// A job fails with the first failure, with two exceptions, because messages about one accident come over several
// connections in any order. A consequence (a broken data connection, a cancellation) gives way to any real failure that
// is still to come. The break of a worker's control connection gives way to the exit of that worker's process, which
// tells the signal. The machine waits for such an explanation, but not beyond the explain deadline.
//
// # Laws, checked by the explorer in explore_test.go
//
//   - The job ends exactly once, whatever is lost, and after End only notes are produced.
//   - No task is deployed before all workers have joined, none is started before all are deployed.
//   - The job is finished only if every task has finished.
//   - At the end every task has ended or was on a lost worker, or is listed as abandoned.
//   - A region outside the scope is neither cancelled nor deployed.
//   - Events that come twice or late change nothing.
package jobfsm
