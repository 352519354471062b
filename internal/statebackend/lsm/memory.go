package lsm

import "math/bits"

// cells hands out pieces of memory that hold no pointers, by place: the number of a block and a unit of 16 bytes in it. It
// keeps pieces of one size in the same blocks. The zero value is empty.
//
// data[i] is written only when block i is made or given back, so a copy of the slice may be read on another goroutine as
// long as its pieces are in use.
type cells struct {
	data    [][]byte
	blocks  []block
	unused  []uint32 // numbers of blocks that were given back
	classes [maxClasses][]uint32
	used    int64 // by pieces that are handed out
}

// place is a piece: the number of its block and, in the low blockUnitBits, its first unit. 0 is none.
type place uint32

type block struct {
	class int32 // -1 for a block of one piece
	live  int32
	next  uint32   // units from the front that were handed out
	free  []uint16 // pieces that were given back
	open  bool     // is in the list of its class
}

const (
	unit          = 16
	blockUnitBits = 14
	blockBytes    = unit << blockUnitBits
	fineClasses   = 64 // up to 1 KiB in steps of a unit, above in quarters of a power of two
	maxClasses    = fineClasses + 4*7
	maxPiece      = blockBytes / 4
)

// classOf returns the class of a size and what its pieces have in units.
func classOf(size int) (class int32, units uint32) {
	u := uint32(max(size, 1)+unit-1) / unit
	if u <= fineClasses {
		return int32(u - 1), u
	}
	shift := uint32(bits.Len32(u-1)) - 3
	q := (u + 1<<shift - 1) >> shift // 5..8
	return int32(fineClasses + 4*(shift-4) + q - 5), q << shift
}

func (c *cells) at(p place) []byte {
	return c.data[p>>blockUnitBits][int(p&(1<<blockUnitBits-1))*unit:]
}

// room returns how many bytes p has.
func (c *cells) room(p place) int {
	b := &c.blocks[p>>blockUnitBits]
	if b.class < 0 {
		return len(c.data[p>>blockUnitBits])
	}
	return int(unitsOf(b.class)) * unit
}

func unitsOf(class int32) uint32 {
	if class < fineClasses {
		return uint32(class) + 1
	}
	c := uint32(class - fineClasses)
	return (c%4 + 5) << (c/4 + 4)
}

// alloc returns a piece of at least size bytes, with old content in it.
func (c *cells) alloc(size int) place {
	if size > maxPiece {
		n := c.block(size, -1)
		c.blocks[n].live = 1
		c.used += int64(size)
		return place(n << blockUnitBits)
	}
	class, units := classOf(size)
	c.used += int64(units) * unit
	open := c.classes[class]
	if len(open) == 0 {
		n := c.block(blockBytes, class)
		c.blocks[n].open = true
		c.classes[class] = append(open, n)
		open = c.classes[class]
	}
	n := open[len(open)-1]
	b := &c.blocks[n]
	b.live++
	var u uint32
	if last := len(b.free) - 1; last >= 0 {
		u = uint32(b.free[last])
		b.free = b.free[:last]
	} else {
		u = b.next
		b.next += units
	}
	if len(b.free) == 0 && b.next+units > 1<<blockUnitBits {
		b.open = false
		c.classes[class] = open[:len(open)-1]
	}
	return place(n<<blockUnitBits | u)
}

// block returns the number of a new block. Block 0 is never handed out, so that place 0 is none.
func (c *cells) block(size int, class int32) uint32 {
	if len(c.data) == 0 {
		c.data, c.blocks = append(c.data, nil), append(c.blocks, block{})
	}
	if last := len(c.unused) - 1; last >= 0 {
		n := c.unused[last]
		c.unused = c.unused[:last]
		c.data[n], c.blocks[n] = make([]byte, size), block{class: class}
		return n
	}
	c.data, c.blocks = append(c.data, make([]byte, size)), append(c.blocks, block{class: class})
	return uint32(len(c.data) - 1)
}

func (c *cells) release(p place) {
	n := uint32(p >> blockUnitBits)
	b := &c.blocks[n]
	b.live--
	c.used -= int64(c.room(p))
	if b.live == 0 {
		if b.open {
			list := c.classes[b.class]
			for i, m := range list {
				if m == n {
					list[i] = list[len(list)-1]
					c.classes[b.class] = list[:len(list)-1]
					break
				}
			}
		}
		c.data[n], c.blocks[n] = nil, block{}
		c.unused = append(c.unused, n)
		return
	}
	b.free = append(b.free, uint16(p&(1<<blockUnitBits-1)))
	if !b.open {
		b.open = true
		c.classes[b.class] = append(c.classes[b.class], n)
	}
}
