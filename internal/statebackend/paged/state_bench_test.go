package paged

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
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
			defer cpuTime(b, entries)()
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
			defer cpuTime(b, entries)()
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

// BenchmarkValue is read-modify-write of a value by a key of eight bytes through the backend's interface: in place, in
// place with a window's namespace, and as a blob of 40 bytes, also when the keys to come were told as a batch's are.
func BenchmarkValue(b *testing.B) {
	for _, nkeys := range []int{100_000, 10_000_000} {
		keys := make([]byte, 0, 8*rows)
		hashes := make([]uint64, rows)
		r := rand.New(rand.NewPCG(7, 8))
		for i := range rows {
			keys = binary.BigEndian.AppendUint64(keys, uint64(r.IntN(nkeys)))
			hashes[i] = xxh3.Hash(keys[8*i:])
		}
		key := func(i int) statebackend.Key {
			return statebackend.Key{Hash: hashes[i], Bytes: keys[8*i : 8*i+8 : 8*i+8]}
		}
		var all statebackend.Key
		each := func(f func(statebackend.Key)) {
			var k [8]byte
			for i := range nkeys {
				binary.BigEndian.PutUint64(k[:], uint64(i))
				all = statebackend.Key{Hash: xxh3.Hash(k[:]), Bytes: k[:]}
				f(all)
			}
		}
		ns := make([]byte, 16)
		for _, c := range []struct {
			name string
			d    statebackend.Descriptor
		}{
			{"in place", statebackend.Descriptor{Name: "v", Width: 16}},
			{"with namespace", statebackend.Descriptor{Name: "v", Width: 16, NamespaceWidth: 16}},
			{"blob", statebackend.Descriptor{Name: "v"}},
			{"blob touched", statebackend.Descriptor{Name: "v"}},
		} {
			b.Run(fmt.Sprintf("keys=%d/%s", nkeys, c.name), func(b *testing.B) {
				be := NewBackend(statebackend.Config{KeyWidth: 8}, nil)
				defer be.Close()
				v, _ := be.Value(c.d)
				n := ns[:c.d.NamespaceWidth]
				scratch := make([]byte, 40)
				each(func(k statebackend.Key) { v.Put(k, n, scratch[:max(c.d.Width, 40*(1-min(c.d.Width, 1)))]) })
				b.ReportAllocs()
				defer cpuTime(b, rows)()
				for b.Loop() {
					for i := range rows {
						if i%touchRows == 0 && c.name == "blob touched" {
							v.(statebackend.Toucher).Touch(hashes[i : i+touchRows])
						}
						if c.d.Width > 0 {
							p, _ := v.Ref(key(i), n)
							*(*uint64)(p)++
							continue
						}
						old, _ := v.Get(key(i), n)
						scratch = append(scratch[:0], old...)
						scratch[0]++
						v.Put(key(i), n, scratch)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
				b.ReportMetric(float64(be.Bytes())/float64(nkeys), "B/key")
			})
		}
	}
}

// cpuTime begins to measure the CPU time of the benchmark's goroutine, which a busy machine does not blur as it does the clock's;
// what it returns reports that for each of n rows in a round.
func cpuTime(b *testing.B, n int) func() {
	runtime.LockOSThread()
	begin := threadTime()
	return func() {
		b.ReportMetric(float64(threadTime()-begin)/float64(b.N)/float64(n), "cpu-ns/row")
		runtime.UnlockOSThread()
	}
}
