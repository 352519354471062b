package shapes

import (
	"fmt"
	"slices"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/window"
)

// bill is what the second input of joins holds: rides of two zones have none, and zone "none" has no rides.
type bill struct {
	Ride int64
	Zone string
	At   time.Time
	Note *string
}

func allBills() (out []bill) {
	for _, r := range allRides() {
		if r.ID%4 != 0 {
			continue
		}
		b := bill{r.ID, r.Zone, r.At.Add(time.Duration(r.ID%5) * time.Minute), r.Note}
		if r.Zone == "z3" {
			b.Zone = "none"
		}
		out = append(out, b)
	}
	return out
}

func bills(env *weir.Env, p pipe) weir.KeyedStream[string, bill] {
	*p.sources++
	s := weir.From(env, p.in(fmt.Sprint("bills", *p.sources)), chunks(allBills()), weir.EventTime(func(b bill) time.Time { return b.At }, weir.OutOfOrder(time.Hour)))
	return s.Parallelism(1).KeyBy(func(b bill) string { return b.Zone })
}

// match is a pair with its rows in their types.
type match = weir.Pair[*ride, *bill]

func matchText(m match) string {
	left, right := "-", "-"
	if m.First != nil {
		left = m.First.short()
	}
	if m.Second != nil {
		right = fmt.Sprint(m.Second.Ride, m.Second.Note == nil)
	}
	return left + " | " + right
}

func pair(a ride, b bill) match { return match{First: &a, Second: &b} }

func leftPair(a ride, b *bill) match { return pairOf(&a, b) }

func rightPair(a *ride, b bill) match { return pairOf(a, &b) }

// pairOf copies what is borrowed.
func pairOf(a *ride, b *bill) (m match) {
	if a != nil {
		r := *a
		m.First = &r
	}
	if b != nil {
		c := *b
		m.Second = &c
	}
	return m
}

// joined is a nested loop over all rows. key says when two rows meet.
func joined(meet func(a ride, b bill) bool, leftOuter, rightOuter bool) func() []string {
	return func() (out []string) {
		met := map[int64]bool{}
		for _, a := range allRides() {
			found := false
			for _, b := range allBills() {
				if a.Zone == b.Zone && meet(a, b) {
					found, met[b.Ride] = true, true
					out = append(out, matchText(pair(a, b)))
				}
			}
			if !found && leftOuter {
				out = append(out, matchText(pairOf(&a, nil)))
			}
		}
		for _, b := range allBills() {
			if !met[b.Ride] && rightOuter {
				out = append(out, matchText(pairOf(nil, &b)))
			}
		}
		return out
	}
}

func joins() []pipeline {
	six := window.Tumbling(6 * time.Hour)
	sameSix := func(a ride, b bill) bool { return a.At.Truncate(6*time.Hour) == b.At.Truncate(6*time.Hour) }
	near := func(a ride, b bill) bool { d := b.At.Sub(a.At); return d >= -time.Hour && d <= 2*time.Hour }
	type byWindow = weir.WindowJoin[string, ride, bill]
	type byInterval = weir.IntervalJoin[string, ride, bill]
	inWindow := func(name string, left, right bool, op func(byWindow) weir.Stream[match]) pipeline {
		return pipeline{name, func(env *weir.Env, p pipe) {
			show(op(byZone(env, p).JoinWindow(p.in("join"), bills(env, p), six)), p, matchText)
		}, joined(sameSix, left, right)}
	}
	inInterval := func(name string, left, right bool, op func(byInterval) weir.Stream[match]) pipeline {
		return pipeline{name, func(env *weir.Env, p pipe) {
			show(op(byZone(env, p).JoinInterval(p.in("join"), bills(env, p), -time.Hour, 2*time.Hour)), p, matchText)
		}, joined(near, left, right)}
	}
	return []pipeline{
		inWindow("windowInner", false, false, func(j byWindow) weir.Stream[match] { return j.Inner(pair) }),
		inWindow("windowLeft", true, false, func(j byWindow) weir.Stream[match] { return j.LeftOuter(leftPair) }),
		inWindow("windowRight", false, true, func(j byWindow) weir.Stream[match] { return j.RightOuter(rightPair) }),
		inWindow("windowFull", true, true, func(j byWindow) weir.Stream[match] { return j.FullOuter(pairOf) }),
		inInterval("intervalInner", false, false, func(j byInterval) weir.Stream[match] { return j.Inner(pair) }),
		inInterval("intervalLeft", true, false, func(j byInterval) weir.Stream[match] { return j.LeftOuter(leftPair) }),
		inInterval("intervalRight", false, true, func(j byInterval) weir.Stream[match] { return j.RightOuter(rightPair) }),
		inInterval("intervalFull", true, true, func(j byInterval) weir.Stream[match] { return j.FullOuter(pairOf) }),
		inInterval("intervalProcess", false, false, func(j byInterval) weir.Stream[match] {
			return j.Process(func(a ride, b bill, at weir.Match, out weir.Out[match]) error {
				if !at.Left.Equal(a.At) || !at.Right.Equal(b.At) {
					return fmt.Errorf("the times are %v, want %v and %v", at, a.At, b.At)
				}
				out.Emit(pair(a, b))
				return nil
			})
		}),
		{"coGroup", func(env *weir.Env, p pipe) {
			type group = weir.Pair[[]ride, []bill]
			groups := byZone(env, p).JoinWindow(p.in("join"), bills(env, p), six).
				CoGroup(func(_ string, _ window.Window, left []ride, right []bill, out weir.Out[group]) {
					out.Emit(group{First: slices.Clone(left), Second: slices.Clone(right)})
				})
			show(groups, p, func(g group) string {
				var text string
				for _, r := range g.First {
					text += r.short() + ", "
				}
				for _, b := range g.Second {
					text += fmt.Sprint("| ", b.Ride)
				}
				return text
			})
		}, func() (out []string) {
			for _, zone := range []string{"z0", "z1", "z2", "z3", "z4", "z5", "z6", "none"} {
				for at := start; at.Before(start.AddDate(0, 0, 4)); at = at.Add(6 * time.Hour) {
					text := ""
					for _, r := range allRides() {
						if r.Zone == zone && r.At.Truncate(6*time.Hour).Equal(at) {
							text += r.short() + ", "
						}
					}
					for _, b := range allBills() {
						if b.Zone == zone && b.At.Truncate(6*time.Hour).Equal(at) {
							text += fmt.Sprint("| ", b.Ride)
						}
					}
					if text != "" {
						out = append(out, text)
					}
				}
			}
			return out
		}},
	}
}
