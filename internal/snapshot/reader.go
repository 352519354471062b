package snapshot

import (
	"encoding/binary"
	"io"
	"math"
	"sort"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
)

// Reader reads a data object.
type Reader struct {
	r       io.ReaderAt
	blocks  []block
	entries int64
	form    Form
	flags   byte // that a record may have
}

// block is a line of the index.
type block struct {
	at          int64
	stored, raw int // stored with its head
	entries     int64
	first, last keygroup.Group
}

// NewReader reads and checks the index of the object of size bytes behind r.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	if size < headBytes+tailBytes {
		return nil, corrupt("%d bytes are too few for a data object", size)
	}
	head, tail := make([]byte, headBytes), make([]byte, tailBytes)
	if err := readAt(r, head, 0); err != nil {
		return nil, err
	}
	if err := readAt(r, tail, size-tailBytes); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	form, err := parseHead(head)
	if err != nil {
		return nil, err
	}
	if string(tail[24:]) != magicTail {
		return nil, corrupt("the data object is damaged at its start or cut short")
	}
	at, n := le.Uint64(tail), le.Uint32(tail[16:])
	if n > indexBytesMax || at < headBytes || at > math.MaxInt64 || int64(at)+int64(n) != size-tailBytes {
		return nil, corrupt("the trailer says %d bytes of index at %d, in %d bytes", n, at, size)
	}
	index := make([]byte, n)
	if err := readAt(r, index, int64(at)); err != nil {
		return nil, err
	}
	if indexSum(index, tail) != le.Uint32(tail[20:]) {
		return nil, corrupt("the index fails its checksum")
	}
	s := &Reader{r: r, form: form, flags: flagsKnown}
	if !form.Delta {
		s.flags = flagsOf1
	}
	if err := s.parseIndex(index, int64(at)); err != nil {
		return nil, err
	}
	if uint64(s.entries) != le.Uint64(tail[8:]) {
		return nil, corrupt("the trailer says %d entries, the index %d", le.Uint64(tail[8:]), s.entries)
	}
	return s, nil
}

func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF || err == nil {
		return corrupt("the data object ends at %d, before %d", off+int64(n), off+int64(len(p)))
	}
	return errs.Wrap(err, "", 0, "snapshot", "reading %d bytes at %d", len(p), off)
}

func (s *Reader) parseIndex(b []byte, end int64) error {
	blocks, b, err := bin.Uvarint(b)
	if err != nil || blocks > uint64(len(b))/5 {
		return corrupt("the index is malformed")
	}
	s.blocks = make([]block, 0, blocks)
	at, before := int64(headBytes), keygroup.Group(0)
	for range blocks {
		var v [5]uint64
		for i := range v {
			if v[i], b, err = bin.Uvarint(b); err != nil {
				return corrupt("the index is malformed")
			}
		}
		stored, raw, entries, first, last := v[0], v[1], v[2], v[3], v[4]
		switch {
		case stored <= blockHead || stored-blockHead > raw || raw > blockRawMax || raw > (stored-blockHead)*ratioMax,
			entries == 0 || entries > raw,
			first > last || last >= keygroup.Count || keygroup.Group(first) < before,
			at+int64(stored) > end:
			return corrupt("the index lists an impossible block at %d", at)
		}
		s.blocks = append(s.blocks, block{at, int(stored), int(raw), int64(entries), keygroup.Group(first), keygroup.Group(last)})
		at += int64(stored)
		s.entries += int64(entries)
		before = keygroup.Group(last)
	}
	if at != end || len(b) > 0 {
		return corrupt("the index leaves bytes unexplained")
	}
	return nil
}

// Delta reports whether entries may be Removed: the object is applied over those before it.
func (s *Reader) Delta() bool { return s.flags&flagRemoved != 0 }

// Entries returns the number of entries.
func (s *Reader) Entries() int64 { return s.entries }

// runsAhead is how many runs of blocks are read and decoded at a time.
const runsAhead = 3

// run is adjacent blocks that are read with one request, on another goroutine. Its memory is used again: runs.
type run struct {
	blocks  []block
	stored  []byte
	raw     []byte
	records [][]byte // of the blocks that were found sound, before err
	err     error
	done    chan struct{} // gets a value when the run is decoded
}

// Each calls f with the entries of the groups, in the order of the object, until f returns an error, which it returns.
// The entry is borrowed until f returns. Only blocks that overlap groups are read, several with one request if they are
// adjacent, on other goroutines, which have ended when Each returns. The entries of a block are given out after its
// checksum was found right.
func (s *Reader) Each(groups keygroup.Range, f func(*Entry) error) error {
	lo := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].last >= groups.From })
	hi := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].first >= groups.To })
	if lo >= hi {
		return nil
	}
	rest := s.blocks[lo:hi]
	var ahead []*run
	defer func() {
		for _, r := range ahead {
			<-r.done
			runs.Put(r)
		}
	}()
	next := func(r *run) {
		if r.blocks, rest = split(rest); len(r.blocks) == 0 {
			runs.Put(r)
			return
		}
		ahead = append(ahead, r)
		done := make(chan struct{}, 1)
		r.done = done
		go func() { // ends when the run is decoded or has failed
			r.decode(s)
			done <- struct{}{}
		}()
	}
	for range runsAhead {
		next(runs.Get().(*run))
	}
	for len(ahead) > 0 {
		r := ahead[0]
		ahead = ahead[1:]
		<-r.done
		if err := r.each(s.flags, groups, f); err != nil {
			runs.Put(r)
			return err
		}
		next(r)
	}
	return nil
}

// runs keeps what calls of Each have read until the next garbage collection.
var runs = sync.Pool{New: func() any { return new(run) }}

// each shows the records of the blocks that were found sound.
func (r *run) each(flags byte, groups keygroup.Range, f func(*Entry) error) error {
	for i, records := range r.records {
		if err := r.blocks[i].each(records, flags, groups, f); err != nil {
			return err
		}
	}
	return r.err
}

// split cuts the blocks that are read with one request off.
func split(blocks []block) (head, rest []block) {
	n, stored, raw := 0, 0, 0
	for ; n < len(blocks); n++ {
		b := &blocks[n]
		if n > 0 && (stored+b.stored > readTarget || raw+b.raw > 2*readTarget) {
			break
		}
		stored, raw = stored+b.stored, raw+b.raw
	}
	return blocks[:n], blocks[n:]
}

// decode reads and checks the blocks.
func (r *run) decode(s *Reader) {
	stored, raw := 0, 0
	for i := range r.blocks {
		stored += r.blocks[i].stored
		raw += r.blocks[i].expands()
	}
	r.stored, r.raw, r.records = grow(r.stored, stored), grow(r.raw, raw), r.records[:0]
	if r.err = readAt(s.r, r.stored, r.blocks[0].at); r.err != nil {
		return
	}
	from, to := r.stored, r.raw
	for i := range r.blocks {
		b := &r.blocks[i]
		records, err := b.unpack(s.form.Compression, from[:b.stored], to[:b.expands()])
		if err != nil {
			r.err = err
			return
		}
		r.records = append(r.records, records)
		from, to = from[b.stored:], to[b.expands():]
	}
}

// expands returns how many bytes of memory the block takes besides those stored.
func (b *block) expands() int {
	if b.stored-blockHead == b.raw {
		return 0
	}
	return b.raw
}

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// unpack returns the records of a block. into has the length that the index says they have.
func (b *block) unpack(c Compression, stored, into []byte) ([]byte, error) {
	le := binary.LittleEndian
	if int(le.Uint32(stored)) != b.stored-blockHead || int(le.Uint32(stored[4:])) != b.raw || le.Uint32(stored[8:]) != blockSum(stored) {
		return nil, corrupt("the block at %d fails its checksum or is not the one of the index", b.at)
	}
	if b.expands() == 0 {
		return stored[blockHead:], nil
	}
	if err := c.expand(into, stored[blockHead:]); err != nil {
		return nil, errs.Wrap(err, "", 0, "snapshot", "the block at %d", b.at)
	}
	return into, nil
}

// each shows the records in groups. What is malformed below a right checksum is found on the way.
func (b *block) each(records []byte, flags byte, groups keygroup.Range, f func(*Entry) error) error {
	p := cursor{rest: records, flags: flags, group: b.first}
	var e Entry // one for all calls; what f does to it must not change the cursor
	for n := int64(0); len(p.rest) > 0; n++ {
		before := p.group
		if n == b.entries || !p.next() || p.group < before || p.group > b.last {
			return corrupt("record %d of the block at %d is malformed, or none of the %d that the index lists", n, b.at, b.entries)
		}
		if p.group < groups.From {
			continue
		}
		if p.group >= groups.To {
			return nil
		}
		e = p.e
		if err := f(&e); err != nil {
			return err
		}
		if len(p.rest) == 0 && n+1 != b.entries {
			return corrupt("the block at %d holds %d entries, the index says %d", b.at, n+1, b.entries)
		}
	}
	return nil
}

// cursor walks over the records of one block.
type cursor struct {
	rest  []byte
	e     Entry // its slices point into the block
	group keygroup.Group
	flags byte // that are allowed
	begun bool
	bad   bool
}

func (p *cursor) uvarint(most uint64) uint64 {
	v, rest, err := bin.Uvarint(p.rest)
	if err != nil || v > most {
		p.bad = true
		return 0
	}
	p.rest = rest
	return v
}

func (p *cursor) bytes() []byte {
	b, rest, err := bin.Bytes(p.rest)
	if err != nil {
		p.bad = true
		return nil
	}
	p.rest = rest
	return b[:len(b):len(b)]
}

// next reads a record and reports whether it is well formed. rest must not be empty.
func (p *cursor) next() bool {
	flags := p.rest[0]
	p.rest = p.rest[1:]
	same := flags&flagSame != 0
	if flags&^p.flags != 0 || same && (flags&^(flagSame|flagUserKey|flagRemoved) != 0 || !p.begun) ||
		!p.begun && flags&(flagGroup|flagState) != flagGroup|flagState {
		return false
	}
	p.begun = true
	if flags&flagGroup != 0 {
		p.group = keygroup.Group(p.uvarint(keygroup.Count - 1))
	}
	if flags&flagState != 0 {
		p.e.State = uint32(p.uvarint(math.MaxUint32))
	}
	if flags&flagHash != 0 {
		if len(p.rest) < 8 {
			return false
		}
		p.e.Hash = binary.LittleEndian.Uint64(p.rest)
		p.rest = p.rest[8:]
	}
	if !same {
		p.e.Key, p.e.Namespace = p.bytes(), p.bytes()
		if flags&flagHash == 0 {
			p.e.Hash = xxh3.Hash(p.e.Key)
		}
	}
	p.e.UserKey = nil
	if flags&flagUserKey != 0 {
		if p.e.UserKey = p.bytes(); p.e.UserKey == nil {
			p.e.UserKey = []byte{}
		}
	}
	p.e.Value, p.e.Removed = nil, flags&flagRemoved != 0
	if !p.e.Removed {
		p.e.Value = p.bytes()
	}
	return !p.bad && p.e.Group() == p.group
}
