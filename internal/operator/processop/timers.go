package processop

import (
	"fmt"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/statebackend"
	"github.com/weir-stream/weir/internal/timer"
)

// RegisterEvent registers a timer for the key at work, to fire when the watermark reaches t: at the next watermark if it
// has already.
func (k *Keyed[K]) RegisterEvent(t int64) {
	k.needKey("an event-time timer")
	k.event.Register(k.Place.Key, nil, t)
}

// DeleteEvent takes an event-time timer of the key at work back; it does nothing if there is none.
func (k *Keyed[K]) DeleteEvent(t int64) {
	k.needKey("an event-time timer")
	k.event.Delete(k.Place.Key, nil, t)
}

// RegisterProcessing registers a timer for the key at work, to fire when the clock has reached t.
func (k *Keyed[K]) RegisterProcessing(t int64) {
	k.needKey("a processing-time timer")
	k.processing.Register(k.Place.Key, nil, t)
	if !(k.fire.active && k.fire.processing) {
		k.arm(t)
	}
}

// DeleteProcessing takes a processing-time timer of the key at work back; it does nothing if there is none.
func (k *Keyed[K]) DeleteProcessing(t int64) {
	k.needKey("a processing-time timer")
	k.processing.Delete(k.Place.Key, nil, t)
}

// PendingTimers implements operator.TimerHolder.
func (k *Keyed[K]) PendingTimers() (event, processing int) {
	if k.event != nil {
		event = k.event.Len()
	}
	if k.processing != nil {
		processing = k.processing.Len()
	}
	return event, processing
}

func (k *Keyed[K]) needKey(what string) {
	if k.onTimer == nil {
		panic(errs.New(errs.CodeUserFunction, errs.ClassUser, k.Op.Place(), "%s was asked for, but the function has no OnTimer method", what))
	}
	if !k.Place.Set {
		panic(errs.New(errs.CodeUserFunction, errs.ClassUser, k.Op.Place(),
			"%s was asked for while there is no key: timers belong to the key of a row or of another timer", what))
	}
}

// arm sets the alarm for processing time t unless one is set that comes first.
func (k *Keyed[K]) arm(t int64) {
	if k.alarm != nil {
		if k.alarmAt <= t {
			return
		}
		k.alarm()
	}
	k.alarmAt = t
	k.alarm = k.Op.Timers.At(t, k.ring)
}

// ring fires what was due when the alarm was set for: timers that a firing registers come with the next alarm, so that one
// which always registers another cannot hold the task for ever.
func (k *Keyed[K]) ring(int64) error {
	k.alarm = nil
	if err := k.advance(k.processing, k.alarmAt, true); err != nil {
		return err
	}
	if t, ok := k.processing.NextTime(); ok {
		k.arm(t)
	}
	return nil
}

// afterRestore sets the alarm for the processing-time timers of an earlier run. Those that are overdue fire at once.
func (k *Keyed[K]) afterRestore() {
	if k.processing == nil {
		return
	}
	if t, ok := k.processing.NextTime(); ok {
		k.arm(t)
	}
}

func (k *Keyed[K]) fireEvent(t int64) error {
	if k.event == nil {
		return nil
	}
	return k.advance(k.event, t, false)
}

// advance fires the timers up to t, in the order of their times.
func (k *Keyed[K]) advance(timers *timer.Timers, t int64, processing bool) (err error) {
	f := &k.fire
	f.active, f.processing, f.count = true, processing, 0
	defer func() {
		if p := recover(); p != nil || err != nil {
			err = operator.UserError(k.Op, p, err, k.timerText)
		}
		f.active = false
		k.leave()
	}()
	return k.after(timers.Advance(t, k.due))
}

// cancelEvery is after how many timers a firing looks whether the task is cancelled.
const cancelEvery = 1 << 10

// due runs one timer.
func (k *Keyed[K]) due(key statebackend.Key, _ []byte, t int64) error {
	f := &k.fire
	f.at = t
	if f.count++; f.count%cancelEvery == 0 && k.Op.Ctx.Err() != nil {
		return errs.Canceled
	}
	k.Place.At(key.Hash, key.Bytes)
	k.decoded = false
	k.Time = t
	if f.processing {
		k.Time = event.NoTime
	}
	if err := k.onTimer(t, f.processing); err != nil {
		return err
	}
	return k.failed()
}

// timerText says for messages which timer is at work.
func (k *Keyed[K]) timerText() string {
	kind := "event-time"
	if k.fire.processing {
		kind = "processing-time"
	}
	key := "?"
	func() {
		defer func() { _ = recover() }() // a message must not fail
		if v, ok := k.Key(); ok {
			key = fmt.Sprintf("%+v", v)
		}
	}()
	return fmt.Sprintf(" (at the %s timer %s of key %s)", kind, timeText(k.fire.at), key)
}

// finish says what becomes of processing-time timers when the input has ended: as in Flink they do not fire.
func (k *Keyed[K]) finish() {
	if k.alarm != nil {
		k.alarm()
		k.alarm = nil
	}
	if k.processing == nil {
		return
	}
	if n := k.processing.Len(); n > 0 {
		k.Op.Log.Warn("processing-time timers are dropped, because the input has ended before their time", "timers", n)
	}
}
