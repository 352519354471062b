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
	// pauseLeast is how long it is away at least, pauseMost how long before it looks again. What counts is that it is away: the
	// scheduler looks for others then, also for those that wait for another core, which it does not when a goroutine merely
	// yields.
	pauseLeast = 20 * time.Microsecond
	pauseMost  = 320 * time.Microsecond
	// oneIn says what part of a core the work gets if others always wait: one in so many at first, and after patience.
	oneInFirst, oneInLast = 20, 4
	patience              = time.Second
	// pieces is how many calls of Point read the clock once.
	pieces = 16
)

// runnable is the metric of goroutines that could run and have no core.
const runnable = "/sched/goroutines/runnable:goroutines"

// Pace is the pace of the work of one goroutine. The zero value is ready. It belongs to that goroutine.
type Pace struct {
	calls  int
	first  time.Time // of the work
	began  time.Time // of the turn
	turn   time.Duration
	metric [1]metrics.Sample
	clock  clock.Clock
	// waits asks whether others wait, sleep is away, yield lets the core look at its timers. Tests replace all that
	// is nil.
	waits func() bool
	sleep func(time.Duration)
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
	if p.turn == 0 {
		p.start()
		return
	}
	if now := p.clock.Now(); now.Sub(p.began) >= p.turn {
		p.rest(now)
	}
}

// rest is away until nobody waits, or the work has its part of the core behind itself.
func (p *Pace) rest(now time.Time) {
	if !p.waits() {
		p.yield()
		p.began, p.turn = p.clock.Now(), turnLeast
		return
	}
	others := oneIn(now.Sub(p.first)) - 1
	least := now.Sub(p.began) * others
	for pause := pauseLeast; ; pause = min(2*pause, pauseMost) {
		p.sleep(pause)
		p.began = p.clock.Now()
		if p.began.Sub(now) >= least || !p.waits() {
			break
		}
	}
	p.turn = min(max(p.began.Sub(now)/others, turnLeast), turnMost)
}

// oneIn is which part of the core is the work's when it is so old.
func oneIn(age time.Duration) time.Duration {
	return oneInFirst - (oneInFirst-oneInLast)*min(age, patience)/patience
}

func (p *Pace) start() {
	if p.clock == nil {
		p.clock = clock.Real{}
	}
	p.metric[0].Name = runnable
	if p.waits == nil {
		p.waits = p.othersWait
	}
	if p.sleep == nil {
		timer := p.clock.NewTimer(pauseLeast)
		timer.Stop()
		p.sleep = func(d time.Duration) {
			timer.Reset(d)
			<-timer.C()
		}
	}
	if p.yield == nil {
		p.yield = runtime.Gosched
	}
	p.first = p.clock.Now()
	p.began, p.turn = p.first, turnLeast
}

// othersWait reports whether a goroutine is ready and has no core.
func (p *Pace) othersWait() bool {
	metrics.Read(p.metric[:])
	return p.metric[0].Value.Kind() != metrics.KindUint64 || p.metric[0].Value.Uint64() > 0
}
