package main

import (
	"testing"
	"time"

	"github.com/weir-stream/weir"
	"github.com/weir-stream/weir/weirtest"
)

// The jobs survive: with tasks that fail, power cuts and a bad storage at places that the seeds choose, they find what they
// find undisturbed. February is enough for that.

func TestDelaysSurvive(t *testing.T) {
	weirtest.Chaos(t, func(env *weir.Env) weir.Stream[Delay] { return delays(february(t, env)) }, weirtest.Seeds(3)...)
}

func TestTopSurvives(t *testing.T) {
	weirtest.Chaos(t, func(env *weir.Env) weir.Stream[Top] { return top(february(t, env), newYork(t)) }, weirtest.Seeds(3)...)
}

func TestTurnaroundSurvives(t *testing.T) {
	weirtest.Chaos(t, func(env *weir.Env) weir.Stream[Streak] { return turnaround(february(t, env), newYork(t)) }, weirtest.Seeds(3)...)
}

func newYork(t *testing.T) *time.Location {
	ny, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	return ny
}

func february(t *testing.T, env *weir.Env) weir.Stream[Flight] {
	return readMonth(env, options{data: "data"}, "02", newYork(t))
}
