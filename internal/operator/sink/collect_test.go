package sink_test

import (
	"slices"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/operator/sink"
)

// gathering is a subtask of a collect operator whose payloads go to one Collected.
type gathering struct {
	*optest.Harness
	t *testing.T
}

func gather(t *testing.T, to *sink.Collected, got *[]int64, setup func(*operator.Context)) *gathering {
	t.Helper()
	g := &gathering{optest.New(sink.NewCollect[int64]()), t}
	codec, err := basic.RecordsCodec[int64]()
	if err != nil {
		t.Fatal(err)
	}
	g.Context.Checkpoints, g.Context.FinalCheckpoint = true, true
	g.Context.Side = func(p []byte) error {
		rows, err := to.Take(p)
		if err != nil || rows == nil {
			return err
		}
		b, err := codec.Decode(rows)
		if err != nil {
			return err
		}
		*got = append(*got, b.(*event.Records[int64]).Rows...)
		return nil
	}
	if setup != nil {
		setup(&g.Context)
	}
	g.ok(g.Open())
	if g.Context.Restored != nil {
		g.ok(g.Op.(operator.Restorer).AfterRestore())
		g.ok(g.Advance(g.Context.Now()))
	}
	return g
}

func (g *gathering) ok(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gathering) write(rows ...int64) {
	for _, r := range rows {
		g.ok(optest.Feed(g.Harness, 0, nil, optest.At(r, event.NoTime)))
	}
}

func (g *gathering) cut(epoch uint64) *operator.Cut {
	c := &operator.Cut{Barrier: event.Barrier{Epoch: epoch, Purpose: event.PurposeCheckpoint}}
	g.ok(g.Op.(operator.Snapshotter).Snapshot(c))
	return c
}

func (g *gathering) complete(epoch uint64) {
	g.ok(g.Op.(operator.CompletionListener).CheckpointComplete(epoch))
}

// Rows come with their checkpoint, those of an epoch that was given up with the next one, and each once, although they are
// sent again after a restore at any parallelism.
func TestCollectedRowsComeOnce(t *testing.T) {
	for _, p := range []int{1, 2, 3, 5} {
		var (
			to  sink.Collected
			got []int64
		)
		var cuts []*operator.Cut
		for s := range 3 {
			g := gather(t, &to, &got, func(c *operator.Context) { c.Subtask, c.Parallelism = s, 3 })
			at := int64(100 * s)
			g.write(at+1, at+2)
			g.cut(1) // given up
			g.write(at+3, at+4, at+5)
			before := len(got)
			cuts = append(cuts, g.cut(2))
			if len(got) != before {
				t.Fatal("rows have left before their checkpoint was complete")
			}
			if s == 1 {
				g.complete(2) // one subtask has heard of it, and the answer is in no checkpoint
			}
			g.write(at + 9) // lost with the attempt
		}
		for s := range p {
			gather(t, &to, &got, func(c *operator.Context) {
				restored(2, cuts...)(c)
				c.Subtask, c.Parallelism = p-1-s, p
			})
		}
		slices.Sort(got)
		if want := []int64{1, 2, 3, 4, 5, 101, 102, 103, 104, 105, 201, 202, 203, 204, 205}; !slices.Equal(got, want) {
			t.Errorf("parallelism %d: %v", p, got)
		}
	}
}

// A batch of a group that an earlier attempt has sent in part comes once.
func TestCollectedHalfSent(t *testing.T) {
	var (
		to  sink.Collected
		got []int64
	)
	g := gather(t, &to, &got, nil)
	g.write(1, 2, 3)
	c := g.cut(7)
	left := 2
	side := g.Context.Side
	g.Context.Side = func(p []byte) error {
		if left--; left < 0 {
			return errs.Canceled
		}
		return side(p)
	}
	if err := g.Op.(operator.CompletionListener).CheckpointComplete(7); !errs.IsCanceled(err) {
		t.Fatal(err)
	}
	gather(t, &to, &got, restored(7, c))
	if !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v", got)
	}
}

// The rows of a savepoint were for the program that took it: the same job sends them, another one does not.
func TestCollectedOfASavepoint(t *testing.T) {
	for _, other := range []bool{false, true} {
		var (
			to  sink.Collected
			got []int64
		)
		g := gather(t, &to, &got, func(c *operator.Context) { c.JobID = ids.JobID{1} })
		g.write(1, 2)
		c := &operator.Cut{Barrier: event.Barrier{Epoch: 5, Purpose: event.PurposeStop}}
		g.ok(g.Op.(operator.Snapshotter).Snapshot(c))
		gather(t, &to, &got, func(ctx *operator.Context) {
			restored(5, c)(ctx)
			if ctx.JobID = (ids.JobID{1}); other {
				ctx.JobID = ids.JobID{2}
			}
		})
		if sent := len(got) == 2; sent == other {
			t.Errorf("another job: %v; got %v", other, got)
		}
	}
}

func TestCollectWithoutCheckpoints(t *testing.T) {
	for _, periodic := range []bool{false, true} {
		var (
			to  sink.Collected
			got []int64
		)
		g := gather(t, &to, &got, func(c *operator.Context) { c.Checkpoints, c.FinalCheckpoint = periodic, false })
		g.write(1, 2)
		if early := len(got) == 2; early == periodic {
			t.Errorf("periodic %v: got %v before the end", periodic, got)
		}
		g.ok(g.Op.(operator.Finisher).Finish())
		if !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("periodic %v: got %v", periodic, got)
		}
	}
}

func TestDamagedCollected(t *testing.T) {
	var to sink.Collected
	for _, b := range [][]byte{nil, {0x80}, {1, 2}} {
		if _, err := to.Take(b); errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%x: %v", b, err)
		}
	}
	for _, b := range [][]byte{nil, {1}, {1, 2, 9}} {
		h := optest.New(sink.NewCollect[int64]())
		cut := &operator.Cut{}
		cut.Blob("collected", 0, b)
		restored(1, cut)(&h.Context)
		if err := h.Open(); errs.CodeOf(err) != errs.CodeCorrupt {
			t.Errorf("%x: %v", b, err)
		}
	}
}
