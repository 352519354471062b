package taskstore

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend/transfer"
)

// mergeBytes bounds what merging holds of deltas at a time, unless one key group has more.
const mergeBytes = 64 << 20

// loading is the restore of one operator's keyed state.
type loading struct {
	s     *Source
	o     *snapshot.Operator
	sinks map[string]transfer.Sink
	other func(*snapshot.State) (transfer.Sink, error)
}

// loaded is an object about to be read.
type loaded struct {
	snapshot.Object
	r      *snapshot.Reader
	sinks  map[uint32]transfer.Sink // by the ids in its records
	states map[uint32]snapshot.State
}

// sinksOf returns what takes the entries of each state of an object.
func (l *loading) sinksOf(obj *snapshot.Object) (map[uint32]transfer.Sink, map[uint32]snapshot.State, error) {
	sinks, states := map[uint32]transfer.Sink{}, map[uint32]snapshot.State{}
	add := func(id, own uint32) error {
		at := slices.IndexFunc(l.o.States, func(st snapshot.State) bool { return st.ID == own })
		if at < 0 {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "object %s has the state %d, which the operator lacks", obj.Name, own)
		}
		st := &l.o.States[at]
		sink := l.sinks[st.Name]
		if sink == nil {
			var err error
			if sink, err = l.other(st); err != nil {
				return err
			}
			l.sinks[st.Name] = sink
		}
		sinks[id], states[id] = sink, *st
		return nil
	}
	if obj.States == nil {
		for i := range l.o.States {
			if err := add(l.o.States[i].ID, l.o.States[i].ID); err != nil {
				return nil, nil, err
			}
		}
		return sinks, states, nil
	}
	for i, own := range obj.States {
		if err := add(uint32(i+1), own); err != nil {
			return nil, nil, err
		}
	}
	return sinks, states, nil
}

// overlay is what deltas say about one key and namespace of a state.
type overlay struct {
	state   snapshot.State
	entry   snapshot.Entry // with key, namespace and hash
	removed bool           // what objects before the deltas hold is gone
	value   []byte         // of a value, if written
	written bool
	list    [][]byte          // elements to be appended
	byUser  map[string][]byte // entries of a map, or timers; nil if removed
	users   []string          // in their order
}

// merged gives the entries of base objects and deltas to the sinks, as if there had been one object: a sink sees no
// removal. It goes from run to run of key groups.
func (l *loading) merged(objects []loaded, groups keygroup.Range) error {
	for _, run := range l.runs(objects, groups) {
		over := map[string]*overlay{}
		var order []*overlay
		for i := range objects {
			if objects[i].Kind != snapshot.ObjectDelta {
				continue
			}
			if err := l.each(&objects[i], run, func(in *loaded, e *snapshot.Entry) error {
				key := prefix(in.states[e.State].ID, e)
				ov := over[key]
				if ov == nil {
					ov = &overlay{state: in.states[e.State], entry: snapshot.Entry{State: e.State, Hash: e.Hash, Key: bytes.Clone(e.Key), Namespace: bytes.Clone(e.Namespace)}}
					over[key], order = ov, append(order, ov)
				}
				ov.apply(e)
				return nil
			}); err != nil {
				return err
			}
		}
		for i := range objects {
			if objects[i].Kind == snapshot.ObjectDelta {
				continue
			}
			if err := l.each(&objects[i], run, func(in *loaded, e *snapshot.Entry) error {
				if e.Removed {
					return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "a removed entry in what is no delta")
				}
				if ov := over[prefix(in.states[e.State].ID, e)]; ov != nil && ov.hides(e) {
					return nil
				}
				return in.sinks[e.State](e)
			}); err != nil {
				return err
			}
		}
		for _, ov := range order {
			if err := ov.emit(l.sinks[ov.state.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// each calls f with the entries of an object, whose widths and states it checks.
func (l *loading) each(in *loaded, groups keygroup.Range, f func(*loaded, *snapshot.Entry) error) error {
	err := in.r.Each(groups, func(e *snapshot.Entry) error {
		if l.o.KeyWidth > 0 && len(e.Key) != l.o.KeyWidth || in.sinks[e.State] == nil {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "a key of %d bytes, or of the unknown state %d", len(e.Key), e.State)
		}
		return f(in, e)
	})
	return errs.Wrap(err, "", 0, "snapshot", "object %s", in.Name)
}

// runs cuts the groups so that the deltas of each run fit into memory, as far as their sizes tell.
func (l *loading) runs(objects []loaded, groups keygroup.Range) []keygroup.Range {
	var raw int64
	for i := range objects {
		if objects[i].Kind == snapshot.ObjectDelta {
			raw += objects[i].RawBytes
		}
	}
	n := int(min(1+raw/mergeBytes, int64(groups.Len())))
	out := make([]keygroup.Range, 0, n)
	for i := range n {
		out = append(out, keygroup.Range{From: groups.From + keygroup.Group(groups.Len()*i/n), To: groups.From + keygroup.Group(groups.Len()*(i+1)/n)})
	}
	return out
}

// prefix names a key and namespace of a state.
func prefix(state uint32, e *snapshot.Entry) string {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 8+len(e.Key)+len(e.Namespace)), state)
	return string(append(bin.AppendBytes(b, e.Key), e.Namespace...))
}

// apply notes an entry of a delta; later ones count more.
func (o *overlay) apply(e *snapshot.Entry) {
	switch {
	case e.Removed && e.UserKey == nil:
		o.removed, o.value, o.written, o.list, o.byUser, o.users = true, nil, false, nil, nil, nil
	case e.UserKey != nil:
		if o.byUser == nil {
			o.byUser = map[string][]byte{}
		}
		user := string(e.UserKey)
		if _, ok := o.byUser[user]; !ok {
			o.users = append(o.users, user)
		}
		o.byUser[user] = nil
		if !e.Removed {
			o.byUser[user] = append([]byte{}, e.Value...)
		}
	case o.state.Kind == snapshot.KindList:
		o.list = append(o.list, bytes.Clone(e.Value))
	default:
		o.value, o.written = bytes.Clone(e.Value), true
	}
}

// hides reports whether an entry of an earlier object is gone or replaced.
func (o *overlay) hides(e *snapshot.Entry) bool {
	if o.removed {
		return true
	}
	if e.UserKey != nil {
		_, ok := o.byUser[string(e.UserKey)]
		return ok
	}
	return o.written
}

// emit gives the sink what the deltas have added.
func (o *overlay) emit(sink transfer.Sink) error {
	e := o.entry
	give := func(user, value []byte) error {
		e.UserKey, e.Value = user, value
		return sink(&e)
	}
	if o.written {
		if err := give(nil, o.value); err != nil {
			return err
		}
	}
	for _, v := range o.list {
		if err := give(nil, v); err != nil {
			return err
		}
	}
	for _, user := range o.users {
		if v := o.byUser[user]; v != nil {
			if err := give([]byte(user), v); err != nil {
				return err
			}
		}
	}
	return nil
}
