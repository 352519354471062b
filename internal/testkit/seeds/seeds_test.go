package seeds_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weir-stream/weir/internal/testkit/seeds"
)

func draw(t *testing.T, few int) (got []uint64) {
	seeds.Run(t, few, func(_ *testing.T, r *rand.Rand) { got = append(got, r.Uint64()) })
	return got
}

func TestRun(t *testing.T) {
	t.Setenv("WEIR_SEED", "")
	t.Setenv("WEIR_SEEDS", "")
	few := draw(t, 3)
	if len(few) != 3 || few[0] == few[1] || !slices.Equal(few, draw(t, 3)) {
		t.Errorf("three seeds, the same in each run: %v", few)
	}
	t.Setenv("WEIR_SEEDS", "7")
	if got := draw(t, 3); len(got) != 7 {
		t.Errorf("%d seeds, want 7", len(got))
	}
	t.Setenv("WEIR_SEED", "2")
	if got := draw(t, 3); len(got) != 1 || got[0] != few[1] {
		t.Errorf("seed 2 alone gives %v, before it gave %d", got, few[1])
	}
}
