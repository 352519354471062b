package main

import (
	"testing"

	"github.com/weir-stream/weir"
)

// Undisturbed, the job finds what a plain loop finds.
func TestUndisturbed(t *testing.T) {
	const rows = 4 * block
	want := truthOf(rows)
	for _, p := range []int{1, 3} {
		out := t.TempDir()
		env := weir.NewEnv("orders")
		env.WithArgs("--out", out, "--rows", "200000")
		env.Parallelism(p)
		if err := build(env); err != nil {
			t.Fatal(err)
		}
		if _, err := env.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, out, want)
	}
}
