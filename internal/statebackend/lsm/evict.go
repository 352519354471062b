package lsm

import "math/bits"

const (
	evictScan = 1 << 14 // rows that one call looks at
	evictRows = 512     // dirty rows that one call writes
)

// makeRoom keeps the cache within its budget. It may drop any row that is not held, so it is called before an access looks
// for its row.
func (r *rows) makeRoom() {
	limit := r.limit()
	if b := r.bytes(); b <= limit || b <= r.retry {
		return
	}
	r.settle()
	r.evict(limit)
	// While a cut waits to be written the task cannot write, and drops only what is clean. When that is not enough it
	// does the work of whoever reads the cut.
	if len(r.pending) > 0 && r.bytes() > limit+limit/4 {
		r.finish()
		r.evict(limit)
	}
	r.retry = 0
	if len(r.pending) > 0 {
		r.retry = r.bytes() + limit/64
	}
}

// residents decides who stays in the cache (S3-FIFO): a row is young first. The young are a queue of a sixteenth of all; one that is
// not used again before it comes out of it is evicted, and remembered as a ghost. The others, and ghosts that come again,
// become old: the clock hand goes round them, and lets one that was used go by, up to usesMost times. So rows that are used once
// do not drive out those that are used again and again.
type residents struct {
	hand          rowID // on the old ones
	first, last   rowID // of the queue of young ones
	young         int
	latest        rowID    // used last
	ghosts        []uint32 // by hash: 12 bits of it, and 20 of when it was evicted
	evicted, tick uint32
}

const (
	usesMost     = 3
	youngPart    = 16
	ghostTicks   = 8 // in which as many rows are evicted as there are places for ghosts
	ghostAgeBits = 20
)

// used counts a use. Those in a row are one: reading a value and writing it back.
func (r *rows) used(id rowID, w *row) {
	if id != r.latest {
		r.latest = id
		if w.uses < usesMost {
			w.uses++
		}
	}
}

// enter takes a new row into the queue, unless it is a ghost.
func (r *rows) enter(id rowID, w *row) {
	r.latest = id
	if len(r.ghosts) > 0 {
		g := &r.ghosts[w.hash&uint32(len(r.ghosts)-1)]
		if *g != 0 && *g>>ghostAgeBits == w.hash>>ghostAgeBits && (r.tick-*g)<<(32-ghostAgeBits)>>(32-ghostAgeBits) <= ghostTicks {
			*g = 0
			return
		}
	}
	r.queue(id, w)
}

// queue puts a row at the end of the queue.
func (r *rows) queue(id rowID, w *row) {
	w.flags |= rowYoung
	w.later = 0
	if r.young == 0 {
		r.first = id
	} else {
		r.row(r.last).later = id
	}
	r.last = id
	r.young++
}

// remember makes a ghost of a young row that is about to be evicted.
func (r *rows) remember(w *row) {
	if 2*len(r.ghosts) < r.count {
		r.ghosts, r.tick = make([]uint32, 1<<bits.Len(uint(r.count)-1)), 1
	}
	r.ghosts[w.hash&uint32(len(r.ghosts)-1)] = w.hash>>ghostAgeBits<<ghostAgeBits | r.tick&(1<<ghostAgeBits-1)
	if r.evicted++; r.evicted >= uint32(len(r.ghosts)/ghostTicks) {
		r.evicted = 0
		r.tick++
	}
}

// candidate looks at one row, and returns it if it is to be evicted, else 0.
func (r *rows) candidate() rowID {
	if r.young*youngPart > r.count {
		return r.oldest()
	}
	r.hand++
	if uint32(r.hand) > r.made {
		r.hand = 1
	}
	w := r.row(r.hand)
	switch {
	case w.flags&rowInUse == 0, w.flags&rowYoung != 0, !r.evictable(r.hand, w):
		return 0
	case w.uses > 0:
		w.uses--
		return 0
	}
	return r.hand
}

// oldest takes the first row out of the queue, and returns it if it is to be evicted, else 0.
func (r *rows) oldest() rowID {
	id := r.first
	w := r.row(id)
	r.first = w.later
	r.young--
	w.flags &^= rowYoung
	switch {
	case w.flags&rowInUse == 0: // was dropped meanwhile
		*w = row{next: r.unused}
		r.unused = id
		return 0
	case w.uses > 0:
		w.uses = 0
		return 0
	case !r.evictable(id, w):
		r.queue(id, w)
		return 0
	}
	r.remember(w)
	return id
}

// evictable says whether a row may go. A dirty one may not while a cut waits to be written.
func (r *rows) evictable(id rowID, w *row) bool {
	return w.flags&(rowHeld|rowVictim) == 0 && (w.flags&rowHead == 0 || r.firstOf(id) == 0) && (len(r.pending) == 0 || !r.isDirty(w))
}

// evict drops rows until the cache is a little below limit or enough is done for one call.
func (r *rows) evict(limit int64) {
	r.victims = r.victims[:0]
	over := r.bytes() - (limit - limit/512)
	for scanned := 0; over > 0 && scanned < evictScan && len(r.victims) < evictRows && r.count > 0; scanned++ {
		id := r.candidate()
		if id == 0 {
			continue
		}
		w := r.row(id)
		over -= int64(r.mem.room(w.at)) + rowOverhead
		if r.isDirty(w) {
			w.flags |= rowVictim
			r.victims = append(r.victims, r.dirty[w.dirtyAt-1])
		} else {
			r.drop(id)
		}
	}
	if len(r.victims) == 0 {
		return
	}
	if err := r.write(r.victims); err != nil {
		return
	}
	for _, v := range r.victims {
		r.wroteOne(v.id)
		r.drop(v.id)
	}
}

// write puts dirty rows into the database. They remain dirty. No cut may be pending.
func (r *rows) write(list []dirtyRow) error {
	r.written++
	err := r.writer.write(r.db, r.mem.data, list, r.track.log)
	if err != nil {
		r.fail.set(err)
		return err
	}
	return r.fail.get()
}

// writeAll puts all dirty rows into the database, which then holds everything.
func (r *rows) writeAll() {
	r.finish()
	if len(r.dirty) == 0 || r.fail.is.Load() || r.write(r.dirty) != nil {
		return
	}
	r.dirty = r.dirty[:0]
	r.flushed = r.epoch
	r.epoch++
}

// settle takes note of cuts that were written meanwhile.
func (r *rows) settle() {
	for len(r.pending) > 0 && r.pending[0].done.Load() {
		f := r.pending[0]
		r.flushed = f.epoch
		r.released = append(r.released, f.held...)
		r.pending = r.pending[1:]
		r.written++
	}
}

// finish writes the cuts that are pending.
func (r *rows) finish() {
	r.settle()
	if n := len(r.pending); n > 0 {
		r.pending[n-1].run()
		r.settle()
	}
}
