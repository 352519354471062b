package task

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/restore"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// keptState is keyed state of an earlier run that nobody has opened and no backend can hold: it goes into each snapshot as it
// was.
type keptState struct {
	state snapshot.State
	data  *statebackend.Copied
}

// part shares the entries, which never change.
func (k keptState) part() statebackend.Part {
	return statebackend.Part{State: k.state, Data: shared{k.data}}
}

// shared is a Frozen that several cuts hold.
type shared struct{ data *statebackend.Copied }

func (s shared) Each(groups keygroup.Range, f statebackend.Visit) { s.data.Each(groups, f) }
func (s shared) Release()                                         {}

// restored asks what an earlier run has left for the operator.
func (l *link) restored() error {
	if l.t.cfg.Restore == nil {
		return nil
	}
	r, err := l.t.cfg.Restore(l.at)
	if err != nil {
		return damaged(err, l.ctx.Place(), "what it is restored from cannot be read")
	}
	if l.from = r; r != nil {
		l.ctx.Restored = r.Restored
	}
	return nil
}

// damaged wraps an error of reading a checkpoint. If its bytes have changed, an older one may do: the master decides that.
func damaged(err error, place, what string) error {
	if errs.CodeOf(err) == errs.CodeCorrupt {
		return errs.Wrap(err, errs.CodeDamaged, errs.ClassFailTask, place, "%s", what)
	}
	return errs.Wrap(err, "", 0, place, "%s", what)
}

// load fills the operator's state and lets it go on from there.
func (l *link) load() error {
	r := l.from
	if r == nil {
		return nil
	}
	if r.Load != nil && len(r.States) > 0 {
		sinks, err := l.sinks(r)
		if err != nil {
			return err
		}
		if err := r.Load(l.groups(), sinks, l.sinkOfUnopened); err != nil {
			return damaged(err, l.ctx.Place(), "its state cannot be restored")
		}
	}
	l.restoreWatermarks(r.Restored)
	if a, ok := l.op.(operator.Restorer); ok && r.Restored != nil {
		above := l.t.enter(l)
		err := a.AfterRestore()
		l.t.current = above
		return l.failed(err, "the restored state was refused")
	}
	return nil
}

func (l *link) groups() keygroup.Range {
	return keygroup.RangeOf(int(l.t.cfg.ID.Subtask), l.t.cfg.Parallelism)
}

// sinks returns what fills each state that the operator has opened and the checkpoint has, by name.
func (l *link) sinks(r *OpRestore) (map[string]transfer.Sink, error) {
	saved := make(map[string]snapshot.State, len(r.States))
	for _, s := range r.States {
		saved[s.Name] = s
	}
	out := map[string]transfer.Sink{}
	if l.backend != nil {
		now := restore.Keys{Schema: l.t.cfg.Ops[l.at].KeySchema, Width: l.keyWidth}
		if why := now.Refuse(restore.Keys{Schema: r.KeySchema, Width: r.KeyWidth}); why != "" {
			return nil, errs.New(errs.CodeSchema, errs.ClassUser, l.ctx.Place(), "%s", why)
		}
		for i, d := range l.backend.Descriptors() {
			was, ok := saved[d.Name]
			if !ok {
				continue
			}
			opened := statebackend.StateOf(d)
			opened.ID = uint32(i + 1)
			into, err := transfer.Sinks(l.backend, []snapshot.State{opened})
			if err != nil {
				return nil, err
			}
			if out[d.Name], err = l.resolve(&was, &restore.Opened{State: opened, Values: d.Values}, into[opened.ID]); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range l.parts {
		was, ok := saved[p.State.Name]
		if !ok {
			continue
		}
		var err error
		if out[p.State.Name], err = l.resolve(&was, &restore.Opened{State: p.State, Values: p.Values}, p.Load); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// resolve returns what brings entries of a saved state into the one that was opened, or refuses to.
func (l *link) resolve(was *snapshot.State, opened *restore.Opened, into transfer.Sink) (transfer.Sink, error) {
	sink, err := restore.Sink(was, opened, l.t.cfg.Ops[l.at].KeySchema, into)
	return sink, errs.Wrap(err, "", 0, l.ctx.Place(), "")
}

// sinkOfUnopened keeps the entries of a state that nobody has opened: it will be in the next snapshot as it is, and found by
// an operator that opens it later.
func (l *link) sinkOfUnopened(s *snapshot.State) (transfer.Sink, error) {
	switch s.Kind {
	case snapshot.KindValue, snapshot.KindList, snapshot.KindMap:
		if l.backend == nil {
			k, err := l.t.cfg.OpenState(statebackend.Config{KeyWidth: l.from.KeyWidth, Groups: l.groups()})
			if err != nil {
				return nil, err
			}
			l.backend, l.keyWidth, l.ownBackend = k, l.from.KeyWidth, true
		}
		into, err := transfer.Sinks(l.backend, []snapshot.State{*s})
		return into[s.ID], err
	}
	k := keptState{state: *s, data: &statebackend.Copied{}}
	k.state.ID = 0
	l.kept = append(l.kept, k)
	return func(e *snapshot.Entry) error {
		k.data.Add(statebackend.Key{Hash: e.Hash, Bytes: e.Key}, e.Namespace, e.UserKey, e.Value)
		return nil
	}, nil
}

// restoreWatermarks sets what the operator has seen and said of event time, so that nothing at or below is said again.
func (l *link) restoreWatermarks(r *operator.Restored) {
	if r == nil {
		return
	}
	l.counts.WatermarkOut.Store(r.Watermark)
	if l.at == 0 && l.isSource() {
		return
	}
	l.counts.WatermarkIn.Store(r.Watermark)
	l.passed(r.Watermark)
	if !l.holds {
		return
	}
	out, all := event.MaxTime, r.Union(watermarkOutBlob)
	for _, b := range all {
		if len(b) == 8 {
			out = min(out, int64(binary.LittleEndian.Uint64(b)))
		}
	}
	if len(all) == 0 || len(all) < r.Parallelism {
		out = event.NoTime // some subtask had said nothing
	}
	l.counts.WatermarkOut.Store(out)
}

func (l *link) isSource() bool {
	_, ok := l.op.(operator.Source)
	return ok
}

// resume says the restored watermarks again to those behind: their inputs start from nothing, while the operators know where
// they were, and a channel that stays silent must not hold them back.
func (t *Task) resume() error {
	for _, l := range t.links {
		out := l.counts.WatermarkOut.Load()
		if l.from == nil || out == event.NoTime {
			continue
		}
		err := l.each(func(g *target) error {
			if g.next != nil {
				return g.next.watermark(out)
			}
			return g.out.Event(event.Watermark(out))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
