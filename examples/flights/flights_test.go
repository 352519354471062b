package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/weir-stream/weir"
)

// truthOf returns the sorted lines that truth/truth.py has computed.
func truthOf(t *testing.T, job string) []byte {
	t.Helper()
	packed, err := os.ReadFile("truth/" + job + ".jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	lines, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// sorted returns a file's lines in the order of their bytes.
func sorted(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, nil)
}

func compare(t *testing.T, dir string) {
	t.Helper()
	for _, job := range jobNames {
		if got, want := sorted(t, filepath.Join(dir, job+".jsonl")), truthOf(t, job); !bytes.Equal(got, want) {
			t.Errorf("%s differs from truth/%s.jsonl.zst: %d lines, want %d", job, job, bytes.Count(got, []byte("\n")), bytes.Count(want, []byte("\n")))
		}
	}
}

// The three jobs give the same results, byte by byte, at every parallelism, chained or not, whatever the size of batches; and
// every row is accounted for as truth/README.md says.
func TestJobsEqualTheTruth(t *testing.T) {
	for _, parallelism := range []int{1, 2, 3, 7} {
		for _, chaining := range []string{"true", "false"} {
			for _, batch := range []string{"1", "2", "0"} {
				if testing.Short() && (batch != "0" || parallelism > 2) {
					continue
				}
				t.Run(fmt.Sprintf("parallelism=%d,chaining=%s,batch=%s", parallelism, chaining, batch), func(t *testing.T) {
					dir := t.TempDir()
					env := weir.NewEnv("flights").Parallelism(parallelism).
						Set("pipeline.operator-chaining.enabled", chaining).Set("execution.batch-size", batch).
						WithArgs("delays", "top", "turnaround", "--data", "data", "--out", dir)
					if err := build(env); err != nil {
						t.Fatal(err)
					}
					r, err := env.Execute(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					compare(t, dir)
					account(t, r)
				})
			}
		}
	}
}

// They give the same results with state on disk, and a cache that is much too small.
func TestJobsOnDiskEqualTheTruth(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	env := weir.NewEnv("flights").Parallelism(2).Set("state.backend.type", "lsm").Set("state.backend.local-dir", scratch).
		Set("state.backend.lsm.cache-size", "2 mb").WithArgs("delays", "top", "turnaround", "--data", "data", "--out", dir)
	if err := build(env); err != nil {
		t.Fatal(err)
	}
	r, err := env.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compare(t, dir)
	account(t, r)
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("the job leaves %v (%v)", left, err)
	}
}

// account compares the counters with the table in truth/README.md.
func account(t *testing.T, r *weir.Result) {
	t.Helper()
	op := func(name string) weir.OperatorResult {
		o, ok := r.Operator(name)
		if !ok {
			t.Fatalf("there is no operator %q", name)
		}
		return o
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"read", op("flights").RowsIn, 336_776},
		{"never departed", op("flights").NoTime, 8_255},
		{"late in delays", op("delays").Late, 0},
		{"late in top", op("departures by route").Late + op("top").Late, 0},
		{"unknown aircraft", op("known aircraft").Counters["unknownAircraft"], 0},
		{"not late", op("turnaround").Counters["flightsOnTime"], 280_230},
		{"in short streaks", op("turnaround").Counters["flightsInShortStreaks"], 46_728},
		{"in streaks", op("turnaround").Counters["flightsInStreaks"], 1_563},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}

// The program itself, as a person runs it: demo's account, and the same results over worker processes.
func TestProgram(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "flights")
	if out, err := exec.Command("go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	run := func(args ...string) string {
		out, err := exec.Command(exe, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for _, workers := range []string{"1", "2", "3"} {
		dir := t.TempDir()
		run("delays", "top", "turnaround", "--data", "data", "--out", dir, "--parallelism", "3", "--workers", workers)
		compare(t, dir)
	}
	out := run("demo", "--data", "data", "--workers", "2", "--parallelism", "2")
	for _, line := range []string{"worst of 21,105 hours", "busiest of 3,288 routes", "longest of 490 streaks", "8,255   never departed",
		"328,521     delays: counted in an hour", "67,813     top: to one of the first three", "260,708     top: to another",
		"280,230     turnaround: not more", "46,728     turnaround: late, in a streak of one or two", "1,563     turnaround: late, in a streak that"} {
		if !strings.Contains(out, line) {
			t.Errorf("demo does not say %q:\n%s", line, out)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "which job?"},
		{[]string{"delay"}, `unknown job "delay"`},
		{[]string{"top", "--output", "x"}, "-output"},
	} {
		if _, err := parse(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.args, err, c.want)
		}
	}
}
