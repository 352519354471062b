package joinop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/operator/basic"
	"github.com/weir-stream/weir/window"
)

// flinkSteps reads the rows of testdata/join.sql in the order in which Flink got them.
func flinkSteps(t *testing.T) (steps []step) {
	t.Helper()
	sql, err := os.ReadFile("testdata/join.sql")
	must(t, err)
	row := regexp.MustCompile(`\{"at": (\d+), "row": \[(\d+), "(\w)", "([^"]+)"\]\}`)
	byTurn := map[int]step{}
	last := 0
	for _, m := range row.FindAllStringSubmatch(string(sql), -1) {
		var turn int
		var id int64
		_, err := fmt.Sscan(m[1]+" "+m[2], &turn, &id)
		must(t, err)
		ts, err := time.Parse(time.DateTime, m[4])
		must(t, err)
		// Turns are even for the left table and odd for the right one.
		byTurn[turn] = step{input: turn % 2, row: modelRow{m[3], id, ts.UnixMilli()}}
		last = max(last, turn)
	}
	for turn := range last + 1 {
		if s, ok := byTurn[turn]; ok {
			steps = append(steps, s)
		}
	}
	if len(steps) != 100 {
		t.Fatalf("%d rows, want 100", len(steps))
	}
	return steps
}

// flinkResults returns the pairs that each query of the script gave, without times.
func flinkResults(t *testing.T) (out [][]pair) {
	t.Helper()
	text, err := os.ReadFile("testdata/join.jsonl")
	must(t, err)
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var line struct {
			Columns []any
			Kind    string
			Row     []*int64
		}
		must(t, json.Unmarshal(lines.Bytes(), &line))
		if line.Columns != nil {
			out = append(out, nil)
		}
		if line.Kind == "" {
			continue
		}
		p := pair{L: -1, R: -1}
		if line.Row[0] != nil {
			p.L = *line.Row[0]
		}
		if line.Row[1] != nil {
			p.R = *line.Row[1]
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	if len(out) != 16 {
		t.Fatalf("%d results, want 16", len(out))
	}
	for i := range out {
		sorted(out[i])
	}
	return out
}

// flinkRun runs the operator over the rows, with the watermarks of Flink: the lower of the two tables', 20 s behind.
func flinkRun(t *testing.T, op operator.Operator, steps []step) (out []pair) {
	t.Helper()
	h := opened(t, op, 0)
	highest := [2]int64{event.NoTime, event.NoTime}
	watermark := int64(event.NoTime)
	for _, s := range steps {
		runStep(t, h, s)
		highest[s.input] = max(highest[s.input], s.row.t)
		if w := min(highest[0], highest[1]) - 20_000; highest[0] != event.NoTime && highest[1] != event.NoTime && w > watermark {
			watermark = w
			must(t, h.Watermark(w))
		}
	}
	must(t, h.End(2))
	for _, p := range taken(h) {
		out = append(out, pair{L: p.L, R: p.R})
	}
	if n := h.Context.Counts.Late.Load(); n != 0 {
		t.Errorf("%d late rows", n)
	}
	return sorted(out)
}

func TestJoinsAsFlink(t *testing.T) {
	steps, want := flinkSteps(t), flinkResults(t)
	// In the order of testdata/gen.py.
	for _, bounds := range [][2]int64{{-10_000, 15_000}, {1, 11_999}, {-25_000, -5_000}} {
		for _, k := range kinds {
			if got := flinkRun(t, intervalOp(t, bounds[0], bounds[1], k), steps); !slices.Equal(got, want[0]) {
				t.Errorf("interval %v, %v: got %v, want %v", bounds, k, got, want[0])
			}
			want = want[1:]
		}
	}
	for _, k := range kinds {
		if got := flinkRun(t, windowJoinOp(t, window.Tumbling(30*time.Second), k), steps); !slices.Equal(got, want[0]) {
			t.Errorf("windows, %v: got %v, want %v", k, got, want[0])
		}
		want = want[1:]
	}
}

func windowJoinOp(t testing.TB, spec window.Spec, k kind) operator.Operator {
	t.Helper()
	cfg := windowConfig(t, spec)
	return NewWindow(WindowConfig[string, order, payment, pair]{Left: cfg.Left, Right: cfg.Right, LeftKey: orderKey, RightKey: paymentKey, Keys: cfg.Keys,
		NeedLeft: !k.right, NeedRight: !k.left,
		Apply: func(_ string, _ window.Window, left []order, right []payment, out *basic.Outlet[pair]) error {
			for i := range left {
				for j := range right {
					out.Emit(ids(&left[i], &right[j]))
				}
				if len(right) == 0 {
					out.Emit(ids(&left[i], nil))
				}
			}
			for j := range right {
				if len(left) == 0 {
					out.Emit(ids(nil, &right[j]))
				}
			}
			return nil
		}})
}
