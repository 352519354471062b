package task

import (
	"maps"
	"slices"
	"sync"

	"github.com/weir-stream/weir/metric"
)

// userMetrics are the metrics that the functions of one operator of one task have asked for. Names of groups below it are joined
// with dots. Any goroutine may use it.
type userMetrics struct {
	prefix string
	all    *handles
}

// handles are the metrics of an operator by full name.
type handles struct {
	mu         sync.Mutex
	counters   map[string]*metric.Counter
	gauges     map[string]*metric.Gauge
	meters     map[string]*metric.Meter
	histograms map[string]*metric.Histogram
}

var _ metric.Group = (*userMetrics)(nil)

func newUserMetrics() *userMetrics { return &userMetrics{all: &handles{}} }

// handle returns the metric of that name, made at the first call.
func handle[M any](g *userMetrics, of *map[string]*M, name string) *M {
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	name = g.prefix + name
	m := (*of)[name]
	if m == nil {
		if *of == nil {
			*of = map[string]*M{}
		}
		m = new(M)
		(*of)[name] = m
	}
	return m
}

// Counter implements metric.Group.
func (g *userMetrics) Counter(name string) *metric.Counter { return handle(g, &g.all.counters, name) }

// Gauge implements metric.Group.
func (g *userMetrics) Gauge(name string) *metric.Gauge { return handle(g, &g.all.gauges, name) }

// GaugeFunc implements metric.Group.
func (g *userMetrics) GaugeFunc(string, func() float64) {}

// Meter implements metric.Group.
func (g *userMetrics) Meter(name string) *metric.Meter { return handle(g, &g.all.meters, name) }

// Histogram implements metric.Group.
func (g *userMetrics) Histogram(name string) *metric.Histogram {
	return handle(g, &g.all.histograms, name)
}

// Group implements metric.Group.
func (g *userMetrics) Group(name string) metric.Group {
	return &userMetrics{prefix: g.prefix + name + ".", all: g.all}
}

// Label implements metric.Group.
func (g *userMetrics) Label(key, value string) metric.Group { return g.Group(key + "." + value) }

// NamedCount is a counter of a user's function.
type NamedCount struct {
	Name  string
	Value int64
}

// counts returns the counters by name, in the order of the names.
func (g *userMetrics) counts() []NamedCount {
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	out := make([]NamedCount, 0, len(g.all.counters))
	for _, name := range slices.Sorted(maps.Keys(g.all.counters)) {
		out = append(out, NamedCount{name, g.all.counters[name].Count()})
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
