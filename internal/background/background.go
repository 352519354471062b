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
	// pollMost is how long it runs at a time if every core is taken: nobody waits for the network then.
	pollMost = 2 * time.Millisecond
	// pieces is how many calls of Point read the clock once.
	pieces = 16
)

// metricNames are the goroutines that could run and have no core, those that run, and the cores.
var metricNames = [...]string{"/sched/goroutines/runnable:goroutines", "/sched/goroutines/running:goroutines", "/sched/gomaxprocs:threads"}

// crowd is what the scheduler has to do.
type crowd uint8

const (
	crowdNone  crowd = iota // a core is free
	crowdFull               // every core has something to run
	crowdWaits              // and somebody waits for one
)

// Pace is the pace of the work of one goroutine. The zero value is ready. It belongs to that goroutine.
type Pace struct {
	calls  int
	first  time.Time // of the work
	began  time.Time // of the turn
	turn   time.Duration
	polled time.Time // when it was away last
	metric [len(metricNames)]metrics.Sample
	// look asks the scheduler, sleep is away, yield lets the core look at its timers. Tests replace these and the clock.
	look  func() crowd
	sleep func(time.Duration)
	yield func()
	clock clock.Clock
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

// rest is away until nobody waits, or the work has its part of the core behind itself. If nobody waits it goes on, but for a
// pause now and then if no core is free.
func (p *Pace) rest(now time.Time) {
	others := oneIn(now.Sub(p.first)) - 1
	switch c := p.look(); {
	case c == crowdWaits:
		least := now.Sub(p.began) * others
		for pause := pauseLeast; ; pause = min(2*pause, pauseMost) {
			p.sleep(pause)
			p.began = p.clock.Now()
			if p.began.Sub(now) >= least || p.look() != crowdWaits {
				break
			}
		}
		p.polled = p.began
		p.turn = min(max(p.began.Sub(now)/others, turnLeast), turnMost)
		return
	case c == crowdFull && now.Sub(p.polled) >= pollMost:
		p.sleep(pauseLeast)
		p.began = p.clock.Now()
		p.polled = p.began
	default:
		p.yield()
		p.began = p.clock.Now()
	}
	p.turn = turnLeast
}

// oneIn is which part of the core is the work's when it is so old.
func oneIn(age time.Duration) time.Duration {
	return oneInFirst - (oneInFirst-oneInLast)*min(age, patience)/patience
}

func (p *Pace) start() {
	if p.clock == nil {
		p.clock = clock.Real{}
	}
	for i := range p.metric {
		p.metric[i].Name = metricNames[i]
	}
	if p.look == nil {
		p.look = p.ask
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
	p.began, p.polled, p.turn = p.first, p.first, turnLeast
}

// ask asks the scheduler. Its figures are a moment old, and so is the answer.
func (p *Pace) ask() crowd {
	metrics.Read(p.metric[:])
	for i := range p.metric {
		if p.metric[i].Value.Kind() != metrics.KindUint64 {
			return crowdWaits
		}
	}
	switch m := &p.metric; {
	case m[0].Value.Uint64() > 0:
		return crowdWaits
	case m[1].Value.Uint64() >= m[2].Value.Uint64():
		return crowdFull
	}
	return crowdNone
}
