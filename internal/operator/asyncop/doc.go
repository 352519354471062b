// Package asyncop holds the operator of asynchronous calls: for each row a function runs on a goroutine of its own, many at
// once, and its results come back into the stream.
//
// # Goroutines
//
// All of the operator's state belongs to the task's goroutine. A call gets the row and a context; what it returns goes under
// asyncs.mu to asyncs.answers, and one mail a burst makes the task take all of them. Timeouts and waits between attempts are
// timers of the task. A call that ignores its context when it has timed out or the job is cancelled is abandoned: nobody waits
// for it, its answer is dropped, and the log says how many there are.
//
// # Order
//
// Rows are kept in segments. A segment is closed by what rows must not overtake, a watermark or a change of idleness, which
// is sent when all rows of the segment have been. Results of the first segment are emitted as they come, those of later
// segments wait. In ordered mode each row is a segment.
//
// # Bounds
//
// A row counts against the capacity from the start of its first call until its results are emitted, so neither the calls at
// once nor the results that wait for earlier ones exceed it. While it is used up the operator is Full (operator.Outsider) and
// the task takes no input; what is left of the batch that filled it waits in the backlog.
package asyncop
