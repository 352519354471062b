package conntest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-stream/weir/connector"
)

// TwoPhaseCase describes a two-phase sink to TwoPhase.
type TwoPhaseCase[T any] struct {
	// New makes a sink with an external system of its own that holds nothing.
	New func() TwoPhaseTarget[T]
	// Row returns the i-th row. Rows differ from each other.
	Row func(i int) T
	// Text is how a row appears in TwoPhaseTarget.Visible; fmt's %+v without it.
	Text func(T) string
	// Time is a row's event time; none without it.
	Time func(T) int64
	// Seeds is the number of random schedules; 0 is 300.
	Seeds int
	// Parallelism bounds that of the sink; 0 is 4.
	Parallelism int
}

// TwoPhaseTarget is a sink and the system that it writes to.
type TwoPhaseTarget[T any] struct {
	Sink connector.Sink[T]
	// FS is the file system of the job, if the sink needs one.
	FS connector.FileSystem
	// Visible returns the rows that a reader sees at present, in any order.
	Visible func() ([]string, error)
	// Fault is given a function that the system must ask before each of its operations, which fails with the error that it
	// returns.
	Fault func(ask func(operation string) error)
	// Crash is told that all processes have died, and the machine with them: what is not durable is lost. It may be nil.
	Crash func()
	// Leftovers lists what is in the system and neither visible nor of any further use once everything is committed, such as
	// temporary files. It may be nil.
	Leftovers func() []string
	// Lose destroys what is prepared and not yet visible, as an expired transaction does. The commit must then fail for good
	// and say why. It may be nil.
	Lose func()
}

// TwoPhase runs the conformance suite for two-phase sinks: a small engine without threads that writes, flushes, prepares,
// makes snapshots and manifests durable, commits and restores, with a fault before and after each step, and within it before
// each operation of the external system; then random schedules. Whatever happens, each row must be visible once in the end,
// and none before the manifest that covers it is durable. A failing schedule is made as short as possible and printed.
func TwoPhase[T any](t *testing.T, c TwoPhaseCase[T]) {
	t.Helper()
	if err := CheckTwoPhase(c); err != nil {
		t.Fatal(err)
	}
}

// CheckTwoPhase is TwoPhase for those who want the error.
func CheckTwoPhase[T any](c TwoPhaseCase[T]) error {
	if c.Text == nil {
		c.Text = func(row T) string { return fmt.Sprintf("%+v", row) }
	}
	if c.Seeds == 0 {
		c.Seeds = 300
	}
	if c.Parallelism == 0 {
		c.Parallelism = 4
	}
	if m, ok := c.New().Sink.(connector.MaxParallelism); ok && m.MaxParallelism() > 0 {
		c.Parallelism = min(c.Parallelism, m.MaxParallelism())
	}
	for _, check := range []func() error{c.withoutCheckpoints, c.eachStep, c.eachOperation, c.lose, c.random} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// step is one thing that happens to a job. What makes no sense at its time is left out, so that any list of steps is a
// schedule.
type step struct {
	kind stepKind
	n    int
}

type stepKind uint8

const (
	// stepWrite writes n rows, stepFlush flushes, stepSleep lets n seconds go by.
	stepWrite stepKind = iota
	stepFlush
	stepSleep
	// stepCut prepares an epoch: a checkpoint, or a savepoint if n is 1. stepManifest makes its manifest durable, stepAbort
	// gives it up. stepComplete tells of the newest manifest and commits.
	stepCut
	stepManifest
	stepAbort
	stepComplete
	// stepFinal makes the manifest of the final checkpoint durable, behind which no row comes.
	stepFinal
	// stepLostAnswers commits, and the answers are lost.
	stepLostAnswers
	// stepKill ends all processes; stepCancel closes the writers; stepZombie forgets them, and they go on. All restore from
	// the newest manifest at parallelism n.
	stepKill
	stepCancel
	stepZombie
	// stepHaunt lets the zombies write, prepare, commit what had been prepared before their end, and, if n is 1, close.
	stepHaunt
	// stepFault lets n/10 operations of the external system pass and makes the next n%10 fail; 9 stands for all until the next restore.
	stepFault
	stepKinds
)

var stepNames = [...]string{"write", "flush", "sleep", "cut", "manifest", "abort", "complete", "final", "lost answers", "kill", "cancel", "zombie", "haunt", "fault"}

func (s step) String() string { return fmt.Sprintf("%s %d", stepNames[s.kind], s.n) }

func describe(steps []step) string {
	var out []string
	for _, s := range steps {
		out = append(out, s.String())
	}
	return strings.Join(out, "; ")
}

// script is an undisturbed life: checkpoints, one of which is given up and one of which is reported late, and a savepoint.
var script = []step{
	{stepWrite, 5}, {stepFlush, 0}, {stepCut, 0}, {stepManifest, 0}, {stepComplete, 0},
	{stepWrite, 3}, {stepCut, 0}, {stepManifest, 0},
	{stepWrite, 4}, {stepSleep, 40}, {stepCut, 0}, {stepAbort, 0},
	{stepWrite, 2}, {stepCut, 1}, {stepManifest, 0}, {stepComplete, 0},
	{stepSleep, 90}, {stepCut, 0}, {stepManifest, 0},
	{stepWrite, 6}, {stepFlush, 0},
}

// eachStep disturbs the script before and after each of its steps.
func (c TwoPhaseCase[T]) eachStep() error {
	disturbances := [][]step{
		nil, {{stepComplete, 0}}, {{stepLostAnswers, 0}}, {{stepFlush, 0}, {stepFlush, 0}},
		{{stepKill, 0}}, {{stepKill, 1}}, {{stepKill, 3}}, {{stepKill, 3}, {stepKill, 2}},
		{{stepCancel, 0}}, {{stepCancel, 1}}, {{stepCancel, 4}}, {{stepLostAnswers, 0}, {stepKill, 0}},
		{{stepZombie, 0}, {stepHaunt, 0}}, {{stepZombie, 2}, {stepHaunt, 1}}, {{stepZombie, 3}},
	}
	for p := range min(c.Parallelism, 3) {
		p++
		for at := range len(script) + 1 {
			for _, d := range disturbances {
				steps := slices.Concat(script[:at], d, script[at:])
				if len(d) > 0 && d[0].kind == stepZombie {
					// The zombies go on in the middle of the new attempt's life.
					steps = slices.Insert(steps, min(at+len(d)+3, len(steps)), step{stepHaunt, 0})
				}
				if err := c.try(p, steps); err != nil {
					return c.shortest(p, steps, err, "")
				}
			}
		}
	}
	return c.eachEnd()
}

// eachEnd disturbs the end of the job: a restore of the final checkpoint has nothing to write and maybe all to commit.
func (c TwoPhaseCase[T]) eachEnd() error {
	final, complete := step{stepFinal, 0}, step{stepComplete, 0}
	for p := range min(c.Parallelism, 3) {
		p++
		for _, from := range []int{0, 1, 5, 13, len(script)} {
			for _, d := range [][]step{
				{final}, {final, complete}, {final, {stepKill, 0}}, {final, {stepKill, 3}}, {final, {stepCancel, 1}},
				{final, complete, {stepKill, 0}}, {final, {stepLostAnswers, 0}, {stepKill, 2}}, {final, {stepKill, 0}, final, {stepKill, 1}},
				{final, {stepKill, 0}, {stepCut, 0}, {stepManifest, 0}, {stepKill, 0}},
				{final, {stepZombie, 2}, {stepHaunt, 1}}, {final, complete, {stepZombie, 2}, {stepHaunt, 0}},
			} {
				steps := slices.Concat(script[:from], d)
				if err := c.try(p, steps); err != nil {
					return c.shortest(p, steps, err, "")
				}
			}
		}
	}
	return nil
}

// eachOperation makes each operation of the external system fail, alone or with all behind it.
func (c TwoPhaseCase[T]) eachOperation() error {
	base := slices.Insert(slices.Clone(script), 11, step{stepKill, 2}) // there is a restore with something to commit again
	for _, length := range []int{1, 3, 9} {
		for n := 0; ; n++ {
			steps := slices.Concat([]step{{stepFault, 10*n + length}}, base)
			r, err := c.run(2, steps)
			if err != nil {
				return c.shortest(2, steps, err, "")
			}
			if !r.faults.struck {
				break // there are not so many
			}
		}
	}
	return nil
}

// random runs schedules drawn from seeds.
func (c TwoPhaseCase[T]) random() error {
	for seed := range c.Seeds {
		p, steps := c.draw(uint64(seed))
		if err := c.try(p, steps); err != nil {
			return c.shortest(p, steps, err, fmt.Sprintf("seed %d, ", seed))
		}
	}
	return nil
}

// draw makes a schedule. Checkpoints go well more often than not, or nothing would ever be visible.
func (c TwoPhaseCase[T]) draw(seed uint64) (parallelism int, steps []step) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	parallelism = 1 + rnd.IntN(c.Parallelism)
	usual := []stepKind{stepWrite, stepWrite, stepCut, stepManifest, stepComplete}
	for range 10 + rnd.IntN(60) {
		kind := usual[rnd.IntN(len(usual))]
		if rnd.IntN(3) == 0 {
			kind = stepKind(rnd.IntN(int(stepKinds)))
		}
		s := step{kind: kind}
		switch kind {
		case stepWrite:
			s.n = 1 + rnd.IntN(7)
		case stepSleep:
			s.n = rnd.IntN(100)
		case stepCut:
			s.n = max(0, rnd.IntN(6)-4)
		case stepKill, stepCancel, stepZombie:
			s.n = rnd.IntN(c.Parallelism + 1)
		case stepHaunt:
			s.n = rnd.IntN(2)
		case stepFault:
			s.n = 10*rnd.IntN(30) + []int{1, 1, 2, 9}[rnd.IntN(4)]
		}
		steps = append(steps, s)
	}
	return parallelism, steps
}

// try runs a schedule and then the job to its end.
func (c TwoPhaseCase[T]) try(parallelism int, steps []step) error {
	_, err := c.run(parallelism, steps)
	return err
}

func (c TwoPhaseCase[T]) run(parallelism int, steps []step) (*rig[T], error) {
	r := newRig(c, min(parallelism, c.Parallelism))
	if err := r.start(); err != nil {
		return r, err
	}
	for i, s := range steps {
		if err := r.do(s); err != nil {
			return r, fmt.Errorf("step %d (%v): %w", i+1, s, err)
		}
	}
	return r, r.end()
}

// shortest removes steps for as long as the schedule still fails.
func (c TwoPhaseCase[T]) shortest(parallelism int, steps []step, err error, seed string) error {
	for size := max(len(steps)/2, 1); size > 0; size /= 2 {
		for at := 0; at+size <= len(steps); {
			fewer := slices.Delete(slices.Clone(steps), at, at+size)
			if e := c.try(parallelism, fewer); e != nil {
				steps, err = fewer, e
			} else {
				at += size
			}
		}
	}
	return fmt.Errorf("conntest: two-phase commit: %w\n%sparallelism %d, the shortest failing schedule: %s; to the end", err, seed, parallelism, describe(steps))
}

// withoutCheckpoints runs a job that commits at its end.
func (c TwoPhaseCase[T]) withoutCheckpoints() error {
	for p := 1; p <= c.Parallelism; p++ {
		r := newRig(c, p)
		r.checkpoints = false
		if two, ok := r.target.Sink.(connector.TwoPhase); ok {
			if c, err := two.Committer(r.context(0)); err == nil && c == nil {
				return nil // it is a simple sink then, which has a suite of its own
			}
		}
		for _, f := range []func() error{r.start, func() error { return r.do(step{stepWrite, 20}) }, func() error { return r.do(step{stepFlush, 0}) }, r.end} {
			if err := f(); err != nil {
				return fmt.Errorf("conntest: two-phase commit without checkpoints at parallelism %d: %w", p, err)
			}
		}
	}
	return nil
}

// lose destroys what was prepared. A commit that reports success then is the worst that a sink can do.
func (c TwoPhaseCase[T]) lose() error {
	for _, restored := range []bool{false, true} {
		r := newRig(c, 1)
		if r.target.Lose == nil {
			return nil
		}
		if err := r.start(); err != nil {
			return err
		}
		for _, s := range []step{{stepWrite, 9}, {stepCut, 1}, {stepManifest, 0}} {
			if err := r.do(s); err != nil {
				return err
			}
		}
		if len(r.manifest.committables) == 0 {
			return fmt.Errorf("conntest: two-phase commit: a savepoint of 9 rows prepares no committable")
		}
		r.target.Lose()
		for _, a := range r.answers(r.manifest.committables, restored) {
			if a.Outcome != connector.CommitFailed || a.Err == nil {
				return fmt.Errorf("conntest: two-phase commit: what was prepared is gone, and the committer answers %v, %v; want failed and the reason", a.Outcome, a.Err)
			}
		}
	}
	return nil
}
