package jobfsm

import (
	"fmt"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/invariant"
)

// PlacedTask is a task and the worker that runs it.
type PlacedTask struct {
	Task   ids.TaskID
	Worker ids.WorkerID
}

// Config is what a machine knows of the job from the start. It must not be changed afterwards.
type Config struct {
	// Workers are all workers that the job needs.
	Workers []ids.WorkerID
	// Tasks are all tasks of the job, each on one of Workers.
	Tasks []PlacedTask
	// Fingerprint and Version are those of the master; workers must have the same.
	Fingerprint, Version string
	// Exits says that a WorkerExited event follows each loss of a worker.
	Exits bool
}

// workerPhase is where a worker is in its life.
type workerPhase uint8

const (
	workerAwaited  workerPhase = iota
	workerJoined               // connected, no Deploy sent
	workerSent                 // Deploy sent
	workerDeployed             // all its tasks are ready
	workerGone                 // lost, exited or refused
)

type worker struct {
	phase     workerPhase
	explained bool    // workerGone: nothing more will be heard of the reason
	running   int     // its tasks that have not ended
	tasks     []int32 // its tasks, as indices into Config.Tasks; never changed
}

// hasTasks reports whether tasks were sent to the worker and it still is there.
func (w *worker) hasTasks() bool { return w.phase == workerSent || w.phase == workerDeployed }

// rank says how much is known about the cause of a failure; see the package comment.
type rank uint8

const (
	rankNone        rank = iota
	rankConsequence      // there must be another failure behind it
	rankUnexplained      // a worker is lost, its exit will tell why
	rankRoot
)

// Machine is the life of one job. It belongs to one goroutine.
type Machine struct {
	cfg     Config
	phase   Phase
	index   map[ids.WorkerID]int // into workers and cfg.Workers; never changed
	place   map[ids.TaskID]int   // into tasks and cfg.Tasks; never changed
	workers []worker
	tasks   []TaskPhase
	running int // tasks that have not ended; the sum over the workers

	joined, deployed int // workers that have ever been in these phases

	cause     *errs.Error
	rank      rank
	suspect   int    // with rankUnexplained: whose exit will explain
	reason    string // of the cancellation
	explain   bool   // DeadlineExplain is set
	patience  bool   // false: the wait for an explanation is over
	abandoned []ids.TaskID

	out []Command
}

// New returns the machine of a job. Two workers or two tasks of the same id, or a task on a worker that is not listed, is
// a bug of the caller and panics.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, index: map[ids.WorkerID]int{}, place: map[ids.TaskID]int{}, patience: true,
		workers: make([]worker, len(cfg.Workers)), tasks: make([]TaskPhase, len(cfg.Tasks)), running: len(cfg.Tasks)}
	for i, w := range cfg.Workers {
		m.index[w] = i
	}
	for i, t := range cfg.Tasks {
		m.place[t.Task] = i
		w, known := m.index[t.Worker]
		invariant.Always(known, "task %v is on worker %q, which is not one of the job's", t.Task, t.Worker)
		m.workers[w].tasks = append(m.workers[w].tasks, int32(i))
		m.workers[w].running++
	}
	invariant.Always(len(m.index) == len(cfg.Workers), "two workers of one id among %v", cfg.Workers)
	invariant.Always(len(m.place) == len(cfg.Tasks), "two tasks of one id")
	return m
}

// Phase is the job's present phase.
func (m *Machine) Phase() Phase { return m.phase }

// Task is the present phase of the i-th task of Config.Tasks.
func (m *Machine) Task(i int) TaskPhase { return m.tasks[i] }

// Step takes an event and returns what has to be done. The slice is valid until the next call.
func (m *Machine) Step(e Event) []Command {
	m.out = m.out[:0]
	if m.phase.Ended() {
		m.note("%s in phase %s", describe(e), m.phase)
		return m.out
	}
	switch e := e.(type) {
	case Begin:
		m.stepBegin()
	case WorkerJoined:
		m.stepJoined(e)
	case WorkerLost:
		m.stepLost(e)
	case WorkerExited:
		m.stepExited(e)
	case Deployed:
		m.stepDeployed(e)
	case DeployFailed:
		m.stepDeployFailed(e)
	case TaskMoved:
		m.stepTaskMoved(e)
	case MasterFailed:
		m.fail(e.Cause, rankOf(e.Cause), -1)
	case CancelAsked:
		m.stepCancel(e)
	case SidesTaken:
		m.stepSidesTaken()
	case DeadlinePassed:
		m.stepDeadline(e.Kind)
	}
	m.settle()
	return m.out
}

func (m *Machine) do(c Command) { m.out = append(m.out, c) }

func (m *Machine) note(format string, args ...any) {
	m.do(Note{Text: "ignored: " + fmt.Sprintf(format, args...)})
}

func (m *Machine) enter(p Phase) {
	m.phase = p
	m.do(Enter{p})
}

func (m *Machine) stepBegin() {
	if m.phase != Created {
		m.note("begin in phase %s", m.phase)
		return
	}
	m.enter(Deploying)
	m.do(SetDeadline{DeadlineJoin})
}

func (m *Machine) stepJoined(e WorkerJoined) {
	i, known := m.index[e.Worker]
	if !known || m.workers[i].phase != workerAwaited {
		m.note("%s", describe(e))
		return
	}
	if cause := m.mismatch(e); cause != nil {
		m.workers[i].phase, m.workers[i].explained = workerGone, true
		m.do(Shutdown{e.Worker, cause})
		m.endTasksOf(i, TaskFailed)
		m.fail(cause, rankRoot, -1)
		return
	}
	m.workers[i].phase = workerJoined
	if m.joined++; m.phase != Deploying || m.joined < len(m.workers) {
		return
	}
	for i, w := range m.cfg.Workers {
		m.workers[i].phase = workerSent
		m.do(Deploy{w})
	}
	for i := range m.tasks {
		m.tasks[i] = TaskDeploying
	}
}

func (m *Machine) mismatch(e WorkerJoined) *errs.Error {
	op := "worker " + string(e.Worker)
	switch {
	case e.Version != m.cfg.Version:
		return errs.New(errs.CodePlanMismatch, errs.ClassFailJob, op,
			"it runs version %q of the engine, the job's master runs %q: start all processes from the same binary", e.Version, m.cfg.Version)
	case e.Fingerprint != m.cfg.Fingerprint:
		return errs.New(errs.CodePlanMismatch, errs.ClassFailJob, op,
			"it has built the plan %s, the job's master has %s. The build function must give the same graph in every process: "+
				"let it not depend on the time, random numbers, the process id, the order of a map, or on files and environment that "+
				"differ between processes; and start all processes from the same binary with the same arguments", e.Fingerprint, m.cfg.Fingerprint)
	}
	return nil
}

func (m *Machine) stepDeployed(e Deployed) {
	i, known := m.index[e.Worker]
	if !known || m.workers[i].phase != workerSent {
		m.note("%s", describe(e))
		return
	}
	m.workers[i].phase = workerDeployed
	for _, t := range m.workers[i].tasks {
		if m.tasks[t] == TaskDeploying {
			m.tasks[t] = TaskReady
		}
	}
	if m.deployed++; m.phase != Deploying || m.deployed < len(m.workers) {
		return
	}
	m.do(ClearDeadline{DeadlineJoin})
	m.enter(Running)
	for _, w := range m.cfg.Workers {
		m.do(Start{w})
	}
}

func (m *Machine) stepDeployFailed(e DeployFailed) {
	i, known := m.index[e.Worker]
	if !known || m.workers[i].phase != workerSent {
		m.note("%s", describe(e))
		return
	}
	m.workers[i].phase = workerDeployed // it has nothing left to deploy
	if m.phase.stopping() && errs.IsCanceled(e.Cause) {
		m.endTasksOf(i, TaskCanceled)
		return
	}
	m.endTasksOf(i, TaskFailed)
	m.fail(e.Cause, rankOf(e.Cause), -1)
}

func (m *Machine) stepTaskMoved(e TaskMoved) {
	i, known := m.place[e.Task]
	w := m.index[e.Worker]
	if !known || m.cfg.Tasks[i].Worker != e.Worker || !m.workers[w].hasTasks() || m.tasks[i].Ended() ||
		!e.Phase.Ended() && e.Phase <= m.tasks[i] { // it came twice, or late
		m.note("%s", describe(e))
		return
	}
	m.setTask(i, w, e.Phase)
	if e.Phase == TaskFailed {
		m.fail(e.Cause, rankOf(e.Cause), -1)
	} else if e.Phase == TaskCanceled && !m.phase.stopping() {
		m.fail(errs.New(errs.CodeCanceled, errs.ClassCanceled, "task "+e.Task.String(),
			"it was cancelled by worker %s, not by the job's master", e.Worker), rankConsequence, -1)
	}
}

func (m *Machine) stepLost(e WorkerLost) {
	i, known := m.index[e.Worker]
	if !known || m.workers[i].phase == workerGone {
		m.note("%s", describe(e))
		return
	}
	m.lose(i, e.Cause, !m.cfg.Exits)
}

func (m *Machine) stepExited(e WorkerExited) {
	i, known := m.index[e.Worker]
	switch {
	case !known || m.workers[i].explained:
		m.note("%s", describe(e))
	case m.workers[i].phase != workerGone:
		m.lose(i, e.Cause, true)
	default:
		m.workers[i].explained = true
		if m.phase == Failing && m.rank == rankUnexplained && m.suspect == i {
			m.cause, m.rank = e.Cause, rankRoot
		}
	}
}

// lose takes a worker for lost. Once all tasks have finished nothing depends on it any more.
func (m *Machine) lose(i int, cause *errs.Error, explained bool) {
	m.workers[i].phase, m.workers[i].explained = workerGone, explained
	if m.phase == Finishing {
		m.note("%v; every task had finished", cause)
		return
	}
	m.endTasksOf(i, TaskFailed)
	r := rankRoot
	if !explained {
		r = rankUnexplained
	}
	m.fail(cause, r, i)
}

func (m *Machine) endTasksOf(i int, p TaskPhase) {
	for _, t := range m.workers[i].tasks {
		if !m.tasks[t].Ended() {
			m.setTask(int(t), i, p)
		}
	}
}

// setTask moves task t, which has not ended and is on worker w.
func (m *Machine) setTask(t, w int, p TaskPhase) {
	m.tasks[t] = p
	if p.Ended() {
		m.workers[w].running--
		m.running--
	}
}

// rankOf tells consequences from real failures.
func rankOf(cause *errs.Error) rank {
	if cause.Code == errs.CodePeerLost || cause.Class == errs.ClassCanceled {
		return rankConsequence
	}
	return rankRoot
}

// fail lets the job fail with a cause, or takes notice of a better one. suspect is the lost worker, or -1.
func (m *Machine) fail(cause *errs.Error, r rank, suspect int) {
	switch {
	case m.phase == Canceling:
		m.note("failure while the job is cancelled: %v", cause)
	case m.phase == Failing && (m.rank != rankConsequence || r <= m.rank):
		m.note("further failure: %v", cause)
	case m.phase == Failing:
		m.cause, m.rank, m.suspect = cause, r, suspect
	default:
		m.cause, m.rank, m.suspect = cause, r, suspect
		m.stop(Failing, "the job has failed: "+cause.Error())
	}
}

func (m *Machine) stepCancel(e CancelAsked) {
	if m.phase.stopping() {
		m.note("cancel in phase %s", m.phase)
		return
	}
	m.reason = e.Reason
	m.stop(Canceling, e.Reason)
}

// stop cancels whatever runs.
func (m *Machine) stop(p Phase, reason string) {
	if m.phase == Deploying {
		m.do(ClearDeadline{DeadlineJoin})
	}
	m.enter(p)
	for i, w := range m.cfg.Workers {
		if !m.workers[i].hasTasks() { // they were never sent, or are lost already
			m.endTasksOf(i, TaskCanceled)
		} else if m.workers[i].running > 0 {
			m.do(Cancel{w, reason})
		}
	}
	if m.running > 0 {
		m.do(SetDeadline{DeadlineStop})
	}
}

func (m *Machine) stepSidesTaken() {
	if m.phase != Finishing {
		m.note("side rows taken in phase %s", m.phase)
		return
	}
	m.end(Finished)
}

func (m *Machine) stepDeadline(k Deadline) {
	switch {
	case k == DeadlineJoin && m.phase == Deploying:
		cause := m.joinFailure()
		m.fail(cause, rankRoot, -1)
	case k == DeadlineStop && m.phase.stopping():
		m.abandon()
	case k == DeadlineExplain && m.explain:
		m.explain, m.patience = false, false
		for i := range m.workers {
			if m.workers[i].phase == workerGone && !m.workers[i].explained {
				m.workers[i].explained = true
				m.do(Kill{m.cfg.Workers[i], "its control connection broke, but the process has not ended"})
			}
		}
	default:
		m.note("deadline %s in phase %s", k, m.phase)
	}
}

func (m *Machine) joinFailure() *errs.Error {
	var absent, slow []string
	for i, w := range m.cfg.Workers {
		switch m.workers[i].phase {
		case workerAwaited:
			absent = append(absent, string(w))
		case workerSent:
			slow = append(slow, string(w))
		}
	}
	if len(absent) > 0 {
		return errs.New(errs.CodeWorkerLost, errs.ClassFailTask, "worker "+strings.Join(absent, ", "),
			"%d of %d workers have not connected in time: see what they print, and whether the build function hangs in them", len(absent), len(m.workers))
	}
	return errs.New(errs.CodeWorkerLost, errs.ClassFailTask, "worker "+strings.Join(slow, ", "),
		"%d of %d workers have not deployed their tasks in time", len(slow), len(m.workers))
}

// abandon gives up workers whose tasks do not stop.
func (m *Machine) abandon() {
	for i, w := range m.cfg.Workers {
		if m.workers[i].running == 0 {
			continue
		}
		for _, t := range m.workers[i].tasks {
			if !m.tasks[t].Ended() {
				m.abandoned = append(m.abandoned, m.cfg.Tasks[t].Task)
			}
		}
		m.endTasksOf(i, TaskFailed)
		m.workers[i].phase, m.workers[i].explained = workerGone, true
		m.do(Kill{w, "its tasks did not stop in time"})
	}
}

// settle does what follows from the present state, whatever event led to it.
func (m *Machine) settle() {
	if m.running > 0 {
		return
	}
	switch m.phase {
	case Running:
		m.enter(Finishing)
		m.do(DrainSides{})
	case Canceling:
		m.end(Canceled)
	case Failing:
		if m.rank != rankRoot && m.patience {
			if !m.explain {
				m.explain = true
				m.do(SetDeadline{DeadlineExplain})
			}
			return
		}
		m.end(Failed)
	}
}

func (m *Machine) end(p Phase) {
	m.enter(p)
	for i, w := range m.cfg.Workers {
		if m.workers[i].phase != workerGone {
			m.do(Shutdown{Worker: w})
		}
	}
	m.do(End{Cause: m.cause, Abandoned: m.abandoned})
}
