// Package channel connects a job to the Go channels of the program that runs it. The job must run in the same process:
// with --workers it is refused.
//
// What was taken out of a channel cannot be asked for again: after a restart the source goes on with what is in the channel
// then.
package channel
