package bench

import (
	"bufio"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/state"
)

// wholeKeys is how many keys of 8 bytes with values of 96 the job has: 1 GB in all, without what the form adds.
const (
	wholeKeys  = 10_000_000
	wholeBytes = wholeKeys * (8 + 96)
)

// cell is the state of a key: a third of it is noise.
type cell struct{ Words [12]uint64 }

// keyed is the job's row.
type keyedRow struct{ Key, N int64 }

// driver is a source that does what the benchmark tells it.
type driver struct {
	order atomic.Int32 // what to send
	sent  atomic.Int64 // rows since the order was given
	seen  atomic.Int64 // rows that the function has taken
	used  atomic.Int64 // CPU time of the function's thread at that, in ns; at parallelism 1
	first atomic.Int64 // when the function took the first one, in ns since 1970
}

const (
	sendNothing   int32 = iota
	sendEach            // each key once
	sendRandom          // keys at random, as fast as they are taken
	sendHundredth       // each hundredth key once
	sendEnd
)

func (*driver) Name() string                       { return "driver" }
func (*driver) Boundedness() connector.Boundedness { return connector.Bounded }
func (d *driver) Enumerator(_ connector.EnumeratorContext, restored []byte) (connector.Enumerator, error) {
	return &onlyOne{gone: restored != nil && restored[0] == 1}, nil
}
func (d *driver) Reader(connector.ReaderContext) (connector.Reader[keyedRow], error) {
	return &driven{d: d, r: rand.New(rand.NewPCG(5, 6))}, nil
}

// onlyOne gives one reader the only split.
type onlyOne struct{ gone bool }

func (e *onlyOne) Next(int) (connector.Split, bool, bool, time.Duration, error) {
	if e.gone {
		return connector.Split{}, false, true, 0, nil
	}
	e.gone = true
	return connector.Split{ID: "all"}, true, false, 0, nil
}
func (e *onlyOne) Return(int, []connector.Split) { e.gone = false }
func (e *onlyOne) Snapshot() ([]byte, error) {
	if e.gone {
		return []byte{1}, nil
	}
	return []byte{0}, nil
}
func (e *onlyOne) Close() error { return nil }

type driven struct {
	d     *driver
	r     *rand.Rand
	split bool
}

func (r *driven) AddSplit(connector.Split) error { r.split = true; return nil }
func (r *driven) Poll(b *connector.Batch[keyedRow]) (string, connector.Status, error) {
	if !r.split {
		return "", connector.Done, nil
	}
	order, sent := r.d.order.Load(), r.d.sent.Load()
	n, out := int64(cap(b.Rows)), b.Rows[:0]
	switch order {
	case sendEach:
		for n = min(n, wholeKeys-sent); int64(len(out)) < n; {
			out = append(out, keyedRow{sent + int64(len(out)), 1})
		}
	case sendHundredth:
		for n = min(n, wholeKeys/100-sent); int64(len(out)) < n; {
			out = append(out, keyedRow{100 * (sent + int64(len(out))), 1})
		}
	case sendRandom:
		for int64(len(out)) < n {
			out = append(out, keyedRow{r.r.Int64N(wholeKeys), 1})
		}
	case sendEnd:
		r.split = false
		return "all", connector.SplitDone, nil
	default:
		n = 0
	}
	if n == 0 {
		return "all", connector.Waiting, nil
	}
	b.Rows = out
	r.d.sent.Add(n)
	return "all", connector.More, nil
}
func (r *driven) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Millisecond):
		return nil
	}
}
func (r *driven) Pause(map[string]bool) {}
func (r *driven) Snapshot() ([]connector.Split, error) {
	if !r.split {
		return nil, nil
	}
	return []connector.Split{{ID: "all"}}, nil
}
func (r *driven) Close() error { return nil }

// cells keeps a cell for each key.
type cells struct {
	d *driver
	v state.Value[cell]
	n int64
}

func (f *cells) Open(ctx *weir.KeyedContext[int64]) error {
	runtime.LockOSThread() // for threadCPU; the task's goroutine ends with its thread
	f.v = ctx.State(state.ValueOf[cell]("cell"))
	return nil
}

func (f *cells) Process(_ *weir.KeyedContext[int64], row keyedRow, _ weir.Out[keyedRow]) error {
	if f.n++; f.n == 1 {
		f.d.first.CompareAndSwap(0, time.Now().UnixNano())
	}
	f.v.Update(func(c *cell) {
		if c.Words[0] == 0 {
			x := uint64(row.Key)*0x9E3779B97F4A7C15 + 1
			for i := range c.Words {
				if c.Words[i] = uint64(i); i%3 == 0 {
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
					c.Words[i] = x
				}
			}
		}
		c.Words[1] += uint64(row.N)
	})
	if f.n&511 == 0 {
		f.d.seen.Add(512)
		f.d.used.Store(int64(threadCPU()))
	}
	return nil
}

// wholeJob is a job that runs, and where its metrics are.
type wholeJob struct {
	*weir.Job
	*driver
	b       *testing.B
	metrics string
	ended   chan struct{}
	taken   int64 // rows that sendAll has sent
}

func startWhole(b *testing.B, parallelism int, dir, from string, options ...string) *wholeJob {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	j := &wholeJob{driver: &driver{}, b: b, metrics: "http://" + addr + "/metrics", ended: make(chan struct{})}
	env := weir.NewEnv("whole").Parallelism(parallelism).Set("metrics.address", addr).Set("execution.checkpointing.dir", dir)
	if from != "" {
		env.Set("execution.state-recovery.path", from)
	}
	for i := 0; i < len(options); i += 2 {
		env.Set(options[i], options[i+1])
	}
	weir.From(env, "rows", j.driver).KeyBy(func(r keyedRow) int64 { return r.Key }).
		Process("cells", func() weir.KeyedProcess[int64, keyedRow, keyedRow] { return &cells{d: j.driver} }).
		To("sink", count[keyedRow]{new(int64)})
	j.Job = env.Start(b.Context())
	go func() { // ends with the job
		_, _ = j.Wait()
		close(j.ended)
	}()
	return j
}

func (j *wholeJob) send(order int32) {
	j.sent.Store(0)
	j.order.Store(order)
}

// sendAll sends all rows of an order, of the first ones that are sent, and waits until they were taken but for a few.
func (j *wholeJob) sendAll(order int32, rows int64) {
	j.send(order)
	for j.sent.Load() < rows || j.seen.Load()&^511 < (j.taken+rows)&^511 {
		j.running()
		time.Sleep(time.Millisecond)
	}
	j.taken += rows
	j.send(sendNothing)
}

// running fails the benchmark when the job has ended.
func (j *wholeJob) running() {
	select {
	case <-j.ended:
		_, err := j.Wait()
		j.b.Fatal("the job has ended: ", err)
	default:
	}
}

// rate returns the rows a second that the function takes while f runs, and the CPU time of its thread a row in ns.
func (j *wholeJob) rate(f func()) (perSecond, cpu float64) {
	began, seen, used := time.Now(), j.seen.Load(), j.used.Load()
	f()
	n := float64(j.seen.Load() - seen)
	return n / time.Since(began).Seconds(), float64(j.used.Load()-used) / n
}

func (j *wholeJob) end() {
	j.send(sendEnd)
	if _, err := j.Wait(); err != nil {
		j.b.Fatal(err)
	}
	debug.FreeOSMemory()
}

// gauge returns the largest sample of a metric.
func (j *wholeJob) gauge(name string) float64 {
	resp, err := http.Get(j.metrics)
	if err != nil {
		j.b.Fatal(err)
	}
	defer resp.Body.Close()
	most := -1.0
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		head, value, _ := strings.Cut(in.Text(), "} ")
		if head, _, _ = strings.Cut(head, "{"); !strings.HasSuffix(head, name) {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			most = max(most, v)
		}
	}
	return most
}

// quietLog keeps the log of jobs to warnings, until the returned function is called.
func quietLog() (end func()) {
	old := slog.SetLogLoggerLevel(slog.LevelWarn)
	return func() { slog.SetLogLoggerLevel(old) }
}

// BenchmarkWholeCheckpoint takes full snapshots (savepoints) of a job with ten million keys, one GB, while its rows go to random
// keys as fast as it can, and while it has none; then it restores the job at double parallelism. MB/s are of keys and values;
// x-stream is what the stream keeps of its throughput meanwhile, sync-ms how long the task stood still, cpu-ns/B the CPU time of
// the process for each byte of state while no rows come. Beside it: a plain write with sync, and a copy.
func BenchmarkWholeCheckpoint(b *testing.B) {
	defer quietLog()()
	for b.Loop() {
		dir := b.TempDir()
		plain := plainWrite(b, dir)
		j := startWhole(b, 1, dir+"/checkpoints", "")
		j.sendAll(sendEach, wholeKeys)
		path := ""
		save := func() time.Duration {
			if path != "" {
				_ = os.RemoveAll(path)
			}
			began := time.Now()
			var err error
			if path, err = j.Savepoint(b.Context(), dir+"/savepoints"); err != nil {
				b.Fatal(err)
			}
			return time.Since(began)
		}
		j.send(sendRandom)
		time.Sleep(time.Second)
		alone, aloneCPU := j.rate(func() { time.Sleep(3 * time.Second) })
		var took time.Duration
		beside, besideCPU := j.rate(func() { took = save() })
		after, _ := j.rate(func() { time.Sleep(2 * time.Second) })
		busy := j.gauge("checkpointSyncDurationNanos")
		j.send(sendNothing)
		time.Sleep(100 * time.Millisecond)
		cpu := processCPU()
		quiet := save()
		cpu = processCPU() - cpu
		b.ReportMetric(wholeBytes/took.Seconds()/1e6, "MB/s")
		b.ReportMetric(wholeBytes/quiet.Seconds()/1e6, "MB/s-quiet")
		b.ReportMetric(checkpointBytes/plain.Seconds()/1e6, "MB/s-bare")
		b.ReportMetric(alone/1e6, "Mrows/s-alone")
		b.ReportMetric(after/1e6, "Mrows/s-after")
		b.ReportMetric(beside/alone, "x-stream")
		b.ReportMetric(aloneCPU, "cpu-ns/row-alone")
		b.ReportMetric(besideCPU, "cpu-ns/row-beside")
		b.ReportMetric(busy/1e6, "sync-ms-busy")
		b.ReportMetric(j.gauge("checkpointSyncDurationNanos")/1e6, "sync-ms")
		b.ReportMetric(float64(cpu)/wholeBytes, "cpu-ns/B")
		j.end()

		cpu, began := processCPU(), time.Now()
		j = startWhole(b, 2, dir+"/restored", path)
		j.send(sendRandom)
		for j.first.Load() == 0 {
			j.running()
			time.Sleep(time.Millisecond)
		}
		restored := time.Duration(j.first.Load() - began.UnixNano())
		b.ReportMetric(wholeBytes/restored.Seconds()/1e6, "MB/s-restore")
		b.ReportMetric(float64(processCPU()-cpu)/wholeBytes, "cpu-ns/B-restore")
		j.end()
		from, to := make([]byte, 64<<20), make([]byte, 64<<20)
		began = time.Now()
		for range wholeBytes / len(from) {
			copy(to, from)
		}
		b.ReportMetric(wholeBytes/time.Since(began).Seconds()/1e6, "MB/s-copy")
	}
}

// BenchmarkWholeIncremental has a job with ten million keys take checkpoints, changes each hundredth key, and reports what the
// next checkpoints write, of what the full one has: bytes of objects.
func BenchmarkWholeIncremental(b *testing.B) {
	defer quietLog()()
	for b.Loop() {
		j := startWhole(b, 1, b.TempDir(), "", "execution.checkpointing.interval", "500 ms")
		j.sendAll(sendEach, wholeKeys)
		j.settled()
		full := j.gauge("lastCheckpointFullSize")
		j.sendAll(sendHundredth, wholeKeys/100)
		wrote := j.settled()
		b.ReportMetric(wrote/1e6, "MB")
		b.ReportMetric(full/1e6, "MB-full")
		b.ReportMetric(100*wrote/full, "%-of-full")
		b.ReportMetric(j.gauge("lastCheckpointDuration"), "ms")
		j.end()
	}
}

// settled waits for a checkpoint that has nothing to write, and returns what those before it have written.
func (j *wholeJob) settled() (wrote float64) {
	last, begin := j.gauge("lastCompletedCheckpointId"), j.gauge("lastCompletedCheckpointId")
	for {
		j.running()
		time.Sleep(20 * time.Millisecond)
		id := j.gauge("lastCompletedCheckpointId")
		if id == last {
			continue
		}
		last = id
		size := j.gauge("lastCheckpointSize")
		// The first one may have been cut before the last rows came.
		if wrote += size; size < 100_000 && id > begin+1 {
			return wrote - size
		}
	}
}
