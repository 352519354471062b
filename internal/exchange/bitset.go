package exchange

import "math/bits"

// bitset is a set of channel numbers that knows how many it holds.
type bitset struct {
	words []uint64
	n     int
}

func newBitset(size int) bitset { return bitset{words: make([]uint64, (size+63)/64)} }

func (s *bitset) has(i int) bool { return s.words[i>>6]&(1<<(i&63)) != 0 }

// put makes i a member or not.
func (s *bitset) put(i int, member bool) {
	w, bit := &s.words[i>>6], uint64(1)<<(i&63)
	switch {
	case member && *w&bit == 0:
		*w |= bit
		s.n++
	case !member && *w&bit != 0:
		*w &^= bit
		s.n--
	}
}

// next returns the smallest member >= from, or the smallest of all if there is none. The set must not be empty.
func (s *bitset) next(from int) int {
	w := from >> 6
	if w < len(s.words) {
		if x := s.words[w] &^ (1<<(from&63) - 1); x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
		for w++; w < len(s.words); w++ {
			if x := s.words[w]; x != 0 {
				return w<<6 + bits.TrailingZeros64(x)
			}
		}
	}
	for w = 0; ; w++ {
		if x := s.words[w]; x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
	}
}
