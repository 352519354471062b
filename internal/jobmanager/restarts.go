package jobmanager

import (
	"fmt"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/events"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/jobfsm"
	"github.com/weir-stream/weir/internal/restart"
)

// restarts is what the master knows of the generation that is to come. It belongs to the goroutine of Run.
type restarts struct {
	repeats  restart.Repeats
	stalls   restart.Stalls
	delay    clock.Timer // nil if it has passed
	from     Restored    // what the present generation started from
	next     Restored    // what the next one starts from, if that is known
	known    bool
	wanted   bool // it is to be found out: no task runs
	late     bool // it is asked for when the delay has passed, because the last asking has failed
	restores int  // counts the askings for it; the last one counts
	failures []taskFailure
	io       ioQueue // resets of enumerators, if no checkpoints are taken
	broken   map[ids.Epoch]*damage
}

// damage counts how often tasks could not load a checkpoint because its bytes had changed.
type damage struct {
	times int
	cause *errs.Error
}

// damagedTimes is from which time on a checkpoint is given up for an older one: what was read wrong may be right in storage.
const damagedTimes = 2

// noteDamage takes notice of a checkpoint that could not be loaded. It returns the failure of the job if there is no other way.
func (m *Master) noteDamage(cause *errs.Error) *errs.Error {
	if cause.Code != errs.CodeDamaged {
		return nil
	}
	if m.from.Epoch == 0 {
		c := *cause
		c.Class = errs.ClassFailJob
		c.Msg += ": what the job is started from is damaged; start it from another savepoint or checkpoint"
		return &c
	}
	if m.broken == nil {
		m.broken = map[ids.Epoch]*damage{}
	}
	d := m.broken[m.from.Epoch]
	if d == nil {
		d = &damage{}
		m.broken[m.from.Epoch] = d
	}
	d.times++
	d.cause = cause
	return nil
}

// damaged are the checkpoints that nothing is restored from any more, and why.
func (m *Master) damaged() map[ids.Epoch]error {
	out := map[ids.Epoch]error{}
	for e, d := range m.broken {
		if d.times >= damagedTimes {
			out[e] = d.cause
		}
	}
	return out
}

// nextGeneration is the generation that is deployed next.
func (m *Master) nextGeneration() ids.Generation {
	g := m.job.Generation
	if m.deployed {
		g++
	}
	return g
}

// askRestart answers the machine: all tasks have ended because of cause.
func (m *Master) askRestart(cause *errs.Error) {
	if e := m.noteDamage(cause); e != nil {
		m.step(jobfsm.Decided{Cause: e})
		return
	}
	if e := m.repeats.Failed(cause, m.begun(cause)); e != nil {
		m.step(jobfsm.Decided{Cause: e})
		return
	}
	if e := m.stalls.Failed(cause, m.begun(cause), m.figures.lastComplete(), m.cfg.Clock.Since(m.began)); e != nil {
		m.step(jobfsm.Decided{Cause: e})
		return
	}
	if m.cfg.Replace == nil && m.machine.Lost() {
		m.step(jobfsm.Decided{Cause: cause}) // nothing would come of waiting for it
		return
	}
	delay, ok, why := m.cfg.Restart.Failed(m.cfg.Clock.Since(m.began))
	if !ok {
		m.step(jobfsm.Decided{Cause: &errs.Error{Code: cause.Code, Class: cause.Class, Op: cause.Op, Err: cause.Err,
			Msg: fmt.Sprintf("%s (the job is not restarted: %s)", cause.Msg, why)}})
		return
	}
	n := m.figures.restart(m.cfg.Clock.Now())
	m.cfg.Events.JobRestart(events.JobRestart{Job: m.job.ID, Number: n, Cause: cause, Delay: delay, Regions: len(m.machine.Scope()), Of: len(m.regions.generation)})
	m.setDelay(delay)
	m.step(jobfsm.Decided{Restart: true})
	switch {
	case m.known:
	case m.wanted && m.delay != nil:
		m.late = true // or asking, which fails at once, would go round without a pause
	default:
		m.prepare()
	}
	m.goOn()
}

func (m *Master) setDelay(d time.Duration) {
	m.stopDelay()
	if d <= 0 {
		return
	}
	var t clock.Timer
	t = m.cfg.Clock.AfterFunc(d, func() {
		m.post(func() {
			if m.delay == t {
				m.delay = nil
				if m.late && !m.known {
					m.prepare()
				}
				m.goOn()
			}
		})
	})
	m.delay = t
}

func (m *Master) stopDelay() {
	if m.delay != nil {
		m.delay.Stop()
		m.delay = nil
	}
}

// prepare finds out what the next generation starts from. No task runs.
func (m *Master) prepare() {
	m.wanted, m.late = true, false
	if m.ckpt != nil {
		m.ckpt.prepare()
		return
	}
	if !m.deployed { // the enumerators have not been asked for anything
		m.onRestored(Restored{})
		return
	}
	reset, ctx := m.resetting(), m.life
	m.restores++
	turn := m.restores
	m.restarts.io.add(func() func() {
		err := m.resetEnumerators(ctx, reset, nil)
		return func() {
			switch {
			case turn != m.restores: // another has been asked for
			case err != nil:
				m.fail(err)
			default:
				m.onRestored(Restored{})
			}
		}
	})
}

// onRestored takes what the next generation starts from.
func (m *Master) onRestored(r Restored) {
	if d := m.unreached(r.Epoch); d != nil {
		why := fmt.Sprintf("it is not known which splits %s has handed out since checkpoint %d", d.source.Name, r.Epoch)
		m.cfg.Log.Info("the whole job is restarted", "why", why)
		m.step(jobfsm.Widen{Reason: why})
		return
	}
	m.next, m.known, m.wanted = r, true, false
	m.goOn()
}

// goOn tells the machine when nothing but workers is awaited.
func (m *Master) goOn() {
	if m.known && m.delay == nil && (m.phase == jobfsm.Deploying && !m.deployed || m.phase == jobfsm.Restarting) {
		m.step(jobfsm.Ready{})
	}
}

// beginGeneration makes everything new for what is about to be deployed: all of it at first, later the regions that are restarted.
func (m *Master) beginGeneration() {
	m.failures = nil
	m.from, m.known = m.next, false
	for _, r := range m.machine.Scope() {
		m.job.Generation = m.nextGeneration()
		m.deployed = true
		m.regions.begin(r, m.job.Generation, m.from.Epoch)
	}
	m.makeDispensers()
	tasks := m.scopeTasks()
	for _, t := range tasks {
		m.align.restart(t)
	}
	m.figures.begin(tasks)
}

// runs says that all tasks of a generation run.
func (m *Master) runs() {
	m.figures.runs(m.from.Epoch, m.cfg.Clock.Now())
	m.assignRestored()
	m.startSplits()
	if m.ckpt != nil {
		m.ckpt.started()
	}
}

// liveTasks lists the tasks of the present generations with those that they read from.
func (m *Master) liveTasks() []checkpoint.Task {
	var out []checkpoint.Task
	for _, t := range m.job.tasks() {
		id := t.Task
		ct := checkpoint.Task{}
		if m.job.Upstream != nil {
			for _, up := range m.job.Upstream(id) {
				ct.Upstream = append(ct.Upstream, m.attempt(up))
			}
		}
		ct.ID = m.attempt(id)
		out = append(out, ct)
	}
	return out
}

// names are those of tasks, for people.
func (j *Job) names(tasks []ids.TaskID) (out []string) {
	for _, t := range tasks {
		out = append(out, fmt.Sprintf("%s (%d/%d)", j.operatorName(sourceKey{vertex: int32(t.Vertex)}), t.Subtask+1, len(j.Placement[t.Vertex])))
	}
	return out
}
