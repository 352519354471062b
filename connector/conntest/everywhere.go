package conntest

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// killsMax bounds the points at which everywhere kills.
const killsMax = 60

// everywhere kills the source before its first step, before its second, and so on: between any two polls, and before and
// behind each assignment.
func (c SourceCase[T]) everywhere(t *testing.T) {
	ps := c.parallelisms(t)
	for kill := range killsMax {
		rnd := rand.New(rand.NewPCG(7, 1)) // the same steps in each run
		r := c.start(t, ps[len(ps)-1], nil)
		for range kill {
			if r.over() {
				return // it has been killed everywhere
			}
			r.random(rnd, 1)
		}
		cut := r.cut(nil)
		r.random(rnd, 2) // is lost
		r.stop()
		p := ps[kill%len(ps)]
		r = c.start(t, p, cut)
		for i, s := range cut.splits {
			r.add(i%p, s)
		}
		r.before = len(cut.rows)
		for !r.over() {
			r.random(rnd, 1)
		}
		r.stop()
		c.match(t, fmt.Sprintf("killed before step %d", kill), append(cut.rows, r.rows...), false)
		if t.Failed() {
			return
		}
	}
}
