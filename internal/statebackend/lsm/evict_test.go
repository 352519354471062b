package lsm

import (
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/weir-stream/weir/internal/statebackend"
)

// A visit of many keys, each once, does not drive out those that are used again and again; and a key that comes again soon after it
// was evicted stays longer than one that was never there.
func TestRowsThatAreUsedStay(t *testing.T) {
	s := testStore(t, 1<<20)
	b, err := s.Backend(statebackend.Config{KeyWidth: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.rows.limit = func() int64 { return 1000 * 192 } // rows of 128 bytes and what they cost
	state, err := b.Value(statebackend.Descriptor{Name: "v", Width: 100})
	if err != nil {
		t.Fatal(err)
	}
	v := state.(*valueState)
	cached := func(from, n int) (have int) {
		for i := range n {
			row := v.prefix(key(from+i), nil)
			if id := b.rows.find(xxh3.Hash(row), row); id != 0 {
				have++
			}
		}
		return have
	}
	const hot, scan = 500, 1_000_000
	for round := range 20 {
		for i := range hot {
			v.Ref(key(i), nil)
		}
		for i := range 200 { // fresh ones, so that something is evicted
			v.Ref(key(scan+round*200+i), nil)
		}
	}
	for i := range 20_000 {
		v.Ref(key(2*scan+i), nil)
	}
	if got := cached(0, hot); got < hot*9/10 {
		t.Errorf("after a visit of 20,000 other keys %d of %d that were used much are cached", got, hot)
	}
	if n := b.rows.count; n < 900 || n > 1010 {
		t.Errorf("%d rows are cached, 1000 have room", n)
	}
	// The last visited are ghosts or young now. Those that are evicted and asked for again are old at once: a second visit of
	// others does not drive them out, as long as the old ones have room.
	again := 2*scan + 20_000 - 300
	for i := range 100 {
		v.Ref(key(again+i), nil)
	}
	for i := range 300 {
		v.Ref(key(3*scan+i), nil)
	}
	if got := cached(again, 100); got < 90 {
		t.Errorf("%d of 100 ghosts that came again are cached", got)
	}
}
