package task

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/testkit/seeds"
)

// A small job whose tasks a test moves by hand: sources, windows by key with an operator chained behind, and sinks. It is killed
// and restored at other parallelisms at any moment; what its sinks have at the end is what an undisturbed run gives, which is
// computed from the input alone.

// item is a row: of the input a key, a number and a time, of the output a key, the number of rows, and the end of a window.
type item struct{ Key, N, Time int64 }

const (
	windowSize = 10
	partitions = 5
)

// input makes the rows of each partition, in ascending order of time.
func input(r *rand.Rand) (parts [][]item) {
	for range partitions {
		var rows []item
		at := int64(r.IntN(5))
		for range r.IntN(120) {
			rows = append(rows, item{Key: int64(r.IntN(9)), N: 1, Time: at})
			at += int64(r.IntN(4))
		}
		parts = append(parts, rows)
	}
	return parts
}

func windowEnd(at int64) int64 { return at/windowSize*windowSize + windowSize }

// expected is the output, sorted.
func expected(parts [][]item) []item {
	sums := map[[2]int64]int64{}
	for _, rows := range parts {
		for _, r := range rows {
			sums[[2]int64{r.Key, windowEnd(r.Time)}]++
		}
	}
	var out []item
	for k, n := range sums {
		out = append(out, item{k[0], n, k[1]})
	}
	for _, rows := range parts {
		for _, r := range rows {
			out = append(out, echo(r))
		}
	}
	return sorted(out)
}

// echo is what a row sets off at once.
func echo(r item) item { return item{r.Key, -1, r.Time} }

func sorted(rows []item) []item {
	sort.Slice(rows, func(i, j int) bool {
		a, b := rows[i], rows[j]
		return a.Key < b.Key || a.Key == b.Key && (a.Time < b.Time || a.Time == b.Time && a.N < b.N)
	})
	return rows
}

// partSource reads the partitions that are its own and remembers how far.
type partSource struct {
	ctx   *operator.Context
	out   operator.Collector
	parts [][]item
	r     *rand.Rand
	pool  *event.Pool[item]
	mine  []int
	at    map[int]int
}

func (s *partSource) Open(ctx *operator.Context, out operator.Collector) error {
	s.ctx, s.out, s.at = ctx, out, map[int]int{}
	for p := range s.parts {
		if p%ctx.Parallelism == ctx.Subtask {
			s.mine = append(s.mine, p)
		}
	}
	for _, b := range ctx.Restored.Union("at") {
		s.at[int(binary.LittleEndian.Uint64(b))] = int(binary.LittleEndian.Uint64(b[8:]))
	}
	return nil
}

func (s *partSource) Snapshot(c *operator.Cut) error {
	for _, p := range s.mine {
		b := binary.LittleEndian.AppendUint64(nil, uint64(p))
		c.Blob("at", s.ctx.Subtask, binary.LittleEndian.AppendUint64(b, uint64(s.at[p])))
	}
	return nil
}

func (s *partSource) Step() (operator.SourceStatus, error) {
	var left []int
	for _, p := range s.mine {
		if s.at[p] < len(s.parts[p]) {
			left = append(left, p)
		}
	}
	if len(left) == 0 {
		return operator.SourceFinished, nil
	}
	p := left[s.r.IntN(len(left))]
	b := s.pool.Get()
	for range 1 + s.r.IntN(6) {
		if s.at[p] < len(s.parts[p]) {
			row := s.parts[p][s.at[p]]
			b.Append(row, row.Time)
			s.at[p]++
		}
	}
	s.ctx.Counts.RowsIn.Add(1)
	if err := s.out.Emit(b); err != nil {
		return 0, err
	}
	low := event.MaxTime
	for _, p := range left {
		if i := s.at[p]; i < len(s.parts[p]) {
			low = min(low, s.parts[p][i].Time-1)
		}
	}
	if low == event.MaxTime {
		return operator.SourceReady, nil
	}
	return operator.SourceReady, s.ctx.EmitWatermark(low)
}

func (s *partSource) Process(int, event.Batch) error          { return nil }
func (s *partSource) Watermark(int64) error                   { return nil }
func (s *partSource) Close() error                            { return nil }
func (s *partSource) Wait(context.Context) error              { return nil }
func (s *partSource) AddSplits([]connector.Split, bool) error { return nil }
func (s *partSource) AlignTo(int64, int64) error              { return nil }
func (s *partSource) Progress() (int64, bool)                 { return event.MaxTime, false }
func (s *partSource) WantSplit() bool                         { return false }

// windows counts rows by key and window in the backend. It holds its last rows back until it is flushed.
type windows struct {
	ctx   *operator.Context
	out   operator.Collector
	pool  *event.Pool[item]
	state statebackend.Value
	wm    int64
	held  *event.Records[item]
}

func (w *windows) Open(ctx *operator.Context, out operator.Collector) error {
	w.ctx, w.out, w.wm = ctx, out, event.NoTime
	k, err := ctx.OpenState(8)
	if err != nil {
		return err
	}
	w.state, err = k.Value(statebackend.Descriptor{Name: "counts", Kind: statebackend.KindValue, Width: 8, NamespaceWidth: 8})
	return err
}

func (w *windows) AfterRestore() error {
	w.wm = w.ctx.Restored.Watermark
	return nil
}

func (w *windows) Process(_ int, b event.Batch) error {
	r := b.(*event.Records[item])
	for i, row := range r.Rows {
		end := windowEnd(row.Time)
		if end-1 <= w.wm {
			return fmt.Errorf("%+v is late: the watermark is %d", row, w.wm)
		}
		if !keygroup.RangeOf(w.ctx.Subtask, w.ctx.Parallelism).ContainsHash(r.Hash[i]) {
			return fmt.Errorf("%+v belongs to another subtask", row)
		}
		p, _ := w.state.Ref(keyOf(row.Key), binary.LittleEndian.AppendUint64(nil, uint64(end)))
		*(*int64)(p)++
		if err := w.emit(echo(row), row.Time); err != nil {
			return err
		}
	}
	b.Release()
	return nil
}

func (w *windows) emit(row item, at int64) error {
	if w.held != nil && w.held.Room() == 0 {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if w.held == nil {
		w.held = w.pool.Get()
	}
	w.held.Append(row, at)
	return nil
}

func (w *windows) Watermark(t int64) error {
	if t <= w.wm {
		return fmt.Errorf("watermark %d after %d", t, w.wm)
	}
	w.wm = t
	var due []item
	w.state.All(func(k statebackend.Key, ns, value []byte) bool {
		if end := int64(binary.LittleEndian.Uint64(ns)); end-1 <= t {
			due = append(due, item{int64(binary.LittleEndian.Uint64(k.Bytes)), int64(binary.LittleEndian.Uint64(value)), end})
		}
		return true
	})
	for _, d := range sorted(due) {
		w.state.Clear(keyOf(d.Key), binary.LittleEndian.AppendUint64(nil, uint64(d.Time)))
		if err := w.emit(d, d.Time-1); err != nil {
			return err
		}
	}
	return nil
}

func (w *windows) Flush() error {
	b := w.held
	if w.held = nil; b == nil {
		return nil
	}
	return w.out.Emit(b)
}

func (w *windows) Close() error {
	if w.held != nil {
		w.held.Release()
		w.held = nil
	}
	return nil
}

// numbered passes rows on and counts them, which its state must agree with.
type numbered struct {
	out  operator.Collector
	ctx  *operator.Context
	seen int64
}

func (n *numbered) Open(ctx *operator.Context, out operator.Collector) error {
	n.ctx, n.out = ctx, out
	for _, b := range ctx.Restored.Even("seen", ctx.Subtask, ctx.Parallelism) {
		n.seen += int64(binary.LittleEndian.Uint64(b))
	}
	return nil
}
func (n *numbered) Process(_ int, b event.Batch) error {
	n.seen += int64(b.Len())
	return n.out.Emit(b)
}
func (n *numbered) Watermark(int64) error { return nil }
func (n *numbered) Close() error          { return nil }
func (n *numbered) Snapshot(c *operator.Cut) error {
	c.Blob("seen", n.ctx.Subtask, binary.LittleEndian.AppendUint64(nil, uint64(n.seen)))
	return nil
}

// rowSink keeps what it gets as a list, which a restore deals out.
type rowSink struct {
	ctx  *operator.Context
	rows []item
}

func (s *rowSink) Open(ctx *operator.Context, _ operator.Collector) error {
	s.ctx = ctx
	for _, b := range ctx.Restored.Even("rows", ctx.Subtask, ctx.Parallelism) {
		word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
		s.rows = append(s.rows, item{word(0), word(1), word(2)})
	}
	return nil
}
func (s *rowSink) Process(_ int, b event.Batch) error {
	s.rows = append(s.rows, b.(*event.Records[item]).Rows...)
	b.Release()
	return nil
}
func (s *rowSink) Watermark(int64) error { return nil }
func (s *rowSink) Close() error          { return nil }
func (s *rowSink) Snapshot(c *operator.Cut) error {
	for _, r := range s.rows {
		b := binary.LittleEndian.AppendUint64(nil, uint64(r.Key))
		b = binary.LittleEndian.AppendUint64(b, uint64(r.N))
		c.Blob("rows", s.ctx.Subtask, binary.LittleEndian.AppendUint64(b, uint64(r.Time)))
	}
	return nil
}

// mini is the job.
type mini struct {
	t     *testing.T
	r     *rand.Rand
	clk   *clock.Virtual
	parts [][]item
	pool  *event.Pool[item]
	edges [2]string // "keyed", and "any" or "ordered"
	stage [3][]*miniTask
	epoch uint64
	// what the checkpoints in storage hold
	done []*saved
	// the epoch under way
	pending *saved
	waiting map[*miniTask]bool
	stat    map[string]int
}

type miniTask struct {
	m       *mini
	stage   int
	sub     int
	s       *Stepper
	task    *Task
	in      *exchange.Inbox
	to      []*exchange.Inbox
	sink    *rowSink
	drained bool
	gone    *part // what a task that is gone has left
	asked   map[uint64]bool
}

// part is a task's part of a checkpoint.
type part struct {
	ops      []savedOp
	inflight []Inflight
	final    bool
}

type saved struct {
	epoch   uint64
	barrier event.Barrier
	parts   [3][]*part
}

func (m *mini) saver(x *miniTask) Checkpoints {
	return Checkpoints{
		OnSnapshot: func(s *Snapshot) {
			p := m.keep(x, s)
			if m.pending == nil || m.pending.epoch != s.Barrier.Epoch {
				return
			}
			m.pending.parts[x.stage][x.sub] = p
			delete(m.waiting, x)
			m.complete()
		},
		OnDeclined: func(uint64, error) { m.t.Error("declined") },
		OnDrained: func() {
			x.drained = true
			m.trigger()
		},
	}
}

// keep copies a snapshot, as an upload would.
func (m *mini) keep(x *miniTask, s *Snapshot) *part {
	var sv saver
	sv.saved = map[uint64][]savedOp{}
	p := &part{inflight: s.Inflight, final: s.Final}
	for _, in := range s.Inflight {
		m.stat["frames in flight"] += len(in.Batches)
	}
	sv.take(s)
	p.ops = sv.saved[s.Barrier.Epoch]
	return p
}

func (m *mini) complete() {
	if len(m.waiting) > 0 {
		return
	}
	c := m.pending
	m.pending = nil
	m.done = append(m.done, c)
	m.stat["complete"]++
	for _, st := range m.stage {
		for _, x := range st {
			x.task.Complete(c.epoch, false)
		}
	}
}

// begin starts an epoch.
func (m *mini) begin(mode string) {
	m.epoch++
	m.pending = &saved{epoch: m.epoch, barrier: event.Barrier{Epoch: m.epoch, Purpose: event.PurposeCheckpoint}}
	switch mode {
	case "unaligned":
		m.pending.barrier.Unaligned = true
	case "timeout":
		m.pending.barrier.SwitchAt = time.Duration(m.clk.Now().UnixNano()) + time.Duration(1+m.r.IntN(30))*time.Millisecond
	}
	m.waiting = map[*miniTask]bool{}
	for i, st := range m.stage {
		m.pending.parts[i] = make([]*part, len(st))
		for _, x := range st {
			if x.gone != nil {
				m.pending.parts[i][x.sub] = x.gone
			} else {
				m.waiting[x] = true
			}
		}
	}
	m.trigger()
}

// trigger sends the epoch under way to the tasks that have nothing in front of them but ends.
func (m *mini) trigger() {
	if m.pending == nil {
		return
	}
	live := true
	for _, st := range m.stage {
		for _, x := range st {
			if x.gone == nil && live && !x.asked[m.pending.epoch] {
				x.asked[m.pending.epoch] = true
				x.task.Trigger(m.pending.barrier, false, m.pending.barrier.SwitchAt)
			}
		}
		live = live && !slices.ContainsFunc(st, func(x *miniTask) bool { return !x.drained })
	}
}

func (m *mini) abort() {
	if m.pending == nil {
		return
	}
	e := m.pending.epoch
	m.pending = nil
	m.stat["aborted"]++
	for _, st := range m.stage {
		for _, x := range st {
			x.task.Abort(e)
		}
	}
}

const miniDepth, miniFull = 24, 3

// deploy makes the tasks, restored from c if it is not nil.
func (m *mini) deploy(ps [3]int, c *saved) {
	m.stage = [3][]*miniTask{}
	m.pending = nil
	for st, p := range ps {
		for sub := range p {
			x := &miniTask{m: m, stage: st, sub: sub, asked: map[uint64]bool{}}
			channels := 0
			if st > 0 {
				channels = ps[st-1]
			}
			x.in = exchange.NewInbox(exchange.Config{Name: fmt.Sprint(st, "/", sub), Channels: channels, Depth: miniDepth,
				Now: func() int64 { return m.clk.Now().UnixNano() }})
			m.stage[st] = append(m.stage[st], x)
		}
	}
	for st := range m.stage {
		for _, x := range m.stage[st] {
			m.make(x, c)
		}
	}
	for st := 2; st >= 0; st-- {
		for _, x := range m.stage[st] {
			if err := x.s.Open(); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

func (m *mini) make(x *miniTask, c *saved) {
	st, p := x.stage, len(m.stage[x.stage])
	cfg := Config{ID: ids.TaskID{Vertex: ids.VertexID(st), Subtask: int32(x.sub)}, Vertex: fmt.Sprint("v", st), Parallelism: p, Inbox: x.in,
		Clock: m.clk, Log: slog.New(slog.DiscardHandler), BufferTimeout: -1, OpenState: openModel, Checkpoints: m.saver(x)}
	if m.r.IntN(2) == 0 {
		cfg.BufferTimeout = 0
	}
	hash := func() operator.Hasher {
		return func(b event.Batch) {
			r := b.(*event.Records[item])
			r.Hash = r.Hash[:0]
			for _, row := range r.Rows {
				r.Hash = append(r.Hash, keyOf(row.Key).Hash)
			}
		}
	}
	var outs []Output
	if st < 2 {
		var senders []exchange.Sender
		for _, y := range m.stage[st+1] {
			senders = append(senders, y.in.Sender(x.sub, x.in))
			x.to = append(x.to, y.in)
		}
		if st == 0 {
			outs = []Output{{To: exchange.NewOutput("e0", exchange.Keyed(), senders), Hash: hash}}
		} else {
			outs = []Output{{To: exchange.NewOutput("e1", exchange.Rebalance(x.sub), senders)}}
		}
	}
	switch st {
	case 0:
		cfg.Ops = []Op{{Name: "source", Outputs: outs, Make: made(&partSource{parts: m.parts, r: m.r, pool: m.pool})}}
	case 1:
		cfg.Ops = []Op{{Name: "windows", Make: made(&windows{pool: m.pool}), Next: []Next{{To: 1}}},
			{Name: "numbered", Make: made(&numbered{}), Outputs: outs}}
	case 2:
		x.sink = &rowSink{}
		cfg.Ops = []Op{{Name: "sink", Make: made(x.sink)}}
	}
	if st > 0 {
		codec, err := basic.RecordsCodec[item]()
		if err != nil {
			m.t.Fatal(err)
		}
		for range m.stage[st-1] {
			cfg.Gates = append(cfg.Gates, 0)
			route := map[string]Route{"keyed": RouteKeyed, "any": RouteAny}[m.edges[st-1]]
			cfg.Channels = append(cfg.Channels, Channel{Route: route, Codec: codec})
		}
	}
	if c != nil {
		cfg.Restore = func(op int) (*OpRestore, error) { return m.restore(c, x, op), nil }
	}
	x.task = New(cfg)
	x.s = x.task.Stepper()
}

// restore gives a task its share of a checkpoint, as storage does.
func (m *mini) restore(c *saved, x *miniTask, op int) *OpRestore {
	parts := c.parts[x.stage]
	out := &OpRestore{Restored: &operator.Restored{Epoch: c.epoch, Watermark: event.MaxTime, Parallelism: len(parts)}}
	same := len(parts) == len(m.stage[x.stage])
	for sub, p := range parts {
		o := p.ops[op]
		if !p.final {
			out.Restored.Watermark = min(out.Restored.Watermark, o.restored.Watermark)
		}
		out.Restored.Blobs = append(out.Restored.Blobs, o.restored.Blobs...)
		out.States, out.KeyWidth = o.states, o.width
		if op == 0 && (!same || sub == x.sub) {
			out.Inflight = append(out.Inflight, p.inflight...)
		}
	}
	out.Load = func(groups keygroup.Range, sinks map[string]transfer.Sink, other func(*snapshot.State) (transfer.Sink, error)) error {
		for _, p := range parts {
			for name, entries := range p.ops[op].entries {
				for _, e := range entries {
					if !groups.Contains(e.Group()) {
						continue
					}
					if err := sinks[name](&e); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	return out
}

func (m *mini) kill() {
	for _, st := range m.stage {
		for _, x := range st {
			if err := x.s.Close(errs.Canceled); err != nil && !errs.IsCanceled(err) {
				m.t.Fatal(err)
			}
		}
	}
}

// full says that the task's outputs have no room: it takes no input then, but hears of barriers and mails.
func (x *miniTask) full() bool {
	for _, in := range x.to {
		if in.Queued(x.sub) >= miniFull {
			return true
		}
	}
	return false
}

func (x *miniTask) step() (worked bool) {
	if x.gone != nil {
		return false
	}
	var err error
	if x.full() {
		x.m.stat["backpressured"]++
		worked = x.in.HasMail()
		x.task.now = x.task.millis()
		if err = x.task.passed(); err == nil {
			err = x.task.drainMail()
		}
	} else {
		worked, err = x.s.Step()
	}
	if err != nil {
		x.m.t.Fatalf("task %d/%d: %v", x.stage, x.sub, err)
	}
	if x.s.Done() {
		last := x.m.done[len(x.m.done)-1]
		x.gone = last.parts[x.stage][x.sub]
		x.drained = true
		x.m.trigger()
	}
	return worked
}

func TestKilledAndRestored(t *testing.T) {
	total := map[string]int{}
	for _, mode := range []string{"aligned", "unaligned", "timeout"} {
		for _, second := range []string{"any", "ordered"} {
			t.Run(mode+", "+second, func(t *testing.T) {
				seeds.Run(t, 30, func(t *testing.T, r *rand.Rand) { killAndRestore(t, r, mode, second, total) })
			})
		}
	}
	t.Log(total)
	for _, what := range []string{"complete", "aborted", "killed", "backpressured", "frames in flight"} {
		if total[what] == 0 {
			t.Errorf("nothing was ever %s: the test tests nothing", what)
		}
	}
}

func killAndRestore(t *testing.T, r *rand.Rand, mode, second string, stat map[string]int) {
	m := &mini{t: t, r: r, clk: clock.NewVirtual(time.UnixMilli(1000)), parts: input(r), pool: event.NewPool[item](16), stat: stat, edges: [2]string{"keyed", second}}
	parallelism := func() (ps [3]int) {
		for i := range ps {
			ps[i] = []int{1, 2, 3, 4, 7}[r.IntN(5)]
		}
		return ps
	}
	m.deploy(parallelism(), nil)
	kills, slow := r.IntN(8), r.IntN(4) // a slow stage is rarely moved
	pause := 0
	for steps := 0; ; steps++ {
		if steps > 500_000 {
			for _, st := range m.stage {
				for _, x := range st {
					b, n := x.in.Lengths()
					t.Logf("task %d/%d: over %v, open %d, drained %v, gone %v, full %v, %d batches and %d mails, av %v", x.stage, x.sub, x.task.over, x.task.open, x.drained, x.gone != nil, x.full(), b, n, x.in.Available())
				}
			}
			t.Fatalf("it does not come to an end: pending %+v", m.pending)
		}
		all := slices.Concat(m.stage[0], m.stage[1], m.stage[2])
		if !slices.ContainsFunc(all, func(x *miniTask) bool { return x.gone == nil }) {
			break
		}
		if r.IntN(8) == 0 {
			m.clk.Advance(time.Millisecond)
		}
		if m.pending != nil {
			pause = steps + 50*len(all) // checkpoints without a pause would leave a slow task no time for rows
		}
		switch n := r.IntN(1000); {
		case n < 4 && kills > 0:
			kills--
			stat["killed"]++
			m.kill()
			var from *saved
			if len(m.done) > 0 && r.IntN(8) > 0 {
				from = m.done[r.IntN(len(m.done))]
			}
			m.deploy(parallelism(), from)
			if r.IntN(2) == 0 {
				m.begin(mode) // which meets what was in flight
			}
		case n < 30 && m.pending == nil && steps > pause:
			m.begin(mode)
		case n == 20:
			m.abort()
		default:
			x := all[r.IntN(len(all))]
			if x.stage == slow && r.IntN(5) > 0 {
				continue
			}
			x.step()
		}
	}
	m.check()
}

// difference says of which rows there are how many more in a than in b.
func difference(a, b []item) map[item]int {
	d := map[item]int{}
	for _, r := range a {
		d[r]++
	}
	for _, r := range b {
		d[r]--
	}
	maps.DeleteFunc(d, func(_ item, n int) bool { return n == 0 })
	return d
}

// check compares what the sinks have with what is expected, and ends the job.
func (m *mini) check() {
	m.t.Helper()
	var got []item
	for _, x := range m.stage[2] {
		got = append(got, x.sink.rows...)
	}
	for at, d := range difference(sorted(got), expected(m.parts)) {
		m.t.Errorf("%+v came %+d times as against what is right", at, d)
	}
	if m.t.Failed() {
		m.t.FailNow()
	}
	var seen int64
	for _, x := range m.stage[1] {
		seen += x.task.links[1].op.(*numbered).seen
	}
	if seen != int64(len(got)) {
		m.t.Errorf("%d rows were numbered, %d came out", seen, len(got))
	}
	m.kill()
}

// Unaligned checkpoints with rows in flight on both edges, restored at 7 and then at 2.
func TestRescaleWithRowsInFlight(t *testing.T) {
	seeds.Run(t, 20, func(t *testing.T, r *rand.Rand) {
		stat := map[string]int{}
		m := &mini{t: t, r: r, clk: clock.NewVirtual(time.UnixMilli(1000)), parts: input(r), pool: event.NewPool[item](16), stat: stat, edges: [2]string{"keyed", "any"}}
		for i := range m.parts {
			for len(m.parts[i]) < 100 {
				m.parts[i] = append(m.parts[i], item{Key: int64(r.IntN(9)), N: 1, Time: 1000 + int64(len(m.parts[i]))})
			}
		}
		var from *saved
		for _, p := range []int{3, 7} {
			m.deploy([3]int{p, p, p}, from)
			for steps := 0; stat["frames in flight"] == 0; steps++ {
				if steps > 100 {
					t.Fatalf("no rows in flight at %d: %v", p, stat)
				}
				for range 30 * p { // the later a stage, the slower it is
					st := []int{0, 0, 0, 0, 0, 0, 1, 1, 2}[r.IntN(9)]
					m.stage[st][r.IntN(p)].step()
				}
				m.begin("unaligned")
				for range 100_000 {
					if m.pending == nil {
						break
					}
					st := r.IntN(3)
					x := m.stage[st][r.IntN(p)]
					x.task.now = x.task.millis() // no row is taken for the sake of the checkpoint
					if err := x.task.drainMail(); err != nil {
						t.Fatal(err)
					}
				}
				if m.pending != nil {
					t.Fatal("the checkpoint waits for rows")
				}
			}
			t.Logf("at %d: %d frames in flight", p, stat["frames in flight"])
			stat["frames in flight"] = 0
			m.kill()
			from = m.done[len(m.done)-1]
		}
		m.deploy([3]int{2, 2, 2}, from)
		for steps := 0; ; steps++ {
			all := slices.Concat(m.stage[0], m.stage[1], m.stage[2])
			if !slices.ContainsFunc(all, func(x *miniTask) bool { return x.gone == nil }) {
				break
			}
			if steps > 100_000 {
				t.Fatal("it does not come to an end")
			}
			if m.pending == nil && !slices.ContainsFunc(all, func(x *miniTask) bool { return !x.drained }) {
				m.begin("unaligned")
			}
			all[r.IntN(len(all))].step()
		}
		m.check()
	})
}
