package lsm

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

// evict lets the clock hand go round until the cache is a little below limit or enough is done for one call.
func (r *rows) evict(limit int64) {
	r.victims = r.victims[:0]
	over := r.bytes() - (limit - limit/512)
	for scanned := 0; over > 0 && scanned < evictScan && len(r.victims) < evictRows; scanned++ {
		r.hand++
		if uint32(r.hand) > r.made {
			r.hand = 1
		}
		w := r.row(r.hand)
		switch {
		case w.flags&rowInUse == 0, w.flags&rowHeld != 0, w.flags&rowHead != 0 && w.behind != 0:
		case w.flags&rowUsed != 0:
			w.flags &^= rowUsed
		case !r.isDirty(w):
			over -= int64(r.mem.room(w.at)) + rowOverhead
			r.drop(r.hand)
		case len(r.pending) == 0:
			over -= int64(r.mem.room(w.at)) + rowOverhead
			r.victims = append(r.victims, r.dirty[w.dirtyAt-1])
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
	err := r.writer.write(r.db, r.mem.data, list)
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
