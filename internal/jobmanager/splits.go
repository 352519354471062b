package jobmanager

import (
	"context"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/rpc"
)

// waitMin keeps an enumerator that names no time from being asked in a tight loop.
const waitMin = 10 * time.Millisecond

// dispenser hands out the splits of one source. Its goroutine (run) is the only one that calls the enumerator for it.
//
// A source without alignment, unless it is Eager, is served on request, so that a fast reader gets more. One with alignment is given everything
// up front, round robin: its readers have to know all splits before the slowest of them can be found. The first assignment
// then tells each reader all that is known at the beginning, even if that is nothing.
type dispenser struct {
	source   Source
	readers  int
	find     Enumerators
	clock    clock.Clock
	requests chan int // subtasks; at most one request of each is in it
	snaps    chan snapshotRequest
	ended    chan struct{} // closed when run has returned
	started  bool
	// restored are splits that readers had before, by subtask of now.
	restored [][]rpc.Split
	// assign is called from run's goroutine.
	assign func(subtask int, splits []rpc.Split, noMore bool)
	// asked and greeted (its first request has come), by subtask, and handed belong to the master's goroutine.
	asked, greeted []bool
	handed         []PlacedSplit // the last that were handed out, as they were then
	given          int           // how many that are in all
}

// snapshotRequest asks for the state of the enumerator. Nothing is handed out between that and the closing of gate.
type snapshotRequest struct {
	gate <-chan struct{}
	done func(state []byte, err error)
}

func newDispenser(s Source, readers int, find Enumerators, c clock.Clock) *dispenser {
	return &dispenser{source: s, readers: readers, find: find, clock: c, requests: make(chan int, readers), asked: make([]bool, readers), greeted: make([]bool, readers),
		snaps: make(chan snapshotRequest, snapshotsMax), ended: make(chan struct{}), restored: make([][]rpc.Split, readers)}
}

// snapshotsMax is how many snapshots of an enumerator may be asked for at a time: one for each epoch that is about to be
// triggered.
const snapshotsMax = 256

func (d *dispenser) eager() bool { return d.source.Eager || d.source.Group != "" }

// request notes that a reader has nothing left. It never blocks. The master's goroutine calls it, and answered as well.
func (d *dispenser) request(subtask int) {
	if d.eager() || d.asked[subtask] {
		return
	}
	// A reader asks when it begins, before it knows of the splits that it had: these are the answer. With one more at each
	// restart its watermark would lag ever farther behind those of others.
	first := !d.greeted[subtask]
	d.greeted[subtask] = true
	if first && len(d.restored[subtask]) > 0 {
		return
	}
	d.asked[subtask] = true
	d.requests <- subtask // has room for one of each
}

// answered notes that the request of a reader has been answered.
func (d *dispenser) answered(subtask int) { d.asked[subtask] = false }

// snapshot asks for the enumerator's state. It never blocks.
func (d *dispenser) snapshot(r snapshotRequest) {
	select {
	case d.snaps <- r:
	default:
		go r.done(nil, errs.New(errs.CodeLimit, errs.ClassFailTask, d.source.Name, "its enumerator does not answer"))
	}
}

// cut snapshots the enumerator and waits at the gate.
func (d *dispenser) cut(ctx context.Context, r snapshotRequest) {
	r.done(d.find.Snapshot(ctx, d.source.Vertex, d.source.Op))
	if planted.Is(planted.SplitTwice) {
		return
	}
	select {
	case <-r.gate:
	case <-ctx.Done():
	}
}

// run serves until ctx ends.
func (d *dispenser) run(ctx context.Context) error {
	defer close(d.ended)
	wake := d.clock.NewTimer(0)
	defer wake.Stop()
	var waiting []int // readers that ask, unless the source is eager
	given, first, done := 0, true, false
	for {
		var wait time.Duration
		var err error
		again := false
		if d.eager() && !done {
			if given, done, wait, err = d.dealOut(ctx, given, first); err != nil {
				return err
			}
			first, again = false, !done
		} else if len(waiting) > 0 {
			if waiting, wait, err = d.serve(ctx, waiting); err != nil {
				return err
			}
			again = len(waiting) > 0
		}
		if again {
			wake.Reset(max(wait, waitMin))
		}
		select {
		case r := <-d.snaps:
			d.cut(ctx, r)
		case s := <-d.requests:
			waiting = append(waiting, s)
		case <-wake.C():
		case <-ctx.Done():
			return nil
		}
	}
}

// serve answers the requests that can be answered, in the order they came, and returns the others.
func (d *dispenser) serve(ctx context.Context, waiting []int) (rest []int, wait time.Duration, err error) {
	for i, subtask := range waiting {
		s, ok, done, wait, err := d.next(ctx, subtask)
		switch {
		case err != nil:
			return nil, 0, err
		case ok:
			d.assign(subtask, []rpc.Split{s}, false)
		case done:
			d.assign(subtask, nil, true)
		default:
			return append(rest, waiting[i:]...), wait, nil
		}
	}
	return nil, 0, nil
}

// dealOut hands out all that there is now, round robin from given on.
func (d *dispenser) dealOut(ctx context.Context, given int, first bool) (now int, done bool, wait time.Duration, err error) {
	found := make([][]rpc.Split, d.readers)
	if first {
		for subtask, splits := range d.restored {
			found[subtask] = slices.Clone(splits)
		}
	}
	for {
		s, ok, end, again, err := d.next(ctx, given%d.readers)
		if err != nil {
			return given, false, 0, err
		}
		if !ok {
			done, wait = end, again
			break
		}
		found[given%d.readers] = append(found[given%d.readers], s)
		given++
	}
	for subtask, splits := range found {
		if first || done || len(splits) > 0 {
			d.assign(subtask, splits, done)
		}
	}
	return given, done, wait, nil
}

// next asks the enumerator. Its errors fail the job; those after the end of ctx do not count.
func (d *dispenser) next(ctx context.Context, subtask int) (rpc.Split, bool, bool, time.Duration, error) {
	s, ok, done, wait, err := d.find.Next(ctx, d.source.Vertex, d.source.Op, subtask)
	if err == nil {
		err = context.Cause(ctx)
	}
	return s, ok, done, wait, err
}

// makeDispensers makes those of the generation that is about to be deployed.
func (m *Master) makeDispensers() {
	clear(m.splits)
	if m.cfg.Enumerators == nil {
		return
	}
	for _, s := range m.job.Sources {
		d := newDispenser(s, len(m.job.Placement[s.Vertex]), m.cfg.Enumerators, m.cfg.Clock)
		for _, r := range m.from.Sources {
			if r.Vertex == s.Vertex && r.Op == s.Op {
				d.take(r)
			}
		}
		m.splits[sourceKey{int32(s.Vertex), s.Op}] = d
	}
}

// take places the splits that readers had: with the same reader if there are as many as then, else evenly.
func (d *dispenser) take(r SourceRestore) {
	for i, s := range r.Splits {
		to := i % d.readers
		if r.Parallelism == d.readers && s.Subtask >= 0 && s.Subtask < d.readers {
			to = s.Subtask
		}
		d.restored[to] = append(d.restored[to], s.Split)
	}
}

// assignRestored hands the splits out that readers had before. An eager source is given them with all others.
func (m *Master) assignRestored() {
	for key, d := range m.splits {
		for subtask, splits := range d.restored {
			if len(splits) > 0 && !d.eager() {
				m.assign(d, key, subtask, splits, false)
			}
		}
	}
}

// dispensers are those that run.
func (m *Master) dispensers() (out []*dispenser) {
	for _, d := range m.splits {
		if d.started {
			out = append(out, d)
		}
	}
	return out
}

// resetEnumerators waits until nothing asks the enumerators any more, and lets them begin again. It blocks.
func (m *Master) resetEnumerators(ctx context.Context, was []*dispenser, states []SourceRestore) error {
	if m.cfg.Enumerators == nil {
		return nil
	}
	patience := m.cfg.Clock.NewTimer(enumeratorTimeout)
	defer patience.Stop()
	for _, d := range was {
		select {
		case <-d.ended:
		case <-patience.C():
			return errs.New(errs.CodeTaskStuck, errs.ClassFailJob, d.source.Name, "its enumerator does not return, although its context has ended; the job cannot be restarted")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	out := make([]EnumeratorState, 0, len(states))
	for _, s := range states {
		out = append(out, s.EnumeratorState)
	}
	return m.cfg.Enumerators.Reset(ctx, out)
}

// enumeratorTimeout bounds the wait for an enumerator that works when the job is restarted.
const enumeratorTimeout = 30 * time.Second

// startSplits starts the dispensers; the tasks have been told to run.
func (m *Master) startSplits(ctx context.Context) {
	for key, d := range m.splits {
		d.assign = func(subtask int, splits []rpc.Split, noMore bool) {
			m.post(func() {
				if ctx.Err() == nil {
					m.assign(d, key, subtask, splits, noMore)
				}
			})
		}
		d.started = true
		m.foreign.Go(func() {
			if err := d.run(ctx); err != nil && ctx.Err() == nil {
				cause := err
				if errs.CodeOf(err) == "" { // else it says enough
					cause = errs.Wrap(err, errs.CodeSource, errs.ClassFailTask, m.job.operatorName(key), "its splits cannot be listed")
				}
				m.post(func() {
					if ctx.Err() == nil {
						m.fail(cause)
					}
				})
			}
		})
	}
}

func (m *Master) assign(d *dispenser, key sourceKey, subtask int, splits []rpc.Split, noMore bool) {
	d.answered(subtask)
	w := m.job.Placement[key.vertex][subtask]
	ref := rpc.OpRef{Task: ids.TaskID{Vertex: ids.VertexID(key.vertex), Subtask: int32(subtask), Attempt: m.machine.Attempt()}, Op: key.op}
	d.remember(subtask, splits)
	for _, s := range splits {
		m.cfg.Events.SplitAssigned(events.SplitAssigned{Job: m.job.ID, Operator: d.source.Name, Subtask: subtask, Split: s.ID})
	}
	m.send(m.job.Workers[w], &rpc.SplitAssign{Source: ref, Splits: splits, NoMore: noMore})
}
