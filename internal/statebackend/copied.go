package statebackend

import (
	"bytes"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
)

// CopyOf returns a copy of everything that k holds: the cut of backends that have no other. It takes time and memory in
// proportion to the state.
func CopyOf(k Keyed) ([]Part, error) {
	var parts []Part
	for _, d := range k.Descriptors() {
		var c Copied
		if err := c.take(k, d); err != nil {
			return nil, err
		}
		parts = append(parts, Part{State: StateOf(d), Data: &c})
	}
	return parts, k.Err()
}

func (c *Copied) take(k Keyed, d Descriptor) error {
	switch d.Kind {
	case KindValue:
		v, err := k.Value(d)
		if err != nil {
			return err
		}
		v.All(func(key Key, ns, value []byte) bool { return c.Add(key, ns, nil, value) })
	case KindList:
		l, err := k.List(d)
		if err != nil {
			return err
		}
		l.All(func(key Key, ns, element []byte) bool { return c.Add(key, ns, nil, element) })
	case KindMap:
		m, err := k.Map(d)
		if err != nil {
			return err
		}
		m.All(func(key Key, ns, entry, value []byte) bool {
			if entry == nil {
				entry = []byte{}
			}
			return c.Add(key, ns, entry, value)
		})
	default:
		return errs.New(errs.CodeBug, errs.ClassBug, "state "+d.Name, "of unknown kind %d", d.Kind)
	}
	return nil
}

// Copied is a Frozen that owns copies. The zero value is empty.
type Copied struct {
	units []unit
}

type unit struct {
	hash                 uint64
	key, ns, user, value []byte
}

// Add copies a unit, and returns true so that it can serve as a Visit.
func (c *Copied) Add(key Key, ns, user, value []byte) bool {
	c.units = append(c.units, unit{key.Hash, bytes.Clone(key.Bytes), bytes.Clone(ns), bytes.Clone(user), bytes.Clone(value)})
	return true
}

// Each implements Frozen.
func (c *Copied) Each(groups keygroup.Range, f Visit) {
	for i := range c.units {
		u := &c.units[i]
		if groups.Contains(keygroup.Of(u.hash)) && !f(Key{Hash: u.hash, Bytes: u.key}, u.ns, u.user, u.value) {
			return
		}
	}
}

// Release implements Frozen.
func (c *Copied) Release() { c.units = nil }
