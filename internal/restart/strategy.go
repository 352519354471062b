package restart

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weir-stream/weir/config"
	"github.com/weir-stream/weir/internal/errs"
)

// Strategy counts the failures of one job. It belongs to one goroutine.
type Strategy interface {
	// Failed takes notice of a failure at now, which never falls. It returns the delay before the restart; or false, and why
	// there is none, in words that follow "the job is not restarted: ".
	Failed(now time.Duration) (delay time.Duration, ok bool, why string)
	// Restarts reports whether it ever restarts a job.
	Restarts() bool
	// String says which strategy it is, with its figures.
	String() string
}

// New returns the strategy that the options ask for. checkpoints says whether any are taken, on which the default depends.
// jitter is the source of jitter.
func New(c *config.Config, checkpoints bool, jitter *rand.Rand) (Strategy, error) {
	kind := c.Get(config.RestartStrategy)
	if kind == "default" {
		kind = "none"
		if checkpoints {
			kind = "exponential-delay"
		}
	}
	switch kind {
	case "fixed-delay":
		return fixedOf(c)
	case "failure-rate":
		return rateOf(c)
	case "exponential-delay":
		return exponentialOf(c, jitter)
	}
	return none{}, nil
}

func bad(key, format string, args ...any) error {
	return errs.New(errs.CodeConfigInvalid, errs.ClassUser, key, format, args...)
}

// none never restarts.
type none struct{}

func (none) Failed(time.Duration) (time.Duration, bool, string) {
	return 0, false, "restart-strategy.type is none"
}

func (none) Restarts() bool { return false }
func (none) String() string { return "none" }

// fixed restarts up to max times.
type fixed struct {
	max, done int
	delay     time.Duration
}

func fixedOf(c *config.Config) (Strategy, error) {
	f := &fixed{max: c.Get(config.RestartFixedAttempts), delay: c.Get(config.RestartFixedDelay)}
	if f.max < 0 || f.delay < 0 {
		return nil, bad("restart-strategy.fixed-delay", "attempts is %d and delay %v: neither can be negative", f.max, f.delay)
	}
	return f, nil
}

func (f *fixed) Failed(time.Duration) (time.Duration, bool, string) {
	if f.done >= f.max {
		return 0, false, fmt.Sprintf("it has been restarted %d times (restart-strategy.fixed-delay.attempts)", f.done)
	}
	f.done++
	return f.delay, true, ""
}

func (f *fixed) Restarts() bool { return true }

func (f *fixed) String() string { return fmt.Sprintf("fixed-delay, %d times after %v", f.max, f.delay) }

// rate restarts as long as fewer than max+1 failures have come within the interval.
type rate struct {
	max             int
	interval, delay time.Duration
	recent          []time.Duration // the last failures, at most max
}

func rateOf(c *config.Config) (Strategy, error) {
	r := &rate{max: c.Get(config.RestartRateMax), interval: c.Get(config.RestartRateInterval), delay: c.Get(config.RestartRateDelay)}
	if r.max < 1 || r.interval <= 0 || r.delay < 0 {
		return nil, bad("restart-strategy.failure-rate", "max-failures-per-interval is %d, failure-rate-interval %v, delay %v: the first two must be above zero, the delay not below",
			r.max, r.interval, r.delay)
	}
	return r, nil
}

// Failed implements Strategy. The failure at now counts only for those to come: with a maximum of 1, the first is restarted,
// and so is a second one that comes later than an interval after it.
func (r *rate) Failed(now time.Duration) (time.Duration, bool, string) {
	if len(r.recent) == r.max {
		if now-r.recent[0] <= r.interval {
			return 0, false, fmt.Sprintf("it has failed more than %d times within %v (restart-strategy.failure-rate)", r.max, r.interval)
		}
		r.recent = r.recent[1:]
	}
	r.recent = append(r.recent, now)
	return r.delay, true, ""
}

func (r *rate) Restarts() bool { return true }

func (r *rate) String() string {
	return fmt.Sprintf("failure-rate, %d in %v, after %v", r.max, r.interval, r.delay)
}

// exponential waits longer from failure to failure.
type exponential struct {
	initial, upper, reset time.Duration
	multiplier, jitter    float64
	max                   int // -1: any number
	random                *rand.Rand

	next     time.Duration // the delay of the next failure, without jitter
	attempts int           // since the last reset
	resumed  time.Duration // when the last restart was due
}

func exponentialOf(c *config.Config, random *rand.Rand) (Strategy, error) {
	e := &exponential{initial: c.Get(config.RestartExpInitial), upper: c.Get(config.RestartExpMax), reset: c.Get(config.RestartExpReset),
		multiplier: c.Get(config.RestartExpMultiplier), jitter: c.Get(config.RestartExpJitter), max: c.Get(config.RestartExpAttempts), random: random}
	const key = "restart-strategy.exponential-delay"
	switch {
	case e.initial <= 0 || e.upper < e.initial:
		return nil, bad(key, "initial-backoff is %v and max-backoff %v: the first must be above zero and no longer than the second", e.initial, e.upper)
	case !(e.multiplier >= 1):
		return nil, bad(key, "backoff-multiplier is %v; it must be at least 1", e.multiplier)
	case !(e.jitter >= 0 && e.jitter <= 1):
		return nil, bad(key, "jitter-factor is %v; it must lie between 0 and 1", e.jitter)
	case e.reset < 0 || e.max < -1:
		return nil, bad(key, "reset-backoff-threshold is %v and attempts-before-reset-backoff %d: the first cannot be negative, nor the second, except -1", e.reset, e.max)
	}
	e.next = e.initial
	return e, nil
}

func (e *exponential) Failed(now time.Duration) (time.Duration, bool, string) {
	if e.attempts > 0 && now-e.resumed >= e.reset {
		e.attempts, e.next = 0, e.initial
	}
	if e.max >= 0 && e.attempts >= e.max {
		return 0, false, fmt.Sprintf("it has been restarted %d times without %v of quiet (restart-strategy.exponential-delay)", e.attempts, e.reset)
	}
	e.attempts++
	delay := e.next
	e.next = min(time.Duration(float64(e.next)*e.multiplier), e.upper)
	if swing := time.Duration(float64(delay) * e.jitter); swing > 0 {
		delay += time.Duration(e.random.Int64N(2*int64(swing)+1)) - swing
	}
	delay = min(max(delay, e.initial), e.upper)
	e.resumed = now + delay
	return delay, true, ""
}

func (e *exponential) Restarts() bool { return true }

func (e *exponential) String() string {
	return fmt.Sprintf("exponential-delay, from %v to %v, times %v", e.initial, e.upper, e.multiplier)
}
