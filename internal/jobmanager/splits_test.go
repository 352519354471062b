package jobmanager

import (
	"slices"
	"testing"

	"github.com/weir-stream/weir/internal/clock"
)

// The request that a reader begins with is answered by the splits that it had; only one that had none is given another.
func TestRestoredReadersAskOnceTheyAreDone(t *testing.T) {
	d := newDispenser(Source{}, 2, nil, clock.Real{})
	d.readers[0].own = true
	asked := func() (out []int) {
		for len(d.requests) > 0 {
			s := <-d.requests
			d.readers[s].asked = false
			out = append(out, s)
		}
		return out
	}
	d.request(0)
	d.request(1)
	if got := asked(); !slices.Equal(got, []int{1}) {
		t.Errorf("at the begin %v are given a new split, want reader 1", got)
	}
	d.request(0)
	d.request(1)
	if got := asked(); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("later %v are given one, want both", got)
	}
}
