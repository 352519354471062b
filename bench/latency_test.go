package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector"
)

const (
	latencyKeys = 1_000_000
	// latencyRun is how long latencies are taken, latencyWarm how long the job has run before: all keys are there by then.
	latencyRun, latencyWarm = 20 * time.Second, 3 * time.Second
)

// stamped is a row with the moment at which it was due, in ns since the benchmark began.
type stamped struct{ Key, Count, Due int64 }

// BenchmarkStateLatency is the time of a row from the generator to the sink of a job that counts by key, while a checkpoint
// is taken each second, at half of the rate that the same job reaches. The time begins when the row is due, not when it was
// generated, so that a stall counts for every row that it held up. p99.99 is what the table asks for; the bare figures are
// those of a loop that does the same at the same rate without an engine, and tell how far the machine itself stalls.
func BenchmarkStateLatency(b *testing.B) {
	old := slog.SetLogLoggerLevel(slog.LevelWarn)
	defer slog.SetLogLoggerLevel(old)
	for b.Loop() {
		most := runLatency(b, 0, 5*time.Second)
		debug.FreeOSMemory()
		rate := most.rate() / 2
		got := runLatency(b, rate, latencyRun)
		bare := bareLatency(rate, 5*time.Second)
		b.ReportMetric(most.rate()/1e6, "Mrows/s-max")
		b.ReportMetric(got.rate()/1e6, "Mrows/s")
		b.ReportMetric(float64(got.checkpoints), "checkpoints")
		for _, q := range []float64{50, 99, 99.99, 100} {
			b.ReportMetric(got.quantile(q).Seconds()*1e3, fmt.Sprintf("ms-p%v", q))
			b.ReportMetric(bare.quantile(q).Seconds()*1e3, fmt.Sprintf("ms-bare-p%v", q))
		}
	}
}

// runLatency runs the job for a while at a rate; 0 is as fast as it can.
func runLatency(b *testing.B, rate float64, d time.Duration) *latencies {
	l := &latencies{from: time.Now().Add(latencyWarm)}
	src := pacer{began: time.Now(), rate: rate, until: latencyWarm + d}
	env := weir.NewEnv("latency").Parallelism(1).EnableCheckpointing(time.Second).Set("execution.checkpointing.dir", b.TempDir())
	weir.From(env, "rows", src).KeyBy(func(r stamped) int64 { return r.Key }).
		Reduce("count", func(have, row stamped) stamped {
			return stamped{have.Key, have.Count + row.Count, row.Due}
		}).To("sink", latencySink{src.began, l})
	res, err := env.Execute(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if res.Restarts > 0 || res.Checkpoints == 0 {
		b.Fatalf("%d restarts and %d checkpoints", res.Restarts, res.Checkpoints)
	}
	l.checkpoints = res.Checkpoints
	return l
}

// pacer is a source of rows that are due at a rate. It ends by itself.
type pacer struct {
	began time.Time
	rate  float64 // rows a second; 0: no limit
	until time.Duration
}

func (pacer) Name() string                       { return "pacer" }
func (pacer) Boundedness() connector.Boundedness { return connector.Bounded }
func (pacer) Enumerator(c connector.EnumeratorContext, _ []byte) (connector.Enumerator, error) {
	return &shares{left: c.Parallelism}, nil
}
func (p pacer) Reader(connector.ReaderContext) (connector.Reader[stamped], error) {
	return &pacedReader{pacer: p}, nil
}

type pacedReader struct {
	pacer
	split string
	sent  int64
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
		due := int64(since)
		if gap > 0 {
			due = int64(float64(r.sent+int64(i)) * gap)
		}
		out[i] = stamped{scatter(r.sent+int64(i), latencyKeys), 1, due}
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
func (r *pacedReader) Pause(map[string]bool)                {}
func (r *pacedReader) Snapshot() ([]connector.Split, error) { return []connector.Split{{ID: "a"}}, nil }
func (r *pacedReader) Close() error                         { return nil }

// latencySink takes the latency of each row; the clock is read once a batch.
type latencySink struct {
	began time.Time
	into  *latencies
}

func (latencySink) Name() string { return "latency" }
func (s latencySink) Writer(connector.WriterContext) (connector.Writer[stamped], error) {
	return &latencyWriter{s: s}, nil
}

type latencyWriter struct{ s latencySink }

func (w *latencyWriter) Write(rows []stamped, _ []int64) error {
	w.s.into.take(w.s.began, rows)
	return nil
}
func (w *latencyWriter) Flush() error { return nil }
func (w *latencyWriter) Close() error { return nil }

// latencies is a histogram of durations whose buckets are 1/64 of their values wide. One goroutine takes, and nobody reads
// before it is done.
type latencies struct {
	from        time.Time // rows before are not counted
	first, last time.Time
	n           int64
	buckets     [64 * 64]int64
	checkpoints int
}

func (l *latencies) take(began time.Time, rows []stamped) {
	now := time.Now()
	if now.Before(l.from) {
		return
	}
	if l.n == 0 {
		l.first = now
	}
	l.last = now
	at := int64(now.Sub(began))
	for i := range rows {
		l.add(at - rows[i].Due)
	}
}

func (l *latencies) add(ns int64) {
	l.n++
	l.buckets[bucketOf(uint64(max(0, ns)))]++
}

// bucketOf keeps the seven highest bits.
func bucketOf(v uint64) int {
	shift := max(0, bits.Len64(v)-7)
	return shift<<6 + int(v>>shift)
}

// bucketEnd is the least value above a bucket.
func bucketEnd(b int) uint64 {
	if b < 128 {
		return uint64(b) + 1
	}
	shift := b>>6 - 1
	return (uint64(b)&63 + 64 + 1) << shift
}

func (l *latencies) rate() float64 { return float64(l.n) / l.last.Sub(l.first).Seconds() }

func (l *latencies) quantile(percent float64) time.Duration {
	left := int64(float64(l.n) * percent / 100)
	for i, n := range l.buckets {
		if left -= n; left <= 0 && n > 0 {
			return time.Duration(bucketEnd(i))
		}
	}
	return 0
}

// bareLatency is the same without an engine: one goroutine makes rows as they are due, and another counts them in a map.
func bareLatency(rate float64, d time.Duration) *latencies {
	l := &latencies{}
	p := pacer{began: time.Now(), rate: rate, until: d}
	l.from = p.began
	r := &pacedReader{pacer: p, split: "a"}
	full, free := make(chan []stamped, 8), make(chan []stamped, 8)
	for range cap(free) {
		free <- make([]stamped, 0, 512)
	}
	var all sync.WaitGroup
	all.Go(func() {
		counts := make([]int64, latencyKeys)
		for rows := range full {
			for i := range rows {
				counts[rows[i].Key]++
				rows[i].Count = counts[rows[i].Key]
			}
			l.take(p.began, rows)
			free <- rows[:0]
		}
	})
	for {
		b := connector.Batch[stamped]{Rows: <-free}
		_, st, _ := r.Poll(&b)
		if len(b.Rows) > 0 {
			full <- b.Rows
		} else {
			free <- b.Rows
		}
		if st == connector.SplitDone {
			break
		}
		if st == connector.Waiting {
			time.Sleep(time.Millisecond)
		}
	}
	close(full)
	all.Wait()
	return l
}

// TestLatencies checks the histogram that the figures come from.
func TestLatencies(t *testing.T) {
	for _, v := range []uint64{0, 1, 63, 64, 127, 128, 129, 1000, 999_999, 50_000_000, 1 << 40} {
		if end := bucketEnd(bucketOf(v)); end <= v || float64(end) > float64(v)*(1+1.0/64)+1 {
			t.Errorf("%d is in a bucket that ends at %d", v, end)
		}
	}
	l := &latencies{}
	for i := range int64(10_000) {
		l.add(i * 1000)
	}
	for percent, want := range map[float64]time.Duration{50: 5 * time.Millisecond, 99: 9900 * time.Microsecond, 100: 10 * time.Millisecond} {
		if got := l.quantile(percent); got < want*99/100 || got > want*102/100 {
			t.Errorf("p%v of 0 to 10 ms is %v", percent, got)
		}
	}
}
