package joinop

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/codec"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/window"
)

// point is a row of fixed width.
type point struct{ Key, N int64 }

// void throws away what an operator emits.
type void struct{ rows int }

func (v *void) Emit(b event.Batch) error {
	v.rows += b.Len()
	b.Release()
	return nil
}

func (v *void) EmitSide(_ string, b event.Batch) error { return v.Emit(b) }

func pointKey(p point) int64 { return p.Key }

// benchJoin feeds both sides in turn, with a watermark every 16 batches; one row in two has a partner.
func benchJoin(b *testing.B, op operator.Operator, keys int64) {
	kc, err := codec.KeyFor[int64]()
	must(b, err)
	h := optest.New(op)
	out := &void{}
	must(b, op.Open(&h.Context, out))
	pool := event.NewPool[point](0)
	b.ReportAllocs()
	n := int64(0)
	for i := 0; b.Loop(); i++ {
		in := pool.Get()
		for in.Room() > 0 {
			in.Append(point{n * 2654435761 % keys, n}, n/512)
			n++
		}
		in.Hash = in.Hash[:len(in.Rows)]
		for j := range in.Rows {
			in.Hash[j] = kc.Hash(&in.Rows[j].Key)
		}
		must(b, op.Process(i%2, in))
		if i%16 == 15 {
			must(b, op.Watermark(n/512-16))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/row")
	b.ReportMetric(float64(out.rows)/float64(n), "results/row")
	must(b, op.Close())
}

func BenchmarkInterval(b *testing.B) {
	kc, err := codec.KeyFor[int64]()
	must(b, err)
	for _, k := range []kind{{}, {left: true, right: true}} {
		b.Run(fmt.Sprintf("outer=%t", k.left), func(b *testing.B) {
			benchJoin(b, NewInterval(IntervalConfig[int64, point, point, point]{LeftKey: pointKey, RightKey: pointKey, Keys: kc,
				Lower: -10, Upper: 10, LeftOuter: k.left, RightOuter: k.right,
				Match: func(x, y *point, _, _ int64, out *basic.Outlet[point]) error {
					if x == nil {
						x = y
					}
					out.Emit(*x)
					return nil
				}}), 5_003)
		})
	}
}

func BenchmarkWindowJoin(b *testing.B) {
	kc, err := codec.KeyFor[int64]()
	must(b, err)
	bound, err := window.Bind[point](window.Tumbling(20 * time.Millisecond))
	must(b, err)
	benchJoin(b, NewWindow(WindowConfig[int64, point, point, point]{Left: bound, Right: bound, LeftKey: pointKey, RightKey: pointKey, Keys: kc,
		NeedLeft: true, NeedRight: true,
		Apply: func(_ int64, _ window.Window, left, right []point, out *basic.Outlet[point]) error {
			for range right {
				for j := range left {
					out.Emit(left[j])
				}
			}
			return nil
		}}), 5_003)
}
