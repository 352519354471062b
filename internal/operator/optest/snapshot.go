package optest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// Snapshot is what one subtask remembers at a cut. It stays as it is while the operator goes on, and can be restored from
// any number of times.
type Snapshot struct {
	*operator.Cut
	KeyWidth int
	// Now is the processing time of the cut.
	Now int64
}

// AsSubtask makes the harness one of several subtasks. It is called before Open.
func (h *Harness) AsSubtask(subtask, parallelism int) *Harness {
	h.Context.Subtask, h.Context.Parallelism = subtask, parallelism
	return h
}

// Snapshot cuts the operator as a task does at a barrier. The cut is read only when the operator has gone on: at a
// restore, or when the operator closes. So a cut that is not frozen does not pass for one that is.
func (h *Harness) Snapshot() (*Snapshot, error) {
	if err := h.Flush(); err != nil {
		return nil, err
	}
	h.epoch++
	cut := &operator.Cut{Barrier: event.Barrier{Epoch: h.epoch, Purpose: event.PurposeCheckpoint}, Watermark: h.watermark}
	if h.backend != nil {
		parts, err := statebackend.CutOf(h.backend)
		if err != nil {
			return nil, err
		}
		cut.Parts = parts
	}
	for _, p := range h.parts {
		data, err := p.Cut()
		if err != nil {
			cut.Release()
			return nil, err
		}
		cut.Parts = append(cut.Parts, statebackend.Part{State: p.State, Data: data})
	}
	if s, ok := h.Op.(operator.Snapshotter); ok {
		if err := s.Snapshot(cut); err != nil {
			cut.Release()
			return nil, err
		}
	}
	if err := distinct(cut.Parts); err != nil {
		return nil, err
	}
	s := &Snapshot{Cut: cut, KeyWidth: h.keyWidth, Now: h.Context.Now()}
	h.unread = append(h.unread, s)
	return s, nil
}

func distinct(parts []statebackend.Part) error {
	for i := range parts {
		if slices.ContainsFunc(parts[:i], func(p statebackend.Part) bool { return p.State.Name == parts[i].State.Name }) {
			return fmt.Errorf("optest: two states are called %q", parts[i].State.Name)
		}
	}
	return nil
}

// readCuts copies what the cuts hold, and releases them.
func (h *Harness) readCuts() {
	for _, s := range h.unread {
		s.read()
	}
	h.unread = nil
}

func (s *Snapshot) read() {
	for i := range s.Parts {
		p := &s.Parts[i]
		if _, copied := p.Data.(*statebackend.Copied); copied {
			continue
		}
		var c statebackend.Copied
		p.Data.Each(keygroup.All(), c.Add)
		p.Data.Release()
		p.Data = &c
	}
}

// Restore opens the operator with the state that all subtasks of an earlier run have left, as a task does. It takes the
// place of Open. The processing time goes on from the cut.
func (h *Harness) Restore(old ...*Snapshot) error {
	r := &operator.Restored{Watermark: event.MaxTime, Parallelism: len(old)}
	now := h.Context.Now()
	for _, s := range old {
		s.read()
		r.Epoch = max(r.Epoch, s.Barrier.Epoch)
		r.Watermark = min(r.Watermark, s.Watermark)
		r.Blobs = append(r.Blobs, s.Blobs...)
		r.Positions = append(r.Positions, s.Positions...)
		now = max(now, s.Now)
	}
	h.clk.AdvanceTo(time.UnixMilli(now))
	h.Context.Restored, h.epoch, h.watermark = r, r.Epoch, r.Watermark
	if err := h.Open(); err != nil {
		return err
	}
	for _, s := range old {
		if err := h.load(s); err != nil {
			return err
		}
	}
	if a, ok := h.Op.(operator.Restorer); ok {
		return a.AfterRestore()
	}
	return nil
}

// load takes the subtask's key groups of one old subtask's state.
func (h *Harness) load(s *Snapshot) error {
	if len(s.Parts) > 0 && s.KeyWidth != h.keyWidth && s.KeyWidth >= 0 {
		return fmt.Errorf("optest: keys had %d bytes and now have %d", s.KeyWidth, h.keyWidth)
	}
	groups := h.groups()
	for i := range s.Parts {
		p := &s.Parts[i]
		sink, err := h.sink(&p.State)
		if err != nil {
			return err
		}
		p.Data.Each(groups, func(key statebackend.Key, ns, user, value []byte) bool {
			err = sink(&snapshot.Entry{Hash: key.Hash, Key: key.Bytes, Namespace: ns, UserKey: user, Value: value})
			return err == nil
		})
		if err != nil {
			return fmt.Errorf("optest: state %q: %w", p.State.Name, err)
		}
	}
	return nil
}

func (h *Harness) sink(s *snapshot.State) (transfer.Sink, error) {
	for _, p := range h.parts {
		if p.State.Name == s.Name {
			return p.Load, same(&p.State, s)
		}
	}
	if h.backend != nil {
		for _, d := range h.backend.Descriptors() {
			if d.Name != s.Name {
				continue
			}
			now := statebackend.StateOf(d)
			if err := same(&now, s); err != nil {
				return nil, err
			}
			sinks, err := transfer.Sinks(h.backend, []snapshot.State{now})
			return sinks[now.ID], err
		}
	}
	return nil, fmt.Errorf("optest: state %q was saved, but is not opened in Open", s.Name)
}

// same reports how a state differs from the saved one: an operator that has not changed opens the same.
func same(now, saved *snapshot.State) error {
	if now.Kind != saved.Kind || now.Width != saved.Width || now.NamespaceWidth != saved.NamespaceWidth || !bytes.Equal(now.Schema, saved.Schema) {
		return fmt.Errorf("optest: state %q was saved as %+v and is opened as %+v", now.Name, *saved, *now)
	}
	return nil
}

func (h *Harness) groups() keygroup.Range {
	return keygroup.RangeOf(h.Context.Subtask, h.Context.Parallelism)
}
