package bench

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/lsm"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// lsmValue is the size of a value in the benchmark of state on disk.
const lsmValue = 100

// BenchmarkStateOnDisk loads keys of eight bytes with values of 100 into an lsm state whose caches have a tenth of that,
// and then updates values in place, the keys drawn by a zipf distribution (0.99) whose ranks are scattered over all keys. A
// cut is taken in the middle and read beside. WEIR_BENCH_KEYS is the number of keys, else two million. The bare loop does the
// same updates in a table in memory; the disk metric is what writing as many bytes as the keys have takes.
func BenchmarkStateOnDisk(b *testing.B) {
	keys := uint64(2_000_000)
	if n, err := strconv.ParseUint(os.Getenv("WEIR_BENCH_KEYS"), 10, 64); err == nil {
		keys = n
	}
	const updates = 2_000_000
	dir := b.TempDir()
	raw := int64(keys) * (8 + lsmValue)
	store, err := lsm.Open(lsm.Config{FS: fs.Real{}, Dir: dir, Cache: raw / 10})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	backend, err := store.Backend(statebackend.Config{KeyWidth: 8})
	if err != nil {
		b.Fatal(err)
	}
	defer backend.Close()
	table := paged.NewBackend(statebackend.Config{KeyWidth: 8}, nil)
	defer table.Close()
	d := statebackend.Descriptor{Name: "v", Width: lsmValue}
	onDisk, err := backend.Value(d)
	if err != nil {
		b.Fatal(err)
	}
	inMemory, err := table.Value(d)
	if err != nil {
		b.Fatal(err)
	}
	load := measure(func() { fillState(onDisk, keys) })
	fillState(inMemory, keys)
	disk := measure(func() { writeRaw(b, filepath.Join(dir, "raw"), raw) })
	var engine, bare, cut cost
	seed := uint64(1)
	for b.Loop() {
		bare = bare.plus(measure(func() { updateZipf(inMemory, keys, updates, seed) }))
		engine = engine.plus(measure(func() { updateZipf(onDisk, keys, updates, seed) }))
		seed++
		cut = cut.plus(measure(func() { readCut(b, backend, keys) }))
	}
	if err := backend.Err(); err != nil {
		b.Fatal(err)
	}
	n := int64(updates) * int64(b.N)
	report(b, n, engine, bare)
	b.ReportMetric(float64(n)/engine.wall.Seconds(), "updates/s")
	b.ReportMetric(float64(n)/engine.cpu.Seconds(), "updates/cpu-s")
	b.ReportMetric(float64(load.cpu.Nanoseconds())/float64(keys), "cpu-ns/load")
	b.ReportMetric(float64(raw)*float64(b.N)/cut.wall.Seconds()/1e6, "cut-MB/s")
	b.ReportMetric(float64(raw)/disk.wall.Seconds()/1e6, "disk-MB/s")
}

func stateKey(n uint64) (statebackend.Key, [8]byte) {
	var k [8]byte
	binary.LittleEndian.PutUint64(k[:], n)
	return statebackend.Key{Hash: xxh3.Hash(k[:])}, k
}

func fillState(v statebackend.Value, keys uint64) {
	var value [lsmValue]byte
	r := rand.New(rand.NewPCG(1, 2))
	for i := range keys {
		k, kb := stateKey(i)
		k.Bytes = kb[:]
		binary.LittleEndian.PutUint64(value[8:], r.Uint64())
		v.Put(k, nil, value[:])
	}
}

func updateZipf(v statebackend.Value, keys uint64, n int, seed uint64) {
	z := newZipf(keys, 0.99, rand.New(rand.NewPCG(seed, 7)))
	for range n {
		k, kb := stateKey(z.next())
		k.Bytes = kb[:]
		p, _ := v.Ref(k, nil)
		*(*uint64)(unsafe.Pointer(p))++
	}
}

func readCut(b *testing.B, k statebackend.Keyed, keys uint64) {
	parts, err := statebackend.CutOf(k)
	if err != nil {
		b.Fatal(err)
	}
	var n uint64
	err = statebackend.Each(parts[0].Data, keygroup.All(), func(statebackend.Key, []byte, []byte, []byte) bool { n++; return true })
	parts[0].Data.Release()
	if err != nil || n != keys {
		b.Fatalf("the cut has %d keys of %d: %v", n, keys, err)
	}
}

func writeRaw(b *testing.B, name string, n int64) {
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(name)
	defer f.Close()
	chunk := make([]byte, 1<<20)
	for ; n > 0; n -= int64(len(chunk)) {
		if _, err := f.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil && err != io.EOF {
		b.Fatal(err)
	}
}

// zipf draws ranks below n with probability proportional to 1/(rank+1)^theta, theta < 1, by Gray's method, and scatters
// them over [0, n).
type zipf struct {
	r                 *rand.Rand
	n                 uint64
	theta, alpha, eta float64
	zetan             float64
}

func newZipf(n uint64, theta float64, r *rand.Rand) *zipf {
	zeta := func(n uint64) (sum float64) {
		for i := uint64(1); i <= min(n, 1000); i++ {
			sum += math.Pow(float64(i), -theta)
		}
		if n > 1000 { // the rest by the integral
			sum += (math.Pow(float64(n)+0.5, 1-theta) - math.Pow(1000.5, 1-theta)) / (1 - theta)
		}
		return sum
	}
	z := &zipf{r: r, n: n, theta: theta, zetan: zeta(n), alpha: 1 / (1 - theta)}
	z.eta = (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zeta(2)/z.zetan)
	return z
}

func (z *zipf) next() uint64 {
	u := z.r.Float64()
	uz := u * z.zetan
	var rank uint64
	switch {
	case uz < 1:
	case uz < 1+math.Pow(0.5, z.theta):
		rank = 1
	default:
		rank = min(uint64(float64(z.n)*math.Pow(z.eta*u-z.eta+1, z.alpha)), z.n-1)
	}
	return rank * 2654435761 % z.n // a prime, so one to one
}
