package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
)

const (
	latencyKeys     = 1_000_000
	latencyParallel = 2
	latencyWarm     = 4 * time.Second // before latencies are taken: all keys are there by then
	// latencyRateEnv fixes the rate in rows a second, instead of half of what the job reaches.
	latencyRateEnv = "WEIR_BENCH_RATE"
	// latencyShortEnv leaves out what stands beside the job, and is short.
	latencyShortEnv = "WEIR_BENCH_SHORT"
)

// latencyRun is how long latencies are taken.
var latencyRun = func() time.Duration {
	if os.Getenv(latencyShortEnv) != "" {
		return 8 * time.Second
	}
	return 25 * time.Second
}()

// stamped is a row with the moment at which it was due, in ns since the benchmark began.
type stamped struct{ Key, Count, Due int64 }

// BenchmarkStateLatency is the time of a row from the generator to the sink of a job that counts a million keys, at half of
// the rate that the same job reaches: two sources, a keyed exchange, two counting tasks with their sinks. A checkpoint is
// taken each second, to the local disk. The time begins when the row was due, not when it was generated, so that a stall
// counts for every row that it held up.
//
// Beside it: the same without checkpoints (none-), a loop that does the same without an engine (bare-), and what stalls the
// machine itself: a goroutine of the process of the engine (go-) and a process of its own (os-) that only look at the clock
// each millisecond, while the job with checkpoints runs.
func BenchmarkStateLatency(b *testing.B) {
	old := slog.SetLogLoggerLevel(slog.LevelWarn)
	defer slog.SetLogLoggerLevel(old)
	for b.Loop() {
		rate := latencyRate(b)
		debug.FreeOSMemory()
		outer := startStallMeter(b)
		inner := startStalls(latencyWarm)
		cpu, waited := processCPU(), runDelay()
		got := runLatency(b, rate, latencyRun, true)
		cpu, waited = processCPU()-cpu, runDelay()-waited
		stalls, machine := inner.stop(), outer.stop(b)
		debug.FreeOSMemory()
		none, bare := &latencies{}, &latencies{}
		if os.Getenv(latencyShortEnv) == "" {
			none = runLatency(b, rate, latencyRun, false)
			bare = bareLatency(rate, 5*time.Second)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(got.rate()/1e6, "Mrows/s")
		b.ReportMetric(float64(got.n)/1e6, "Mrows")
		b.ReportMetric(float64(got.checkpoints), "checkpoints")
		b.ReportMetric(cpu.Seconds()/(latencyRun+latencyWarm).Seconds(), "cores")
		b.ReportMetric(waited.Seconds()/(latencyRun+latencyWarm).Seconds(), "cores-waited-for")
		for _, q := range []float64{50, 99, 99.99, 100} {
			for _, of := range []struct {
				name string
				l    *latencies
			}{{"", got}, {"none-", none}, {"bare-", bare}, {"go-", stalls}, {"os-", machine}} {
				b.ReportMetric(of.l.quantile(q).Seconds()*1e3, fmt.Sprintf("ms-%sp%v", of.name, q))
			}
		}
		got.explain(b)
	}
}

// latencyRate is half of what the job reaches.
func latencyRate(b *testing.B) float64 {
	if s := os.Getenv(latencyRateEnv); s != "" {
		rate, err := strconv.ParseFloat(s, 64)
		if err != nil {
			b.Fatal(err)
		}
		return rate
	}
	most := runLatency(b, 0, 5*time.Second, true)
	b.ReportMetric(most.rate()/1e6, "Mrows/s-max")
	return most.rate() / 2
}

// runLatency runs the job for a while at a rate; 0 is as fast as it can.
func runLatency(b *testing.B, rate float64, d time.Duration, checkpoints bool) *latencies {
	l := &latencies{}
	src := pacer{began: time.Now(), rate: rate, until: latencyWarm + d}
	env := weir.NewEnv("latency").Parallelism(latencyParallel).Set("restart-strategy.type", "none")
	if checkpoints {
		env.EnableCheckpointing(time.Second).Set("execution.checkpointing.dir", b.TempDir())
	}
	weir.From(env, "rows", src).KeyBy(func(r stamped) int64 { return r.Key }).
		Reduce("count", func(have, row stamped) stamped {
			return stamped{have.Key, have.Count + row.Count, row.Due}
		}).To("sink", latencySink{began: src.began, from: latencyWarm, into: l})
	res, err := env.Execute(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if res.Restarts > 0 || checkpoints && res.Checkpoints == 0 {
		b.Fatalf("%d restarts and %d checkpoints", res.Restarts, res.Checkpoints)
	}
	l.checkpoints = res.Checkpoints
	return l
}

// pacer is a source of rows that are due at a rate. It ends by itself.
type pacer struct {
	began time.Time
	rate  float64 // rows a second of all readers; 0: no limit
	until time.Duration
}

func (pacer) Name() string                       { return "pacer" }
func (pacer) Boundedness() connector.Boundedness { return connector.Bounded }
func (pacer) Enumerator(c connector.EnumeratorContext, _ []byte) (connector.Enumerator, error) {
	return &shares{left: c.Parallelism}, nil
}
func (p pacer) Reader(c connector.ReaderContext) (connector.Reader[stamped], error) {
	return p.reader(c.Subtask, c.Parallelism), nil
}

func (p pacer) reader(subtask, parallelism int) *pacedReader {
	p.rate /= float64(parallelism)
	return &pacedReader{pacer: p, first: int64(subtask), step: int64(parallelism)}
}

type pacedReader struct {
	pacer
	split       string
	first, step int64 // of the numbers from which keys are made
	sent        int64
}

func (r *pacedReader) AddSplit(s connector.Split) error { r.split = s.ID; return nil }
func (r *pacedReader) Poll(b *connector.Batch[stamped]) (string, connector.Status, error) {
	if r.split == "" {
		return "", connector.Done, nil
	}
	since := time.Since(r.began)
	if since > r.until {
		id := r.split
		r.split = ""
		return id, connector.SplitDone, nil
	}
	n, gap := int64(cap(b.Rows)), 0.0
	if r.rate > 0 {
		n = min(n, int64(since.Seconds()*r.rate)-r.sent)
		gap = 1e9 / r.rate
	}
	if n <= 0 {
		return r.split, connector.Waiting, nil
	}
	out := b.Rows[:n]
	for i := range out {
		at, due := r.sent+int64(i), int64(since)
		if gap > 0 {
			due = int64(float64(at) * gap)
		}
		out[i] = stamped{scatter(r.first+at*r.step, latencyKeys), 1, due}
	}
	b.Rows, r.sent = out, r.sent+n
	return r.split, connector.More, nil
}

// Wait lets some rows become due: a millisecond of them, as a network would bring them.
func (r *pacedReader) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Millisecond):
		return nil
	}
}
func (r *pacedReader) Pause(map[string]bool) {}
func (r *pacedReader) Snapshot() ([]connector.Split, error) {
	if r.split == "" {
		return nil, nil
	}
	return []connector.Split{{ID: r.split}}, nil
}
func (r *pacedReader) Close() error { return nil }

// latencySink takes the latency of each row; the clock is read once a batch. Rows that come before from are not counted.
type latencySink struct {
	began time.Time
	from  time.Duration
	into  *latencies
}

func (latencySink) Name() string { return "latency" }
func (s latencySink) Writer(connector.WriterContext) (connector.Writer[stamped], error) {
	return &latencyWriter{s: s}, nil
}

type latencyWriter struct {
	s latencySink
	l latencies
}

func (w *latencyWriter) Write(rows []stamped, _ []int64) error {
	w.l.take(time.Since(w.s.began), w.s.from, rows)
	return nil
}
func (w *latencyWriter) Flush() error { return nil }
func (w *latencyWriter) Close() error { w.s.into.join(&w.l); return nil }

// bareLatency is the same without an engine: two goroutines make rows as they are due and divide them by key, and two others
// count them in arrays.
func bareLatency(rate float64, d time.Duration) *latencies {
	all := &latencies{}
	p := pacer{began: time.Now(), rate: rate, until: d}
	var makers, takers sync.WaitGroup
	free := make(chan []stamped, 8*latencyParallel)
	var full [latencyParallel]chan []stamped
	for i := range full {
		full[i] = make(chan []stamped, 8)
		for range 8 {
			free <- make([]stamped, 0, 512)
		}
		takers.Go(func() {
			l, counts := &latencies{}, make([]int64, latencyKeys)
			for rows := range full[i] {
				for j := range rows {
					counts[rows[j].Key]++
					rows[j].Count = counts[rows[j].Key]
				}
				l.take(time.Since(p.began), 0, rows)
				free <- rows[:0]
			}
			all.join(l)
		})
		makers.Go(func() {
			r := p.reader(i, latencyParallel)
			r.split = "a"
			bareMaker(r, full[:], free)
		})
	}
	makers.Wait()
	for i := range full {
		close(full[i])
	}
	takers.Wait()
	return all
}

func bareMaker(r *pacedReader, full []chan []stamped, free chan []stamped) {
	in := connector.Batch[stamped]{Rows: make([]stamped, 0, 512)}
	for {
		in.Rows = in.Rows[:0]
		_, st, _ := r.Poll(&in)
		if len(in.Rows) > 0 {
			var out [latencyParallel][]stamped
			for i := range out {
				out[i] = <-free
			}
			for _, row := range in.Rows {
				to := row.Key % latencyParallel
				out[to] = append(out[to], row)
			}
			for i := range out {
				full[i] <- out[i]
			}
		}
		if st == connector.SplitDone {
			return
		}
		if st == connector.Waiting {
			time.Sleep(time.Millisecond)
		}
	}
}
