package metrics

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/xsync"
	"github.com/weir-stream/weir/metric"
)

// TickInterval is how often rates are measured, as in Flink.
const TickInterval = 5 * time.Second

// Registry holds the metrics of one process. Its methods may be called from any goroutine.
type Registry struct {
	cfg Config
	log *slog.Logger

	tick xsync.Mutex // held during Tick; before mu
	mu   struct {
		xsync.Mutex
		entries map[*entry]struct{} // what is reported; put in order when somebody looks
	}
}

// entry is one reported metric. It does not change once it is in the registry.
type entry struct {
	group *Group
	name  string // with the infixes of user groups: "buffers.inputQueueLength"
	full  string
	prom  promIdent
	kind  Kind

	handle    any                 // what Group gives for this name: *metric.Counter and so on, nil for functions
	value     func() float64      // all but histograms
	histogram *metric.Histogram   // histograms
	ticker    func(now time.Time) // nil = none
}

// Kind is the kind of a metric.
type Kind uint8

// The kinds.
const (
	KindCounter Kind = iota
	KindGauge
	KindMeter
	KindHistogram
)

// String is the kind's name, as Flink writes it.
func (k Kind) String() string { return [...]string{"Counter", "Gauge", "Meter", "Histogram"}[k] }

// NewRegistry makes an empty registry. log receives warnings about names that were used twice.
func NewRegistry(cfg Config, log *slog.Logger) *Registry {
	r := &Registry{cfg: cfg, log: log}
	r.mu.entries = map[*entry]struct{}{}
	return r
}

// TaskManager returns a new group for what concerns the worker as a whole.
func (r *Registry) TaskManager() *Group {
	return r.root(TaskManager, Label{"host", r.cfg.Host}, Label{"tm_id", r.cfg.Worker})
}

// JobManager returns a new group for what concerns the JobManager as a whole.
func (r *Registry) JobManager() *Group { return r.root(JobManager, Label{"host", r.cfg.Host}) }

func (r *Registry) root(s Scope, vars ...Label) *Group {
	return &Group{reg: r, scope: s, vars: vars}
}

// Tick measures rates and moves the windows of histograms on.
func (r *Registry) Tick(now time.Time) {
	r.tick.Lock()
	defer r.tick.Unlock()
	for _, e := range r.sorted() {
		if e.ticker != nil {
			e.ticker(now)
		}
	}
}

// Run ticks until ctx is done. It returns ctx's error.
func (r *Registry) Run(ctx context.Context, clk clock.Clock) error {
	for {
		r.Tick(clk.Now())
		if err := clk.Sleep(ctx, TickInterval); err != nil {
			return err
		}
	}
}

// Metric is one metric as a reader sees it.
type Metric struct {
	Full  string // host.taskmanager.tm1.flights.map.0.numRecordsIn
	Name  string // numRecordsIn, with the names of user groups before it
	Scope Scope
	Vars  []Label // must not be changed
	Kind  Kind

	Value      float64            // all but histograms; a meter's is its rate
	Statistics *metric.Statistics // histograms
}

// Metrics reads every metric, sorted by full name.
func (r *Registry) Metrics() []Metric {
	entries := r.sorted()
	out := make([]Metric, len(entries))
	for i, e := range entries {
		out[i] = Metric{Full: e.full, Name: e.name, Scope: e.group.scope, Vars: e.group.vars, Kind: e.kind}
		if e.histogram != nil {
			out[i].Statistics = e.histogram.Statistics()
		} else {
			out[i].Value = e.value()
		}
	}
	return out
}

// sorted copies the entries, so that their functions run without the lock.
func (r *Registry) sorted() []*entry {
	r.mu.Lock()
	out := make([]*entry, 0, len(r.mu.entries))
	for e := range r.mu.entries {
		out = append(out, e)
	}
	r.mu.Unlock()
	slices.SortFunc(out, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.full, b.full), cmp.Compare(a.prom.key, b.prom.key))
	})
	return out
}
