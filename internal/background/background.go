package background

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/weir-stream/weir/internal/clock"
)

const (
	// turnLeast is how long work runs before it looks whether others wait, turnMost how long if it had to wait long.
	turnLeast = 100 * time.Microsecond
	turnMost  = time.Millisecond
	// share is the part of the time that it was kept waiting for which work runs then.
	share = 4
	// pause is how long it is away at least. What counts is that it is away: the scheduler looks for others then, also for
	// those that wait for another core, which it does not when a goroutine merely yields.
	pause = 20 * time.Microsecond
	// pieces is how many calls of Point read the clock once.
	pieces = 16
)

// runnable is the metric of goroutines that could run and have no core.
const runnable = "/sched/goroutines/runnable:goroutines"

// Pace is the pace of the work of one goroutine. The zero value is ready. It belongs to that goroutine.
type Pace struct {
	calls int
	began time.Time
	turn  time.Duration
	timer clock.Timer
	read  [1]metrics.Sample
	// waits asks whether others wait, yield lets the core look at its timers. Tests replace them.
	waits func() bool
	yield func()
}

// Point is called between pieces of work of at most a microsecond or two. It may block for as long as others have more to do.
func (p *Pace) Point() {
	if p.calls++; p.calls%pieces == 0 {
		p.Break()
	}
}

// Break is Point between pieces of work of some ten microseconds.
func (p *Pace) Break() {
	if p.timer == nil {
		p.start()
		return
	}
	now := clock.Real{}.Now()
	if now.Sub(p.began) < p.turn {
		return
	}
	if p.waits() {
		p.timer.Reset(pause)
		<-p.timer.C()
	} else {
		p.yield() // timers of this core that have come due are looked at
	}
	p.began = clock.Real{}.Now()
	p.turn = min(max(p.began.Sub(now)/share, turnLeast), turnMost)
}

func (p *Pace) start() {
	p.timer = clock.Real{}.NewTimer(pause)
	p.timer.Stop()
	p.read[0].Name = runnable
	if p.waits == nil {
		p.waits = p.othersWait
	}
	if p.yield == nil {
		p.yield = runtime.Gosched
	}
	p.began, p.turn = clock.Real{}.Now(), turnLeast
}

// othersWait reports whether a goroutine is ready and has no core.
func (p *Pace) othersWait() bool {
	metrics.Read(p.read[:])
	return p.read[0].Value.Kind() != metrics.KindUint64 || p.read[0].Value.Uint64() > 0
}
