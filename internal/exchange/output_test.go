package exchange_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/keygroup"
	"pgregory.net/rapid"
)

// sink is a Sender that keeps what it gets.
type sink struct {
	got     []event.Event
	forced  int
	refuse  error
	noSpace bool
}

func (s *sink) Send(ev event.Event) error {
	if s.refuse != nil {
		if ev.Batch != nil {
			ev.Batch.Release()
		}
		return s.refuse
	}
	s.got = append(s.got, ev)
	return nil
}

func (s *sink) Force(ev event.Event) error {
	s.forced++
	return s.Send(ev)
}

func (s *sink) Available() bool { return !s.noSpace }

// rows returns the numbers of the live rows that the sink got, and releases the batches.
func (s *sink) rows() (ns []int64) {
	for _, ev := range s.got {
		if ev.Kind != event.KindBatch {
			continue
		}
		r := ev.Batch.(*event.Records[row])
		if r.Live == nil {
			for i := range r.Rows {
				ns = append(ns, r.Rows[i].N)
			}
		}
		for _, i := range r.Live {
			ns = append(ns, r.Rows[i].N)
		}
		r.Release()
	}
	s.got = nil
	return ns
}

func sinks(n int) ([]*sink, []exchange.Sender) {
	ss, senders := make([]*sink, n), make([]exchange.Sender, n)
	for i := range ss {
		ss[i] = new(sink)
		senders[i] = ss[i]
	}
	return ss, senders
}

// spread are the partitions with a model that says which targets may get row n; keyed rows have hash(n).
var spread = []struct {
	name string
	part exchange.Partition
	may  func(n int64, target, targets int) bool
}{
	{"keyed", exchange.Keyed(), func(n int64, t, p int) bool {
		return keygroup.RangeOf(t, p).Contains(keygroup.Group(mix(uint64(n)) >> 49))
	}},
	{"rebalance", exchange.Rebalance(5), func(int64, int, int) bool { return true }},
	{"shuffle", exchange.Shuffle(5), func(int64, int, int) bool { return true }},
	{"global", exchange.Global(), func(_ int64, t, _ int) bool { return t == 0 }},
	{"custom", exchange.Custom(byNumber(3)), func(n int64, t, p int) bool { return t == int(n*7%3)%p }},
}

// byNumber is a custom partitioner over the row's number.
func byNumber(p int32) func(event.Batch, []int32) error {
	return func(b event.Batch, targets []int32) error {
		r := b.(*event.Records[row])
		if b.Len() != len(targets) {
			return fmt.Errorf("%d rows, %d targets", b.Len(), len(targets))
		}
		for i := range targets {
			at := i
			if r.Live != nil {
				at = int(r.Live[i])
			}
			targets[i] = int32(r.Rows[at].N * 7 % int64(p))
		}
		return nil
	}
}

// Laws: every live row reaches exactly one target, an allowed one (with broadcast: every target), in the order emitted;
// nothing is left after Flush; an event reaches every target after all rows emitted before it.
func TestOutputsKeepEveryRowAndItsOrder(t *testing.T) {
	for _, c := range spread {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := rapid.SampledFrom([]int{1, 2, 3, 7, 64}).Draw(t, "targets")
				if c.name == "custom" {
					p = 3
				}
				ss, senders := sinks(p)
				emitAndCompare(t, exchange.NewOutput("test", c.part, senders), ss, func(n int64, target int) bool { return c.may(n, target, p) }, 1)
			})
		})
	}
	t.Run("broadcast", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			p := rapid.IntRange(1, 4).Draw(t, "targets")
			ss, senders := sinks(p)
			emitAndCompare(t, exchange.NewOutput("test", exchange.Broadcast(), senders), ss, func(int64, int) bool { return true }, p)
		})
	})
}

func emitAndCompare(t *rapid.T, out *exchange.Output, ss []*sink, may func(n int64, target int) bool, copies int) {
	pool := event.NewPool[row](rapid.SampledFrom([]int{1, 2, 16, 100}).Draw(t, "capacity"))
	seen := map[int64]int{}
	check := func() {
		for target, s := range ss {
			last := int64(-1)
			for _, n := range s.rows() {
				if n <= last || !may(n, target) {
					t.Fatalf("row %d after %d at target %d", n, last, target)
				}
				last = n
				seen[n]++
			}
		}
	}
	number, live := int64(0), 0
	for range rapid.IntRange(1, 20).Draw(t, "batches") {
		b := pool.Get()
		var sel []int32
		sparse := rapid.Bool().Draw(t, "sparse")
		for i := range rapid.IntRange(0, pool.Cap()).Draw(t, "rows") {
			b.Append(row{0, number}, number)
			b.Hash = append(b.Hash, mix(uint64(number)))
			if !sparse || rapid.IntRange(0, 3).Draw(t, "live") == 0 {
				sel = append(sel, int32(i))
			} else {
				seen[number] = copies // dead: must not come
			}
			number++
		}
		live += len(sel)
		if sparse {
			b.Live = append(b.Scratch(), sel...)
		}
		if err := out.Emit(b); err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 5).Draw(t, "flush") == 0 {
			if err := out.Flush(); err != nil || out.Pending() {
				t.Fatal("pending after a flush", err)
			}
		}
	}
	if err := out.Event(event.Watermark(number)); err != nil || out.Pending() {
		t.Fatal(err)
	}
	for target, s := range ss {
		if n := len(s.got); s.got[n-1] != event.Watermark(number) {
			t.Fatalf("target %d: the last event is %v", target, s.got[n-1])
		}
	}
	check()
	for n := range number {
		if seen[n] != copies {
			t.Fatalf("row %d came %d times", n, seen[n])
		}
	}
}

func TestSmallBatchesAreJoinedAndLargeOnesPassByReference(t *testing.T) {
	pool := event.NewPool[row](16)
	for _, part := range []exchange.Partition{exchange.Forward(), exchange.Keyed(), exchange.Rebalance(0), exchange.Global(), exchange.Broadcast()} {
		ss, senders := sinks(1)
		out := exchange.NewOutput("test", part, senders)
		for i := range 8 {
			if err := out.Emit(batchOf(pool, 0, int64(4*i), 4)); err != nil {
				t.Fatal(err)
			}
		}
		if len(ss[0].got) != 2 || ss[0].got[0].Batch.Len() != 16 || out.Pending() {
			t.Errorf("%s: 8 batches of 4 rows became %v", part, ss[0].got)
		}
		ss[0].rows()
		small, large := batchOf(pool, 0, 0, 1), batchOf(pool, 0, 1, 8)
		if err := errors.Join(out.Emit(small), out.Emit(large)); err != nil {
			t.Fatal(err)
		}
		if len(ss[0].got) != 2 || ss[0].got[1].Batch != large {
			t.Errorf("%s: the large batch was copied, or overtook the small one: %v", part, ss[0].got)
		}
	}
}

func TestKeyedBatchOfOneTargetPassesByReference(t *testing.T) {
	pool := event.NewPool[row](16)
	ss, senders := sinks(4)
	out := exchange.NewOutput("test", exchange.Keyed(), senders)
	b := pool.Get()
	for i := range int64(16) {
		b.Append(row{0, i}, 0)
		b.Hash = append(b.Hash, 0x8000_0000_0000_0000+uint64(i)) // group 16384 is the first of the third quarter
	}
	if err := out.Emit(b); err != nil {
		t.Fatal(err)
	}
	if len(ss[2].got) != 1 || ss[2].got[0].Batch != event.Batch(b) {
		t.Errorf("target 2 got %v", ss[2].got)
	}
	if err := out.Emit(batchOf(pool, 0, 0, 3)); errs.CodeOf(err) != errs.CodeBug {
		t.Errorf("rows without hashes: %v", err)
	}
}

func TestSharesOfRoundRobinAndShuffle(t *testing.T) {
	pool := event.NewPool[row](16)
	for _, size := range []int{1, 5, 16} {
		for _, start := range []int{0, 2, 7} {
			ss, senders := sinks(3)
			out := exchange.NewOutput("test", exchange.Rebalance(start), senders)
			for i := range 30 {
				if err := out.Emit(batchOf(pool, 0, int64(i*size), size)); err != nil {
					t.Fatal(err)
				}
			}
			out.Flush()
			if first := ss[start%3].rows(); first[0] != 0 || len(first) < 9*size || len(first) > 11*size {
				t.Errorf("size %d, start %d: the first target got %d rows from %d", size, start, len(first), first[0])
			}
			if n := len(ss[(start+1)%3].rows()); n < 9*size || n > 11*size {
				t.Errorf("size %d, start %d: the second target got %d rows", size, start, n)
			}
		}
		ss, senders := sinks(3)
		out := exchange.NewOutput("test", exchange.Shuffle(1), senders)
		for i := range 3000 {
			if err := out.Emit(batchOf(pool, 0, int64(i*size), size)); err != nil {
				t.Fatal(err)
			}
		}
		out.Flush()
		for i, s := range ss {
			if n := len(s.rows()); n < 900*size || n > 1100*size {
				t.Errorf("size %d: target %d got %d of %d rows", size, i, n, 3000*size)
			}
		}
	}
}

func TestCustomPartitionerErrors(t *testing.T) {
	pool := event.NewPool[row](16)
	for _, c := range []struct {
		name, want string
		f          func(event.Batch, []int32) error
	}{
		{"too large", "op: custom partitioner: the partitioner chose target 2 for row 1, but targets are 0 to 1", nil},
		{"its own error", "no idea", func(event.Batch, []int32) error { return errors.New("no idea") }},
	} {
		_, senders := sinks(2)
		f := c.f
		if f == nil {
			f = func(_ event.Batch, ts []int32) error { ts[1] = 2; return nil }
		}
		out := exchange.NewOutput("op", exchange.Custom(f), senders)
		err := out.Emit(batchOf(pool, 0, 0, 3))
		if errs.CodeOf(err) != errs.CodeUserFunction || errs.ClassOf(err) != errs.ClassFailTask || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestUnalignedBarrierDoesNotWaitBehindPartials(t *testing.T) {
	pool := event.NewPool[row](16)
	ss, senders := sinks(2)
	out := exchange.NewOutput("test", exchange.Rebalance(0), senders)
	if err := out.Emit(batchOf(pool, 0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	barrier := event.OfBarrier(event.Barrier{Epoch: 1, Unaligned: true})
	if err := out.Event(barrier); err != nil {
		t.Fatal(err)
	}
	if ss[0].forced != 1 || ss[1].forced != 0 || len(ss[0].got) != 2 || ss[1].got[0] != barrier {
		t.Errorf("%+v %+v", ss[0], ss[1])
	}
}

func TestOutputIsAvailableWhenAllSendersAre(t *testing.T) {
	ss, senders := sinks(3)
	out := exchange.NewOutput("test", exchange.Keyed(), senders)
	if !out.Available() {
		t.Error("not available")
	}
	ss[2].noSpace = true
	if out.Available() {
		t.Error("available")
	}
}

// After an error every batch has been released once, whichever target failed.
func TestErrorsLeaveNoBatchBehind(t *testing.T) {
	src := newSource(t)
	for _, part := range []exchange.Partition{exchange.Rebalance(0), exchange.Broadcast(), exchange.Global(), exchange.Custom(func(b event.Batch, ts []int32) error {
		for i := range ts {
			ts[i] = int32(i % 3)
		}
		return nil
	})} {
		for bad := range 3 {
			for _, size := range []int{1, 7, 8, 16} {
				ss, senders := sinks(3)
				ss[bad].refuse = errors.New("refused")
				out := exchange.NewOutput("test", part, senders)
				for range 20 {
					if err := out.Emit(src.batch(0, 0, size)); err != nil {
						break
					}
				}
				out.Close()
				for _, s := range ss {
					for _, ev := range s.got {
						ev.Batch.Release()
					}
				}
				if n := src.live.Load(); n != 0 {
					t.Fatalf("%s, target %d refuses, batches of %d: %d batches left", part, bad, size, n)
				}
			}
		}
	}
}
