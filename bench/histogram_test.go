package bench

import (
	"math/bits"
	"sync"
	"testing"
	"time"
)

// slice is the time over which the longest latency is kept, to tell when stalls came.
const slice = 50 * time.Millisecond

// latencies is a histogram of durations whose buckets are 1/64 of their values wide. One goroutine takes; others join.
type latencies struct {
	mu          sync.Mutex
	first, last time.Duration
	n           int64
	buckets     [64 * 64]int64
	checkpoints int
	// worst is the longest latency of each slice of time.
	worst []time.Duration
}

// take notes rows that have come at a moment since the beginning, unless that is before from.
func (l *latencies) take(at, from time.Duration, rows []stamped) {
	if at < from || len(rows) == 0 {
		return
	}
	if l.n == 0 {
		l.first = at
	}
	l.last = at
	most := int64(0)
	for i := range rows {
		d := int64(at) - rows[i].Due
		most = max(most, d)
		l.add(d)
	}
	l.note(at, time.Duration(most))
}

func (l *latencies) note(at, d time.Duration) {
	for i := int(at / slice); len(l.worst) <= i; {
		l.worst = append(l.worst, 0)
	}
	w := &l.worst[at/slice]
	*w = max(*w, d)
}

func (l *latencies) add(ns int64) {
	l.n++
	l.buckets[bucketOf(uint64(max(0, ns)))]++
}

// join adds what another has.
func (l *latencies) join(o *latencies) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 || o.n > 0 && o.first < l.first {
		l.first = o.first
	}
	l.last = max(l.last, o.last)
	l.n += o.n
	for i, n := range o.buckets {
		l.buckets[i] += n
	}
	for i, d := range o.worst {
		l.note(time.Duration(i)*slice, d)
	}
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

func (l *latencies) rate() float64 { return float64(l.n) / (l.last - l.first).Seconds() }

func (l *latencies) quantile(percent float64) time.Duration {
	left := int64(float64(l.n) * percent / 100)
	for i, n := range l.buckets {
		if left -= n; left <= 0 && n > 0 {
			return time.Duration(bucketEnd(i))
		}
	}
	return 0
}

// explain logs the longest latency of each slice, a line a second.
func (l *latencies) explain(b *testing.B) {
	const perLine = int(time.Second / slice)
	for at := 0; at < len(l.worst); at += perLine {
		line := make([]int64, 0, perLine)
		for _, d := range l.worst[at:min(at+perLine, len(l.worst))] {
			line = append(line, d.Milliseconds())
		}
		b.Logf("%2d s: longest latency of each %v in ms: %v", at/perLine, slice, line)
	}
}

// TestLatencies checks the histogram that the figures come from.
func TestLatencies(t *testing.T) {
	for _, v := range []uint64{0, 1, 63, 64, 127, 128, 129, 1000, 999_999, 50_000_000, 1 << 40} {
		if end := bucketEnd(bucketOf(v)); end <= v || float64(end) > float64(v)*(1+1.0/64)+1 {
			t.Errorf("%d is in a bucket that ends at %d", v, end)
		}
	}
	l := &latencies{}
	for k := range int64(2) {
		half := &latencies{}
		for i := k; i < 10_000; i += 2 {
			half.add(i * 1000)
		}
		l.join(half)
	}
	for percent, want := range map[float64]time.Duration{50: 5 * time.Millisecond, 99: 9900 * time.Microsecond, 100: 10 * time.Millisecond} {
		if got := l.quantile(percent); got < want*99/100 || got > want*102/100 {
			t.Errorf("p%v of 0 to 10 ms is %v", percent, got)
		}
	}
}
