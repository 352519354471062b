package jobmanager

import (
	"fmt"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobfsm"
	"github.com/weir-stream/weir/internal/rpc"
)

// regions is what is deployed of each failover region. Every deployment of a region has a generation of its own, which the messages
// about it carry, so that those of regions that go on stay valid when others are deployed anew. It belongs to the goroutine of Run.
type regions struct {
	generation []ids.Generation       // by region, 0 before the first deployment
	of         map[ids.Generation]int // the present ones
	from       []ids.Epoch            // what each was restored from
	tasks      [][]ids.TaskID         // without attempts
}

func newRegions(job *Job) regions {
	r := regions{of: map[ids.Generation]int{}}
	for _, t := range job.tasks() {
		for len(r.tasks) <= t.Region {
			r.tasks = append(r.tasks, nil)
		}
		r.tasks[t.Region] = append(r.tasks[t.Region], t.Task)
	}
	n := max(1, len(r.tasks))
	r.generation, r.from = make([]ids.Generation, n), make([]ids.Epoch, n)
	return r
}

// begin gives a region its next deployment.
func (r *regions) begin(region int, g ids.Generation, from ids.Epoch) {
	delete(r.of, r.generation[region])
	r.generation[region], r.from[region] = g, from
	r.of[g] = region
}

// unit is the tasks of a region on a worker.
type unit struct {
	worker ids.WorkerID
	region int
}

// region is that of a task; attempts mean nothing.
func (j *Job) region(t ids.TaskID) int {
	if j.Regions == nil {
		return 0
	}
	return int(j.Regions[t.Vertex][t.Subtask])
}

// unitOf is where a task runs.
func (j *Job) unitOf(t ids.TaskID) unit {
	return unit{j.Workers[j.Placement[t.Vertex][t.Subtask]], j.region(t)}
}

// attempt is a task of the present deployment of its region.
func (m *Master) attempt(t ids.TaskID) ids.TaskID {
	t.Attempt = m.machine.Attempt(m.job.region(t))
	return t
}

// inScope reports whether a task's region is deployed or restarted at present.
func (m *Master) inScope(t ids.TaskID) bool {
	if m.machine.Whole() {
		return true
	}
	r := m.job.region(t)
	for _, in := range m.machine.Scope() {
		if in == r {
			return true
		}
	}
	return false
}

// scopeTasks are the tasks that are deployed or restarted at present, of the attempt that their regions have.
func (m *Master) scopeTasks() (out []ids.TaskID) {
	for _, r := range m.machine.Scope() {
		if r < len(m.regions.tasks) {
			for _, t := range m.regions.tasks[r] {
				out = append(out, m.attempt(t))
			}
		}
	}
	return out
}

// goingOn are the generations of the regions that are not restarted.
func (m *Master) goingOn() (out []ids.Generation) {
	if !m.deployed || m.machine.Whole() {
		return nil
	}
	in := map[int]bool{}
	for _, r := range m.machine.Scope() {
		in[r] = true
	}
	for r, g := range m.regions.generation {
		if !in[r] {
			out = append(out, g)
		}
	}
	return out
}

// begun is the epoch that a failed task was restored from.
func (m *Master) begun(cause error) ids.Epoch {
	for _, f := range m.failures {
		if error(f.cause) == cause {
			return m.regions.from[m.job.region(f.task)]
		}
	}
	return m.from.Epoch
}

// fallen takes notice of regions whose tasks stop, to run again.
func (m *Master) fallen() {
	if why := m.inseparable(); why != "" && !m.machine.Whole() {
		m.cfg.Log.Info(fmt.Sprintf("the whole job is restarted, not only %d of its %d regions", len(m.machine.Scope()), len(m.regions.generation)), "why", why)
		m.step(jobfsm.Widen{Reason: why})
	}
	for _, d := range m.splits {
		if d.started && m.whole(d.source) {
			d.stop()
		}
	}
	if m.ckpt != nil {
		m.ckpt.restarting()
	}
}

// widened takes notice of regions that go with those that have fallen. What was found out for these alone is of no use.
func (m *Master) widened() {
	m.known, m.wanted, m.late = false, false, false
	m.restores++
	m.fallen()
}

// inseparable says why regions cannot be restarted without the others, "" if they can.
func (m *Master) inseparable() string {
	if m.ckpt != nil && m.ckpt.stopping() {
		return "the job is being stopped"
	}
	for _, d := range m.splits {
		if d.log.lost {
			return fmt.Sprintf("too many splits of %s were handed out since the latest checkpoint to remember them", d.source.Name)
		}
	}
	return ""
}

// whole reports whether all readers of a source are in the scope, so that its enumerator begins again with them.
func (m *Master) whole(s Source) bool {
	for subtask := range m.job.Placement[s.Vertex] {
		if !m.inScope(ids.TaskID{Vertex: s.Vertex, Subtask: int32(subtask)}) {
			return false
		}
	}
	return true
}

// sendTasks sends each worker a message about those of the tasks that it runs, one for each region, and returns which were told.
func (m *Master) sendTasks(tasks []ids.TaskID, body func(tasks []ids.TaskID) rpc.Body) map[unit]bool {
	by := map[unit][]ids.TaskID{}
	var order []unit
	for _, t := range tasks {
		u := m.job.unitOf(t)
		if by[u] == nil {
			order = append(order, u)
		}
		by[u] = append(by[u], t)
	}
	told := make(map[unit]bool, len(order))
	for _, u := range order {
		told[u] = true
		m.send(u, body(by[u]))
	}
	return told
}

// send queues a message about what a worker runs of a region, if the worker is there.
func (m *Master) send(u unit, b rpc.Body) {
	if p := m.workers[u.worker]; p != nil {
		m.put(p, m.regions.generation[u.region], b)
	}
}
