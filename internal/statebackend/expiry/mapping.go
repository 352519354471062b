package expiry

import (
	"bytes"

	"github.com/weir-stream/weir/internal/statebackend"
)

// mapping implements statebackend.Map.
type mapping struct {
	*expiring
	in statebackend.Map
}

func newMap(e *expiring, in statebackend.Map) *mapping {
	m := &mapping{e, in}
	e.sweep.clean = func(u *unit, now int64) { m.look(u.at(), u.ns, u.user, now, false) }
	return m
}

// look is that of value, for an entry.
func (m *mapping) look(key statebackend.Key, ns, entry []byte, now int64, read bool) ([]byte, bool) {
	b, ok := m.in.Get(key, ns, entry)
	if !ok {
		return nil, false
	}
	stamp := stampOf(b)
	switch {
	case m.expired(stamp, now):
		shown := m.with(stamp, b[StampBytes:])[StampBytes:]
		m.in.Remove(key, ns, entry)
		m.count(1)
		return shown, m.ShowExpired
	case m.stale(stamp, now) && (read || stamp == Unknown):
		shown := m.with(now, b[StampBytes:])
		m.in.Put(key, ns, entry, shown)
		return shown[StampBytes:], true
	}
	return b[StampBytes:], true
}

func (m *mapping) Get(key statebackend.Key, ns, entry []byte) ([]byte, bool) {
	b, ok := m.look(key, ns, entry, m.begin(), true)
	if !ok {
		return nil, false
	}
	return b, true
}

func (m *mapping) Put(key statebackend.Key, ns, entry, b []byte) {
	now := m.begin()
	m.in.Put(key, ns, entry, m.with(now, b))
}

func (m *mapping) Remove(key statebackend.Key, ns, entry []byte) bool {
	now := m.begin()
	b, ok := m.in.Get(key, ns, entry)
	if !ok {
		return false
	}
	if m.expired(stampOf(b), now) {
		m.count(1)
		ok = m.ShowExpired
	}
	m.in.Remove(key, ns, entry)
	return ok
}

func (m *mapping) Range(key statebackend.Key, ns, from, to []byte, f func(entry, value []byte) bool) {
	m.visit(key, ns, from, to, true, f)
}

func (m *mapping) visit(key statebackend.Key, ns, from, to []byte, read bool, f func(entry, value []byte) bool) {
	now := m.begin()
	var work [][]byte
	m.in.Range(key, ns, from, to, func(entry, b []byte) bool {
		stamp := stampOf(b)
		if m.due(stamp, now) || read && m.stale(stamp, now) {
			work = append(work, bytes.Clone(entry))
		}
		return m.hidden(stamp, now) || f(entry, b[StampBytes:])
	})
	for _, entry := range work {
		m.look(key, ns, entry, now, read)
	}
}

func (m *mapping) Count(key statebackend.Key, ns []byte) (n int) {
	m.visit(key, ns, nil, nil, false, func(_, _ []byte) bool { n++; return true })
	return n
}

func (m *mapping) Clear(key statebackend.Key, ns []byte) bool {
	now := m.begin()
	seen := false
	m.in.Range(key, ns, nil, nil, func(_, b []byte) bool {
		if m.expired(stampOf(b), now) {
			m.count(1)
		}
		seen = seen || !m.hidden(stampOf(b), now)
		return true
	})
	m.in.Clear(key, ns)
	return seen
}

func (m *mapping) All(f func(key statebackend.Key, ns, entry, value []byte) bool) {
	now := m.now()
	m.in.All(func(key statebackend.Key, ns, entry, b []byte) bool {
		return m.hidden(stampOf(b), now) || f(key, ns, entry, b[StampBytes:])
	})
}

// Touch implements statebackend.Toucher.
func (m *mapping) Touch(hashes []uint64) {
	if t, ok := m.in.(statebackend.Toucher); ok {
		t.Touch(hashes)
	}
}
