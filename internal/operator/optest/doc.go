// Package optest runs one operator by hand, for its tests: feed rows, move event time and processing time, read what came
// out of the main output and of the side outputs.
//
// A Harness is one subtask; everything runs on the test's goroutine. Each batch is fed in the way that the test chose (all
// rows in one, or one row a batch), so that a test can show that batching changes nothing.
//
// Harness.Snapshot cuts the subtask as a task does, Harness.Restore opens another one with what all subtasks have left. A
// Fleet is all subtasks of an operator; a Trial takes steps with a Fleet and compares what comes out of an undisturbed run
// with what comes out when it crashes and is restored at another parallelism.
package optest
