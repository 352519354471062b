package jobfsm

import (
	"iter"
	"slices"

	"github.com/weir-stream/weir/internal/ids"
)

// This file is about regions: which of them a failure concerns, and their tasks on each worker.

// makeUnits divides the tasks, by region and worker.
func (m *Machine) makeUnits() {
	at := map[[2]int]int{}
	for i, t := range m.cfg.Tasks {
		w := m.index[t.Worker]
		key := [2]int{t.Region, w}
		if _, seen := at[key]; !seen {
			at[key] = len(m.units)
			m.units = append(m.units, unit{worker: w, region: t.Region})
		}
		u := &m.units[at[key]]
		u.tasks = append(u.tasks, int32(i))
		u.running++
	}
	slices.SortFunc(m.units, func(a, b unit) int {
		if a.region != b.region {
			return a.region - b.region
		}
		return a.worker - b.worker
	})
	for i, u := range m.units {
		m.workers[u.worker].units = append(m.workers[u.worker].units, int32(i))
		for _, t := range u.tasks {
			m.unitOf[t] = i
		}
	}
}

// Scope are the regions that are deployed, or restarted, at present, or have been the last.
func (m *Machine) Scope() []int { return m.scopeList() }

// Whole reports whether the scope is all regions.
func (m *Machine) Whole() bool { return !slices.Contains(m.scope, false) }

func (m *Machine) scopeList() (out []int) {
	for r, in := range m.scope {
		if in {
			out = append(out, r)
		}
	}
	return out
}

func (m *Machine) all() (out []int) {
	for r := range m.scope {
		out = append(out, r)
	}
	return out
}

func (m *Machine) setScope(in bool) {
	for r := range m.scope {
		m.scope[r] = in
	}
}

// chooseScope sets the scope for a failure of some regions. While regions are deployed all of them have to go again.
func (m *Machine) chooseScope(to Phase, regions []int) {
	if to != Restarting {
		regions = m.all()
	} else if m.phase != Deploying {
		m.setScope(false)
	}
	for _, r := range regions {
		m.scope[r] = true
	}
}

// widen takes regions into the scope, and stops them. It reports whether there were any that are not in it already.
func (m *Machine) widen(regions []int, reason string) bool {
	var more []int
	for _, r := range regions {
		if !m.scope[r] {
			m.scope[r] = true
			more = append(more, r)
		}
	}
	if more == nil {
		return false
	}
	m.do(Widened{more})
	for i := range m.units {
		if u := &m.units[i]; slices.Contains(more, u.region) {
			m.cancel(u, reason)
		}
	}
	if m.scopeRuns() {
		m.setStop()
	}
	return true
}

// stepWiden makes a restart of some regions one of the whole job.
func (m *Machine) stepWiden(e Widen) {
	if m.phase != Restarting || !m.widen(m.all(), "the whole job is restarted: "+e.Reason) {
		m.note("%s in phase %s", describe(e), m.phase)
		return
	}
	if m.restart != restartStopping {
		m.stopAgain()
	}
}

// concernedBy lists the regions that fail with a worker: those that have not finished. If all have, their results may
// not have arrived, and they go again; if it had no tasks at all, the whole job.
func (m *Machine) concernedBy(worker int) []int {
	var finished, open []int
	for _, at := range m.workers[worker].units {
		if r := m.units[at].region; m.regionRuns(r) {
			open = append(open, r)
		} else {
			finished = append(finished, r)
		}
	}
	switch {
	case open != nil:
		return open
	case finished != nil:
		return finished
	}
	return m.all()
}

func (m *Machine) regionRuns(region int) bool {
	return slices.ContainsFunc(m.units, func(u unit) bool { return u.region == region && u.running > 0 })
}

// scoped yields the units of the scope.
func (m *Machine) scoped() iter.Seq[*unit] {
	return func(yield func(*unit) bool) {
		for i := range m.units {
			if u := &m.units[i]; m.scope[u.region] && !yield(u) {
				return
			}
		}
	}
}

// scopeRuns reports whether a task of the scope has not ended.
func (m *Machine) scopeRuns() bool {
	for u := range m.scoped() {
		if u.running > 0 {
			return true
		}
	}
	return false
}

// unit is what a worker runs of a region, or nil.
func (m *Machine) unit(w ids.WorkerID, region int) *unit {
	i, known := m.index[w]
	if !known {
		return nil
	}
	for _, at := range m.workers[i].units {
		if u := &m.units[at]; u.region == region {
			return u
		}
	}
	return nil
}

// there reports whether the worker of a unit is.
func (m *Machine) there(u *unit) bool { return m.workers[u.worker].phase == workerJoined }

// hasTasks reports whether tasks of a unit were sent to its worker and that still is there.
func (m *Machine) hasTasks(u *unit) bool { return u.phase != unitWaits && m.there(u) }

// endTasksOf ends all tasks of a worker that have not ended.
func (m *Machine) endTasksOf(worker int, p TaskPhase) {
	for _, at := range m.workers[worker].units {
		m.endUnit(&m.units[at], p)
	}
}

func (m *Machine) endUnit(u *unit, p TaskPhase) {
	for _, t := range u.tasks {
		if !m.tasks[t].Ended() {
			m.setTask(int(t), p)
		}
	}
}

// setTask moves task t, which has not ended.
func (m *Machine) setTask(t int, p TaskPhase) {
	m.tasks[t] = p
	if p.Ended() {
		m.units[m.unitOf[t]].running--
		m.running--
	}
}
