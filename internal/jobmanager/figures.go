package jobmanager

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/xsync"
)

// Progress is how a job stands.
type Progress struct {
	// Phase is the job's phase ("running").
	Phase string
	// Tasks counts the tasks by phase.
	Tasks map[string]int
	// Workers counts those that are connected.
	Workers int
	// Operators are the last figures of every operator that has reported any, by vertex, operator, subtask.
	Operators []rpc.OpMetrics
	// Checkpoints are the figures of checkpoints and restarts.
	Checkpoints CheckpointFigures
}

// figures keeps what workers report for whoever asks, from any goroutine.
type figures struct {
	mu struct {
		xsync.Mutex
		phase string
		tasks map[ids.TaskID]string
		ops   map[rpc.OpRef]rpc.OpMetrics
		// workers counts those that are connected.
		workers     int
		checkpoints CheckpointFigures
	}
}

func newFigures(job *Job) *figures {
	f := &figures{}
	f.mu.ops = map[rpc.OpRef]rpc.OpMetrics{}
	f.mu.tasks = map[ids.TaskID]string{}
	f.mu.phase = "created"
	for _, t := range job.tasks() {
		f.mu.tasks[t.Task] = "created"
	}
	return f
}

func (f *figures) setPhase(p string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.phase = p
}

// setTask notes a task's phase and returns the one before.
func (f *figures) setTask(t ids.TaskID, phase string) (before string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before = f.mu.tasks[t]
	f.mu.tasks[t] = phase
	return before
}

// checkpoint changes the figures of checkpoints.
func (f *figures) checkpoint(change func(*CheckpointFigures)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.mu.checkpoints)
}

// lastComplete is the newest checkpoint that this run has completed.
func (f *figures) lastComplete() ids.Epoch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.checkpoints.Last.Epoch
}

// restart counts a restart and returns its number.
func (f *figures) restart(now time.Time) (n int64) {
	f.checkpoint(func(c *CheckpointFigures) {
		c.Restarts++
		n = c.Restarts
		if c.Restarting.IsZero() {
			c.Restarting = now
		}
	})
	return n
}

// begin forgets the figures of former attempts of tasks.
func (f *figures) begin(tasks []ids.TaskID) {
	again := make(map[ids.TaskID]bool, len(tasks))
	for _, t := range tasks {
		t.Attempt = 0
		again[t] = true
	}
	former := func(t ids.TaskID) bool {
		t.Attempt = 0
		return again[t]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.mu.ops, func(op rpc.OpRef, _ rpc.OpMetrics) bool { return former(op.Task) })
	maps.DeleteFunc(f.mu.tasks, func(t ids.TaskID, _ string) bool { return former(t) })
	for _, t := range tasks {
		f.mu.tasks[t] = "created"
	}
}

// runs notes what the generation that runs now was restored from.
func (f *figures) runs(from ids.Epoch, now time.Time) {
	f.checkpoint(func(c *CheckpointFigures) {
		c.Restarting, c.Running = time.Time{}, now
		if c.Restored = from; from > 0 {
			c.RestoredAt = now
		}
	})
}

func (f *figures) setWorkers(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.workers = n
}

func (f *figures) store(ops []rpc.OpMetrics) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range ops {
		f.mu.ops[m.Op] = m
	}
}

func (f *figures) progress() Progress {
	f.mu.Lock()
	p := Progress{Checkpoints: f.mu.checkpoints, Phase: f.mu.phase, Workers: f.mu.workers, Tasks: map[string]int{}, Operators: make([]rpc.OpMetrics, 0, len(f.mu.ops))}
	for _, phase := range f.mu.tasks {
		p.Tasks[phase]++
	}
	for _, m := range f.mu.ops {
		p.Operators = append(p.Operators, m)
	}
	f.mu.Unlock()
	slices.SortFunc(p.Operators, func(a, b rpc.OpMetrics) int {
		return cmp.Or(cmp.Compare(a.Op.Task.Vertex, b.Op.Task.Vertex), cmp.Compare(a.Op.Op, b.Op.Op), cmp.Compare(a.Op.Task.Subtask, b.Op.Task.Subtask))
	})
	return p
}
