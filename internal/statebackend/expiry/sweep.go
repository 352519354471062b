package expiry

import (
	"bytes"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/statebackend"
)

const (
	// sweepCredit is how many units an access looks at, on average.
	sweepCredit = 5
	// A step of a sweep visits between these numbers of units, if it can.
	leastStep, mostStep = 64, 2048
)

// sweep goes round through the key groups of a state. It visits whole groups at a time, so it waits until the accesses since
// its last step have paid for that.
type sweep struct {
	over   statebackend.Sweeper // nil if the backend cannot be swept
	clean  func(u *unit, now int64)
	groups keygroup.Range
	next   keygroup.Group
	span   int // groups of a step
	credit int
	cost   int // units of the last step
	found  []unit
}

// unit is what a sweep has found and will look at again.
type unit struct {
	hash          uint64
	key, ns, user []byte
}

func (s *sweep) step(e *expiring, now int64) {
	s.credit += sweepCredit
	if s.over == nil || s.credit < max(s.cost, leastStep) {
		return
	}
	s.credit, s.cost = 0, 0
	to := keygroup.Group(min(int(s.next)+s.span, int(s.groups.To)))
	s.found = s.found[:0]
	s.over.Sweep(keygroup.Range{From: s.next, To: to}, func(k statebackend.Key, ns, user, b []byte) bool {
		s.cost++
		if e.due(stampOf(b), now) {
			s.found = append(s.found, unit{k.Hash, bytes.Clone(k.Bytes), bytes.Clone(ns), bytes.Clone(user)})
		}
		return true
	})
	for i := range s.found {
		s.clean(&s.found[i], now)
	}
	switch {
	case s.cost < leastStep:
		s.span = min(2*s.span, s.groups.Len())
	case s.cost > mostStep:
		s.span = max(s.span/2, 1)
	}
	if s.next = to; to >= s.groups.To {
		s.next = s.groups.From
	}
}

func (u *unit) at() statebackend.Key { return statebackend.Key{Hash: u.hash, Bytes: u.key} }

// Cut implements statebackend.Cutter: what has expired now is left out.
func (k *Keyed) Cut() ([]statebackend.Part, error) {
	parts, err := statebackend.CutOf(k.Keyed)
	for i, p := range parts {
		if e := k.states[p.State.Name]; e != nil {
			parts[i].Data = prune(p.Data, e.Expiry, e.now())
		}
	}
	return parts, err
}

// pruned is a frozen state without what had expired at the cut.
type pruned struct {
	statebackend.Frozen
	e   expiring
	now int64
}

func (p *pruned) visit(f statebackend.Visit) statebackend.Visit {
	return func(k statebackend.Key, ns, user, value []byte) bool {
		if planted.Is(planted.TimeToLiveAnew) {
			value = p.e.with(p.now, value[8:])
		}
		return p.e.expired(stampOf(value), p.now) || f(k, ns, user, value)
	}
}

// Each implements statebackend.Frozen.
func (p *pruned) Each(groups keygroup.Range, f statebackend.Visit) { p.Frozen.Each(groups, p.visit(f)) }

// Err implements statebackend.Fallible.
func (p *pruned) Err() error { return statebackend.Failure(p.Frozen) }

// prunedOrdered is one that is in order.
type prunedOrdered struct{ pruned }

// Ordered implements statebackend.Ordered.
func (*prunedOrdered) Ordered() {}

// full is what a frozen state can be at most.
type full interface {
	statebackend.Drainer
	statebackend.Changing
}

// prunedFull is one that can do everything. Its changes are not pruned: what is left out of them would come back from an
// earlier checkpoint.
type prunedFull struct {
	prunedOrdered
	all full
}

// Drain implements statebackend.Drainer.
func (p *prunedFull) Drain(f statebackend.Visit) { p.all.Drain(p.visit(f)) }

// Mark implements statebackend.Changing.
func (p *prunedFull) Mark() uint64 { return p.all.Mark() }

// Changes implements statebackend.Changing.
func (p *prunedFull) Changes(since uint64, groups keygroup.Range, f statebackend.VisitChange) bool {
	return p.all.Changes(since, groups, f)
}

// Complete implements statebackend.Changing.
func (p *prunedFull) Complete() { p.all.Complete() }

func prune(f statebackend.Frozen, e statebackend.Expiry, now int64) statebackend.Frozen {
	p := pruned{Frozen: f, e: expiring{Expiry: e}, now: now}
	if all, ok := f.(full); ok {
		return &prunedFull{prunedOrdered{p}, all}
	}
	if _, ok := f.(statebackend.Ordered); ok {
		return &prunedOrdered{p}
	}
	return &p
}
