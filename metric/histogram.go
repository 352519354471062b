package metric

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A bucket holds values that agree in their highest five bits: below 16 each value has its own, above that there are 16
// buckets for each power of two, so a quantile is off by at most one part in 32.
const (
	subBits = 4
	buckets = (64 - subBits) << subBits
)

// window is how long an update counts at least in quantiles; it may count up to twice as long.
const window = time.Minute

// Histogram counts values by size. Values are whole numbers of a unit that the name should tell (latencyMs); negative ones
// count as 0. Count and sum are those of all updates, everything else is of the last one to two minutes. The zero value is
// ready; it takes 8 kB.
type Histogram struct {
	count, sum atomic.Int64
	active     atomic.Uint32 // index of the half that is written
	halves     [2]half

	rotated time.Time // belongs to the goroutine that ticks
}

type half struct {
	n        [buckets]atomic.Uint32 // wraps at 4 billion updates of one size within a minute
	max, min atomic.Int64           // min is stored as its complement, so that 0 means "none" in both
}

// Update counts a value. It takes no lock.
func (h *Histogram) Update(v int64) {
	v = max(v, 0)
	h.count.Add(1)
	h.sum.Add(v)
	w := &h.halves[h.active.Load()&1]
	w.n[bucket(v)].Add(1)
	raise(&w.max, v)
	raise(&w.min, 1<<62-min(v, 1<<62))
}

func raise(at *atomic.Int64, v int64) {
	for old := at.Load(); v > old; old = at.Load() {
		if at.CompareAndSwap(old, v) {
			return
		}
	}
}

func bucket(v int64) int {
	if v < 1<<subBits {
		return int(v)
	}
	e := bits.Len64(uint64(v)) - 1 - subBits // how many low bits the bucket does not tell
	return (e+1)<<subBits + int(v>>e)&(1<<subBits-1)
}

// middle is the value that stands for all of a bucket.
func middle(bucket int) int64 {
	if bucket < 1<<subBits {
		return int64(bucket)
	}
	e := bucket>>subBits - 1
	low := int64(1<<subBits+bucket&(1<<subBits-1)) << e
	return low + int64(1)<<e/2
}

// Tick forgets what is older than two minutes. The registry calls it every few seconds, from one goroutine at a time. An
// update that runs at the same moment may be forgotten early.
func (h *Histogram) Tick(now time.Time) {
	if h.rotated.IsZero() {
		h.rotated = now
	}
	if now.Sub(h.rotated) < window {
		return
	}
	h.rotated = now
	next := (h.active.Load() + 1) & 1
	w := &h.halves[next]
	for i := range w.n {
		w.n[i].Store(0)
	}
	w.max.Store(0)
	w.min.Store(0)
	h.active.Store(next)
}

// Statistics is what a histogram knows at one moment.
type Statistics struct {
	Count int64 // of all updates
	Sum   int64 // of all updates

	Recent   int64 // number of updates that the rest is about
	Min, Max int64
	Mean     float64

	n [buckets]uint32
}

// Statistics returns a consistent enough picture: updates that run meanwhile may be in some of its parts only.
func (h *Histogram) Statistics() *Statistics {
	s := &Statistics{Count: h.count.Load(), Sum: h.sum.Load()}
	lowest := int64(0) // as stored: the complement
	total := 0.0
	for i := range h.halves {
		w := &h.halves[i]
		for b := range w.n {
			n := w.n[b].Load()
			s.n[b] += n
			s.Recent += int64(n)
			total += float64(n) * float64(middle(b))
		}
		s.Max = max(s.Max, w.max.Load())
		lowest = max(lowest, w.min.Load())
	}
	if s.Recent > 0 {
		s.Min = 1<<62 - lowest
		s.Mean = total / float64(s.Recent)
	}
	return s
}

// Quantile is the value below which a share q of the recent updates lies (0.5 is the median), exact below 16 and to one
// part in 32 above; 0 if there were none.
func (s *Statistics) Quantile(q float64) int64 {
	rank := int64(q * float64(s.Recent))
	for b, n := range s.n {
		if rank -= int64(n); rank < 0 {
			return min(max(middle(b), s.Min), s.Max)
		}
	}
	return s.Max
}
