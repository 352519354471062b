package keygroup_test

import (
	"testing"

	"github.com/weir-stream/weir/internal/keygroup"
)

func TestOfTakesTheTopFifteenBits(t *testing.T) {
	for _, c := range []struct {
		hash uint64
		want keygroup.Group
	}{
		{0, 0},
		{1<<49 - 1, 0},
		{1 << 49, 1},
		{0x8000_0000_0000_0000, 16384},
		{0xffff_ffff_ffff_ffff, 32767},
		{0x2d06_8005_38d3_94c2, 5763}, // xxh3-64 of nothing: 0x2d06 = 11526, without its lowest bit 5763
	} {
		if got := keygroup.Of(c.hash); got != c.want {
			t.Errorf("Of(%#x) = %d, want %d", c.hash, got, c.want)
		}
		if !(c.want.First() <= c.hash && c.hash <= c.want.Last()) {
			t.Errorf("hash %#x is not in [First, Last] of its group %d", c.hash, c.want)
		}
	}
}

// Worked out by hand from [i*32768/p, (i+1)*32768/p).
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		i, p     int
		from, to keygroup.Group
	}{
		{0, 1, 0, 32768},
		{0, 2, 0, 16384}, {1, 2, 16384, 32768},
		{0, 3, 0, 10922}, {1, 3, 10922, 21845}, {2, 3, 21845, 32768},
		{0, 7, 0, 4681}, {3, 7, 14043, 18724}, {6, 7, 28086, 32768},
		{99, 100, 32440, 32768},
		{32767, 32768, 32767, 32768},
	} {
		if got := keygroup.RangeOf(c.i, c.p); got != (keygroup.Range{From: c.from, To: c.to}) {
			t.Errorf("RangeOf(%d, %d) = %v, want [%d,%d)", c.i, c.p, got, c.from, c.to)
		}
	}
}

// The law: the ranges of the p subtasks cover all groups in order without overlap, and Owner is the inverse.
func TestOwnerAgreesWithRange(t *testing.T) {
	ps := []int{1000, 1023, 1024, 4096, 9999, 16384, 20000, 32767, 32768}
	for p := 1; p <= 300; p++ {
		ps = append(ps, p)
	}
	for _, p := range ps {
		table := keygroup.OwnerTable(p)
		next := keygroup.Group(0)
		for i := range p {
			r := keygroup.RangeOf(i, p)
			if r.From != next || r.Len() == 0 {
				t.Fatalf("p=%d: range %d is %v, want it to begin at %d and not be empty", p, i, r, next)
			}
			next = r.To
			for g := r.From; g < r.To; g++ {
				if o := keygroup.Owner(g, p); o != i {
					t.Fatalf("Owner(%d, %d) = %d, want %d", g, p, o, i)
				}
				if o := table.Of(g.Last()); o != i {
					t.Fatalf("p=%d: table says %d for group %d, want %d", p, o, g, i)
				}
				if o := keygroup.OwnerOfHash(g.First(), p); o != i {
					t.Fatalf("OwnerOfHash of group %d at %d = %d, want %d", g, p, o, i)
				}
			}
		}
		if next != keygroup.Count {
			t.Fatalf("p=%d: ranges end at %d", p, next)
		}
	}
}

// The law: group g is in exactly one share of the new owner, and that share names the old owner.
func TestRescale(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {1, 5}, {5, 1}, {3, 7}, {7, 2}, {2, 3}, {128, 127}, {300, 1000}} {
		plan := keygroup.Rescale(c[0], c[1])
		if len(plan) != c[1] {
			t.Fatalf("Rescale(%d, %d) has %d entries", c[0], c[1], len(plan))
		}
		for g := range keygroup.Group(keygroup.Count) {
			found := 0
			for _, s := range plan[keygroup.Owner(g, c[1])] {
				if s.Groups.Contains(g) {
					found++
					if s.Old != keygroup.Owner(g, c[0]) {
						t.Fatalf("Rescale(%d, %d): group %d is taken from %d", c[0], c[1], g, s.Old)
					}
				}
			}
			if found != 1 {
				t.Fatalf("Rescale(%d, %d): group %d is in %d shares", c[0], c[1], g, found)
			}
		}
	}
	got := keygroup.Rescale(3, 2)[0]
	want := []keygroup.Share{{Old: 0, Groups: keygroup.Range{From: 0, To: 10922}}, {Old: 1, Groups: keygroup.Range{From: 10922, To: 16384}}}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("Rescale(3, 2)[0] = %v, want %v", got, want)
	}
}

func TestIntersect(t *testing.T) {
	r := func(a, b keygroup.Group) keygroup.Range { return keygroup.Range{From: a, To: b} }
	for _, c := range []struct{ a, b, want keygroup.Range }{
		{r(0, 10), r(5, 20), r(5, 10)},
		{r(0, 10), r(10, 20), r(0, 0)},
		{r(5, 6), keygroup.All(), r(5, 6)},
	} {
		if got := c.a.Intersect(c.b); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func BenchmarkOwner(b *testing.B) {
	h, s := uint64(1), 0
	b.Run("arithmetic", func(b *testing.B) {
		for b.Loop() {
			h = h*0x9E3779B97F4A7C15 + 1
			s += keygroup.OwnerOfHash(h, 7)
		}
	})
	b.Run("table", func(b *testing.B) {
		t := keygroup.OwnerTable(7)
		for b.Loop() {
			h = h*0x9E3779B97F4A7C15 + 1
			s += t.Of(h)
		}
	})
	_ = s
}
