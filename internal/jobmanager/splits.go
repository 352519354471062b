package jobmanager

import (
	"context"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
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
	// assign is called from run's goroutine.
	assign func(subtask int, splits []rpc.Split, noMore bool)
	asked  []bool // by subtask; belongs to the master's goroutine
}

func newDispenser(s Source, readers int, find Enumerators, c clock.Clock) *dispenser {
	return &dispenser{source: s, readers: readers, find: find, clock: c, requests: make(chan int, readers), asked: make([]bool, readers)}
}

func (d *dispenser) eager() bool { return d.source.Eager || d.source.Group != "" }

// request notes that a reader has nothing left. It never blocks. The master's goroutine calls it, and answered as well.
func (d *dispenser) request(subtask int) {
	if d.eager() || d.asked[subtask] {
		return
	}
	d.asked[subtask] = true
	d.requests <- subtask // has room for one of each
}

// answered notes that the request of a reader has been answered.
func (d *dispenser) answered(subtask int) { d.asked[subtask] = false }

// run serves until ctx ends or, with alignment, until all splits are handed out.
func (d *dispenser) run(ctx context.Context) error {
	if d.eager() {
		return d.runEager(ctx)
	}
	var waiting []int
	wake := d.clock.NewTimer(0)
	defer wake.Stop()
	for {
		if len(waiting) > 0 {
			var wait time.Duration
			var err error
			if waiting, wait, err = d.serve(ctx, waiting); err != nil {
				return err
			}
			if len(waiting) > 0 {
				wake.Reset(max(wait, waitMin))
			}
		}
		select {
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

func (d *dispenser) runEager(ctx context.Context) error {
	given, first := 0, true
	for {
		found := make([][]rpc.Split, d.readers)
		var done bool
		var wait time.Duration
		for {
			s, ok, end, again, err := d.next(ctx, given%d.readers)
			if err != nil {
				return err
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
		first = false
		if done || d.clock.Sleep(ctx, max(wait, waitMin)) != nil {
			return nil
		}
	}
}

// next asks the enumerator. Its errors fail the job; those after the end of ctx do not count.
func (d *dispenser) next(ctx context.Context, subtask int) (rpc.Split, bool, bool, time.Duration, error) {
	s, ok, done, wait, err := d.find.Next(ctx, d.source.Vertex, d.source.Op, subtask)
	if err == nil {
		err = context.Cause(ctx)
	}
	return s, ok, done, wait, err
}

// startSplits starts the dispensers; the tasks have been told to run.
func (m *Master) startSplits(ctx context.Context) {
	for key, d := range m.splits {
		d.assign = func(subtask int, splits []rpc.Split, noMore bool) {
			m.post(func() { m.assign(d, key, subtask, splits, noMore) })
		}
		m.foreign.Go(func() {
			if err := d.run(ctx); err != nil && ctx.Err() == nil {
				cause := err
				if errs.CodeOf(err) == "" { // else it says enough
					cause = errs.Wrap(err, errs.CodeSource, errs.ClassFailTask, m.job.operatorName(key), "its splits cannot be listed")
				}
				m.post(func() { m.fail(cause) })
			}
		})
	}
}

func (m *Master) assign(d *dispenser, key sourceKey, subtask int, splits []rpc.Split, noMore bool) {
	d.answered(subtask)
	w := m.job.Placement[key.vertex][subtask]
	ref := rpc.OpRef{Task: ids.TaskID{Vertex: ids.VertexID(key.vertex), Subtask: int32(subtask)}, Op: key.op}
	for _, s := range splits {
		m.cfg.Events.SplitAssigned(events.SplitAssigned{Job: m.job.ID, Operator: d.source.Name, Subtask: subtask, Split: s.ID})
	}
	m.send(m.job.Workers[w], &rpc.SplitAssign{Source: ref, Splits: splits, NoMore: noMore})
}
