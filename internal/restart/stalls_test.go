package restart_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/ids"
	"github.com/weir-stream/weir/internal/restart"
)

func stalls(t *testing.T, checkpoints bool, settings ...string) *restart.Stalls {
	t.Helper()
	s, err := restart.NewStalls(conf(t, settings...), checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// opened fails in Open, with what differs from time to time.
func opened(i int) *errs.Error {
	return &errs.Error{Code: errs.CodeUserFunction, Class: errs.ClassFailTask, Op: fmt.Sprintf("map (%d/3)", i%3+1), Msg: "open failed", Err: fmt.Errorf("dial tcp 10.0.0.7:%d: refused", 40000+i)}
}

func exits(i, status int) *errs.Error {
	return errs.New(errs.CodeWorkerLost, errs.ClassFailTask, fmt.Sprintf("worker w%d (pid %d)", i%2+1, 1000+i), "its process has exited with status %d; what it printed last may tell why", status)
}

func TestStalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause func(i int) *errs.Error
		every time.Duration
		want  int // the failure that ends the job, from 1
	}{
		{"a panic in Open ends after ten restarts", func(int) *errs.Error {
			return errs.New(errs.CodeUserPanic, errs.ClassFailTask, "map (1/1)", "panic in open: boom\nstack")
		}, time.Millisecond, 11},
		{"so does a process that exits by itself", func(i int) *errs.Error { return exits(i, 3) }, time.Millisecond, 11},
		{"what may be outside has its time: 600 s, a failure each minute", opened, time.Minute, 11},
		{"and with a failure each second", opened, time.Second, 601},
		{"and each hour", opened, time.Hour, 11},
		{"two kinds in turn are counted apart", func(i int) *errs.Error { return exits(i, 3+i%2) }, time.Millisecond, 21},
	} {
		s := stalls(t, true)
		for i := 1; ; i++ {
			e := s.Failed(c.cause(i), 5, 9, time.Duration(i)*c.every)
			if e == nil && i < 1000 {
				continue
			}
			if i != c.want || e == nil || e.Class != errs.ClassFailJob || !strings.Contains(e.Msg, "completed no checkpoint in between") || !strings.Contains(e.Msg, "from checkpoint 5") {
				t.Errorf("%s: failure %d: %v", c.name, i, e)
			}
			break
		}
	}
}

// Progress, another failure each time, no checkpoints at all, and the option.
func TestStallsAreNotSeenWhereNoneAre(t *testing.T) {
	moving, differing, without, off := stalls(t, true), stalls(t, true), stalls(t, false), stalls(t, true, "restart-strategy.repeated-failure.attempts", "0")
	words := "abcdefghijklmnopqrstuvwxyz"
	for i := range 500 {
		now := time.Duration(i) * time.Hour
		other := &errs.Error{Code: errs.CodeIO, Class: errs.ClassFailTask, Err: errors.New(words[i%26:i%26+1] + words[i/26:i/26+1])}
		for name, e := range map[string]*errs.Error{
			"a checkpoint after each tenth failure": moving.Failed(exits(i, 3), 1, ids.Epoch(i/10), now),
			"different failures":                    differing.Failed(other, 1, 1, now),
			"no checkpoints are taken":              without.Failed(exits(i, 3), 0, 0, now),
			"switched off":                          off.Failed(exits(i, 3), 1, 1, now),
		} {
			if e != nil {
				t.Fatalf("%s: failure %d: %v", name, i, e)
			}
		}
	}
}

func TestStallsSayWhatWasRead(t *testing.T) {
	s := stalls(t, true, "restart-strategy.repeated-failure.attempts", "1")
	s.Where = func(cause *errs.Error) string { return "Read from " + cause.Op + "." }
	s.Failed(exits(0, 1), 0, 0, 0)
	e := s.Failed(exits(0, 1), 0, 0, 1500*time.Millisecond)
	if want := "failed in the same way 2 times within 1.5s, the last time from the beginning,"; e == nil || !strings.Contains(e.Msg, want) || !strings.Contains(e.Msg, "Read from worker w1 (pid 1000). The failure: its process has exited with status 1") {
		t.Errorf("%v", e)
	}
}

func TestStallsRefuseOptions(t *testing.T) {
	for _, c := range [][]string{{"restart-strategy.repeated-failure.attempts", "-1"}} {
		if s, err := restart.NewStalls(conf(t, c...), true); errs.CodeOf(err) != errs.CodeConfigInvalid {
			t.Errorf("%v: %v, %v", c, s, err)
		}
	}
}
