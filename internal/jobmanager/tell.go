package jobmanager

import (
	"strings"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobfsm"
	"github.com/weir-stream/weir/internal/rpc"
)

// deployment is what has been told of the one that is under way. It belongs to the goroutine of Run.
type deployment struct {
	began time.Time
	open  bool // its end has not been told
}

// phaseName is a phase as Flink writes it.
func phaseName(p string) string { return strings.ToUpper(p) }

func (m *Master) tellBegin() {
	m.cfg.Events.JobBegin(events.JobBegin{Job: m.job.ID, Name: m.job.Name, Fingerprint: m.job.Fingerprint, Vertices: len(m.job.Placement), Tasks: len(m.job.tasks())})
}

// tellEnd is the last event of a job. What did not come to its end otherwise is told to have ended.
func (m *Master) tellEnd(res Result, err error) {
	m.tellDeployEnd(err)
	for _, p := range m.workers {
		m.tellLost(p, nil)
	}
	e := events.JobEnd{Job: m.job.ID, Name: m.job.Name, Phase: phaseName(res.Phase), Elapsed: res.Duration}
	if res.Phase == jobfsm.Failed.String() {
		e.Err = err
	}
	m.cfg.Events.JobEnd(e)
}

func (m *Master) tellPhase(from, to jobfsm.Phase) {
	m.cfg.Events.JobPhase(events.JobPhase{Job: m.job.ID, From: phaseName(from.String()), To: phaseName(to.String())})
	if to == jobfsm.Running {
		m.tellDeployEnd(nil)
	}
}

func (m *Master) tellDeployBegin() {
	if m.deployment.open {
		return // another worker of the same
	}
	m.deployment = deployment{began: m.cfg.Clock.Now(), open: true}
	m.cfg.Events.DeployBegin(events.DeployBegin{Job: m.job.ID, Generation: m.job.Generation, Tasks: len(m.scopeTasks()), Workers: len(m.job.Workers)})
}

func (m *Master) tellDeployEnd(err error) {
	if !m.deployment.open {
		return
	}
	m.deployment.open = false
	m.cfg.Events.DeployEnd(events.DeployEnd{Job: m.job.ID, Generation: m.job.Generation, Err: err, Elapsed: m.cfg.Clock.Since(m.deployment.began)})
}

func (m *Master) tellTask(w ids.WorkerID, task ids.TaskID, from, to string, err *errs.Error) {
	e := events.TaskPhase{Job: m.job.ID, Task: task, Name: m.job.operatorName(sourceKey{vertex: int32(task.Vertex)}),
		Parallelism: len(m.job.Placement[task.Vertex]), Worker: w, From: phaseName(from), To: phaseName(to)}
	if err != nil {
		e.Err = err
	}
	m.cfg.Events.TaskPhase(e)
}

func (m *Master) tellStuck(b *rpc.TaskStacks) {
	for _, t := range b.Tasks {
		if m.job.valid(rpc.OpRef{Task: t}) {
			m.cfg.Events.TaskStuck(events.TaskStuck{Job: m.job.ID, Task: t, Name: m.job.operatorName(sourceKey{vertex: int32(t.Vertex)}), Since: b.Waited, Stack: b.Stacks})
		}
	}
}

// tellLost says that a worker is gone; err is nil if it has left in order.
func (m *Master) tellLost(p *peer, err error) {
	tasks := 0
	for _, t := range m.job.tasks() {
		if t.Worker == p.worker {
			tasks++
		}
	}
	m.cfg.Events.WorkerLost(events.WorkerLost{Worker: p.worker, Err: err, Tasks: tasks})
}
