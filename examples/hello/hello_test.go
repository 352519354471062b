package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir"
)

// The README shows this program and what it prints.
func TestReadmeShowsThisProgramAndItsOutput(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ = bytes.Cut(program, []byte("type line"))
	if !bytes.Contains(readme, program) {
		t.Error("the README does not show main.go from `type line` on")
	}
	for _, parallelism := range []int{1, 2, 3} {
		var out bytes.Buffer
		env := weir.NewEnv("hello").Parallelism(parallelism).Output(&out)
		if err := build(env); err != nil {
			t.Fatal(err)
		}
		if _, err := env.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for l := range strings.Lines(out.String()) {
			if _, row, ok := strings.Cut(l, "> "); ok {
				l = row // the subtask in front
			}
			lines = append(lines, l)
		}
		slices.Sort(lines)
		if got := strings.Join(lines, ""); !strings.Contains(string(readme), got) {
			t.Errorf("parallelism %d: the README does not show\n%s", parallelism, got)
		}
	}
}
