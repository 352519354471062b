package exchange

import (
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

// Sender puts events into one channel of a task's inbox, in this process or another. It belongs to the producing task,
// and all methods are called by that task's goroutine only.
type Sender interface {
	// Send moves ev, with its batch, into the channel. A batch waits until the channel has room; other events never wait
	// for the consumer. On error the batch has been released. The error is the one that the producing task was cancelled
	// with, errs.Canceled if the consumer is gone, or that of the broken connection to it.
	Send(ev event.Event) error
	// Force is Send without waiting for room, only for what precedes a barrier, a few batches each. It waits only for a
	// consumer in another process to start.
	Force(ev event.Event) error
	// Available reports whether Send would take a batch without waiting. Once it has returned false, WaitOutput of the
	// producer's inbox returns when there is room.
	Available() bool
}

// errConsumerGone is what Send returns when the consumer has closed its inbox before the end of the input, which only a
// cancelled or failed one does.
var errConsumerGone = errs.New(errs.CodeCanceled, errs.ClassCanceled, "", "the consuming task is gone")

// Sender returns the in-process sender for channel ch of this inbox, for the task that owns from. Batches pass by
// reference. A channel has one sender.
func (in *Inbox) Sender(ch int, from *Inbox) Sender {
	s := &localSender{to: in, ch: ch, from: from}
	in.attach(ch, s, false)
	return s
}

// attach makes from the channel's upstream. It returns the channel's depth, or 0 if the inbox is closed.
func (in *Inbox) attach(ch int, from upstream, remote bool) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	c := &in.chans[ch]
	if c.from != nil {
		panic("exchange: a channel has one sender")
	}
	c.from = from
	if remote {
		c.remote, c.wanted = true, true
		c.depth = in.remoteDepth
		c.credit.Store(int32(c.depth))
	}
	if in.mu.closed {
		return 0
	}
	return c.depth
}

type localSender struct {
	to   *Inbox
	ch   int
	from *Inbox
}

func (s *localSender) Send(ev event.Event) error  { return s.send(ev, false) }
func (s *localSender) Force(ev event.Event) error { return s.send(ev, true) }

func (s *localSender) send(ev event.Event, force bool) error {
	batch := ev.Kind == event.KindBatch
	for {
		if s.from.stopped.Load() {
			return drop(ev, s.from.stopError())
		}
		switch s.to.offer(s.ch, ev, force) {
		case taken:
			if batch {
				raise(&s.from.traffic.Out, 1)
			}
			return nil
		case closed:
			return drop(ev, errConsumerGone)
		}
		if err := s.from.awaitRoom(); err != nil {
			return drop(ev, err)
		}
	}
}

func (s *localSender) Available() bool { return s.to.chans[s.ch].credit.Load() > 0 || s.to.want(s.ch) }

func (s *localSender) room(int) { s.from.poke() }
func (s *localSender) closed()  { s.from.poke() }

// drop releases the batch of an event that could not be sent.
func drop(ev event.Event, err error) error {
	if ev.Batch != nil {
		ev.Batch.Release()
	}
	return err
}
