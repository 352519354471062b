package checkpoint

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

// The world of the explorer: a source and a sink with one channel between them, a storage, and a Coordinator that may crash.
// The state of a task is the number of rows that it has sent or taken; the sink commits such numbers outside. Laws:
//
//   - the parts of a manifest belong together: as many rows sent as taken;
//   - no two terms write a manifest of one name, and no manifest lists what is not there;
//   - a restore never goes behind what was committed outside.

// fault is a bug planted into the driver, to show that the explorer finds such.
type fault int

const (
	sound fault = iota
	notifyBeforeDurable
	giveUpWhileWriting
	epochsReused
	ackBeforeStored
	oneAckIsEnough
	forgetNewest
	forgetBeforeDurable
	rowOvertakesBarrier
	restoreOldest
	faults
)

var faultNames = [...]string{"sound", "notify before durable", "give up while writing", "epochs reused", "ack before stored",
	"one ack is enough", "forget newest", "forget before durable", "row overtakes barrier", "restore oldest"}

const block = 4

// part is what a task stored for an epoch.
type part struct {
	there   bool
	attempt int32
	rows    int
}

// message is under way to a task (by index) or to the Coordinator.
type message struct {
	to      int // 0 source, 1 sink, 2 Coordinator
	attempt int32
	cmd     string
	epoch   ids.Epoch
}

// op is under way to the storage.
type op struct {
	term  ids.Term
	write bool
	epoch ids.Epoch // of the manifest, or the last one reserved
}

type world struct {
	fault     fault
	c         *Coordinator
	term      ids.Term
	now       time.Duration
	attempt   int32 // of the tasks; grows over terms
	alive     bool
	rows      [2]int
	cut       [2]ids.Epoch
	channel   []ids.Epoch // 0 is a row
	bag       []message
	ops       []op
	reserved  ids.Epoch
	parts     map[ids.Epoch][2]part
	manifests map[ids.Epoch]ids.Term
	committed int
	crashes, restarts, losses, repeats, ticks,
	sends int // what may still happen
	calm     bool // no crash, no restart, no loss now
	broken   string
	restores int
}

func newWorld(f fault) *world {
	w := &world{fault: f, parts: map[ids.Epoch][2]part{}, manifests: map[ids.Epoch]ids.Term{},
		crashes: 2, restarts: 1, losses: 1, repeats: 1, ticks: 3, sends: 3}
	w.lead()
	return w
}

// lead starts a new term on what the storage holds.
func (w *world) lead() {
	w.term++
	w.alive = false // the tasks of the older term are stopped before anything is read
	cfg := Config{Interval: 10 * time.Second, Timeout: 15 * time.Second, ConcurrentMax: 2, TolerableFailures: 0,
		EpochBlock: block, Term: w.term, Reserved: w.reserved}
	for _, e := range slices.Sorted(maps.Keys(w.manifests)) {
		cfg.Completed = append(cfg.Completed, Completion{Epoch: e})
	}
	if w.fault == epochsReused {
		cfg.Reserved = 0
		if n := len(cfg.Completed); n > 0 {
			cfg.Reserved = cfg.Completed[n-1].Epoch
		}
	}
	var err error
	if w.c, err = NewCoordinator(cfg); err != nil {
		w.broken = err.Error()
		return
	}
	w.step(Begin{})
}

func (w *world) step(e Event) {
	for _, cmd := range w.c.Step(w.now, e) {
		w.run(cmd)
	}
}

func (w *world) breakLaw(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (w *world) run(cmd Command) {
	send := func(name string, epoch ids.Epoch, tasks []ids.TaskID) {
		for _, t := range tasks {
			w.bag = append(w.bag, message{int(t.Vertex), t.Attempt, name, epoch})
		}
	}
	switch cmd := cmd.(type) {
	case ReserveEpochs:
		w.ops = append(w.ops, op{w.term, false, cmd.Through})
	case Trigger:
		send("trigger", ids.Epoch(cmd.Barrier.Epoch), cmd.Tasks)
	case Abort:
		send("abort", cmd.Epoch, cmd.Tasks)
	case WriteManifest:
		w.ops = append(w.ops, op{w.term, true, cmd.Epoch})
		if w.fault == notifyBeforeDurable {
			send("complete", cmd.Epoch, cmd.Acked)
		}
		if w.fault == giveUpWhileWriting {
			send("abort", cmd.Epoch, cmd.Acked)
		}
		if w.fault == forgetBeforeDurable {
			clear(w.manifests)
		}
	case NotifyComplete:
		send("complete", cmd.Epoch, cmd.Tasks)
	case Forget:
		e := cmd.Epoch
		if w.fault == forgetNewest {
			e = slices.Max(slices.Collect(maps.Keys(w.manifests)))
		}
		delete(w.manifests, e)
	case FailJob:
		w.restart()
	case RestorePoint:
		w.restore(cmd.Epoch)
	case StepDown:
		// A reservation of a leader long dead came first. The next campaign finds it in the storage.
		w.lead()
	}
}

func (w *world) restart() {
	w.alive = false
	w.step(Restarting{})
}

func (w *world) restore(epoch ids.Epoch) {
	if w.fault == restoreOldest && len(w.manifests) > 0 {
		epoch = 0
	}
	w.restores++
	rows := 0
	if epoch > 0 {
		if _, ok := w.manifests[epoch]; !ok {
			w.breakLaw("restore of epoch %d, which has no manifest", epoch)
		}
		rows = w.check(epoch)
	}
	if rows < w.committed {
		w.breakLaw("restore of epoch %d with %d rows, but %d are committed", epoch, rows, w.committed)
	}
	w.committed = rows
	w.attempt++
	w.alive, w.channel = true, nil
	w.rows, w.cut = [2]int{rows, rows}, [2]ids.Epoch{}
	a := ids.TaskID{Attempt: w.attempt}
	w.step(Running{[]Task{{ID: a}, {ID: ids.TaskID{Vertex: 1, Attempt: w.attempt}, Upstream: []ids.TaskID{a}}}})
}

// check returns the rows of an epoch whose parts must be there and belong together.
func (w *world) check(epoch ids.Epoch) int {
	p := w.parts[epoch]
	if !p[0].there || !p[1].there {
		w.breakLaw("epoch %d has a manifest and not all parts: %v", epoch, p)
	} else if p[0].rows != p[1].rows {
		w.breakLaw("epoch %d: %d rows sent and %d taken", epoch, p[0].rows, p[1].rows)
	}
	return p[1].rows
}

// store cuts a task.
func (w *world) store(task int, epoch ids.Epoch) {
	w.cut[task] = epoch
	p := w.parts[epoch]
	p[task] = part{w.fault != ackBeforeStored, w.attempt, w.rows[task]}
	w.parts[epoch] = p
	if w.fault == ackBeforeStored {
		w.bag = append(w.bag, message{task, w.attempt, "store", epoch})
	}
	w.bag = append(w.bag, message{2, w.attempt, fmt.Sprint("ack", task), epoch})
}

func (w *world) deliver(m message) {
	if m.to == 2 {
		task := ids.TaskID{Vertex: ids.VertexID(m.cmd[3] - '0'), Attempt: m.attempt}
		w.step(Acked{task, m.epoch})
		if w.fault == oneAckIsEnough {
			task.Vertex = 1 - task.Vertex
			w.step(Acked{task, m.epoch})
		}
		return
	}
	if !w.alive || m.attempt != w.attempt {
		return
	}
	switch m.cmd {
	case "trigger":
		if m.to == 0 && m.epoch > w.cut[0] {
			w.store(0, m.epoch)
			w.channel = append(w.channel, m.epoch)
		}
	case "store":
		p := w.parts[m.epoch]
		p[m.to].there = true
		w.parts[m.epoch] = p
	case "abort":
		p := w.parts[m.epoch]
		p[m.to] = part{}
		w.parts[m.epoch] = p
	case "complete":
		if m.to == 1 {
			w.committed = max(w.committed, w.parts[m.epoch][1].rows)
		}
	}
}

// land carries out an op; the answer reaches only the term that asked.
func (w *world) land(o op) {
	var answer Event
	switch {
	case o.write:
		if by, ok := w.manifests[o.epoch]; ok && by != o.term {
			w.breakLaw("terms %d and %d write epoch %d", by, o.term, o.epoch)
		}
		w.manifests[o.epoch] = o.term
		w.check(o.epoch)
		answer = ManifestWritten{o.epoch}
	case o.epoch == w.reserved+block || w.fault == epochsReused:
		w.reserved = o.epoch
		answer = Reserved{o.epoch}
	default:
		answer = ReserveFailed{o.epoch, true}
	}
	if o.term == w.term {
		w.step(answer)
	}
}

// moves lists what may happen next.
func (w *world) moves() (out []func(*world)) {
	add := func(f func(*world)) { out = append(out, f) }
	if w.alive && w.sends > 0 {
		add(func(w *world) { w.sends--; w.rows[0]++; w.channel = append(w.channel, 0) })
	}
	if w.alive && len(w.channel) > 0 {
		add(func(w *world) { w.take() })
	}
	for i := range w.bag {
		add(func(w *world) { m := w.bag[i]; w.bag = slices.Delete(w.bag, i, i+1); w.deliver(m) })
		if w.repeats > 0 {
			add(func(w *world) { w.repeats--; w.deliver(w.bag[i]) })
		}
		if w.losses > 0 && !w.calm {
			add(func(w *world) { w.losses--; w.bag = slices.Delete(w.bag, i, i+1) })
		}
	}
	for i := range w.ops {
		add(func(w *world) { o := w.ops[i]; w.ops = slices.Delete(w.ops, i, i+1); w.land(o) })
	}
	if at, ok := w.c.NextDeadline(); ok && w.ticks > 0 {
		add(func(w *world) { w.ticks--; w.now = max(w.now, at); w.step(Tick{}) })
	}
	if w.alive && w.restarts > 0 && !w.calm {
		add(func(w *world) { w.restarts--; w.restart() })
	}
	if w.crashes > 0 && !w.calm {
		add(func(w *world) { w.crashes--; w.lead() })
	}
	return out
}

func (w *world) take() {
	i := 0
	if w.fault == rowOvertakesBarrier && len(w.channel) > 1 && w.channel[0] > 0 && w.channel[1] == 0 {
		i = 1
	}
	e := w.channel[i]
	w.channel = slices.Delete(w.channel, i, i+1)
	if e == 0 {
		w.rows[1]++
	} else if e > w.cut[1] {
		w.store(1, e)
	}
}

func (w *world) clone() *world {
	v := *w
	c := *w.c
	c.out, c.tasks, c.complete, c.requests = nil, slices.Clone(c.tasks), slices.Clone(c.complete), slices.Clone(c.requests)
	c.pending = nil
	for _, p := range w.c.pending {
		q := *p
		q.triggered, q.acked = maps.Clone(p.triggered), maps.Clone(p.acked)
		c.pending = append(c.pending, &q)
	}
	v.c = &c
	v.channel, v.bag, v.ops = slices.Clone(w.channel), slices.Clone(w.bag), slices.Clone(w.ops)
	v.parts, v.manifests = maps.Clone(w.parts), maps.Clone(w.manifests)
	return &v
}

// key is equal for worlds that have the same future.
func (w *world) key() string {
	c := *w.c
	var b strings.Builder
	bag := make([]string, len(w.bag))
	for i, m := range w.bag {
		bag[i] = fmt.Sprint(m)
	}
	slices.Sort(bag)
	fmt.Fprint(&b, bag, w.ops, w.channel, w.parts, w.manifests, w.rows, w.cut, w.committed, w.alive, w.attempt, w.reserved, w.term,
		w.crashes, w.restarts, w.losses, w.repeats, w.ticks, w.sends)
	for _, p := range c.pending {
		fmt.Fprint(&b, *p)
	}
	c.pending, c.out = nil, nil
	fmt.Fprint(&b, c)
	return b.String()
}

// explore visits, breadth first, the worlds that follow from w, until a law breaks, there is no new world, or limit worlds.
func explore(w *world, limit int) (broken string, seen int) {
	known := map[string]bool{w.key(): true}
	queue := []*world{w}
	for len(queue) > 0 && len(known) < limit {
		w := queue[0]
		queue = queue[1:]
		for _, move := range w.moves() {
			v := w.clone()
			if move(v); v.broken != "" {
				return v.broken, len(known)
			}
			if k := v.key(); !known[k] {
				known[k] = true
				queue = append(queue, v)
			}
		}
	}
	return "", len(known)
}

// TestExploreAll enumerates every interleaving of a small world: one crash, one row, two deadlines.
func TestExploreAll(t *testing.T) {
	w := newWorld(sound)
	w.crashes, w.restarts, w.losses, w.repeats, w.ticks, w.sends = 1, 0, 0, 0, 2, 1
	const limit = 60_000
	broken, seen := explore(w, limit)
	if broken != "" || seen >= limit {
		t.Errorf("after %d worlds: %s", seen, broken)
	}
	t.Logf("%d worlds", seen)
}

// walk plays one random schedule.
func walk(f fault, seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(f)
	w.sends, w.ticks, w.restarts = 6, 8, 2
	for range 150 {
		w.calm = r.IntN(12) > 0
		moves := w.moves()
		if w.broken != "" {
			break
		}
		if len(moves) == 0 {
			continue
		}
		moves[r.IntN(len(moves))](w)
	}
	return w
}

// TestExploreWalks plays random schedules of a larger world, and finds each planted fault within 5,000 of them.
func TestExploreWalks(t *testing.T) {
	completed, restored := 0, 0
	for seed := range uint64(2_000) {
		w := walk(sound, seed)
		if w.broken != "" {
			t.Fatalf("seed %d: %s", seed, w.broken)
		}
		if len(w.manifests) > 0 {
			completed++
		}
		if w.restores > 1 {
			restored++
		}
	}
	if completed < 200 || restored < 200 {
		t.Errorf("the walks reach too little: %d with a complete epoch, %d with a restore", completed, restored)
	}
	t.Logf("of 2,000 walks %d completed an epoch, %d restored", completed, restored)
	for f := sound + 1; f < faults; f++ {
		seed := uint64(0)
		for ; seed < 5_000; seed++ {
			if broken := walk(f, seed).broken; broken != "" {
				t.Logf("%s: seed %d: %s", faultNames[f], seed, broken)
				break
			}
		}
		if seed == 5_000 {
			t.Errorf("%s: not found", faultNames[f])
		}
	}
}

// TestPurposes keeps the names of the transcripts in step with package event.
func TestPurposes(t *testing.T) {
	if purposeName(event.PurposeRescale) != "rescale" || purposeName(event.PurposeStop) != "stop" || len(purposeNames) != int(event.PurposeRescale)+1 {
		t.Error("purposes and their names differ")
	}
}
