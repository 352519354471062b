package task

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/testkit/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// transcript is a list of what has happened, in order.
type transcript struct {
	mu    sync.Mutex
	lines []string
}

func (t *transcript) add(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, " ")
}

// probe is an operator that passes everything on. Each of its methods calls do, if that is set, with the method's name.
type probe struct {
	name   string
	log    *transcript // nil: nothing is written
	do     func(method string) error
	ctx    *operator.Context
	out    operator.Collector
	side   string // rows are copied to this side output too
	closed int
}

func (p *probe) at(method, format string, args ...any) error {
	if p.log != nil {
		p.log.add("%s:%s"+format, append([]any{p.name, method}, args...)...)
	}
	if p.do != nil {
		return p.do(method)
	}
	return nil
}

func (p *probe) Open(ctx *operator.Context, out operator.Collector) error {
	p.ctx, p.out = ctx, out
	return p.at("open", "")
}

func (p *probe) Process(input int, b event.Batch) error {
	if err := p.at("process", "%d%s", input, rowsOf(b)); err != nil {
		b.Release()
		return err
	}
	if p.side != "" {
		c := b.New()
		b.CopyTo(c, nil)
		if err := p.out.EmitSide(p.side, c); err != nil {
			b.Release()
			return err
		}
	}
	return p.out.Emit(b)
}

func (p *probe) Watermark(t int64) error { return p.at("watermark", "%s", timeText(t)) }
func (p *probe) EndInput(i int) error    { return p.at("end", "%d", i) }
func (p *probe) Finish() error           { return p.at("finish", "") }
func (p *probe) Flush() error {
	if p.do != nil {
		return p.do("flush")
	}
	return nil
}
func (p *probe) Snapshot(c *operator.Cut) error { return p.at("snapshot", "%d", c.Barrier.Epoch) }
func (p *probe) Close() error {
	p.closed++
	return p.at("close", "")
}

func timeText(t int64) string {
	if t == event.MaxTime {
		return "max"
	}
	return strconv.FormatInt(t, 10)
}

func rowsOf(b event.Batch) string {
	r := b.(*event.Records[int64])
	rows := r.Rows
	if r.Live != nil {
		rows = nil
		for _, i := range r.Live {
			rows = append(rows, r.Rows[i])
		}
	}
	return strings.ReplaceAll(fmt.Sprint(rows), " ", ",")
}

// eventText writes an event the way that script reads it.
func eventText(ev event.Event) string {
	switch ev.Kind {
	case event.KindBatch:
		return rowsOf(ev.Batch)
	case event.KindWatermark:
		return "w" + timeText(ev.Time)
	case event.KindBarrier:
		if ev.Barrier.Unaligned {
			return fmt.Sprintf("B%d", ev.Barrier.Epoch)
		}
		return fmt.Sprintf("b%d", ev.Barrier.Epoch)
	}
	return ev.Kind.String()
}

// rig is a task between a producer for each of its channels and a consumer for each of its edges, all played by the test.
type rig struct {
	t     testing.TB
	clk   clock.Clock
	pool  *event.Pool[int64]
	task  *Task
	in    *exchange.Inbox
	sends []exchange.Sender
	outs  []*exchange.Inbox
	done  chan error
	// depth is the depth of the task's queues, room that of its consumers'.
	depth, room int
}

func newRig(t testing.TB) *rig {
	return &rig{t: t, clk: clock.Real{}, pool: event.NewPool[int64](16), done: make(chan error, 1), depth: 1, room: 1 << 10}
}

func (r *rig) inbox(name string, channels, depth int) *exchange.Inbox {
	in := exchange.NewInbox(exchange.Config{Name: name, Channels: channels, Depth: depth,
		Now:       func() int64 { return r.clk.Now().UnixNano() },
		AfterFunc: func(d time.Duration, f func()) exchange.Timer { return r.clk.AfterFunc(d, f) }})
	r.t.Cleanup(func() { _ = in.Close() })
	return in
}

// edge makes an edge out of the task, to one consumer.
func (r *rig) edge(side string) Output {
	to := r.inbox("consumer", 1, r.room)
	r.outs = append(r.outs, to)
	return Output{To: exchange.NewOutput("edge", exchange.Forward(), []exchange.Sender{to.Sender(0, r.in)}), Side: side}
}

// build makes the task. gates are its channels' inputs; change may be nil. Edges are to be made before, by edge.
func (r *rig) build(gates []int, ops []Op, change func(*Config)) *Task {
	cfg := Config{Job: "job", Vertex: "vertex", Parallelism: 1, Ops: ops, Inbox: r.in, Gates: gates, Clock: r.clk,
		Log: slog.New(slog.DiscardHandler), BufferTimeout: 10 * time.Millisecond}
	codec, err := basic.RecordsCodec[int64]()
	if err != nil {
		r.t.Fatal(err)
	}
	for range gates {
		cfg.Channels = append(cfg.Channels, Channel{Route: RouteAny, Codec: codec})
	}
	if change != nil {
		change(&cfg)
	}
	r.task = New(cfg)
	return r.task
}

// open makes the task's inbox, and a producer for each channel.
func (r *rig) open(channels int) {
	r.in = r.inbox("task", channels, r.depth)
	for ch := range channels {
		r.sends = append(r.sends, r.in.Sender(ch, r.inbox("producer", 0, 1)))
	}
}

// send sends a script on a channel: numbers are batches of one row, "7@5" is one with a time, "w5" is a watermark, "b1" a barrier, "B1" an unaligned one.
func (r *rig) send(ch int, script string) {
	for _, word := range strings.Fields(script) {
		ev := r.event(word)
		if err := r.sends[ch].Force(ev); err != nil {
			r.t.Fatalf("send %s: %v", word, err)
		}
	}
}

func (r *rig) event(word string) event.Event {
	number := func(s string) int64 {
		if s == "max" {
			return event.MaxTime
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			r.t.Fatalf("%q is no event", word)
		}
		return n
	}
	switch {
	case word == "idle":
		return event.Idle()
	case word == "active":
		return event.Active()
	case word == "end":
		return event.End()
	case word[0] == 'w':
		return event.Watermark(number(word[1:]))
	case word[0] == 'b':
		return event.OfBarrier(event.Barrier{Epoch: uint64(number(word[1:])), Purpose: event.PurposeCheckpoint})
	case word[0] == 'B':
		return event.OfBarrier(event.Barrier{Epoch: uint64(number(word[1:])), Purpose: event.PurposeCheckpoint, Unaligned: true})
	}
	b := r.pool.Get()
	row, at, timed := strings.Cut(word, "@")
	t := event.NoTime
	if timed {
		t = number(at)
	}
	b.Append(number(row), t)
	return event.OfBatch(b)
}

// got returns what has come out of an edge since the last call.
func (r *rig) got(edge int) string {
	var words []string
	for {
		item, ok, err := r.outs[edge].Poll()
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			return strings.Join(words, " ")
		}
		if item.News {
			if item.Event.Barrier.Unaligned {
				r.outs[edge].Overtake(0, item.Event.Barrier.Epoch)
			}
			continue
		}
		words = append(words, eventText(item.Event))
		if item.Event.Batch != nil {
			item.Event.Batch.Release()
		}
	}
}

// start runs the task on a goroutine of its own.
func (r *rig) start() { go func() { r.done <- r.task.Run() }() }

// wait returns what Run returned.
func (r *rig) wait() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(20 * time.Second):
		r.t.Fatal("the task does not end")
		return nil
	}
}

// made is a Maker of an operator that is there already.
func made(op operator.Operator) operator.Maker { return func() operator.Operator { return op } }

// reader is a source that steps as a test says.
type reader struct {
	probe
	step  func() (operator.SourceStatus, error)
	await func(ctx context.Context) error
	last  bool
}

func (s *reader) Step() (operator.SourceStatus, error) {
	if err := s.at("step", ""); err != nil {
		return 0, err
	}
	return s.step()
}

func (s *reader) Wait(ctx context.Context) error {
	if s.await != nil {
		return s.await(ctx)
	}
	<-ctx.Done()
	return nil
}

func (s *reader) AddSplits(splits []connector.Split, last bool) error {
	s.last = s.last || last
	return s.at("splits", "")
}
func (s *reader) AlignTo(int64, int64) error { return s.at("align", "") }
func (s *reader) Progress() (int64, bool)    { return event.MaxTime, false }
func (s *reader) WantSplit() bool            { return false }
