package watermark

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// show writes a watermark as a number, "none" or "final".
func show(t int64) string {
	switch t {
	case None:
		return "none"
	case Final:
		return "final"
	}
	return fmt.Sprint(t)
}

// text writes a change in the order in which its parts are sent.
func (c Change) text() string {
	var parts []string
	if c.BecameActive {
		parts = append(parts, "active")
	}
	if c.Advanced {
		parts = append(parts, "watermark "+show(c.Watermark))
	}
	if c.BecameIdle {
		parts = append(parts, "idle")
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// argTime reads a named time, which may be "none" or "final".
func argTime(t *testing.T, d *datadriven.TestData, name string) (at int64) {
	t.Helper()
	if !d.HasArg(name) {
		return None
	}
	var text string
	d.ScanArgs(t, name, &text)
	switch text {
	case "none":
		return None
	case "final":
		return Final
	}
	if _, err := fmt.Sscan(text, &at); err != nil {
		d.Fatalf(t, "%s: %v", name, err)
	}
	return at
}

func argInt(t *testing.T, d *datadriven.TestData, name string) (n int) {
	t.Helper()
	d.ScanArgs(t, name, &n)
	return n
}

// Each line of the transcripts is a step, and below it what is sent downstream.
func TestMergerTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/merger", func(t *testing.T, path string) {
		var m *Merger
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				m = NewMerger(argInt(t, d, "inputs"), argTime(t, d, "from"))
				return "ok\n"
			case "watermark":
				return m.Watermark(argInt(t, d, "in"), argTime(t, d, "t")).text() + "\n"
			case "idle":
				return m.Idle(argInt(t, d, "in")).text() + "\n"
			case "active":
				return m.Active(argInt(t, d, "in")).text() + "\n"
			case "end":
				return m.End(argInt(t, d, "in")).text() + "\n"
			case "holder":
				in, at, ok := m.Holder()
				if !ok {
					return "nobody\n"
				}
				return fmt.Sprintf("in=%d t=%s\n", in, show(at))
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// slow is the merger written from its rules, with nothing kept but what each input said.
type slow struct {
	watermark               []int64
	idle, ended, catchingUp []bool
	out                     int64
}

func (s *slow) compute() (out int64, idle bool) {
	allEnded, allIdle := true, true
	least, most, counted := Final, None, false
	for i := range s.watermark {
		if s.catchingUp[i] && s.watermark[i] >= s.out {
			s.catchingUp[i] = false
		}
		if s.ended[i] {
			continue
		}
		allEnded = false
		if s.idle[i] {
			most = max(most, s.watermark[i])
			continue
		}
		allIdle = false
		if !s.catchingUp[i] {
			least, counted = min(least, s.watermark[i]), true
		}
	}
	switch {
	case allEnded:
		s.out = Final
	case allIdle:
		s.out = max(s.out, most)
	case counted:
		s.out = max(s.out, least)
	}
	return s.out, allIdle && !allEnded
}

// Laws: the merger agrees with its rules computed anew at each step; what it sends is exactly how its result changed; the
// watermark never falls, and is never sent while idle.
func TestMergerAgainstRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "inputs")
		m := NewMerger(n, None)
		s := &slow{watermark: make([]int64, n), idle: make([]bool, n), ended: make([]bool, n), catchingUp: make([]bool, n), out: None}
		for i := range s.watermark {
			s.watermark[i] = None
		}
		sent, sentIdle := None, false
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, n-1).Draw(t, "in")
			var c Change
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 6:
				at := rapid.Int64Range(-5, 40).Draw(t, "t")
				c = m.Watermark(i, at)
				if !s.idle[i] && !s.ended[i] {
					s.watermark[i] = max(s.watermark[i], at)
				}
			case step < 8:
				c = m.Idle(i)
				s.idle[i] = !s.ended[i]
			case step < 9 || rapid.IntRange(0, 3).Draw(t, "rarely") > 0:
				c = m.Active(i)
				if s.idle[i] && !s.ended[i] {
					s.idle[i], s.catchingUp[i] = false, true
				}
			default:
				c = m.Watermark(i, Final)
				s.ended[i], s.watermark[i] = true, Final
			}
			if c.BecameActive {
				if !sentIdle {
					t.Fatal("active, but it was")
				}
				sentIdle = false
			}
			if c.Advanced {
				if sentIdle || c.Watermark <= sent {
					t.Fatalf("watermark %s after %s, idle %v", show(c.Watermark), show(sent), sentIdle)
				}
				sent = c.Watermark
			}
			if c.BecameIdle {
				if sentIdle {
					t.Fatal("idle, but it was")
				}
				sentIdle = true
			}
			want, wantIdle := s.compute()
			if m.Current() != want || m.IsIdle() != wantIdle || sent != want || sentIdle != wantIdle {
				t.Fatalf("merged is %s idle %v, sent %s idle %v, want %s idle %v", show(m.Current()), m.IsIdle(), show(sent), sentIdle, show(want), wantIdle)
			}
		}
	})
}
