package weirtest

import (
	"fmt"
	"testing"

	"github.com/weir-stream/weir"
)

// Variants runs the steps of a test with a harness in several ways, each a subtest: with batches of one row, of two, as
// large as they get, and cut at random. steps passes how to NewHarness and returns what came out; it must be the same rows
// each time, in any order. How rows are cut into batches depends on load and on luck, so a result that depends on it is
// wrong.
func Variants[R any](t *testing.T, steps func(t *testing.T, how Option) []R) {
	t.Helper()
	variants := []variant{
		{"batch=1", BatchSize(1)}, {"batch=2", BatchSize(2)}, {"batch=full", BatchSize(0)},
		{"random=1", RandomBatches(1)}, {"random=2", RandomBatches(2)}, {"random=3", RandomBatches(3)},
	}
	compare(t, variants, func(t *testing.T, v variant) []R { return steps(t, v.how) })
}

// Matrix runs the whole job that build describes at parallelism 1, 2 and 3, with operators chained and each in its own
// task, with batches of one row, of two and full ones: 18 subtests, each on virtual time (see Run). The stream that build
// returns must have the same rows each time, in any order. check, if it is not nil, looks at the rows of each run.
//
// build is called for each run, and must make its sources anew.
func Matrix[R any](t *testing.T, build func(env *weir.Env) weir.Stream[R], check func(t *testing.T, rows []R), opts ...Option) {
	t.Helper()
	var variants []variant
	for p := 1; p <= 3; p++ {
		for _, chained := range []bool{true, false} {
			for _, batch := range []int{1, 2, 0} {
				how := func(o *options) {
					for _, opt := range append(opts[:len(opts):len(opts)], Parallelism(p), Chaining(chained), BatchSize(batch)) {
						opt(o)
					}
				}
				variants = append(variants, variant{matrixName(p, chained, batch), how})
			}
		}
	}
	compare(t, variants, func(t *testing.T, v variant) []R {
		var out *Collected[R]
		Run(t, func(env *weir.Env) error {
			out = Collect(build(env))
			return nil
		}, v.how)
		rows := out.Values()
		if check != nil {
			check(t, rows)
		}
		return rows
	})
}

func matrixName(p int, chained bool, batch int) string {
	chain, size := "chained", "full"
	if !chained {
		chain = "unchained"
	}
	if batch > 0 {
		size = fmt.Sprint(batch)
	}
	return fmt.Sprintf("parallelism=%d,%s,batch=%s", p, chain, size)
}

type variant struct {
	name string
	how  Option
}

// compare runs all variants and compares their rows with those of the first.
func compare[R any](t *testing.T, variants []variant, run func(t *testing.T, v variant) []R) {
	t.Helper()
	var first []string
	for i, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			rows := renderAll(run(t, v))
			if i == 0 {
				first = rows
				return
			}
			if d := diffInBag(first, rows); d != "" {
				t.Errorf("the result differs from that of %s:\n%s", variants[0].name, d)
			}
		})
		if i == 0 && first == nil {
			return // there is nothing to compare with
		}
	}
}
