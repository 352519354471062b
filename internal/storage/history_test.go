package storage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/fs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/objstore"
	"github.com/weir-stream/weir/internal/objstore/memory"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/storage"
	"github.com/weir-stream/weir/internal/testkit/seeds"
)

// hurried is a clock whose sleeps are over at once.
type hurried struct{ clock.Clock }

func (hurried) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// history is a random life of a job: leaders that come, crash and go on as zombies, tasks that write, and a store that fails.
type history struct {
	t     *testing.T
	r     *rand.Rand
	inner objstore.Store // what is really there
	files *fs.Mem
	save  storage.Places
	n     int // leaders so far
	trace []string

	leader *leader
	zombie *leader
	// newest is the highest epoch of which a leader has heard that it is complete: only the newest leader may forget it.
	complete map[ids.Epoch]bool
	// lists is what the manifests listed that were ever seen.
	lists map[ids.Epoch][]string
}

// leader is a process that leads the job, with the tasks of its deployment.
type leader struct {
	h      *history
	ctx    context.Context
	die    context.CancelFunc
	store  objstore.Store
	job    *storage.Job
	term   ids.Term
	gen    ids.Generation
	epoch  ids.Epoch
	top    ids.Epoch   // the last reserved one
	found  ids.Epoch   // that of the terms before
	kept   []ids.Epoch // complete, rising
	base   []snapshot.Object
	crash  int    // requests until the process dies; 0 never
	during func() // is called once in the middle of an operation
	at     int    // requests until then
	calm   bool   // the store does not fail
	swept  bool
}

const retained = 2

// newLeader starts a process; it leads when open has returned nil.
func (h *history) newLeader() *leader {
	h.n++
	l := &leader{h: h}
	l.ctx, l.die = context.WithCancel(context.Background())
	l.store = objstore.NewFaulty(h.inner, l.fault)
	return l
}

func (l *leader) open() error {
	job, f, err := storage.Open(l.ctx, storage.Config{Store: l.store, Places: l.h.save, Clock: hurried{clock.NewVirtual(time.UnixMilli(0))}, Name: "job",
		ID: ids.JobID{1}, Writer: fmt.Sprint("w", l.h.n), Retain: retained})
	if err != nil {
		return err
	}
	l.job, l.term, l.epoch, l.top, l.found = job, f.Term, f.Reserved, f.Reserved, f.Reserved
	for _, c := range f.Completed {
		l.kept = append(l.kept, c.Epoch)
		l.h.complete[c.Epoch] = true
	}
	return nil
}

// fault decides what happens to a request.
func (l *leader) fault(op objstore.Op) objstore.Fault {
	if l.at > 0 {
		if l.at--; l.at == 0 {
			l.during()
		}
	}
	if l.crash > 0 {
		if l.crash--; l.crash == 0 {
			l.die()
			if l.h.r.IntN(2) == 0 {
				return objstore.LostAnswer() // it was done; nobody hears of it
			}
		}
	}
	if l.ctx.Err() != nil {
		return objstore.Fault{Err: l.ctx.Err()}
	}
	if l.calm {
		return objstore.Fault{}
	}
	switch l.h.r.IntN(30) {
	case 0:
		return objstore.Unavailable()
	case 1:
		return objstore.LostAnswer()
	case 2:
		return objstore.NoSpace()
	case 3:
		return objstore.Fault{Torn: 1}
	}
	return objstore.Fault{}
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(h.trace, "\n"))
}

// write is a task's upload: it lists what it may of the base, and writes the rest. It returns nil if it did not come to the ack.
func (l *leader) write(epoch ids.Epoch, subtask int32, base []snapshot.Object) *storage.TaskPart {
	var objects []snapshot.Object
	for _, o := range base {
		if n, _ := storage.ParseDataName(o.Name); n.Subtask == subtask && l.h.r.IntN(3) > 0 {
			objects = append(objects, o)
		}
	}
	for i := range 1 + l.h.r.IntN(2) {
		if l.h.r.IntN(12) == 0 {
			return nil // the worker dies
		}
		objects = append(objects, put(l.h.t, l.h.inner, "job/", storage.DataName{Term: l.term, Generation: l.gen, Vertex: 1, Subtask: subtask, Epoch: epoch, N: i}))
	}
	p := part(l.h.t, int(subtask), objects...)
	return &p
}

// deploy begins a generation.
func (l *leader) deploy() {
	l.gen++
	l.base = nil
	if l.top == l.found && !l.reserve() {
		return
	}
	err := l.job.Sweep(l.ctx, l.gen)
	l.h.note("term %d: generation %d, swept: %v", l.term, l.gen, err)
	if l.swept = err == nil; l.swept {
		l.h.checkSwept(l)
	}
}

// reserve reserves the next epochs.
func (l *leader) reserve() bool {
	err := l.job.Reserve(l.ctx, l.top+4)
	l.h.note("term %d: reserve %d: %v", l.term, l.top+4, err)
	if err == nil {
		l.top += 4
	}
	return err == nil
}

// checkpoint runs one epoch.
func (l *leader) checkpoint() {
	h := l.h
	if l.epoch == l.top && !l.reserve() {
		return
	}
	l.epoch++
	l.job.Begin(l.epoch)
	base := l.base
	var parts []storage.TaskPart
	for i := range int32(2) {
		if p := l.write(l.epoch, i, base); p != nil {
			parts = append(parts, *p)
		}
	}
	if len(parts) < 2 {
		err := l.job.Discard(l.ctx, l.epoch, "", parts)
		h.note("term %d: epoch %d has failed: %v", l.term, l.epoch, err)
		if err == nil {
			h.checkDiscarded(l, l.epoch, len(parts))
		}
		if len(parts) == 0 || h.r.IntN(2) == 0 {
			l.deploy()
		}
		return
	}
	_, err := l.job.WriteManifest(l.ctx, draft(l.epoch, parts...))
	h.note("term %d: manifest %d: %v", l.term, l.epoch, err)
	switch {
	case err == nil:
		h.complete[l.epoch] = true
		l.kept = append(l.kept, l.epoch)
		l.base = objectsOf(h.t, parts)
	case l.ctx.Err() == nil && errs.CodeOf(err) != errs.CodeFenced:
		if _, statErr := h.inner.Stat(ctx, storage.ManifestName("job", l.epoch)); statErr == nil {
			h.fail("the manifest of %d is there, and was said not to be: %v", l.epoch, err)
		}
		h.note("term %d: discarded: %v", l.term, l.job.Discard(l.ctx, l.epoch, "", parts))
	}
	for len(l.kept) > retained {
		err := l.job.Forget(l.ctx, l.kept[0])
		h.note("term %d: forget %d: %v", l.term, l.kept[0], err)
		if errs.CodeOf(err) != errs.CodeFenced {
			delete(h.complete, l.kept[0])
		}
		if err != nil {
			break
		}
		l.kept = l.kept[1:]
	}
}

func objectsOf(t *testing.T, parts []storage.TaskPart) (out []snapshot.Object) {
	for _, tp := range parts {
		p, err := storage.DecodePart(tp.Part)
		must(t, err)
		out = append(out, p.Ops[0].Objects...)
	}
	return out
}

// manifests are those that are there.
func (h *history) manifests() map[ids.Epoch]*snapshot.Manifest {
	out := map[ids.Epoch]*snapshot.Manifest{}
	for info, err := range h.inner.List(ctx, "job/manifests/") {
		must(h.t, err)
		b, err := objstore.ReadAll(ctx, h.inner, info.Name, 1<<20)
		must(h.t, err)
		m, err := snapshot.DecodeManifest(b)
		must(h.t, err)
		out[m.Epoch] = m
		if h.lists[m.Epoch] == nil {
			for _, o := range m.Objects {
				h.lists[m.Epoch] = append(h.lists[m.Epoch], o.Name)
			}
		}
	}
	return out
}

// check holds what is there against the laws.
func (h *history) check() {
	h.t.Helper()
	all := h.manifests()
	for epoch, m := range all {
		if !h.complete[epoch] {
			continue // late, of a leader that is none any more: nobody counts on it
		}
		for _, o := range m.Objects {
			b, err := objstore.ReadAll(ctx, h.inner, "job/"+o.Name, 1<<20)
			if err != nil || string(b) != o.Name {
				h.fail("checkpoint %d lists %s, which is gone: %v", epoch, o.Name, err)
			}
		}
	}
	for epoch := range h.complete {
		if all[epoch] == nil {
			h.fail("checkpoint %d was complete and not forgotten, and is gone", epoch)
		}
	}
}

// unlisted are the data objects that no manifest lists.
func (h *history) unlisted() (out []storage.DataName) {
	listed := map[string]bool{}
	for _, m := range h.manifests() {
		for _, o := range m.Objects {
			listed[o.Name] = true
		}
	}
	for info, err := range h.inner.List(ctx, "job/data/") {
		must(h.t, err)
		name := strings.TrimPrefix(info.Name, "job/")
		if n, ok := storage.ParseDataName(name); !ok {
			h.fail("%s is no name of data", name)
		} else if !listed[name] {
			out = append(out, n)
		}
	}
	return out
}

// checkSwept: after a sweep nothing is left of earlier deployments.
func (h *history) checkSwept(l *leader) {
	h.t.Helper()
	for epoch := range h.manifests() {
		if !slices.Contains(l.kept, epoch) && h.leader == l {
			h.fail("the manifest of %d is left over after the sweep of term %d", epoch, l.term)
		}
	}
	// An old leader may have deleted a manifest that this one has found: what it listed goes when this one forgets it.
	counted := map[string]bool{}
	for _, epoch := range l.kept {
		for _, name := range h.lists[epoch] {
			counted[name] = true
		}
	}
	for _, n := range h.unlisted() {
		if counted[n.String()] {
			continue
		}
		if n.Term < l.term || n.Term == l.term && n.Generation < l.gen {
			h.fail("%v is left over after the sweep of term %d, generation %d", n, l.term, l.gen)
		}
	}
}

// checkDiscarded: of a failed epoch only what was not acked is left.
func (h *history) checkDiscarded(l *leader, epoch ids.Epoch, acked int) {
	h.t.Helper()
	for _, n := range h.unlisted() {
		if n.Epoch == epoch && n.Term == l.term && acked == 2 {
			h.fail("%v of the failed epoch %d is left over", n, epoch)
		}
	}
}

// step does one random thing.
func (h *history) step() {
	l := h.leader
	l.calm = h.r.IntN(2) == 0
	if l.crash == 0 && h.r.IntN(8) == 0 {
		l.crash = 1 + h.r.IntN(25)
	}
	switch k := h.r.IntN(10); {
	case l.ctx.Err() != nil || k == 0: // another process takes over; the old one may not know
		h.takeOver(l)
	case k == 1 && h.zombie == nil: // in the middle of what the old one does, a new leader comes
		l.at, l.during = 1+h.r.IntN(12), func() { h.takeOver(l) }
		l.checkpoint()
		l.at = 0
	case k == 2:
		l.deploy()
	default:
		l.checkpoint()
	}
	if z := h.zombie; z != nil && z.ctx.Err() == nil && h.r.IntN(3) == 0 {
		h.note("the zombie of term %d:", z.term)
		z.checkpoint()
	}
	h.check()
}

// takeOver lets a new process lead.
func (h *history) takeOver(old *leader) {
	if h.r.IntN(2) == 0 {
		old.die()
	}
	for {
		l := h.newLeader()
		if h.r.IntN(4) == 0 {
			l.crash = 1 + h.r.IntN(10)
		}
		before := len(h.trace)
		err := l.open()
		h.note("leader %d: term %d, reserved %d, complete %v: %v", h.n, l.term, l.top, l.kept, err)
		if err != nil {
			if l.ctx.Err() == nil {
				h.fail("a leader that has not crashed cannot open: %v", err)
			}
			continue
		}
		_ = before
		h.zombie, h.leader = old, l
		if old.job == nil || old.ctx.Err() != nil {
			h.zombie = nil
		}
		if n := len(l.kept); n > 0 {
			_, epoch, err := l.job.Restorable(l.ctx, l.kept[n-1], nil)
			h.note("restores %d: %v", epoch, err)
			if err == nil && epoch != l.kept[n-1] {
				h.fail("restores %d, the newest is %d", epoch, l.kept[n-1])
			}
			if err != nil && l.ctx.Err() == nil {
				h.fail("the newest checkpoint %d cannot be restored: %v", l.kept[n-1], err)
			}
		}
		l.deploy()
		return
	}
}

// The laws of a job's directory under random histories: what a manifest lists is there, whole; what was said to be complete
// stays until it is forgotten by its leader; a new leader restores the newest; a sweep leaves nothing of earlier deployments.
func TestHistories(t *testing.T) {
	seeds.Run(t, 150, func(t *testing.T, r *rand.Rand) {
		h := &history{t: t, r: r, inner: memory.New(), files: fs.NewMem(nil), complete: map[ids.Epoch]bool{}, lists: map[ids.Epoch][]string{}}
		h.save = storage.LocalPlaces(h.files, "s")
		first := h.newLeader()
		h.takeOver(first)
		for range 40 {
			h.step()
		}
		// At the end the store works again, and the last leader ends the job.
		l := h.newLeader()
		l.calm = true
		must(t, l.open())
		must(t, l.job.End(l.ctx, storage.End{Outcome: "finished", Final: true}))
		if left := h.unlisted(); len(left) > 0 || len(h.manifests()) > 0 {
			h.fail("left over after the end: %v", left)
		}
	})
}
