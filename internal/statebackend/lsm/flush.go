package lsm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/statebackend"
)

// writer writes dirty rows in the order of their keys. It keeps its memory.
type writer struct {
	order []place64
}

// place64 orders a row by the first ten bytes of its key; at is its place in the list.
type place64 struct {
	hash  uint64
	state uint16
	at    uint32
}

const batchRows = 1024

// write writes the rows of list, and notes them in log, which may be nil.
func (w *writer) write(db *pebble.DB, data [][]byte, list []dirtyRow, log *changeLog) error {
	cellOf := func(d *dirtyRow) []byte { return data[d.at>>blockUnitBits][int(d.at&(1<<blockUnitBits-1))*unit:] }
	w.order = slices.Grow(w.order[:0], len(list))
	for i := range list {
		key := cellOf(&list[i])
		w.order = append(w.order, place64{binary.BigEndian.Uint64(key[stateBytes:]), binary.BigEndian.Uint16(key), uint32(i)})
	}
	slices.SortFunc(w.order, func(a, b place64) int {
		if c := cmp.Or(cmp.Compare(a.state, b.state), cmp.Compare(a.hash, b.hash)); c != 0 {
			return c
		}
		x, y := &list[a.at], &list[b.at]
		return bytes.Compare(cellOf(x)[:x.key], cellOf(y)[:y.key])
	})
	for len(w.order) > 0 {
		n := min(batchRows, len(w.order))
		b := db.NewBatch()
		for _, o := range w.order[:n] {
			d := &list[o.at]
			cell := cellOf(d)
			log.add(cell[:d.key], false)
			var err error
			if d.dead {
				err = b.Delete(cell[:d.key], nil)
			} else {
				from := valueAt(d.key)
				err = b.Set(cell[:d.key], cell[from:from+d.val], nil)
			}
			if err != nil {
				return errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, "state store", "cannot be written")
			}
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			return errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, "state store", "cannot be written")
		}
		w.order = w.order[n:]
	}
	return nil
}

// flush is the part of a cut that was still in memory. Its list and the bytes that this names do not change until it is
// done. run may be called from any goroutine.
type flush struct {
	db    *pebble.DB
	fail  *failure
	epoch uint32
	done  atomic.Bool
	held  []place      // pieces that the task has replaced meanwhile; the task's
	logs  []*changeLog // of this interval and of earlier ones, oldest first

	mu     sync.Mutex
	before *flush // must be written first
	list   []dirtyRow
	data   [][]byte
	log    *changeLog // of the interval that the cut has ended; nil if nobody asks
	users  int        // parts of the cut that were not released
	snap   *pebble.Snapshot
}

// run writes what is to be written and takes the snapshot, unless that was done before.
func (f *flush) run() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done.Load() {
		return
	}
	if f.before != nil {
		f.before.run()
		f.before = nil
	}
	if !f.fail.is.Load() {
		var w writer
		f.fail.set(w.write(f.db, f.data, f.list, f.log))
		if f.users > 0 {
			f.snap = f.db.NewSnapshot()
		}
	}
	f.log.leave()
	f.list, f.data, f.log = nil, nil, nil
	f.done.Store(true)
}

// leave is called once for each part, and reports whether it was the last.
func (f *flush) leave() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users--
	if f.users > 0 {
		return false
	}
	leaveAll(f.logs)
	if f.snap != nil {
		_ = f.snap.Close()
		f.snap = nil
	}
	return true
}

// Cut implements statebackend.Cutter.
func (b *Backend) Cut() ([]statebackend.Part, error) {
	if err := b.Err(); err != nil {
		return nil, err
	}
	if len(b.states) == 0 {
		return nil, nil
	}
	r := b.rows
	r.settle()
	f := &flush{db: r.db, fail: r.fail, epoch: r.epoch, list: r.dirty, data: r.mem.data, users: len(b.states)}
	if n := len(r.pending); n > 0 {
		f.before = r.pending[n-1]
	}
	r.pending = append(r.pending, f)
	r.dirty = nil
	r.epoch++
	t := &r.track
	t.cut(f, b.states)
	b.life.hold()
	var parts []statebackend.Part
	for i := range b.states {
		s := &b.states[i]
		if s.m.changed || s.m.mark == 0 {
			s.m.changed, s.m.mark = false, t.cuts
		}
		parts = append(parts, statebackend.Part{State: statebackend.StateOf(s.d), Data: &frozen{f: f, life: b.life, kind: s.d.Kind, width: s.d.Width, l: *s.l,
			number: t.cuts, mark: s.m.mark, tracked: t.on, base: t.base, gather: t.gather, shared: s.m.marksShared}})
	}
	return parts, nil
}

// frozen is one state of a cut.
type frozen struct {
	f     *flush
	life  *life
	kind  statebackend.Kind
	width int
	l     layout
	// number is that of the cut; for mark, tracked and base see marks and tracking.
	number, mark, base uint64
	gather             int64
	tracked            bool
	shared             *marksShared
	iter               *pebble.Iterator
	released           bool
}

var (
	_ statebackend.Ordered  = (*frozen)(nil)
	_ statebackend.Fallible = (*frozen)(nil)
	_ statebackend.Cutter   = (*Backend)(nil)
)

// Ordered implements statebackend.Ordered.
func (z *frozen) Ordered() {}

// Err implements statebackend.Fallible.
func (z *frozen) Err() error { return z.f.fail.get() }

// Each implements statebackend.Frozen.
func (z *frozen) Each(groups keygroup.Range, f statebackend.Visit) {
	groups = groups.Intersect(z.l.groups)
	if z.released || groups.Len() == 0 {
		return
	}
	z.f.run()
	if z.Err() != nil {
		return
	}
	from, to := z.l.bounds(groups)
	if z.iter == nil {
		iter, err := z.f.snap.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
		if err != nil {
			z.fail(err)
			return
		}
		z.iter = iter
	} else {
		z.iter.SetBounds(from, to)
	}
	if err := visit(z.iter, &z.l, z.kind, z.width, f); err != nil {
		z.fail(err)
	}
}

func (z *frozen) fail(err error) {
	z.f.fail.set(errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, "state "+z.l.name, "a cut cannot be read"))
}

// Release implements statebackend.Frozen.
func (z *frozen) Release() {
	if z.released {
		return
	}
	z.released = true
	if z.iter != nil {
		_ = z.iter.Close()
		z.iter = nil
	}
	if z.f.leave() {
		_ = z.life.leave()
	}
}

// visit shows the units in an iterator's rows. Rows of a list come with the tail last, so in order.
func visit(it *pebble.Iterator, l *layout, kind statebackend.Kind, width int, f statebackend.Visit) error {
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if !show(it.Key(), value, l, kind, width, f) {
			return nil
		}
	}
	return it.Error()
}

// show calls f with the units in a row, and reports whether it wants more.
func show(row, value []byte, l *layout, kind statebackend.Kind, width int, f statebackend.Visit) bool {
	key, ns, rest := l.split(row)
	switch kind {
	case statebackend.KindList:
		if binary.BigEndian.Uint32(rest) == tailRow {
			value = value[tailHead:]
		}
		return eachElement(value, width, func(e []byte) bool { return f(key, ns, nil, e) })
	case statebackend.KindMap:
		return f(key, ns, rest, value)
	}
	return f(key, ns, nil, value)
}
