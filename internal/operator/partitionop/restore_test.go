package partitionop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
)

// The law: partitions by key are the same when the operator crashes and goes on at another parallelism, whether rows are kept or
// folded, in place or encoded.
func TestPartitionsSurvive(t *testing.T) {
	keys, hash := byKey(t)
	type noted struct {
		Sum  int64
		Keys string
	}
	ops := map[string]func() operator.Operator{
		"whole": func() operator.Operator { return listing(keys, 1<<30) },
		"in place": func() operator.Operator {
			return NewFold(FoldConfig[string, item, int64, string]{Keys: keys, Limit: 1 << 30,
				Add:    func(acc *int64, v item) { *acc = *acc*7 + v.N },
				Result: func(k string, acc *int64) string { return fmt.Sprint(k, *acc) }})
		},
		"encoded": func() operator.Operator {
			return NewFold(FoldConfig[string, item, noted, string]{Keys: keys, Limit: 1 << 30,
				Add:    func(acc *noted, v item) { acc.Sum += v.N; acc.Keys += fmt.Sprint(v.N) },
				Result: func(k string, acc *noted) string { return fmt.Sprint(k, *acc) }})
		},
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				tr := &optest.Trial{Make: func() *optest.Harness { return optest.New(op()) }, Output: results}
				for range rapid.IntRange(1, 8).Draw(rt, "steps") {
					var rows []optest.Row[item]
					for range rapid.IntRange(0, 6).Draw(rt, "rows") {
						rows = append(rows, optest.At(item{rapid.StringMatching("[a-f]?").Draw(rt, "key"), rapid.Int64Range(0, 12).Draw(rt, "n")}, rapid.Int64Range(0, 50).Draw(rt, "time")))
					}
					tr.Steps = append(tr.Steps, func(f *optest.Fleet) error { return optest.FeedAll(f, 0, hash, rows...) })
				}
				tr.Steps = append(tr.Steps, func(f *optest.Fleet) error { return f.End(1) })
				if err := tr.Survives(optest.DrawCrashes(rt, len(tr.Steps))); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// Without keys a partition is what a subtask has gathered. No row is lost at another parallelism: a subtask that gets several
// partitions makes one of their rows.
func TestPartitionsOfSubtasksMove(t *testing.T) {
	for _, p := range []int{1, 2, 3} {
		f, err := optest.NewFleet(2, func() *optest.Harness { return optest.New(listing(Keys[struct{}, item]{}, 1<<20)) })
		must(t, err)
		must(t, optest.FeedAll(f, 0, nil, rows()...))
		s, err := f.Snapshot()
		must(t, err)
		must(t, f.Crash(s, p))
		must(t, optest.FeedAll(f, 0, nil, optest.At(item{"c", 5}, 5)))
		must(t, f.End(1))
		var got []string
		for _, h := range f.Subtasks {
			for _, r := range results(h) {
				words := strings.Fields(r)
				slices.Sort(words) // which partition comes first is unspecified
				got = append(got, strings.Join(words, " "))
			}
		}
		apart := []string{"30 = b1@30 b3@20 c5@5 {}", "10 = a2@10 a4@-9223372036854775808 {}"}
		want := map[int][]string{1: {"30 = a2@10 a4@-9223372036854775808 b1@30 b3@20 c5@5 {}"}, 2: apart, 3: apart}[p]
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("at parallelism %d: %q, want %q", p, got, want)
		}
	}
}
