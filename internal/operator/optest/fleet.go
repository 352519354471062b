package optest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/operator"
)

// Fleet is all subtasks of one operator.
type Fleet struct {
	// Subtasks are the harnesses, by subtask.
	Subtasks []*Harness

	make func() *Harness
	turn int // of the subtask that the next row without key goes to
}

// NewFleet returns an open operator of the given parallelism. mk makes the harness of a subtask; it does not open it.
func NewFleet(parallelism int, mk func() *Harness) (*Fleet, error) {
	f := &Fleet{make: mk}
	for i := range parallelism {
		h := mk().AsSubtask(i, parallelism)
		f.Subtasks = append(f.Subtasks, h)
		if err := h.Open(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// each calls g for each subtask until it fails.
func (f *Fleet) each(g func(*Harness) error) error {
	for _, h := range f.Subtasks {
		if err := g(h); err != nil {
			return err
		}
	}
	return nil
}

// Watermark brings event time to all subtasks.
func (f *Fleet) Watermark(t int64) error {
	return f.each(func(h *Harness) error { return h.Watermark(t) })
}

// Advance moves the processing time of all subtasks.
func (f *Fleet) Advance(t int64) error {
	return f.each(func(h *Harness) error { return h.Advance(t) })
}

// Now returns the processing time.
func (f *Fleet) Now() int64 { return f.Subtasks[0].Context.Now() }

// End ends all subtasks, each with that many inputs.
func (f *Fleet) End(inputs int) error {
	return f.each(func(h *Harness) error { return h.End(inputs) })
}

// Snapshot cuts all subtasks.
func (f *Fleet) Snapshot() ([]*Snapshot, error) {
	var all []*Snapshot
	err := f.each(func(h *Harness) error {
		s, err := h.Snapshot()
		all = append(all, s)
		return err
	})
	return all, err
}

// Crash throws all subtasks away and restores them from the snapshots at another parallelism.
func (f *Fleet) Crash(from []*Snapshot, parallelism int) error {
	for _, h := range f.Subtasks {
		h.readCuts()
		h.Discard()
		if err := h.Op.Close(); err != nil {
			return err
		}
	}
	f.Subtasks, f.turn = nil, 0
	for i := range parallelism {
		h := f.make().AsSubtask(i, parallelism)
		f.Subtasks = append(f.Subtasks, h)
		if err := h.Restore(from...); err != nil {
			return err
		}
	}
	return nil
}

// FeedAll hands rows to the subtasks that own their keys, or with hash nil to one after the other.
func FeedAll[T any](f *Fleet, input int, hash operator.Hasher, rows ...Row[T]) error {
	share := make([][]Row[T], len(f.Subtasks))
	for i, to := range owners(f, hash, rows) {
		share[to] = append(share[to], rows[i])
	}
	for i, h := range f.Subtasks {
		if err := Feed(h, input, hash, share[i]...); err != nil {
			return err
		}
	}
	return nil
}

// FeedEach hands the same rows to every subtask, as on a broadcast stream.
func FeedEach[T any](f *Fleet, input int, rows ...Row[T]) error {
	return f.each(func(h *Harness) error { return Feed(h, input, nil, rows...) })
}

// owners returns the subtask of each row.
func owners[T any](f *Fleet, hash operator.Hasher, rows []Row[T]) []int {
	to := make([]int, 0, len(rows))
	pool := event.NewPool[T](0)
	for i := range rows {
		if hash == nil {
			to = append(to, f.turn%len(f.Subtasks))
			f.turn++
			continue
		}
		b := pool.Get()
		b.Append(rows[i].Value, rows[i].Time)
		hash(b)
		to = append(to, keygroup.OwnerOfHash(b.Hashes()[0], len(f.Subtasks)))
		b.Release()
	}
	return to
}

// Trial is a run of an operator that can be disturbed.
type Trial struct {
	// Make makes the harness of a subtask, which is not opened yet.
	Make func() *Harness
	// Steps are what happens to the operator, one after the other. The last one should end it. A step may be taken again,
	// after a crash.
	Steps []func(*Fleet) error
	// Output takes what has come out of a subtask since the last call; see Lines.
	Output func(*Harness) []string
}

// Crash is a disturbance. The operator is cut before step Cut, and goes on until step At, but what it does from the cut on
// is lost: it is restored at another parallelism and takes the steps from Cut on again.
type Crash struct{ Cut, At, Parallelism int }

// Run takes all steps, with crashes in ascending order of their cuts, and returns what has come out, sorted.
func (t *Trial) Run(parallelism int, crashes []Crash) ([]string, error) {
	f, err := NewFleet(parallelism, t.Make)
	if err != nil {
		return nil, err
	}
	var out []string
	take := func() {
		for _, h := range f.Subtasks {
			out = append(out, t.Output(h)...)
		}
	}
	steps := func(from, to int) error {
		for i := from; i < min(to, len(t.Steps)); i++ {
			if err := t.Steps[i](f); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		return nil
	}
	at := 0
	for _, c := range crashes {
		if err := steps(at, c.Cut); err != nil {
			return nil, err
		}
		at = max(at, c.Cut)
		snapshots, err := f.Snapshot()
		if err != nil {
			return nil, fmt.Errorf("cut before step %d: %w", at, err)
		}
		take()
		if err := steps(at, c.At); err != nil {
			return nil, fmt.Errorf("behind the cut: %w", err)
		}
		if err := f.Crash(snapshots, c.Parallelism); err != nil {
			return nil, fmt.Errorf("restore: %w", err)
		}
	}
	if err := steps(at, len(t.Steps)); err != nil {
		return nil, err
	}
	take()
	slices.Sort(out)
	return out, nil
}

// Survives returns an error unless the same rows come out with the crashes as without.
func (t *Trial) Survives(parallelism int, crashes []Crash) error {
	want, err := t.Run(parallelism, nil)
	if err != nil {
		return fmt.Errorf("undisturbed: %w", err)
	}
	got, err := t.Run(parallelism, crashes)
	if err != nil {
		return fmt.Errorf("%+v: %w", crashes, err)
	}
	if d := difference(want, got); d != "" {
		return fmt.Errorf("parallelism %d, then %+v: %d rows without the crashes and %d with them\n%s", parallelism, crashes, len(want), len(got), d)
	}
	return nil
}

// DrawCrashes draws a parallelism up to 4 and one or two crashes of a run of that many steps.
func DrawCrashes(rt *rapid.T, steps int) (parallelism int, crashes []Crash) {
	parallelism = rapid.IntRange(1, 4).Draw(rt, "parallelism")
	from := 0
	for range rapid.IntRange(1, 2).Draw(rt, "crashes") {
		cut := rapid.IntRange(from, steps-1).Draw(rt, "cut")
		at := rapid.IntRange(cut, min(cut+3, steps-1)).Draw(rt, "crash")
		crashes = append(crashes, Crash{Cut: cut, At: at, Parallelism: rapid.IntRange(1, 4).Draw(rt, "parallelism then")})
		from = cut
	}
	return parallelism, crashes
}

// difference lists what only one of two sorted lists has.
func difference(want, got []string) string {
	var b strings.Builder
	for len(want) > 0 || len(got) > 0 {
		switch {
		case len(got) == 0 || len(want) > 0 && want[0] < got[0]:
			fmt.Fprintln(&b, "  lost ", want[0])
			want = want[1:]
		case len(want) == 0 || got[0] < want[0]:
			fmt.Fprintln(&b, "  extra", got[0])
			got = got[1:]
		default:
			want, got = want[1:], got[1:]
		}
	}
	return b.String()
}

// Lines takes the rows of the main output and of side outputs of the same row type, as text with their times.
func Lines[U any](h *Harness, sides ...string) []string {
	var out []string
	line := func(what string, rows []Row[U]) {
		for _, r := range rows {
			out = append(out, fmt.Sprintf("%s%+v@%d", what, r.Value, r.Time))
		}
	}
	line("", Take[U](h))
	for _, s := range sides {
		line(s+": ", TakeSide[U](h, s))
	}
	return out
}
