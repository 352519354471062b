package jobmanager

import (
	"math"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/sat"
)

// aligner holds sources of one alignment group together: none may be further ahead of the slowest one than its drift. It
// is pure and belongs to one goroutine.
//
// A group is silent until every one of its tasks has reported a watermark, is idle or has ended: before that the slowest
// one is not known, and a source that is not told anything reads no further than its first watermark. When no task is
// active the limit is lifted.
type aligner struct {
	groups  []*alignGroup
	sources map[sourceKey]*alignSource
}

// sourceKey names a source operator over all its tasks.
type sourceKey struct {
	vertex, op int32
}

type alignGroup struct {
	sources []*alignSource
	changed bool
	told    bool // something was announced
	last    slow // what was announced last
}

type alignSource struct {
	key     sourceKey
	group   *alignGroup
	driftMs int64
	tasks   []alignTask // by subtask
}

type alignTask struct {
	watermark int64 // MinInt64: not known
	idle      bool  // or ended
	ended     bool
}

// newAligner makes the groups of a job. Sources without a group are left out.
func newAligner(job *Job) *aligner {
	a := &aligner{sources: map[sourceKey]*alignSource{}}
	byName := map[string]*alignGroup{}
	for _, s := range job.Sources {
		if s.Group == "" {
			continue
		}
		g := byName[s.Group]
		if g == nil {
			g = &alignGroup{}
			byName[s.Group] = g
			a.groups = append(a.groups, g)
		}
		src := &alignSource{key: sourceKey{int32(s.Vertex), s.Op}, group: g, driftMs: s.MaxDrift.Milliseconds(),
			tasks: make([]alignTask, len(job.Placement[s.Vertex]))}
		for i := range src.tasks {
			src.tasks[i].watermark = math.MinInt64
		}
		g.sources = append(g.sources, src)
		a.sources[src.key] = src
	}
	return a
}

// progress takes a report. One of a source without a group changes nothing.
func (a *aligner) progress(p *rpc.SourceProgress) {
	src := a.sources[sourceKey{int32(p.Source.Task.Vertex), p.Source.Op}]
	if src == nil || int(p.Source.Task.Subtask) >= len(src.tasks) || p.Source.Task.Subtask < 0 {
		return
	}
	t := &src.tasks[p.Source.Task.Subtask]
	if t.ended || t.watermark == p.Watermark && t.idle == p.Idle {
		return
	}
	t.watermark, t.idle = p.Watermark, p.Idle
	src.group.changed = true
}

// end takes the end of a task: it holds nobody back any more.
func (a *aligner) end(vertex, subtask int32) {
	for _, g := range a.groups {
		for _, src := range g.sources {
			if src.key.vertex == vertex && int(subtask) < len(src.tasks) && !src.tasks[subtask].ended {
				src.tasks[subtask].idle, src.tasks[subtask].ended = true, true
				g.changed = true
			}
		}
	}
}

// restart forgets a task that runs again. The limit is told again when all are known: the task has not heard of it.
func (a *aligner) restart(t ids.TaskID) {
	for _, g := range a.groups {
		for _, src := range g.sources {
			if src.key.vertex == int32(t.Vertex) && int(t.Subtask) < len(src.tasks) {
				src.tasks[t.Subtask] = alignTask{watermark: math.MinInt64}
				g.changed, g.told = true, false
			}
		}
	}
}

// slow is how the slowest task of a group stands to the others.
type slow struct {
	least, next int64 // the lowest watermark, and the lowest of the other tasks'
	source      *alignSource
	subtask     int32
}

// limits returns the limits that have changed since the last call. It costs O(tasks) for a group in which something has
// changed; the caller calls it once for all reports that are there, not once a report.
func (a *aligner) limits() []*rpc.AlignTo {
	var out []*rpc.AlignTo
	for _, g := range a.groups {
		if !g.changed {
			continue
		}
		g.changed = false
		now, known := g.slowest()
		if !known || g.told && now == g.last {
			continue
		}
		g.told, g.last = true, now
		for _, src := range g.sources {
			l := &rpc.AlignTo{Vertex: ids.VertexID(src.key.vertex), Op: src.key.op, Max: sat.Add(now.least, src.driftMs), Slowest: -1}
			if src == now.source {
				l.Slowest, l.SlowestMax = now.subtask, sat.Add(now.next, src.driftMs)
			}
			out = append(out, l)
		}
	}
	return out
}

// slowest finds the lowest watermark of the active tasks and that of the others, both MaxInt64 without any; not known while
// one has none.
func (g *alignGroup) slowest() (s slow, known bool) {
	s = slow{least: math.MaxInt64, next: math.MaxInt64, subtask: -1}
	for _, src := range g.sources {
		for i := range src.tasks {
			t := &src.tasks[i]
			switch {
			case t.idle:
			case t.watermark == math.MinInt64:
				return slow{}, false
			case t.watermark < s.least:
				s = slow{least: t.watermark, next: s.least, source: src, subtask: int32(i)}
			default:
				s.next = min(s.next, t.watermark)
			}
		}
	}
	return s, true
}
