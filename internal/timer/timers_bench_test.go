package timer

import (
	"container/heap"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/statebackend"
)

// BenchmarkTimers registers a million timers and fires all, in nanoseconds a timer, beside container/heap.
func BenchmarkTimers(b *testing.B) {
	const n = 1_000_000
	keys, hashes := make([]byte, 8*n), make([]uint64, n)
	for i := range n {
		binary.LittleEndian.PutUint64(keys[8*i:], uint64(i))
		hashes[i] = xxh3.Hash(keys[8*i : 8*i+8])
	}
	r := rand.New(rand.NewPCG(3, 4))
	random, ends := make([]int64, n), make([]int64, n)
	for i := range n {
		random[i] = r.Int64N(n)
		ends[i] = int64(i/(n/10)+1) * 60_000
	}
	for _, c := range []struct {
		name  string
		times []int64
	}{{"window ends", ends}, {"random", random}} {
		b.Run(c.name+"/buckets", func(b *testing.B) {
			b.ReportAllocs()
			fired := 0
			for b.Loop() {
				s := New(nil)
				for i, t := range c.times {
					s.Register(statebackend.Key{Hash: hashes[i], Bytes: keys[8*i : 8*i+8]}, nil, t)
				}
				_ = s.Advance(math.MaxInt64, func(statebackend.Key, []byte, int64) error {
					fired++
					return nil
				})
				s.Close()
			}
			if fired != b.N*n {
				b.Fatalf("fired %d", fired)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/timer")
		})
		b.Run(c.name+"/heap", func(b *testing.B) {
			for b.Loop() {
				h := &binaryHeap{}
				for i, t := range c.times {
					heap.Push(h, simple{t, hashes[i]})
				}
				for h.Len() > 0 {
					heap.Pop(h)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/timer")
		})
	}
}

type simple struct {
	t    int64
	hash uint64
}

type binaryHeap []simple

func (h binaryHeap) Len() int           { return len(h) }
func (h binaryHeap) Less(i, j int) bool { return h[i].t < h[j].t }
func (h binaryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *binaryHeap) Push(x any)        { *h = append(*h, x.(simple)) }
func (h *binaryHeap) Pop() any {
	o := *h
	x := o[len(o)-1]
	*h = o[:len(o)-1]
	return x
}
