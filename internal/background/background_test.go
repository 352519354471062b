package background

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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

func TestAway(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		asked, yields := 0, 0
		p := Pace{waits: func() bool { asked++; return waiting }, yield: func() { yields++ }}
		spin(20*turnMost, p.Break)
		if asked == 0 || waiting == (yields > 0) || !waiting && yields != asked {
			t.Errorf("somebody waits %v: asked %d times, yielded %d times", waiting, asked, yields)
		}
		if most := int(20 * turnMost / turnLeast); asked > 2*most {
			t.Errorf("asked %d times, more than once in a turn", asked)
		}
		if p.turn < turnLeast || p.turn > turnMost {
			t.Errorf("a turn of %v", p.turn)
		}
	}
}

func TestTurnGrows(t *testing.T) {
	wait := time.Duration(0)
	p := Pace{waits: func() bool { return false }, yield: func() { spin(wait, func() {}) }}
	p.Break()
	for _, c := range []struct{ wait, least, most time.Duration }{
		{0, turnLeast, turnMost}, {4 * time.Millisecond, turnMost, turnMost}, {20 * time.Millisecond, turnMost, turnMost},
	} {
		wait = c.wait
		p.began = time.Now().Add(-time.Hour)
		p.Break()
		if p.turn < c.least || p.turn > c.most {
			t.Errorf("after a wait of %v a turn of %v", wait, p.turn)
		}
	}
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
	p.start()
	ask := p.waits
	p.waits = func() bool {
		w := ask()
		if w {
			away++
		}
		return w
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
	p := Pace{waits: func() bool { return true }}
	p.Break()
	if n := testing.AllocsPerRun(100, func() { p.began = time.Time{}; p.Break() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if p.othersWait(); p.read[0].Value.Kind() == 0 {
		t.Error("the metric is gone")
	}
}

func BenchmarkPoint(b *testing.B) {
	var p Pace
	b.ReportAllocs()
	for b.Loop() {
		p.Point()
	}
}
