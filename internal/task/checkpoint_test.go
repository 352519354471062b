package task

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/model"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// counter is an operator with every form of state: it counts its rows by value in the backend, keeps them in a keyed part of
// its own, and their sum as operator state. It emits what it has counted, and calls a row late that is not above the watermark.
type counter struct {
	probe
	width  int
	counts statebackend.Value
	part   map[int64]int64
	sum    int64
	wm     int64
	late   []int64
}

func keyOf(n int64) statebackend.Key {
	b := binary.LittleEndian.AppendUint64(nil, uint64(n))
	return statebackend.Key{Hash: uint64(n) * 0x9e3779b97f4a7c15, Bytes: b}
}

func (c *counter) Open(ctx *operator.Context, out operator.Collector) error {
	c.probe.ctx, c.probe.out = ctx, out
	c.wm = event.NoTime
	c.part = map[int64]int64{}
	if c.width == 0 {
		c.width = 8
	}
	k, err := ctx.OpenState(8)
	if err != nil {
		return err
	}
	if c.counts, err = k.Value(statebackend.Descriptor{Name: "counts", Kind: statebackend.KindValue, Width: c.width}); err != nil {
		return err
	}
	ctx.AddKeyed(operator.KeyedPart{
		State: snapshot.State{Name: "part", Kind: snapshot.KindEventTimers},
		Cut: func() (statebackend.Frozen, error) {
			f := &statebackend.Copied{}
			for n, v := range c.part {
				f.Add(keyOf(n), nil, nil, binary.LittleEndian.AppendUint64(nil, uint64(v)))
			}
			return f, nil
		},
		Load: func(e *snapshot.Entry) error {
			c.part[int64(binary.LittleEndian.Uint64(e.Key))] = int64(binary.LittleEndian.Uint64(e.Value))
			return nil
		},
	})
	return c.at("open", "")
}

func (c *counter) AfterRestore() error {
	for _, b := range c.ctx.Restored.Union("sum") {
		c.sum += int64(binary.LittleEndian.Uint64(b))
	}
	c.wm = c.ctx.Restored.Watermark
	return c.at("restored", "")
}

func (c *counter) Process(_ int, b event.Batch) error {
	r := b.(*event.Records[int64])
	out := r.New().(*event.Records[int64])
	for i, n := range r.Rows {
		if r.Times[i] != event.NoTime && r.Times[i] <= c.wm {
			c.late = append(c.late, n)
			continue
		}
		p, _ := c.counts.Ref(keyOf(n), nil)
		*(*int64)(p)++
		c.part[n]++
		c.sum += n
		if *(*int64)(p) != c.part[n] {
			return fmt.Errorf("%d in the backend, %d in the part", *(*int64)(p), c.part[n])
		}
		out.Append(n*1000+c.part[n], r.Times[i])
	}
	b.Release()
	return c.out.Emit(out)
}

func (c *counter) Watermark(t int64) error {
	c.wm = t
	return c.at("watermark", "%s", timeText(t))
}

func (c *counter) Snapshot(cut *operator.Cut) error {
	cut.Blob("sum", 0, binary.LittleEndian.AppendUint64(nil, uint64(c.sum)))
	return c.at("snapshot", "%d", cut.Barrier.Epoch)
}

func (c *counter) CheckpointComplete(epoch uint64) error { return c.at("complete", "%d", epoch) }
func (c *counter) CheckpointAborted(epoch uint64) error  { return c.at("aborted", "%d", epoch) }

// saver keeps the snapshots of a rig's task, whole, and gives them back.
type saver struct {
	log   transcript
	saved map[uint64][]savedOp
	// last is the last snapshot, without what was released.
	last *Snapshot
}

type savedOp struct {
	inflight []Inflight
	restored operator.Restored
	states   []snapshot.State
	entries  map[string][]snapshot.Entry
	width    int
}

func (s *saver) checkpoints() Checkpoints {
	s.saved = map[uint64][]savedOp{}
	return Checkpoints{
		OnSnapshot: s.take,
		OnDeclined: func(epoch uint64, err error) { s.log.add("declined%d", epoch) },
		OnGivenUp:  func(epoch uint64) { s.log.add("givenup%d", epoch) },
		OnDrained:  func() { s.log.add("drained") },
	}
}

func (s *saver) take(sn *Snapshot) {
	word := "snapshot"
	if sn.Final {
		word = "final"
	}
	s.log.add("%s%d", word, sn.Barrier.Epoch)
	var ops []savedOp
	for _, op := range sn.Ops {
		o := savedOp{width: op.KeyWidth, entries: map[string][]snapshot.Entry{}}
		o.restored = operator.Restored{Epoch: sn.Barrier.Epoch, Watermark: op.Watermark, Parallelism: 1, Blobs: slices.Clone(op.Blobs)}
		for i, p := range op.Parts {
			p.State.ID = uint32(i + 1)
			o.states = append(o.states, p.State)
			p.Data.Each(keygroup.All(), func(k statebackend.Key, ns, user, value []byte) bool {
				o.entries[p.State.Name] = append(o.entries[p.State.Name], snapshot.Entry{State: p.State.ID, Hash: k.Hash,
					Key: slices.Clone(k.Bytes), Namespace: slices.Clone(ns), UserKey: slices.Clone(user), Value: slices.Clone(value)})
				return true
			})
		}
		ops = append(ops, o)
	}
	ops[0].inflight = sn.Inflight
	s.saved[sn.Barrier.Epoch] = ops
	s.last = &Snapshot{Barrier: sn.Barrier, Inflight: sn.Inflight, Final: sn.Final, Aligned: sn.Aligned, Cut: sn.Cut}
	sn.Release()
}

// restore gives back an epoch, as storage would.
func (s *saver) restore(epoch uint64) func(op int) (*OpRestore, error) {
	return func(op int) (*OpRestore, error) {
		o := s.saved[epoch][op]
		return &OpRestore{Inflight: o.inflight, Restored: &o.restored, States: o.states, KeyWidth: o.width, Load: func(groups keygroup.Range, sinks map[string]transfer.Sink,
			other func(*snapshot.State) (transfer.Sink, error)) error {
			for i, st := range o.states {
				sink := sinks[st.Name]
				if sink == nil {
					var err error
					if sink, err = other(&o.states[i]); err != nil {
						return err
					}
				}
				for _, e := range o.entries[st.Name] {
					if !groups.Contains(e.Group()) {
						continue
					}
					if err := sink(&e); err != nil {
						return err
					}
				}
			}
			return nil
		}}, nil
	}
}

// until waits for what another goroutine will do.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

func openModel(c statebackend.Config) (statebackend.Keyed, error) { return model.New(c), nil }

// checkpointed makes a rig whose task takes part in checkpoints and starts from an epoch of from, if that is not nil.
func checkpointed(t *testing.T, channels int, s *saver, from *saver, epoch uint64, ops ...Op) *rig {
	r := newRig(t)
	r.open(channels)
	ops[len(ops)-1].Outputs = []Output{r.edge("")}
	r.build(make([]int, channels), ops, func(c *Config) {
		c.BufferTimeout = -1
		c.OpenState = openModel
		c.Checkpoints = s.checkpoints()
		if from != nil {
			c.Restore = from.restore(epoch)
		}
	})
	return r
}

func (r *rig) end(t *testing.T) {
	t.Helper()
	r.start()
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
}

func TestCutAndRestore(t *testing.T) {
	var s saver
	log := &transcript{}
	a, b := &counter{probe: probe{name: "a", log: log}}, &counter{probe: probe{name: "b"}}
	r := checkpointed(t, 2, &s, nil, 0, Op{Name: "a", Make: made(a), Next: []Next{{To: 1}}}, Op{Name: "b", Make: made(b)})
	r.send(0, "1 w5 2 b1 1 b2 end")
	r.send(1, "1 w7 b1 3 b2 end")
	r.task.Complete(1, false)
	r.task.Complete(2, true) // stops the task before it takes anything, or at any later moment
	if !r.task.Complete(2, true) {
		t.Error("a task that does not run yet refuses mail")
	}
	r.end(t)
	if got, want := log.String(), "a:open a:complete1 a:complete2 a:close"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}

	s, log = saver{}, &transcript{}
	a, b = &counter{probe: probe{name: "a", log: log}}, &counter{probe: probe{name: "b"}}
	r = checkpointed(t, 2, &s, nil, 0, Op{Name: "a", Make: made(a), Next: []Next{{To: 1}}}, Op{Name: "b", Make: made(b)})
	r.send(0, "1 w5 2 b1 1 b2 end")
	r.send(1, "1 w7 b1 3 b2 end")
	r.start()
	until(t, func() bool { return strings.HasSuffix(s.log.String(), "drained") })
	r.task.Complete(2, false) // too early for the end
	r.task.Trigger(event.Barrier{Epoch: 3, Purpose: event.PurposeCheckpoint}, false, 0)
	r.task.Trigger(event.Barrier{Epoch: 3, Purpose: event.PurposeCheckpoint}, false, 0)
	r.task.Complete(3, false)
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.log.String(), "snapshot1 snapshot2 drained final3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// a turns 1 into 1001 and 1002; b counts these.
	if got, want := r.got(0), "[1001001,1002001] w5 [2001001] b1 [3001001,1003001] b2 wmax end"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}

	// From epoch 1: the rows behind it come again.
	log = &transcript{}
	var s2 saver
	a, b = &counter{probe: probe{name: "a", log: log}}, &counter{probe: probe{name: "b", log: log}}
	r = checkpointed(t, 2, &s2, &s, 1, Op{Name: "a", Make: made(a), Next: []Next{{To: 1}}}, Op{Name: "b", Make: made(b)})
	if err := r.task.Open(); err != nil {
		t.Fatal(err)
	}
	if got, want := log.String(), "b:open b:restored a:open a:restored"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if a.sum != 4 || a.wm != 5 || b.wm != 5 {
		t.Errorf("sum %d, watermarks %d and %d; want 4, 5 and 5", a.sum, a.wm, b.wm)
	}
	r.send(0, "w4 w5 1 end")
	r.send(1, "w5 3 w6 4 end")
	r.task.Trigger(event.Barrier{Epoch: 10, Purpose: event.PurposeCheckpoint}, false, 0)
	r.start()
	until(t, func() bool { return strings.Contains(s2.log.String(), "drained") })
	r.task.Complete(10, false)
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	// Watermark 5 is said once more to those behind, and 4 and 5 never to the operators.
	if got, want := r.got(0), "w5 [1003001,3001001] w6 [4001001] wmax end"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if strings.Contains(log.String(), "watermark4") || strings.Contains(log.String(), "watermark5") {
		t.Errorf("old watermarks were heard: %s", log)
	}
}

// State that nobody opens stays in the checkpoints, whoever kept it.
func TestUnopenedStateStays(t *testing.T) {
	var s, s2, s3 saver
	r := checkpointed(t, 1, &s, nil, 0, Op{Name: "a", Make: made(&counter{})})
	r.send(0, "1 1 2 b1")
	r.start()
	until(t, func() bool { return s.log.String() == "snapshot1" })
	r.task.Cancel()
	if err := r.wait(); !errs.IsCanceled(err) {
		t.Fatal(err)
	}
	r = checkpointed(t, 1, &s2, &s, 1, Op{Name: "a", Make: made(&probe{})})
	r.send(0, "1 1 2 b2")
	r.start()
	until(t, func() bool { return s2.log.String() == "snapshot2" })
	r.task.Cancel()
	if err := r.wait(); !errs.IsCanceled(err) {
		t.Fatal(err)
	}
	r = checkpointed(t, 1, &s3, &s2, 2, Op{Name: "a", Make: made(&counter{})})
	r.send(0, "1 2 b3")
	r.start()
	until(t, func() bool { return s3.log.String() == "snapshot3" })
	r.task.Cancel()
	if err := r.wait(); !errs.IsCanceled(err) {
		t.Fatal(err)
	}
	if got, want := r.got(0), "[1003,2002] b3"; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestRestoreRefused(t *testing.T) {
	var s, s2 saver
	r := checkpointed(t, 1, &s, nil, 0, Op{Name: "a", Make: made(&counter{})})
	r.send(0, "1 b1")
	r.start()
	until(t, func() bool { return s.log.String() == "snapshot1" })
	r.task.Cancel()
	_ = r.wait()
	c := &counter{probe: probe{name: "a"}, width: 16}
	r = checkpointed(t, 1, &s2, &s, 1, Op{Name: "a", Make: made(c)})
	err := r.task.Open()
	if errs.CodeOf(err) != errs.CodeSchema || !strings.Contains(err.Error(), "state counts: its values had 8 bytes when they were written and have 16 now") {
		t.Errorf("got %v", err)
	}
	if c.closed != 1 {
		t.Errorf("closed %d times", c.closed)
	}
}

// The end of the last channel lets all epochs be cut that wait for nothing else: the task takes part in each.
func TestSeveralEpochsAtAnEnd(t *testing.T) {
	for _, mode := range []checkpoint.Mode{checkpoint.ExactlyOnce, checkpoint.AtLeastOnce} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			var s saver
			r := newRig(t)
			r.open(1)
			r.build(make([]int, 1), []Op{{Name: "a", Make: made(&counter{}), Outputs: []Output{r.edge("")}}}, func(c *Config) {
				c.BufferTimeout, c.OpenState = -1, openModel
				c.Checkpoints = s.checkpoints()
				c.Checkpoints.Mode = mode
			})
			for epoch := uint64(7); epoch <= 9; epoch++ {
				r.task.Trigger(event.Barrier{Epoch: epoch, Purpose: event.PurposeCheckpoint}, false, 0)
			}
			r.start()
			r.send(0, "1 2 end")
			until(t, func() bool { return strings.Contains(s.log.String(), "drained") })
			r.task.Complete(9, false)
			if err := r.wait(); err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"7", "8", "9"} {
				if got := s.log.String(); strings.Count(got, part) != 1 {
					t.Errorf("no part of epoch %s: %s", part, got)
				}
			}
		})
	}
}

// A stop without drain: the task stands still behind its cut until it hears what came of it.
func TestStop(t *testing.T) {
	stop := event.Barrier{Epoch: 4, Purpose: event.PurposeStop}
	t.Run("complete", func(t *testing.T) {
		var s saver
		r, n := sourceRig(t, &s)
		r.task.Trigger(stop, false, 0)
		r.task.Complete(4, true)
		r.end(t)
		if got := r.got(0); got != "b4" || *n != 0 {
			t.Errorf("sent %s after %d steps", got, *n)
		}
		if s.log.String() != "snapshot4" {
			t.Error(s.log.String())
		}
	})
	t.Run("aborted", func(t *testing.T) {
		var s saver
		r, _ := sourceRig(t, &s)
		r.task.Trigger(stop, false, 0)
		r.task.Abort(4)
		r.task.Trigger(event.Barrier{Epoch: 5, Purpose: event.PurposeCheckpoint}, false, 0)
		r.start()
		until(t, func() bool { return strings.Contains(s.log.String(), "drained") })
		r.task.Trigger(event.Barrier{Epoch: 6, Purpose: event.PurposeCheckpoint}, false, 0)
		r.task.Complete(6, false)
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.got(0), "b4 b5 [1,2,3] wmax end"; got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
		if got, want := s.log.String(), "snapshot4 givenup4 snapshot5 drained final6"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("finished by another process", func(t *testing.T) {
		var s saver
		r, n := sourceRig(t, &s)
		r.task.cfg.Checkpoints.Stopped = 4
		r.start()
		r.task.Trigger(event.Barrier{Epoch: 5, Purpose: event.PurposeSavepoint}, false, 0) // heard while it stands
		until(t, func() bool { return s.log.String() == "snapshot5" })
		r.task.Complete(4, true)
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		if got := r.got(0); got != "b5" || *n != 0 {
			t.Errorf("sent %s after %d steps", got, *n)
		}
	})
	t.Run("drain", func(t *testing.T) {
		var s saver
		r, n := sourceRig(t, &s)
		r.task.Trigger(stop, true, 0)
		r.start()
		until(t, func() bool { return strings.Contains(s.log.String(), "drained") })
		r.task.Complete(4, true)
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		if got, want := r.got(0), "wmax end"; got != want || *n != 0 {
			t.Errorf("sent %s after %d steps, want %s", got, *n, want)
		}
		if got, want := s.log.String(), "final4 drained"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// sourceRig is a task whose source emits 1, 2, 3 and ends.
func sourceRig(t *testing.T, s *saver) (r *rig, steps *int) {
	r = newRig(t)
	r.open(0)
	steps = new(int)
	src := &reader{probe: probe{name: "src"}}
	src.step = func() (operator.SourceStatus, error) {
		if *steps == 3 {
			return operator.SourceFinished, nil
		}
		*steps++
		b := r.pool.Get()
		b.Append(int64(*steps), event.NoTime)
		return operator.SourceReady, src.out.Emit(b)
	}
	r.build(nil, []Op{{Name: "src", Make: made(src), Outputs: []Output{r.edge("")}}}, func(c *Config) {
		c.BufferTimeout = -1
		c.Checkpoints = s.checkpoints()
		c.Checkpoints.Mode = checkpoint.ExactlyOnce
	})
	return r, steps
}
