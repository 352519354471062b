package event

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCapOf(t *testing.T) {
	for _, c := range []struct {
		size  uintptr
		limit int
		want  int
	}{
		{0, 0, 512}, {8, 0, 512}, {64, 0, 512}, {65, 0, 504}, {80, 0, 409}, {4096, 0, 16}, {1 << 20, 0, 16}, {8, 1, 1}, {8, 1000, 512}, {1 << 20, 2, 2},
	} {
		if got := CapOf(c.size, c.limit); got != c.want {
			t.Errorf("rows of %d bytes, limit %d: %d a batch, want %d", c.size, c.limit, got, c.want)
		}
	}
}

// Laws of CopyTo and Compact: live rows, their times and hashes, in order, as many as fit.
func TestRecordsAgainstTheirModel(t *testing.T) {
	pool := NewPool[string](24)
	rapid.Check(t, func(t *rapid.T) {
		b, dst := pool.Get(), pool.Get()
		defer b.Release()
		defer dst.Release()
		keyed := rapid.Bool().Draw(t, "keyed")
		type row struct {
			s    string
			time int64
			hash uint64
		}
		var all, want []row
		fill := func(to *Records[string], n int) (rows []row) {
			for i := range n {
				r := row{rapid.StringN(0, 3, -1).Draw(t, "s"), int64(i), 0}
				to.Append(r.s, r.time)
				if keyed {
					r.hash = uint64(i) * 7
					to.Hash = append(to.Hash, r.hash)
				}
				rows = append(rows, r)
			}
			return rows
		}
		all = fill(b, rapid.IntRange(0, 24).Draw(t, "rows"))
		want = fill(dst, rapid.IntRange(0, 24).Draw(t, "rows there"))
		live := all
		if rapid.Bool().Draw(t, "selection") {
			live = nil
			sel := b.Scratch()
			for i := range all {
				if rapid.Bool().Draw(t, "live") {
					sel, live = append(sel, int32(i)), append(live, all[i])
				}
			}
			b.Live = sel
		}
		took := b.CopyTo(dst, nil)
		if room := 24 - len(want); took != min(room, len(live)) || b.Len() != len(live) {
			t.Fatalf("took %d of %d rows, room for %d, Len %d", took, len(live), room, b.Len())
		}
		want = append(want, live[:took]...)
		check := func(what string, b *Records[string], want []row) {
			var got []row
			for i, s := range b.Rows {
				r := row{s, b.Times[i], 0}
				if keyed {
					r.hash = b.Hashes()[i]
				}
				got = append(got, r)
			}
			if !slices.Equal(got, want) || len(b.Times) != len(b.Rows) {
				t.Fatalf("%s: got %v, want %v", what, got, want)
			}
		}
		check("copied", dst, want)
		b.Compact()
		if b.Sel() != nil {
			t.Fatal("a selection is left")
		}
		check("compacted", b, live)
	})
}

// A pool hands out the batch that came back last, empty, and does not keep what its rows point to.
func TestPool(t *testing.T) {
	p := NewPool[*int](4)
	a, b := p.Get(), p.Get()
	x := 7
	a.Append(&x, 3)
	a.Hash = append(a.Hash, 9)
	a.Live = append(a.Scratch(), 0)
	a.Release()
	b.Release()
	if got := p.Get(); got != b {
		t.Error("not the last one")
	}
	if got := p.Get(); got != a {
		t.Error("not the first one")
	}
	if a.Len() != 0 || a.Sel() != nil || a.Hashes() != nil || a.Room() != 4 || len(a.Times) != 0 {
		t.Error("a batch from the pool is not empty")
	}
	if a.Rows[:1][0] != nil {
		t.Error("the pool keeps a pointer alive")
	}
	if n := a.New().(*Records[*int]); n.Room() != 4 || n.Pool() != p {
		t.Error("New is of another pool")
	}
}

func TestPoolIsBounded(t *testing.T) {
	p := NewPool[int](1)
	var all []*Records[int]
	for range poolFree + 10 {
		all = append(all, p.Get())
	}
	for _, r := range all {
		r.Release()
	}
	if len(p.free) != poolFree {
		t.Errorf("the pool keeps %d batches", len(p.free))
	}
}

func TestKinds(t *testing.T) {
	if KindBarrier.String() != "barrier" || Kind(99).String() != "kind(99)" {
		t.Error("names of kinds")
	}
	if hasPointers[struct {
		A int
		B [2]float64
	}]() || !hasPointers[struct{ A string }]() || !hasPointers[[1]*int]() || hasPointers[[0]*int]() {
		t.Error("hasPointers")
	}
}
