package windowop

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/window"
)

// namespace is a window as the namespace of states and timers: start and end, little endian.
type namespace [16]byte

// Spaces says in the schema of a state by window what the windows are. State is not handed from windows of one kind or clock
// to those of another; windows of another size are taken, and those of the old size that are open fire as they were.
func Spaces[T any](b *window.Bound[T]) string {
	return b.Kind.String() + " window in " + b.Domain.String()
}

func namespaceOf(w window.Window) (ns namespace) {
	binary.LittleEndian.PutUint64(ns[:], uint64(w.Start))
	binary.LittleEndian.PutUint64(ns[8:], uint64(w.End))
	return ns
}

func windowOf(ns []byte) window.Window {
	return window.Window{Start: int64(binary.LittleEndian.Uint64(ns)), End: int64(binary.LittleEndian.Uint64(ns[8:]))}
}

func (o *general[K, T, U]) register(d window.Domain, w window.Window, t int64) {
	o.ns = namespaceOf(w)
	o.timers[d].Register(o.key, o.ns[:], t)
}

func (o *general[K, T, U]) unregister(d window.Domain, w window.Window, t int64) {
	o.ns = namespaceOf(w)
	o.timers[d].Delete(o.key, o.ns[:], t)
}

// advance fires the timers up to t.
func (o *general[K, T, U]) advance(d window.Domain, t int64) (err error) {
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = o.failure(p, err, "")
		}
	}()
	err = o.timers[d].Advance(t, func(key statebackend.Key, ns []byte, at int64) error {
		o.keyBuf = append(o.keyBuf[:0], key.Bytes...)
		o.key.Hash, o.key.Bytes = key.Hash, o.keyBuf
		if o.plain {
			return o.plainTimer(windowOf(ns), at)
		}
		return o.onTimer(d, windowOf(ns), at)
	})
	if err != nil {
		return err
	}
	o.doing = ""
	o.arm()
	return o.backend.Err()
}

// onTimer asks the trigger what is to be done at one of the window's timers, and forgets the window at its last.
func (o *general[K, T, U]) onTimer(d window.Domain, w window.Window, at int64) error {
	home := w
	if o.sessions != nil {
		o.loadSessions()
		s, ok := o.live.Find(w)
		if !ok {
			return nil // the session has been replaced
		}
		home = homeOf(s)
	}
	o.window = w
	var r window.Result
	o.trig.enter(w)
	if d == window.EventTime {
		o.doing = "the trigger's OnEventTime"
		r = o.rules.trigger.OnEventTime(at, w, &o.trig)
	} else {
		o.doing = "the trigger's OnProcessingTime"
		r = o.rules.trigger.OnProcessingTime(at, w, &o.trig)
	}
	o.trig.leave()
	if err := o.act(w, home, r); err != nil {
		return err
	}
	if d == o.bound.Domain && at == o.bound.CleanupTime(w) {
		return o.forget(w, home)
	}
	return nil
}

// act does what the trigger decided.
func (o *general[K, T, U]) act(w, home window.Window, r window.Result) error {
	if r.Fires() {
		if err := o.fire(w, home); err != nil {
			return err
		}
	}
	if r.Purges() {
		o.content.clear(o.key, home)
	}
	return nil
}

func (o *general[K, T, U]) fire(w, home window.Window) error {
	if !o.content.has(o.key, home) {
		return nil
	}
	if err := o.enter(w); err != nil {
		return err
	}
	defer o.call.leave()
	if err := o.content.fire(home); err != nil {
		return err
	}
	return o.call.Failed()
}

// enter puts a window of the key at work to the function's context.
func (o *general[K, T, U]) enter(w window.Window) error {
	if err := o.keys.read(o.key.Bytes, &o.call.Key); err != nil {
		return err
	}
	o.call.enter(o.key, w, o.watermark)
	return nil
}

// forget drops everything about a window.
func (o *general[K, T, U]) forget(w, home window.Window) error {
	if o.hooks.forget != nil || len(o.call.windows) > 0 {
		if err := o.forgetStates(w); err != nil {
			return err
		}
	}
	o.content.clear(o.key, home)
	if !o.plain {
		o.retire(w)
	}
	if o.sessions != nil {
		o.loadSessions()
		o.live.Remove(w)
		o.storeSessions()
	}
	return nil
}

// forgetStates clears the function's states of a window.
func (o *general[K, T, U]) forgetStates(w window.Window) error {
	if err := o.enter(w); err != nil {
		return err
	}
	defer o.call.leave()
	if o.hooks.forget != nil {
		o.doing = "the window function's Forget"
		if err := o.hooks.forget(); err != nil {
			return err
		}
	}
	for _, s := range o.call.windows {
		s.clear()
	}
	return o.call.Failed()
}
