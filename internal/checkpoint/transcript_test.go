package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/ids"
)

// TestCoordinatorTranscripts plays the scenarios of testdata/coordinator, one a file. Directives:
//
//	new [mode=at-least-once] [unaligned] [final] [interval=D] [pause=D] ...    a machine, not begun
//	run                           one event a line after its instant, see parseEvent; prints the commands that follow
//	deadline                      prints NextDeadline
//
// The job has the sources v0/0 and v0/1, and v1/0, which reads both.
func TestCoordinatorTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/coordinator", func(t *testing.T, path string) {
		var c *Coordinator
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				var err error
				if c, err = NewCoordinator(parseConfig(t, d)); err != nil {
					return err.Error() + "\n"
				}
				return "ok\n"
			case "run":
				return play(t, d, func(at time.Duration, f []string) string {
					e := parseEvent(f)
					if e == nil {
						d.Fatalf(t, "no such event: %v", f)
					}
					return Format(c.Step(at, e))
				})
			case "deadline":
				at, ok := c.NextDeadline()
				if !ok {
					return "none\n"
				}
				return at.String() + "\n"
			}
			d.Fatalf(t, "unknown directive %q", d.Cmd)
			return ""
		})
	})
}

// TestAlignerTranscripts plays testdata/aligner. The directives are new channels=N [ordered=CH] [at-least-once], run and deadline.
func TestAlignerTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/aligner", func(t *testing.T, path string) {
		var a *Aligner
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				var n int
				d.ScanArgs(t, "channels", &n)
				mode := ExactlyOnce
				if d.HasArg("at-least-once") {
					mode = AtLeastOnce
				}
				a = NewAligner(mode, n)
				if d.HasArg("ordered") {
					var ch int
					d.ScanArgs(t, "ordered", &ch)
					a.KeepOrder(ch)
				}
				return "ok\n"
			case "run":
				return play(t, d, func(at time.Duration, f []string) string {
					e := parseAlignerEvent(f)
					if e == nil {
						d.Fatalf(t, "no such event: %v", f)
					}
					return FormatAligner(a.Step(at, e))
				})
			case "deadline":
				at, ok := a.NextDeadline()
				if !ok {
					return "none\n"
				}
				return at.String() + "\n"
			}
			d.Fatalf(t, "unknown directive %q", d.Cmd)
			return ""
		})
	})
}

// play runs the lines of a directive, "INSTANT WORD...", and indents what each prints.
func play(t *testing.T, d *datadriven.TestData, step func(time.Duration, []string) string) string {
	var b strings.Builder
	for line := range strings.Lines(d.Input) {
		line = strings.TrimSpace(line)
		f := strings.Fields(line)
		at, err := time.ParseDuration(f[0])
		if err != nil || len(f) < 2 {
			d.Fatalf(t, "%q: want an instant and an event: %v", line, err)
		}
		fmt.Fprintf(&b, "> %s\n", line)
		for c := range strings.Lines(step(at, f[1:])) {
			b.WriteString("  " + c)
		}
	}
	return b.String()
}

func parseConfig(t *testing.T, d *datadriven.TestData) Config {
	cfg := Config{Unaligned: d.HasArg("unaligned"), Final: d.HasArg("final"), TolerableFailures: Unlimited, Term: 1}
	if d.HasArg("at-least-once") {
		cfg.Mode = AtLeastOnce
	}
	for name, to := range map[string]*time.Duration{"interval": &cfg.Interval, "pause": &cfg.MinPause, "timeout": &cfg.Timeout,
		"aligned": &cfg.AlignedTimeout} {
		if d.HasArg(name) {
			var s string
			d.ScanArgs(t, name, &s)
			v, err := time.ParseDuration(s)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			*to = v
		}
	}
	for name, to := range map[string]*int{"concurrent": &cfg.ConcurrentMax, "retain": &cfg.Retain, "tolerable": &cfg.TolerableFailures,
		"block": &cfg.EpochBlock} {
		if d.HasArg(name) {
			d.ScanArgs(t, name, to)
		}
	}
	var term, reserved int
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "term":
			a.Scan(t, 0, &term)
			cfg.Term = ids.Term(term)
		case "reserved":
			a.Scan(t, 0, &reserved)
			cfg.Reserved = ids.Epoch(reserved)
		case "completed":
			for _, v := range a.Vals {
				n, owned := strings.CutSuffix(v, "!")
				cfg.Completed = append(cfg.Completed, Completion{number(n), owned})
			}
		}
	}
	return cfg
}

func number(s string) ids.Epoch {
	n, _ := strconv.ParseUint(s, 10, 64)
	return ids.Epoch(n)
}

func task(s string) (id ids.TaskID) {
	if !strings.Contains(s, "#") {
		s += "#0"
	}
	if _, err := fmt.Sscanf(s, "v%d/%d#%d", &id.Vertex, &id.Subtask, &id.Attempt); err != nil {
		panic(err)
	}
	return id
}

// twoAndOne is the job of the transcripts.
func twoAndOne(attempt int32) []Task {
	a, b := ids.TaskID{Attempt: attempt}, ids.TaskID{Subtask: 1, Attempt: attempt}
	return []Task{{ID: a}, {ID: b}, {ID: ids.TaskID{Vertex: 1, Attempt: attempt}, Upstream: []ids.TaskID{a, b}}}
}

// parseEvent reads:
//
//	begin | running [ATTEMPT] | apart ATTEMPT ATTEMPT | restarting [TASK] | ended | tick
//	ask REQUEST PURPOSE [drain] [TARGET]
//	ack TASK EPOCH | decline TASK EPOCH | drained TASK | finished TASK
//	written EPOCH | unwritten EPOCH [fenced] | reserved THROUGH | unreserved THROUGH [fenced]
func parseEvent(f []string) Event {
	name, f := f[0], append(f[1:], "", "", "", "")
	switch name {
	case "begin":
		return Begin{}
	case "running":
		return Running{twoAndOne(int32(number(f[0])))}
	case "apart": // two tasks that have nothing to do with each other
		return Running{[]Task{{ID: ids.TaskID{Attempt: int32(number(f[0]))}}, {ID: ids.TaskID{Vertex: 1, Attempt: int32(number(f[1]))}}}}
	case "restarting":
		if f[0] != "" {
			return Restarting{[]ids.TaskID{task(f[0])}}
		}
		return Restarting{}
	case "ended":
		return Ended{}
	case "tick":
		return Tick{}
	case "ask":
		e := Asked{Request: uint64(number(f[0])), Drain: f[2] == "drain", Target: f[2]}
		if e.Drain {
			e.Target = f[3]
		}
		for i, p := range purposeNames {
			if p == f[1] {
				e.Purpose = event.Purpose(i)
			}
		}
		return e
	case "ack":
		return Acked{task(f[0]), number(f[1])}
	case "decline":
		return Declined{task(f[0]), number(f[1])}
	case "drained":
		return Drained{task(f[0])}
	case "finished":
		return Finished{task(f[0])}
	case "written":
		return ManifestWritten{number(f[0])}
	case "unwritten":
		return ManifestFailed{number(f[0]), f[1] == "fenced", f[1] == "gone"}
	case "reserved":
		return Reserved{number(f[0])}
	case "unreserved":
		return ReserveFailed{number(f[0]), f[1] == "fenced"}
	}
	return nil
}

// parseAlignerEvent reads:
//
//	barrier CH EPOCH [unaligned] [switch=D] | seen CH EPOCH [unaligned] [switch=D] | end CH
//	triggered EPOCH [unaligned] [switch=D] | aborted EPOCH | passed
func parseAlignerEvent(f []string) AlignerEvent {
	name, f := f[0], append(f[1:], "", "")
	ch := int(number(f[0]))
	epoch := f[1]
	if name == "triggered" {
		epoch = f[0]
	}
	b := event.Barrier{Epoch: uint64(number(epoch)), Purpose: event.PurposeCheckpoint}
	var at time.Duration
	for _, w := range f {
		b.Unaligned = b.Unaligned || w == "unaligned"
		if s, ok := strings.CutPrefix(w, "switch="); ok {
			at, _ = time.ParseDuration(s)
		}
	}
	switch name {
	case "barrier":
		return BarrierCame{ch, b, at}
	case "seen":
		return BarrierSeen{ch, b, at}
	case "end":
		return ChannelEnded{ch}
	case "triggered":
		return Triggered{b, at}
	case "aborted":
		return Aborted{number(f[0])}
	case "passed":
		return Passed{}
	}
	return nil
}
