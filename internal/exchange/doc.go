// Package exchange moves events between tasks: within a process by reference, between processes as frames over a
// connection.
//
// # Parts
//
// An Inbox is the one place where a task waits. It holds the task's input channels, each a short queue with credit for a
// few batches, and its mails, functions that other goroutines want run on the task's goroutine. A Sender puts events into
// one channel of another task's inbox, whether that task is in this process or not. An Output is one outgoing edge of a
// task: it splits batches over the Senders of the edge and joins small batches into larger ones. A Link carries the
// channels between two processes over one connection.
//
// # Rules that hold for every form of channel
//
//   - Order: what is sent on a channel is polled in the order sent. Only a barrier overtakes, when the
//     consumer says so (Overtake); it hears of one that may as soon as it arrives.
//   - Bounds: a channel holds at most its depth of batches. Send blocks until there is room. Events without rows need no
//     room; those that say the same again are merged in the queue, so their number is bounded too.
//   - End is the last event of a channel and comes once.
//   - A batch moves with Send, also when Send fails: then it has been released.
//   - Cancelling the producer's or the consumer's inbox wakes a blocked Send at once.
//
// # Goroutines and locks
//
// Every inbox has one mutex and one condition variable, and only the goroutine of its task ever waits on it: for input in
// Wait, for room downstream in WaitOutput or Send. No goroutine holds the mutexes of two inboxes, or of an inbox and a
// link, at the same time: whoever frees room in one inbox unlocks it before it wakes the producer through the other.
// Nothing blocks while it holds one.
package exchange
