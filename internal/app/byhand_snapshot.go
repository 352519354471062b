package app

import (
	"maps"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/checkpoint"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/graph"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
	"github.com/weir-stream/weir/internal/task"
)

// HandSnapshot is the state of a job that was run by hand, in memory. It never changes.
type HandSnapshot struct {
	// Now is the processing time of the snapshot.
	Now time.Time

	epoch uint64
	ops   map[string][]handCut // by the operator's name, one for each subtask
}

type handCut struct {
	task.OpSnapshot
	subtask int
}

// handStates takes the cuts of the tasks of a ByHand, and gives them what they begin from.
type handStates struct {
	from   *HandSnapshot // nil: from nothing
	taking *HandSnapshot // nil unless a snapshot is under way
	epoch  uint64
	failed error
}

// join has a task take part.
func (s *handStates) join(t *runningTask, v *graph.Vertex, cfg *task.Config) {
	subtask := int(t.id.Subtask)
	cfg.Checkpoints = task.Checkpoints{
		Mode: checkpoint.ExactlyOnce,
		OnSnapshot: func(snap *task.Snapshot) {
			for i, op := range snap.Ops {
				s.taking.take(stateName(v.Operators[i].Node), subtask, op)
			}
			snap.Release()
		},
		OnDeclined: func(_ uint64, err error) { s.failed = err },
	}
	if s.from == nil {
		return
	}
	cfg.Restore = func(op int) (*task.OpRestore, error) {
		return s.from.restore(stateName(v.Operators[op].Node)), nil
	}
}

// take copies a cut.
func (s *HandSnapshot) take(name string, subtask int, op task.OpSnapshot) {
	cut := *op.Cut
	cut.Parts = slices.Clone(cut.Parts)
	for i := range cut.Parts {
		var c statebackend.Copied
		cut.Parts[i].Data.Each(keygroup.All(), c.Add)
		cut.Parts[i].Data = &c
	}
	op.Cut = &cut
	s.ops[name] = append(s.ops[name], handCut{op, subtask})
	slices.SortFunc(s.ops[name], func(a, b handCut) int { return a.subtask - b.subtask })
}

// restore returns what the subtasks of an operator have left, or nil.
func (s *HandSnapshot) restore(name string) *task.OpRestore {
	cuts := s.ops[name]
	if cuts == nil {
		return nil
	}
	r := &operator.Restored{Epoch: s.epoch, Watermark: event.MaxTime, Parallelism: len(cuts)}
	out := &task.OpRestore{Restored: r}
	states := map[string]snapshot.State{}
	for _, c := range cuts {
		r.Watermark = min(r.Watermark, c.Watermark)
		r.Blobs = append(r.Blobs, c.Blobs...)
		r.Positions = append(r.Positions, c.Positions...)
		for _, p := range c.Parts {
			states[p.State.Name] = p.State
		}
		out.KeyWidth, out.KeySchema = c.KeyWidth, c.KeySchema
	}
	for i, n := range slices.Sorted(maps.Keys(states)) {
		st := states[n]
		st.ID = uint32(i + 1)
		out.States = append(out.States, st)
	}
	out.Load = func(groups keygroup.Range, sinks map[string]transfer.Sink, other func(*snapshot.State) (transfer.Sink, error)) error {
		for i := range out.States {
			st := &out.States[i]
			sink := sinks[st.Name]
			if sink == nil {
				var err error
				if sink, err = other(st); err != nil {
					return err
				}
			}
			if err := s.load(cuts, st, groups, sink); err != nil {
				return err
			}
		}
		return nil
	}
	return out
}

func (s *HandSnapshot) load(cuts []handCut, st *snapshot.State, groups keygroup.Range, sink transfer.Sink) (err error) {
	for _, c := range cuts {
		for _, p := range c.Parts {
			if p.State.Name != st.Name {
				continue
			}
			p.Data.Each(groups, func(key statebackend.Key, ns, user, value []byte) bool {
				err = sink(&snapshot.Entry{State: st.ID, Hash: key.Hash, Key: key.Bytes, Namespace: ns, UserKey: user, Value: value})
				return err == nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Snapshot takes the state of all tasks at one point between rows. The job goes on.
func (h *ByHand) Snapshot() (*HandSnapshot, error) {
	if err := h.Settle(); err != nil {
		return nil, err
	}
	if h.Done() {
		return nil, errs.New(errs.CodeBug, errs.ClassUser, "snapshot", "the job has come to its end")
	}
	s := h.states
	s.epoch++
	s.taking = &HandSnapshot{Now: h.launcher.world.Clock.Now(), epoch: s.epoch, ops: map[string][]handCut{}}
	for _, t := range h.running.tasks {
		if t.head {
			t.task.Trigger(event.Barrier{Epoch: s.epoch, Purpose: event.PurposeCheckpoint}, false, 0)
		}
	}
	if err := h.Settle(); err != nil {
		return nil, err
	}
	for _, t := range h.running.tasks {
		t.task.Complete(s.epoch, false)
	}
	if err := h.Settle(); err != nil {
		return nil, err
	}
	taken := s.taking
	s.taking = nil
	return taken, s.failed
}
