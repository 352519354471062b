package task

import (
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/operator"
)

// Stepper runs a task in small steps on the caller's goroutine, for tests that decide what happens when. It takes the place
// of Run. The inboxes of the tasks must be deep enough that no output ever waits for room: nobody would make any meanwhile.
//
// Step never waits: a source's Wait is not called.
type Stepper struct {
	t        *Task
	asked    bool
	resumed  bool
	reported bool // the end was reported
	closed   bool
}

// Stepper returns a stepper of the task, whose Run must not be called.
func (t *Task) Stepper() *Stepper { return &Stepper{t: t} }

// Open makes and opens the task's operators.
func (s *Stepper) Open() (err error) {
	s.t.started.Store(s.t.cfg.Clock.Now().UnixNano())
	defer s.caught(&err)
	s.t.phase = phaseOpen
	return s.t.openChain()
}

// Step handles the next event or mail, takes a step of the source, or, if there is neither, fires what is due by the clock
// and flushes. It reports whether there was anything to do.
func (s *Stepper) Step() (worked bool, err error) {
	if s.Done() {
		return false, nil
	}
	defer s.caught(&err)
	if !s.resumed {
		s.resumed = true
		if err := s.t.resume(); err != nil {
			return true, err
		}
	}
	if s.t.over || s.t.stopAt != 0 {
		return s.waits()
	}
	if len(s.t.replay.list) > 0 {
		return true, s.replay()
	}
	at, due := s.t.timers.next()
	fires := due && at <= s.t.millis()
	if err := s.t.turn(); err != nil {
		return true, err
	}
	if s.t.source != nil {
		worked, err = s.source()
	} else {
		worked, err = s.input()
	}
	if worked || err != nil {
		return true, err
	}
	if s.t.dirty && s.t.flushes() {
		return true, s.t.flush()
	}
	return fires, nil
}

// waits serves the mails of a task that does nothing else: it waits for the fate of an epoch.
func (s *Stepper) waits() (worked bool, err error) {
	if c := s.t.cfg.Checkpoints; s.t.over && !s.reported && c.OnDrained != nil {
		s.reported = true
		c.OnDrained()
		return true, nil
	}
	worked = s.t.inbox.HasMail()
	return worked, s.t.drainMail()
}

// replay takes one event that was in flight, or what does not wait for it.
func (s *Stepper) replay() error {
	if err := s.t.turn(); err != nil {
		return err
	}
	if err := s.t.drainMail(); err != nil {
		return err
	}
	if o := s.t.outsider; o != nil && o.Full() {
		return nil
	}
	return s.t.replayOne()
}

func (s *Stepper) input() (worked bool, err error) {
	o := s.t.outsider
	switch {
	case o != nil && (o.Full() || s.t.open == 0 && o.UnderWay()):
		worked = s.t.inbox.HasMail()
		return worked, s.t.drainMail()
	case s.t.open > 0:
		return s.t.takeInput()
	}
	return true, s.t.endInputs()
}

// UnderWay reports that the head has rows outside, which will come back by mail.
func (s *Stepper) UnderWay() bool { return s.t.outsider != nil && !s.Done() && s.t.outsider.UnderWay() }

// AwaitMail blocks until there is a mail for the task.
func (s *Stepper) AwaitMail() error { return s.t.inbox.WaitMail(exchange.Never) }

func (s *Stepper) source() (worked bool, err error) {
	if !s.asked {
		s.asked = true
		if err := s.t.askForSplit(); err != nil {
			return true, err
		}
	}
	worked = s.t.inbox.HasMail()
	if err := s.t.drainMail(); err != nil || s.t.over || s.t.leave || s.t.stopAt != 0 {
		return true, err
	}
	st, err := s.t.stepSource()
	if err != nil {
		return true, err
	}
	switch st {
	case operator.SourceReady:
		return true, nil
	case operator.SourceFinished:
		return true, s.t.endSource()
	}
	return worked, nil
}

// NextTimer returns when the task's next callback of processing time is due, in ms; false if none is set.
func (s *Stepper) NextTimer() (at int64, ok bool) {
	at, ok = s.t.timers.next()
	if d := s.t.align.deadline; d > 0 && (!ok || d < at) {
		return d, true
	}
	return at, ok
}

// PendingTimers returns how many timers the users of the chain's operators have registered.
func (s *Stepper) PendingTimers() (event, processing int) {
	for _, l := range s.t.links {
		if h, ok := l.op.(operator.TimerHolder); ok {
			e, p := h.PendingTimers()
			event, processing = event+e, processing+p
		}
	}
	return event, processing
}

// Done reports whether the task has come to its end.
func (s *Stepper) Done() bool {
	return s.t.leave || s.t.over && s.t.cfg.Checkpoints.OnDrained == nil
}

// Close closes the operators and returns err, or else the first error of closing. Only the first call counts.
func (s *Stepper) Close(err error) error {
	if s.closed {
		return err
	}
	s.closed = true
	s.t.cancel()
	return s.t.close(err)
}

func (s *Stepper) caught(err *error) {
	if p := recover(); p != nil {
		*err = s.t.panicked(p)
	}
}
