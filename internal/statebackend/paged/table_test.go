package paged

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/keygroup"
)

// small makes t split and compact early, so that short tests reach every path.
func small(t *Table) *Table {
	t.segmentMax, t.arenaSplit, t.lockBytes = 32*int(t.cellBytes), 1<<10, 100
	return t
}

func hash64(k uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], k)
	return xxh3.Hash(b[:])
}

// check verifies the invariants that doc.go names.
func (t *Table) check(tb rapid.TB) {
	tb.Helper()
	n, nsegs := 0, 0
	for first, s := range t.segments() {
		nsegs++
		used, refs := 0, 0
		for i := first; i < first+t.spanOf(first, s); i++ {
			if t.segs[i] != s || t.dir[i] != (slot{s.cells, s.mask}) {
				tb.Fatalf("directory entry %d disagrees with its segment", i)
			}
		}
		for p := uint64(0); p <= s.mask; p++ {
			cell := t.cellAt(s, p)
			tag := *(*uint64)(cell)
			if tag == 0 {
				for _, w := range unsafe.Slice((*uint64)(cell), t.cellBytes/8) {
					if w != 0 {
						tb.Fatalf("empty cell %d is not zero", p)
					}
				}
				continue
			}
			used++
			refs += t.refBytes(cell)
			if t.segmentOf(tag) != s {
				tb.Fatalf("hash %#x is in a segment that is not its own", tag)
			}
			for q := tag & s.mask; q != p; q = (q + 1) & s.mask {
				if *(*uint64)(t.cellAt(s, q)) == 0 {
					tb.Fatalf("hash %#x cannot be reached from its home", tag)
				}
			}
		}
		if used != s.n || (used > s.limit && s.lazy == 0) {
			tb.Fatalf("segment has %d cells in use, counts %d, limit %d", used, s.n, s.limit)
		}
		if refs != s.arena.used-s.arena.dead {
			tb.Fatalf("cells refer to %d bytes, the arena counts %d-%d", refs, s.arena.used, s.arena.dead)
		}
		n += used
	}
	if n != t.n || nsegs != t.nsegs {
		tb.Fatalf("%d keys in %d segments, counted %d in %d", n, nsegs, t.n, t.nsegs)
	}
}

// The law: whatever the sequence of operations, a table holds what a Go map holds.
func TestTableIsAMap(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		key   func(n int) []byte
	}{
		{"8", 8, func(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }},
		{"12", 12, func(n int) []byte { return fmt.Appendf(nil, "key%09d", n) }},
		{"variable", 0, func(n int) []byte { return fmt.Appendf(nil, "%*d", n%20, n) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { sequence(rt, c.width, c.key) })
		})
	}
}

func sequence(rt *rapid.T, width int, key func(int) []byte) {
	groups := keygroup.RangeOf(rapid.IntRange(0, 4).Draw(rt, "subtask"), 5)
	expect := rapid.SampledFrom([]int{0, 10, 300}).Draw(rt, "expect")
	table := small(New(Config{KeyWidth: width, ValueWidth: 8, Groups: groups, Pool: &Pool{}, Expect: expect}))
	defer table.Close()
	model := map[string]uint64{}
	hashes := map[string]uint64{}
	mask := rapid.SampledFrom([]uint64{^uint64(0), 0xffff_0000_0000_0003, 0x1}).Draw(rt, "hash mask")
	keys := rapid.IntRange(0, 400)
	hashOf := func(k []byte) uint64 {
		h := xxh3.Hash(k) & mask
		lo, hi := groups.From.First(), (groups.To - 1).Last()
		h = lo + h%(hi-lo)
		hashes[string(k)] = h
		return h
	}
	upsert := func(k []byte, add uint64) {
		v, created := table.Upsert(hashOf(k), k)
		if _, there := model[string(k)]; created == there {
			rt.Fatalf("key %q: created %v, but it was there: %v", k, created, there)
		}
		*(*uint64)(v) += add
		model[string(k)] += add
	}
	rt.Repeat(map[string]func(*rapid.T){
		"upsert": func(rt *rapid.T) {
			from, n := keys.Draw(rt, "from"), rapid.IntRange(1, 40).Draw(rt, "n")
			for i := range n {
				upsert(key(from+i), uint64(i+1))
			}
		},
		"delete": func(rt *rapid.T) {
			from, n := keys.Draw(rt, "from"), rapid.IntRange(1, 40).Draw(rt, "n")
			for i := range n {
				k := key(from + i)
				_, there := model[string(k)]
				if table.Delete(hashOf(k), k) != there {
					rt.Fatalf("Delete(%q) = %v", k, !there)
				}
				delete(model, string(k))
			}
		},
		"batch": func(rt *rapid.T) { batch(rt, table, width, key, hashOf, model) },
		"sweep": func(rt *rapid.T) {
			mod := rapid.Uint64Range(1, 5).Draw(rt, "mod")
			table.Sweep(func(_ uint64, k []byte, v unsafe.Pointer) bool {
				if *(*uint64)(v) != model[string(k)] {
					rt.Fatalf("sweep shows %q twice or with a wrong value", k)
				}
				keep := *(*uint64)(v)%mod != 0
				if !keep {
					delete(model, string(k))
				}
				return keep
			})
		},
		"expect": func(rt *rapid.T) { table.Expect(rapid.IntRange(0, 2000).Draw(rt, "keys")) },
		"reset": func(rt *rapid.T) {
			if rapid.IntRange(0, 3).Draw(rt, "really") == 0 {
				table.Reset()
				clear(model)
			}
		},
		"": func(rt *rapid.T) {
			table.check(rt)
			compare(rt, table, groups, model, hashes)
		},
	})
}

func batch(rt *rapid.T, table *Table, width int, key func(int) []byte, hashOf func([]byte) uint64, model map[string]uint64) {
	n := rapid.IntRange(0, 200).Draw(rt, "n")
	from := rapid.IntRange(0, 400).Draw(rt, "from")
	step := rapid.IntRange(0, 3).Draw(rt, "step")
	var buf []byte
	var hashes, keys64 []uint64
	offsets := []uint32{0}
	for i := range n {
		k := key(from + i*step)
		buf = append(buf, k...)
		offsets = append(offsets, uint32(len(buf)))
		hashes = append(hashes, hashOf(k))
		if width == 8 {
			keys64 = append(keys64, binary.LittleEndian.Uint64(k))
		}
	}
	out, created := make([]unsafe.Pointer, n), make([]bool, n)
	if width == 8 {
		table.UpsertBatch64(hashes, keys64, out, created)
	} else {
		table.UpsertBatch(hashes, buf, offsets, out, created)
	}
	for i := range n {
		k := string(buf[offsets[i]:offsets[i+1]])
		if _, there := model[k]; there == created[i] {
			rt.Fatalf("row %d: created %v, but it was there: %v", i, created[i], there)
		}
		*(*uint64)(out[i]) += 7
		model[k] += 7
	}
}

func compare(rt *rapid.T, table *Table, groups keygroup.Range, model, hashes map[string]uint64) {
	if table.Len() != len(model) {
		rt.Fatalf("Len %d, want %d", table.Len(), len(model))
	}
	for k, want := range model {
		v := table.Lookup(hashes[k], []byte(k))
		if v == nil || *(*uint64)(v) != want {
			rt.Fatalf("key %q is missing or wrong", k)
		}
	}
	mid := groups.From + keygroup.Group(groups.Len()/3)
	seen := map[string]bool{}
	for _, r := range []keygroup.Range{{From: 0, To: mid}, {From: mid, To: keygroup.Count}} {
		table.InGroups(r, func(h uint64, k []byte, v unsafe.Pointer) bool {
			if h != norm(hashes[string(k)]) || !r.ContainsHash(h) || *(*uint64)(v) != model[string(k)] || seen[string(k)] {
				rt.Fatalf("iteration over %v shows %q with hash %#x and value %d", r, k, h, *(*uint64)(v))
			}
			seen[string(k)] = true
			return true
		})
	}
	if len(seen) != len(model) {
		rt.Fatalf("iteration shows %d keys of %d", len(seen), len(model))
	}
}

// The law: a table of blobs holds what a map of byte slices holds, and its arenas do not leak.
func TestBlobsAreAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		width := rapid.SampledFrom([]int{0, 8}).Draw(rt, "width")
		table := small(New(Config{KeyWidth: width, Blobs: true, Pool: &Pool{}}))
		defer table.Close()
		model, counts := map[string][]byte{}, map[string]uint32{}
		key := func(rt *rapid.T) []byte {
			return binary.LittleEndian.AppendUint64(nil, uint64(rapid.IntRange(0, 120).Draw(rt, "key")))
		}
		value := func(rt *rapid.T) []byte {
			n := rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 600)).Draw(rt, "bytes")
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(i * n)
			}
			return b
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				k, v := key(rt), value(rt)
				_, there := model[string(k)]
				if table.PutBytes(xxh3.Hash(k), k, v) == there {
					rt.Fatalf("created is wrong")
				}
				model[string(k)] = v
			},
			"append": func(rt *rapid.T) {
				k, v := key(rt), value(rt)
				n, _ := table.AppendBytes(xxh3.Hash(k), k, v)
				model[string(k)] = append(model[string(k)][:len(model[string(k)]):len(model[string(k)])], v...)
				if counts[string(k)]++; n != counts[string(k)] || table.BlobCount(xxh3.Hash(k), k) != n {
					rt.Fatalf("count %d, want %d", n, counts[string(k)])
				}
			},
			"expect": func(rt *rapid.T) { table.Expect(rapid.IntRange(0, 2000).Draw(rt, "keys")) },
			"delete": func(rt *rapid.T) {
				k := key(rt)
				table.Delete(xxh3.Hash(k), k)
				delete(model, string(k))
				delete(counts, string(k))
			},
			"": func(rt *rapid.T) {
				table.check(rt)
				seen := 0
				table.AllBytes(func(h uint64, k, v []byte) bool {
					want, ok := model[string(k)]
					if !ok || string(want) != string(v) || h != xxh3.Hash(k) {
						rt.Fatalf("key %x has %x, want %x", k, v, want)
					}
					got, _ := table.GetBytes(h, k)
					if string(got) != string(want) {
						rt.Fatalf("GetBytes(%x) = %x, want %x", k, got, want)
					}
					seen++
					return true
				})
				if seen != len(model) {
					rt.Fatalf("%d keys, want %d", seen, len(model))
				}
			},
		})
	})
}

// Hash 0 marks an empty cell, so a key that has it is stored under 1.
func TestHashZero(t *testing.T) {
	table := New(Config{KeyWidth: 8, ValueWidth: 8})
	defer table.Close()
	for k := range uint64(3) {
		v, created := table.Upsert64(0, k)
		if !created {
			t.Fatal("not created")
		}
		*(*uint64)(v) = k + 10
	}
	for k := range uint64(3) {
		if v := table.Lookup64(0, k); v == nil || *(*uint64)(v) != k+10 {
			t.Fatalf("key %d is lost", k)
		}
	}
}

// Keys whose hashes all collide make a table slow, but the directory must not explode.
func TestCollidingHashes(t *testing.T) {
	table := small(New(Config{KeyWidth: 8, ValueWidth: 8}))
	defer table.Close()
	for k := range uint64(2000) {
		table.Upsert64(42, k)
	}
	if table.Len() != 2000 || len(table.dir) > 1024 {
		t.Fatalf("%d keys, directory of %d", table.Len(), len(table.dir))
	}
}

// All memory goes back to the pool, and further tables of the same size take nothing new, but for the one region that may be
// mapped ahead of them.
func TestPoolRecycles(t *testing.T) {
	pool := &Pool{}
	var mapped int64
	for round := range 3 {
		table := New(Config{KeyWidth: 8, ValueWidth: 16, Pool: pool})
		for k := range uint64(200_000) {
			table.Upsert64(hash64(k), k)
		}
		if pool.Stats().InUse < 200_000*32 {
			t.Fatalf("in use: %d bytes", pool.Stats().InUse)
		}
		table.Close()
		s := pool.Stats()
		if s.InUse != 0 {
			t.Fatalf("round %d: %d bytes are still in use", round, s.InUse)
		}
		if round == 0 {
			mapped = s.Mapped
		}
		if s.Mapped > mapped+regionBytes {
			t.Fatalf("round %d: mapped %d, at first %d", round, s.Mapped, mapped)
		}
		table.Reset()
		if v, created := table.Upsert64(7, 7); !created || *(*uint64)(v) != 0 {
			t.Fatal("a reset table must be empty, and its memory zero")
		}
		table.Close()
	}
}

// What is prepared is used before anything else, and is zero.
func TestPrepare(t *testing.T) {
	pool := &Pool{}
	pool.Prepare(5 << 20)
	if s := pool.Stats(); s.InUse != 0 || s.Warm != 6<<20 {
		t.Fatalf("after Prepare: %+v", s)
	}
	b := pool.get(hugeClass)
	for i, w := range unsafe.Slice((*uint64)(b), 1<<hugeClass/8) {
		if w != 0 {
			t.Fatalf("word %d of a prepared block is %x", i, w)
		}
	}
	pool.put(b, hugeClass)
}

// Blocks beyond the limit give their memory back and are zero again when they return.
func TestIdleBlocksAreDropped(t *testing.T) {
	pool := &Pool{IdleMax: 4 << 20}
	var blocks []unsafe.Pointer
	for range 8 {
		b := pool.get(hugeClass)
		*(*uint64)(b) = 1
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		pool.put(b, hugeClass)
	}
	if s := pool.Stats(); s.Warm > 4<<20 && !pool.mu.heap {
		t.Fatalf("%d bytes stay warm, the limit is 4 MiB", s.Warm)
	}
	for range 8 {
		if b := pool.get(hugeClass); *(*uint64)(b) != 0 {
			t.Fatal("a block comes back dirty")
		}
	}
}
