package taskmanager

import (
	"context"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/xsync"
)

// reporter is the Reporter of one deployment.
type reporter struct {
	outbox   *rpc.Outbox
	envelope rpc.Message
	closed   chan struct{} // closed when the deployment is over; unblocks Side

	mu struct {
		xsync.Mutex
		closed  bool
		ended   map[ids.TaskID]bool
		windows map[rpc.OpRef]*sideWindow
	}
}

// sideWindow counts the side payloads of one operator of one task.
type sideWindow struct {
	sent  uint64        // by the one goroutine that calls Side; under mu
	acked uint64        // 0 <= acked <= sent; under mu
	wake  chan struct{} // holds a token after acked has grown
}

func newReporter(outbox *rpc.Outbox, envelope rpc.Message) *reporter {
	r := &reporter{outbox: outbox, envelope: envelope, closed: make(chan struct{})}
	r.mu.ended = map[ids.TaskID]bool{}
	r.mu.windows = map[rpc.OpRef]*sideWindow{}
	return r
}

// put queues a message. An error of the connection is seen by Run, which cancels the tasks.
func (r *reporter) put(b rpc.Body) {
	m := r.envelope
	m.Body = b
	_ = r.outbox.Put(m)
}

// Phase implements Reporter. The first end of a task counts.
func (r *reporter) Phase(task ids.TaskID, phase rpc.Phase, failure error) {
	r.mu.Lock()
	late := r.mu.closed || r.mu.ended[task]
	if phase.Ended() {
		r.mu.ended[task] = true
	}
	r.mu.Unlock()
	if late {
		return
	}
	b := &rpc.TaskPhase{Task: task, Phase: phase}
	if phase == rpc.PhaseFailed {
		if failure == nil {
			failure = errs.New(errs.CodeBug, errs.ClassBug, "task "+task.String(), "it has failed without an error")
		}
		b.Failure = rpc.FailureOf(failure)
	}
	r.put(b)
}

// Metrics implements Reporter.
func (r *reporter) Metrics(ops ...rpc.OpMetrics) {
	if len(ops) > 0 {
		r.put(&rpc.Metrics{Operators: ops})
	}
}

// RequestSplit implements Reporter.
func (r *reporter) RequestSplit(source rpc.OpRef) { r.put(&rpc.SplitRequest{Source: source}) }

// Progress implements Reporter.
func (r *reporter) Progress(p rpc.SourceProgress) {
	m := r.envelope
	m.Body = &p
	_ = r.outbox.PutLatest(p.Source, m)
}

// Checkpoint implements Reporter.
func (r *reporter) Checkpoint(b rpc.Body) {
	r.mu.Lock()
	late := r.mu.closed
	r.mu.Unlock()
	if !late {
		r.put(b)
	}
}

// Side implements Reporter.
func (r *reporter) Side(ctx context.Context, op rpc.OpRef, payload []byte) error {
	r.mu.Lock()
	w := r.mu.windows[op]
	if w == nil {
		w = &sideWindow{wake: make(chan struct{}, 1)}
		r.mu.windows[op] = w
	}
	for w.sent-w.acked >= SideWindow {
		r.mu.Unlock()
		select {
		case <-w.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.closed:
			return errs.Canceled
		}
		r.mu.Lock()
	}
	w.sent++
	seq := w.sent
	r.mu.Unlock()
	r.put(&rpc.Side{Source: op, Seq: seq, Payload: payload})
	return nil
}

// ack takes the master's word that the client has taken side rows. An ack of what was not sent changes nothing.
func (r *reporter) ack(a *rpc.SideAck) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.mu.windows[a.Source]
	if w == nil || a.Seq > w.sent || a.Seq <= w.acked {
		return
	}
	w.acked = a.Seq
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// missing lists the tasks that have not reported an end.
func (r *reporter) missing(tasks []ids.TaskID) []ids.TaskID {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []ids.TaskID
	for _, t := range tasks {
		if !r.mu.ended[t] {
			out = append(out, t)
		}
	}
	return out
}

// close ends the deployment: nothing is reported any more, and blocked calls return.
func (r *reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.mu.closed {
		r.mu.closed = true
		close(r.closed)
	}
}
