package jobmanager

import (
	"context"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobfsm"
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
	n        int // readers
	find     Enumerators
	clock    clock.Clock
	requests chan int // subtasks; at most one request of each is in it
	snaps    chan snapshotRequest
	ended    chan struct{}   // closed when run has returned
	life     context.Context // of run
	stop     context.CancelFunc
	// restored are splits that readers had before, by subtask of now.
	restored [][]rpc.Split
	// assign is called from run's goroutine.
	assign func(subtask int, splits []rpc.Split, noMore bool)

	// All that follows belongs to the master's goroutine.
	started bool
	readers []reader      // by subtask
	log     splitLog      // what was handed out besides restored
	handed  []PlacedSplit // the last that were handed out, as they were then
	given   int           // how many that are in all
}

// reader is what the master knows of the reader in one subtask.
type reader struct {
	asked   bool // it waits for an answer
	greeted bool // its first request has come
	own     bool // it goes on with splits that it had before: these are the answer to its first request
	dealt   bool // an eager source has dealt out to it, what was restored first
	over    bool // it was told that there are no more
	again   bool // it is restarted, and the enumerator is not
}

// snapshotRequest asks for the state of the enumerator. Nothing is handed out between that and the closing of gate.
type snapshotRequest struct {
	gate <-chan struct{}
	done func(state []byte, err error)
}

func newDispenser(s Source, readers int, find Enumerators, c clock.Clock) *dispenser {
	return &dispenser{source: s, n: readers, find: find, clock: c, requests: make(chan int, readers), readers: make([]reader, readers),
		snaps: make(chan snapshotRequest, snapshotsMax), ended: make(chan struct{}), restored: make([][]rpc.Split, readers)}
}

// snapshotsMax is how many snapshots of an enumerator may be asked for at a time: one for each epoch that is about to be
// triggered.
const snapshotsMax = 256

func (d *dispenser) eager() bool { return d.source.Eager || d.source.Group != "" }

// request notes that a reader has nothing left. It never blocks. The master's goroutine calls it.
func (d *dispenser) request(subtask int) {
	r := &d.readers[subtask]
	if d.eager() || r.asked {
		return
	}
	// A reader asks when it begins, before it knows of the splits that it had: these are the answer. With one more at each
	// restart its watermark would lag ever farther behind those of others.
	first := !r.greeted
	r.greeted = true
	if first && r.own {
		return
	}
	r.asked = true
	d.requests <- subtask // has room for one of each
}

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
	found := make([][]rpc.Split, d.n)
	if first {
		for subtask, splits := range d.restored {
			found[subtask] = slices.Clone(splits)
		}
	}
	for {
		s, ok, end, again, err := d.next(ctx, given%d.n)
		if err != nil {
			return given, false, 0, err
		}
		if !ok {
			done, wait = end, again
			break
		}
		found[given%d.n] = append(found[given%d.n], s)
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

// makeDispensers makes those of what is about to be deployed. A source that has readers in regions that go on keeps its own.
func (m *Master) makeDispensers() {
	if m.cfg.Enumerators == nil {
		return
	}
	for _, s := range m.job.Sources {
		key := sourceKey{int32(s.Vertex), s.Op}
		if d := m.splits[key]; d != nil && !m.whole(s) {
			for i := range d.readers {
				if m.inScope(ids.TaskID{Vertex: s.Vertex, Subtask: int32(i)}) {
					d.readers[i].greeted, d.readers[i].again = false, true
				}
			}
			continue
		}
		d := newDispenser(s, len(m.job.Placement[s.Vertex]), m.cfg.Enumerators, m.cfg.Clock)
		d.life, d.stop = context.WithCancel(m.sideLife)
		d.log.mark(m.from.Epoch)
		d.restored = m.restoredSplits(d)
		for i, splits := range d.restored {
			d.readers[i].own = len(splits) > 0
		}
		m.splits[key] = d
	}
}

// restoredSplits are what the readers of a source had, by subtask of now: with the same reader if there are as many as then,
// else evenly.
func (m *Master) restoredSplits(d *dispenser) [][]rpc.Split {
	out := make([][]rpc.Split, d.n)
	for _, r := range m.from.Sources {
		if r.Vertex != d.source.Vertex || r.Op != d.source.Op {
			continue
		}
		for i, s := range r.Splits {
			to := i % d.n
			if r.Parallelism == d.n && s.Subtask >= 0 && s.Subtask < d.n {
				to = s.Subtask
			}
			out[to] = append(out[to], s.Split)
		}
	}
	return out
}

// assignRestored hands the splits out that readers had before. An eager source that begins is given them with all others. A
// reader whose enumerator has gone on is given also what that has given to it, or was about to, since the checkpoint.
func (m *Master) assignRestored() {
	for key, d := range m.splits {
		if !d.started {
			for subtask, splits := range d.restored {
				if len(splits) > 0 && !d.eager() {
					m.assign(d, key, subtask, splits, false)
				}
			}
			continue
		}
		var restored [][]rpc.Split
		for subtask := range d.readers {
			r := &d.readers[subtask]
			if !r.again {
				continue
			}
			if restored == nil {
				restored = m.restoredSplits(d)
			}
			splits := append(restored[subtask], d.log.since(m.from.Epoch, subtask)...)
			r.again, r.own = false, len(splits) > 0
			if r.own || d.eager() {
				m.assign(d, key, subtask, splits, d.eager() && r.over)
			}
		}
	}
}

// unreached is a source of which only some readers are restarted, and of which it is not known what they were given since an
// epoch; nil if there is none.
func (m *Master) unreached(epoch ids.Epoch) *dispenser {
	for _, d := range m.splits {
		if d.started && !m.whole(d.source) && !d.log.reaches(epoch) && m.concerns(d.source) {
			return d
		}
	}
	return nil
}

// concerns reports whether a reader of a source is in the scope.
func (m *Master) concerns(s Source) bool {
	for i := range m.job.Placement[s.Vertex] {
		if m.inScope(ids.TaskID{Vertex: s.Vertex, Subtask: int32(i)}) {
			return true
		}
	}
	return false
}

// reset is what begins again: the sources, and their dispensers of before that have to come to their end first.
type reset struct {
	sources []Source
	was     []*dispenser
}

// resetting is what begins again with the regions that are restarted.
func (m *Master) resetting() (out reset) {
	for _, s := range m.job.Sources {
		if !m.whole(s) {
			continue
		}
		out.sources = append(out.sources, s)
		if d := m.splits[sourceKey{int32(s.Vertex), s.Op}]; d != nil && d.started {
			out.was = append(out.was, d)
		}
	}
	return out
}

// resetEnumerators waits until nothing asks the enumerators any more, and lets them begin again. It blocks.
func (m *Master) resetEnumerators(ctx context.Context, r reset, states []SourceRestore) error {
	if m.cfg.Enumerators == nil || len(r.sources) == 0 {
		return nil
	}
	patience := m.cfg.Clock.NewTimer(enumeratorTimeout)
	defer patience.Stop()
	for _, d := range r.was {
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
	return m.cfg.Enumerators.Reset(ctx, r.sources, out)
}

// enumeratorTimeout bounds the wait for an enumerator that works when the job is restarted.
const enumeratorTimeout = 30 * time.Second

// startSplits starts the dispensers that do not run; the tasks have been told to run.
func (m *Master) startSplits() {
	for key, d := range m.splits {
		if d.started {
			continue
		}
		ctx := d.life
		d.assign = func(subtask int, splits []rpc.Split, noMore bool) {
			m.post(func() {
				if ctx.Err() == nil {
					m.handOut(d, key, subtask, splits, noMore)
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

// handOut gives a reader what its enumerator has found for it. A reader that does not run gets it when it does.
func (m *Master) handOut(d *dispenser, key sourceKey, subtask int, splits []rpc.Split, noMore bool) {
	r := &d.readers[subtask]
	found := splits
	if d.eager() && !r.dealt {
		found = splits[len(d.restored[subtask]):]
	}
	r.dealt, r.asked, r.over = true, false, r.over || noMore
	d.log.add(subtask, found)
	if !m.stands(ids.TaskID{Vertex: d.source.Vertex, Subtask: int32(subtask)}) {
		return
	}
	m.assign(d, key, subtask, splits, noMore)
}

// stands reports whether a task was deployed, and was not told to stop since.
func (m *Master) stands(t ids.TaskID) bool {
	p := m.machine.Phase()
	return p != jobfsm.Restarting && p != jobfsm.Deploying || !m.inScope(t)
}

func (m *Master) assign(d *dispenser, key sourceKey, subtask int, splits []rpc.Split, noMore bool) {
	task := ids.TaskID{Vertex: ids.VertexID(key.vertex), Subtask: int32(subtask)}
	d.remember(subtask, splits)
	for _, s := range splits {
		m.cfg.Events.SplitAssigned(events.SplitAssigned{Job: m.job.ID, Operator: d.source.Name, Subtask: subtask, Split: s.ID})
	}
	m.send(m.job.unitOf(task), &rpc.SplitAssign{Source: rpc.OpRef{Task: m.attempt(task), Op: key.op}, Splits: splits, NoMore: noMore})
}
