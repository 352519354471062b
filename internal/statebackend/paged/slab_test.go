package paged

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// Blocks of any classes are zero when they come, overlap no other, and are all back in the pool at the end: no slab is left.
func TestPoolBlocks(t *testing.T) {
	pool := &Pool{IdleMax: 8 << 20}
	type block struct {
		at    uintptr
		class uint8
		p     unsafe.Pointer
	}
	rapid.Check(t, func(rt *rapid.T) {
		var blocks []block
		drop := func(i int) {
			pool.put(blocks[i].p, blocks[i].class)
			blocks = slices.Delete(blocks, i, i+1)
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if len(blocks) > 0 && rapid.Bool().Draw(rt, "back") {
				drop(rapid.IntRange(0, len(blocks)-1).Draw(rt, "which"))
				continue
			}
			class := rapid.Uint8Range(slabClass-2, hugeClass).Draw(rt, "class")
			b := block{class: class, p: pool.get(class)}
			b.at = uintptr(b.p)
			words := unsafe.Slice((*uint64)(b.p), 1<<class/8)
			for i := 0; i < len(words); i += 509 {
				if words[i] != 0 {
					rt.Fatalf("word %d of a block of class %d is %x", i, class, words[i])
				}
				words[i] = ^uint64(0)
			}
			for _, o := range blocks {
				if b.at < o.at+1<<o.class && o.at < b.at+1<<class {
					rt.Fatalf("blocks of classes %d and %d overlap", class, o.class)
				}
			}
			blocks = append(blocks, b)
		}
		for len(blocks) > 0 {
			drop(len(blocks) - 1)
		}
		if s := pool.Stats(); s.InUse != 0 || len(pool.mu.slabs.all) != 0 || pool.mu.slabs.idle() != 0 {
			rt.Fatalf("in use %d, %d slabs, %d bytes of pieces", s.InUse, len(pool.mu.slabs.all), pool.mu.slabs.idle())
		}
	})
}

// What segments near their limit asked for is taken back with them, however they end.
func TestAskedBlocks(t *testing.T) {
	pool := &Pool{}
	table := New(Config{KeyWidth: 8, ValueWidth: 16, Pool: pool})
	asked := func() int {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		return pool.mu.asked
	}
	most := 0
	const n = 400_000
	for k := range uint64(n) {
		table.Upsert64(hash64(k), k)
		if k%64 == 0 {
			most = max(most, asked())
		}
	}
	near := 0
	for _, s := range table.segments() {
		if s.asked {
			near++
		}
	}
	if most == 0 || asked() != near {
		t.Errorf("%d blocks are asked for %d segments near their limit, %d at most", asked(), near, most)
	}
	for k := range uint64(n) {
		table.Delete64(hash64(k), k)
	}
	if asked() != 0 {
		t.Errorf("an empty table asks for %d blocks", asked())
	}
	table.Close()
	if asked() != 0 {
		t.Errorf("a closed table asks for %d blocks", asked())
	}
}
