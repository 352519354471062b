package bench

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator/keyedstate"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/timer"
	"github.com/weir-stream/weir/state"
)

const (
	stateKeys = 10_000_000
	// stateAhead is how many rows ahead the runtime tells states of their keys.
	stateAhead = 64
	// stateSlice is how many updates are timed at a time.
	stateSlice = 1 << 14
)

// threadCPU returns the CPU time of the calling thread: a busy machine does not blur it as it does the clock.
func threadCPU() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// keyStore is a function's state store over a paged backend, and random keys in the form in which the runtime brings them.
type keyStore struct {
	backend *paged.Backend
	store   *keyedstate.Store
	place   keyedstate.Place
	keys    []byte
	hashes  []uint64
	at      int
}

func newKeyStore(keys uint64) *keyStore {
	s := &keyStore{backend: paged.NewBackend(statebackend.Config{KeyWidth: 8}, nil)}
	s.store = keyedstate.New(s.backend, &s.place)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1 << 20 {
		s.keys = binary.LittleEndian.AppendUint64(s.keys, r.Uint64N(keys))
		s.hashes = append(s.hashes, xxh3.Hash(s.keys[8*i:]))
	}
	return s
}

// fill calls f with each of the keys at work, in order.
func (s *keyStore) fill(keys uint64, f func(i uint64)) {
	var k [8]byte
	for i := range keys {
		binary.LittleEndian.PutUint64(k[:], i)
		s.place.At(xxh3.Hash(k[:]), k[:])
		f(i)
	}
}

// update calls f with n random keys at work, as the runtime does for the rows of a batch.
func (s *keyStore) update(n int, f func()) {
	for range n / stateAhead {
		hashes := s.hashes[s.at : s.at+stateAhead]
		s.store.Touch(hashes)
		for i, h := range hashes {
			at := 8 * (s.at + i)
			s.place.At(h, s.keys[at:at+8:at+8])
			f()
		}
		s.at = (s.at + stateAhead) % len(s.hashes)
	}
}

func opened[H any](b *testing.B, s *keyStore, d state.Descriptor[H]) H {
	b.Helper()
	h, err := state.Open(s.store, d)
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// countSum is a value of 16 bytes, session one that holds text.
type (
	countSum struct{ Count, Sum int64 }
	session  struct {
		User       string
		Seen, Last int64
	}
)

// BenchmarkStateUpdate changes the value of random keys among ten million through a value state's handle: 16 bytes in place,
// and a struct with a string that is decoded and encoded. x-busy is what an update costs, of a quiet one, while a snapshot is
// written to a file by another goroutine; the log has the curve of that time in ten slices. Beside it the same in an array
// whose index is the key, which knows no other keys.
func BenchmarkStateUpdate(b *testing.B) {
	b.Run("in place", func(b *testing.B) {
		s := newKeyStore(stateKeys)
		v := opened(b, s, state.ValueOf[countSum]("v"))
		s.fill(stateKeys, func(uint64) { v.Set(countSum{}) })
		array := make([]countSum, stateKeys)
		stateUpdate(b, s, func() {
			v.Update(func(c *countSum) { c.Count++; c.Sum += 7 })
		}, func(key uint64) {
			array[key].Count++
			array[key].Sum += 7
		})
	})
	b.Run("struct", func(b *testing.B) {
		s := newKeyStore(stateKeys)
		v := opened(b, s, state.ValueOf[session]("v"))
		s.fill(stateKeys, func(i uint64) { v.Set(session{User: fmt.Sprintf("user-%08d", i)}) })
		array := make([]session, stateKeys)
		stateUpdate(b, s, func() {
			v.Update(func(c *session) { c.Seen++; c.Last += 7 })
		}, func(key uint64) {
			array[key].Seen++
			array[key].Last += 7
		})
	})
}

func stateUpdate(b *testing.B, s *keyStore, change func(), bare func(key uint64)) {
	defer s.backend.Close()
	runtime.GC()
	runtime.LockOSThread() // for threadCPU
	defer runtime.UnlockOSThread()
	name := filepath.Join(b.TempDir(), "object")
	const quietRows = 1 << 21
	timed := func(n int, f func()) float64 {
		begin := threadCPU()
		s.update(n, f)
		return float64(threadCPU()-begin) / float64(n)
	}
	for b.Loop() {
		var mem, after runtime.MemStats
		runtime.ReadMemStats(&mem)
		quiet := timed(quietRows, change)
		runtime.ReadMemStats(&after)
		begin := threadCPU()
		for i := range len(s.hashes) {
			bare(binary.LittleEndian.Uint64(s.keys[8*i:]))
		}
		array := float64(threadCPU()-begin) / float64(len(s.hashes))
		written := writeCut(b, s.backend, name)
		var slices []float64
		for done := false; !done; {
			slices = append(slices, timed(stateSlice, change))
			select {
			case err := <-written:
				if done = true; err != nil {
					b.Fatal(err)
				}
			default:
			}
		}
		curve, mean := tenths(slices)
		b.Logf("ns an update: quiet %.0f; while a snapshot is written, in tenths of that time: %.0f", quiet, curve)
		b.ReportMetric(quiet, "cpu-ns/update")
		b.ReportMetric(float64(after.Mallocs-mem.Mallocs)/quietRows, "allocs/update")
		b.ReportMetric(array, "bare-cpu-ns/update")
		b.ReportMetric(quiet/array, "x-bare")
		b.ReportMetric(mean, "cpu-ns/busy")
		b.ReportMetric(mean/quiet, "x-busy")
		b.ReportMetric(curve[0]/quiet, "x-busy-first")
	}
}

// writeCut cuts the state and has another goroutine write it to a file, as a checkpoint does.
func writeCut(b *testing.B, backend *paged.Backend, name string) <-chan error {
	parts, err := backend.Cut()
	if err != nil {
		b.Fatal(err)
	}
	for i := range parts {
		parts[i].State.ID = uint32(i + 1)
	}
	done := make(chan error, 1)
	go func() {
		f, err := os.Create(name)
		if err == nil {
			w := bufio.NewWriterSize(f, 1<<20)
			if _, err = transfer.SaveParts(w, parts, keygroup.All(), transfer.Options{Drain: true}); err == nil {
				err = w.Flush()
			}
			f.Close()
		}
		for _, p := range parts {
			p.Data.Release()
		}
		done <- err
	}()
	return done
}

// tenths averages figures over each tenth of them.
func tenths(figures []float64) (curve []float64, mean float64) {
	curve = make([]float64, 10)
	for i := range curve {
		from := i * len(figures) / 10
		to := max(from+1, (i+1)*len(figures)/10)
		for _, f := range figures[from:to] {
			curve[i] += f / float64(to-from)
		}
		mean += curve[i] / 10
	}
	return curve, mean
}

// BenchmarkStateMapPut makes and changes entries with string keys in a map state until it has had a million puts, all for one key
// of the stream or spread over 100,000, in a state that begins empty. Beside it: Go maps of Go maps.
func BenchmarkStateMapPut(b *testing.B) {
	const entries = 1_000_000
	for _, keys := range []uint64{1, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			names := make([]string, entries)
			r := rand.New(rand.NewPCG(3, 4))
			for i := range names {
				names[i] = fmt.Sprintf("item-%d", r.IntN(4*entries)) // few come twice
			}
			var making, changing, bare time.Duration
			for b.Loop() {
				s, next := newKeyStore(keys), 0
				m := opened(b, s, state.MapOf[string, int64]("m"))
				put := func() {
					m.Put(names[next], int64(next))
					next++
				}
				pass := func() time.Duration {
					begin := threadCPU()
					s.at, next = 0, 0
					s.update(entries, put)
					return threadCPU() - begin
				}
				runtime.LockOSThread()
				making += pass()
				changing += pass()
				_ = s.backend.Close()
				begin := threadCPU()
				maps := map[uint64]map[string]int64{}
				for i, n := range names {
					k := binary.LittleEndian.Uint64(s.keys[8*i:])
					if maps[k] == nil {
						maps[k] = map[string]int64{}
					}
					maps[k][n] = int64(i)
				}
				bare += threadCPU() - begin
				runtime.UnlockOSThread()
			}
			each := func(d time.Duration, unit string) { b.ReportMetric(float64(d)/float64(b.N)/entries, unit) }
			each(making, "cpu-ns/put")
			each(changing, "cpu-ns/change")
			each(bare, "bare-cpu-ns/put")
			b.ReportMetric(float64(making)/float64(bare), "x-bare")
		})
	}
}

// BenchmarkStateTimers registers ten million timers and fires all of them, at random times and at the ends of ten windows. Beside
// it: a copy of as many records of 24 bytes, which is what has to be kept of a timer at least.
func BenchmarkStateTimers(b *testing.B) {
	const n = 10_000_000
	keys, hashes := make([]byte, 8*n), make([]uint64, n)
	for i := range n {
		binary.LittleEndian.PutUint64(keys[8*i:], uint64(i))
		hashes[i] = xxh3.Hash(keys[8*i : 8*i+8])
	}
	r := rand.New(rand.NewPCG(3, 4))
	times := make([]int64, n)
	for _, c := range []struct {
		name string
		time func(i int) int64
	}{
		{"window ends", func(i int) int64 { return int64(i/(n/10)+1) * 60_000 }},
		{"random", func(int) int64 { return r.Int64N(n) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for i := range times {
				times[i] = c.time(i)
			}
			var took, bare time.Duration
			for b.Loop() {
				runtime.LockOSThread()
				begin := threadCPU()
				s, fired := timer.New(nil), 0
				for i, t := range times {
					s.Register(statebackend.Key{Hash: hashes[i], Bytes: keys[8*i : 8*i+8]}, nil, t)
				}
				err := s.Advance(math.MaxInt64, func(statebackend.Key, []byte, int64) error { fired++; return nil })
				s.Close()
				if err != nil || fired != n {
					b.Fatalf("fired %d: %v", fired, err)
				}
				took += threadCPU() - begin
				begin = threadCPU()
				records := make([][3]uint64, n)
				for i := range records {
					records[i] = [3]uint64{uint64(times[i]), hashes[i], binary.LittleEndian.Uint64(keys[8*i:])}
				}
				keep += int64(records[n/2][0])
				bare += threadCPU() - begin
				runtime.UnlockOSThread()
			}
			b.ReportMetric(float64(took)/float64(b.N)/n, "cpu-ns/timer")
			b.ReportMetric(float64(bare)/float64(b.N)/n, "bare-cpu-ns/timer")
			b.ReportMetric(float64(took)/float64(bare), "x-bare")
		})
	}
}
