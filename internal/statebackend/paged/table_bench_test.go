package paged

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"
)

type acc struct {
	count, sum int64
}

// rows is how many rows one measured pass updates. Keys are drawn uniformly, the order is the same for all contenders.
const rows = 1 << 20

type load struct {
	keys   []uint64
	hashes []uint64
}

func newLoad(nkeys int) load {
	r := rand.New(rand.NewPCG(1, 2))
	l := load{make([]uint64, rows), make([]uint64, rows)}
	for i := range l.keys {
		l.keys[i] = uint64(r.IntN(nkeys))
		l.hashes[i] = hash64(l.keys[i])
	}
	return l
}

func fill(nkeys int) *Table {
	t := New(Config{KeyWidth: 8, ValueWidth: int(unsafe.Sizeof(acc{}))})
	for k := range uint64(nkeys) {
		t.Upsert64(hash64(k), k)
	}
	return t
}

const batchRows = 512

// BenchmarkCountSum is count and sum by an int64 key, in nanoseconds a row, beside a bare array (the key is the index)
// and Go maps.
func BenchmarkCountSum(b *testing.B) {
	for _, nkeys := range []int{1000, 100_000, 10_000_000} {
		l := newLoad(nkeys)
		table := fill(nkeys)
		report := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		}
		b.Run(fmt.Sprintf("keys=%d/array", nkeys), func(b *testing.B) {
			a := make([]acc, nkeys)
			for b.Loop() {
				for _, k := range l.keys {
					a[k].count++
					a[k].sum += int64(k)
				}
			}
			report(b)
		})
		b.Run(fmt.Sprintf("keys=%d/scalar", nkeys), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i, k := range l.keys {
					v, _ := table.Upsert64(l.hashes[i], k)
					a := (*acc)(v)
					a.count++
					a.sum += int64(k)
				}
			}
			report(b)
		})
		b.Run(fmt.Sprintf("keys=%d/batch", nkeys), func(b *testing.B) {
			b.ReportAllocs()
			out := make([]unsafe.Pointer, batchRows)
			for b.Loop() {
				for lo := 0; lo < rows; lo += batchRows {
					ks := l.keys[lo : lo+batchRows]
					table.UpsertBatch64(l.hashes[lo:lo+batchRows], ks, out, nil)
					for i, k := range ks {
						a := (*acc)(out[i])
						a.count++
						a.sum += int64(k)
					}
				}
			}
			report(b)
		})
		table.Close()
		b.Run(fmt.Sprintf("keys=%d/gomap", nkeys), func(b *testing.B) {
			m := make(map[int64]*acc, nkeys)
			for k := range nkeys {
				m[int64(k)] = &acc{}
			}
			for b.Loop() {
				for _, k := range l.keys {
					a := m[int64(k)]
					a.count++
					a.sum += int64(k)
				}
			}
			report(b)
		})
	}
}

// BenchmarkStringKeys is count and sum by a string key "user-<n>"; the hash is computed in the measured part.
func BenchmarkStringKeys(b *testing.B) {
	const nkeys = 100_000
	l := newLoad(nkeys)
	var buf []byte
	offsets := []uint32{0}
	strs := make([]string, rows)
	for i, k := range l.keys {
		buf = fmt.Appendf(buf, "user-%d", k)
		offsets = append(offsets, uint32(len(buf)))
		strs[i] = string(buf[offsets[i]:])
	}
	report := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	}
	b.Run("batch", func(b *testing.B) {
		b.ReportAllocs()
		t := New(Config{ValueWidth: 16})
		defer t.Close()
		out, hashes := make([]unsafe.Pointer, batchRows), make([]uint64, batchRows)
		for b.Loop() {
			for lo := 0; lo < rows; lo += batchRows {
				off := offsets[lo : lo+batchRows+1]
				for i := range hashes {
					hashes[i] = xxh3.Hash(buf[off[i]:off[i+1]])
				}
				t.UpsertBatch(hashes, buf, off, out, nil)
				for i := range out {
					a := (*acc)(out[i])
					a.count++
					a.sum += int64(lo)
				}
			}
		}
		report(b)
	})
	b.Run("scalar", func(b *testing.B) {
		t := New(Config{ValueWidth: 16})
		defer t.Close()
		for b.Loop() {
			for i := range rows {
				k := buf[offsets[i]:offsets[i+1]]
				v, _ := t.Upsert(xxh3.Hash(k), k)
				a := (*acc)(v)
				a.count++
				a.sum += int64(i)
			}
		}
		report(b)
	})
	b.Run("gomap", func(b *testing.B) {
		m := map[string]*acc{}
		for b.Loop() {
			for i, k := range strs {
				a := m[k]
				if a == nil {
					a = &acc{}
					m[k] = a
				}
				a.count++
				a.sum += int64(i)
			}
		}
		report(b)
	})
}

// BenchmarkLoad inserts ten million keys and reports the cost of a key, the longest pause of growing (in CPU time, so that
// a busy machine does not blur it) and a full garbage collection afterwards. Fresh memory costs the page faults besides.
func BenchmarkLoad(b *testing.B) {
	const nkeys = 10_000_000
	pool := &Pool{IdleMax: 1 << 30}
	for _, memory := range []string{"fresh", "warm"} {
		b.Run(memory, func(b *testing.B) {
			runtime.LockOSThread() // for threadTime; a benchmark has a goroutine of its own
			defer runtime.UnlockOSThread()
			for b.Loop() {
				t := New(Config{KeyWidth: 8, ValueWidth: 16, Pool: pool})
				var longest time.Duration
				for k := range uint64(nkeys) {
					h := hash64(k)
					if s := t.segmentOf(h); s.n < s.notice {
						t.Upsert64(h, k)
						continue
					}
					begin := threadTime()
					t.Upsert64(h, k)
					longest = max(longest, threadTime()-begin)
				}
				b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest-growth")
				begin := time.Now()
				runtime.GC()
				b.ReportMetric(float64(time.Since(begin).Microseconds())/1000, "ms-full-GC")
				b.ReportMetric(float64(t.Bytes())/nkeys, "B/key")
				t.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nkeys, "ns/key")
		})
	}
}

// BenchmarkSmallTables is the life of a window's table: open, a few keys, close.
func BenchmarkSmallTables(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t := New(Config{KeyWidth: 8, ValueWidth: 16})
		for k := range uint64(4) {
			t.Upsert64(k<<60, k)
		}
		t.Close()
	}
}

// BenchmarkWindows fills a table with 100,000 keys, visits all and resets it, as the table of a window is used.
func BenchmarkWindows(b *testing.B) {
	const nkeys = 100_000
	t := New(Config{KeyWidth: 8, ValueWidth: 16})
	defer t.Close()
	hashes, keys, out := make([]uint64, nkeys), make([]uint64, nkeys), make([]unsafe.Pointer, batchRows)
	for k := range keys {
		keys[k], hashes[k] = uint64(k), hash64(uint64(k))
	}
	b.ReportAllocs()
	for b.Loop() {
		for lo := 0; lo+batchRows <= nkeys; lo += batchRows {
			t.UpsertBatch64(hashes[lo:lo+batchRows], keys[lo:lo+batchRows], out, nil)
		}
		n := 0
		t.All(func(uint64, []byte, unsafe.Pointer) bool { n++; return true })
		t.Reset()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nkeys, "ns/key")
}
