package exchange

import (
	"fmt"
	"sync/atomic"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

// remoteSender is the producing end of a channel over a link. grant, opened and wanted are guarded by the link's mutex.
type remoteSender struct {
	link  *Link
	id    ChannelID
	codec event.Codec
	from  *Inbox
	press press
	ended bool

	grant  grant
	opened bool // the first credit has come
	wanted bool // from is to be poked when something changes
	// ready says that Send would probably not wait.
	ready atomic.Bool
}

// note brings ready and opened up to date. The link's mutex is held.
func (s *remoteSender) note() {
	s.opened = s.opened || s.grant.credit > 0
	if r := s.grant.credit > 0 || s.grant.closed; r != s.ready.Load() {
		s.ready.Store(r)
	}
}

func (s *remoteSender) Send(ev event.Event) error  { return s.send(ev, false) }
func (s *remoteSender) Force(ev event.Event) error { return s.send(ev, true) }

// Available implements Sender.
func (s *remoteSender) Available() bool {
	if s.ready.Load() && !s.link.full.Load() {
		return true
	}
	l := s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err != nil || l.mu.closing || s.grant.closed || s.grant.credit > 0 && l.mu.queued < l.cfg.MaxQueued {
		return true
	}
	s.wanted = true
	l.mu.crowded = l.mu.crowded || l.mu.queued >= l.cfg.MaxQueued
	return false
}

func (s *remoteSender) send(ev event.Event, force bool) error {
	buf, err := s.reserve(ev.Kind == event.KindBatch, force || ev.Kind == event.KindBarrier)
	if err != nil {
		return drop(ev, err)
	}
	if s.ended {
		panic(fmt.Sprintf("exchange: %s on channel %d to %s after its end", ev.Kind, s.id, s.link.peer.Name))
	}
	buf = beginFrame(buf)
	if ev.Kind != event.KindBatch {
		s.ended = ev.Kind == event.KindEnd
		return s.queue(endFrame(appendControl(buf, ev), header{kind: controlType(ev.Kind), channel: s.id}))
	}
	err = s.sendBatch(buf, ev.Batch, force)
	ev.Batch.Release()
	return err
}

// reserve waits for credit, if a batch is to be sent without force, and for room in the link's queue, and returns a
// write buffer.
func (s *remoteSender) reserve(batch, force bool) ([]byte, error) {
	l := s.link
	for {
		if s.from.stopped.Load() {
			return nil, s.from.stopError()
		}
		l.mu.Lock()
		var err error
		switch {
		case l.mu.err != nil:
			err = l.mu.err
		case l.mu.closing:
			err = errLinkClosed
		case s.grant.closed:
			l.mu.Unlock()
			return nil, errConsumerGone
		}
		if err != nil {
			l.mu.Unlock()
			return nil, errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, fmt.Sprintf("channel %d from %s to %s", s.id, s.from, l.peer.Name), "")
		}
		crowded := l.mu.queued >= l.cfg.MaxQueued
		if s.opened && (force || !crowded && (!batch || s.grant.credit > 0)) {
			if batch {
				s.grant.credit--
				s.note()
			}
			buf := l.spare()
			l.mu.Unlock()
			return buf, nil
		}
		s.wanted = true
		if crowded {
			l.mu.crowded = true
		}
		l.mu.Unlock()
		if err := s.from.awaitRoom(); err != nil {
			return nil, err
		}
	}
}

// queue hands a finished frame to the writer.
func (s *remoteSender) queue(frame []byte) error {
	raise(&s.from.traffic.BytesOut, int64(len(frame)))
	l := s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err == nil && !l.mu.closing {
		l.push(frame)
	}
	return nil // an error of the link meets the next Send
}

// sendBatch encodes and queues b, for which credit was taken. It does not release b.
func (s *remoteSender) sendBatch(buf []byte, b event.Batch, force bool) error {
	buf, err := s.codec.Encode(buf, b)
	if err != nil {
		return errs.Wrap(err, "", 0, fmt.Sprintf("channel %d from %s to %s", s.id, s.from, s.link.peer.Name), "encoding a batch of %d rows", b.Len())
	}
	if len(buf)-headerLen > s.link.cfg.MaxFrame {
		return s.sendHalves(b, len(buf)-headerLen)
	}
	h := header{kind: frameBatch, channel: s.id}
	if force {
		h.flags |= flagForced
	}
	packed, raw := s.press.squeeze(buf[headerLen:])
	if raw > 0 {
		h.flags |= flagCompressed
		h.raw = uint32(raw)
		buf = append(buf[:headerLen], packed...)
	}
	raise(&s.from.traffic.Out, 1)
	return s.queue(endFrame(buf, h))
}

// sendHalves sends a batch whose rows are too large for one frame. The pieces go beyond the credit, since one piece alone
// would wait for room that only the next could make.
func (s *remoteSender) sendHalves(b event.Batch, size int) error {
	n := b.Len()
	if n < 2 {
		return errs.New(errs.CodeLimit, errs.ClassFailJob, fmt.Sprintf("channel %d from %s to %s", s.id, s.from, s.link.peer.Name),
			"one row takes %d bytes, more than the %d of a frame; raise the largest frame or split the row", size, s.link.cfg.MaxFrame)
	}
	rows := b.Sel()
	if rows == nil {
		rows = make([]int32, n)
		for i := range rows {
			rows[i] = int32(i)
		}
	}
	limit := n / 2
	for len(rows) > 0 {
		piece := b.New()
		took := b.CopyTo(piece, rows[:min(limit, len(rows))])
		rows = rows[took:]
		if err := s.send(event.OfBatch(piece), true); err != nil {
			return err
		}
	}
	s.link.mu.Lock()
	s.grant.credit++ // taken for b itself
	s.note()
	s.link.mu.Unlock()
	return nil
}

// receiver is the consuming end of a channel over a link. Its fields but gone are used by the reader goroutine, ended
// under the link's mutex.
type receiver struct {
	link  *Link
	id    ChannelID
	in    *Inbox
	ch    int
	codec event.Codec
	ended bool
	gone  atomic.Bool // nothing more is taken
}

func (r *receiver) room(n int) { r.link.grant(r.id, n) }

func (r *receiver) closed() {
	if !r.gone.Swap(true) {
		r.link.refuse(r.id)
	}
}

// fail breaks the channel at the consumer.
func (r *receiver) fail(err error) {
	r.in.Fail(errs.Wrap(err, "", 0, fmt.Sprintf("channel %d of %s from %s", r.ch, r.in, r.link.peer.Name), ""))
}

// take puts the event of a frame into the inbox.
func (r *receiver) take(h header, payload []byte) error {
	var ev event.Event
	if h.kind == frameBatch {
		b, err := r.codec.Decode(payload)
		if err != nil {
			// The connection is sound, so only this channel fails.
			r.closed()
			r.fail(errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailTask, "", "a batch of %d bytes could not be decoded", len(payload)))
			return nil
		}
		ev = event.OfBatch(b)
	} else {
		var err error
		if ev, err = parseControl(h.kind, payload); err != nil {
			return errFrame{err}
		}
		if ev.Kind == event.KindEnd {
			r.link.mu.Lock()
			r.ended = true
			r.link.mu.Unlock()
		}
	}
	how, err := r.in.deliver(r.ch, ev, headerLen+int64(h.length), h.flags&flagForced != 0)
	if how != taken && ev.Batch != nil {
		ev.Batch.Release()
	}
	if err != nil {
		return errFrame{fmt.Errorf("channel %d: %w", h.channel, err)}
	}
	return nil
}
