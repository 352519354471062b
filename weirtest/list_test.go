package weirtest_test

import (
	"slices"
	"testing"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/state"
	"github.com/weir-stream/weir/weirtest"
)

// shelf keeps rows until it is told to give them out.
type shelf struct{ held state.OperatorList[string] }

func (s *shelf) Open(ctx *weir.Context) error {
	s.held = ctx.ListState(state.OperatorListOf[string]("held"))
	return nil
}

func (s *shelf) Process(_ *weir.Context, row string, out weir.Out[string]) error {
	if row != "give" {
		s.held.Add(row)
		return nil
	}
	for v := range s.held.All() {
		out.Emit(v)
	}
	s.held.Clear()
	return nil
}

// The lists of the subtasks are the same rows at every parallelism (P27).
func TestListsOfSubtasksGoOn(t *testing.T) {
	pipe := func(rows, told weir.Stream[string]) weir.Stream[string] {
		return rows.Rebalance().Union(told.Broadcast()).Process("shelf", func() weir.ProcessFunc[string, string] { return &shelf{} })
	}
	h := weirtest.NewHarness2(t, pipe, weirtest.Parallelism(4))
	want := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, v := range want {
		h.First().Push(v, at(1))
	}
	for _, p := range []int{2, 5, 1} {
		h = weirtest.NewHarness2(t, pipe, weirtest.From(h.Snapshot()), weirtest.Parallelism(p))
	}
	if got := h.Output(); len(got) != 0 {
		t.Errorf("before it is told: %q", got)
	}
	h.Second().Push("give", at(2))
	got := h.Output()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
