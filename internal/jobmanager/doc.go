// Package jobmanager runs a job: it deploys it to workers, watches over it, takes its checkpoints, restarts it, hands out
// splits, aligns sources and collects figures and side rows, until the job has ended.
//
// What happens is decided by pure machines: the job's life by package jobfsm, checkpoints by package checkpoint (driven by
// checkpoints.go), restarts by package restart (restarts.go); Master drives them. Alignment of watermarks (align.go), the
// figures (figures.go) and the handing out of splits (splits.go) are beside it, each of them plain code without goroutines.
//
// # Goroutines
//
//	Run         the caller's; owns the machine, the alignment and the peers; never blocks but in its select
//	receive     one for each connection: reads messages, hands them to Run
//	outbox      one for each connection: writes messages
//	enumerate   one for each source: calls Enumerators.Next, which may read directories or ask brokers
//	store       while something of the store is asked: one call of Checkpoints at a time, in order
//	side        one for each operator with side rows: calls SideSink.Rows, which blocks as long as the client likes
//
// Run waits for all of them before it returns, except for a SideSink or an enumerator that does not come back although its
// context has ended.
//
// # Locks
//
// figures.mu alone, held while a figure is stored or the figures are copied; no other lock is taken under it.
package jobmanager
