package source_test

import (
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir/connector"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/optest"
	"github.com/weir-stream/weir/internal/operator/source"
)

// A split goes on from the watermark that it had, whichever reader gets it, although its next rows are older than its last ones:
// rows are late behind the source exactly if they would have been without the crash (P25).
func TestSplitsKeepTheirWatermarks(t *testing.T) {
	before := open(t, source.Options[int64]{}, poll{"a", []int64{1000}, connector.More, nil, nil}, poll{"b", []int64{500}, connector.More, nil, nil})
	before.split(false, "a", "b")
	before.step(2)
	if got := before.marks(); got != "[499999]" {
		t.Fatalf("watermarks before the crash: %s", got)
	}
	s, err := before.h.Snapshot()
	before.must(err)

	f := &fake{polls: []poll{{"a", []int64{600}, connector.More, nil, nil}, {"b", []int64{900}, connector.More, nil, nil}}}
	op := source.New[int64](f, source.Options[int64]{Time: timeOf})
	r := &run{t: t, h: optest.New(op).AsSubtask(1, 2), s: op.(operator.Source), f: f}
	r.must(r.h.Restore(s))
	r.split(false, "b", "a")
	r.step(2)
	if got := r.h.Watermarks[len(r.h.Watermarks)-1]; got != 899_999 {
		t.Errorf("watermark %d, want that of b, 899999, since a was at 999999", got)
	}
	if got := r.h.Watermarks[0]; got != 499_999 {
		t.Errorf("the first watermark is %d, want that of the cut, 499999", got)
	}
}

// A split that was idle does not hold the others back after a restore either.
func TestIdleSplitsStayIdle(t *testing.T) {
	opt := source.Options[int64]{Time: timeOf, Idle: 5 * time.Second}
	before := open(t, opt, poll{"a", []int64{10}, connector.More, nil, nil}, poll{"b", []int64{20}, connector.More, nil, nil})
	before.split(false, "a", "b")
	before.step(2)
	before.must(before.h.Advance(4_000))
	before.f.polls = []poll{{"b", []int64{30}, connector.More, nil, nil}}
	before.step(1)
	before.must(before.h.Advance(6_000)) // a is idle now, b is not
	if got := before.marks(); got != "[9999 29999]" {
		t.Fatalf("watermarks before the crash: %s", got)
	}
	s, err := before.h.Snapshot()
	before.must(err)

	f := &fake{polls: []poll{{"b", []int64{40}, connector.More, nil, nil}}}
	op := source.New[int64](f, opt)
	r := &run{t: t, h: optest.New(op), s: op.(operator.Source), f: f}
	r.must(r.h.Restore(s))
	r.split(false, "a", "b")
	r.step(1)
	if got := r.marks(); got != "[29999 39999]" {
		t.Errorf("watermarks %s, want [29999 39999]", got)
	}
}

// The assigner in the middle of a job goes on from its subtask's watermark; at another parallelism from the least.
func TestAssignerKeepsItsWatermark(t *testing.T) {
	for parallelism, want := range map[int][]int64{2: {9_999, 19_999}, 1: {9_999}} {
		f, err := optest.NewFleet(2, func() *optest.Harness { return optest.New(source.NewAssigner(source.Options[int64]{Time: seconds})) })
		if err != nil {
			t.Fatal(err)
		}
		feed(t, f.Subtasks[0], 10)
		feed(t, f.Subtasks[1], 20)
		s, err := f.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Crash(s, parallelism); err != nil {
			t.Fatal(err)
		}
		for i, h := range f.Subtasks {
			feed(t, h, 5) // behind what came before the crash
			if got := h.Watermarks; !slices.Equal(got, want[i:i+1]) {
				t.Errorf("at parallelism %d subtask %d says %v, want %v", parallelism, i, got, want[i])
			}
		}
	}
}
