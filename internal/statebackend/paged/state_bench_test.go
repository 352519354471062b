package paged

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/statebackend"
)

// BenchmarkMapPut puts string entries at random until there are a million, spread over the given number of keys, and
// reports nanoseconds a put beside a Go map of Go maps.
func BenchmarkMapPut(b *testing.B) {
	const entries = 1_000_000
	r := rand.New(rand.NewPCG(5, 6))
	names := make([][]byte, entries)
	for i := range names {
		names[i] = fmt.Appendf(nil, "item-%d", r.IntN(entries))
	}
	for _, nkeys := range []int{1, 1000, 100_000} {
		keys := make([]statebackend.Key, nkeys)
		for i := range keys {
			k := binary.BigEndian.AppendUint64(nil, uint64(i))
			keys[i] = statebackend.Key{Hash: xxh3.Hash(k), Bytes: k}
		}
		pick := make([]int, entries)
		for i := range pick {
			pick[i] = r.IntN(nkeys)
		}
		b.Run(fmt.Sprintf("keys=%d/paged", nkeys), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				be := NewBackend(statebackend.Config{KeyWidth: 8}, nil)
				m, _ := be.Map(statebackend.Descriptor{Name: "m", Width: 8})
				var value [8]byte
				for i, n := range names {
					m.Put(keys[pick[i]], nil, n, value[:])
				}
				b.ReportMetric(float64(be.Bytes())/entries, "B/entry")
				_ = be.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/put")
		})
		b.Run(fmt.Sprintf("keys=%d/gomap", nkeys), func(b *testing.B) {
			for b.Loop() {
				m := map[uint64]map[string]uint64{}
				for i, n := range names {
					k := keys[pick[i]].Hash
					e := m[k]
					if e == nil {
						e = map[string]uint64{}
						m[k] = e
					}
					e[string(n)] = uint64(i)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/put")
		})
	}
}

// BenchmarkListAppend appends a million elements of 40 bytes to the lists of some keys and reports the longest append.
func BenchmarkListAppend(b *testing.B) {
	const elements = 1_000_000
	for _, nkeys := range []int{1, 1000, 100_000} {
		keys := make([]statebackend.Key, nkeys)
		for i := range keys {
			k := binary.BigEndian.AppendUint64(nil, uint64(i))
			keys[i] = statebackend.Key{Hash: xxh3.Hash(k), Bytes: k}
		}
		b.Run(fmt.Sprintf("keys=%d", nkeys), func(b *testing.B) {
			var longest time.Duration
			for b.Loop() {
				be := NewBackend(statebackend.Config{KeyWidth: 8}, nil)
				l, _ := be.List(statebackend.Descriptor{Name: "l"})
				element := make([]byte, 40)
				last := time.Now()
				for i := range elements {
					l.Append(keys[i*7919%nkeys], nil, element)
					if i%16 == 0 {
						now := time.Now()
						longest, last = max(longest, now.Sub(last)), now
					}
				}
				_ = be.Close()
			}
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest-16")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/elements, "ns/append")
		})
	}
}
