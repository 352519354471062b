package jobmanager

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/rpc"
)

// alignJob has two sources in one group, of two tasks and one, with drifts of 10 s and 1 s, and one outside of it.
func alignJob() *Job {
	return &Job{Placement: [][]int32{{0, 0}, {0}, {0}}, Sources: []Source{
		{Vertex: 0, Group: "g", MaxDrift: 10 * time.Second},
		{Vertex: 1, Group: "g", MaxDrift: time.Second},
		{Vertex: 2},
	}}
}

func report(a *aligner, vertex, subtask int, watermark int64, idle bool) {
	a.progress(&rpc.SourceProgress{Source: rpc.OpRef{Task: ids.TaskID{Vertex: ids.VertexID(vertex), Subtask: int32(subtask)}}, Watermark: watermark, Idle: idle})
}

func limits(a *aligner) string {
	var out []string
	for _, l := range a.limits() {
		out = append(out, fmt.Sprintf("v%d<=%d", l.Vertex, l.Max))
	}
	return strings.Join(out, " ")
}

func TestAlign(t *testing.T) {
	a := newAligner(alignJob())
	for i, c := range []struct {
		why  string
		do   func()
		want string
	}{
		{"nothing is known", func() {}, ""},
		{"one task of three has a watermark", func() { report(a, 0, 0, 5000, false) }, ""},
		{"two of three", func() { report(a, 0, 1, 3000, false) }, ""},
		{"the last one is the slowest: 1000 + 10 s and 1000 + 1 s", func() { report(a, 1, 0, 1000, false) }, "v0<=11000 v1<=2000"},
		{"a faster one moves on: the slowest stays", func() { report(a, 0, 0, 9000, false) }, ""},
		{"the slowest moves on: v0/1 is the slowest now", func() { report(a, 1, 0, 4000, false) }, "v0<=13000 v1<=4000"},
		{"a source outside of the group", func() { report(a, 2, 0, 1, false) }, ""},
		{"the slowest becomes idle and holds nobody back", func() { report(a, 0, 1, 3000, true) }, "v0<=14000 v1<=5000"},
		{"it comes back: the limit falls", func() { report(a, 0, 1, 3500, false) }, "v0<=13500 v1<=4500"},
		{"two reports, one limit", func() {
			report(a, 0, 1, 6000, false)
			report(a, 1, 0, 7000, false)
		}, "v0<=16000 v1<=7000"},
		{"a task that ends holds nobody back", func() { a.end(0, 1) }, "v0<=17000 v1<=8000"},
		{"and is not heard any more", func() { report(a, 0, 1, 0, false) }, ""},
		{"a new split without a watermark: wait for it", func() { report(a, 1, 0, math.MinInt64, false) }, ""},
		{"it has one now", func() { report(a, 1, 0, 7500, false) }, "v0<=17500 v1<=8500"},
		{"near the end of time nothing overflows", func() {
			report(a, 0, 0, math.MaxInt64, false)
			report(a, 1, 0, math.MaxInt64-5, false)
		}, fmt.Sprintf("v0<=%d v1<=%d", int64(math.MaxInt64), int64(math.MaxInt64))},
		{"all have ended", func() { a.end(0, 0); a.end(1, 0) }, fmt.Sprintf("v0<=%d v1<=%d", int64(math.MaxInt64), int64(math.MaxInt64))},
	} {
		c.do()
		if got := limits(a); got != c.want {
			t.Errorf("%d %s: got %q, want %q", i, c.why, got, c.want)
		}
	}
}

// TestAlignSlowest: the slowest task is told where the next one would hold it back; the others, and other sources, are not.
func TestAlignSlowest(t *testing.T) {
	a := newAligner(alignJob())
	report(a, 0, 0, 5000, false)
	report(a, 0, 1, 3000, false)
	report(a, 1, 0, 1000, false)
	check := func(why string, want ...rpc.AlignTo) {
		t.Helper()
		var got []rpc.AlignTo
		for _, l := range a.limits() {
			got = append(got, *l)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", why, got, want)
		}
	}
	check("v1/0 is the slowest, v0/1 (3000) the next; v1 may be 1 s ahead",
		rpc.AlignTo{Vertex: 0, Max: 11000, Slowest: -1}, rpc.AlignTo{Vertex: 1, Max: 2000, Slowest: 0, SlowestMax: 4000})
	report(a, 1, 0, 6000, false)
	check("v0/1 (3000) is the slowest, v0/0 (5000) the next; v0 may be 10 s ahead",
		rpc.AlignTo{Vertex: 0, Max: 13000, Slowest: 1, SlowestMax: 15000}, rpc.AlignTo{Vertex: 1, Max: 4000, Slowest: -1})
	a.end(0, 0)
	a.end(1, 0)
	check("v0/1 is alone: nobody holds it back", rpc.AlignTo{Vertex: 0, Max: 13000, Slowest: 1, SlowestMax: math.MaxInt64}, rpc.AlignTo{Vertex: 1, Max: 4000, Slowest: -1})
}

// TestAlignLaw: after any reports, the last limit announced is the least watermark of the active tasks plus the drift,
// provided that all of them have one.
func TestAlignLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type task struct {
			vertex, subtask int
			watermark       int64
			idle, ended     bool
		}
		tasks := []*task{{vertex: 0, watermark: math.MinInt64}, {vertex: 0, subtask: 1, watermark: math.MinInt64}, {vertex: 1, watermark: math.MinInt64}}
		a := newAligner(alignJob())
		var last int64
		told := false
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			x := tasks[rapid.IntRange(0, 2).Draw(t, "task")]
			if rapid.IntRange(0, 9).Draw(t, "end") == 0 {
				x.ended = true
				a.end(int32(x.vertex), int32(x.subtask))
			} else {
				watermark, idle := rapid.Int64Range(0, 20).Draw(t, "watermark"), rapid.Bool().Draw(t, "idle")
				if !x.ended {
					x.watermark, x.idle = watermark, idle
				}
				report(a, x.vertex, x.subtask, watermark, idle)
			}
			for _, l := range a.limits() {
				if l.Vertex == 1 {
					last, told = l.Max, true
				}
			}
			active := slices.DeleteFunc(slices.Clone(tasks), func(x *task) bool { return x.idle || x.ended })
			known := !slices.ContainsFunc(active, func(x *task) bool { return x.watermark == math.MinInt64 })
			if !known {
				continue
			}
			want := int64(math.MaxInt64)
			for _, x := range active {
				want = min(want, x.watermark+1000)
			}
			if !told || last != want {
				t.Fatalf("limit of v1 %d (announced: %v), want %d", last, told, want)
			}
		}
	})
}
