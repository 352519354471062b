package restart_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/restart"
)

func conf(t *testing.T, settings ...string) *config.Config {
	t.Helper()
	c := config.NewRegistry(config.Core()...).New()
	for i := 0; i < len(settings); i += 2 {
		if err := c.Set(settings[i], settings[i+1], config.FromProgram, "test"); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestStrategies plays failures at given instants; delay "-" means that the job is not restarted. The figures are worked out
// by hand from what Flink documents.
func TestStrategies(t *testing.T) {
	const exp = "restart-strategy.exponential-delay."
	type failure struct{ at, delay string }
	for _, c := range []struct {
		name        string
		checkpoints bool
		settings    []string
		failures    []failure
	}{
		{"default without checkpoints is none", false, nil, []failure{{"1s", "-"}}},
		{"default with checkpoints is exponential", true, []string{exp + "jitter-factor", "0"}, []failure{{"1s", "50ms"}, {"2s", "75ms"}}},
		{"none", true, []string{"restart-strategy.type", "none"}, []failure{{"1s", "-"}}},
		{"fixed delay: one attempt by default", false, []string{"restart-strategy.type", "fixed-delay"}, []failure{{"1s", "1s"}, {"100h", "-"}}},
		{"fixed delay", false, []string{"restart-strategy.type", "fixed-delay", "restart-strategy.fixed-delay.attempts", "2", "restart-strategy.fixed-delay.delay", "3 s"},
			[]failure{{"1s", "3s"}, {"9s", "3s"}, {"20s", "-"}}},
		{"failure rate: two in a minute", false, []string{"restart-strategy.type", "failure-rate", "restart-strategy.failure-rate.max-failures-per-interval", "2"},
			[]failure{{"1s", "1s"}, {"30s", "1s"}, {"62s", "1s"}, {"91s", "1s"}, {"92s", "-"}}},
		{"failure rate: a failure at the very end of the interval counts", false, []string{"restart-strategy.type", "failure-rate"}, []failure{{"0s", "1s"}, {"60s", "-"}}},
		{"exponential: grows to its maximum", true, []string{exp + "jitter-factor", "0", exp + "initial-backoff", "1 s", exp + "backoff-multiplier", "2", exp + "max-backoff", "5 s"},
			[]failure{{"0s", "1s"}, {"2s", "2s"}, {"5s", "4s"}, {"10s", "5s"}, {"16s", "5s"}}},
		{"exponential: begins anew after quiet, counted from the restart", true,
			[]string{exp + "jitter-factor", "0", exp + "initial-backoff", "1 s", exp + "backoff-multiplier", "2", exp + "reset-backoff-threshold", "10 s"},
			[]failure{{"0s", "1s"}, {"10s", "2s"}, {"22s", "1s"}, {"32s", "2s"}, {"43999ms", "4s"}}},
		{"exponential: attempts", true, []string{exp + "jitter-factor", "0", exp + "attempts-before-reset-backoff", "2", exp + "reset-backoff-threshold", "10 s"},
			[]failure{{"0s", "50ms"}, {"1s", "75ms"}, {"2s", "-"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := restart.New(conf(t, c.settings...), c.checkpoints, rand.New(rand.NewPCG(1, 2)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range c.failures {
				at, _ := time.ParseDuration(f.at)
				delay, ok, why := s.Failed(at)
				got := delay.String()
				if !ok {
					got = "-"
				}
				want := f.delay
				if d, err := time.ParseDuration(want); err == nil {
					want = d.String()
				}
				if got != want || ok != (why == "") {
					t.Errorf("at %s: %s (%q), want %s", f.at, got, why, want)
				}
			}
		})
	}
}

// Jitter spreads delays over a tenth to both sides, but never below the initial nor above the greatest.
func TestJitter(t *testing.T) {
	s, err := restart.New(conf(t, "restart-strategy.type", "exponential-delay", "restart-strategy.exponential-delay.initial-backoff", "1 s",
		"restart-strategy.exponential-delay.backoff-multiplier", "2", "restart-strategy.exponential-delay.max-backoff", "4 s"), true, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	s.Failed(0)
	second, _, _ := s.Failed(0)
	if second < 1800*time.Millisecond || second > 2200*time.Millisecond {
		t.Errorf("the second delay is %v", second)
	}
	seen := map[time.Duration]bool{}
	for range 100 {
		d, _, _ := s.Failed(0)
		if d < 3600*time.Millisecond || d > 4*time.Second {
			t.Fatalf("a delay of %v", d)
		}
		seen[d] = true
	}
	if len(seen) < 10 {
		t.Errorf("only %d different delays", len(seen))
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, c := range [][]string{
		{"restart-strategy.type", "fixed-delay", "restart-strategy.fixed-delay.attempts", "-1"},
		{"restart-strategy.type", "failure-rate", "restart-strategy.failure-rate.max-failures-per-interval", "0"},
		{"restart-strategy.type", "exponential-delay", "restart-strategy.exponential-delay.initial-backoff", "2 min"},
		{"restart-strategy.type", "exponential-delay", "restart-strategy.exponential-delay.backoff-multiplier", "0.9"},
		{"restart-strategy.type", "exponential-delay", "restart-strategy.exponential-delay.jitter-factor", "1.5"},
		{"restart-strategy.type", "exponential-delay", "restart-strategy.exponential-delay.attempts-before-reset-backoff", "-2"},
	} {
		if s, err := restart.New(conf(t, c...), true, nil); errs.CodeOf(err) != errs.CodeConfigInvalid {
			t.Errorf("%v: %v, %v", c, s, err)
		}
	}
}

func panicked(row, stack string) *errs.Error {
	return errs.New(errs.CodeUserPanic, errs.ClassFailTask, "map (1/2)", "panic: boom (at row %s)\n%s", row, stack)
}

func TestRepeats(t *testing.T) {
	var r restart.Repeats
	for i, stack := range []string{"0x1", "0x2", "0x3"} {
		if e := r.Failed(panicked("{7}", stack), 5); e != nil {
			t.Fatalf("failure %d: %v", i+1, e)
		}
	}
	e := r.Failed(panicked("{7}", "0x4"), 5)
	if e == nil || e.Class != errs.ClassFailJob || e.Op != "map (1/2)" || !strings.Contains(e.Msg, "at row {7}") || !strings.Contains(e.Msg, "failed 4 times") || !strings.Contains(e.Msg, "checkpoint 5") {
		t.Errorf("got %v", e)
	}
}

// Failures that a restart may mend: another record, another failure between, none of a record, progress.
func TestRepeatsAreNotSeenWhereNoneAre(t *testing.T) {
	var r restart.Repeats
	lost := errs.New(errs.CodeWorkerLost, errs.ClassFailTask, "worker", "killed")
	user := func(row string) *errs.Error {
		return &errs.Error{Code: errs.CodeUserFunction, Class: errs.ClassFailTask, Op: "map (1/2)", Msg: "the function returned an error (at row " + row + ")", Err: errors.New("no")}
	}
	for range 50 {
		for range 5 {
			opened := errs.New(errs.CodeUserFunction, errs.ClassFailTask, "map (1/2)", "open failed")
			if got := r.Failed(opened, 5); got != nil {
				t.Fatalf("%v became %v", opened, got)
			}
		}
		for _, e := range []*errs.Error{user("1"), user("1"), user("2"), panicked("1", ""), lost, lost, user("1"), user("1"), lost} {
			if got := r.Failed(e, 5); got != nil {
				t.Fatalf("%v became %v", e, got)
			}
		}
	}
}

// Checkpoints that are still taken in front of the record do not make it endless.
func TestRepeatsWithProgress(t *testing.T) {
	var r restart.Repeats
	n := 0
	for epoch := ids.Epoch(1); ; epoch++ {
		n++
		if e := r.Failed(panicked("{7}", ""), epoch); e != nil {
			break
		}
	}
	if n != 11 {
		t.Errorf("given up at failure %d", n)
	}
}

// The same record is the same wherever batches begin. Where it was read is asked for once.
func TestRepeatsWithPositions(t *testing.T) {
	asked := 0
	r := restart.Repeats{Where: func(cause *errs.Error) string {
		asked++
		return "It was read from " + cause.Op + "."
	}}
	for i := range 4 {
		e := r.Failed(panicked("{7}", "stack").Positioned(fmt.Sprint(i, " rows before line 9")), 5)
		switch {
		case (e != nil) != (i == 3):
			t.Fatalf("failure %d: %v", i+1, e)
		case e != nil && (asked != 1 || !strings.Contains(e.Msg, "It was read from map (1/2). The failure: ") || !strings.Contains(e.Msg, "3 rows before line 9")):
			t.Errorf("asked %d times: %v", asked, e)
		}
	}
}
