package paged

import (
	"math/bits"
	"unsafe"
)

// slabClass is the smallest class that is cut from blocks of 2 MiB. Below, the memory of so many tables fits the TLB
// without huge pages.
const slabClass = 16

// slabs are blocks of 2 MiB cut into pieces of one size each, so that arenas and the cells of half-grown segments are on huge
// pages too: with pages of 4 KiB every access to a large table costs a walk of the page table besides the miss. A slab none
// of whose pieces is in use is a block of the pool again.
type slabs struct {
	all map[uintptr]*slab // by where they begin
	// open has the slabs of each class with free pieces. A full one is not listed.
	open [hugeClass][]*slab
}

type slab struct {
	base  unsafe.Pointer
	class uint8
	at    int    // place in open; -1 if it is full
	free  uint32 // a bit for each piece
}

const slabMask = 1<<hugeClass - 1

// fullSlab has a bit for each piece of a slab: 32 at most.
func fullSlab(class uint8) uint32 { return uint32(1<<(1<<(hugeClass-uint(class))) - 1) }

// take returns a piece of an open slab, nil if there is none.
func (s *slabs) take(class uint8) unsafe.Pointer {
	open := s.open[class]
	if len(open) == 0 {
		return nil
	}
	b := open[len(open)-1]
	i := bits.TrailingZeros32(b.free)
	b.free &^= 1 << i
	if b.free == 0 {
		s.unlist(b)
	}
	return unsafe.Add(b.base, i<<class)
}

// cut makes a mapped block of 2 MiB a slab and returns its first piece.
func (s *slabs) cut(block unsafe.Pointer, class uint8) unsafe.Pointer {
	if s.all == nil {
		s.all = map[uintptr]*slab{}
	}
	b := &slab{base: block, class: class, free: fullSlab(class) &^ 1, at: -1}
	s.all[uintptr(block)] = b
	s.list(b)
	return block
}

// put takes a piece back. It returns whether the piece was one of a slab, and the block of the slab if that was its last.
func (s *slabs) put(p unsafe.Pointer) (piece bool, block unsafe.Pointer) {
	off := uintptr(p) & slabMask
	b := s.all[uintptr(p)-off]
	if b == nil {
		return false, nil
	}
	b.free |= 1 << (off >> b.class)
	if b.at < 0 {
		s.list(b)
	}
	if b.free != fullSlab(b.class) {
		return true, nil
	}
	s.unlist(b)
	delete(s.all, uintptr(b.base))
	return true, b.base
}

func (s *slabs) list(b *slab) {
	b.at = len(s.open[b.class])
	s.open[b.class] = append(s.open[b.class], b)
}

func (s *slabs) unlist(b *slab) {
	open := s.open[b.class]
	last := len(open) - 1
	open[b.at] = open[last]
	open[b.at].at = b.at
	open[last] = nil
	s.open[b.class] = open[:last]
	b.at = -1
}

// idle returns the bytes of free pieces.
func (s *slabs) idle() (n int64) {
	for class, open := range s.open {
		for _, b := range open {
			n += int64(bits.OnesCount32(b.free)) << class
		}
	}
	return n
}
