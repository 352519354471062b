package app

import (
	"cmp"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobmanager"
	"github.com/weir-stream/weir/internal/rpc"
)

// Figures are what is known of one operator, added up over its subtasks.
type Figures struct {
	// Name and Kind are the operator's.
	Name, Kind string
	// Vertex is the name of the chain that the operator belongs to; Head says that it is the first of it.
	Vertex string
	Head   bool
	// Parallelism is the number of subtasks.
	Parallelism int
	// RowsIn and RowsOut count rows; a source's RowsIn are the rows it read.
	RowsIn, RowsOut int64
	// Late, Bad, NoTime and Unread count the rows that went no further, by reason.
	Late, Bad, NoTime, Unread int64
	// Watermark is the lowest one of the subtasks, event.NoTime before the first.
	Watermark int64
	// Busy, Idle and Backpressured are the times of the task, added up over its subtasks; heads only.
	Busy, Idle, Backpressured time.Duration
	// Counters are the counters of user functions, by name.
	Counters map[string]int64
}

// Result is what is known of a job when it has ended.
type Result struct {
	// Job is the job's name.
	Job string
	// Duration is from the start of the tasks to the end.
	Duration time.Duration
	// Operators are in the order of the plan. They count from the last restart on.
	Operators []Figures
	// Checkpoints are the figures of checkpoints and restarts.
	Checkpoints jobmanager.CheckpointFigures
}

// figuresOf adds up the metrics of all subtasks.
func figuresOf(job *graph.JobGraph, metrics []rpc.OpMetrics) []Figures {
	var out []Figures
	at := map[rpc.OpRef]int{}
	order := make([]int, 0)
	for _, v := range job.Vertices {
		for i, op := range v.Operators {
			at[rpc.OpRef{Task: taskless(v), Op: int32(i)}] = len(out)
			out = append(out, Figures{Name: op.Node.Label(), Kind: op.Node.Kind, Vertex: v.Name, Head: i == 0,
				Parallelism: v.Parallelism, Watermark: event.MaxTime})
			order = append(order, op.Node.ID)
		}
	}
	seen := make([]bool, len(out))
	for _, m := range metrics {
		ref := m.Op
		ref.Task.Subtask, ref.Task.Attempt = 0, 0
		i, ok := at[ref]
		if !ok {
			continue
		}
		seen[i] = true
		out[i].add(m)
	}
	for i := range out {
		if !seen[i] {
			out[i].Watermark = event.NoTime
		}
	}
	sorted := make([]int, len(out))
	for i := range sorted {
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
	result := make([]Figures, len(out))
	for i, j := range sorted {
		result[i] = out[j]
	}
	return result
}

func taskless(v *graph.Vertex) (id ids.TaskID) {
	id.Vertex = v.ID
	return id
}

func (f *Figures) add(m rpc.OpMetrics) {
	f.RowsIn += m.RowsIn
	f.RowsOut += m.RowsOut
	f.Late += m.Late
	f.Bad += m.Bad
	f.Watermark = min(f.Watermark, m.Watermark)
	f.Busy += m.Busy
	f.Idle += m.Idle
	f.Backpressured += m.Backpressured
	for _, c := range m.Counters {
		switch c.Name {
		case counterNoTime:
			f.NoTime += c.Value
		case counterUnread:
			f.Unread += c.Value
		default:
			if f.Counters == nil {
				f.Counters = map[string]int64{}
			}
			f.Counters[c.Name] += c.Value
		}
	}
}

// Names of the counters that every operator reports beside its standing figures.
const (
	counterNoTime = "weir.noTime"
	counterUnread = "weir.unread"
)
