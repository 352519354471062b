package shapes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/connector/channel"
	"github.com/weir-stream/weir/connector/print"
)

// programEnv makes this test binary the program instead of its test; its value is the folder for files.
const programEnv = "WEIR_SHAPES_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(programEnv); dir == "channel" {
		weir.Main(func(env *weir.Env) error {
			weir.From(env, "rows", channel.Source(make(chan int))).To("out", channel.Sink(make(chan int)))
			return nil
		})
	} else if dir != "" {
		weir.Main(func(env *weir.Env) error { return build(env, dir, env.Args()) })
	}
	os.Exit(m.Run())
}

// pipeline is a part of the program. Its lines are printed under its name.
type pipeline struct {
	name  string
	build func(env *weir.Env, p pipe)
	// want are the lines by hand or by a plain loop; nil if only the shapes are compared.
	want func() []string
}

// pipe is where a pipeline is built: it makes names unique.
type pipe struct {
	name, dir string
	sources   *int
}

// in is a name of the pipeline's own.
func (p pipe) in(name string) string { return p.name + "." + name }

// show prints a stream. Rows change the process in their own type before they become text.
func show[T any](s weir.Stream[T], p pipe, text func(T) string) {
	s.Rebalance().Map(text).To(p.name, print.Sink[string](print.Label(p.name)))
}

func pipelines() []pipeline {
	return slices.Concat(streams(), rollings(), windows(), joins(), processes(), calls(), partitions(), ends())
}

// build describes the pipelines that are named, or all.
func build(env *weir.Env, dir string, names []string) error {
	for _, p := range pipelines() {
		if len(names) == 0 || slices.Contains(names, p.name) {
			p.build(env, pipe{p.name, dir, new(int)})
		}
	}
	return nil
}

// run runs the program and returns its lines by pipeline, sorted.
func run(t *testing.T, parallelism, workers int, names ...string) map[string][]string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.csv"), []byte(badCSV), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--progress", "none", "--parallelism", fmt.Sprint(parallelism), "--workers", fmt.Sprint(workers)}, names...)
	c := exec.CommandContext(t.Context(), exe, args...)
	c.Env = append(os.Environ(), programEnv+"="+dir)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("parallelism %d, workers %d: %v\n%s", parallelism, workers, err, stderr.String())
	}
	lines := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		prefix, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "> ")
		name, _, _ := strings.Cut(prefix, ":")
		lines[name] = append(lines[name], text)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.out", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(filepath.Dir(f)), ".out")
		lines[name] = append(lines[name], strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	}
	for name := range lines {
		slices.Sort(lines[name])
	}
	return lines
}

func TestEveryShapeGivesTheSameRows(t *testing.T) {
	all := pipelines()
	first := run(t, 1, 0)
	for _, p := range all {
		if len(first[p.name]) == 0 {
			t.Errorf("%s: no rows", p.name)
		}
		if p.want != nil {
			want := slices.Sorted(slices.Values(p.want()))
			compare(t, p.name+" against the plain loop", first[p.name], want)
		}
	}
	for _, workers := range []int{0, 2, 3} {
		for _, parallelism := range []int{1, 2, 3} {
			if workers == 0 && parallelism == 1 {
				continue
			}
			t.Run(fmt.Sprintf("workers=%d/parallelism=%d", workers, parallelism), func(t *testing.T) {
				lines := run(t, parallelism, workers)
				for _, p := range all {
					compare(t, p.name, lines[p.name], first[p.name])
				}
			})
		}
	}
}

// A Go channel has its other end in one process only: a job that would wait for ever is refused.
func TestChannelsAreRefusedInWorkers(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe, "--workers", "2")
	c.Env = append(os.Environ(), programEnv+"=channel")
	out, err := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 2 {
		t.Errorf("exit code %d, %v, want 2", c.ProcessState.ExitCode(), err)
	}
	for _, want := range []string{`source "rows" (channel) cannot run in a worker process`, `sink "out" (channel)`, "shapes_test.go:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %s:\n%s", want, out)
		}
	}
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	only := func(a, b []string) []string {
		left := map[string]int{}
		for _, l := range b {
			left[l]++
		}
		var out []string
		for _, l := range a {
			if left[l]--; left[l] < 0 && len(out) < 5 {
				out = append(out, l)
			}
		}
		return out
	}
	t.Errorf("%s: %d lines, want %d\n too many: %q\n missing:  %q", what, len(got), len(want), only(got, want), only(want, got))
}
