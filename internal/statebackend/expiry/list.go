package expiry

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/statebackend"
)

// list implements statebackend.List.
type list struct {
	*expiring
	in   statebackend.List
	rows [][]byte
	mem  []byte
}

func newList(e *expiring, in statebackend.List) *list {
	l := &list{expiring: e, in: in}
	e.sweep.clean = func(u *unit, now int64) { l.rewrite(u.at(), u.ns, now, false) }
	return l
}

func (l *list) Append(key statebackend.Key, ns, element []byte) {
	now := l.begin()
	l.in.Append(key, ns, l.with(now, element))
}

func (l *list) Put(key statebackend.Key, ns []byte, elements [][]byte) {
	now := l.begin()
	l.countExpired(key, ns, now)
	l.mem = l.mem[:0]
	ends := make([]int, 0, len(elements))
	for _, e := range elements {
		l.mem = append(binary.LittleEndian.AppendUint64(l.mem, uint64(now)), e...)
		ends = append(ends, len(l.mem))
	}
	l.put(key, ns, ends)
}

// put replaces a list by the elements in mem that end at ends.
func (l *list) put(key statebackend.Key, ns []byte, ends []int) {
	l.rows = l.rows[:0]
	from := 0
	for _, end := range ends {
		l.rows = append(l.rows, l.mem[from:end:end])
		from = end
	}
	l.in.Put(key, ns, l.rows)
}

// rewrite removes what has expired from a list and stamps what has to be. A read stamps everything if reads count.
func (l *list) rewrite(key statebackend.Key, ns []byte, now int64, read bool) {
	l.mem = l.mem[:0]
	var ends []int
	var gone int64
	changed := false
	l.in.Each(key, ns, func(e []byte) bool {
		stamp := stampOf(e)
		if l.expired(stamp, now) {
			gone++
			return true
		}
		if l.stale(stamp, now) && (read || stamp == Unknown) {
			stamp, changed = now, true
		}
		l.mem = append(binary.LittleEndian.AppendUint64(l.mem, uint64(stamp)), e[StampBytes:]...)
		ends = append(ends, len(l.mem))
		return true
	})
	if gone > 0 || changed {
		l.count(gone)
		l.put(key, ns, ends)
	}
}

func (l *list) Each(key statebackend.Key, ns []byte, f func(element []byte) bool) {
	l.visit(key, ns, true, f)
}

func (l *list) visit(key statebackend.Key, ns []byte, read bool, f func(element []byte) bool) {
	now := l.begin()
	work := false
	l.in.Each(key, ns, func(e []byte) bool {
		stamp := stampOf(e)
		work = work || l.due(stamp, now) || read && l.stale(stamp, now)
		return l.hidden(stamp, now) || f(e[StampBytes:])
	})
	if work {
		l.rewrite(key, ns, now, read)
	}
}

func (l *list) Count(key statebackend.Key, ns []byte) (n int) {
	l.visit(key, ns, false, func([]byte) bool { n++; return true })
	return n
}

// countExpired counts what has expired of a list that is about to go, and reports whether an access saw any of it.
func (l *list) countExpired(key statebackend.Key, ns []byte, now int64) (seen bool) {
	l.in.Each(key, ns, func(e []byte) bool {
		if l.expired(stampOf(e), now) {
			l.count(1)
		}
		seen = seen || !l.hidden(stampOf(e), now)
		return true
	})
	return seen
}

func (l *list) Clear(key statebackend.Key, ns []byte) bool {
	seen := l.countExpired(key, ns, l.begin())
	l.in.Clear(key, ns)
	return seen
}

func (l *list) All(f func(key statebackend.Key, ns, element []byte) bool) {
	now := l.now()
	l.in.All(func(key statebackend.Key, ns, e []byte) bool {
		return l.hidden(stampOf(e), now) || f(key, ns, e[StampBytes:])
	})
}

// Len visits everything.
func (l *list) Len() (n int) {
	var last struct {
		hash    uint64
		key, ns string
	}
	l.All(func(k statebackend.Key, ns, _ []byte) bool {
		if n == 0 || last.hash != k.Hash || last.key != string(k.Bytes) || last.ns != string(ns) {
			n++
			last.hash, last.key, last.ns = k.Hash, string(k.Bytes), string(ns)
		}
		return true
	})
	return n
}
