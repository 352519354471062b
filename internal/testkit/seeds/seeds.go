package seeds

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Run calls f once a seed, with a source of randomness that depends on the seed alone. few is how many seeds an
// ordinary run of the tests can afford. A failing seed ends the run.
func Run(t *testing.T, few int, f func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for _, seed := range List(few) {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			f(t, rand.New(rand.NewPCG(seed, 0)))
		})
		if !ok {
			t.Fatalf("to replay: WEIR_SEED=%d go test -run '^%s$'", seed, t.Name())
		}
	}
}

// List lists the seeds to try: few of them, or those that the environment asks for.
func List(few int) []uint64 {
	if s := os.Getenv("WEIR_SEED"); s != "" {
		return []uint64{mustParse("WEIR_SEED", s)}
	}
	first, n := uint64(1), few
	if s := os.Getenv("WEIR_SEEDS"); s != "" {
		first, n = rand.Uint64N(1<<40), int(mustParse("WEIR_SEEDS", s))
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = first + uint64(i)
	}
	return list
}

func mustParse(name, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		panic(fmt.Sprintf("%s=%q is not a number", name, text))
	}
	return n
}
