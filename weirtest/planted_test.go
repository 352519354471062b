package weirtest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/weirtest"
)

// sharesAVariable is the classic mistake: two functions speak to each other through a variable. With one row a batch each
// row passes through both before the next comes; with more, the first function sees the whole batch first.
func sharesAVariable(in weir.Stream[int]) weir.Stream[int] {
	last := 0
	return in.Map(func(v int) int {
		last = v
		return v
	}).Filter(func(v int) bool { return v == last })
}

func numbers(n int) (rows []weirtest.Row[int]) {
	for i := range n {
		rows = append(rows, weirtest.At(i, at(i)))
	}
	return rows
}

// The bodies of tests that must fail, by name. TestPlantedBugsAreFound runs each in a process of its own.
var planted = map[string]func(t *testing.T){
	"variants": func(t *testing.T) {
		weirtest.Variants(t, func(t *testing.T, how weirtest.Option) []int {
			h := weirtest.NewHarness(t, sharesAVariable, how)
			h.PushRows(numbers(4)...)
			return h.Output()
		})
	},
	"matrix": func(t *testing.T) {
		weirtest.Matrix(t, func(env *weir.Env) weir.Stream[int] {
			return sharesAVariable(weirtest.SourceOf("numbers", numbers(4)...).Stream(env))
		}, nil)
	},
	"parallelism": func(t *testing.T) {
		weirtest.Matrix(t, func(env *weir.Env) weir.Stream[int] {
			return weirtest.SourceOf("numbers", numbers(4)...).Stream(env).Rebalance().
				Process("count", func() weir.ProcessFunc[int, int] { return &counter{} })
		}, nil)
	},
	"equal": func(t *testing.T) { weirtest.Equal(t, []int{1, 2, 4, 3}, []int{1, 2, 3, 4}) },
	"same":  func(t *testing.T) { weirtest.Same(t, []string{"a", "b", "b", "b"}, []string{"b", "a", "c"}) },
	"failure": func(t *testing.T) {
		weirtest.NewHarness(t, func(in weir.Stream[int]) weir.Stream[int] { return in.Map(divide) }).Push(0, at(1))
	},
	"no tests": func(t *testing.T) { weirtest.Begin(t, func(*weir.Env) error { return nil }) },
	"bad plan": func(t *testing.T) {
		weirtest.NewHarness(t, func(in weir.Stream[int]) weir.Stream[int] { return in.Filter(nil) })
	},
}

func divide(v int) int { return 10 / v }

// counter numbers the rows of its subtask, as if there were only one.
type counter struct{ n int }

func (c *counter) Process(_ *weir.Context, _ int, out weir.Out[int]) error {
	c.n++
	out.Emit(c.n)
	return nil
}

func TestPlantedBugsAreFound(t *testing.T) {
	if name := os.Getenv("WEIRTEST_PLANTED"); name != "" {
		planted[name](t)
		return
	}
	for name, want := range map[string][]string{
		"variants":    {"FAIL: TestPlantedBugsAreFound/batch=full", "differs from that of batch=1", "- 0\n", "- 1\n", "- 2\n", "(- missing, + too many; 1 rows, wanted 4)"},
		"matrix":      {"FAIL: TestPlantedBugsAreFound/parallelism=1,chained,batch=full", "differs from that of parallelism=1,chained,batch=1"},
		"parallelism": {"FAIL: TestPlantedBugsAreFound/parallelism=2", "+ 1", "- 3"},
		"equal":       {"the same rows in another order, from row 2 on:", "- 3\n", "+ 4\n"},
		"same":        {`+ "b"   (2 times)`, `- "c"`},
		"failure":     {"the job has failed", "divide by zero", "row"},
		"no tests":    {"call it within synctest.Test, or use Run"},
		"bad plan":    {"the job cannot be run", "the function passed to Filter is nil", "planted_test.go:"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestPlantedBugsAreFound$", "-test.v")
			cmd.Env = append(os.Environ(), "WEIRTEST_PLANTED="+name)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Errorf("the test has passed:\n%s", out)
			}
			text := strings.ReplaceAll(string(out), "        ", "") // how go test indents
			for _, w := range want {
				if !strings.Contains(text, w) {
					t.Errorf("the output lacks %q:\n%s", w, out)
				}
			}
		})
	}
}
