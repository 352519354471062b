package exchange

import "sync/atomic"

// Traffic counts what came into an inbox and what its task has sent, buffers being batches and bytes those of frames on
// connections, compressed if they were; batches within a process pass by reference and have no size. Any goroutine may read it.
type Traffic struct {
	// LocalIn and RemoteIn are batches from producers in this process and in others. They are added to under the inbox's lock.
	LocalIn, RemoteIn, BytesIn atomic.Int64
	// Out are batches sent, BytesOut what those to other processes took. The task's goroutine adds to them.
	Out, BytesOut atomic.Int64
}

// Traffic returns the counters of the inbox and of the senders made for its task.
func (in *Inbox) Traffic() *Traffic { return &in.traffic }

// Lengths returns how many batches and how many mails wait for the task. Any goroutine may call it.
func (in *Inbox) Lengths() (batches, mails int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range in.chans {
		batches += in.chans[i].batches
	}
	return batches, len(in.mu.mails)
}

// Backpressured reports whether the task waits for room downstream at this moment. Any goroutine may call it.
func (in *Inbox) Backpressured() bool { return in.backpressured.since.Load() != 0 }

// raise adds to a counter whose writers are one at a time.
func raise(c *atomic.Int64, n int64) { c.Store(c.Load() + n) }
