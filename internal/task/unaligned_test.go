package task

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
)

// byHand opens the task and returns a function that moves it until there is nothing to do.
func (r *rig) byHand(t *testing.T) (s *Stepper, settle func()) {
	s = r.task.Stepper()
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(errs.Canceled) })
	return s, func() {
		t.Helper()
		for range 1000 {
			worked, err := s.Step()
			if err != nil {
				t.Fatal(err)
			}
			if !worked {
				return
			}
		}
		t.Fatal("it does not settle")
	}
}

// P25: what is late is the same after a restore, wherever the cut was: here the watermarks that make rows late are in flight.
func TestLateRowsAfterARestore(t *testing.T) {
	// ch0 is far ahead before the cut; then watermarks of ch1 are in flight, and the lower one counts.
	before := [2]string{"w50", "1@1 w3"}
	over := [2]string{"9@60", "2@7 w5 3@4 w9 4@8 5@10"}
	after := [2]string{"10@61 end", "6@6 7@11 end"}
	want := []int64{3, 4, 6} // by hand
	for _, cut := range []string{"none", "b1", "B1"} {
		t.Run(cut, func(t *testing.T) {
			var s, s2 saver
			c := &counter{probe: probe{name: "a"}}
			r := checkpointed(t, 2, &s, nil, 0, Op{Name: "a", Make: made(c)})
			_, settle := r.byHand(t)
			send := func(what [2]string) {
				for ch, script := range what {
					r.send(ch, script)
				}
			}
			send(before)
			settle()
			send(over)
			if cut == "none" {
				send(after)
				settle()
				if !slices.Equal(c.late, want) {
					t.Errorf("late rows %v, want %v", c.late, want)
				}
				return
			}
			r.send(0, cut)
			r.send(1, cut)
			settle()
			late := len(c.late)
			if cut == "B1" {
				late = 0 // all of them were behind the cut
			}
			c2 := &counter{probe: probe{name: "a"}}
			r2 := checkpointed(t, 2, &s2, &s, 1, Op{Name: "a", Make: made(c2)})
			_, settle = r2.byHand(t)
			// The tasks in front say again where they were.
			r2.send(0, "w50")
			r2.send(1, "w9")
			for ch, script := range after {
				r2.send(ch, script)
			}
			settle()
			if got := append(c.late[:late:late], c2.late...); !slices.Equal(got, want) {
				t.Errorf("late rows %v, want %v", got, want)
			}
			if c2.sum != 1+2+5+7+9+10 {
				t.Errorf("the sum is %d", c2.sum)
			}
		})
	}
}

// A second cut while what was in flight at the first is still being taken holds the rest of it, and comes before newer rows.
func TestCutWhileReplaying(t *testing.T) {
	var s, s2, s3 saver
	r := checkpointed(t, 1, &s, nil, 0, Op{Name: "a", Make: made(&counter{})})
	_, settle := r.byHand(t)
	r.send(0, "1 2 w7 3 B1")
	settle()
	r = checkpointed(t, 1, &s2, &s, 1, Op{Name: "a", Make: made(&counter{})})
	st, _ := r.byHand(t)
	step := func() {
		t.Helper()
		if worked, err := st.Step(); !worked || err != nil {
			t.Fatal(worked, err)
		}
	}
	step() // the watermarks of the channels
	step() // 1
	r.send(0, "4 w8 B2 5")
	step() // the barrier
	if got := s2.log.String(); got != "snapshot2" {
		t.Fatalf("got %q", got)
	}
	c := &counter{probe: probe{name: "a", log: &transcript{}}}
	r = checkpointed(t, 1, &s3, &s2, 2, Op{Name: "a", Make: made(c)})
	_, settle = r.byHand(t)
	r.send(0, "1 2 3 4 5")
	settle()
	if got, want := r.got(0), "[2001] w7 [3001,4001] w8"; got != want { // and 1 to 5 again, which are still held back
		t.Errorf("sent %s, want %s", got, want)
	}
	if c.sum != 1+2+3+4+1+2+3+4+5 {
		t.Errorf("the sum is %d, want each of 1 to 4 once more than what came again", c.sum)
	}
	if got, want := c.log.String(), "a:open a:restored a:watermark7 a:watermark8"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// crowd is a task between a source and a consumer that takes nothing, with all queues full.
type crowd struct {
	r     *rig
	s     saver
	src   *rig
	srcS  saver
	steps *int
	sink  *exchange.Inbox
}

// newCrowd connects source, task and consumer by the form.
func newCrowd(t *testing.T, form string, clk clock.Clock) *crowd {
	c := &crowd{r: newRig(t), src: newRig(t), steps: new(int)}
	c.r.clk, c.src.clk = clk, clk
	c.r.depth = 2
	c.r.open(0)
	c.r.in = c.r.inbox("task", 1, 2)
	c.src.open(0)
	c.sink = c.r.inbox("sink", 1, 2)
	first, second := connect(t, form, c.src.in, c.r.in), connect(t, form, c.r.in, c.sink)
	src := &reader{probe: probe{name: "src"}}
	src.step = func() (operator.SourceStatus, error) {
		*c.steps++
		b := c.src.pool.Get()
		b.Append(int64(*c.steps), event.NoTime)
		return operator.SourceReady, src.out.Emit(b)
	}
	edge := func(s exchange.Sender) Output {
		return Output{To: exchange.NewOutput("edge", exchange.Rebalance(0), []exchange.Sender{s})}
	}
	c.src.build(nil, []Op{{Name: "src", Make: made(src), Outputs: []Output{edge(first)}}}, func(cfg *Config) {
		cfg.BufferTimeout = 0
		cfg.Checkpoints = c.srcS.checkpoints()
	})
	c.r.build([]int{0}, []Op{{Name: "mid", Make: made(&probe{name: "mid"}), Outputs: []Output{edge(second)}}}, func(cfg *Config) {
		cfg.BufferTimeout = 0
		cfg.Checkpoints = c.s.checkpoints()
	})
	return c
}

// connect makes a channel from one inbox to another.
func connect(t *testing.T, form string, from, to *exchange.Inbox) exchange.Sender {
	if form == "local" {
		return to.Sender(0, from)
	}
	a, b := net.Pipe()
	config := func(dialed bool) exchange.LinkConfig {
		return exchange.LinkConfig{Self: exchange.Peer{Job: "job", Generation: 1, Name: "here"}, Dialed: dialed, Rand: zeros{},
			AfterFunc: func(d time.Duration, f func()) exchange.Timer { return time.AfterFunc(d, f) }}
	}
	got := make(chan *exchange.Link, 1)
	go func() {
		l, err := exchange.NewLink(b, config(false))
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	near, err := exchange.NewLink(a, config(true))
	if err != nil {
		t.Fatal(err)
	}
	far := <-got
	t.Cleanup(func() {
		near.Abort(errs.Canceled)
		far.Abort(errs.Canceled)
		<-near.Done()
		<-far.Done()
	})
	codec, err := basic.RecordsCodec[int64]()
	if err != nil {
		t.Fatal(err)
	}
	if err := far.Receive(1, to, 0, codec); err != nil {
		t.Fatal(err)
	}
	return near.Sender(1, codec, from)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// jam runs both tasks until nothing moves any more.
func (c *crowd) jam() {
	c.src.start()
	c.r.start()
	synctest.Wait()
}

func (c *crowd) stop(t *testing.T) {
	c.src.task.Cancel()
	c.r.task.Cancel()
	if err := c.src.wait(); !errs.IsCanceled(err) {
		t.Error(err)
	}
	if err := c.r.wait(); !errs.IsCanceled(err) {
		t.Error(err)
	}
}

// Slow consumer, full queues: an unaligned checkpoint needs no room and no row to be taken.
func TestUnalignedUnderBackpressure(t *testing.T) {
	for _, form := range []string{"local", "link"} {
		for _, kind := range []string{"unaligned", "timeout", "aligned"} {
			t.Run(form+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { underBackpressure(t, form, kind) })
			})
		}
	}
}

func underBackpressure(t *testing.T, form, kind string) {
	c := newCrowd(t, form, clock.Real{})
	c.jam()
	stuck := *c.steps
	b := event.Barrier{Epoch: 1, Purpose: event.PurposeCheckpoint, Unaligned: kind == "unaligned"}
	switchAt := time.Duration(0)
	if kind == "timeout" {
		switchAt = time.Duration(time.Now().Add(time.Second).UnixNano())
	}
	c.src.task.Trigger(b, false, switchAt)
	synctest.Wait()
	if got := c.srcS.log.String(); got != "snapshot1" {
		t.Fatalf("the source: %q; backpressure must not delay its cut", got)
	}
	if got, now := c.s.log.String(), kind == "unaligned"; (got == "snapshot1") != now {
		t.Errorf("the task: %q before the deadline", got)
	}
	time.Sleep(2 * time.Second)
	if got, now := c.s.log.String(), kind != "aligned"; (got == "snapshot1") != now {
		t.Errorf("the task: %q after the deadline", got)
	}
	if *c.steps != stuck {
		t.Errorf("the source made %d steps, nobody took a row", *c.steps-stuck)
	}
	// What the snapshots hold: the source's position, the rows in flight in front of the task, and those in front of the sink.
	var rows []int64
	take := func(ahead bool) {
		for {
			it, ok, err := c.sink.Poll()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				synctest.Wait()
				if !c.sink.Available() {
					return
				}
				continue
			}
			switch {
			case it.News:
				if ahead {
					c.sink.Overtake(0, 1)
				}
			case it.Event.Kind == event.KindBarrier:
				if !ahead {
					return
				}
				for _, ev := range c.sink.Overtaken(0) {
					rows = append(rows, ev.Batch.(*event.Records[int64]).Rows...)
				}
				return
			case it.Event.Batch != nil:
				rows = append(rows, it.Event.Batch.(*event.Records[int64]).Rows...)
				it.Event.Batch.Release()
			}
		}
	}
	take(kind != "aligned")
	if kind == "aligned" {
		synctest.Wait()
		if got := c.s.log.String(); got != "snapshot1" {
			t.Errorf("the task: %q when rows are taken", got)
		}
	}
	rows = append(rows, inflightRows(t, &c.s)...)
	slices.Sort(rows)
	for i, n := range rows {
		if n != int64(i+1) {
			t.Fatalf("rows %v", rows)
		}
	}
	if len(rows) != stuck {
		t.Errorf("%d rows in the checkpoint, the source had made %d", len(rows), stuck)
	}
	c.stop(t)
}

// inflightRows restores a task from epoch 1 and returns the rows that it takes before any other.
func inflightRows(t *testing.T, s *saver) (rows []int64) {
	p := &probe{name: "again", log: &transcript{}}
	r := newRig(t)
	r.open(1)
	r.build([]int{0}, []Op{{Name: "again", Make: made(p)}}, func(c *Config) { c.Restore = s.restore(1) })
	_, settle := r.byHand(t)
	settle()
	for word := range strings.FieldsSeq(p.log.String()) {
		if text, ok := strings.CutPrefix(word, "again:process0["); ok {
			for n := range strings.SplitSeq(strings.TrimSuffix(text, "]"), ",") {
				var v int64
				fmt.Sscan(n, &v)
				rows = append(rows, v)
			}
		}
	}
	return rows
}

// The bytes in flight are bounded; beyond it the epoch is declined, and the next one is taken as if nothing had been.
func TestInflightIsBounded(t *testing.T) {
	var s saver
	r := newRig(t)
	r.open(2)
	cp := s.checkpoints()
	cp.InflightMax = 100
	r.build([]int{0, 0}, []Op{{Name: "p", Make: made(&probe{}), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.Checkpoints = cp })
	_, settle := r.byHand(t)
	r.send(0, "B1")
	settle()
	r.send(1, strings.Repeat("7 ", 30)) // its barrier does not come
	settle()
	if got := s.log.String(); got != "declined1" {
		t.Fatalf("got %q", got)
	}
	r.task.Abort(1)
	r.send(0, "B2")
	r.send(1, "B1 8 B2")
	settle()
	if got := s.log.String(); got != "declined1 givenup1 snapshot2" {
		t.Errorf("got %q", got)
	}
	if n := len(s.last.Inflight); n != 1 || len(s.last.Inflight[0].Batches) != 2 {
		t.Errorf("in flight: %v", s.last.Inflight)
	}
	if got := r.task.inbox.Queued(1); got != 0 {
		t.Errorf("%d batches left", got)
	}
}

// An epoch that is given up while channels are recorded leaves nothing behind.
func TestGivenUpWhileCapturing(t *testing.T) {
	var s saver
	r := newRig(t)
	r.open(2)
	r.build([]int{0, 0}, []Op{{Name: "p", Make: made(&probe{}), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.Checkpoints = s.checkpoints() })
	_, settle := r.byHand(t)
	r.send(0, "1 B1 2")
	r.send(1, "3")
	settle()
	r.task.Abort(1)
	r.send(1, "4 B1 5 B2")
	r.send(0, "6 B2")
	settle()
	if got := s.log.String(); got != "givenup1 snapshot2" {
		t.Errorf("got %q", got)
	}
	if got := len(s.last.Inflight[0].Batches); got != 4 { // the merger, 4, 5, and 6
		t.Errorf("%d frames in flight", got)
	}
}

// A channel that ends without the barrier does not keep an unaligned epoch waiting for the rows in front of its end.
func TestEndBehindRowsInFlight(t *testing.T) {
	var s saver
	r := newRig(t)
	r.open(2)
	p := &probe{name: "p", log: &transcript{}}
	r.build([]int{0, 0}, []Op{{Name: "p", Make: made(p), Outputs: []Output{r.edge("")}}}, func(c *Config) { c.Checkpoints = s.checkpoints() })
	st, settle := r.byHand(t)
	r.send(0, "1 end")
	r.send(1, "2 B1 3")
	for range 3 { // the news of the barrier, the barrier, and the news of the end
		if _, err := st.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.log.String(); got != "snapshot1" || p.log.String() != "p:open p:snapshot1" || len(s.last.Inflight[0].Batches) != 3 {
		t.Errorf("%s; %s", got, p.log)
	}
	settle()
	if got, want := p.log.String(), "p:open p:snapshot1 p:process0[1] p:process0[2] p:process0[3]"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A channel whose rows cannot be routed again keeps its order: nothing of it is ever in flight, and the others are read until
// its barrier comes.
func TestOrderedChannel(t *testing.T) {
	var s saver
	r := newRig(t)
	r.open(2)
	log := &transcript{}
	r.build([]int{0, 1}, []Op{{Name: "p", Make: made(&probe{name: "p", log: log}), Outputs: []Output{r.edge("")}}}, func(c *Config) {
		c.Checkpoints = s.checkpoints()
		c.Channels[1].Route = RouteNone
	})
	_, settle := r.byHand(t)
	r.send(0, "1 2 B1 3")
	r.send(1, "4")
	settle()
	r.send(1, "5 B1 6")
	settle()
	if got, want := log.String(), "p:open p:process0[1] p:process1[4] p:process0[2] p:process1[5] p:snapshot1 p:process0[3] p:process1[6]"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if s.log.String() != "snapshot1" || len(s.last.Inflight) != 0 {
		t.Errorf("%s with %v in flight", s.log.String(), s.last.Inflight)
	}
}

// Rows under way outside do not keep a barrier from being taken, an unaligned one not even when the operator is full.
func TestBarrierWithRowsOutside(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"1 b1", "snapshot1"},
		{"1 2 3 b1", ""},
		{"1 2 3 B1", "snapshot1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var s saver
			r := newRig(t)
			r.open(1)
			a := &away{probe: probe{name: "a"}, byTimer: true}
			r.build([]int{0}, []Op{{Name: "a", Make: made(a), Outputs: []Output{r.edge("")}}}, func(cfg *Config) { cfg.Checkpoints = s.checkpoints() })
			r.send(0, c.script)
			r.start()
			synctest.Wait()
			if got := s.log.String(); got != c.want || a.rows == 0 {
				t.Errorf("%s: %q with %d rows outside", c.script, got, a.rows)
			}
			r.task.Cancel()
			_ = r.wait()
		})
	}
}

// Neither a mail nor a timer runs within a cut, however long it takes.
func TestNothingRunsWithinACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s saver
		log := &transcript{}
		r := newRig(t)
		r.open(1)
		a, b := &probe{name: "a", log: log}, &probe{name: "b", log: log}
		a.do = func(method string) error {
			if method == "snapshot" {
				a.ctx.Mailbox.Post(func() error { log.add("mail"); return nil })
				a.ctx.Timers.At(0, func(int64) error { log.add("timer"); return nil })
				time.Sleep(time.Second)
				if err := a.out.Emit(r.event("8").Batch); err != nil {
					return err
				}
			}
			return nil
		}
		r.build([]int{0}, []Op{{Name: "a", Make: made(a), Next: []Next{{To: 1}}}, {Name: "b", Make: made(b), Outputs: []Output{r.edge("")}}}, func(c *Config) {
			c.Checkpoints = s.checkpoints()
			c.BufferTimeout = 0
		})
		r.send(0, "1 b1 2")
		r.start()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got, want := log.String(), "b:open a:open a:process0[1] b:process0[1] a:snapshot1 b:process0[8] b:snapshot1 timer mail a:process0[2] b:process0[2]"; got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		if got := s.last.Cut; got != time.Second {
			t.Errorf("the cut took %v", got)
		}
		r.task.Cancel()
		_ = r.wait()
	})
}

func TestAtLeastOnce(t *testing.T) {
	var s saver
	c := &counter{probe: probe{name: "a"}}
	r := checkpointed(t, 2, &s, nil, 0, Op{Name: "a", Make: made(c)})
	r.task.cfg.Checkpoints.Mode = checkpoint.AtLeastOnce
	_, settle := r.byHand(t)
	r.send(0, "1 b1 2")
	r.send(1, "3 4 5 b1 6")
	settle()
	// Row 2 lies behind the barrier of its channel and is part of the snapshot.
	if got, want := r.got(0), "[1001,3001,4001,2001,5001] b1"; got != want {
		t.Errorf("sent %s, want %s: nothing is blocked", got, want)
	}
	if c.sum != 21 || s.log.String() != "snapshot1" {
		t.Errorf("sum %d, %s", c.sum, s.log.String())
	}
}

// How long an epoch was on its way, how long it was aligned, and how long it was cut.
func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s saver
		r := newRig(t)
		r.open(2)
		p := &probe{name: "p"}
		p.do = func(method string) error {
			if method == "snapshot" {
				time.Sleep(3 * time.Second)
			}
			return nil
		}
		r.build([]int{0, 0}, []Op{{Name: "p", Make: made(p)}}, func(c *Config) { c.Checkpoints = s.checkpoints() })
		r.start()
		b := event.Barrier{Epoch: 1, Purpose: event.PurposeCheckpoint, Since: time.Duration(time.Now().UnixNano())}
		time.Sleep(5 * time.Second)
		for _, out := range r.sends {
			if err := out.Send(event.OfBarrier(b)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(7 * time.Second)
		}
		synctest.Wait()
		if got, want := []time.Duration{r.task.StartDelay(), r.task.AlignmentTime(), s.last.Aligned, s.last.Cut, r.task.SyncDuration()},
			[]time.Duration{5 * time.Second, 7 * time.Second, 7 * time.Second, 3 * time.Second, 3 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		r.task.Cancel()
		_ = r.wait()
	})
}
