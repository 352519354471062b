package app

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/metrics"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/task"
	"github.com/weir-stream/weir/metric"
)

// prepare makes the groups of a task and of its operators, and has cfg use them. The function that it returns reports the
// figures of the task that was made of cfg.
func (g *running) prepare(id ids.TaskID, is traits, cfg *task.Config) (report func(*task.Task)) {
	if g.reports == nil {
		return func(*task.Task) {}
	}
	group := g.reports.Task(metrics.TaskVars{VertexID: id.Vertex.String(), Name: cfg.Vertex, AttemptID: id.String(),
		Subtask: int(id.Subtask), Attempt: int(id.Attempt)})
	ops := make([]*metrics.Group, len(cfg.Ops))
	for i, op := range cfg.Ops {
		ops[i] = group.Operator(metrics.OperatorVars{ID: ids.OperatorIDOf(cmp.Or(is.vertex.Operators[i].Node.StateName(), op.Name)).String(), Name: op.Name})
	}
	cfg.Metrics = func(op int) metric.Group { return ops[op] }
	cfg.OnClosing = group.Close
	inbox := cfg.Inbox
	return func(t *task.Task) {
		counts := t.Counts()
		for i, c := range counts {
			ops[i].ReportOperator(operatorSource(c))
		}
		group.ReportTask(taskSource(t, counts, g.x.Job, is, inbox))
	}
}

func operatorSource(c *operator.Counts) metrics.OperatorSource {
	return metrics.OperatorSource{RowsIn: c.RowsIn.Load, RowsOut: c.RowsOut.Load, Late: c.Late.Load, Bad: c.Bad.Load, NoTime: c.NoTime.Load,
		Unread: c.Unread.Load, WatermarkIn: c.WatermarkIn.Load, WatermarkOut: c.WatermarkOut.Load}
}

func taskSource(t *task.Task, counts []*operator.Counts, job *graph.JobGraph, is traits, in *exchange.Inbox) metrics.TaskSource {
	traffic := in.Traffic()
	s := metrics.TaskSource{
		RowsIn: counts[0].RowsIn.Load, RowsOut: rowsLeaving(counts, job, is.vertex), Times: t.Times, BackPressured: in.Backpressured,
		BuffersInLocal: traffic.LocalIn.Load, Sent: traffic.Out.Load,
		InputQueue:    func() int64 { batches, _ := in.Lengths(); return int64(batches) },
		Mails:         func() int64 { _, mails := in.Lengths(); return int64(mails) },
		AlignmentTime: func() int64 { return t.AlignmentTime().Nanoseconds() },
		StartDelay:    func() int64 { return t.StartDelay().Nanoseconds() },
		SyncDuration:  func() int64 { return t.SyncDuration().Nanoseconds() },
	}
	if is.remote {
		s.BuffersInRemote, s.BytesInRemote, s.BytesOut = traffic.RemoteIn.Load, traffic.BytesIn.Load, traffic.BytesOut.Load
	}
	return s
}

// rowsLeaving adds up what the operators emit whose main output has edges to other tasks.
func rowsLeaving(counts []*operator.Counts, job *graph.JobGraph, v *graph.Vertex) func() int64 {
	var ends []*atomic.Int64
	for i := range counts {
		if slices.ContainsFunc(v.Operators[i].Outputs, func(e int) bool { return job.Edges[e].Edge.Side == "" }) {
			ends = append(ends, &counts[i].RowsOut)
		}
	}
	return func() (n int64) {
		for _, c := range ends {
			n += c.Load()
		}
		return n
	}
}

func (g *running) closeMetrics() {
	if g.reports != nil {
		g.reports.Close()
	}
}
