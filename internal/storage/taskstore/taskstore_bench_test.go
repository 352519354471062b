package taskstore_test

import (
	"encoding/binary"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/objstore/local"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/storage/taskstore"
	"github.com/weir-stream/weir/internal/task"
)

const benchValue = 64

// benchKeys is how many keys of 8 bytes with values of 64 the benchmarks have: 1 GB are 14,000,000.
func benchKeys() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("WEIR_BENCH_KEYS"), 10, 64); err == nil {
		return n
	}
	return 1_000_000
}

var benchState = statebackend.Descriptor{Name: "v", Kind: statebackend.KindValue, Width: benchValue}

// filled is the state of all subtasks at parallelism p. Half of each value is random, so that it compresses as records do.
func filled(b *testing.B, p int) []statebackend.Keyed {
	out := make([]statebackend.Keyed, p)
	into := make([]statebackend.Value, p)
	for i := range out {
		out[i] = paged.NewBackend(statebackend.Config{KeyWidth: 8, Groups: keygroup.RangeOf(i, p)}, nil)
		var err error
		into[i], err = out[i].Value(benchState)
		must(b, err)
	}
	value, key := make([]byte, benchValue), make([]byte, 8)
	x := uint64(1)
	for i := range benchKeys() {
		binary.BigEndian.PutUint64(key, i)
		for at := 0; at < benchValue/2; at += 8 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			binary.LittleEndian.PutUint64(value[at:], x)
		}
		binary.LittleEndian.PutUint64(value[benchValue/2:], i)
		h := xxh3.Hash(key)
		into[keygroup.OwnerOfHash(h, p)].Put(statebackend.Key{Hash: h, Bytes: key}, nil, value)
	}
	return out
}

func benchPlaces(b *testing.B) storage.Config {
	store, err := local.New(fs.Real{}, b.TempDir(), "bench")
	must(b, err)
	return storage.Config{Store: store, Clock: clock.Real{}, Name: "job", ID: ids.JobID{1}, Writer: "m"}
}

// upload takes one checkpoint and returns the bytes written.
func upload(b *testing.B, master *storage.Job, tasks []*taskstore.Task, from []statebackend.Keyed, epoch ids.Epoch) int64 {
	d := &storage.Draft{Epoch: epoch, Operators: []storage.Operator{{Name: "op", Vertex: 1, Parallelism: len(from)}}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	written := int64(0)
	for i, k := range from {
		parts, err := statebackend.CutOf(k)
		must(b, err)
		wg.Add(1)
		s := &task.Snapshot{Barrier: event.Barrier{Epoch: uint64(epoch), Purpose: event.PurposeCheckpoint}, Ops: []task.OpSnapshot{{Cut: &operator.Cut{Parts: parts}, KeyWidth: 8}}}
		tasks[i].Upload(s, func(got storage.Stored, err error) {
			defer wg.Done()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Error(err)
			}
			written += got.Written
			d.Parts = append(d.Parts, storage.TaskPart{Task: ids.TaskID{Vertex: 1, Subtask: int32(i)}, Part: got.Part})
		})
	}
	wg.Wait()
	_, err := master.WriteManifest(ctx, d)
	must(b, err)
	return written
}

func benchTasks(up *taskstore.Uploader, p int) (out []*taskstore.Task) {
	for i := range p {
		out = append(out, up.Task(ids.TaskID{Vertex: 1, Subtask: int32(i)}, p, []string{"op"}))
	}
	return out
}

// BenchmarkFullCheckpoint: MB/s of keys and values, from the cut to the manifest on disk.
func BenchmarkFullCheckpoint(b *testing.B) {
	for _, p := range []int{1, 2} {
		b.Run("p="+strconv.Itoa(p), func(b *testing.B) {
			from := filled(b, p)
			cfg := benchPlaces(b)
			master, _, err := storage.Open(ctx, cfg)
			must(b, err)
			up := taskstore.NewUploader(taskstore.Config{Store: cfg.Store, Clock: cfg.Clock, JobName: "job", Term: 1, Generation: 1})
			defer up.Close()
			tasks := benchTasks(up, p)
			b.SetBytes(int64(benchKeys()) * (8 + benchValue))
			b.ReportAllocs()
			epoch, written := ids.Epoch(0), int64(0)
			for b.Loop() {
				epoch++
				written = upload(b, master, tasks, from, epoch)
				if epoch > 1 {
					must(b, master.Forget(ctx, epoch-1))
				}
			}
			b.ReportMetric(float64(written), "stored-B")
			for _, k := range from {
				k.Close()
			}
		})
	}
}

// BenchmarkRestore: MB/s of keys and values, of what p subtasks wrote into backends of twice as many.
func BenchmarkRestore(b *testing.B) {
	for _, p := range []int{1, 2} {
		b.Run("p="+strconv.Itoa(p), func(b *testing.B) {
			from := filled(b, p)
			cfg := benchPlaces(b)
			master, _, err := storage.Open(ctx, cfg)
			must(b, err)
			up := taskstore.NewUploader(taskstore.Config{Store: cfg.Store, Clock: cfg.Clock, JobName: "job", Term: 1, Generation: 1})
			upload(b, master, benchTasks(up, p), from, 1)
			up.Close()
			for _, k := range from {
				k.Close()
			}
			b.SetBytes(int64(benchKeys()) * (8 + benchValue))
			b.ReportAllocs()
			for b.Loop() {
				src, err := taskstore.Open(ctx, cfg.Store, nil, storage.Ref{Manifest: storage.ManifestName("job", 1)})
				must(b, err)
				var wg sync.WaitGroup
				for i := range 2 * p {
					wg.Go(func() { restoreInto(b, src, i, 2*p) })
				}
				wg.Wait()
			}
		})
	}
}

func restoreInto(b *testing.B, src *taskstore.Source, i, p int) {
	groups := keygroup.RangeOf(i, p)
	into := paged.NewBackend(statebackend.Config{KeyWidth: 8, Groups: groups}, nil)
	defer into.Close()
	r, err := src.Op("op", true, i, p)
	if err != nil {
		b.Error(err)
		return
	}
	sinks, err := transfer.Sinks(into, r.States)
	if err == nil {
		err = r.Load(groups, map[string]transfer.Sink{"v": sinks[r.States[0].ID]}, func(*snapshot.State) (transfer.Sink, error) { panic("all states are opened") })
	}
	if err != nil {
		b.Error(err)
	}
}
