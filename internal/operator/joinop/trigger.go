package joinop

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/window"
)

const stateBytes = int(unsafe.Sizeof(window.State{}))

// memory returns the trigger's memory for the window whose namespace is o.ns. It lies in the backend and is valid until
// the next access to that state.
func (o *windows[K, A, B, U]) memory(key statebackend.Key) *window.State {
	if o.triggers == nil {
		o.blank = window.State{}
		return &o.blank
	}
	p, _ := o.triggers.Ref(key, o.ns)
	return (*window.State)(p)
}

// triggerHost is what a trigger's context needs of its operator.
type triggerHost interface {
	now() (watermark, processing int64)
	setTimer(d window.Domain, key statebackend.Key, w window.Window, t int64)
	deleteTimer(d window.Domain, key statebackend.Key, w window.Window, t int64)
}

// triggerContext is the window.Context of the triggers bound to rows of T. There is one for each side, set for each call.
type triggerContext[K, T any] struct {
	host  triggerHost
	key   statebackend.Key
	w     window.Window
	state *window.State
}

// at sets the context for a call.
func (c *triggerContext[K, T]) at(key statebackend.Key, w window.Window, state *window.State) *triggerContext[K, T] {
	c.key, c.w, c.state = key, w, state
	return c
}

func (c *triggerContext[K, T]) Watermark() int64 {
	t, _ := c.host.now()
	return t
}

func (c *triggerContext[K, T]) ProcessingTime() int64 {
	_, t := c.host.now()
	return t
}

func (c *triggerContext[K, T]) State() *window.State { return c.state }

func (c *triggerContext[K, T]) SetTimer(d window.Domain, t int64) {
	c.host.setTimer(d, c.key, c.w, t)
}

func (c *triggerContext[K, T]) DeleteTimer(d window.Domain, t int64) {
	c.host.deleteTimer(d, c.key, c.w, t)
}

// Element is never asked for: FitsWindow refuses triggers that remember a row.
func (c *triggerContext[K, T]) Element() (v T, ok bool) { return v, false }
func (c *triggerContext[K, T]) SetElement(T)            {}

func (o *windows[K, A, B, U]) now() (watermark, processing int64) { return o.watermark, o.ctx.Now() }

// deleteTimer drops a timer of a trigger. The operator's own, for cleanup, stays.
func (o *windows[K, A, B, U]) deleteTimer(d window.Domain, key statebackend.Key, w window.Window, t int64) {
	if d == o.domain() && t == o.cfg.Left.CleanupTime(w) {
		return
	}
	o.timerNS = appendWindow(o.timerNS[:0], w)
	o.timers[d].Delete(key, o.timerNS, t)
}

// setTimer registers a timer of a window. MaxInt64 is the end of the input for event time, and never for processing time.
func (o *windows[K, A, B, U]) setTimer(d window.Domain, key statebackend.Key, w window.Window, t int64) {
	if t == math.MaxInt64 && d == window.ProcessingTime {
		return
	}
	o.timerNS = appendWindow(o.timerNS[:0], w)
	o.timers[d].Register(key, o.timerNS, t)
	if d == window.ProcessingTime {
		o.next = min(o.next, t)
	}
}

// clearTrigger drops a window's trigger and timers.
func (o *windows[K, A, B, U]) clearTrigger(key statebackend.Key, w window.Window) {
	o.ns = appendWindow(o.ns[:0], w)
	o.cfg.Left.Trigger.Clear(w, o.left.trigger.at(key, w, o.memory(key)))
	if o.triggers != nil {
		o.triggers.Clear(key, o.ns)
	}
}

// arm asks to be called when the first processing-time timer is due. A timer that was deleted meanwhile costs a call.
func (o *windows[K, A, B, U]) arm() {
	if o.next >= o.alarmAt {
		return
	}
	if o.alarm != nil {
		o.alarm()
	}
	o.alarmAt = o.next
	// Timers for the present millisecond wait: rows of it may still come, and belong to windows that end with it.
	o.alarm = o.ctx.Timers.At(o.next+1, func(now int64) error {
		o.alarm, o.alarmAt, o.next = nil, math.MaxInt64, math.MaxInt64
		if err := o.advance(window.ProcessingTime, now-1); err != nil {
			return err
		}
		if at, ok := o.timers[window.ProcessingTime].NextTime(); ok {
			o.next = at
		}
		o.arm()
		return nil
	})
}

// session adds the window of a row to the sessions of its key, merges those that it bridges, and returns the session that
// the row belongs to. The key's sessions are in o.live afterwards.
func (o *windows[K, A, B, U]) session(key statebackend.Key, w window.Window) (window.LiveSession, error) {
	o.loadSessions(key)
	o.live.Add(w, &o.merge)
	m := &o.merge
	if !m.Opened && len(m.Old) == 0 {
		return m.Into, nil
	}
	o.storeSessions(key)
	if len(m.Old) == 0 || o.cfg.Left.Late(m.Into.Window, o.watermark) {
		return m.Into, nil
	}
	o.mergeTriggers(key, m)
	to := appendWindow(nil, homeOf(m.Into))
	for _, old := range m.Old {
		if old.Home == m.Into.Home {
			continue
		}
		from := appendWindow(nil, homeOf(old))
		o.left.move(key, from, to)
		o.right.move(key, from, to)
	}
	return m.Into, nil
}

// mergeTriggers brings the triggers of sessions that have merged into that of the new one, and drops their timers.
func (o *windows[K, A, B, U]) mergeTriggers(key statebackend.Key, m *window.Merge) {
	o.states, o.olds = o.states[:0], o.olds[:0]
	for _, old := range m.Old {
		o.ns = appendWindow(o.ns[:0], old.Window)
		o.states = append(o.states, *o.memory(key))
	}
	for i := range o.states {
		o.olds = append(o.olds, &o.states[i])
	}
	into := m.Into.Window
	merged := window.State{} // apart from the backend, since a trigger of an old window may be cleared in between
	if t, ok := o.cfg.Left.Trigger.(window.MergingTrigger[A]); ok {
		t.OnMerge(into, o.olds, o.left.trigger.at(key, into, &merged))
	}
	for i, old := range m.Old {
		if old.Window == into {
			continue // a session that others fell into without its growing keeps its timers
		}
		o.cfg.Left.Trigger.Clear(old.Window, o.left.trigger.at(key, old.Window, &o.states[i]))
		o.ns = appendWindow(o.ns[:0], old.Window)
		o.timers[o.domain()].Delete(key, o.ns, o.cfg.Left.CleanupTime(old.Window))
		if o.triggers != nil {
			o.triggers.Clear(key, o.ns)
		}
	}
	if o.triggers != nil {
		o.ns = appendWindow(o.ns[:0], into)
		*o.memory(key) = merged
	}
}

// loadSessions reads the live sessions of a key into o.live.
func (o *windows[K, A, B, U]) loadSessions(key statebackend.Key) {
	o.live.Live = o.live.Live[:0]
	enc, _ := o.sessions.Get(key, nil)
	for ; len(enc) > 0; enc = enc[24:] {
		o.live.Live = append(o.live.Live, window.LiveSession{
			Window: window.Window{Start: int64(binary.LittleEndian.Uint64(enc)), End: int64(binary.LittleEndian.Uint64(enc[8:]))},
			Home:   int64(binary.LittleEndian.Uint64(enc[16:])),
		})
	}
}

// storeSessions writes o.live back.
func (o *windows[K, A, B, U]) storeSessions(key statebackend.Key) {
	if len(o.live.Live) == 0 {
		o.sessions.Clear(key, nil)
		return
	}
	o.sessBuf = o.sessBuf[:0]
	for _, s := range o.live.Live {
		for _, t := range [...]int64{s.Window.Start, s.Window.End, s.Home} {
			o.sessBuf = binary.LittleEndian.AppendUint64(o.sessBuf, uint64(t))
		}
	}
	o.sessions.Put(key, nil, o.sessBuf)
}
