package metrics

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-stream/weir/metric"
)

// Group is a node of the registry's tree, and a metric.Group. Its methods may be called from any goroutine.
type Group struct {
	reg   *Registry
	scope Scope
	vars  []Label  // of the scope, and of Label; never changed
	infix []string // of Group and Label below the scope, for full names; never changed
	short []string // infix without the values of Label, which Prometheus has as labels; never changed

	parent *Group // nil for a root

	// The rest is guarded by reg.mu.
	closed   bool
	entries  map[string]*entry
	children map[*Group]struct{}
	named    map[string]*Group // of Group and Label, by key=value or name
}

var _ metric.Group = (*Group)(nil)

// JobVars names a job.
type JobVars struct{ ID, Name string }

// TaskVars names a task.
type TaskVars struct {
	VertexID, Name   string // Flink's task_id and task_name: the vertex
	AttemptID        string
	Subtask, Attempt int
}

// OperatorVars names an operator of a task.
type OperatorVars struct{ ID, Name string }

// Job returns a new group for a job, below that of the worker or of the JobManager.
func (g *Group) Job(v JobVars) *Group {
	scope := TaskManagerJob
	if g.scope == JobManager {
		scope = JobManagerJob
	}
	return g.child(scope, Label{"job_id", v.ID}, Label{"job_name", v.Name})
}

// Task returns a new group for a task, below that of its job.
func (g *Group) Task(v TaskVars) *Group {
	return g.child(Task, Label{"task_id", v.VertexID}, Label{"task_name", v.Name}, Label{"task_attempt_id", v.AttemptID},
		Label{"task_attempt_num", strconv.Itoa(v.Attempt)}, Label{"subtask_index", strconv.Itoa(v.Subtask)})
}

// Operator returns a new group for an operator, below that of its task.
func (g *Group) Operator(v OperatorVars) *Group {
	return g.child(Operator, Label{"operator_id", v.ID}, Label{"operator_name", v.Name})
}

// Group implements metric.Group.
func (g *Group) Group(name string) metric.Group { return g.sub(name, []string{name}, []string{name}) }

// Label implements metric.Group. Like Flink, it makes both key and value part of the full name, and the key one of the name
// in Prometheus.
func (g *Group) Label(key, value string) metric.Group {
	return g.sub(key+"\x00"+value, []string{key, value}, []string{key}, Label{key, value})
}

// sub returns the child of that key, and makes it at the first call.
func (g *Group) sub(key string, infix, short []string, vars ...Label) *Group {
	g.reg.mu.Lock()
	defer g.reg.mu.Unlock()
	if c := g.named[key]; c != nil {
		return c
	}
	c := g.newChild(g.scope, infix, short, vars)
	if g.named == nil {
		g.named = map[string]*Group{}
	}
	g.named[key] = c
	return c
}

func (g *Group) child(s Scope, vars ...Label) *Group {
	g.reg.mu.Lock()
	defer g.reg.mu.Unlock()
	return g.newChild(s, nil, nil, vars)
}

func (g *Group) newChild(s Scope, infix, short []string, vars []Label) *Group {
	c := &Group{reg: g.reg, scope: s, parent: g, closed: g.closed, vars: slices.Concat(g.vars, vars), infix: slices.Concat(g.infix, infix),
		short: slices.Concat(g.short, short)}
	if g.children == nil {
		g.children = map[*Group]struct{}{}
	}
	g.children[c] = struct{}{}
	return c
}

// Close takes the group's metrics, and those of all groups below it, out of the registry. Groups that are asked for
// afterwards give handles that work and are not reported. Functions of gauges may still be running when it returns. A
// second call does nothing.
func (g *Group) Close() {
	g.reg.mu.Lock()
	defer g.reg.mu.Unlock()
	g.close()
	if g.parent != nil {
		delete(g.parent.children, g) // a job that restarts often makes many groups of tasks
	}
}

func (g *Group) close() {
	g.closed = true
	for _, e := range g.entries {
		delete(g.reg.mu.entries, e)
	}
	g.entries = nil
	for c := range g.children {
		c.close()
	}
	g.children = nil
}

// Counter implements metric.Group.
func (g *Group) Counter(name string) *metric.Counter {
	return register(g, name, KindCounter, func(e *entry) *metric.Counter {
		c := new(metric.Counter)
		e.value = func() float64 { return float64(c.Count()) }
		return c
	})
}

// Gauge implements metric.Group.
func (g *Group) Gauge(name string) *metric.Gauge {
	return register(g, name, KindGauge, func(e *entry) *metric.Gauge {
		c := new(metric.Gauge)
		e.value = c.Value
		return c
	})
}

// GaugeFunc implements metric.Group. A gauge whose function panics shows NaN.
func (g *Group) GaugeFunc(name string, f func() float64) {
	register(g, name, KindGauge, func(e *entry) *struct{} {
		e.value = contained(f)
		return nil
	})
}

// contained keeps a panic of a user's function from ending the process: it is called on whatever goroutine looks.
func contained(f func() float64) func() float64 {
	return func() (v float64) {
		defer func() {
			if recover() != nil {
				v = math.NaN()
			}
		}()
		return f()
	}
}

// Meter implements metric.Group.
func (g *Group) Meter(name string) *metric.Meter {
	return register(g, name, KindMeter, func(e *entry) *metric.Meter {
		c := new(metric.Meter)
		e.value, e.ticker = c.PerSecond, c.Tick
		return c
	})
}

// Histogram implements metric.Group.
func (g *Group) Histogram(name string) *metric.Histogram {
	return register(g, name, KindHistogram, func(e *entry) *metric.Histogram {
		c := new(metric.Histogram)
		e.histogram, e.ticker = c, c.Tick
		return c
	})
}

// CounterFunc reports a counter that lives elsewhere.
func (g *Group) CounterFunc(name string, count func() int64) {
	register(g, name, KindCounter, func(e *entry) *struct{} {
		e.value = func() float64 { return float64(count()) }
		return nil
	})
}

// RateFunc reports the growth a second of a count that lives elsewhere.
func (g *Group) RateFunc(name string, count func() int64) {
	register(g, name, KindMeter, func(e *entry) *struct{} {
		rate := new(metric.Rate)
		e.value = rate.PerSecond
		e.ticker = func(now time.Time) { rate.Observe(now, count()) }
		return nil
	})
}

// Rated reports a counter that lives elsewhere and, under its name with "PerSecond", its rate.
func (g *Group) Rated(name string, count func() int64) {
	g.CounterFunc(name, count)
	g.RateFunc(name+perSecond, count)
}

// register returns the handle of that name and kind, making it at the first call. fill makes the handle and says in the
// entry how to read it; it must not call the registry.
func register[T any](g *Group, name string, kind Kind, fill func(e *entry) *T) *T {
	e := &entry{group: g, kind: kind, name: strings.Join(append(slices.Clone(g.infix), name), ".")}
	handle := fill(e)
	e.handle = handle
	e.full = g.full(e.name)
	e.prom = newPromIdent(g, name)

	r := g.reg
	r.mu.Lock()
	old := g.entries[name]
	if old == nil && !g.closed {
		if g.entries == nil {
			g.entries = map[string]*entry{}
		}
		g.entries[name] = e
		r.mu.entries[e] = struct{}{}
	}
	r.mu.Unlock()

	if old == nil {
		return handle
	}
	if h, same := old.handle.(*T); same && old.kind == kind {
		return h
	}
	r.log.Warn("a metric's name is used for two kinds; the second one is not reported", "metric", e.full, "first", old.kind, "second", kind)
	return handle
}

// full is the name by the scope's format. Infixes are joined with the configured delimiter, too.
func (g *Group) full(name string) string {
	d := g.reg.cfg.Delimiter
	return fill(g.reg.cfg.Formats[g.scope], g.vars) + d + strings.ReplaceAll(name, ".", d)
}
