package timer

import (
	"cmp"
	"math"
	"slices"

	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/statebackend/paged"
)

// run is the bucket that is firing, or that has fired in part: its timers in order, and the overlay of what was registered
// and deleted since at its time or before.
type run struct {
	active bool
	number int64

	log     chain
	born    uint32 // as that of the bucket
	list    listing
	entries []entry
	shared  bool // a cut has list and entries, too
	pos     int  // entries before it have fired
	touched int  // entries before it have been touched
	sum     byte

	overlay struct {
		log  chain
		born uint32
		list listing
		heap []pending // records in the order of record.compare, then of age
	}
}

// entriesKept is how many entries a run that has ended keeps memory for.
const entriesKept = 1 << 20

// pending is a record of the overlay with what nearly always decides its order.
type pending struct {
	t    int64
	hash uint64
	ref  recordRef
}

// start takes the log of a bucket over.
func (r *run) start(s *Timers, number int64, b *bucket) {
	r.active, r.number, r.pos, r.touched = true, number, 0, 0
	r.log, r.born = b.log, b.born
	r.list.open(&s.slab, r.log)
	es := r.list.entries(slices.Grow(r.entries[:0], int(b.count)))
	if b.dirty != 0 {
		s.scratch[1] = grown(s.scratch[1], len(es))
		r.list.sortEntries(es, s.scratch[1])
		es = r.list.resolve(es)
	}
	r.entries = es
}

// end frees a run of which nothing is left.
func (r *run) end(s *Timers) {
	s.drop(&r.log, r.born)
	r.recycle(s)
	r.active = false
	// A rare large bucket must not hold its memory for ever.
	if r.shared || cap(r.entries) > entriesKept {
		r.entries = nil
	}
	if r.shared {
		r.list.chunks, r.shared = nil, false
	}
}

// freeze returns the run as it is now, to be read by another goroutine.
func (r *run) freeze() *run {
	r.shared = true
	c := *r
	c.overlay.list.chunks, c.overlay.heap = slices.Clone(r.overlay.list.chunks), slices.Clone(r.overlay.heap)
	return &c
}

// recycle frees the log of an empty overlay. No record of it may be in use.
func (r *run) recycle(s *Timers) {
	if o := &r.overlay; len(o.heap) == 0 && o.log.head != 0 {
		s.drop(&o.log, o.born)
		o.list.chunks = o.list.chunks[:0]
	}
}

// add appends a record to the overlay.
func (r *run) add(s *Timers, key statebackend.Key, ns []byte, t int64, op uint32) {
	o := &r.overlay
	tail := o.log.tail
	if tail == 0 {
		o.born = s.cuts
	}
	n := recordBytes(key.Bytes, ns)
	writeRecord(s.slab.room(&o.log, n), key, ns, t, op)
	chunk := s.slab.chunk(o.log.tail)
	if o.log.tail != tail {
		o.list.chunks = append(o.list.chunks, chunk)
	}
	off := int(o.log.used) - n
	ref := refOf(len(o.list.chunks)-1, off, record(chunk[off:]))
	r.push(pending{t, key.Hash, ref})
}

// sample keeps the set of sampled timers for an operation on the overlay.
func (r *run) sample(set *paged.Table, f uint64, op uint32) {
	if op == 0 {
		set.Upsert64(f<<sampleBits, f)
	} else {
		set.Delete64(f<<sampleBits, f)
	}
}

// next returns the first timer if its time is <= t, and removes it if take is set. The record is valid until recycle.
func (r *run) next(t int64, take bool) record {
	o := &r.overlay
	for {
		var head record
		if r.pos < len(r.entries) {
			if r.pos >= r.touched {
				r.touch()
			}
			head = r.list.record(r.entries[r.pos].ref)
		}
		if len(o.heap) == 0 {
			if head == nil || head.time() > t {
				return nil
			}
			if take {
				r.pos++
			}
			return head
		}
		first := o.list.record(o.heap[0].ref)
		order := -1
		if head != nil {
			order = first.compare(head)
		}
		if order > 0 {
			if head.time() > t {
				return nil
			}
			if take {
				r.pos++
			}
			return head
		}
		if first.time() > t {
			return nil
		}
		if order == 0 {
			r.pos++ // the overlay is younger
		}
		if last := r.youngest(take); !last.deletes() {
			return last
		}
	}
}

// touchAhead is how many records are touched together: enough to keep a core's misses in flight.
const touchAhead = 32

// touch reads a byte of each of the next records. They lie in no order, and one after the other each would be a miss.
func (r *run) touch() {
	end := min(r.pos+touchAhead, len(r.entries))
	for _, e := range r.entries[r.pos:end] {
		r.sum += r.list.record(e.ref)[0]
	}
	r.touched = end
}

// youngest pops all records about the first timer of the overlay and returns the youngest. Unless take is set, that one
// stays if it registers.
func (r *run) youngest(take bool) record {
	o := &r.overlay
	p := r.pop()
	last := o.list.record(p.ref)
	for len(o.heap) > 0 && o.list.record(o.heap[0].ref).compare(last) == 0 {
		p = r.pop()
		last = o.list.record(p.ref)
	}
	if !take && !last.deletes() {
		r.push(p)
	}
	return last
}

// rest returns the timers that have not fired, in order, and changes nothing.
func (r *run) rest() []record {
	c := *r
	c.overlay.heap = slices.Clone(r.overlay.heap)
	var out []record
	for x := c.next(math.MaxInt64, true); x != nil; x = c.next(math.MaxInt64, true) {
		out = append(out, x)
	}
	return out
}

func (r *run) less(a, b pending) bool {
	if a.t != b.t {
		return a.t < b.t
	}
	if a.hash != b.hash {
		return a.hash < b.hash
	}
	if c := r.overlay.list.record(a.ref).compare(r.overlay.list.record(b.ref)); c != 0 {
		return c < 0
	}
	return cmp.Less(a.ref, b.ref)
}

func (r *run) push(p pending) {
	o := &r.overlay
	o.heap = append(o.heap, p)
	i := len(o.heap) - 1
	for i > 0 {
		up := (i - 1) / arity
		if !r.less(p, o.heap[up]) {
			break
		}
		o.heap[i] = o.heap[up]
		i = up
	}
	o.heap[i] = p
}

func (r *run) pop() pending {
	h := r.overlay.heap
	top, p := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	r.overlay.heap = h
	if len(h) == 0 {
		return top
	}
	i := 0
	for {
		least := arity*i + 1
		if least >= len(h) {
			break
		}
		for c := least + 1; c < min(arity*i+1+arity, len(h)); c++ {
			if r.less(h[c], h[least]) {
				least = c
			}
		}
		if !r.less(h[least], p) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = p
	return top
}
