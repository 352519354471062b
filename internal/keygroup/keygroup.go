package keygroup

import "fmt"

const (
	// Bits is the number of top bits of a hash that name its group.
	Bits = 15
	// Count is the number of key groups, and so the largest parallelism of a keyed operator.
	Count = 1 << Bits
	// Shift moves a hash to its group.
	Shift = 64 - Bits
)

// Group is the number of a key group, in [0, Count). As the end of a range it may also be Count.
type Group uint16

// Of returns the group of a key with this hash.
func Of(hash uint64) Group { return Group(hash >> Shift) }

// First returns the smallest hash that belongs to g.
func (g Group) First() uint64 { return uint64(g) << Shift }

// Last returns the largest hash that belongs to g.
func (g Group) Last() uint64 { return uint64(g)<<Shift | (1<<Shift - 1) }

// Owner returns the subtask that owns group g at parallelism p. It is the inverse of RangeOf. p must be in [1, Count].
func Owner(g Group, p int) int { return ((int(g)+1)*p - 1) / Count }

// Range is the groups [From, To). The zero Range is empty.
type Range struct {
	From, To Group
}

// All is the range of every group.
func All() Range { return Range{0, Count} }

// RangeOf returns the groups that subtask i of p owns. p must be in [1, Count] and i in [0, p).
func RangeOf(i, p int) Range {
	return Range{Group(i * Count / p), Group((i + 1) * Count / p)}
}

// Len returns the number of groups in r.
func (r Range) Len() int {
	if r.To <= r.From {
		return 0
	}
	return int(r.To - r.From)
}

// Contains reports whether g is in r.
func (r Range) Contains(g Group) bool { return g >= r.From && g < r.To }

// ContainsHash reports whether the group of hash is in r.
func (r Range) ContainsHash(hash uint64) bool { return r.Contains(Of(hash)) }

// Intersect returns the groups that are in both ranges.
func (r Range) Intersect(o Range) Range {
	x := Range{max(r.From, o.From), min(r.To, o.To)}
	if x.To <= x.From {
		return Range{}
	}
	return x
}

// String writes the range as [from,to).
func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.From, r.To) }

// Share says which part of an old subtask's groups goes to a new subtask.
type Share struct {
	Old    int
	Groups Range
}

// Rescale returns, for each new subtask, the old subtasks whose groups it takes over, in ascending order, each with
// the range that is taken. The ranges of one new subtask are adjacent and add up to its own range.
func Rescale(oldP, newP int) [][]Share {
	out := make([][]Share, newP)
	for i := range out {
		r := RangeOf(i, newP)
		first, last := Owner(r.From, oldP), Owner(r.To-1, oldP)
		out[i] = make([]Share, 0, last-first+1)
		for o := first; o <= last; o++ {
			out[i] = append(out[i], Share{Old: o, Groups: RangeOf(o, oldP).Intersect(r)})
		}
	}
	return out
}

// Owners is the owner of every group at one parallelism: one load in the place of a multiplication and a division. It
// is 64 KiB, so it pays only where it stays in the cache; Owner costs about two nanoseconds.
type Owners [Count]uint16

// OwnerTable returns the owners at parallelism p, which must be in [1, Count].
func OwnerTable(p int) *Owners {
	t := new(Owners)
	for i := range p {
		r := RangeOf(i, p)
		for g := r.From; g < r.To; g++ {
			t[g] = uint16(i)
		}
	}
	return t
}

// Of returns the owner of the key with this hash.
func (t *Owners) Of(hash uint64) int { return int(t[hash>>Shift]) }

// OwnerOfHash is Owner(Of(hash), p): the subtask at parallelism p to which the key with this hash belongs. Count is a
// power of two, so the division is a shift.
func OwnerOfHash(hash uint64, p int) int {
	return int(((hash>>Shift+1)*uint64(p) - 1) >> Bits)
}
