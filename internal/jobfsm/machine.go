package jobfsm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/invariant"
)

// PlacedTask is a task and the worker that runs it.
type PlacedTask struct {
	Task   ids.TaskID
	Worker ids.WorkerID
	// Region is the task's failover region: regions are counted from 0, and no row goes from one to another.
	Region int
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
	// Prepare says that the first deployment waits for Ready.
	Prepare bool
	// Restart asks after a failure that a restart may mend, instead of failing the job.
	Restart bool
}

// workerPhase is where a worker is in its life.
type workerPhase uint8

const (
	workerAwaited workerPhase = iota
	workerJoined              // connected
	workerGone                // lost, exited or refused
)

type worker struct {
	phase     workerPhase
	explained bool    // workerGone: nothing more will be heard of the reason
	exitOwed  bool    // the end of its process, or of the one before it, has not been told
	units     []int32 // what it runs, as indices into Machine.units; never changed
}

// unitPhase is how far the deployment of a unit has come.
type unitPhase uint8

const (
	unitWaits    unitPhase = iota // no Deploy sent
	unitSent                      // Deploy sent
	unitDeployed                  // all its tasks are ready
)

// unit is the tasks of one region on one worker: what is deployed, started and cancelled at a time.
type unit struct {
	worker, region int
	phase          unitPhase
	running        int     // its tasks that have not ended
	tasks          []int32 // as indices into Config.Tasks; never changed
}

// rank says how much is known about the cause of a failure; see the package comment.
type rank uint8

const (
	rankNone        rank = iota
	rankConsequence      // there must be another failure behind it
	rankUnexplained      // a worker is lost, its exit will tell why
	rankRoot
)

// restart is how far a restart has come.
type restart uint8

const (
	restartStopping restart = iota // tasks stop
	restartAsked
	restartDecided // waits for Ready and for workers
)

// Machine is the life of one job. It belongs to one goroutine.
type Machine struct {
	cfg     Config
	phase   Phase
	index   map[ids.WorkerID]int // into workers and cfg.Workers; never changed
	place   map[ids.TaskID]int   // into tasks and cfg.Tasks; never changed
	unitOf  []int                // by task; never changed
	workers []worker
	units   []unit // by region, then worker
	tasks   []TaskPhase
	running int // tasks that have not ended; the sum over the units

	// scope are the regions that are deployed, or restarted, at present: all of them at first, and when the job comes to its end.
	scope    []bool
	attempts []int32 // by region

	joined           int     // workers that are there
	sent             bool    // Deploy has been sent to the scope
	ready            bool    // nothing but workers is awaited before deployment
	restart          restart // in phase Restarting
	owed             bool    // the answer to AskRestart
	joinSet, stopSet bool    // deadlines

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
	m := &Machine{cfg: cfg, index: map[ids.WorkerID]int{}, place: map[ids.TaskID]int{}, patience: true, unitOf: make([]int, len(cfg.Tasks)),
		workers: make([]worker, len(cfg.Workers)), tasks: make([]TaskPhase, len(cfg.Tasks)), running: len(cfg.Tasks), ready: !cfg.Prepare}
	for i, w := range cfg.Workers {
		m.index[w] = i
	}
	regions := 1
	for i, t := range cfg.Tasks {
		m.place[t.Task] = i
		_, known := m.index[t.Worker]
		invariant.Always(known, "task %v is on worker %q, which is not one of the job's", t.Task, t.Worker)
		regions = max(regions, t.Region+1)
	}
	invariant.Always(len(m.index) == len(cfg.Workers), "two workers of one id among %v", cfg.Workers)
	invariant.Always(len(m.place) == len(cfg.Tasks), "two tasks of one id")
	m.scope, m.attempts = make([]bool, regions), make([]int32, regions)
	m.setScope(true)
	m.makeUnits()
	return m
}

// Phase is the job's present phase.
func (m *Machine) Phase() Phase { return m.phase }

// Task is the present phase of the i-th task of Config.Tasks.
func (m *Machine) Task(i int) TaskPhase { return m.tasks[i] }

// Attempt is the attempt of the tasks of a region, 0 for the first.
func (m *Machine) Attempt(region int) int32 { return m.attempts[region] }

// Lost reports whether a worker is gone.
func (m *Machine) Lost() bool {
	return slices.ContainsFunc(m.workers, func(w worker) bool { return w.phase == workerGone })
}

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
		m.fail(e.Cause, rankOf(e.Cause), -1, m.all())
	case CancelAsked:
		m.stepCancel(e)
	case Widen:
		m.stepWiden(e)
	case Decided:
		m.stepDecided(e)
	case Ready:
		m.stepReady()
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
	m.setJoin()
}

func (m *Machine) setJoin() {
	m.joinSet = true
	m.do(SetDeadline{DeadlineJoin})
}

func (m *Machine) clearDeadlines() {
	if m.joinSet {
		m.joinSet = false
		m.do(ClearDeadline{DeadlineJoin})
	}
	if m.stopSet {
		m.stopSet = false
		m.do(ClearDeadline{DeadlineStop})
	}
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
		m.fail(cause, rankRoot, -1, m.all())
		return
	}
	m.workers[i].phase = workerJoined
	m.joined++
	m.deploy()
}

// deploy sends the tasks of the scope to the workers, once all that it takes is there.
func (m *Machine) deploy() {
	if m.phase != Deploying || !m.ready || m.joined < len(m.workers) || m.sent {
		return
	}
	m.sent = true
	for u := range m.scoped() {
		u.phase = unitSent
		m.do(Deploy{m.cfg.Workers[u.worker], u.region})
		for _, t := range u.tasks {
			m.tasks[t] = TaskDeploying
		}
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
	u := m.unit(e.Worker, e.Region)
	if u == nil || u.phase != unitSent || !m.there(u) {
		m.note("%s", describe(e))
		return
	}
	u.phase = unitDeployed
	for _, t := range u.tasks {
		if m.tasks[t] == TaskDeploying {
			m.tasks[t] = TaskReady
		}
	}
	if m.phase != Deploying {
		return
	}
	for u := range m.scoped() {
		if u.phase != unitDeployed {
			return
		}
	}
	m.clearDeadlines()
	m.enter(Running)
	for u := range m.scoped() {
		m.do(Start{m.cfg.Workers[u.worker], u.region})
	}
}

func (m *Machine) stepDeployFailed(e DeployFailed) {
	u := m.unit(e.Worker, e.Region)
	if u == nil || u.phase != unitSent || !m.there(u) {
		m.note("%s", describe(e))
		return
	}
	u.phase = unitDeployed // it has nothing left to deploy
	if m.phase.stopping() && errs.IsCanceled(e.Cause) {
		m.endUnit(u, TaskCanceled)
		return
	}
	m.endUnit(u, TaskFailed)
	m.fail(e.Cause, rankOf(e.Cause), -1, []int{u.region})
}

func (m *Machine) stepTaskMoved(e TaskMoved) {
	attempt := e.Task.Attempt
	e.Task.Attempt = 0
	i, known := m.place[e.Task]
	e.Task.Attempt = attempt
	if !known {
		m.note("%s", describe(e))
		return
	}
	u := &m.units[m.unitOf[i]]
	if attempt != m.attempts[u.region] || m.cfg.Tasks[i].Worker != e.Worker || !m.hasTasks(u) || m.tasks[i].Ended() ||
		!e.Phase.Ended() && e.Phase <= m.tasks[i] { // it came twice, or late
		m.note("%s", describe(e))
		return
	}
	m.setTask(i, e.Phase)
	if e.Phase == TaskFailed {
		m.fail(e.Cause, rankOf(e.Cause), -1, []int{u.region})
	} else if e.Phase == TaskCanceled && !(m.phase.stopping() && m.scope[u.region]) {
		m.fail(errs.New(errs.CodeCanceled, errs.ClassCanceled, "task "+e.Task.String(),
			"it was cancelled by worker %s, not by the job's master", e.Worker), rankConsequence, -1, []int{u.region})
	}
}

func (m *Machine) stepLost(e WorkerLost) {
	i, known := m.index[e.Worker]
	if !known || m.workers[i].phase == workerGone {
		m.note("%s", describe(e))
		return
	}
	m.workers[i].exitOwed = m.cfg.Exits
	m.lose(i, e.Cause, !m.cfg.Exits)
}

func (m *Machine) stepExited(e WorkerExited) {
	i, known := m.index[e.Worker]
	if !known {
		m.note("%s", describe(e))
		return
	}
	w := &m.workers[i]
	owed := w.exitOwed
	w.exitOwed = false
	switch {
	case w.phase != workerGone && !owed:
		m.lose(i, e.Cause, true)
	case w.phase != workerGone || w.explained:
		m.note("%s", describe(e))
	default:
		w.explained = true
		if m.phase.stopping() && m.rank == rankUnexplained && m.suspect == i {
			m.cause, m.rank = e.Cause, rankRoot
		}
	}
}

// lose takes a worker for lost. Once all tasks have finished nothing depends on it any more.
func (m *Machine) lose(i int, cause *errs.Error, explained bool) {
	if p := m.workers[i].phase; p != workerAwaited && p != workerGone {
		m.joined--
	}
	m.workers[i].phase, m.workers[i].explained = workerGone, explained
	if m.phase == Finishing {
		m.note("%v; every task had finished", cause)
		return
	}
	concerned := m.concernedBy(i)
	m.endTasksOf(i, TaskFailed)
	r := rankRoot
	if !explained {
		r = rankUnexplained
	}
	m.fail(cause, r, i, concerned)
}

// rankOf tells consequences from real failures.
func rankOf(cause *errs.Error) rank {
	if cause.Code == errs.CodePeerLost || cause.Class == errs.ClassCanceled {
		return rankConsequence
	}
	return rankRoot
}

// fail lets regions of the job fail with a cause, or takes notice of a better one. suspect is the lost worker, or -1.
func (m *Machine) fail(cause *errs.Error, r rank, suspect int, regions []int) {
	outside := m.phase == Restarting && slices.ContainsFunc(regions, func(r int) bool { return !m.scope[r] })
	grown := outside && m.mends(cause) && m.widen(regions, "the job has failed: "+cause.Error())
	switch {
	case outside && !grown: // what goes on has failed, and no restart mends it
	case m.phase == Canceling:
		m.note("failure while the job is cancelled: %v", cause)
		return
	case m.phase == Restarting && m.restart == restartAsked && m.mends(cause) && !grown:
		m.note("further failure, while the restart is decided on: %v", cause) // who is lost is replaced with it
		return
	case m.phase == Restarting && m.restart != restartStopping:
		// The cause so far has been dealt with; this is another failure, of what is to run next.
		m.stopAgain()
	case m.phase.stopping() && (m.rank != rankConsequence || r <= m.rank):
		m.note("further failure: %v", cause)
		return
	case m.phase.stopping():
	default:
		m.cause, m.rank, m.suspect = cause, r, suspect
		to := Failing
		if m.mends(cause) {
			to = Restarting
		}
		m.chooseScope(to, regions)
		m.stop(to, "the job has failed: "+cause.Error())
		return
	}
	m.cause, m.rank, m.suspect = cause, r, suspect
	if m.phase == Restarting && !m.mends(cause) {
		m.enter(Failing)
		m.widen(m.all(), "the job has failed: "+cause.Error())
	}
}

// stopAgain goes back from a restart that was asked for, or decided on, to the stopping of tasks.
func (m *Machine) stopAgain() {
	m.restart, m.ready = restartStopping, false
	m.clearDeadlines()
	if m.scopeRuns() {
		m.setStop()
	}
}

// mends reports whether a restart may mend a failure.
func (m *Machine) mends(cause *errs.Error) bool {
	return m.cfg.Restart && cause.Class != errs.ClassUser && cause.Class != errs.ClassFailJob
}

func (m *Machine) stepCancel(e CancelAsked) {
	if m.phase.stopping() && m.phase != Restarting {
		m.note("cancel in phase %s", m.phase)
		return
	}
	m.reason = e.Reason
	if m.phase == Restarting { // tasks have been told to stop, as far as there are any
		if m.joinSet {
			m.clearDeadlines()
		}
		m.enter(Canceling)
		m.widen(m.all(), e.Reason)
		return
	}
	m.setScope(true)
	m.stop(Canceling, e.Reason)
}

// stop cancels whatever runs of the scope.
func (m *Machine) stop(p Phase, reason string) {
	m.clearDeadlines()
	m.enter(p)
	m.restart = restartStopping
	for u := range m.scoped() {
		m.cancel(u, reason)
	}
	if m.scopeRuns() {
		m.setStop()
	}
}

// cancel stops a unit. Tasks that were never sent, or are lost already, end at once.
func (m *Machine) cancel(u *unit, reason string) {
	if !m.hasTasks(u) {
		m.endUnit(u, TaskCanceled)
	} else if u.running > 0 {
		m.do(Cancel{m.cfg.Workers[u.worker], u.region, reason})
	}
}

func (m *Machine) setStop() {
	m.stopSet = true
	m.do(SetDeadline{DeadlineStop})
}

// stepDecided goes on with a restart, or ends the job.
func (m *Machine) stepDecided(e Decided) {
	if m.phase != Restarting || !m.owed {
		m.note("%s in phase %s", describe(e), m.phase)
		return
	}
	m.owed = false
	if !e.Restart {
		m.cause, m.rank = e.Cause, rankRoot
		if m.running == 0 {
			m.end(Failed)
			return
		}
		m.enter(Failing) // other regions go on, or regions were taken in since the question
		m.widen(m.all(), "the job has failed: "+e.Cause.Error())
		return
	}
	if m.restart != restartAsked {
		return // there has been another failure since, which is asked about as soon as tasks have stopped
	}
	m.restart, m.ready = restartDecided, false
	for i, w := range m.cfg.Workers {
		if m.workers[i].phase == workerGone {
			m.workers[i].phase, m.workers[i].explained = workerAwaited, false
			m.do(Replace{w})
		}
	}
}

func (m *Machine) stepReady() {
	switch {
	case m.ready || m.phase != Deploying && (m.phase != Restarting || m.restart != restartDecided):
		m.note("ready in phase %s", m.phase)
	case m.phase == Deploying:
		m.ready = true
		m.deploy()
	default:
		m.ready = true
		if m.joined < len(m.workers) {
			m.setJoin() // the wait until here was of our own choice
		}
	}
}

// redeploy begins the next generation of the scope.
func (m *Machine) redeploy() {
	m.sent = false
	m.cause, m.rank, m.patience, m.explain = nil, rankNone, true, false
	for r, in := range m.scope {
		if in {
			m.attempts[r]++
		}
	}
	for u := range m.scoped() {
		m.running += len(u.tasks) - u.running
		u.phase, u.running = unitWaits, len(u.tasks)
		for _, t := range u.tasks {
			m.tasks[t] = TaskCreated
		}
	}
	joining := m.joinSet
	m.enter(Deploying)
	if !joining {
		m.setJoin()
	}
	m.deploy()
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
	case k == DeadlineJoin && m.joinSet:
		m.fail(m.joinFailure(), rankRoot, -1, m.scopeList())
	case k == DeadlineStop && m.phase.stopping():
		m.stopSet = false
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
		if m.workers[i].phase == workerAwaited {
			absent = append(absent, string(w))
		} else if slices.ContainsFunc(m.workers[i].units, func(u int32) bool { return m.units[u].phase == unitSent }) {
			slow = append(slow, string(w))
		}
	}
	if !m.ready && len(absent) == 0 {
		return errs.New(errs.CodeIO, errs.ClassFailTask, "checkpoints", "it could not be found out in time what the job goes on from: see why their storage does not answer")
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
	var concerned []int
	for i, w := range m.cfg.Workers {
		stuck := false
		for _, at := range m.workers[i].units {
			u := &m.units[at]
			if !m.scope[u.region] || u.running == 0 {
				continue
			}
			stuck = true
			for _, t := range u.tasks {
				if !m.tasks[t].Ended() {
					m.abandoned = append(m.abandoned, m.cfg.Tasks[t].Task)
				}
			}
		}
		if !stuck {
			continue
		}
		concerned = append(concerned, m.concernedBy(i)...)
		m.endTasksOf(i, TaskFailed)
		m.joined--
		m.workers[i].phase, m.workers[i].explained, m.workers[i].exitOwed = workerGone, true, m.cfg.Exits
		m.do(Kill{w, "its tasks did not stop in time"})
	}
	if m.phase == Restarting && !m.cfg.Exits { // what cannot be killed may still write
		m.enter(Failing)
		concerned = m.all()
	}
	m.widen(concerned, "their worker is killed, because tasks on it did not stop in time")
}

// settle does what follows from the present state, whatever event led to it.
func (m *Machine) settle() {
	switch {
	case m.phase == Restarting:
		if !m.scopeRuns() {
			m.settleRestart()
		}
	case m.running > 0:
	case m.phase == Running:
		m.enter(Finishing)
		m.do(DrainSides{})
	case m.phase == Canceling:
		m.end(Canceled)
	case m.phase == Failing:
		if m.explained() {
			m.end(Failed)
		}
	}
}

func (m *Machine) settleRestart() {
	switch m.restart {
	case restartStopping:
		if !m.owed && m.explained() {
			m.clearDeadlines()
			if m.explain {
				m.explain = false
				m.do(ClearDeadline{DeadlineExplain})
			}
			m.restart, m.abandoned, m.owed = restartAsked, nil, true
			m.do(AskRestart{m.cause})
		}
	case restartDecided:
		if m.ready && m.joined == len(m.workers) {
			m.redeploy()
		}
	}
}

// explained reports whether the cause of the failure is known as well as it ever will be, and waits for it otherwise.
func (m *Machine) explained() bool {
	if m.rank == rankRoot || !m.patience {
		return true
	}
	if !m.explain {
		m.explain = true
		m.do(SetDeadline{DeadlineExplain})
	}
	return false
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
