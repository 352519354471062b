package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/expiry"
	"github.com/weir-stream/weir/internal/watermark"
	"github.com/weir-stream/weir/metric"
)

// Config is everything a task is made of.
type Config struct {
	// ID is the task's identity.
	ID ids.TaskID
	// JobID is the job's, and Events listens to its operators.
	JobID  ids.JobID
	Events events.Listener
	// Job and Vertex name the place in messages.
	Job, Vertex string
	// Parallelism is that of the vertex.
	Parallelism int
	// Ops is the chain, head first, each operator behind its producer.
	Ops []Op
	// Inbox receives the input channels; sources have one without channels, for their mails.
	Inbox *exchange.Inbox
	// Gates maps each channel of the inbox to the head's input.
	Gates []int
	// Channels says how each channel of the inbox takes part in unaligned checkpoints. nil: none of them does.
	Channels []Channel
	// BatchRows bounds the rows of a batch; 0 is the default of the row type.
	BatchRows int
	// BufferTimeout bounds how long a row waits for others; 0 flushes behind each event, and a negative one never before
	// the end.
	BufferTimeout time.Duration
	// WatermarkInterval is how often at most a source sends its watermark while rows keep coming; 0 is behind each batch.
	WatermarkInterval time.Duration
	// Clock is the processing time.
	Clock clock.Clock
	// Log is the job's logger.
	Log *slog.Logger
	// OpenState opens the keyed state backend of an operator.
	OpenState func(statebackend.Config) (statebackend.Keyed, error)
	// Checkpoints says how the task takes part in checkpoints; the zero value takes part in none.
	Checkpoints Checkpoints
	// Restore returns what the i-th operator of the chain is restored from, nil if the job starts from nothing. May be nil.
	Restore func(op int) (*OpRestore, error)
	// FS is handed to the operators.
	FS connector.FileSystem
	// Side carries payloads of an operator of the chain to the process that started the job. May be nil.
	Side func(op int, payload []byte) error
	// OnSide sees each batch for a side output before its readers do, and must copy what it keeps. With it every side
	// output counts as read. May be nil.
	OnSide func(op int, name string, b event.Batch)
	// Metrics returns where the functions of an operator of the chain measure. May be nil: they measure for UserCounts alone.
	Metrics func(op int) metric.Group
	// OnClosing is called on the task's goroutine before the operators are closed: gauges that read their fields must not be
	// read from then on. May be nil.
	OnClosing func()
	// OnSplitWanted is called on the task's goroutine when a source has nothing left to read. May be nil.
	OnSplitWanted func(op int)
	// OnProgress is called on the task's goroutine when a source's progress for watermark alignment has changed. May be nil.
	OnProgress func(op int, min int64, blocked bool)
}

// Task is one parallel instance of a vertex. Open and Run are called once, one after the other; the other methods from any
// goroutine.
type Task struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	inbox  *exchange.Inbox
	links  []*link
	source operator.Source // nil if the head reads inputs
	// outsider is the head if it has rows under way outside, or nil.
	outsider operator.Outsider
	// pressure is the source if it wants to hear of backpressure, or nil.
	pressure operator.PressureListener
	// locator is the source if it can say what it has read, or nil.
	locator operator.Locator
	place   string

	// What follows belongs to the task's goroutine.
	current   *link // the operator at work, for messages
	merger    *watermark.Merger
	inputs    []inputPhase
	open      int // input channels that have not ended
	lastEnded int // the channel that ended last
	align     aligning
	timers    timerQueue
	lastFlush int64 // processing time, ms
	dirty     bool  // something was emitted since the last flush
	now       int64 // processing time, ms, read once a turn
	waiting   bool  // a source's Wait is running
	reported  int64 // the last progress of the source that OnProgress was told, and
	blocked   bool  // whether alignment kept it from reading
	stopWait  context.CancelFunc
	// stopAt is the epoch of a stop that the task has cut: it stands still until it hears of its fate. 0 is none.
	stopAt uint64
	// over says that the chain has come to its end; finalCut is the first epoch that was cut after that.
	over     bool
	finalCut uint64
	// leave ends the task: an epoch is complete that was its last.
	leave  bool
	replay replay

	outputs []*exchange.Output

	waiters sync.WaitGroup
	started atomic.Int64 // ns, 0 before Run
	stopped atomic.Int64 // ns, 0 before the end
	ended   atomic.Bool
	// phase is opened once, by Open or Run.
	phase phase
	// alignedFor is how long the last alignment took, startDelay how long its epoch had been on the way, cutFor how long the task
	// stood still for it, in ns.
	alignedFor, startDelay, cutFor atomic.Int64
	// canceled says that somebody wants the end, so that what fails from then on is no failure.
	canceled atomic.Bool
}

// phase is how far a task has come.
type phase uint8

const (
	phaseNew phase = iota
	phaseOpen
	phaseFailed
)

// inputPhase counts the open channels of one input.
type inputPhase struct{ open int }

// New wires a task up. Nothing runs and no operator is made yet.
func New(cfg Config) *Task {
	t := &Task{cfg: cfg, inbox: cfg.Inbox, reported: event.NoTime, place: operator.Place(cfg.Vertex, int(cfg.ID.Subtask), cfg.Parallelism)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.links = make([]*link, len(cfg.Ops))
	for i, op := range cfg.Ops {
		t.links[i] = &link{t: t, at: i, name: op.Name, counts: newCounts(), metrics: newUserMetrics(cfg.groupOf(i)), lastTime: event.NoTime}
	}
	for i, op := range cfg.Ops {
		t.links[i].wire(op)
	}
	for ch := range cfg.Gates {
		if !t.captures(ch) {
			t.inbox.KeepOrder(ch)
		}
	}
	return t
}

// captures reports whether the rows of a channel can be part of a snapshot.
func (t *Task) captures(ch int) bool {
	c := t.cfg.Channels
	return ch < len(c) && c[ch].Route != RouteNone && c[ch].Codec != nil
}

func newCounts() *operator.Counts {
	c := &operator.Counts{}
	c.WatermarkIn.Store(event.NoTime)
	c.WatermarkOut.Store(event.NoTime)
	return c
}

func (l *link) wire(op Op) {
	for _, n := range op.Next {
		l.put(target{side: n.Side, next: l.t.links[n.To], makeHash: n.Hash})
	}
	for _, o := range op.Outputs {
		l.t.outputs = append(l.t.outputs, o.To)
		l.put(target{side: o.Side, out: o.To, makeHash: o.Hash})
	}
}

func (l *link) put(g target) {
	if g.side == "" {
		l.main = append(l.main, g)
	} else {
		l.sides = append(l.sides, g)
	}
}

// Counts returns the counters of the chain's operators, head first.
func (t *Task) Counts() []*operator.Counts {
	out := make([]*operator.Counts, len(t.links))
	for i, l := range t.links {
		out[i] = l.counts
	}
	return out
}

// Open makes and opens the operators and restores their state, so that whatever is refused is refused before anything runs.
// It blocks for user code and for the reading of state. If it fails, everything has been closed. Once it has succeeded, Run
// must be called, also after Cancel: it closes the operators then. Operators emit nothing yet, since nobody takes it.
func (t *Task) Open() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = t.panicked(p)
		}
		if err != nil {
			t.phase = phaseFailed
			err = t.close(t.afterCancel(err))
		}
	}()
	if err := t.openChain(); err != nil {
		return err
	}
	t.phase = phaseOpen
	return nil
}

// Run runs the task to its end, and opens it before if Open was not called. It returns nil if its input ended or a stop is
// complete, errs.Canceled after Cancel, or the error that ended it.
func (t *Task) Run() (err error) {
	t.started.Store(t.cfg.Clock.Now().UnixNano())
	if t.phase == phaseNew {
		if err := t.Open(); err != nil {
			return err
		}
	}
	if t.phase == phaseFailed {
		return errs.New(errs.CodeBug, errs.ClassBug, t.place, "run although it could not be opened")
	}
	defer func() {
		if p := recover(); p != nil {
			err = t.panicked(p)
		}
		err = t.close(t.located(t.afterCancel(err)))
	}()
	if t.canceled.Load() {
		return errs.Canceled
	}
	if t.stopAt = t.cfg.Checkpoints.Stopped; t.stopAt != 0 {
		if err := t.stand(); err != nil || t.leave {
			return err
		}
	}
	// Before the watermarks that operators in front of them say again: these are ahead of rows in flight.
	if err := t.takeChained(); err != nil {
		return err
	}
	if err := t.resume(); err != nil {
		return err
	}
	if err := t.takeReplay(); err != nil {
		return err
	}
	if t.source != nil {
		err = t.runSource()
	} else {
		err = t.runInputs()
	}
	if err != nil || t.leave {
		return err
	}
	return t.linger()
}

// afterCancel replaces what failed after Cancel: user code that was told to stop may return anything, and whoever asked
// for the end does not want to hear of a failure, least of all in front of the one that ended the job.
func (t *Task) afterCancel(err error) error {
	if err == nil || !t.canceled.Load() {
		return err
	}
	if !errs.IsCanceled(err) && !errors.Is(err, context.Canceled) {
		t.cfg.Log.Debug("failed while it was being cancelled", "task", t.place, "err", err)
	}
	return errs.Canceled
}

// openChain makes and opens the operators, consumers first, so that a producer may emit while it opens.
func (t *Task) openChain() error {
	t.now = t.millis()
	t.lastFlush = t.now
	for i := len(t.links) - 1; i >= 0; i-- {
		if t.canceled.Load() {
			return errs.Canceled
		}
		if err := t.openOne(i); err != nil {
			return err
		}
	}
	t.current = nil
	t.source, _ = t.links[0].op.(operator.Source)
	t.outsider, _ = t.links[0].op.(operator.Outsider)
	t.pressure, _ = t.links[0].op.(operator.PressureListener)
	t.locator, _ = t.links[0].op.(operator.Locator)
	if len(t.cfg.Gates) > 0 {
		t.merger = watermark.NewMerger(len(t.cfg.Gates), watermark.None)
	}
	inputs := 0
	for _, g := range t.cfg.Gates {
		inputs = max(inputs, g+1)
	}
	t.inputs = make([]inputPhase, inputs)
	for _, g := range t.cfg.Gates {
		t.inputs[g].open++
	}
	t.open = len(t.cfg.Gates)
	t.align.machine = checkpoint.NewAligner(t.cfg.Checkpoints.Mode, len(t.cfg.Gates))
	for ch := range t.cfg.Gates {
		if !t.captures(ch) {
			t.align.machine.KeepOrder(ch)
		}
	}
	for i := len(t.links) - 1; i >= 0; i-- {
		if r := t.links[i].from; r != nil {
			if err := t.prepareReplay(i, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Task) openOne(i int) error {
	l := t.links[i]
	l.ctx = t.context(i)
	t.current = l
	l.makeHashers()
	l.op = t.cfg.Ops[i].Make()
	l.flusher, _ = l.op.(operator.Flusher)
	_, l.holds = l.op.(operator.WatermarkHolder)
	if err := l.restored(); err != nil {
		return err
	}
	l.opened = true
	if err := l.op.Open(l.ctx, l); err != nil {
		return l.failed(err, "open failed")
	}
	return l.load()
}

func (t *Task) context(i int) *operator.Context {
	l := t.links[i]
	return &operator.Context{
		Ctx: t.ctx, JobID: t.cfg.JobID, Events: t.cfg.Events, Job: t.cfg.Job, Vertex: t.cfg.Vertex, Operator: l.name,
		Subtask: int(t.cfg.ID.Subtask), Parallelism: t.cfg.Parallelism, BatchRows: t.cfg.BatchRows,
		Attempt:     fmt.Sprintf("%v-%d", t.cfg.JobID, t.cfg.ID.Attempt),
		Checkpoints: t.cfg.Checkpoints.Periodic, FinalCheckpoint: t.cfg.Checkpoints.OnDrained != nil,
		Now:    func() int64 { return t.now },
		Timers: linkTimers{l}, Mailbox: mailbox{l}, Counts: l.counts, Metrics: l.metrics,
		Log:           t.cfg.Log.With("operator", l.name, "subtask", t.cfg.ID.Subtask),
		EmitWatermark: l.forward, EmitIdle: l.forwardIdle, SideWanted: l.wanted,
		OpenState:         l.openState,
		AddKeyed:          func(p operator.KeyedPart) { l.parts = append(l.parts, p) },
		WatermarkInterval: t.cfg.WatermarkInterval,
		FS:                t.cfg.FS, Clock: t.cfg.Clock, Side: t.side(i),
	}
}

func (l *link) openState(keyWidth int) (statebackend.Keyed, error) {
	if l.backend != nil {
		return nil, errs.New(errs.CodeBug, errs.ClassBug, l.ctx.Place(), "its state backend is opened twice")
	}
	c := statebackend.Config{KeyWidth: keyWidth, Groups: l.groups()}
	k, err := l.t.cfg.OpenState(c)
	if err != nil {
		return nil, err
	}
	l.backend, l.keyWidth = l.expiring(k, c), keyWidth
	return l.backend, nil
}

// expiring lets states of a backend expire, by the clock and by the operator's watermark.
func (l *link) expiring(k statebackend.Keyed, c statebackend.Config) statebackend.Keyed {
	clocks := expiry.Clocks{Processing: func() int64 { return l.t.now }, Event: l.eventTime}
	return expiry.New(k, c, clocks, func(state string) func(int64) {
		return l.metrics.Label("state", state).Counter("numExpired").Add
	})
}

// eventTime is the watermark by which state expires: the last one that was a time. The final one only says that there is
// nothing more to come, and lets nothing expire.
func (l *link) eventTime() int64 { return l.lastTime }

func (l *link) passed(watermark int64) {
	if watermark < event.MaxTime {
		l.lastTime = watermark
	}
}

func (t *Task) side(op int) func([]byte) error {
	return func(payload []byte) error {
		if t.cfg.Side == nil {
			return nil
		}
		return t.cfg.Side(op, payload)
	}
}

// close closes the operators, consumers last. The context of a task that has ended well lives until then, since the last
// rows may leave in Close; in any other case it ends first, so that nothing waits for what will not come.
func (t *Task) close(err error) error {
	t.ended.Store(true)
	if err != nil {
		t.cancel()
	}
	if t.cfg.OnClosing != nil {
		t.cfg.OnClosing()
	}
	for _, l := range t.links {
		if !l.opened {
			continue
		}
		cerr := t.afterCancel(t.closeOne(l))
		switch {
		case cerr == nil:
		case err == nil:
			err = cerr
			t.cancel()
		case !errs.IsCanceled(cerr):
			t.cfg.Log.Debug("a further failure of a task that has failed", "task", t.place, "err", cerr)
		}
	}
	t.cancel()
	t.dropReplay()
	if s := t.align.cut; s != nil {
		s.Release()
	}
	for _, o := range t.outputs {
		_ = o.Close()
	}
	_ = t.inbox.Close()
	t.waiters.Wait()
	t.stopped.Store(t.cfg.Clock.Now().UnixNano())
	return err
}

func (t *Task) closeOne(l *link) (err error) {
	t.current = l
	defer func() {
		if p := recover(); p != nil {
			err = t.panicked(p)
		}
	}()
	err = l.failed(l.op.Close(), "close failed")
	if l.ownBackend {
		if cerr := l.backend.Close(); err == nil {
			err = cerr
		}
	}
	return err
}

func (t *Task) panicked(p any) error {
	if e, ok := p.(*errs.Error); ok && e.Code == errs.CodeUserPanic {
		return e
	}
	if l := t.current; l != nil && l.ctx != nil {
		return operator.RowError(l.ctx, p, nil, nil, 0)
	}
	return errs.New(errs.CodeBug, errs.ClassBug, t.place, "panic: %v\n%s", p, debug.Stack())
}

// Times returns how the task has spent its time so far: at work, waiting for input, and waiting for room downstream.
func (t *Task) Times() (busy, idle, backpressured time.Duration) {
	from, to := t.started.Load(), t.stopped.Load()
	if from == 0 {
		return 0, 0, 0
	}
	if to == 0 {
		to = t.cfg.Clock.Now().UnixNano()
	}
	idle, backpressured = t.inbox.Times()
	return max(0, time.Duration(to-from)-idle-backpressured), idle, backpressured
}

// Cancel makes the task end as soon as the code that it is in comes back. It may be called at any time, also before Run.
func (t *Task) Cancel() {
	t.canceled.Store(true)
	t.cancel()
	t.inbox.Cancel(errs.Canceled)
}

// Post runs f on the task's goroutine; false after the task's end.
func (t *Task) Post(f func() error) bool { return !t.ended.Load() && t.inbox.Post(f) }

// AddSplits hands splits to the source at the head of the chain.
func (t *Task) AddSplits(splits []connector.Split, last bool) bool {
	return t.Post(func() error {
		if t.source == nil {
			return errs.New(errs.CodeBug, errs.ClassBug, t.place, "got splits but has no source")
		}
		t.wakeSource()
		return t.source.AddSplits(splits, last)
	})
}

// AlignTo tells the source up to which watermark it may read; see operator.Source.
func (t *Task) AlignTo(max, own int64) bool {
	return t.Post(func() error {
		if t.source == nil {
			return nil
		}
		t.wakeSource()
		return t.source.AlignTo(max, own)
	})
}

func (t *Task) millis() int64 { return t.cfg.Clock.Now().UnixMilli() }

// mailbox is what an operator posts to.
type mailbox struct{ l *link }

// Post implements operator.Mailbox.
func (m mailbox) Post(f func() error) bool {
	return m.l.t.Post(func() error {
		above := m.l.t.enter(m.l)
		err := f()
		m.l.t.current = above
		return err
	})
}

// add adds to a counter that only this goroutine writes.
func add(c *atomic.Int64, n int64) { c.Store(c.Load() + n) }

// String returns the task's place.
func (t *Task) String() string { return fmt.Sprintf("%s [%v]", t.place, t.cfg.ID) }
