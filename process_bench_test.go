package weir_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/slice"
	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/state"
)

type metered struct{ Sensor, Value int64 }

// adder keeps a sum by key.
type adder struct{ sum state.Value[int64] }

func (f *adder) Open(ctx *weir.KeyedContext[int64]) error {
	f.sum = ctx.State(state.ValueOf[int64]("sum"))
	return nil
}

func (f *adder) Process(_ *weir.KeyedContext[int64], r metered, out weir.Out[int64]) error {
	var total int64
	f.sum.Update(func(sum *int64) {
		*sum += r.Value
		total = *sum
	})
	out.Emit(total)
	return nil
}

// getter does the same by Get and Set.
type getter struct{ adder }

func (f *getter) Process(_ *weir.KeyedContext[int64], r metered, out weir.Out[int64]) error {
	sum, _ := f.sum.Get()
	sum += r.Value
	f.sum.Set(sum)
	out.Emit(sum)
	return nil
}

// pinger registers a timer a second ahead for each row.
type pinger struct{ adder }

func (f *pinger) Process(ctx *weir.KeyedContext[int64], r metered, out weir.Out[int64]) error {
	at, _ := ctx.Timestamp()
	ctx.RegisterEventTimer(at.Add(time.Second))
	return nil
}

func (f *pinger) OnTimer(ctx *weir.KeyedContext[int64], _ weir.Timer, out weir.Out[int64]) error {
	out.Emit(ctx.Key())
	return nil
}

const (
	benchKeys  = 100_000
	benchBatch = 512
)

// BenchmarkKeyedProcess is a row through a keyed process function with a value state of 100,000 keys, without an exchange, and
// beside it the same work on the bare table.
func BenchmarkKeyedProcess(b *testing.B) {
	pool := event.NewPool[metered](0)
	keyed := weir.From(weir.NewEnv("bench"), "rows", slice.Of[metered]()).KeyBy(func(r metered) int64 { return r.Sensor })
	hash := weir.HasherOf(keyed)
	// fill makes batch number n; keys are scattered over all batches.
	fill := func(n int) *event.Records[metered] {
		in := pool.Get()
		for i := range benchBatch {
			in.Append(metered{int64((n*benchBatch + i) * 7919 % benchKeys), 1}, int64(n))
		}
		hash(in)
		return in
	}
	engine := func(b *testing.B, op operator.Operator, marks bool) {
		h := optest.New(op)
		must(b, h.Open())
		run := func(n int) {
			must(b, h.Op.Process(0, fill(n)))
			if marks && n%64 == 0 {
				must(b, h.Watermark(int64(n)))
			}
			must(b, h.Flush())
			h.Discard()
		}
		for n := range benchKeys/benchBatch + 1 {
			run(n)
		}
		b.ReportAllocs()
		b.ResetTimer()
		for n := range b.N {
			run(n + benchKeys/benchBatch + 1)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBatch, "ns/row")
	}
	b.Run("update", func(b *testing.B) {
		engine(b, weir.OperatorOf(keyed.Process("op", func() weir.KeyedProcess[int64, metered, int64] { return &adder{} })), false)
	})
	b.Run("get and set", func(b *testing.B) {
		engine(b, weir.OperatorOf(keyed.Process("op", func() weir.KeyedProcess[int64, metered, int64] { return &getter{} })), false)
	})
	b.Run("timer a row", func(b *testing.B) {
		engine(b, weir.OperatorOf(keyed.Process("op", func() weir.KeyedProcess[int64, metered, int64] { return &pinger{} })), true)
	})
	b.Run("rolling sum", func(b *testing.B) {
		engine(b, weir.OperatorOf(keyed.Sum("op", func(r *metered) *int64 { return &r.Value })), false)
	})
	b.Run("bare table", func(b *testing.B) {
		t := paged.New(paged.Config{KeyWidth: 8, ValueWidth: 8})
		defer t.Close()
		kc, err := codec.KeyFor[int64]()
		must(b, err)
		var keys [benchBatch]int64
		var words [benchBatch]uint64
		var out [benchBatch]unsafe.Pointer
		b.ReportAllocs()
		for n := range b.N {
			in := fill(n)
			for i := range in.Rows {
				keys[i] = in.Rows[i].Sensor
			}
			kc.Words(keys[:], words[:])
			t.UpsertBatch64(in.Hash, words[:], out[:], nil)
			for i, p := range out {
				*(*int64)(p) += in.Rows[i].Value
			}
			in.Release()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBatch, "ns/row")
	})
	b.Run("filling the batch", func(b *testing.B) {
		for n := range b.N {
			fill(n).Release()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchBatch, "ns/row")
	})
}
