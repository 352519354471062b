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

// mapLoad is a million entries in random order: entry i is in the map of key i%nkeys.
type mapLoad struct {
	keys   []byte
	hashes []uint64
	names  [][]byte
}

const mapEntries = 1_000_000

func newMapLoad(nkeys int, seed uint64) (l mapLoad) {
	names := make([]byte, 0, 16*mapEntries)
	for _, i := range rand.New(rand.NewPCG(5, seed)).Perm(mapEntries) {
		from := len(names)
		names = fmt.Appendf(names, "item-%d", i)
		l.names = append(l.names, names[from:len(names):len(names)])
		l.keys = binary.BigEndian.AppendUint64(l.keys, uint64(i%nkeys))
		l.hashes = append(l.hashes, xxh3.Hash(l.keys[len(l.keys)-8:]))
	}
	return l
}

// put puts all entries, and tells their keys ahead if touch is set.
func (l *mapLoad) put(m statebackend.Map, touch bool) {
	var value [8]byte
	for i, n := range l.names {
		if touch && i%touchRows == 0 {
			m.(statebackend.Toucher).Touch(l.hashes[i:min(i+touchRows, len(l.hashes))])
		}
		m.Put(statebackend.Key{Hash: l.hashes[i], Bytes: l.keys[8*i : 8*i+8 : 8*i+8]}, nil, n, value[:])
	}
}

func (l *mapLoad) putGo(m map[uint64]map[string]uint64) {
	for i, n := range l.names {
		k := binary.BigEndian.Uint64(l.keys[8*i:])
		e := m[k]
		if e == nil {
			e = map[string]uint64{}
			m[k] = e
		}
		e[string(n)] = uint64(i)
	}
}

// BenchmarkMapPut puts a million string entries in random order into one map, into a thousand, into maps of ten entries and of
// one. "fill" begins with nothing, in memory that was used before; "full" puts each entry once more. Beside them stand the same
// puts when the keys were told ahead as a batch's are, and a Go map of Go maps.
func BenchmarkMapPut(b *testing.B) {
	pool := &Pool{IdleMax: 1 << 30}
	open := func() (*Backend, statebackend.Map) {
		be := NewBackend(statebackend.Config{KeyWidth: 8}, pool)
		m, _ := be.Map(statebackend.Descriptor{Name: "m", Width: 8})
		return be, m
	}
	for _, nkeys := range []int{1, 1000, 100_000, mapEntries} {
		first, again := newMapLoad(nkeys, 6), newMapLoad(nkeys, 7)
		be, m := open()
		first.put(m, false)
		_ = be.Close()
		for _, way := range []string{"plain", "touched"} {
			b.Run(fmt.Sprintf("keys=%d/fill/%s", nkeys, way), func(b *testing.B) {
				b.ReportAllocs()
				defer cpuTime(b, mapEntries)()
				for b.Loop() {
					be, m := open()
					first.put(m, way == "touched")
					b.ReportMetric(float64(be.Bytes())/mapEntries, "B/entry")
					_ = be.Close()
				}
			})
			b.Run(fmt.Sprintf("keys=%d/full/%s", nkeys, way), func(b *testing.B) {
				be, m := open()
				defer be.Close()
				first.put(m, false)
				b.ReportAllocs()
				defer cpuTime(b, mapEntries)()
				for b.Loop() {
					again.put(m, way == "touched")
				}
			})
		}
		b.Run(fmt.Sprintf("keys=%d/fill/gomap", nkeys), func(b *testing.B) {
			defer cpuTime(b, mapEntries)()
			for b.Loop() {
				first.putGo(map[uint64]map[string]uint64{})
			}
		})
		b.Run(fmt.Sprintf("keys=%d/full/gomap", nkeys), func(b *testing.B) {
			m := map[uint64]map[string]uint64{}
			first.putGo(m)
			defer cpuTime(b, mapEntries)()
			for b.Loop() {
				again.putGo(m)
			}
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
