package timer

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// BenchmarkTimers registers timers and fires all, in nanoseconds a timer, beside container/heap.
func BenchmarkTimers(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("%dM", n/1_000_000), func(b *testing.B) { benchTimers(b, n) })
	}
}

func benchTimers(b *testing.B, n int) {
	keys, hashes := make([]byte, 8*n), make([]uint64, n)
	for i := range n {
		binary.LittleEndian.PutUint64(keys[8*i:], uint64(i))
		hashes[i] = xxh3.Hash(keys[8*i : 8*i+8])
	}
	r := rand.New(rand.NewPCG(3, 4))
	random, ends := make([]int64, n), make([]int64, n)
	for i := range n {
		random[i] = r.Int64N(int64(n))
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
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/timer")
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
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/timer")
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

// BenchmarkCut is the synchronous part of a cut of ten million timers, and how long another goroutine needs to read it.
func BenchmarkCut(b *testing.B) {
	const n = 10_000_000
	for _, c := range []struct {
		name string
		time func(i int) int64
	}{
		{"window ends", func(i int) int64 { return int64(i/(n/10)+1) * 60_000 }},
		{"random", func(i int) int64 { return int64(uint64(i) * 0x9E3779B97F4A7C15 >> 1 % n) }},
		{"a day apart", func(i int) int64 { return int64(uint64(i) * 0x9E3779B97F4A7C15 >> 1 % (86_400_000)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := New(nil)
			defer s.Close()
			var k [8]byte
			for i := range n {
				binary.LittleEndian.PutUint64(k[:], uint64(i))
				s.Register(statebackend.Key{Hash: xxh3.Hash(k[:]), Bytes: k[:]}, nil, c.time(i))
			}
			b.Run("cut", func(b *testing.B) {
				for b.Loop() {
					f, _ := s.Cut()
					f.Release()
				}
			})
			b.Run("each", func(b *testing.B) {
				f, _ := s.Cut()
				for b.Loop() {
					seen := 0
					f.Each(keygroup.All(), func(statebackend.Key, []byte, []byte, []byte) bool { seen++; return true })
					if seen != n {
						b.Fatalf("%d timers", seen)
					}
				}
				f.Release()
			})
		})
	}
}
