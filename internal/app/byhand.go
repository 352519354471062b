package app

import (
	"context"
	"slices"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/task"
)

// ByHand is a job whose tasks move only when told, all on the caller's goroutine and always in the same order. Tasks,
// chains and exchanges are those of a real job; there is no control plane.
type ByHand struct {
	plan     *Plan
	launcher *launcher
	sides    sides
	running  *running
	states   *handStates
	steps    []*task.Stepper
	finds    *enumerators
	wanted   []rpc.OpRef // sources that ask for a split
	cancel   context.CancelFunc
	closed   bool
}

// HandOptions says what a test wants to see of a job.
type HandOptions struct {
	// OnSide sees each batch for a side output of a node, and must copy what it keeps. May be nil.
	OnSide func(node int, name string, b event.Batch)
	// From is what the operators begin with. May be nil.
	From *HandSnapshot
}

// handDepth is how many batches an inbox holds: so many that no task ever waits for another.
const handDepth = 1 << 30

// NewByHand makes the job's tasks and opens them.
func NewByHand(w World, plan *Plan, opt HandOptions) (*ByHand, error) {
	x, err := graph.Expand(plan.Job, graph.Cluster{Workers: 1})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &ByHand{plan: plan, sides: sides{plan}, cancel: cancel}
	if h.finds, err = newEnumerators(ctx, w, plan.Job); err != nil {
		cancel()
		return nil, err
	}
	h.states = &handStates{from: opt.From}
	if opt.From != nil {
		h.states.epoch = opt.From.epoch
	}
	h.running = newRunning(w, x, h, nil)
	h.running.hand = h.states
	h.launcher = &launcher{world: w, plan: plan, depth: handDepth, onSide: opt.OnSide}
	b := &builder{launcher: h.launcher, x: x, reporter: h,
		running: h.running, inboxes: map[int]*exchange.Inbox{}}
	for _, t := range x.Tasks {
		b.deployment.Tasks = append(b.deployment.Tasks, t.ID)
	}
	b.makeInboxes()
	for at, t := range x.Tasks {
		if err := b.task(at, t.ID); err != nil {
			b.release(err)
			cancel()
			return nil, err
		}
	}
	for _, t := range h.running.tasks {
		h.steps = append(h.steps, t.task.Stepper())
	}
	for i := len(h.steps) - 1; i >= 0; i-- { // consumers first, as within a chain
		if err := h.steps[i].Open(); err != nil {
			return nil, h.Close(err)
		}
	}
	h.unbindAlignment()
	return h, nil
}

// unbindAlignment lets aligned sources read, since no master tells them how far the others are.
func (h *ByHand) unbindAlignment() {
	for _, s := range h.finds.list {
		for _, t := range h.running.tasks {
			if t.id.Vertex == s.Vertex && s.MaxDrift > 0 {
				t.task.AlignTo(event.MaxTime, event.NoTime)
			}
		}
	}
}

// Settle runs the tasks until none has anything to do now.
func (h *ByHand) Settle() error {
	for worked := true; worked; {
		worked = false
		for _, s := range h.steps {
			did, err := s.Step()
			if err != nil {
				return err
			}
			worked = worked || did
		}
		did, err := h.assign()
		if err != nil {
			return err
		}
		worked = worked || did
	}
	return nil
}

// assign answers the sources' requests for splits, as far as there are any.
func (h *ByHand) assign() (did bool, err error) {
	ask := h.wanted
	h.wanted = nil
	for _, op := range ask {
		split, ok, done, _, err := h.finds.Next(context.Background(), op.Task.Vertex, op.Op, int(op.Task.Subtask))
		switch {
		case err != nil:
			return true, err
		case ok:
			did = h.running.byID[op.Task].task.AddSplits([]connector.Split{{ID: split.ID, State: split.State}}, false) || did
		case done:
			did = h.running.byID[op.Task].task.AddSplits(nil, true) || did
		default:
			h.wanted = append(h.wanted, op)
		}
	}
	return did, nil
}

// Await settles, and waits for rows that operators have under way outside, until none is.
func (h *ByHand) Await() error {
	for {
		if err := h.Settle(); err != nil {
			return err
		}
		i := slices.IndexFunc(h.steps, (*task.Stepper).UnderWay)
		if i < 0 {
			return nil
		}
		if err := h.steps[i].AwaitMail(); err != nil {
			return err
		}
	}
}

// NextTimer returns when the next callback of processing time is due, in ms; false if none is set.
func (h *ByHand) NextTimer() (at int64, ok bool) {
	for _, s := range h.steps {
		if t, set := s.NextTimer(); set && !s.Done() && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// PendingTimers returns how many timers user functions have registered.
func (h *ByHand) PendingTimers() (event, processing int) {
	for _, s := range h.steps {
		e, p := s.PendingTimers()
		event, processing = event+e, processing+p
	}
	return event, processing
}

// Done reports whether all tasks have come to their end.
func (h *ByHand) Done() bool {
	for _, s := range h.steps {
		if !s.Done() {
			return false
		}
	}
	return true
}

// Result returns the figures so far.
func (h *ByHand) Result() *Result {
	return &Result{Job: h.plan.Job.Name, Operators: figuresOf(h.plan.Job, h.running.Metrics())}
}

// Close closes all operators and returns err, or else the first error of closing.
func (h *ByHand) Close(err error) error {
	for _, s := range h.steps {
		err = s.Close(err)
	}
	if !h.closed {
		h.closed = true
		h.finds.close()
		h.launcher.close()
	}
	h.cancel()
	return err
}

// Phase implements taskmanager.Reporter.
func (h *ByHand) Phase(ids.TaskID, rpc.Phase, error) {}

// Metrics implements taskmanager.Reporter.
func (h *ByHand) Metrics(...rpc.OpMetrics) {}

// RequestSplit implements taskmanager.Reporter.
func (h *ByHand) RequestSplit(op rpc.OpRef) { h.wanted = append(h.wanted, op) }

// Progress implements taskmanager.Reporter.
func (h *ByHand) Progress(rpc.SourceProgress) {}

// Checkpoint implements taskmanager.Reporter.
func (h *ByHand) Checkpoint(rpc.Body) {}

// Side implements taskmanager.Reporter.
func (h *ByHand) Side(ctx context.Context, op rpc.OpRef, payload []byte) error {
	return h.sides.Rows(ctx, op, payload)
}
