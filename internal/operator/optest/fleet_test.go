package optest_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/operator/processop"
)

// counter counts its rows and says how many there were over all subtasks' shares at its end. It forgets what the test
// tells it to.
type counter struct {
	n      uint64
	out    *basic.Emitter[uint64]
	forget bool
	ctx    *operator.Context
}

func (c *counter) Open(ctx *operator.Context, out operator.Collector) error {
	c.ctx, c.out = ctx, basic.NewEmitter[uint64](out, "", ctx.BatchRows)
	if c.forget || ctx.Restored == nil {
		return nil
	}
	for _, b := range ctx.Restored.Even("n", ctx.Subtask, ctx.Parallelism) {
		c.n += binary.LittleEndian.Uint64(b)
	}
	return nil
}

func (c *counter) Process(_ int, b event.Batch) error {
	c.n += uint64(b.Len())
	b.Release()
	return nil
}

func (c *counter) Watermark(int64) error { return nil }

func (c *counter) Snapshot(cut *operator.Cut) error {
	cut.Blob("n", c.ctx.Subtask, binary.LittleEndian.AppendUint64(nil, c.n))
	return nil
}

func (c *counter) Finish() error {
	for range c.n {
		if err := c.out.Emit(1, 0); err != nil {
			return err
		}
	}
	return nil
}
func (c *counter) Flush() error { return c.out.Flush() }
func (c *counter) Close() error { c.out.Drop(); return nil }

func countTrial(forget bool) *optest.Trial {
	t := &optest.Trial{
		Make:   func() *optest.Harness { return optest.New(&counter{forget: forget}) },
		Output: func(h *optest.Harness) []string { return optest.Lines[uint64](h) },
	}
	for range 5 {
		t.Steps = append(t.Steps, func(f *optest.Fleet) error {
			return optest.FeedAll(f, 0, nil, optest.At(1, 0), optest.At(2, 0), optest.At(3, 0))
		})
	}
	t.Steps = append(t.Steps, func(f *optest.Fleet) error { return f.End(1) })
	return t
}

func TestTrial(t *testing.T) {
	crashes := []optest.Crash{{Cut: 2, At: 4, Parallelism: 3}, {Cut: 3, At: 5, Parallelism: 1}}
	if err := countTrial(false).Survives(2, crashes); err != nil {
		t.Error(err)
	}
	err := countTrial(true).Survives(2, crashes)
	if err == nil || !strings.Contains(err.Error(), "15 rows without the crashes and 6 with them") {
		t.Errorf("an operator that forgets: %v", err)
	}
}

// Keyed state is restored by key group: the running count of each key goes on.
func TestKeyedStateMoves(t *testing.T) {
	kc, err := codec.KeyFor[string]()
	if err != nil {
		t.Fatal(err)
	}
	hash := func(b event.Batch) {
		in := b.(*event.Records[string])
		in.Hash = in.Hash[:len(in.Rows)]
		for i := range in.Rows {
			in.Hash[i] = kc.Hash(&in.Rows[i])
		}
	}
	type count struct {
		Key string
		N   int
	}
	mk := func() *optest.Harness {
		return optest.New(processop.NewRolling(processop.RollingConfig[string, string, int, count]{
			Key: func(s string) string { return s }, Keys: kc,
			Step: func(key *string, acc *int, _ bool, _ *string) count { *acc++; return count{*key, *acc} },
		}))
	}
	rapid.Check(t, func(rt *rapid.T) {
		tr := &optest.Trial{Make: mk, Output: func(h *optest.Harness) []string { return optest.Lines[count](h) }}
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			var rows []optest.Row[string]
			for _, k := range rapid.SliceOf(rapid.StringMatching("[a-k]{1,2}")).Draw(rt, "keys") {
				rows = append(rows, optest.At(k, 0))
			}
			tr.Steps = append(tr.Steps, func(f *optest.Fleet) error { return optest.FeedAll(f, 0, hash, rows...) })
		}
		tr.Steps = append(tr.Steps, func(f *optest.Fleet) error { return f.End(1) })
		if err := tr.Survives(optest.DrawCrashes(rt, len(tr.Steps))); err != nil {
			rt.Fatal(err)
		}
	})
}
