package metric

import (
	"math"
	"sync/atomic"
	"time"
)

// Group is a place in the tree of metrics. Asking twice for one name and kind gives the same handle. Asking for a name that
// has another kind in this group gives a handle that works but is not reported, and a warning in the log.
type Group interface {
	// Counter returns the counter of that name.
	Counter(name string) *Counter
	// Gauge returns the gauge of that name.
	Gauge(name string) *Gauge
	// GaugeFunc reports what f returns whenever somebody looks. f is called from any goroutine, must not block, and must
	// not be used after its function was closed: the engine stops calling it then. The first f of a name stays.
	GaugeFunc(name string, f func() float64)
	// Meter returns the meter of that name.
	Meter(name string) *Meter
	// Histogram returns the histogram of that name.
	Histogram(name string) *Histogram
	// Group returns the group below this one; name becomes a part of the metrics' names.
	Group(name string) Group
	// Label returns the group below this one in which key=value is a label of the metrics; key becomes a part of their
	// names.
	Label(key, value string) Group
}

// Counter counts. The zero value is ready.
type Counter struct{ n atomic.Int64 }

// Inc adds one.
func (c *Counter) Inc() { c.n.Add(1) }

// Add adds n, which may be negative.
func (c *Counter) Add(n int64) { c.n.Add(n) }

// Count is the present value.
func (c *Counter) Count() int64 { return c.n.Load() }

// Local returns a front of the counter for one goroutine.
func (c *Counter) Local() Local { return Local{counter: c} }

// Local gathers additions of one goroutine in a plain integer. Publish makes them visible; call it once a batch.
type Local struct {
	n       int64
	counter *Counter
}

// Inc adds one.
func (l *Local) Inc() { l.n++ }

// Add adds n.
func (l *Local) Add(n int64) { l.n += n }

// Publish moves what was gathered to the counter.
func (l *Local) Publish() {
	if l.n != 0 {
		l.counter.n.Add(l.n)
		l.n = 0
	}
}

// Gauge holds the last value that was set. The zero value is ready and holds 0.
type Gauge struct{ bits atomic.Uint64 }

// Set replaces the value.
func (g *Gauge) Set(v float64) { g.bits.Store(math.Float64bits(v)) }

// Value is the last value set.
func (g *Gauge) Value() float64 { return math.Float64frombits(g.bits.Load()) }

// Meter counts events and knows how many happened a second of late. The zero value is ready.
type Meter struct {
	n    Counter
	rate Rate
}

// Mark counts n events.
func (m *Meter) Mark(n int64) { m.n.Add(n) }

// Count is the number of events so far.
func (m *Meter) Count() int64 { return m.n.Count() }

// PerSecond is the rate over the last minute, or as much of it as has been observed.
func (m *Meter) PerSecond() float64 { return m.rate.PerSecond() }

// Tick observes the count. The registry calls it every few seconds, from one goroutine at a time.
func (m *Meter) Tick(now time.Time) { m.rate.Observe(now, m.n.Count()) }

// rateSamples at one each five seconds span a minute.
const rateSamples = 13

// Rate turns observations of a growing count into its growth a second. The zero value is ready.
type Rate struct {
	bits atomic.Uint64 // the rate, a float64

	// The rest belongs to the goroutine that observes.
	at     [rateSamples]time.Time
	counts [rateSamples]int64
	next   int // where the next sample goes
	filled int
}

// Observe takes a sample. It is called by one goroutine at a time. Samples within a second after the last are left out, so
// that a minute stays covered.
func (r *Rate) Observe(now time.Time, count int64) {
	if r.filled > 0 {
		last := (r.next + rateSamples - 1) % rateSamples
		if now.Sub(r.at[last]) < time.Second {
			return
		}
		first := (r.next + rateSamples - r.filled) % rateSamples
		rate := float64(count-r.counts[first]) / now.Sub(r.at[first]).Seconds()
		r.bits.Store(math.Float64bits(rate))
	}
	r.at[r.next], r.counts[r.next] = now, count
	r.next = (r.next + 1) % rateSamples
	r.filled = min(r.filled+1, rateSamples)
}

// PerSecond is the growth a second between the oldest sample (at most a minute old, if one is taken each five seconds) and
// the newest; 0 before the second sample.
func (r *Rate) PerSecond() float64 { return math.Float64frombits(r.bits.Load()) }
