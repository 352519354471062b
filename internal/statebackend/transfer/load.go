package transfer

import (
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/snapshot"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Sink takes the entries of one state; they are borrowed for the call.
type Sink func(e *snapshot.Entry) error

// Sinks opens the states in a backend and returns what fills each, by id. The backend must be empty. States of timers
// have no sink here: the caller adds theirs.
func Sinks(into statebackend.Keyed, states []snapshot.State) (map[uint32]Sink, error) {
	sinks := map[uint32]Sink{}
	for i := range states {
		sink, err := sinkOf(into, &states[i])
		if err != nil {
			return nil, err
		}
		if sink != nil {
			sinks[states[i].ID] = sink
		}
	}
	return sinks, nil
}

func sinkOf(into statebackend.Keyed, s *snapshot.State) (Sink, error) {
	d := statebackend.Descriptor{Name: s.Name, Width: s.Width, NamespaceWidth: s.NamespaceWidth, Schema: s.Schema}
	refuse := func(why string) error {
		return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "state "+s.Name, "an entry of %s: %s", s.Kind, why)
	}
	// The backend trusts widths, so a file that lies about them must not reach it.
	check := func(e *snapshot.Entry) error {
		switch {
		case s.Width > 0 && len(e.Value) != s.Width:
			return refuse("its value does not have the width of the state")
		case s.NamespaceWidth >= 0 && len(e.Namespace) != s.NamespaceWidth:
			return refuse("its namespace does not have the width of the state")
		case (e.UserKey != nil) != (s.Kind == snapshot.KindMap):
			return refuse("with or without a user key, against its kind")
		}
		return nil
	}
	var put func(k statebackend.Key, e *snapshot.Entry)
	var hint density
	switch s.Kind {
	case snapshot.KindValue:
		v, err := into.Value(d)
		if err != nil {
			return nil, err
		}
		hint.of, _ = v.(statebackend.Expecter)
		hint.units = true
		put = func(k statebackend.Key, e *snapshot.Entry) { v.Put(k, e.Namespace, e.Value) }
	case snapshot.KindList:
		l, err := into.List(d)
		if err != nil {
			return nil, err
		}
		hint.of, _ = l.(statebackend.Expecter)
		put = func(k statebackend.Key, e *snapshot.Entry) { l.Append(k, e.Namespace, e.Value) }
	case snapshot.KindMap:
		m, err := into.Map(d)
		if err != nil {
			return nil, err
		}
		hint.of, _ = m.(statebackend.Expecter)
		put = func(k statebackend.Key, e *snapshot.Entry) { m.Put(k, e.Namespace, e.UserKey, e.Value) }
	default:
		return nil, nil
	}
	return func(e *snapshot.Entry) error {
		if err := check(e); err != nil {
			return err
		}
		if hint.of != nil {
			hint.see(e)
		}
		put(statebackend.Key{Hash: e.Hash, Bytes: e.Key}, e)
		return nil
	}, nil
}

// densityKeys is after how many keys a state is told how many to expect: enough for an estimate within a few percent.
const densityKeys = 4096

// density estimates the keys in a key group from the first ones of an object, which come in the order of groups.
type density struct {
	of    statebackend.Expecter // nil when it has been told, or cannot be
	first keygroup.Group
	last  uint64
	keys  int
	units bool // every unit is a key's own, as far as the state's table goes: values by namespace
}

func (d *density) see(e *snapshot.Entry) {
	g := e.Group()
	switch {
	case d.keys == 0 || g < d.first:
		d.first, d.keys = g, 0 // another object begins
	case e.Hash == d.last && !d.units:
		return
	}
	d.last = e.Hash
	if d.keys++; d.keys > densityKeys && g > d.first {
		// The group of this key has only begun.
		d.of.Expect(float64(d.keys-1) / float64(g-d.first))
		d.of = nil
	}
}

// Load gives the entries of the groups in an object to the sinks of their states. keyWidth is that of the operator, 0 if
// keys vary. An entry of a state without a sink is an error: what is to be dropped has a sink that drops it.
func Load(from *snapshot.Reader, groups keygroup.Range, keyWidth int, sinks map[uint32]Sink) error {
	return from.Each(groups, func(e *snapshot.Entry) error {
		if keyWidth > 0 && len(e.Key) != keyWidth {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "a key of %d bytes, those of the operator have %d", len(e.Key), keyWidth)
		}
		if e.Removed {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "a removed entry in what is no delta")
		}
		sink := sinks[e.State]
		if sink == nil {
			return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "snapshot", "an entry of state %d, which the manifest does not list", e.State)
		}
		return sink(e)
	})
}
