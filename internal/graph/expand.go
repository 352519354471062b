package graph

import (
	"fmt"
	"iter"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
)

// Cluster is what a job may be spread over.
type Cluster struct {
	Workers        int // 0 = 1
	SlotsPerWorker int // 0 = as many as the job needs
}

// ExecutionGraph is a job graph with its tasks placed.
//
// Channels are not stored: an all-to-all edge between two vertices of parallelism 1,000 has a million of them. Inputs and
// Outputs compute those of one task.
type ExecutionGraph struct {
	Job   *JobGraph
	Tasks []Task // sorted by vertex and subtask; the index of a task is its number here
	Slots []Slot

	first []int // by vertex: index of its subtask 0 in Tasks
}

// Task is one parallel instance of a vertex.
type Task struct {
	ID          ids.TaskID // Attempt is 0
	Parallelism int
	Slot        int // index in Slots
	Worker      int // 0 <= Worker < Cluster.Workers
}

// Slot holds at most one subtask of each vertex of a slot sharing group.
type Slot struct {
	Group  string
	Index  int // within the group
	Worker int
	Tasks  []int // ascending
}

// ChannelID names a channel in every process alike.
type ChannelID struct {
	Edge     int // JobEdge.ID
	From, To int // subtasks
}

// String prints "e2:0>3".
func (c ChannelID) String() string { return fmt.Sprintf("e%d:%d>%d", c.Edge, c.From, c.To) }

// Channel is one way from a task to a task.
type Channel struct {
	ID       ChannelID
	From, To int  // indexes in ExecutionGraph.Tasks
	Gate     int  // gate of the consumer
	Index    int  // place among all input channels of the consumer, over all of its gates, from 0
	Local    bool // both tasks live in one worker
}

// Output is one outgoing edge of a task.
type Output struct {
	Edge     *JobEdge
	Channels []Channel // in the order of the consumer's subtasks; at index i is not always subtask i (Forward, Rescale)
}

// Expand makes the tasks and places them. Subtask i of a vertex of parallelism p goes to slot i*s/p of its group, where s
// is the highest parallelism in the group: vertices of equal parallelism share slots subtask by subtask, so that forward
// edges stay local, and the near groups of Rescale lie together. Each group's slots are spread evenly over the workers.
// It fails only
// when the cluster has too few slots (class retry: more workers may come).
func Expand(job *JobGraph, cl Cluster) (*ExecutionGraph, error) {
	x := &ExecutionGraph{Job: job}
	if err := x.placeSlots(cl); err != nil {
		return nil, err
	}
	firstSlot := map[string]int{}
	size := map[string]int{}
	for i, s := range x.Slots {
		if s.Index == 0 {
			firstSlot[s.Group] = i
		}
		size[s.Group]++
	}
	for _, v := range job.Vertices {
		x.first = append(x.first, len(x.Tasks))
		for i := range v.Parallelism {
			slot := firstSlot[v.SlotGroup] + i*size[v.SlotGroup]/v.Parallelism
			s := &x.Slots[slot]
			s.Tasks = append(s.Tasks, len(x.Tasks))
			x.Tasks = append(x.Tasks, Task{ID: ids.TaskID{Vertex: v.ID, Subtask: int32(i)}, Parallelism: v.Parallelism, Slot: slot, Worker: s.Worker})
		}
	}
	return x, nil
}

// placeSlots gives every group its slots, as many to each worker; what is left over goes round, from group to group, so
// that the workers' loads never differ by more than one. Within a group, neighbouring slots lie on one worker.
func (x *ExecutionGraph) placeSlots(cl Cluster) error {
	workers := max(cl.Workers, 1)
	groups, need := slotGroups(x.Job)
	total := 0
	for _, g := range groups {
		total += need[g]
	}
	if cl.SlotsPerWorker > 0 && total > workers*cl.SlotsPerWorker {
		var each []string
		for _, g := range groups {
			each = append(each, fmt.Sprintf("%q %d", g, need[g]))
		}
		return errs.New("graph.slots", errs.ClassRetry, "", "the job needs %d slots (by slot sharing group: %s), the cluster has %d.\n"+
			"  Lower the parallelism or start more workers.",
			total, strings.Join(each, ", "), workers*cl.SlotsPerWorker)
	}
	turn := 0 // whose turn it is to get one slot more than the others
	for _, g := range groups {
		quota := make([]int, workers)
		for w := range quota {
			quota[w] = need[g] / workers
		}
		for range need[g] % workers {
			quota[turn]++
			turn = (turn + 1) % workers
		}
		index := 0
		for w, q := range quota {
			for range q {
				x.Slots = append(x.Slots, Slot{Group: g, Index: index, Worker: w})
				index++
			}
		}
	}
	return nil
}

// slotGroups lists the groups in the order of their first vertex, with the number of slots each needs.
func slotGroups(job *JobGraph) (groups []string, need map[string]int) {
	need = map[string]int{}
	for _, v := range job.Vertices {
		if need[v.SlotGroup] == 0 {
			groups = append(groups, v.SlotGroup)
		}
		need[v.SlotGroup] = max(need[v.SlotGroup], v.Parallelism)
	}
	return groups, need
}

// TaskAt is the index of a subtask of a vertex.
func (x *ExecutionGraph) TaskAt(v ids.VertexID, subtask int) int { return x.first[v] + subtask }

// Vertex is the vertex of a task.
func (x *ExecutionGraph) Vertex(task int) *Vertex { return x.Job.Vertices[x.Tasks[task].ID.Vertex] }

// Inputs lists the input channels of a task, sorted by gate, edge and producing subtask; Channel.Index is the place in
// this list.
func (x *ExecutionGraph) Inputs(task int) []Channel {
	t := x.Tasks[task]
	var out []Channel
	for _, id := range x.Vertex(task).Inputs {
		e := x.Job.Edges[id]
		lo, hi := x.producers(e, int(t.ID.Subtask))
		for from := lo; from < hi; from++ {
			out = append(out, x.channel(e, from, int(t.ID.Subtask), len(out)))
		}
	}
	return out
}

// Outputs lists the outgoing edges of a task with their channels, in the order of Vertex.Outputs.
func (x *ExecutionGraph) Outputs(task int) []Output {
	t := x.Tasks[task]
	var out []Output
	for _, id := range x.Vertex(task).Outputs {
		e := x.Job.Edges[id]
		o := Output{Edge: e}
		lo, hi := x.consumers(e, int(t.ID.Subtask))
		for to := lo; to < hi; to++ {
			first, _ := x.producers(e, to)
			o.Channels = append(o.Channels, x.channel(e, int(t.ID.Subtask), to, x.inputsBefore(e, to)+int(t.ID.Subtask)-first))
		}
		out = append(out, o)
	}
	return out
}

// Channels yields every channel of the job: by consumer, in the order of Inputs. For tests and small jobs.
func (x *ExecutionGraph) Channels() iter.Seq[Channel] {
	return func(yield func(Channel) bool) {
		for task := range x.Tasks {
			for _, c := range x.Inputs(task) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

func (x *ExecutionGraph) channel(e *JobEdge, from, to, index int) Channel {
	c := Channel{ID: ChannelID{Edge: e.ID, From: from, To: to}, From: x.TaskAt(e.From, from), To: x.TaskAt(e.To, to), Gate: e.Edge.Input, Index: index}
	c.Local = x.Tasks[c.From].Worker == x.Tasks[c.To].Worker
	return c
}

// inputsBefore counts the input channels of a subtask that come before those of edge e.
func (x *ExecutionGraph) inputsBefore(e *JobEdge, subtask int) int {
	n := 0
	for _, id := range x.Job.Vertices[e.To].Inputs {
		if id == e.ID {
			break
		}
		lo, hi := x.producers(x.Job.Edges[id], subtask)
		n += hi - lo
	}
	return n
}

func (x *ExecutionGraph) producers(e *JobEdge, to int) (lo, hi int) {
	p, q := x.Job.Vertices[e.From].Parallelism, x.Job.Vertices[e.To].Parallelism
	return Producers(e.Edge.Partition.Kind, p, q, to)
}

func (x *ExecutionGraph) consumers(e *JobEdge, from int) (lo, hi int) {
	p, q := x.Job.Vertices[e.From].Parallelism, x.Job.Vertices[e.To].Parallelism
	return Consumers(e.Edge.Partition.Kind, p, q, from)
}

// Producers is the range lo <= i < hi of the p producing subtasks that have a channel to consuming subtask to of q.
//
// Forward and Rescale connect near groups: with p >= q a consumer reads [to*p/q, (to+1)*p/q), with p < q it reads from
// to*p/q alone. All others connect everybody with everybody, Global included, because watermarks and the end of the input
// go to every subtask.
func Producers(k PartitionKind, p, q, to int) (lo, hi int) {
	switch {
	case k != Forward && k != Rescale:
		return 0, p
	case p >= q:
		return to * p / q, (to + 1) * p / q
	default:
		return to * p / q, to*p/q + 1
	}
}

// Consumers is the range of the q consuming subtasks that producing subtask from of p has a channel to: the inverse of
// Producers.
func Consumers(k PartitionKind, p, q, from int) (lo, hi int) {
	switch {
	case k != Forward && k != Rescale:
		return 0, q
	case p >= q:
		to := ((from+1)*q - 1) / p
		return to, to + 1
	default:
		return (from*q + p - 1) / p, ((from+1)*q + p - 1) / p
	}
}
