package snapshot

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"runtime"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/bin"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/keygroup"
)

// Summary says what a data object holds.
type Summary struct {
	Size     int64
	CRC      uint32 // CRC-32C of the whole object
	RawBytes int64  // of the records before compression
	Entries  int64
	Groups   keygroup.Range // from the first to the last group that has an entry; empty without entries
}

// Writer writes data objects, one after the other. Entries come in ascending order of their key groups; inside a group their
// order is kept, which is how the elements of a list stay in theirs.
//
// Blocks that are compressed are so on other goroutines, and written by Add and Close in their order; what is not compressed
// needs none. A Writer that is given up needs no Close: those goroutines end by themselves.
type Writer struct {
	w      io.Writer
	form   Form
	sum    Summary
	err    error
	open   *packing
	queue  []*packing // closed blocks, oldest first
	free   []*packing
	index  []byte
	blocks uint64
	plain  int      // blocks that are stored as they are before the next try to compress one
	last   struct { // the record before
		state uint32
		hash  uint64
		group keygroup.Group
		valid bool // in this block
		// key and namespace are where they lie in its records, with their lengths before them.
		key, namespace, end int
	}
}

// Form says how a data object is written.
type Form struct {
	// Delta lets entries be Removed: they are applied over those of the objects before.
	Delta bool
	// Compression is what is tried on blocks.
	Compression Compression
}

// packing is a block on its way.
type packing struct {
	records     []byte // behind room for the head of the block
	entries     int64
	first, last keygroup.Group
	packed      []byte        // with its head: compressed, or records
	space       []byte        // for what is compressed
	done        chan struct{} // gets a value when packed is ready; nil if nobody works on it
}

// NewWriter starts a data object on w, which gets writes of about a block each. The caller checks what Close returns.
func NewWriter(w io.Writer, f Form) *Writer {
	s := &Writer{form: f}
	s.Reset(w)
	return s
}

// Reset starts another object of the same form on w, after Close.
func (s *Writer) Reset(w io.Writer) {
	s.w, s.err, s.sum, s.blocks, s.index, s.last.valid = w, nil, Summary{}, 0, s.index[:0], false
	s.begin()
	s.write(s.form.head())
}

// begin makes an empty block the open one.
func (s *Writer) begin() {
	s.last.valid = false
	if n := len(s.free); n > 0 {
		s.open, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.open = &packing{records: make([]byte, 0, blockHead+blockTarget+4<<10)}
	}
	p := s.open
	*p = packing{records: p.records[:blockHead], space: p.space}
}

func (p *packing) size() int { return len(p.records) - blockHead }

// Size is about how many bytes the object has so far, the open block uncompressed.
func (s *Writer) Size() int64 { return s.sum.Size + int64(len(s.open.records)) }

func (s *Writer) write(b []byte) {
	if s.err != nil {
		return
	}
	n, err := s.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	s.sum.Size += int64(n)
	s.sum.CRC = crc32.Update(s.sum.CRC, castagnoli, b[:n])
	s.err = err
}

// Add appends an entry, which is borrowed for the call. After an error every further call returns it.
func (s *Writer) Add(e *Entry) error {
	if s.err != nil {
		return s.err
	}
	g := e.Group()
	switch {
	case s.sum.Entries > 0 && g < s.last.group:
		s.err = errs.New(errs.CodeBug, errs.ClassBug, "snapshot", "an entry of key group %d after one of %d", g, s.last.group)
	case e.Removed && (!s.form.Delta || e.Value != nil):
		s.err = errs.New(errs.CodeBug, errs.ClassBug, "snapshot", "a removed entry of state %d has a value, or is in an object that is no delta", e.State)
	case e.size() > EntryBytesMax:
		s.err = errs.New(errs.CodeLimit, errs.ClassFailJob, "snapshot",
			"an entry of state %d has %d bytes, more than the %d of the format: keep large values in map or list state", e.State, e.size(), EntryBytesMax)
	}
	if s.err != nil {
		return s.err
	}
	if s.sum.Entries == 0 {
		s.sum.Groups.From = g
	}
	p := s.open
	if p.size() == 0 {
		p.first = g
	}
	s.record(e, g)
	p.last, s.sum.Groups.To = g, g+1
	s.sum.Entries++
	p.entries++
	if p.size() >= blockTarget {
		s.flush()
	}
	return s.err
}

func (s *Writer) record(e *Entry, g keygroup.Group) {
	l := &s.last
	var flags byte
	switch {
	case l.valid && l.state == e.State && l.hash == e.Hash && s.sameKey(e):
		flags = flagSame
	default:
		if !l.valid || l.group != g {
			flags |= flagGroup
		}
		if !l.valid || l.state != e.State {
			flags |= flagState
		}
		if xxh3.Hash(e.Key) != e.Hash {
			flags |= flagHash
		}
	}
	if e.UserKey != nil {
		flags |= flagUserKey
	}
	if e.Removed {
		flags |= flagRemoved
	}
	b := append(s.open.records, flags)
	if flags&flagGroup != 0 {
		b = bin.AppendUvarint(b, uint64(g))
	}
	if flags&flagState != 0 {
		b = bin.AppendUvarint(b, uint64(e.State))
	}
	if flags&flagHash != 0 {
		b = binary.LittleEndian.AppendUint64(b, e.Hash)
	}
	if flags&flagSame == 0 {
		l.key = len(b)
		b = bin.AppendBytes(b, e.Key)
		l.namespace = len(b)
		b = bin.AppendBytes(b, e.Namespace)
		l.end = len(b)
	}
	if e.UserKey != nil {
		b = bin.AppendBytes(b, e.UserKey)
	}
	if !e.Removed {
		b = bin.AppendBytes(b, e.Value)
	}
	s.open.records = b
	l.state, l.hash, l.group, l.valid = e.State, e.Hash, g, true
}

// sameKey reports whether the record before has the key and namespace of e.
func (s *Writer) sameKey(e *Entry) bool {
	is := func(from, to int, want []byte) bool {
		return bytes.HasSuffix(s.open.records[from:to], want) && bin.UvarintLen(uint64(len(want)))+len(want) == to-from
	}
	return is(s.last.key, s.last.namespace, e.Key) && is(s.last.namespace, s.last.end, e.Namespace)
}

// flush closes the open block and writes it, or hands it to another goroutine to be compressed. When enough blocks are on their
// way it writes the oldest.
func (s *Writer) flush() {
	p := s.open
	if c := s.tries(); c == CompressNone {
		p.pack(c)
	} else {
		p.done = make(chan struct{}, 1)
		go func() { // ends when the block is compressed
			p.pack(c)
			p.done <- struct{}{}
		}()
	}
	s.queue = append(s.queue, p)
	for len(s.queue) > 0 && (s.queue[0].done == nil || len(s.queue) > packersMost()) {
		s.put()
	}
	s.begin()
}

// packersMost bounds the blocks that one Writer has compressed at a time: half of the cores go on with the stream.
func packersMost() int { return min(max(runtime.GOMAXPROCS(0)/2, 1), 4) }

// tries returns how to store the next block.
func (s *Writer) tries() Compression {
	if s.plain > 0 {
		s.plain--
		return CompressNone
	}
	return s.form.Compression
}

// put writes the oldest block of the queue.
func (s *Writer) put() {
	p := s.queue[0]
	s.queue = s.queue[:copy(s.queue, s.queue[1:])]
	if p.done != nil {
		<-p.done
		if len(p.packed) > len(p.records)-p.size()/paysPart {
			s.plain = plainBlocks
		}
	}
	for _, v := range []uint64{uint64(len(p.packed)), uint64(p.size()), uint64(p.entries), uint64(p.first), uint64(p.last)} {
		s.index = bin.AppendUvarint(s.index, v)
	}
	s.blocks++
	s.sum.RawBytes += int64(p.size())
	s.write(p.packed)
	if cap(p.records) <= 4*blockTarget { // not after one huge entry
		s.free = append(s.free, p)
	}
}

// blockSum is the checksum of a block: of its two lengths and its stored bytes.
func blockSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:8], castagnoli), castagnoli, b[blockHead:])
}

// Close writes the index and returns the summary. It does not close the io.Writer. Nothing may be added afterwards.
func (s *Writer) Close() (Summary, error) {
	if s.open.size() > 0 && s.err == nil {
		if len(s.queue) == 0 {
			s.open.pack(s.tries()) // a small object is not worth a goroutine
			s.queue = append(s.queue, s.open)
		} else {
			s.flush()
		}
	}
	for len(s.queue) > 0 {
		s.put()
	}
	at := s.sum.Size
	index := append(bin.AppendUvarint(nil, s.blocks), s.index...)
	if s.err == nil && len(index) > indexBytesMax {
		s.err = errs.New(errs.CodeLimit, errs.ClassFailJob, "snapshot", "the index has %d bytes: write several objects", len(index))
	}
	le := binary.LittleEndian
	tail := le.AppendUint64(nil, uint64(at))
	tail = le.AppendUint64(tail, uint64(s.sum.Entries))
	tail = le.AppendUint32(tail, uint32(len(index)))
	tail = le.AppendUint32(tail, indexSum(index, tail))
	s.write(append(index, append(tail, magicTail...)...))
	err := s.err
	if s.err == nil {
		s.err = errs.New(errs.CodeBug, errs.ClassBug, "snapshot", "used after Close")
	}
	return s.sum, err
}

// indexSum is the checksum of the index and of the first 20 bytes of the trailer.
func indexSum(index, tail []byte) uint32 {
	return crc32.Update(crc32.Checksum(index, castagnoli), castagnoli, tail[:20])
}
