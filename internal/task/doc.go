// Package task runs one parallel instance of a vertex: a chain of operators behind one inbox and in front of any number of
// outputs.
//
// # One goroutine
//
// Run is the task's goroutine. Batches, watermarks, timers, barriers and mails from other goroutines all run on it, so that
// an operator never needs a lock. It blocks in the inbox only: when there is nothing to do (Wait), before it takes input while
// an output has no room (WaitOutput, where mails and timers are served), and, where one event makes more batches than there is
// room for, within a Send. All three end at once when the task is cancelled. A user's function may block as long as it
// likes, on its own account: if it does not return after cancellation, the owner of the task says so with the stack.
//
// Open runs before, perhaps on another goroutine: it opens the operators and gives them the state of an earlier run. A cut for
// a checkpoint is one stretch of the task's goroutine, in which neither mails nor timers run.
//
// # Order of things
//
// An event's whole effect has been emitted before the next event is taken. A watermark goes out behind all that it caused.
// When the input runs dry, whatever operators and outputs gather is flushed; when it does not, at the latest after the buffer
// timeout. When all inputs have ended: final watermark, EndInput, Finish, flush, End, Close.
//
// # Failure
//
// The first error ends the task. Panics of user code become errors with the operator, the stack and the row. Close is
// called once on every operator that Open was called on, in any case. What fails after Cancel is no failure.
//
// Lock order: none; the task holds no lock while it calls out.
package task
