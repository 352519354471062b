package background

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
)

// machine plays one on which others wait or not, in virtual time.
type machine struct {
	*clock.Virtual
	asked, yields int
	slept         []time.Duration
	crowd         func() crowd
	late          time.Duration // of whoever sleeps
}

func newMachine() (*machine, *Pace) {
	m := &machine{Virtual: clock.NewVirtual(time.Unix(0, 0))}
	p := &Pace{
		clock: m,
		look:  func() crowd { m.asked++; return m.crowd() },
		sleep: func(d time.Duration) { m.slept = append(m.slept, d); m.Advance(d + m.late) },
		yield: func() { m.yields++ },
	}
	p.Break()
	return m, p
}

func TestNobodyWaits(t *testing.T) {
	m, p := newMachine()
	m.crowd = func() crowd { return crowdNone }
	for range 20 {
		m.Advance(turnLeast / 2)
		p.Break()
	}
	if m.asked != 10 || m.yields != 10 || m.slept != nil {
		t.Errorf("in ten turns: asked %d times, yielded %d times, slept %v", m.asked, m.yields, m.slept)
	}
}

// Who is let go after one pause goes on, with the shortest turn.
func TestOneWaits(t *testing.T) {
	m, p := newMachine()
	m.crowd = func() crowd {
		if m.asked == 1 {
			return crowdWaits
		}
		return crowdFull
	}
	m.Advance(turnLeast)
	p.Break()
	if m.asked != 2 || !slices.Equal(m.slept, []time.Duration{pauseLeast}) || m.yields > 0 || p.turn != turnLeast {
		t.Errorf("asked %d times, slept %v, yielded %d times, then a turn of %v", m.asked, m.slept, m.yields, p.turn)
	}
}

// If no core is free the work is away for a moment now and then, so that somebody looks at the network.
func TestFull(t *testing.T) {
	m, p := newMachine()
	m.crowd = func() crowd { return crowdFull }
	for m.Now().Before(time.Unix(0, 0).Add(10 * pollMost)) {
		m.Advance(turnLeast)
		p.Break()
	}
	if len(m.slept) < 8 || len(m.slept) > 10 || m.slept[0] != pauseLeast || m.yields < 150 {
		t.Errorf("slept %v, yielded %d times", m.slept, m.yields)
	}
}

// If others always wait, the work is away for so many times its turn, and its pauses grow.
func TestAllWait(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		age   time.Duration
		slept []time.Duration
	}{
		{0, []time.Duration{20 * us, 40 * us, 80 * us, 160 * us, 320 * us, 320 * us, 320 * us, 320 * us, 320 * us}}, // 19 turns
		{time.Second / 2, []time.Duration{20 * us, 40 * us, 80 * us, 160 * us, 320 * us, 320 * us, 320 * us}},       // 11 turns
		{time.Second, []time.Duration{20 * us, 40 * us, 80 * us, 160 * us}},                                         // 3 turns
		{time.Hour, []time.Duration{20 * us, 40 * us, 80 * us, 160 * us}},
	} {
		m, p := newMachine()
		m.crowd = func() crowd { return crowdWaits }
		m.Advance(turnLeast)
		p.first = m.Now().Add(-c.age)
		p.Break()
		if !slices.Equal(m.slept, c.slept) {
			t.Errorf("at an age of %v: %v, not %v", c.age, m.slept, c.slept)
		}
		if p.turn < turnLeast || p.turn > turnLeast*6/5 {
			t.Errorf("at an age of %v: then a turn of %v", c.age, p.turn)
		}
	}
}

// Who was away for longer than it wanted gets a turn that makes up for it, but none that others notice.
func TestTurnGrows(t *testing.T) {
	for _, c := range []struct{ late, turn time.Duration }{
		{1480 * time.Microsecond, 500 * time.Microsecond},
		{10 * time.Millisecond, turnMost},
	} {
		m, p := newMachine()
		m.crowd = func() crowd { return crowdWaits }
		m.late = c.late
		m.Advance(turnLeast)
		p.first = p.first.Add(-time.Second)
		p.Break()
		if len(m.slept) != 1 || p.turn != c.turn {
			t.Errorf("after pauses of %v, each late by %v, a turn of %v, not %v", m.slept, c.late, p.turn, c.turn)
		}
	}
}

// spin works for d and calls point every few microseconds.
func spin(d time.Duration, point func()) {
	sum := 0
	for began := time.Now(); time.Since(began) < d; {
		for i := range 1000 {
			sum += i
		}
		point()
	}
	runtime.KeepAlive(sum)
}

// On one core a goroutine that is ready gets its turn although the work never ends, without the 10 ms of a preemption: as many
// turns as the work gets.
func TestOthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var stop atomic.Bool
	var turns atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			turns.Add(1)
			runtime.Gosched()
		}
	}()
	var p Pace
	away := 0
	p.Break()
	p.look = func() crowd {
		c := p.ask()
		if c == crowdWaits {
			away++
		}
		return c
	}
	for away < 20 {
		spin(turnLeast, p.Break)
	}
	if turns.Load() < 20 {
		t.Errorf("%d turns of the other while the work went away %d times", turns.Load(), away)
	}
	stop.Store(true)
	<-done
}

// In a bubble time stands still while somebody runs: the work never waits, so what happens does not depend on the machine.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		var p Pace
		for range 1_000_000 {
			p.Point()
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("%v have passed", d)
		}
	})
}

func TestAllocations(t *testing.T) {
	var p Pace
	p.Break()
	p.look = func() crowd { return crowdWaits }
	if n := testing.AllocsPerRun(100, func() { p.began = p.began.Add(-turnLeast); p.Break() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	p.ask()
	for _, m := range p.metric {
		if m.Value.Kind() != metrics.KindUint64 {
			t.Errorf("the metric %s is gone", m.Name)
		}
	}
}

func BenchmarkPoint(b *testing.B) {
	var p Pace
	b.ReportAllocs()
	for b.Loop() {
		p.Point()
	}
}
