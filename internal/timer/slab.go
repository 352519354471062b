package timer

import "encoding/binary"

// A chunk begins with the reference of the next chunk of its log and the number of bytes in use, both u32.
const chunkHead = 8

// chunkRef names a chunk: its class in the top two bits, and its index less one below. 0 is no chunk.
type chunkRef uint32

// chunkBytes are the sizes of the classes. A log begins with the smallest, because timers may be spread so widely that
// every bucket holds one, and each further chunk is of the next class.
var chunkBytes = [...]int{64, 512, 4 << 10, 64 << 10}

const (
	largest = len(chunkBytes) - 1
	// blockBytes is how much memory a class below the largest takes at a time.
	blockBytes = 64 << 10
)

// slab hands out chunks. Its blocks hold no pointers, so the collector does not look inside.
type slab struct {
	blocks [len(chunkBytes)][][]byte
	free   [len(chunkBytes)][]chunkRef
	next   [len(chunkBytes)]int // index of the first chunk that was never handed out
	bytes  int64
}

// get returns a chunk of the class, or one made to measure if a record does not fit into the largest.
func (s *slab) get(class, need int) chunkRef {
	if need+chunkHead > chunkBytes[largest] {
		return s.getOversize(need + chunkHead)
	}
	for need+chunkHead > chunkBytes[class] {
		class++
	}
	if f := s.free[class]; len(f) > 0 {
		s.free[class] = f[:len(f)-1]
		r := f[len(f)-1]
		clear(s.chunk(r)[:chunkHead])
		return r
	}
	i := s.next[class]
	s.next[class]++
	if per := blockBytes / chunkBytes[class]; i/per == len(s.blocks[class]) {
		s.blocks[class] = append(s.blocks[class], make([]byte, blockBytes))
		s.bytes += blockBytes
	}
	return chunkRef(class<<30 | (i + 1))
}

func (s *slab) getOversize(n int) chunkRef {
	i := s.next[largest]
	s.next[largest]++
	s.blocks[largest] = append(s.blocks[largest], make([]byte, n))
	s.bytes += int64(n)
	return chunkRef(largest<<30 | (i + 1))
}

func (s *slab) chunk(r chunkRef) []byte {
	class, i := int(r>>30), int(r&(1<<30-1))-1
	if class == largest {
		return s.blocks[largest][i]
	}
	per := blockBytes / chunkBytes[class]
	off := i % per * chunkBytes[class]
	return s.blocks[class][i/per][off : off+chunkBytes[class]]
}

func (s *slab) put(r chunkRef) {
	class := int(r >> 30)
	if class == largest {
		i := int(r&(1<<30-1)) - 1
		if n := len(s.blocks[largest][i]); n != chunkBytes[largest] {
			// An oversize chunk becomes an ordinary one.
			s.blocks[largest][i] = make([]byte, chunkBytes[largest])
			s.bytes += int64(chunkBytes[largest] - n)
		}
	}
	s.free[class] = append(s.free[class], r)
}

// chain is a log: a list of chunks with the last one at hand. It lies in pointer-free memory.
type chain struct {
	head, tail chunkRef
	// used is the number of bytes in use of the last chunk. Its header says so only when another chunk follows: the header is
	// another cache line than the one that is written, and readers of a cut never look at it.
	used uint32
}

// room returns n bytes at the end of the chain to write a record into. n is a multiple of 8.
func (s *slab) room(c *chain, n int) []byte {
	if c.tail != 0 {
		b := s.chunk(c.tail)
		if used := int(c.used); used+n <= len(b) {
			c.used += uint32(n)
			return b[used : used+n]
		}
	}
	class := 0
	if c.tail != 0 {
		class = min(int(c.tail>>30)+1, largest)
	}
	r := s.get(class, n)
	if c.tail == 0 {
		c.head = r
	} else {
		head := s.chunk(c.tail)
		binary.LittleEndian.PutUint32(head, uint32(r))
		binary.LittleEndian.PutUint32(head[4:], c.used)
	}
	c.tail, c.used = r, uint32(chunkHead+n)
	return s.chunk(r)[chunkHead : chunkHead+n]
}

// drop frees the chunks of the chain.
func (s *slab) drop(c *chain) {
	for r := c.head; r != 0; {
		next := chunkRef(binary.LittleEndian.Uint32(s.chunk(r)))
		s.put(r)
		r = next
	}
	*c = chain{}
}
