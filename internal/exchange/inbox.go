package exchange

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/invariant"
	"github.com/weir-stream/weir/internal/xsync"
)

const (
	// DefaultDepth is how many batches a channel within a process holds. More are slower: rows in flight leave the cache.
	DefaultDepth = 3
	// DefaultRemoteDepth is the same for a channel from another process, where credit takes a round trip to come back.
	DefaultRemoteDepth = 8
)

// Never is the deadline that does not come.
const Never int64 = math.MaxInt64

// Timer is the part of *time.Timer that an inbox needs.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// Config describes an inbox. Now must be set, and AfterFunc if a wait ever has a deadline; for the rest zero is the default.
type Config struct {
	// Name is the task's name for messages.
	Name string
	// Channels is the number of input channels. A source has none.
	Channels int
	// Depth and RemoteDepth bound the batches that a channel holds.
	Depth, RemoteDepth int
	// Now reads a clock in nanoseconds. It is read only around real waits.
	Now func() int64
	// AfterFunc calls f on a goroutine of its own after d.
	AfterFunc func(d time.Duration, f func()) Timer
}

// Item is what Poll returns: a mail, or an event with the channel that it came on.
type Item struct {
	// Mail is set if the item is a mail. The task calls it and fails with the error it returns.
	Mail func() error
	// Channel is the number of the channel that Event came on.
	Channel int
	// Event is the event; its batch belongs to the caller now.
	Event event.Event
	// News says that Event has arrived and stays where it is: a barrier, which will be polled there, or ahead after Overtake; or,
	// after Overtake, the end of a channel that does not bring the barrier.
	News bool
}

// Inbox is where one task waits: its input channels and its mails.
//
// Poll, Wait, WaitOutput, WaitMail, Block, Unblock, Overtake, Overtaken, Close and the Send of every Sender made for this task are called by
// the task's goroutine only. Post, Cancel, Fail, Available, HasMail and Times may be called by any.
type Inbox struct {
	name      string
	now       func() int64
	afterFunc func(time.Duration, func()) Timer

	remoteDepth int

	// pending holds the pend bits; it is written under mu and read without.
	pending atomic.Uint32
	// stopped says that mu.err is set.
	stopped atomic.Bool

	idle, backpressured, working span

	traffic Traffic

	// chans is never resized; its elements are guarded by mu.
	chans []channel

	mu struct {
		xsync.Mutex
		cond    sync.Cond
		waiting waitFor
		// poked says that some sender of the task may have room again.
		poked bool
		mails []func() error
		// ready are the channels with something to poll, ahead those with something that does not wait for its turn.
		ready, ahead bitset
		// current is the channel polled last, run how often in a row.
		current, run int
		err          error
		closed       bool
		timer        Timer
		timerAt      int64 // when timer fires; Never if it is not set
	}
}

// waitFor says what the task's goroutine waits for, so that others wake it only for that.
type waitFor uint8

const (
	waitNone waitFor = iota
	waitInput
	waitOutput
	waitSend
)

const (
	pendInput = 1 << iota
	pendMail
	pendError
	pendAhead
)

// NewInbox returns an inbox that is ready for use.
func NewInbox(cfg Config) *Inbox {
	invariant.Always(cfg.Now != nil && cfg.Channels >= 0, "exchange: inbox %q needs a clock", cfg.Name)
	in := &Inbox{name: cfg.Name, now: cfg.Now, afterFunc: cfg.AfterFunc, chans: make([]channel, cfg.Channels)}
	in.mu.cond.L = &in.mu.Mutex
	in.mu.ready, in.mu.ahead = newBitset(cfg.Channels), newBitset(cfg.Channels)
	in.mu.timerAt = Never
	depth := cfg.Depth
	if depth <= 0 {
		depth = DefaultDepth
	}
	in.remoteDepth = cfg.RemoteDepth
	if in.remoteDepth <= 0 {
		in.remoteDepth = DefaultRemoteDepth
	}
	for i := range in.chans {
		c := &in.chans[i]
		c.depth = depth
		c.credit.Store(int32(depth))
	}
	return in
}

// Poll returns the next item, or false if there is none now. Mails come first, then barriers that overtake and the news of
// barriers, then the channels in turn, each for at most as many events as it has depth. It never blocks. After Cancel or Fail it returns
// that error for ever.
func (in *Inbox) Poll() (Item, bool, error) {
	if in.pending.Load() == 0 {
		return Item{}, false, nil
	}
	in.mu.Lock()
	if err := in.mu.err; err != nil {
		in.mu.Unlock()
		return Item{}, false, err
	}
	if len(in.mu.mails) > 0 {
		it := Item{Mail: in.mu.mails[0]}
		in.mu.mails[0] = nil
		in.mu.mails = in.mu.mails[1:]
		if len(in.mu.mails) == 0 {
			in.mu.mails = nil
			in.notePending()
		}
		in.mu.Unlock()
		return it, true, nil
	}
	var it Item
	if in.mu.ahead.n > 0 {
		it.Channel = in.mu.ahead.next(0)
		it.Event, it.News = in.chans[it.Channel].popUrgent()
	} else {
		it.Channel = in.nextChannel()
		it.Event = in.chans[it.Channel].pop()
	}
	c := &in.chans[it.Channel]
	in.noteChannel(it.Channel)
	room, from := c.roomToTell(), c.from
	in.mu.Unlock()
	if room > 0 {
		from.room(room)
	}
	return it, true, nil
}

// nextChannel chooses a ready channel: the current one for a while, since its producer then gets several batches of room
// at once, then the next.
func (in *Inbox) nextChannel() int {
	m := &in.mu
	if m.current < len(in.chans) && m.ready.has(m.current) && m.run < in.chans[m.current].depth {
		m.run++
		return m.current
	}
	m.current, m.run = m.ready.next(m.current+1), 1
	return m.current
}

// Wait blocks until Poll has something, or the deadline has passed in the time of Config.Now. It returns the error of
// Cancel or Fail. The time it blocks counts as idle.
func (in *Inbox) Wait(deadline int64) error { return in.wait(waitInput, &in.idle, deadline) }

// WaitOutput blocks until a sender of this task whose Available was false may have room, HasMail is true, or the deadline
// has passed. Other input does not end it. A task that finds an output unavailable waits here instead of in Send, so that its
// mails are served while downstream is slow. The time it blocks counts as backpressured. It may return early.
func (in *Inbox) WaitOutput(deadline int64) error {
	return in.wait(waitOutput, &in.backpressured, deadline)
}

// WaitMail blocks until HasMail is true or the deadline has passed. Other input does not end it. A task whose operator has as
// much under way outside as it may waits here for the first of it to come back. The time it blocks counts as busy. It may
// return early.
func (in *Inbox) WaitMail(deadline int64) error {
	return in.wait(waitOutput, &in.working, deadline)
}

// awaitRoom is WaitOutput for a Send, which cannot serve mails.
func (in *Inbox) awaitRoom() error { return in.wait(waitSend, &in.backpressured, Never) }

func (in *Inbox) wait(what waitFor, spent *span, deadline int64) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.due(what) {
		return in.mu.err
	}
	start := in.now()
	if start >= deadline {
		return nil
	}
	spent.begin(start)
	in.mu.waiting = what
	now := start
	for !in.due(what) && now < deadline {
		if deadline < in.mu.timerAt {
			in.arm(deadline, now)
		}
		in.mu.cond.Wait()
		if deadline != Never && in.mu.timerAt == Never {
			now = in.now() // the timer fired, perhaps for an earlier wait
		}
	}
	in.mu.waiting = waitNone
	spent.end(start, in.now())
	return in.mu.err
}

// due reports whether what is waited for is there.
func (in *Inbox) due(what waitFor) bool {
	if in.mu.err != nil {
		return true
	}
	switch what {
	case waitInput:
		return in.pending.Load() != 0
	case waitOutput:
		if len(in.mu.mails)+in.mu.ahead.n > 0 {
			return true
		}
	}
	poked := in.mu.poked
	in.mu.poked = false
	return poked
}

// arm sets the timer. It is left running when a wait ends early: most waits do, and the timer of the next is then set
// already or fires once for nothing.
func (in *Inbox) arm(deadline, now int64) {
	in.mu.timerAt = deadline
	d := time.Duration(deadline - now)
	if in.mu.timer == nil {
		in.mu.timer = in.afterFunc(d, in.timerFired)
		return
	}
	in.mu.timer.Reset(d)
}

func (in *Inbox) timerFired() {
	in.mu.Lock()
	in.mu.timerAt = Never
	in.wake(waitInput, waitOutput)
	in.mu.Unlock()
}

// wake wakes the task if it waits for one of the two things.
func (in *Inbox) wake(a, b waitFor) {
	if w := in.mu.waiting; w != waitNone && (w == a || w == b) {
		in.mu.cond.Signal()
	}
}

// wakeForInput wakes the task if there is something that ends its wait.
func (in *Inbox) wakeForInput() {
	switch bits := in.pending.Load(); {
	case bits&pendAhead != 0:
		in.wake(waitInput, waitOutput)
	case bits&pendInput != 0:
		in.wake(waitInput, waitInput)
	}
}

// poke tells the task that a sender may have room.
func (in *Inbox) poke() {
	in.mu.Lock()
	in.mu.poked = true
	in.wake(waitOutput, waitSend)
	in.mu.Unlock()
}

// notePending brings the pending bits up to date.
func (in *Inbox) notePending() {
	var bits uint32
	if in.mu.ready.n > 0 {
		bits |= pendInput
	}
	if in.mu.ahead.n > 0 {
		bits |= pendAhead
	}
	if len(in.mu.mails) > 0 {
		bits |= pendMail
	}
	if in.mu.err != nil {
		bits |= pendError
	}
	if bits != in.pending.Load() {
		in.pending.Store(bits)
	}
}

// noteChannel brings the sets and bits up to date after a change of channel i.
func (in *Inbox) noteChannel(i int) {
	c := &in.chans[i]
	in.mu.ready.put(i, c.n > 0 && !c.held)
	in.mu.ahead.put(i, c.urgent())
	in.notePending()
}

// Available reports whether Poll has an item or an error. It is one atomic load.
func (in *Inbox) Available() bool { return in.pending.Load() != 0 }

// HasMail reports whether Poll has a mail, a barrier that overtakes, the news of one, or an error: what a task that takes no
// rows now still has to hear. It is one atomic load.
func (in *Inbox) HasMail() bool { return in.pending.Load()&(pendMail|pendAhead|pendError) != 0 }

// Block keeps channel ch from being polled, to align barriers or to read another input first. Barriers that overtake, and
// the news of barriers, still come through.
func (in *Inbox) Block(ch int) { in.hold(ch, true) }

// Unblock ends Block.
func (in *Inbox) Unblock(ch int) { in.hold(ch, false) }

func (in *Inbox) hold(ch int, held bool) {
	in.mu.Lock()
	c := &in.chans[ch]
	c.held = held
	in.noteChannel(ch)
	room, from := c.roomToTell(), c.from
	in.mu.Unlock()
	if room > 0 {
		from.room(room)
	}
}

// KeepOrder says that no barrier of channel ch overtakes and that none is told of ahead: what it holds cannot be stored as rows
// in flight. It is called before anything is sent.
func (in *Inbox) KeepOrder(ch int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.chans[ch].ordered = true
}

// Overtake has the barrier of epoch on channel ch polled before all that is in front of it: next if it is there already, and
// else as soon as it comes. Where the channel ends without it, the news of the end come as soon. An epoch of 0 takes that back.
func (in *Inbox) Overtake(ch int, epoch uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.chans[ch].overtake(epoch)
	in.noteChannel(ch)
}

// Overtaken returns the rows and watermarks in front of the last barrier taken ahead on channel ch, or of the end, that were not
// polled yet, in order, for its epoch's snapshot. They stay in the channel. The batches are borrowed until the next Poll or Close.
func (in *Inbox) Overtaken(ch int) []event.Event {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.chans[ch].overtaken(nil)
}

// Post adds a mail. It never blocks. It returns false, and drops the mail, after Cancel or Close. A mail that was accepted
// is dropped too if the task is cancelled before it comes to it.
func (in *Inbox) Post(mail func() error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.mu.err != nil {
		return false
	}
	in.mu.mails = append(in.mu.mails, mail)
	in.notePending()
	in.wake(waitInput, waitOutput)
	return true
}

// Cancel ends the task's waiting: Poll, Wait and every Send for the task return err from now on (errs.Canceled if nil),
// and so does every Send into this inbox. The first error wins. Queued batches stay until Close.
func (in *Inbox) Cancel(err error) {
	if err == nil {
		err = errs.Canceled
	}
	in.stop(err, true)
}

// Fail makes Poll, Wait and every Send for the task return err, since an input is broken. Unlike Cancel it leaves the
// producers of other channels alone until the task closes its inbox.
func (in *Inbox) Fail(err error) { in.stop(err, false) }

func (in *Inbox) stop(err error, closing bool) {
	in.mu.Lock()
	if in.mu.err == nil {
		in.mu.err = err
		in.stopped.Store(true)
		in.notePending()
		in.mu.cond.Signal()
	}
	var tell []upstream
	if closing && !in.mu.closed {
		in.mu.closed = true
		in.mu.mails = nil
		for i := range in.chans {
			if c := &in.chans[i]; c.from != nil && !c.ended {
				tell = append(tell, c.from)
			}
		}
	}
	in.mu.Unlock()
	for _, from := range tell {
		from.closed()
	}
}

// Close ends the inbox and releases what is queued. The task's goroutine calls it when the task ends, whether cancelled
// or not. It may be called twice.
func (in *Inbox) Close() error {
	in.Cancel(nil)
	var batches []event.Batch
	in.mu.Lock()
	for i := range in.chans {
		batches = in.chans[i].drain(batches)
		in.noteChannel(i)
	}
	if in.mu.timer != nil {
		in.mu.timer.Stop()
		in.mu.timerAt = Never
	}
	in.mu.Unlock()
	for _, b := range batches {
		b.Release()
	}
	return nil
}

// stopError returns the error of Cancel or Fail.
func (in *Inbox) stopError() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.mu.err
}

// Times returns how long the task has waited for input and for room downstream so far, a present wait included.
func (in *Inbox) Times() (idle, backpressured time.Duration) {
	now := in.now()
	return in.idle.total(now), in.backpressured.total(now)
}

// Queued returns how many batches are queued on channel ch.
func (in *Inbox) Queued(ch int) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.chans[ch].batches
}

// String returns the task's name.
func (in *Inbox) String() string { return in.name }

// offered is what came of putting an event into a channel.
type offered uint8

const (
	taken offered = iota
	full
	closed
)

// offer puts ev into channel ch if there is room, or in any case with force. On full the producer will be told of room.
func (in *Inbox) offer(ch int, ev event.Event, force bool) offered {
	in.mu.Lock()
	if in.mu.closed {
		in.mu.Unlock()
		return closed
	}
	c := &in.chans[ch]
	if ev.Kind == event.KindBatch && !force && c.credit.Load() <= 0 {
		c.wanted = true
		in.mu.Unlock()
		return full
	}
	if c.ended {
		in.mu.Unlock()
		panic(fmt.Sprintf("exchange: %s: %s on channel %d after its end", in.name, ev.Kind, ch))
	}
	c.push(ev)
	if ev.Kind == event.KindBatch {
		raise(&in.traffic.LocalIn, 1)
	}
	in.noteChannel(ch)
	in.wakeForInput()
	in.mu.Unlock()
	return taken
}

// excessMax bounds what a remote producer may force in beyond a channel's depth.
const excessMax = 256

// deliver is offer for a remote producer, whose mistakes are errors and no bugs. The event's frame took size bytes.
func (in *Inbox) deliver(ch int, ev event.Event, size int64, force bool) (offered, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	c := &in.chans[ch]
	switch {
	case in.mu.closed:
		return closed, nil
	case c.ended:
		return full, fmt.Errorf("%s after the end", ev.Kind)
	case ev.Kind != event.KindBatch:
	case !force && c.credit.Load() <= 0:
		return full, fmt.Errorf("a batch without credit, %d are queued", c.batches)
	case c.credit.Load() <= -excessMax:
		return full, fmt.Errorf("%d batches ahead of barriers without credit", c.batches-c.depth)
	}
	c.push(ev)
	if ev.Kind == event.KindBatch {
		raise(&in.traffic.RemoteIn, 1)
	}
	raise(&in.traffic.BytesIn, size)
	in.noteChannel(ch)
	in.wakeForInput()
	return taken, nil
}

// want arms the telling of room on channel ch, and reports whether there is room already.
func (in *Inbox) want(ch int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	c := &in.chans[ch]
	if in.mu.closed || c.credit.Load() > 0 {
		return true
	}
	c.wanted = true
	return false
}

// span sums the time spent in one kind of wait.
type span struct {
	spent atomic.Int64
	since atomic.Int64 // start of the present wait, 0 if there is none
}

func (s *span) begin(now int64) { s.since.Store(now) }

func (s *span) end(start, now int64) {
	s.since.Store(0)
	s.spent.Add(now - start)
}

func (s *span) total(now int64) time.Duration {
	t := s.spent.Load()
	if since := s.since.Load(); since != 0 {
		t += max(0, now-since)
	}
	return time.Duration(t)
}
