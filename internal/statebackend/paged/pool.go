package paged

import (
	"math/bits"
	"sync"
	"unsafe"
)

const (
	minClass  = 7  // 128 bytes, the smallest block
	hugeClass = 21 // 2 MiB, one huge page
	// regionBytes is how much address space is mapped at a time. Only touched pages cost memory.
	regionBytes = 32 << 20
	// idleSmallMax bounds the blocks below a huge page that a pool keeps, in bytes for each size.
	idleSmallMax = 4 << 20
	// readyBlocks is how many blocks of 2 MiB are backed by memory ahead of a table that grows.
	readyBlocks = 4
)

// Pool hands out and takes back the memory of tables: blocks whose size is a power of two, always zeroed, never
// scanned by the garbage collector. Blocks below 64 KiB are on the Go heap, so that a small table nobody closes is collected;
// larger ones are mapped outside it on huge pages, of which those below 2 MiB share one with others of their size.
//
// A Pool may be used from any goroutine. Its lock guards a few slice operations; zeroing is done outside it.
type Pool struct {
	// IdleMax is how many bytes of 2 MiB blocks stay backed by memory after they came back. Beyond it the memory of
	// a block is returned to the system. Set it before the first use; 0 means 64 MiB.
	IdleMax int

	mu struct {
		sync.Mutex
		small  [slabClass][]unsafe.Pointer
		warm   []unsafe.Pointer // 2 MiB blocks to be zeroed before use
		cold   []unsafe.Pointer // 2 MiB blocks without memory behind them
		ready  []unsafe.Pointer // 2 MiB blocks of zeros with memory behind them
		ahead  bool             // a goroutine fills ready
		asked  int              // blocks that segments near their limit will take
		slabs  slabs
		inUse  int64
		mapped int64
		big    map[unsafe.Pointer]struct{} // mapped blocks above 2 MiB
		heap   bool                        // a mapping was refused once: some 2 MiB blocks are on the Go heap
	}
}

var sharedPool Pool

// PoolStats is a moment's account of a Pool in bytes.
type PoolStats struct {
	InUse  int64 // handed out to tables
	Warm   int64 // kept for the next table, perhaps backed by memory; a few blocks that are backed ahead of a growing table come on top
	Mapped int64 // address space mapped outside the Go heap
}

// Stats returns the current account.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := PoolStats{InUse: p.mu.inUse, Mapped: p.mu.mapped, Warm: int64(len(p.mu.warm)) << hugeClass}
	s.Warm += p.mu.slabs.idle()
	for c := range p.mu.small {
		s.Warm += int64(len(p.mu.small[c])) << c
	}
	return s
}

// classOf returns the class of the smallest block that holds n bytes.
func classOf(n int) uint8 {
	if n <= 1<<minClass {
		return minClass
	}
	return uint8(bits.Len(uint(n - 1)))
}

// get returns a zeroed block of 1<<class bytes.
func (p *Pool) get(class uint8) unsafe.Pointer {
	b, dirty := p.take(class)
	if b == nil {
		return heapBlock(class)
	}
	if dirty {
		clear(unsafe.Slice((*uint64)(b), 1<<class/8))
	}
	return b
}

// getDirty is get for memory that the caller overwrites before it reads it.
func (p *Pool) getDirty(class uint8) unsafe.Pointer {
	b, _ := p.take(class)
	if b == nil {
		return heapBlock(class)
	}
	return b
}

// Prepare backs n bytes of blocks with memory ahead of their use, beyond IdleMax if need be. The first touch of a fresh
// 2 MiB block takes a quarter of a millisecond, and several where a hypervisor must find the memory first; a task that
// must not wait for that has it done before it begins. Prepare takes as long; it may run on any goroutine.
func (p *Pool) Prepare(n int) {
	var blocks []unsafe.Pointer
	for ; n > 0; n -= 1 << hugeClass {
		b := p.getDirty(hugeClass)
		touchPages(b)
		blocks = append(blocks, b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.inUse -= int64(len(blocks)) << hugeClass
	p.mu.warm = append(p.mu.warm, blocks...)
}

func heapBlock(class uint8) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, 1<<class/8)))
}

func (p *Pool) take(class uint8) (b unsafe.Pointer, dirty bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.inUse += 1 << class
	switch {
	case class < slabClass:
		return pop(&p.mu.small[class]), true
	case class < hugeClass:
		if b = p.mu.slabs.take(class); b == nil && !p.mu.heap {
			if b, _ = p.takeHuge(); b != nil {
				b = p.mu.slabs.cut(b, class)
			}
		}
		return b, true
	case class > hugeClass:
		b = mapRegion(1<<class, 1<<hugeClass)
		if b != nil {
			p.mu.mapped += 1 << class
			if p.mu.big == nil {
				p.mu.big = make(map[unsafe.Pointer]struct{})
			}
			p.mu.big[b] = struct{}{}
		}
		return b, false
	}
	return p.takeHuge()
}

// takeHuge is take for blocks of 2 MiB. The lock is held.
func (p *Pool) takeHuge() (b unsafe.Pointer, dirty bool) {
	if b = pop(&p.mu.ready); b == nil {
		if b = pop(&p.mu.warm); b != nil {
			return b, true
		}
		b = p.fresh()
	}
	if b != nil {
		p.startAhead()
	}
	return b, false
}

// startAhead has blocks backed on another goroutine if there are too few. The lock is held.
func (p *Pool) startAhead() {
	if !p.mu.ahead && !p.mu.heap && p.lacks() {
		p.mu.ahead = true
		go p.backAhead()
	}
}

// lacks reports whether more blocks should be backed. The lock is held.
func (p *Pool) lacks() bool {
	return len(p.mu.ready)+len(p.mu.warm) < readyBlocks+p.mu.asked
}

// ask says that n more segments, or fewer, will soon take a block. If there are not as many as were asked for it backs one itself: a
// first touch may take longer than a split, so one operation should not have to do both, or two.
func (p *Pool) ask(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.asked += n
	if n < 0 {
		return
	}
	p.startAhead()
	if len(p.mu.ready)+len(p.mu.warm) >= p.mu.asked || p.mu.heap {
		return
	}
	if b := p.fresh(); b != nil {
		p.mu.Unlock()
		touchPages(b)
		p.mu.Lock()
		p.mu.ready = append(p.mu.ready, b)
	}
}

// fresh returns a 2 MiB block without memory behind it, nil if the system refuses. The lock is held.
func (p *Pool) fresh() unsafe.Pointer {
	if b := pop(&p.mu.cold); b != nil {
		return b
	}
	r := mapRegion(regionBytes, 1<<hugeClass)
	if r == nil {
		p.mu.heap = true
		return nil
	}
	p.mu.mapped += regionBytes
	for off := regionBytes - 1<<hugeClass; off > 0; off -= 1 << hugeClass {
		p.mu.cold = append(p.mu.cold, unsafe.Add(r, off))
	}
	return r
}

// backAhead gives the blocks that a growing table will take next memory, so that the table's goroutine does not wait for it: the
// first touch of a block takes up to 10 ms where a hypervisor must find the memory. It ends when there are enough.
func (p *Pool) backAhead() {
	for {
		p.mu.Lock()
		var b unsafe.Pointer
		if p.lacks() {
			b = p.fresh()
		}
		p.mu.ahead = b != nil
		p.mu.Unlock()
		if b == nil {
			return
		}
		touchPages(b)
		p.mu.Lock()
		p.mu.ready = append(p.mu.ready, b)
		p.mu.Unlock()
	}
}

// touchPages writes zeros to every page of a fresh block of 2 MiB.
func touchPages(b unsafe.Pointer) {
	for off := 0; off < 1<<hugeClass; off += 4 << 10 {
		*(*byte)(unsafe.Add(b, off)) = 0
	}
}

func pop(l *[]unsafe.Pointer) unsafe.Pointer {
	n := len(*l)
	if n == 0 {
		return nil
	}
	b := (*l)[n-1]
	(*l)[n-1] = nil
	*l = (*l)[:n-1]
	return b
}

// put takes a block back. Nothing may point into it any more.
func (p *Pool) put(b unsafe.Pointer, class uint8) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.inUse -= 1 << class
	switch {
	case class < slabClass:
		if l := &p.mu.small[class]; (len(*l)+1)<<class <= idleSmallMax {
			*l = append(*l, b)
		}
	case class > hugeClass:
		// A block that was not mapped is on the Go heap, and the collector takes it.
		if _, ok := p.mu.big[b]; ok {
			delete(p.mu.big, b)
			unmapRegion(b, 1<<class)
			p.mu.mapped -= 1 << class
		}
	case class < hugeClass:
		// A piece that is of no slab is on the Go heap.
		if _, block := p.mu.slabs.put(b); block != nil {
			p.putHuge(block)
		}
	default:
		p.putHuge(b)
	}
}

// putHuge takes a block of 2 MiB back. The lock is held.
func (p *Pool) putHuge(b unsafe.Pointer) {
	idle := p.IdleMax
	if idle == 0 {
		idle = 64 << 20
	}
	if (len(p.mu.warm)+1)<<hugeClass > idle && !p.mu.heap && dropPages(b, 1<<hugeClass) {
		p.mu.cold = append(p.mu.cold, b)
		return
	}
	p.mu.warm = append(p.mu.warm, b)
}
