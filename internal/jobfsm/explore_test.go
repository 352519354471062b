package jobfsm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/invariant"
)

// The explorer walks through every interleaving of a small world: a machine, two workers with two tasks each, an ordered
// channel in each direction, and a few accidents. It looks at every state that can be reached, once.

// trouble says what may go wrong in a walk, each at most once and at any moment.
type trouble struct {
	crash    bool // worker w2 dies: its connection breaks with what is under way, peers notice, its exit is told (if exits)
	exits    bool
	failure  bool // task v0/0 fails
	fatal    bool // no restart mends that
	refusal  bool // w2 fails to deploy
	cancel   bool
	deadline bool // any deadline that is set may pass, however early
	restarts int  // how often the job is restarted
	regions  regions
	widen    bool // each restart of a part is widened, at any moment
}

// regions says how the tasks of the walk are divided.
type regions uint8

const (
	oneRegion regions = iota
	byVertex          // both workers have a task of both
	bySubtask         // each worker has one
	byTask            // each task is one
)

func (r regions) of(worker, vertex int) int {
	switch r {
	case byVertex:
		return vertex
	case bySubtask:
		return worker
	case byTask:
		return 2*vertex + worker
	}
	return 0
}

// spans reports whether the region of a task has tasks on both workers.
func (r regions) spans() bool { return r == oneRegion || r == byVertex }

// world is the machine and what is around it.
type world struct {
	m        *Machine
	workers  [2]modelWorker
	deadline map[Deadline]bool
	drain    bool // SidesTaken is owed
	crashed  bool
	exitOwed bool
	failed   bool // task v0/0 has failed
	canceled bool
	early    bool // the explain deadline has passed although more was to come
	others   bool // another deadline has passed, or w2 has refused to deploy
	asked    *AskRestart
	ready    bool // Ready is owed
	left     int  // restarts
	end      *End
	regions  regions
	widen    bool     // Widen is owed
	path     []string // how we came here, for messages; not part of the key
}

// modelWorker is an obvious worker.
type modelWorker struct {
	dead      bool
	toMaster  []Event
	toWorker  []Command
	tasks     [2]TaskPhase // of v0, v1
	cancelled [2]bool
	lostOwed  bool // its broken connection has not been noticed yet
	attempt   [2]int32
}

func newWorld(tr trouble) *world {
	cfg := twoByTwo(tr.exits)
	cfg.Restart = tr.restarts > 0
	for i, p := range cfg.Tasks {
		cfg.Tasks[i].Region = tr.regions.of(int(p.Task.Subtask), int(p.Task.Vertex))
	}
	w := &world{m: New(cfg), deadline: map[Deadline]bool{}, left: tr.restarts, regions: tr.regions}
	for i := range w.workers {
		w.workers[i].toMaster = []Event{WorkerJoined{w.m.cfg.Workers[i], "f1", "v1"}}
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	m := *w.m
	m.workers, m.tasks, m.abandoned, m.out = slices.Clone(m.workers), slices.Clone(m.tasks), slices.Clone(m.abandoned), nil
	m.units, m.scope, m.attempts = slices.Clone(m.units), slices.Clone(m.scope), slices.Clone(m.attempts)
	c.m = &m
	for i := range c.workers {
		c.workers[i].toMaster = slices.Clone(c.workers[i].toMaster)
		c.workers[i].toWorker = slices.Clone(c.workers[i].toWorker)
	}
	c.deadline = maps.Clone(w.deadline)
	c.path = slices.Clip(w.path)
	return &c
}

// key is equal for states from which the same things can follow.
func (w *world) key() string {
	var b strings.Builder
	m := w.m
	fmt.Fprintf(&b, "%d %v %d %v %d %v %v %v|", m.phase, m.tasks, m.rank, m.cause, m.joined, m.sent, m.scope, w.widen)
	for _, u := range m.units {
		fmt.Fprintf(&b, "%d ", u.phase)
	}
	fmt.Fprintf(&b, "%d %v %v %v %v %v %v %v %d|", m.attempts, m.owed, m.ready, m.restart, m.joinSet, m.stopSet, w.asked != nil, w.ready, w.left)
	for _, x := range m.workers {
		fmt.Fprintf(&b, "%d%v%v ", x.phase, x.explained, x.exitOwed)
	}
	fmt.Fprintf(&b, "%v%v|%v %v %v %v %v %v %v %v|", m.explain, m.patience, w.deadline, w.drain, w.crashed, w.exitOwed, w.failed, w.canceled, w.early, w.others)
	for _, x := range w.workers {
		fmt.Fprintf(&b, "%v %d %v %v %v %+v %+v|", x.dead, x.attempt, x.tasks, x.cancelled, x.lostOwed, x.toMaster, x.toWorker)
	}
	fmt.Fprintf(&b, "%v", w.end)
	return b.String()
}

func (w *world) task(worker, vertex int) ids.TaskID {
	return ids.TaskID{Vertex: ids.VertexID(vertex), Subtask: int32(worker), Attempt: w.workers[worker].attempt[vertex]}
}

// step feeds the machine and carries out its commands. It returns what is wrong, or "".
func (w *world) step(e Event) string {
	ended := w.end != nil
	for _, c := range w.m.Step(e) {
		if _, isNote := c.(Note); ended && !isNote {
			return fmt.Sprintf("%T after the end", c)
		}
		switch c := c.(type) {
		case Deploy:
			if w.m.joined < 2 {
				return "deployed before all have joined"
			}
			if wrong := w.checkDeploy(c.Region); wrong != "" {
				return wrong
			}
			w.toWorker(c.Worker, c)
		case Start:
			for u := range w.m.scoped() {
				if u.phase != unitDeployed {
					return "started before all are ready"
				}
			}
			w.toWorker(c.Worker, c)
		case Cancel:
			if !w.m.scope[c.Region] {
				return "a region is cancelled that goes on"
			}
			w.toWorker(c.Worker, c)
		case Enter:
			w.widen = c.Phase == Restarting && !w.m.Whole()
		case SetDeadline:
			w.deadline[c.Kind] = true
		case ClearDeadline:
			delete(w.deadline, c.Kind)
		case DrainSides:
			w.drain = true
		case AskRestart:
			if w.asked != nil {
				return "asked twice"
			}
			if wrong := w.checkStopped(); wrong != "" {
				return wrong
			}
			w.asked, w.ready = &c, false
		case Replace:
			x := &w.workers[w.m.index[c.Worker]]
			if !x.dead {
				return "a worker that lives was replaced"
			}
			was := x.tasks
			*x = modelWorker{toMaster: []Event{WorkerJoined{c.Worker, "f1", "v1"}}}
			for v, p := range was {
				if r := w.regions.of(w.m.index[c.Worker], v); !w.m.scope[r] { // it has finished, and so has its region
					if p != TaskFinished || w.m.regionRuns(r) {
						return "a worker is lost, and a region of it goes on"
					}
					x.tasks[v] = p
				}
			}
		case End:
			if w.end != nil {
				return "ended twice"
			}
			w.end = &c
			clear(w.deadline)
		}
	}
	if w.end != nil && !ended {
		return w.checkEnd()
	}
	return ""
}

func (w *world) toWorker(id ids.WorkerID, c Command) {
	x := &w.workers[w.m.index[id]]
	if !x.dead {
		x.toWorker = append(x.toWorker, c)
	}
}

// checkStopped: of what is restarted, a restart is asked for when no task of a worker that lives can do anything any more.
func (w *world) checkStopped() string {
	for i, x := range w.workers {
		for v, p := range x.tasks {
			if w.m.scope[w.regions.of(i, v)] && !x.dead && !p.Ended() && p != TaskCreated && !w.others {
				return fmt.Sprintf("task %v is %v when a restart is asked for", w.task(i, v), p)
			}
		}
	}
	return ""
}

// checkDeploy: what goes on is not deployed over, and no task of a former generation lives when the next is deployed.
func (w *world) checkDeploy(region int) string {
	if !w.m.scope[region] {
		return "a region is deployed that goes on"
	}
	if w.m.attempts[region] == 0 {
		return ""
	}
	return w.checkStopped()
}

// checkEnd checks the laws of the package comment at the end of the job.
func (w *world) checkEnd() string {
	if !w.m.phase.Ended() {
		return "the end in phase " + w.m.phase.String()
	}
	for i, p := range w.m.tasks {
		if !p.Ended() {
			return fmt.Sprintf("task %v is left in phase %v", w.m.cfg.Tasks[i].Task, p)
		}
	}
	switch w.m.phase {
	case Finished:
		for _, x := range w.workers {
			if x.tasks != [2]TaskPhase{TaskFinished, TaskFinished} {
				return "finished, but not all tasks have"
			}
		}
	case Canceled:
		if !w.canceled {
			return "canceled, but nobody asked"
		}
	case Failed:
		return w.checkCause()
	}
	return ""
}

// checkCause: consequences are never the cause if there was time for the real one, and an exit explains a loss.
func (w *world) checkCause() string {
	cause := w.end.Cause
	switch {
	case cause == nil:
		return "failed without a cause"
	case w.early || w.others:
	case cause.Code == errs.CodePeerLost:
		return "a consequence is the cause"
	case cause.Code == errs.CodeUserPanic && !w.failed, cause.Code == errs.CodeWorkerLost && !w.crashed:
		return "a cause that never was: " + cause.Error()
	case w.m.cfg.Exits && cause.Msg == "connection broke":
		return "the exit of the process has not explained the loss"
	}
	return ""
}

// move is one thing that may happen next.
type move struct {
	name string
	do   func(w *world) string
}

// moves lists all that may happen in a state. Accidents come last.
func (w *world) moves(tr trouble) (normal, accidents []move) {
	if w.m.phase == Created {
		return []move{{"begin", func(w *world) string { return w.step(Begin{}) }}}, nil
	}
	for i := range w.workers {
		normal = append(normal, w.workerMoves(i)...)
	}
	if w.drain {
		normal = append(normal, move{"sides taken", func(w *world) string {
			w.drain = false
			return w.step(SidesTaken{})
		}})
	}
	if w.exitOwed {
		normal = append(normal, move{"w2 exits", func(w *world) string {
			w.exitOwed = false
			return w.step(WorkerExited{"w2", errs.New(errs.CodeWorkerLost, errs.ClassFailTask, "w2", "killed by signal 9")})
		}})
	}
	if w.deadline[DeadlineExplain] && !w.exitOwed && !w.workers[0].lostOwed && !w.workers[1].lostOwed {
		normal = append(normal, w.pass(DeadlineExplain, false)) // nothing else will come; time goes on
	}
	if w.asked != nil {
		normal = append(normal, move{"decided", func(w *world) string {
			d := Decided{Restart: w.left > 0, Cause: w.asked.Cause}
			if w.asked = nil; d.Restart {
				w.left--
				w.ready = true
			}
			return w.step(d)
		}})
	} else if w.ready {
		normal = append(normal, move{"ready", func(w *world) string {
			w.ready = false
			return w.step(Ready{})
		}})
	}
	if tr.widen && w.widen && w.m.phase == Restarting {
		accidents = append(accidents, move{"widen", func(w *world) string {
			w.widen = false
			return w.step(Widen{"asked"})
		}})
	}
	if tr.crash && !w.crashed {
		for _, lossy := range []bool{false, true} {
			accidents = append(accidents, move{fmt.Sprintf("w2 crashes, messages lost: %v", lossy), func(w *world) string { return w.crash(tr, lossy) }})
		}
	}
	if tr.cancel && !w.canceled {
		accidents = append(accidents, move{"cancel", func(w *world) string {
			w.canceled = true
			return w.step(CancelAsked{"asked"})
		}})
	}
	if tr.deadline {
		for k := range w.deadline {
			accidents = append(accidents, w.pass(k, true))
		}
	}
	if w1 := &w.workers[0]; tr.failure && !w.failed && w1.tasks[0] == TaskRunning {
		accidents = append(accidents, move{"v0/0 fails", func(w *world) string {
			w.failed = true
			class := errs.ClassUser
			if tr.restarts > 0 && !tr.fatal {
				class = errs.ClassFailTask
			}
			w.moveTask(0, 0, TaskFailed, errs.New(errs.CodeUserPanic, class, "v0/0", "boom"))
			return ""
		}})
	}
	return normal, accidents
}

func (w *world) pass(k Deadline, early bool) move {
	return move{"deadline " + k.String(), func(w *world) string {
		delete(w.deadline, k)
		w.early = w.early || early && k == DeadlineExplain
		w.others = w.others || k != DeadlineExplain
		return w.step(DeadlinePassed{k})
	}}
}

func (w *world) crash(tr trouble, lossy bool) string {
	w.crashed, w.exitOwed = true, tr.exits
	x := &w.workers[1]
	x.dead, x.toWorker, x.lostOwed = true, nil, true
	if lossy {
		x.toMaster = nil
	}
	return ""
}

func (w *world) moveTask(worker, vertex int, p TaskPhase, cause *errs.Error) {
	x := &w.workers[worker]
	x.tasks[vertex] = p
	x.toMaster = append(x.toMaster, TaskMoved{w.m.cfg.Workers[worker], w.task(worker, vertex), p, cause})
}

// workerMoves is what one worker may do, and what may arrive from it.
func (w *world) workerMoves(i int) (out []move) {
	x, id := &w.workers[i], w.m.cfg.Workers[i]
	if len(x.toMaster) > 0 {
		out = append(out, move{fmt.Sprintf("from %s: %s", id, describe(x.toMaster[0])), func(w *world) string {
			e := w.workers[i].toMaster[0]
			w.workers[i].toMaster = w.workers[i].toMaster[1:]
			return w.step(e)
		}})
	} else if x.lostOwed {
		out = append(out, move{fmt.Sprintf("%s is lost", id), func(w *world) string {
			w.workers[i].lostOwed = false
			return w.step(WorkerLost{id, errs.New(errs.CodeWorkerLost, errs.ClassFailTask, string(id), "connection broke")})
		}})
	}
	if x.dead {
		return out
	}
	if len(x.toWorker) > 0 {
		out = append(out, move{fmt.Sprintf("%s takes %T", id, x.toWorker[0]), func(w *world) string {
			c := w.workers[i].toWorker[0]
			w.workers[i].toWorker = w.workers[i].toWorker[1:]
			w.obey(i, c)
			return ""
		}})
	}
	for v, p := range x.tasks {
		if p == TaskRunning {
			out = append(out, move{fmt.Sprintf("%v finishes", w.task(i, v)), func(w *world) string {
				w.moveTask(i, v, TaskFinished, nil)
				return ""
			}})
			if w.regions.spans() && (w.workers[0].dead || w.workers[1].dead) {
				out = append(out, move{fmt.Sprintf("%v misses its peer", w.task(i, v)), func(w *world) string {
					w.moveTask(i, v, TaskFailed, errs.New(errs.CodePeerLost, errs.ClassFailTask, "task", "peer lost"))
					return ""
				}})
			}
		}
		if x.cancelled[v] && !p.Ended() {
			out = append(out, move{fmt.Sprintf("%v stops", w.task(i, v)), func(w *world) string {
				w.moveTask(i, v, TaskCanceled, nil)
				return ""
			}})
		}
	}
	return out
}

func (w *world) obey(i int, c Command) {
	x, id := &w.workers[i], w.m.cfg.Workers[i]
	each := func(region int, f func(v int)) {
		for v := range x.tasks {
			if w.regions.of(i, v) == region {
				f(v)
			}
		}
	}
	switch c := c.(type) {
	case Deploy:
		each(c.Region, func(v int) { x.tasks[v], x.cancelled[v], x.attempt[v] = TaskReady, false, w.m.attempts[c.Region] })
		x.toMaster = append(x.toMaster, Deployed{id, c.Region})
	case Start:
		each(c.Region, func(v int) {
			if x.tasks[v] == TaskReady && !x.cancelled[v] {
				w.moveTask(i, v, TaskRunning, nil)
			}
		})
	case Cancel:
		each(c.Region, func(v int) { x.cancelled[v] = true })
	}
}

// refuse makes w2 fail to deploy, in the walk that asks for it.
func refuse(w *world) {
	x := &w.workers[1]
	for i, e := range x.toMaster {
		if e, ok := e.(Deployed); ok && !w.others {
			x.toMaster[i] = DeployFailed{"w2", e.Region, errs.New(errs.CodeIO, errs.ClassFailTask, "w2", "no port")}
			for v := range x.tasks {
				if w.regions.of(1, v) == e.Region {
					x.tasks[v] = TaskFailed
				}
			}
			w.others = true
		}
	}
}

// explore walks through all states and returns their number.
func explore(t *testing.T, tr trouble) int {
	first := newWorld(tr)
	seen := map[string]bool{first.key(): true}
	stack := []*world{first}
	for len(stack) > 0 {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		normal, accidents := w.moves(tr)
		if len(normal) == 0 && w.end == nil {
			t.Fatalf("the job hangs in phase %v after\n%s", w.m.phase, strings.Join(w.path, "\n"))
		}
		for _, mv := range append(normal, accidents...) {
			next := w.clone()
			next.path = append(next.path, mv.name)
			wrong := mv.do(next)
			if tr.refusal {
				refuse(next)
			}
			if wrong != "" {
				t.Fatalf("%s after\n%s", wrong, strings.Join(next.path, "\n"))
			}
			if k := next.key(); !seen[k] {
				seen[k] = true
				stack = append(stack, next)
			}
		}
	}
	return len(seen)
}

func TestExplore(t *testing.T) {
	for _, c := range []struct {
		name string
		tr   trouble
	}{
		{"no trouble", trouble{}},
		{"a task fails", trouble{failure: true}},
		{"cancel", trouble{cancel: true}},
		{"a worker refuses to deploy, and cancel", trouble{refusal: true, cancel: true}},
		{"a worker is lost", trouble{crash: true}},
		{"a worker process is lost", trouble{crash: true, exits: true}},
		{"a worker process is lost, and cancel", trouble{crash: true, exits: true, cancel: true}},
		{"a worker process is lost, and a task fails", trouble{crash: true, exits: true, failure: true}},
		{"early deadlines, and cancel", trouble{deadline: true, cancel: true}},
		{"a task fails, and the job is restarted", trouble{failure: true, restarts: 1}},
		{"a worker process is lost, and the job is restarted", trouble{crash: true, exits: true, restarts: 1}},
		{"a worker process is lost and a task fails, and the job is restarted once", trouble{crash: true, exits: true, failure: true, restarts: 1}},
		{"a worker process is lost, and the job is restarted and cancelled", trouble{crash: true, exits: true, cancel: true, restarts: 1}},
		{"a worker refuses to deploy, and the job is restarted", trouble{refusal: true, restarts: 1}},
		{"a task fails, and its pipeline is restarted", trouble{regions: byVertex, failure: true, restarts: 1}},
		{"a task fails, and its pipeline, or the job, is restarted", trouble{regions: byVertex, failure: true, restarts: 1, widen: true}},
		{"a task fails, and it alone is restarted", trouble{regions: byTask, failure: true, restarts: 1}},
		{"a task fails, and its worker's region is restarted and cancelled", trouble{regions: bySubtask, failure: true, cancel: true, restarts: 1}},
		{"a worker process is lost, and its region is restarted", trouble{regions: bySubtask, crash: true, exits: true, restarts: 2}},
		{"a worker process is lost and a task fails, and their regions are restarted", trouble{regions: bySubtask, crash: true, exits: true, failure: true, restarts: 2}},
		{"a worker process is lost, and both pipelines are restarted", trouble{regions: byVertex, crash: true, exits: true, restarts: 1}},
		{"a worker process is lost, and a task fails for good", trouble{regions: bySubtask, crash: true, exits: true, failure: true, fatal: true, restarts: 2}},
		{"a worker refuses to deploy a region", trouble{regions: byVertex, refusal: true, failure: true, restarts: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.tr.crash && (c.tr.cancel || c.tr.failure && c.tr.restarts > 0) && (testing.Short() || invariant.Enabled) {
				t.Skip("80,000 states; slow with the race detector")
			}
			t.Logf("%d states", explore(t, c.tr))
		})
	}
}
