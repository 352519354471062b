package weirtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/internal/fs"
)

// Chaos shows that a job survives. It runs the whole job that build describes undisturbed, and then once for each seed with
// checkpoints and with what goes wrong in a real cluster, at places that the seed chooses: tasks fail, all processes lose
// their power and the job goes on from its storage at another parallelism, the storage is slow, refuses, forgets, tears or is
// full, messages come twice. The stream that build returns must have the same rows each time, each once, in any order.
//
//	func TestSurvives(t *testing.T) {
//		weirtest.Chaos(t, func(env *weir.Env) weir.Stream[Total] {
//			return totals(weir.From(env, "orders", slice.Of(orders...)))
//		}, weirtest.Seeds(20)...)
//	}
//
// A seed that fails is printed with the shortest schedule that still fails.
// build is called for each start, and must make its sources anew; they must be ones that can be read again from a position,
// such as files, slices and generators. Everything happens on virtual time, in memory (see Run). A batch of a source takes
// a millisecond of it.
func Chaos[R any](t *testing.T, build func(env *weir.Env) weir.Stream[R], from ...uint64) {
	t.Helper()
	if len(from) == 0 {
		from = Seeds(10)
	}
	trial[R]{build: build}.run(t, from)
}

// trial is a job under disturbances, and what is asked of it.
type trial[R any] struct {
	build func(env *weir.Env) weir.Stream[R]
	// change changes the schedule that a seed has drawn; nil leaves it.
	change func(s *schedule, length time.Duration)
	// wrong says what is wrong with a run, "" if nothing is; nil compares its rows with those of the undisturbed run.
	wrong func(o outcome) string
	// files gives the job a file system that outlives it.
	files bool
}

func (tr trial[R]) run(t *testing.T, from []uint64) {
	t.Helper()
	calm := tr.calm(t)
	for _, seed := range from {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := tr.draw(seed, calm)
			wrong := tr.try(t, s, calm)
			if wrong == "" {
				return
			}
			least := shorten(s, func(s schedule) bool { return tr.try(t, s, calm) != "" })
			if w := tr.try(t, least, calm); w != "" {
				wrong = w
			}
			t.Fatalf("weirtest: %s\n\nThe shortest schedule that fails, of %sTo run it alone: weirtest.Chaos(t, build, %d)", wrong, least, seed)
		})
	}
}

// calm runs the job undisturbed.
func (tr trial[R]) calm(t *testing.T) outcome {
	t.Helper()
	o := disturb(t, undisturbed, tr)
	if o.err != nil {
		t.Fatalf("weirtest: the job has failed although nothing disturbed it: %v", o.err)
	}
	if wrong := o.against(o, tr.wrong); wrong != "" {
		t.Fatalf("weirtest: although nothing disturbed the job, %s", wrong)
	}
	return o
}

func (tr trial[R]) draw(seed uint64, calm outcome) schedule {
	s := draw(seed, calm.length)
	if tr.change != nil {
		tr.change(&s, calm.length)
	}
	return s
}

// try says what is wrong with a run under a schedule.
func (tr trial[R]) try(t *testing.T, s schedule, calm outcome) string {
	return disturb(t, s, tr).against(calm, tr.wrong)
}

// undisturbed is the schedule without faults and checkpoints.
var undisturbed = schedule{parallelism: 1, batch: 7, chained: true, backend: "paged", concurrent: 1, retained: 1, tolerable: -1}

// Seeds returns the seeds 1 to n.
func Seeds(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i + 1)
	}
	return out
}

// outcome is what a run has left.
type outcome struct {
	rows   []string
	length time.Duration
	err    error
	// other says what else was wrong, "" if nothing was.
	other string
	// forks are the jobs that were started from savepoints of the run.
	forks []outcome
	files *fs.Mem // nil if the job has none
	// happened counts what has happened.
	happened map[string]int
}

// against says how the outcome differs from that of the undisturbed run, "" if it does not.
func (o outcome) against(calm outcome, wrong func(outcome) string) string {
	switch {
	case o.err != nil:
		return fmt.Sprintf("the job has failed: %v", o.err)
	case o.other != "":
		return o.other
	}
	text := ""
	if wrong != nil {
		text = wrong(o)
	} else {
		text = differences(calm.rows, o.rows)
	}
	for _, f := range o.forks {
		if text != "" {
			return text
		}
		if text = f.against(calm, wrong); text != "" {
			text = "the job that was started from a savepoint: " + text
		}
	}
	return text
}

// differences says how the rows of a run differ from those that there should be, "" if they do not. Both are sorted.
func differences(want, got []string) string {
	if slices.Equal(got, want) {
		return ""
	}
	count := map[string]int{}
	for _, r := range want {
		count[r]++
	}
	for _, r := range got {
		count[r]--
	}
	var missing, many []string
	for r, n := range count {
		switch {
		case n > 0:
			missing = append(missing, r)
		case n < 0:
			many = append(many, r)
		}
	}
	slices.Sort(missing)
	slices.Sort(many)
	return fmt.Sprintf("%d rows instead of %d: %s; %s", len(got), len(want), few("missing", missing), few("too many", many))
}

func few(what string, rows []string) string {
	const most = 5
	text := strings.Join(rows[:min(most, len(rows))], "\n\t")
	if text != "" {
		text = "\n\t" + text
	}
	return fmt.Sprintf("%d %s%s", len(rows), what, text)
}
