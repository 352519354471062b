package lsm

import (
	"bytes"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/errs"
)

type flag = atomic.Bool

// rowID is the number of a cached row; 0 is none.
type rowID uint32

// row is what is known of a cached row. Its key and its value, which begins at the next multiple of 8, lie at its place.
type row struct {
	hash uint32 // the low half
	at   place
	key  uint32 // bytes
	val  uint32 // bytes
	next rowID  // in the bucket, or of the unused ones
	// dirtyAt and epoch name the row's entry, from 1, in the list of dirty rows of an epoch; see rows.dirty.
	dirtyAt, epoch uint32
	later          rowID // the next one in the queue of young rows
	flags          uint8
	uses           uint8 // since an eviction came by, up to usesMost
}

// links join the dirty rows of one map, from its head and back to it; see mapState.
type links struct {
	head, before, behind rowID
}

const (
	rowYoung   = 1 << iota // in the queue of young rows; see evict.go
	rowDead                // there is no such row, whatever the database says
	rowFresh               // the database has no such row
	rowHeld                // borrowed from a state, see rows.hold
	rowHead                // the head of a map's dirty rows: in no database
	rowChained             // in such a chain
	rowInUse
	rowVictim // about to be dropped, when it was written
)

// rowBare marks a head whose map has no row in the database, as long as dirtyAt is the current epoch. (It shares a bit with
// rowDead, which a head never is.)
const rowBare = rowDead

// dirtyRow is an entry of the list of dirty rows: where the bytes are, for whoever writes them.
type dirtyRow struct {
	id   rowID // 0 when a later entry took over
	at   place
	key  uint32
	val  uint32
	dead bool
}

const (
	chunkRows    = 1 << 12
	chunkBuckets = 1 << 14
	// rowOverhead is the memory of a row beside its piece: the row itself, its bucket, its entries in the list of dirty rows
	// and among the ghosts.
	rowOverhead = 64
)

// rows is the write-back cache: a hash table of rows over a database. It belongs to the task's goroutine.
//
// Lookup is by linear hashing, so that the table grows by a bucket at a time; rows, buckets and pieces are in chunks that
// never move, so that nothing is copied at once.
type rows struct {
	db    *pebble.DB
	fail  *failure
	limit func() int64

	track   tracking
	mem     cells
	chunks  []*[chunkRows]row
	links   []*[chunkRows]links // of the same rows; nil for chunks without rows of maps
	made    uint32              // rows that were ever made, numbered from 1
	unused  rowID
	count   int
	buckets []*[chunkBuckets]rowID
	nbucket uint32 // buckets in use
	mask    uint32 // the least power of two that is not below nbucket, less 1

	// dirty lists the rows that changed since the last cut. A row is dirty if its epoch is above flushed: either it is in
	// this list (its epoch is the current one), or in one that a cut took and nobody has written yet, and then its bytes
	// must not change.
	dirty          []dirtyRow
	epoch, flushed uint32
	pending        []*flush // in order
	released       []place  // pieces that a list used which has been written
	residents
	retry   int64 // size below which evicting is not tried again
	victims []dirtyRow
	writer  writer
	written uint64 // counts batches, so that an iterator knows whether it is still right
}

func newRows(db *pebble.DB, fail *failure, limit func() int64) *rows {
	return &rows{db: db, fail: fail, limit: limit, epoch: 1}
}

func (r *rows) row(id rowID) *row {
	return &r.chunks[id/chunkRows][id%chunkRows]
}

func (r *rows) keyOf(w *row) []byte { return r.mem.at(w.at)[:w.key:w.key] }

func (r *rows) valueOf(w *row) []byte {
	from := valueAt(w.key)
	return r.mem.at(w.at)[from : from+w.val : from+w.val]
}

func valueAt(key uint32) uint32 { return (key + 7) &^ 7 }

func (r *rows) bytes() int64 { return r.mem.used + int64(r.count)*rowOverhead }

// bucket returns the place of a hash's chain.
func (r *rows) bucket(hash uint64) *rowID {
	i := uint32(hash) & r.mask
	if i >= r.nbucket {
		i -= (r.mask + 1) / 2
	}
	return &r.buckets[i/chunkBuckets][i%chunkBuckets]
}

// grow adds a bucket, which takes over its part of another's chain.
func (r *rows) grow() {
	n := r.nbucket
	if n%chunkBuckets == 0 {
		r.buckets = append(r.buckets, new([chunkBuckets]rowID))
	}
	if n == 0 {
		r.nbucket = 1
		return
	}
	if n > r.mask {
		r.mask = 2*r.mask + 1
	}
	from := r.bucket(uint64(n))
	r.nbucket++
	id := *from
	*from = 0
	for id != 0 {
		w := r.row(id)
		next := w.next
		into := r.bucket(uint64(w.hash))
		w.next, *into = *into, id
		id = next
	}
}

// find returns a cached row, or 0.
func (r *rows) find(hash uint64, key []byte) rowID {
	if r.nbucket == 0 {
		return 0
	}
	for id := *r.bucket(hash); id != 0; {
		w := r.row(id)
		if w.hash == uint32(hash) && bytes.Equal(r.keyOf(w), key) {
			r.used(id, w)
			return id
		}
		id = w.next
	}
	return 0
}

// add makes a row with room for a value of val bytes. It is clean.
func (r *rows) add(hash uint64, key []byte, val int) rowID {
	if r.count >= int(r.nbucket) {
		r.grow()
	}
	id := r.unused
	if id != 0 {
		r.unused = r.row(id).next
	} else {
		r.made++
		id = rowID(r.made)
		if int(id/chunkRows) >= len(r.chunks) {
			r.chunks, r.links = append(r.chunks, new([chunkRows]row)), append(r.links, nil)
		}
	}
	r.count++
	b := r.bucket(hash)
	w := r.row(id)
	*w = row{hash: uint32(hash), key: uint32(len(key)), next: *b, flags: rowInUse}
	*b = id
	r.enter(id, w)
	w.at = r.alloc(w.key, val)
	w.val = uint32(val)
	copy(r.mem.at(w.at), key)
	return id
}

func (r *rows) alloc(key uint32, val int) place {
	for range min(2, len(r.released)) {
		last := len(r.released) - 1
		r.mem.release(r.released[last])
		r.released = r.released[:last]
	}
	return r.mem.alloc(int(valueAt(key)) + val)
}

// drop forgets a clean row, or one whose change is of no matter any more.
func (r *rows) drop(id rowID) {
	w := r.row(id)
	r.unchain(id, w)
	r.undirty(id, w)
	for b := r.bucket(uint64(w.hash)); ; b = &r.row(*b).next {
		if *b == id {
			*b = w.next
			break
		}
	}
	r.mem.release(w.at)
	r.count--
	if w.flags&rowYoung != 0 { // the queue still has it
		*w = row{later: w.later, flags: rowYoung}
		return
	}
	*w = row{next: r.unused}
	r.unused = id
}

func (r *rows) isDirty(w *row) bool { return w.epoch > r.flushed }

// pinned says that a cut that is not yet written has the bytes of w.
func (r *rows) pinned(w *row) bool { return w.epoch > r.flushed && w.epoch != r.epoch }

// undirty takes a row out of the current list of dirty rows.
func (r *rows) undirty(id rowID, w *row) {
	if w.epoch != r.epoch || w.dirtyAt == 0 {
		return
	}
	last := len(r.dirty) - 1
	if at := int(w.dirtyAt) - 1; at != last {
		r.dirty[at] = r.dirty[last]
		r.row(r.dirty[at].id).dirtyAt = w.dirtyAt
	}
	r.dirty = r.dirty[:last]
	w.epoch, w.dirtyAt = 0, 0
}

// load returns the row of a key, from the cache or the database; a row that does not exist comes as a dead one.
func (r *rows) load(key []byte) rowID {
	hash := xxh3.Hash(key)
	if id := r.find(hash, key); id != 0 {
		return id
	}
	b, closer, err := r.db.Get(key)
	if err != nil {
		if err != pebble.ErrNotFound {
			r.failed(err)
		}
		id := r.add(hash, key, 0)
		r.row(id).flags |= rowDead
		return id
	}
	id := r.add(hash, key, len(b))
	copy(r.valueOf(r.row(id)), b)
	_ = closer.Close()
	return id
}

// blind returns the row of a key that is about to be overwritten, without asking the database.
func (r *rows) blind(key []byte, val int) rowID {
	hash := xxh3.Hash(key)
	if id := r.find(hash, key); id != 0 {
		return id
	}
	return r.add(hash, key, val)
}

// change makes a row dirty, alive and ready for a value of val bytes, of which the first keep bytes stay what they were.
func (r *rows) change(id rowID, val, keep int) []byte {
	w := r.row(id)
	pinned := r.pinned(w)
	switch {
	case !r.isDirty(w) && w.flags&rowDead != 0:
		w.flags |= rowFresh
	case w.epoch != r.epoch:
		w.flags &^= rowFresh
	}
	if need := int(valueAt(w.key)) + val; pinned || need > r.mem.room(w.at) {
		slack := 0
		if val > int(w.val) && w.val > 0 {
			slack = val / 2
		}
		old := w.at
		w.at = r.alloc(w.key, val+slack)
		copy(r.mem.at(w.at), r.mem.at(old)[:w.key])
		from := valueAt(w.key)
		copy(r.mem.at(w.at)[from:], r.mem.at(old)[from:int(from)+min(keep, int(w.val))])
		if pinned {
			r.pending[len(r.pending)-1].held = append(r.pending[len(r.pending)-1].held, old)
		} else {
			r.mem.release(old)
		}
	}
	w.val = uint32(val)
	w.flags &^= rowDead
	r.mark(id, w)
	return r.valueOf(w)
}

// kill makes a row dead. What it held may stay where it is.
func (r *rows) kill(id rowID) {
	w := r.row(id)
	if w.flags&rowDead != 0 {
		return
	}
	if w.epoch == r.epoch && w.flags&rowFresh != 0 {
		// The database knows nothing of it, and no cut.
		r.unchain(id, w)
		r.undirty(id, w)
		w.flags |= rowDead
		return
	}
	r.change(id, 0, 0)
	w.flags |= rowDead
	r.dirty[w.dirtyAt-1].dead = true
}

// mark enters a row in the list of dirty rows, or brings its entry up to date.
func (r *rows) mark(id rowID, w *row) {
	if w.epoch != r.epoch || w.dirtyAt == 0 {
		r.dirty = append(r.dirty, dirtyRow{})
		w.epoch, w.dirtyAt = r.epoch, uint32(len(r.dirty))
	}
	r.dirty[w.dirtyAt-1] = dirtyRow{id: id, at: w.at, key: w.key, val: w.val, dead: w.flags&rowDead != 0}
}

// linksOf returns the links of a row of a map.
func (r *rows) linksOf(id rowID) *links {
	c := &r.links[id/chunkRows]
	if *c == nil {
		*c = new([chunkRows]links)
	}
	return &(*c)[id%chunkRows]
}

// firstOf returns the first row of the chain of a head.
func (r *rows) firstOf(head rowID) rowID { return r.linksOf(head).behind }

// chain links a dirty row behind the head of its map.
func (r *rows) chain(head, id rowID) {
	w := r.row(id)
	if w.flags&rowChained != 0 {
		return
	}
	h := r.linksOf(head)
	*r.linksOf(id) = links{head: head, before: head, behind: h.behind}
	if h.behind != 0 {
		r.linksOf(h.behind).before = id
	}
	h.behind = id
	w.flags |= rowChained
}

func (r *rows) unchain(id rowID, w *row) {
	if w.flags&rowChained == 0 {
		return
	}
	l := r.linksOf(id)
	r.linksOf(l.before).behind = l.behind
	if l.behind != 0 {
		r.linksOf(l.behind).before = l.before
	}
	*l = links{}
	w.flags &^= rowChained
}

// bare says whether the database is known to have no row of a map.
func (r *rows) bare(head rowID) bool {
	h := r.row(head)
	return h.flags&rowBare != 0 && h.dirtyAt == r.epoch
}

// makeBare notes that the database has no row of a map, so that its dead rows need not be written.
func (r *rows) makeBare(head rowID) {
	h := r.row(head)
	h.flags |= rowBare
	h.dirtyAt = r.epoch
	for id := r.firstOf(head); id != 0; {
		w := r.row(id)
		next := r.linksOf(id).behind
		if w.flags&rowDead != 0 {
			r.unchain(id, w)
			r.undirty(id, w)
		} else {
			w.flags |= rowFresh
		}
		id = next
	}
}

// wroteOne notes that a dirty row was written and is clean now.
func (r *rows) wroteOne(id rowID) {
	w := r.row(id)
	if w.flags&rowChained != 0 {
		r.row(r.linksOf(id).head).flags &^= rowBare
		r.unchain(id, w)
	}
	r.undirty(id, w)
}

// failed notes an error of the database.
func (r *rows) failed(err error) {
	r.fail.set(errs.Wrap(err, errs.CodeIO, errs.ClassFailTask, "state store", "cannot be read"))
}
