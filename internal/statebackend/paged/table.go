package paged

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
)

const (
	tagBytes = 8
	// initialCells is small because windows open a table each, most of which stay small.
	initialCells = 8
)

// Config says what a table holds.
type Config struct {
	// KeyWidth is the size of every key in bytes, or 0 if keys vary. Width 8 has the fast path of the methods that end
	// in 64.
	KeyWidth int
	// ValueWidth is the size of every value in bytes; 0 is legal and makes the table a set.
	ValueWidth int
	// Blobs makes values vary in size: they are written by PutBytes and AppendBytes. ValueWidth must be 0.
	Blobs bool
	// Groups are the key groups whose keys will be stored; the zero value means all. A key outside panics.
	Groups keygroup.Range
	// Expect is about how many keys the table will hold, 0 if nobody knows. It is cheap to expect too much: memory is
	// taken when a segment gets its first key.
	Expect int
	// Pool is where memory comes from; nil is the pool of the process.
	Pool *Pool
}

// Table is a hash table of keys to values, both encoded. See the package comment.
//
// A pointer to a value, and a slice of a key or a blob, is valid until the next call on the same table that may insert or
// delete (Upsert, PutBytes, AppendBytes, Delete, Sweep, Reset, Close) and until the next Cut. The batch forms return pointers that are valid
// together. Value pointers are aligned to 8 bytes.
//
// Every hash must be a function of its key. Hash 0 is stored, and handed out again, as 1.
type Table struct {
	dir     []slot // by hash>>shift, less dirBase
	shift   uint8
	dirBase uint64

	shape
	// marks is set while somebody wants to know which cells change: see mark.
	marks bool
	seq   uint64        // number of the last cut
	held  *atomic.Int32 // cuts that are not released, nil before the first one
	track tracking

	empty                  unsafe.Pointer // the cells of segments that have none yet
	segs                   []*segment     // parallel to dir: neighbours share a segment until it splits
	nsegs                  int
	growths                int // how often cells of any segment moved to another block
	last                   finger
	n                      int
	cfg                    Config
	segmentMax, arenaSplit int    // bytes, smaller in tests
	sink                   uint64 // keeps the loads of touch alive
}

// shape is how cells lie in memory. It never changes, so cuts read it from other goroutines.
type shape struct {
	cellBytes uintptr
	valOff    uintptr
	keyWidth  uintptr
	valWidth  int
	blobs     bool
	// bitShift maps the offset of a cell to its bit: the largest power of two that is not above cellBytes. Not every bit
	// has a cell, but a shift is cheaper than a division.
	bitShift  uint8
	lockBytes int // viewLockBytes, less in tests
	pool      *Pool
}

// finger is where a blob was found last, so that writing what was read needs no second search.
type finger struct {
	hash    uint64
	cell    unsafe.Pointer
	growths int // of the table then: the block of the cell is still there
}

// slot is what a lookup needs of a segment, kept by value in the directory so that it costs no second indirection.
type slot struct {
	cells unsafe.Pointer
	mask  uint64
}

type segment struct {
	cells unsafe.Pointer
	mask  uint64
	n     int
	limit int // n at which it grows
	// notice is n at which insert looks closer: a little below limit, where a block is asked for, and then limit.
	notice int
	shift  uint8 // hash>>shift is the prefix of all its keys
	class  uint8 // of the block of cells
	arena  arena
	asked  bool       // the pool was asked for a block
	lazy   int        // cells to take for the first key; until then cells are shared and empty
	bits   []uint64   // a bit a cell: changed since the last cut; nil stands for none
	image  *image     // what cuts see of the block of cells; nil if none does
	past   []pastBits // what changed before it, while the table tracks
}

// New returns an empty table. It panics if the configuration is contradictory, which is a bug of the caller.
func New(cfg Config) *Table {
	if cfg.KeyWidth < 0 || cfg.ValueWidth < 0 || (cfg.Blobs && cfg.ValueWidth != 0) {
		panic(fmt.Sprintf("paged: contradictory configuration %+v", cfg))
	}
	if cfg.Groups == (keygroup.Range{}) {
		cfg.Groups = keygroup.All()
	}
	if cfg.Groups.Len() == 0 {
		panic(fmt.Sprintf("paged: empty range of key groups %v", cfg.Groups))
	}
	t := &Table{cfg: cfg, segmentMax: segmentBytesMax, arenaSplit: arenaSplitBytes}
	t.pool, t.keyWidth, t.valWidth, t.blobs = cfg.Pool, uintptr(cfg.KeyWidth), cfg.ValueWidth, cfg.Blobs
	if t.pool == nil {
		t.pool = &sharedPool
	}
	key := round8(cfg.KeyWidth)
	if cfg.KeyWidth == 0 {
		key = int(unsafe.Sizeof(keyRef{}))
	}
	val := round8(cfg.ValueWidth)
	if cfg.Blobs {
		val = int(unsafe.Sizeof(blob{}))
	}
	t.valOff = uintptr(tagBytes + key)
	t.cellBytes = t.valOff + uintptr(val)
	t.bitShift = uint8(bits.Len(uint(t.cellBytes)) - 1)
	t.lockBytes = viewLockBytes
	t.init(cfg.Expect)
	return t
}

// init makes the directory of an empty table for about n keys, with the segments that they will fill.
func (t *Table) init(n int) {
	lo, hi := t.bounds()
	t.shift = uint8(bits.Len64(lo ^ hi))
	cells := initialCells
	for cells/4*3 < n && 2*cells*int(t.cellBytes) <= t.segmentMax {
		cells *= 2
	}
	for int(hi>>t.shift-lo>>t.shift+1)*(cells/4*3) < n && t.shift > 0 {
		t.shift--
	}
	t.dirBase = lo >> t.shift
	t.nsegs = int(hi>>t.shift-t.dirBase) + 1
	t.segs, t.dir = t.segs[:0], t.dir[:0]
	if cells > initialCells && t.empty == nil {
		t.empty = t.pool.get(classOf(initialCells * int(t.cellBytes)))
	}
	for range t.nsegs {
		s := &segment{shift: t.shift}
		if cells > initialCells {
			// Empty cells that all such segments share serve lookups until the first insert finds the limit of 0.
			s.cells, s.mask, s.lazy = t.empty, initialCells-1, cells
		} else {
			t.setCells(s, cells)
		}
		t.segs = append(t.segs, s)
		t.dir = append(t.dir, slot{s.cells, s.mask})
	}
}

// bounds returns the first and last hash that the table may hold.
func (t *Table) bounds() (lo, hi uint64) {
	return t.cfg.Groups.From.First(), (t.cfg.Groups.To - 1).Last()
}

func round8(n int) int { return (n + 7) &^ 7 }

// Len returns the number of keys.
func (t *Table) Len() int { return t.n }

// Bytes returns the memory that the table holds, used or not.
func (t *Table) Bytes() int64 {
	total := int64(len(t.dir)) * int64(unsafe.Sizeof(slot{})+8)
	for _, s := range t.segments() {
		total += s.bytes()
	}
	return total
}

func (s *segment) bytes() int64 {
	total := int64(unsafe.Sizeof(*s)) + int64(len(s.bits))*8
	if s.lazy == 0 {
		total += 1 << s.class
	}
	if s.arena.base != nil {
		total += 1 << s.arena.class
	}
	return total
}

// Lookup returns the value of the key, or nil. The value must not be written: what is written through Lookup
// changes cuts that are being read. Use Mutate or Upsert to write.
func (t *Table) Lookup(hash uint64, key []byte) unsafe.Pointer {
	cell, _, found := t.find(norm(hash), key)
	if !found {
		return nil
	}
	return unsafe.Add(cell, t.valOff)
}

// Mutate returns the value of the key for writing, or nil if the key is not there.
func (t *Table) Mutate(hash uint64, key []byte) unsafe.Pointer {
	hash = norm(hash)
	cell, _, found := t.find(hash, key)
	if !found {
		return nil
	}
	t.mark(hash, cell)
	return unsafe.Add(cell, t.valOff)
}

// Upsert returns the value of the key for writing, after it has inserted the key with a zero value if it was missing.
func (t *Table) Upsert(hash uint64, key []byte) (val unsafe.Pointer, created bool) {
	hash = norm(hash)
	cell, s, found := t.find(hash, key)
	if !found {
		cell = t.insert(hash, s)
		t.writeKey(hash, cell, key)
		created = true
	} else {
		t.mark(hash, cell)
	}
	return unsafe.Add(cell, t.valOff), created
}

// norm keeps 0 free as the tag of an empty cell.
func norm(hash uint64) uint64 {
	if hash == 0 {
		return 1
	}
	return hash
}

// at returns the directory's entry for a hash. It panics when the hash is outside the table's key groups.
func (t *Table) at(hash uint64) *slot { return &t.dir[hash>>t.shift-t.dirBase] }

func (t *Table) segmentOf(hash uint64) *segment { return t.segs[hash>>t.shift-t.dirBase] }

// find returns the cell of the key, or else the empty cell where its search ended.
func (t *Table) find(hash uint64, key []byte) (cell unsafe.Pointer, at *slot, found bool) {
	at = t.at(hash)
	if t.keyWidth != 0 && uintptr(len(key)) != t.keyWidth {
		panic(fmt.Sprintf("paged: key of %d bytes in a table of %d-byte keys", len(key), t.keyWidth))
	}
	for p := hash & at.mask; ; p = (p + 1) & at.mask {
		cell = unsafe.Add(at.cells, uintptr(p)*t.cellBytes)
		switch *(*uint64)(cell) {
		case 0:
			return cell, at, false
		case hash:
			if t.keyIs(hash, cell, key) {
				return cell, at, true
			}
		}
	}
}

// keyIs reports whether the cell, whose tag is hash, holds key.
func (t *Table) keyIs(hash uint64, cell unsafe.Pointer, key []byte) bool {
	if t.keyWidth == 8 {
		return *(*uint64)(unsafe.Add(cell, tagBytes)) == *(*uint64)(unsafe.Pointer(unsafe.SliceData(key)))
	}
	if t.keyWidth != 0 {
		return unsafe.String((*byte)(unsafe.Add(cell, tagBytes)), t.keyWidth) == string(key)
	}
	ref := (*keyRef)(unsafe.Add(cell, tagBytes))
	if int(ref.len) != len(key) {
		return false
	}
	return string(t.segmentOf(hash).arena.slice(ref.off, ref.len)) == string(key)
}

// keyOf returns the key of a cell in segment s.
func (t *Table) keyOf(s *segment, cell unsafe.Pointer) []byte {
	if t.keyWidth != 0 {
		return unsafe.Slice((*byte)(unsafe.Add(cell, tagBytes)), t.keyWidth)
	}
	ref := (*keyRef)(unsafe.Add(cell, tagBytes))
	return s.arena.slice(ref.off, ref.len)
}

// insert claims the cell for a hash that is not in the table and whose directory entry is at. Growing may move every
// cell of the segment, so the cell is found again.
func (t *Table) insert(hash uint64, at *slot) unsafe.Pointer {
	s := t.segmentOf(hash)
	if s.n >= s.notice {
		if t.approach(s); s.n >= s.limit {
			t.grow(s, hash)
			s, at = t.segmentOf(hash), t.at(hash)
		}
	}
	p := hash & at.mask
	for *(*uint64)(unsafe.Add(at.cells, uintptr(p)*t.cellBytes)) != 0 {
		p = (p + 1) & at.mask
	}
	cell := unsafe.Add(at.cells, uintptr(p)*t.cellBytes)
	t.markCell(s, cell)
	*(*uint64)(cell) = hash
	s.n++
	t.n++
	return cell
}

// writeKey fills the key of a cell just inserted.
func (t *Table) writeKey(hash uint64, cell unsafe.Pointer, key []byte) {
	if t.keyWidth != 0 {
		copy(unsafe.Slice((*byte)(unsafe.Add(cell, tagBytes)), t.keyWidth), key)
		return
	}
	ref := (*keyRef)(unsafe.Add(cell, tagBytes))
	// The empty reference of this cell is harmless if making room compacts the arena.
	*ref = keyRef{}
	s := t.segmentOf(hash)
	off := t.alloc(s, len(key))
	copy(s.arena.slice(off, uint32(len(key))), key)
	*ref = keyRef{off: off, len: uint32(len(key))}
}
