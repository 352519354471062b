// Package function makes a source or a sink out of a function of the program.
//
// A source function runs on a goroutine of its own and hands rows over through a bounded ring: emit waits while the job
// does not keep up, and fails once the job is being cancelled; the function should then return. The reader waits in Close
// for the function to return, so a function must not ignore its context.
//
// # Restarts
//
// The position of such a source is the number of rows that were emitted. After a restart the function runs again from its
// beginning, and that many rows are dropped: the results are exact if the function emits the same rows each time.
package function
