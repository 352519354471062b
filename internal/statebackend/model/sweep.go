package model

import (
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// Sweep implements statebackend.Sweeper.
func (v *value) Sweep(groups keygroup.Range, f statebackend.Visit) {
	v.All(func(k statebackend.Key, ns, b []byte) bool {
		return !groups.ContainsHash(k.Hash) || f(k, ns, nil, b)
	})
}

// Sweep implements statebackend.Sweeper.
func (l *list) Sweep(groups keygroup.Range, f statebackend.Visit) {
	l.All(func(k statebackend.Key, ns, e []byte) bool {
		return !groups.ContainsHash(k.Hash) || f(k, ns, nil, e)
	})
}

// Sweep implements statebackend.Sweeper.
func (m *mapState) Sweep(groups keygroup.Range, f statebackend.Visit) {
	m.All(func(k statebackend.Key, ns, entry, b []byte) bool {
		return !groups.ContainsHash(k.Hash) || f(k, ns, entry, b)
	})
}
