package jobmanager

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// handedMax is how many splits of a source a message names.
const handedMax = 8

// taskFailure is what a task of the present generation has failed of.
type taskFailure struct {
	cause *errs.Error
	task  ids.TaskID
}

// remember notes splits that are handed out.
func (d *dispenser) remember(subtask int, splits []rpc.Split) {
	d.given += len(splits)
	for _, s := range splits[max(0, len(splits)-handedMax):] {
		if len(d.handed) == handedMax {
			d.handed = slices.Delete(d.handed, 0, 1)
		}
		d.handed = append(d.handed, PlacedSplit{Split: s, Subtask: subtask})
	}
}

// whereRead is a sentence about what was read when a record failed: unless the failing task read itself, and has said so, all
// that the sources in front of it have read since the generation began.
func (m *Master) whereRead(cause *errs.Error) string {
	if _, known := cause.Unpositioned(); known {
		return ""
	}
	in := m.inFrontOf(cause)
	var parts []string
	for _, s := range m.job.Sources {
		if d := m.splits[sourceKey{int32(s.Vertex), s.Op}]; d != nil && d.given > 0 && (in == nil || in[s.Vertex]) {
			parts = append(parts, m.readOf(d))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "What had been read since then: " + strings.Join(parts, ". ") + "."
}

// readOf tells what the readers of a source have read since the generation began.
func (m *Master) readOf(d *dispenser) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d rows, from ", d.source.Name, m.figures.rowsOf(d.source))
	list := slices.Clone(d.handed)
	slices.SortStableFunc(list, func(a, b PlacedSplit) int { return cmp.Compare(a.Subtask, b.Subtask) })
	for i, s := range list {
		where := ""
		if m.cfg.Describe != nil {
			where = m.cfg.Describe(d.source.Vertex, d.source.Op, s.Split)
		}
		if where == "" {
			where = fmt.Sprintf("split %q", s.ID)
		}
		if i > 0 {
			b.WriteString("; from ")
		}
		fmt.Fprintf(&b, "%s on", where)
		if d.n > 1 {
			fmt.Fprintf(&b, " by reader %d/%d", s.Subtask+1, d.n)
		}
	}
	if n := d.given - len(list); n > 0 {
		fmt.Fprintf(&b, "; and from %d splits before these", n)
	}
	return b.String()
}

// rowsOf counts what the readers of a source have reported as read.
func (f *figures) rowsOf(s Source) (rows int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for op, m := range f.mu.ops {
		if op.Task.Vertex == s.Vertex && op.Op == s.Op {
			rows += m.RowsIn
		}
	}
	return rows
}

// inFrontOf returns the vertices from which rows come to the task that has failed of cause, with its own; nil if that is not
// known.
func (m *Master) inFrontOf(cause *errs.Error) map[ids.VertexID]bool {
	i := slices.IndexFunc(m.failures, func(f taskFailure) bool { return f.cause == cause })
	if i < 0 || m.job.Upstream == nil {
		return nil
	}
	in := map[ids.VertexID]bool{}
	todo := []ids.TaskID{m.failures[i].task}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if in[t.Vertex] {
			continue // all subtasks of a vertex read from the same vertices
		}
		in[t.Vertex] = true
		t.Attempt = 0
		todo = append(todo, m.job.Upstream(t)...)
	}
	return in
}
