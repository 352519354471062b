package optest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/expiry"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/metric"
)

// Row is a row with its event time in ms.
type Row[T any] struct {
	Value T
	Time  int64
}

// At returns a row with an event time.
func At[T any](v T, ms int64) Row[T] { return Row[T]{Value: v, Time: ms} }

// Harness drives one operator. Its fields may be set before Open.
type Harness struct {
	// Op is the operator under test.
	Op operator.Operator
	// Context is what the operator is opened with.
	Context operator.Context
	// BatchRows bounds the rows of the batches that Feed makes; 0 puts all rows of a call into one, as far as they fit.
	BatchRows int
	// Watermarks collects what a WatermarkHolder emits.
	Watermarks []int64
	// Idles collects what a StatusHandler emits.
	Idles []bool
	// Payloads collects what is sent through Context.Side.
	Payloads [][]byte

	// Backend makes the keyed state; the paged backend unless a test chooses another.
	Backend func(statebackend.Config) (statebackend.Keyed, error)

	clk    *clock.Virtual
	main   []event.Batch
	side   map[string][]event.Batch
	timers []*timer
	seq    int
	mails  []func() error

	backend   statebackend.Keyed // nil until the operator opens its state
	keyWidth  int                // of its state, -1 if it has none
	parts     []operator.KeyedPart
	unread    []*Snapshot // cuts that nobody has read yet
	epoch     uint64
	watermark int64
	lastTime  int64 // the last watermark that was a time
}

type timer struct {
	at   int64
	seq  int
	f    func(int64) error
	dead bool
}

// New returns a harness for op with subtask 0 of 1, at processing time 0.
func New(op operator.Operator) *Harness {
	h := &Harness{Op: op, side: map[string][]event.Batch{}, clk: clock.NewVirtual(time.UnixMilli(0)), keyWidth: -1, watermark: event.NoTime, lastTime: event.NoTime}
	h.Backend = func(c statebackend.Config) (statebackend.Keyed, error) {
		return paged.NewBackend(c, &paged.Pool{}), nil
	}
	h.Context = operator.Context{
		Ctx: context.Background(), Job: "test", Vertex: "test", Operator: "op", Parallelism: 1,
		Counts: &operator.Counts{}, Log: slog.New(slog.DiscardHandler), Clock: h.clk, Metrics: metric.Discard(),
		Now:           func() int64 { return h.clk.Now().UnixMilli() },
		Timers:        h,
		Mailbox:       h,
		EmitWatermark: func(t int64) error { h.Watermarks = append(h.Watermarks, t); return nil },
		EmitIdle:      func(idle bool) error { h.Idles = append(h.Idles, idle); return nil },
		SideWanted:    func(string) bool { return true },
		OpenState:     h.openState,
		AddKeyed:      func(p operator.KeyedPart) { h.parts = append(h.parts, p) },
		Side:          func(p []byte) error { h.Payloads = append(h.Payloads, slices.Clone(p)); return nil },
	}
	return h
}

// Open opens the operator.
func (h *Harness) Open() error { return h.Op.Open(&h.Context, h) }

// Emit implements operator.Collector.
func (h *Harness) Emit(b event.Batch) error {
	h.main = append(h.main, b)
	return nil
}

// EmitSide implements operator.Collector.
func (h *Harness) EmitSide(name string, b event.Batch) error {
	h.side[name] = append(h.side[name], b)
	return nil
}

// At implements operator.Timers.
func (h *Harness) At(at int64, f func(int64) error) (cancel func()) {
	h.seq++
	t := &timer{at: at, seq: h.seq, f: f}
	h.timers = append(h.timers, t)
	return func() { t.dead = true }
}

// Post implements operator.Mailbox. Mails run in RunMails. It is for operators whose goroutines report back; the caller
// must know that they have.
func (h *Harness) Post(f func() error) bool {
	h.mails = append(h.mails, f)
	return true
}

// RunMails runs what has been posted.
func (h *Harness) RunMails() error {
	for len(h.mails) > 0 {
		f := h.mails[0]
		h.mails = h.mails[1:]
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (h *Harness) openState(keyWidth int) (statebackend.Keyed, error) {
	c := statebackend.Config{KeyWidth: keyWidth, Groups: h.groups()}
	b, err := h.Backend(c)
	if err != nil {
		return nil, err
	}
	clocks := expiry.Clocks{Processing: h.Context.Now, Event: func() int64 { return h.lastTime }}
	h.backend = expiry.New(b, c, clocks, func(state string) func(int64) {
		return h.Context.Metrics.Label("state", state).Counter("numExpired").Add
	})
	h.keyWidth = keyWidth
	return h.backend, nil
}

// Watermark brings event time to the operator.
func (h *Harness) Watermark(t int64) error {
	h.watermark = t
	if t < event.MaxTime {
		h.lastTime = t
	}
	return h.Op.Watermark(t)
}

// Advance moves the processing time to t (ms) and fires the timers that become due on the way, in order.
func (h *Harness) Advance(t int64) error {
	for {
		due := -1
		for i, c := range h.timers {
			if !c.dead && c.at <= t && (due < 0 || c.at < h.timers[due].at || c.at == h.timers[due].at && c.seq < h.timers[due].seq) {
				due = i
			}
		}
		if due < 0 {
			break
		}
		c := h.timers[due]
		h.timers = slices.Delete(h.timers, due, due+1)
		h.moveTo(c.at)
		if err := c.f(h.Context.Now()); err != nil {
			return err
		}
	}
	h.moveTo(t)
	return nil
}

func (h *Harness) moveTo(t int64) {
	if d := t - h.Context.Now(); d > 0 {
		h.clk.Advance(time.Duration(d) * time.Millisecond)
	}
}

// Flush makes the operator emit what it holds back.
func (h *Harness) Flush() error {
	if f, ok := h.Op.(operator.Flusher); ok {
		return f.Flush()
	}
	return nil
}

// End ends the given inputs with the final watermark, and the operator.
func (h *Harness) End(inputs int) error {
	if err := h.Watermark(event.MaxTime); err != nil {
		return err
	}
	for i := range inputs {
		if e, ok := h.Op.(operator.InputEnder); ok {
			if err := e.EndInput(i); err != nil {
				return err
			}
		}
	}
	if f, ok := h.Op.(operator.Finisher); ok {
		if err := f.Finish(); err != nil {
			return err
		}
	}
	if err := h.Flush(); err != nil {
		return err
	}
	h.readCuts()
	return h.Op.Close()
}

// Feed hands rows to an input of the operator, with the key hashes that hash fills in (nil for streams without key).
func Feed[T any](h *Harness, input int, hash operator.Hasher, rows ...Row[T]) error {
	pool := event.NewPool[T](h.BatchRows)
	for len(rows) > 0 {
		b := pool.Get()
		for len(rows) > 0 && b.Room() > 0 {
			b.Append(rows[0].Value, rows[0].Time)
			rows = rows[1:]
		}
		if hash != nil {
			hash(b)
		}
		if err := h.Op.Process(input, b); err != nil {
			return err
		}
	}
	return nil
}

// Take returns the rows of the main output since the last call.
func Take[U any](h *Harness) []Row[U] {
	if err := h.Flush(); err != nil {
		panic(fmt.Sprintf("optest: flush: %v", err))
	}
	rows := drain[U](h.main)
	h.main = nil
	return rows
}

// TakeSide returns the rows of a side output since the last call.
func TakeSide[U any](h *Harness, name string) []Row[U] {
	if err := h.Flush(); err != nil {
		panic(fmt.Sprintf("optest: flush: %v", err))
	}
	rows := drain[U](h.side[name])
	delete(h.side, name)
	return rows
}

func drain[U any](batches []event.Batch) (rows []Row[U]) {
	for _, b := range batches {
		r := b.(*event.Records[U])
		r.Compact()
		for i, v := range r.Rows {
			rows = append(rows, At(v, r.Times[i]))
		}
		r.Release()
	}
	return rows
}

// Values drops the times.
func Values[T any](rows []Row[T]) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = r.Value
	}
	return out
}

// Discard releases what has been emitted since the last call, for benchmarks.
func (h *Harness) Discard() {
	for i, b := range h.main {
		b.Release()
		h.main[i] = nil
	}
	h.main = h.main[:0]
}
