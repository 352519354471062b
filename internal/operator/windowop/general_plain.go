package windowop

import (
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/window"
)

// With the plain trigger (Bound.Plain) the operator asks nobody: a window fires when its time has come, and in event time at each row
// behind that. Timers are set when a window's content begins. A session has one, in whose namespace is the session's home:
// it is not later than what is to be done next, and when it fires too early, because the session has grown, it is set anew.
// So most rows set no timer.

// watermarkOrNone is the clock of the windows as far as late rows are concerned.
func (o *general[K, T, U]) watermarkOrNone() int64 {
	if o.bound.Domain == window.ProcessingTime {
		return event.NoTime
	}
	return o.watermark
}

// isOver reports whether a window has fired at its end.
func (o *general[K, T, U]) isOver(w window.Window) bool {
	return o.bound.Domain == window.EventTime && w.MaxTimestamp() <= o.watermark
}

// plainElement decides about a row that was added to a window. fresh says that the window has content since this row.
func (o *general[K, T, U]) plainElement(w window.Window, fresh bool) window.Result {
	over := o.isOver(w)
	if fresh && o.sessions == nil {
		if !over {
			o.register(o.bound.Domain, w, w.MaxTimestamp())
		}
		if at := o.bound.CleanupTime(w); at != event.MaxTime && (over || at != w.MaxTimestamp()) {
			o.register(o.bound.Domain, w, at)
		}
	}
	if over {
		return window.Fire
	}
	return window.Continue
}

// planSession sets the timer of a session that was opened, or that has fired before and lives again.
func (o *general[K, T, U]) planSession(s window.LiveSession, after int64) {
	next := s.Window.MaxTimestamp()
	if next <= after {
		next = o.bound.CleanupTime(s.Window)
	}
	if next > after {
		o.register(o.bound.Domain, homeOf(s), next)
	}
}

// plainTimer does what is due at a timer.
func (o *general[K, T, U]) plainTimer(ns window.Window, at int64) error {
	w := ns
	if o.sessions != nil {
		o.loadSessions()
		s, ok := o.sessionAt(ns.Start)
		if !ok {
			return nil // it has merged into another
		}
		w = s.Window
		if at < w.MaxTimestamp() {
			o.planSession(s, at)
			return nil
		}
	}
	o.window = w
	if at == w.MaxTimestamp() {
		if err := o.fire(w, ns); err != nil {
			return err
		}
	}
	switch cleanup := o.bound.CleanupTime(w); {
	case at >= cleanup:
		return o.forget(w, ns)
	case o.sessions != nil:
		o.register(o.bound.Domain, ns, cleanup)
	}
	return nil
}

// sessionAt finds the live session with that home.
func (o *general[K, T, U]) sessionAt(home int64) (window.LiveSession, bool) {
	for _, s := range o.live.Live {
		if s.Home == home {
			return s, true
		}
	}
	return window.LiveSession{}, false
}
