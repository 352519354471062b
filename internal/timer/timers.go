package timer

import (
	"math"
	"slices"

	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// Fire is what happens when a timer is due. key and ns are borrowed for the call.
type Fire func(key statebackend.Key, ns []byte, t int64) error

// Timers is a set of timers. The zero value is not ready; use New.
type Timers struct {
	buckets *paged.Table // number -> bucket
	sample  *paged.Table // fingerprints of one registered timer of 64
	order   numbers
	slab    slab
	run     run
	firing  bool

	cuts  uint32    // taken so far
	open  []*frozen // cuts that have not been released, as far as is known
	limbo []limboed // by rising cut

	hot       *bucket // the bucket of hotNumber, which was used last
	hotNumber int64
	scratch   [2][]entry
}

// New returns an empty set. Memory of its tables comes from pool; nil is the pool of the process.
func New(pool *paged.Pool) *Timers {
	return &Timers{
		buckets: paged.New(paged.Config{KeyWidth: 8, ValueWidth: bucketBytes, Pool: pool}),
		sample:  paged.New(paged.Config{KeyWidth: 8, Pool: pool}),
	}
}

// Register adds the timer; if it is there already nothing changes. t may lie in the past: such a timer fires in the next
// Advance, or in the current one if called from a Fire.
func (s *Timers) Register(key statebackend.Key, ns []byte, t int64) { s.op(key, ns, t, 0) }

// Delete removes the timer; if it is not there nothing changes.
func (s *Timers) Delete(key statebackend.Key, ns []byte, t int64) { s.op(key, ns, t, deletes) }

func (s *Timers) op(key statebackend.Key, ns []byte, t int64, op uint32) {
	number := numberOf(t)
	if s.run.active && number <= s.run.number {
		s.run.add(s, key, ns, t, op)
		if f := fingerprint(key.Hash, ns, t); f>>(64-sampleBits) == 0 {
			s.run.sample(s.sample, f, op)
		}
		return
	}
	if op == deletes && s.lookup(number) == nil {
		return
	}
	s.append(number, key, ns, t, op)
}

// Advance fires every timer with a time <= t in the order that the package comment names, including those that fire
// registers. A timer is removed before it fires. Advance stops at the first error and returns it; what has not fired stays
// registered. fire may call every method but Advance and Close.
func (s *Timers) Advance(t int64, fire Fire) error {
	if s.firing {
		panic("timer: Advance called from a Fire")
	}
	s.firing = true
	defer func() { s.firing = false }()
	for s.load(t) {
		for {
			s.run.recycle(s)
			r := s.run.next(t, true)
			if r == nil {
				break
			}
			s.unsample(r)
			if err := fire(statebackend.Key{Hash: r.hash(), Bytes: r.key()}, r.ns(), r.time()); err != nil {
				return err
			}
		}
		if s.run.next(math.MaxInt64, false) != nil {
			return nil
		}
		s.run.end(s)
	}
	return nil
}

// unsample takes a timer that fires out of the sample.
func (s *Timers) unsample(r record) {
	if f := fingerprint(r.hash(), r.ns(), r.time()); f>>(64-sampleBits) == 0 {
		s.sample.Delete64(f<<sampleBits, f)
	}
}

// load makes the first bucket the run if there is none, and reports whether a timer at or before t is possible.
func (s *Timers) load(t int64) bool {
	if s.run.active {
		return true
	}
	for len(s.order) > 0 {
		number := s.order[0]
		if number > numberOf(t) {
			return false
		}
		s.order.pop()
		b := s.lookup(number)
		if b == nil {
			continue
		}
		s.run.start(s, number, b)
		s.removeBucket(number)
		return true
	}
	return false
}

// NextTime returns the time of the first timer, and whether there is one.
func (s *Timers) NextTime() (int64, bool) {
	if s.run.active {
		if r := s.run.next(math.MaxInt64, false); r != nil {
			return r.time(), true
		}
	}
	for len(s.order) > 0 {
		number := s.order[0]
		b := s.lookup(number)
		if b == nil {
			s.order.pop()
			continue
		}
		if b.dirty != 0 {
			b = s.compact(number)
		}
		if b.count > 0 {
			return b.min, true
		}
		s.removeBucket(number)
		s.order.pop()
	}
	return 0, false
}

// Len returns the number of timers. It resolves every log that has changed, so it is not for each row.
func (s *Timers) Len() int {
	n := 0
	if s.run.active {
		n = len(s.run.rest())
	}
	for _, number := range s.order {
		if b := s.lookup(number); b != nil {
			if b.dirty != 0 {
				b = s.compact(number)
			}
			n += int(b.count)
		}
	}
	return n
}

// All visits every timer in the order of firing until f returns false. f must not call s.
func (s *Timers) All(f func(key statebackend.Key, ns []byte, t int64) bool) {
	visit := func(r record) bool {
		return f(statebackend.Key{Hash: r.hash(), Bytes: r.key()}, r.ns(), r.time())
	}
	if s.run.active {
		for _, r := range s.run.rest() {
			if !visit(r) {
				return
			}
		}
	}
	var l listing
	for _, number := range slices.Sorted(slices.Values(s.order)) {
		b := s.lookup(number)
		if b == nil {
			continue
		}
		if b.dirty != 0 {
			b = s.compact(number)
		}
		l.open(&s.slab, b.log)
		for _, e := range l.entries(nil) {
			if !visit(l.record(e.ref)) {
				return
			}
		}
	}
}

// Bytes returns the memory in use.
func (s *Timers) Bytes() int64 {
	return s.buckets.Bytes() + s.sample.Bytes() + s.slab.bytes + int64(cap(s.order))*8 +
		int64(cap(s.scratch[0])+cap(s.scratch[1])+cap(s.run.entries))*16
}

// Close frees everything but what cuts hold, which are good until they are released. s must not be used afterwards.
func (s *Timers) Close() {
	s.buckets.Close()
	s.sample.Close()
	*s = Timers{buckets: s.buckets, sample: s.sample}
}
