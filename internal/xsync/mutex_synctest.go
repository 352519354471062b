//go:build synctest

package xsync

import "sync/atomic"

// Mutex is a lock for one holder, waited for on a channel. It must not be copied after its first use.
type Mutex struct {
	held atomic.Pointer[chan struct{}] // has room for one: full while the lock is held
}

func (m *Mutex) slot() chan struct{} {
	if c := m.held.Load(); c != nil {
		return *c
	}
	c := make(chan struct{}, 1)
	if m.held.CompareAndSwap(nil, &c) {
		return c
	}
	return *m.held.Load()
}

// Lock blocks until the lock is free and takes it.
func (m *Mutex) Lock() { m.slot() <- struct{}{} }

// TryLock takes the lock if it is free and reports whether it did.
func (m *Mutex) TryLock() bool {
	select {
	case m.slot() <- struct{}{}:
		return true
	default:
		return false
	}
}

// Unlock frees the lock. It panics if the lock is not held.
func (m *Mutex) Unlock() {
	select {
	case <-m.slot():
	default:
		panic("xsync: Unlock of a Mutex that is not locked")
	}
}

// RWMutex is a lock for one writer or many readers. It must not be copied after its first use.
type RWMutex struct {
	writer  Mutex // held by the writer, or by the readers together
	mu      Mutex // guards readers; taken before writer
	readers int
}

// Lock blocks until neither reader nor writer holds the lock.
func (m *RWMutex) Lock() { m.writer.Lock() }

// TryLock takes the lock for writing if it is free and reports whether it did.
func (m *RWMutex) TryLock() bool { return m.writer.TryLock() }

// Unlock frees the lock of a writer.
func (m *RWMutex) Unlock() { m.writer.Unlock() }

// RLock blocks until no writer holds the lock.
func (m *RWMutex) RLock() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readers == 0 {
		m.writer.Lock()
	}
	m.readers++
}

// RUnlock frees the lock of one reader. It panics if no reader holds it.
func (m *RWMutex) RUnlock() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readers == 0 {
		panic("xsync: RUnlock of an RWMutex without a reader")
	}
	m.readers--
	if m.readers == 0 {
		m.writer.Unlock()
	}
}
