package clock

import (
	"context"
	"time"
)

// Clock tells the time and wakes who waits for it. All methods may be called from any goroutine.
type Clock interface {
	// Now is the present instant. Under Real it carries the monotonic reading, so that differences never jump.
	Now() time.Time
	// Since is the time elapsed from t until now.
	Since(t time.Time) time.Duration
	// NewTimer returns a timer that sends the instant once on its channel when d has passed. A d of zero or less
	// fires at once.
	NewTimer(d time.Duration) Timer
	// AfterFunc calls f once when d has passed. f must not block; the Timer's channel is nil.
	AfterFunc(d time.Duration, f func()) Timer
	// Sleep blocks until d has passed, and returns nil, or until ctx is done, and then returns its error. With a d of
	// zero or less it only asks ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

// Timer is one setting of a clock's alarm. All methods may be called from any goroutine.
type Timer interface {
	// C is the channel of NewTimer, with room for one instant; nil for AfterFunc.
	C() <-chan time.Time
	// Stop keeps the timer from firing. It reports whether it did: false if the function was started or the instant
	// received, or if the timer was stopped already. After Stop nothing stale is received from C.
	Stop() bool
	// Reset sets the timer anew to fire after d. It reports what Stop would have. After Reset nothing stale of the
	// earlier setting is received from C.
	Reset(d time.Duration) bool
}

// Real is the machine's clock. The zero value is ready; it has no state. Inside a testing/synctest bubble it follows
// the bubble's time.
type Real struct{}

// Now implements Clock.
func (Real) Now() time.Time { return time.Now() }

// Since implements Clock.
func (Real) Since(t time.Time) time.Duration { return time.Since(t) }

// NewTimer implements Clock.
func (Real) NewTimer(d time.Duration) Timer { return realTimer{time.NewTimer(d)} }

// AfterFunc implements Clock. f runs on a goroutine of its own.
func (Real) AfterFunc(d time.Duration, f func()) Timer { return realTimer{time.AfterFunc(d, f)} }

// Sleep implements Clock.
func (Real) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, Real{}, d) }

type realTimer struct{ t *time.Timer }

func (r realTimer) C() <-chan time.Time        { return r.t.C }
func (r realTimer) Stop() bool                 { return r.t.Stop() }
func (r realTimer) Reset(d time.Duration) bool { return r.t.Reset(d) }

// sleep is Sleep for any clock, over its timers.
func sleep(ctx context.Context, c Clock, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
