package bench

import (
	"bufio"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

const (
	// checkpointKeys values of checkpointWidth bytes are one GB, keys included.
	checkpointKeys  = 8_000_000
	checkpointWidth = 120
	checkpointBytes = checkpointKeys * (8 + checkpointWidth)
	checkpointBatch = 512
)

// bigState is an operator's state of one GB: half of each value is text that compresses, half is noise.
type bigState struct {
	backend *paged.Backend
	value   statebackend.BatchValue
	hashes  []uint64
	keys    []uint64
	out     []unsafe.Pointer
	at      int
	mu      sync.Mutex // for the moment of a cut, which a task takes between two batches
}

func newBigState(b *testing.B) *bigState {
	s := &bigState{backend: paged.NewBackend(statebackend.Config{KeyWidth: 8}, nil)}
	v, err := s.backend.Value(statebackend.Descriptor{Name: "v", Width: checkpointWidth})
	if err != nil {
		b.Fatal(err)
	}
	s.value = v.(statebackend.BatchValue)
	v.(statebackend.Expecter).Expect(float64(checkpointKeys) / keygroup.Count)
	r := rand.New(rand.NewPCG(1, 2))
	var key [8]byte
	for i := range uint64(checkpointKeys) {
		binary.LittleEndian.PutUint64(key[:], i)
		p, _ := v.Ref(statebackend.Key{Hash: xxh3.Hash(key[:]), Bytes: key[:]}, nil)
		words := (*[checkpointWidth / 8]uint64)(p)
		for w := range words {
			words[w] = uint64(w)
			if w%2 == 0 {
				words[w] = r.Uint64()
			}
		}
	}
	const rows = 1 << 20
	for range rows {
		k := r.Uint64N(checkpointKeys)
		binary.LittleEndian.PutUint64(key[:], k)
		s.keys, s.hashes = append(s.keys, k), append(s.hashes, xxh3.Hash(key[:]))
	}
	s.out = make([]unsafe.Pointer, checkpointBatch)
	return s
}

// update adds to the values of a batch of random keys.
func (s *bigState) update() {
	s.value.Refs64(s.hashes[s.at:s.at+checkpointBatch], s.keys[s.at:s.at+checkpointBatch], s.out, nil)
	for _, p := range s.out {
		*(*uint64)(p)++
	}
	s.at = (s.at + checkpointBatch) % len(s.keys)
}

// processCPU returns the CPU time of the process so far.
func processCPU() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCheckpoint writes a full checkpoint of one GB to a file, with its sync, while updates at random keys go on, beside
// a plain write of as many bytes. x-stream is what the stream keeps of its throughput meanwhile, by the clock and by the CPU time
// of its thread, which other load does not blur; cpu-ns/B is all CPU time of the process while nothing else runs, for each byte of state.
func BenchmarkCheckpoint(b *testing.B) {
	s := newBigState(b)
	defer s.backend.Close()
	dir := b.TempDir()
	plain := plainWrite(b, dir)
	for b.Loop() {
		alone, quietCPU := s.rate(func() { time.Sleep(time.Second) })
		var took time.Duration
		beside, busyCPU := s.rate(func() { took = s.save(b, filepath.Join(dir, "object")) })
		cpu := processCPU()
		quiet := s.save(b, filepath.Join(dir, "object"))
		cpu = processCPU() - cpu
		b.ReportMetric(checkpointBytes/took.Seconds()/1e6, "MB/s")
		b.ReportMetric(checkpointBytes/quiet.Seconds()/1e6, "MB/s-quiet")
		b.ReportMetric(beside/alone, "x-stream")
		b.ReportMetric(quietCPU/busyCPU, "x-stream-cpu")
		b.ReportMetric(float64(cpu)/checkpointBytes, "cpu-ns/B")
		b.ReportMetric(checkpointBytes/plain.Seconds()/1e6, "MB/s-bare")
	}
}

// rate returns the updates a second while f runs on another goroutine, and the CPU time of an update in ns.
func (s *bigState) rate(f func()) (perSecond, cpu float64) {
	runtime.LockOSThread() // for threadCPU
	defer runtime.UnlockOSThread()
	var stop atomic.Bool
	go func() {
		f()
		stop.Store(true)
	}()
	begin, used, n := time.Now(), threadCPU(), 0
	for !stop.Load() {
		s.mu.Lock()
		s.update()
		s.mu.Unlock()
		n += checkpointBatch
	}
	return float64(n) / time.Since(begin).Seconds(), float64(threadCPU()-used) / float64(n)
}

// save cuts and writes.
func (s *bigState) save(b *testing.B, name string) time.Duration {
	begin := time.Now()
	s.mu.Lock()
	parts, err := s.backend.Cut()
	s.mu.Unlock()
	if err != nil {
		b.Error(err)
		return 0
	}
	defer parts[0].Data.Release()
	parts[0].State.ID = 1
	f, err := os.Create(name)
	if err != nil {
		b.Error(err)
		return 0
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if _, err = transfer.SaveParts(w, parts, keygroup.All(), transfer.Options{Drain: true}); err == nil {
		if err = w.Flush(); err == nil {
			err = f.Sync()
		}
	}
	if err != nil {
		b.Error(err)
	}
	return time.Since(begin)
}

// plainWrite is how long the disk takes for as many bytes.
func plainWrite(b *testing.B, dir string) time.Duration {
	block := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range block {
		block[i] = byte(r.Uint32())
	}
	f, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	begin := time.Now()
	for range checkpointBytes >> 20 {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begin)
	_ = os.Remove(f.Name())
	return took
}

// BenchmarkRestore loads one GB that one subtask wrote into two subtasks at once, beside a copy of as many bytes.
func BenchmarkRestore(b *testing.B) {
	s := newBigState(b)
	name := filepath.Join(b.TempDir(), "object")
	s.save(b, name)
	_ = s.backend.Close()
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	from, to := make([]byte, 64<<20), make([]byte, 64<<20)
	begin := time.Now()
	for range checkpointBytes / len(from) {
		copy(to, from)
	}
	bare := time.Since(begin)
	states := []snapshot.State{{ID: 1, Name: "v", Kind: snapshot.KindValue, Width: checkpointWidth}}
	for b.Loop() {
		cpu, begin := processCPU(), time.Now()
		var all sync.WaitGroup
		for i := range 2 {
			all.Go(func() {
				groups := keygroup.RangeOf(i, 2)
				into := paged.NewBackend(statebackend.Config{KeyWidth: 8, Groups: groups}, nil)
				defer into.Close()
				sinks, err := transfer.Sinks(into, states)
				if err == nil {
					var r *snapshot.Reader
					if r, err = snapshot.NewReader(f, info.Size()); err == nil {
						err = transfer.Load(r, groups, 8, sinks)
					}
				}
				if err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		b.ReportMetric(checkpointBytes/time.Since(begin).Seconds()/1e6, "MB/s")
		b.ReportMetric(float64(processCPU()-cpu)/checkpointBytes, "cpu-ns/B")
		b.ReportMetric(checkpointBytes/bare.Seconds()/1e6, "MB/s-bare")
	}
}
