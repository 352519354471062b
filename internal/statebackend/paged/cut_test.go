package paged

import (
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/weir-stream/weir/internal/keygroup"
)

// A cut is readable after its table was reset and closed, and the last release gives all memory back.
func TestCutOutlivesTable(t *testing.T) {
	pool := &Pool{}
	for _, cfg := range []Config{{KeyWidth: 8, ValueWidth: 8, Pool: pool}, {Blobs: true, Pool: pool}} {
		table := small(New(cfg))
		put := func(k, v uint64) {
			key := binary.LittleEndian.AppendUint64(nil, k)
			if cfg.Blobs {
				table.PutBytes(hash64(k), key, fmt.Append(nil, v))
				return
			}
			p, _ := table.Upsert(hash64(k), key)
			*(*uint64)(p) = v
		}
		for k := range uint64(500) {
			put(k, k)
		}
		first := table.Cut()
		for k := range uint64(700) {
			put(k, k+1)
		}
		second := table.Cut()
		table.Reset()
		put(3, 9)
		third := table.Cut()
		table.Close()
		for i, c := range []struct {
			cut    *FrozenTable
			n, add uint64
		}{{second, 700, 1}, {first, 500, 0}, {third, 1, 6}} {
			seen := uint64(0)
			c.cut.Each(keygroup.All(), func(_ uint64, key, value []byte) bool {
				k := binary.LittleEndian.Uint64(key)
				want := string(binary.LittleEndian.AppendUint64(nil, k+c.add))
				if cfg.Blobs {
					want = fmt.Sprint(k + c.add)
				}
				if string(value) != want {
					t.Fatalf("cut %d: key %d has %x", i, k, value)
				}
				seen++
				return true
			})
			if seen != c.n || c.cut.Len() != int(c.n) {
				t.Fatalf("cut %d: %d keys, Len %d, want %d", i, seen, c.cut.Len(), c.n)
			}
		}
		for _, cut := range []*FrozenTable{second, third, first} {
			if pool.Stats().InUse == 0 {
				t.Fatal("the memory of a cut is given back before its release")
			}
			cut.Release()
		}
		if s := pool.Stats(); s.InUse != 0 {
			t.Fatalf("%d bytes are still in use", s.InUse)
		}
	}
}

// When the last cut is gone, a table notes changes no more.
func TestMarksEnd(t *testing.T) {
	table := New(Config{KeyWidth: 8, ValueWidth: 8, Pool: &Pool{}})
	defer table.Close()
	for k := range uint64(100) {
		table.Upsert64(hash64(k), k)
	}
	cut := table.Cut()
	table.Upsert64(hash64(1), 1)
	n := 0
	cut.Drain(func(uint64, []byte, []byte) bool { n++; return true })
	cut.Release()
	for k := range uint64(3) {
		table.Upsert64(hash64(k+10), k+10)
	}
	if n != 100 || table.marks {
		t.Fatalf("%d keys in the cut; still marking: %v", n, table.marks)
	}
	out := make([]unsafe.Pointer, 1)
	if table.UpsertBatch64([]uint64{hash64(7)}, []uint64{7}, out, nil) != 0 {
		t.Fatal("a key is lost")
	}
}
