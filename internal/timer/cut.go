package timer

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/planted"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// A cut freezes the table of the buckets, which says where every log is and how far it was written. Logs only grow, and what
// is dropped while a cut that may hold it has not been released waits in limbo, so no timer is copied. Sorting and resolving
// are done by whoever reads the cut.

// frozen is the timers at a cut.
type frozen struct {
	slab     slab // the blocks of then
	buckets  *paged.FrozenTable
	run      *run // nil if no bucket was firing
	number   uint32
	released atomic.Bool
	list     listing
	scratch  [2][]entry
}

// limboed is a dropped log that a cut up to the given one may hold.
type limboed struct {
	cut uint32
	log chain
}

// Cut returns the timers as they are now. It takes a moment for every few thousand buckets. It must not be called from a
// Fire.
func (s *Timers) Cut() (statebackend.Frozen, error) {
	if s.firing {
		panic("timer: Cut called from a Fire")
	}
	s.reap()
	f := &frozen{slab: slab{blocks: s.slab.blocks}, buckets: s.buckets.Cut()}
	s.hot = nil
	if s.run.active {
		f.run = s.run.freeze()
	}
	s.cuts++
	f.number = s.cuts
	s.open = append(s.open, f)
	return f, nil
}

// drop frees a log, or has it wait for the cuts that may hold it. born is the number of cuts when it began.
func (s *Timers) drop(c *chain, born uint32) {
	if len(s.open) > 0 {
		s.reap()
	}
	if len(s.open) == 0 || born == s.cuts {
		s.slab.drop(c)
		return
	}
	s.limbo = append(s.limbo, limboed{s.cuts, *c})
	*c = chain{}
}

// reap frees what waited for cuts that have been released.
func (s *Timers) reap() {
	n := 0
	for _, f := range s.open {
		if !f.released.Load() {
			s.open[n] = f
			n++
		}
	}
	if n == len(s.open) {
		return
	}
	clear(s.open[n:])
	s.open = s.open[:n]
	oldest := s.cuts + 1
	if n > 0 {
		oldest = s.open[0].number
	}
	n = 0
	for n < len(s.limbo) && s.limbo[n].cut < oldest {
		s.slab.drop(&s.limbo[n].log)
		n++
	}
	s.limbo = s.limbo[n:]
}

// Release implements statebackend.Frozen.
func (f *frozen) Release() {
	f.buckets.Release()
	f.released.Store(true)
}

// sortedMax bounds how many timers of one bucket are sorted at a time.
const sortedMax = 1 << 20

// Each implements statebackend.Frozen. The user key is the time, so that the order of bytes is that of times.
func (f *frozen) Each(groups keygroup.Range, visit statebackend.Visit) {
	var at [8]byte
	dropped := !planted.Is(planted.TimerDropped)
	each := func(r record) bool {
		if !dropped {
			dropped = true
			return true
		}
		binary.BigEndian.PutUint64(at[:], uint64(r.time())^1<<63)
		return visit(statebackend.Key{Hash: r.hash(), Bytes: r.key()}, r.ns(), at[:], nil)
	}
	if f.run != nil {
		for _, r := range f.run.rest() {
			if groups.ContainsHash(r.hash()) && !each(r) {
				return
			}
		}
	}
	f.buckets.Each(keygroup.All(), func(_ uint64, _, value []byte) bool {
		return f.log((*bucket)(unsafe.Pointer(unsafe.SliceData(value))), groups, each)
	})
}

// log visits the timers of one bucket.
func (f *frozen) log(b *bucket, groups keygroup.Range, visit func(record) bool) bool {
	f.list.open(&f.slab, b.log)
	parts := min(1+int(b.count/sortedMax), max(groups.Len(), 1))
	for i := range parts {
		part := keygroup.Range{
			From: groups.From + keygroup.Group(groups.Len()*i/parts),
			To:   groups.From + keygroup.Group(groups.Len()*(i+1)/parts),
		}
		for _, e := range f.resolved(part, b.dirty != 0) {
			if !visit(f.list.record(e.ref)) {
				return false
			}
		}
	}
	return true
}

// resolved returns the registered timers in groups of the log that is open.
func (f *frozen) resolved(groups keygroup.Range, dirty bool) []entry {
	l := &f.list
	es := l.entriesIn(f.scratch[0][:0], groups)
	f.scratch[0] = es
	if !dirty {
		return es
	}
	f.scratch[1] = grown(f.scratch[1], len(es))
	l.sortEntries(es, f.scratch[1])
	return l.resolve(es)
}
