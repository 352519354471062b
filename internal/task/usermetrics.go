package task

import (
	"maps"
	"slices"
	"sync"

	"github.com/weir-stream/weir/metric"
)

// userMetrics are the metrics that the functions of one operator of one task have asked for: those of a group, and the
// counters by name, which are a part of the job's result. Names of groups below it are joined with dots. Any goroutine may
// use it.
type userMetrics struct {
	inner  metric.Group // in the registry
	prefix string
	all    *counters
}

// counters are the counters of an operator by full name.
type counters struct {
	mu     sync.Mutex
	byName map[string]*metric.Counter
}

var _ metric.Group = (*userMetrics)(nil)

func newUserMetrics(g metric.Group) *userMetrics {
	return &userMetrics{inner: g, all: &counters{byName: map[string]*metric.Counter{}}}
}

// groupOf returns where an operator measures.
func (c *Config) groupOf(op int) metric.Group {
	if c.Metrics == nil {
		return metric.Discard()
	}
	return c.Metrics(op)
}

// Counter implements metric.Group. The lock is not held while the group is asked, which has one of its own.
func (g *userMetrics) Counter(name string) *metric.Counter {
	c := g.inner.Counter(name)
	name = g.prefix + name
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	if known := g.all.byName[name]; known != nil {
		return known
	}
	g.all.byName[name] = c
	return c
}

// Gauge implements metric.Group.
func (g *userMetrics) Gauge(name string) *metric.Gauge { return g.inner.Gauge(name) }

// GaugeFunc implements metric.Group.
func (g *userMetrics) GaugeFunc(name string, f func() float64) { g.inner.GaugeFunc(name, f) }

// Meter implements metric.Group.
func (g *userMetrics) Meter(name string) *metric.Meter { return g.inner.Meter(name) }

// Histogram implements metric.Group.
func (g *userMetrics) Histogram(name string) *metric.Histogram { return g.inner.Histogram(name) }

// Group implements metric.Group.
func (g *userMetrics) Group(name string) metric.Group {
	return &userMetrics{inner: g.inner.Group(name), prefix: g.prefix + name + ".", all: g.all}
}

// Label implements metric.Group.
func (g *userMetrics) Label(key, value string) metric.Group {
	return &userMetrics{inner: g.inner.Label(key, value), prefix: g.prefix + key + "." + value + ".", all: g.all}
}

// NamedCount is a counter of a user's function.
type NamedCount struct {
	Name  string
	Value int64
}

// counts returns the counters by name, in the order of the names.
func (g *userMetrics) counts() []NamedCount {
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	out := make([]NamedCount, 0, len(g.all.byName))
	for _, name := range slices.Sorted(maps.Keys(g.all.byName)) {
		out = append(out, NamedCount{name, g.all.byName[name].Count()})
	}
	return out
}

// UserCounts returns the counters of the functions of the chain's operators, head first.
func (t *Task) UserCounts() [][]NamedCount {
	out := make([][]NamedCount, len(t.links))
	for i, l := range t.links {
		out[i] = l.metrics.counts()
	}
	return out
}
