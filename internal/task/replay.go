package task

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
	"github.com/weir-stream/weir/internal/watermark"
)

// replay is what was in flight when the job was cut, and the head has not taken yet. It comes before any other event.
type replay struct {
	list []replayed
	// merger merges the watermarks in the list, which are those of the channels of then. It never gets ahead of the watermarks
	// that the tasks in front say again when they are restored, however these have been spread anew.
	merger *watermark.Merger
}

// replayed is one event that was in flight.
type replayed struct {
	kind   byte
	gate   int               // of rows
	batch  event.Batch       // rows
	ch     int               // of a watermark
	time   int64             // a watermark
	merger *watermark.Merger // the one for what follows
}

// prepareReplay decodes this subtask's share of what was in flight.
func (t *Task) prepareReplay(r *OpRestore) error {
	p := preparing{t: t, same: r.Restored != nil && r.Restored.Parallelism == t.cfg.Parallelism}
	for _, in := range r.Inflight {
		for _, frame := range in.Batches {
			if err := p.add(frame); err != nil {
				return errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, t.place, "what was in flight cannot be taken")
			}
		}
	}
	return nil
}

type preparing struct {
	t        *Task
	same     bool // the parallelism of then
	any      int  // frames of rows that any subtask may take
	channels int  // of the last merger
}

func (p *preparing) add(frame []byte) error {
	if len(frame) == 0 {
		return corruptFrame("an empty frame")
	}
	kind, body := frame[0], frame[1:]
	if kind == frameMerger {
		m, err := parseMerger(body)
		if err == nil && p.same {
			n, _ := binary.Uvarint(body)
			p.channels = int(n)
			p.t.replay.list = append(p.t.replay.list, replayed{kind: kind, merger: m})
		}
		return err
	}
	n, used := binary.Uvarint(body)
	if used <= 0 {
		return corruptFrame("a frame of %d bytes", len(frame))
	}
	body = body[used:]
	switch kind {
	case frameWatermark:
		if len(body) != 8 || p.same && n >= uint64(p.channels) {
			return corruptFrame("a watermark of channel %d in %d bytes", n, len(body))
		}
		if p.same { // watermarks of several subtasks have no common order
			p.t.replay.list = append(p.t.replay.list, replayed{kind: kind, ch: int(n), time: int64(binary.LittleEndian.Uint64(body))})
		}
		return nil
	case frameKeyed, frameAny:
		return p.rows(kind, n, body)
	}
	return corruptFrame("a frame of kind %q", kind)
}

// rows adds the rows of a frame that are this subtask's.
func (p *preparing) rows(kind byte, gate uint64, body []byte) error {
	_, codec := p.t.routeOf(int(min(gate, 1<<20)))
	if codec == nil {
		return errs.New(errs.CodeSchema, errs.ClassUser, "",
			"rows were in flight to input %d, and none are routed there now: restore once with the former edge in front of it, or from a savepoint", gate)
	}
	if kind == frameAny {
		p.any++
		if !p.same && (p.any-1)%p.t.cfg.Parallelism != int(p.t.cfg.ID.Subtask) {
			return nil // they are dealt out by number
		}
	}
	b, err := codec.Decode(body)
	if err != nil {
		return err
	}
	if kind == frameKeyed && !p.same {
		if b, err = p.t.share(b); b == nil {
			return err
		}
	}
	p.t.replay.list = append(p.t.replay.list, replayed{kind: kind, gate: int(gate), batch: b})
	return nil
}

// routeOf returns how the rows of an input are routed, and their codec, or nil.
func (t *Task) routeOf(gate int) (Route, event.Codec) {
	for ch, c := range t.cfg.Channels {
		if t.cfg.Gates[ch] == gate && c.Codec != nil {
			return c.Route, c.Codec
		}
	}
	return RouteNone, nil
}

// share leaves the rows of the subtask's key groups, nil if there are none.
func (t *Task) share(b event.Batch) (event.Batch, error) {
	hashes := b.Hashes()
	if hashes == nil {
		b.Release()
		return nil, corruptFrame("keyed rows without hashes")
	}
	groups := keygroup.RangeOf(int(t.cfg.ID.Subtask), t.cfg.Parallelism)
	var mine []int32
	for i, h := range hashes {
		if groups.Contains(keygroup.Of(h)) {
			mine = append(mine, int32(i))
		}
	}
	if len(mine) == len(hashes) {
		return b, nil
	}
	defer b.Release()
	if len(mine) == 0 {
		return nil, nil
	}
	out := b.New()
	if n := b.CopyTo(out, mine); n != len(mine) {
		out.Release()
		return nil, errs.New(errs.CodeBug, errs.ClassBug, "", "%d of %d rows in flight fit a batch", n, len(mine))
	}
	return out, nil
}

// takeReplay gives the head what was in flight. Mails and barriers that overtake are served between: a cut holds what is left.
func (t *Task) takeReplay() error {
	for len(t.replay.list) > 0 && !t.leave {
		if t.stopAt != 0 {
			if err := t.stand(); err != nil {
				return err
			}
			continue
		}
		if t.outsider != nil {
			if err := t.outside(t.outsider.Full); err != nil {
				return err
			}
		}
		if err := t.turn(); err != nil {
			return err
		}
		if err := t.drainMail(); err != nil {
			return err
		}
		if err := t.replayOne(); err != nil {
			return err
		}
	}
	return nil
}

// replayOne gives the head the next event that was in flight.
func (t *Task) replayOne() error {
	if len(t.replay.list) == 0 || t.leave || t.stopAt != 0 {
		return nil
	}
	p := t.replay.list[0]
	t.replay.list[0] = replayed{}
	if t.replay.list = t.replay.list[1:]; len(t.replay.list) == 0 {
		t.replay.list = nil
	}
	switch p.kind {
	case frameMerger:
		t.replay.merger = p.merger
		return nil
	case frameWatermark:
		c := t.replay.merger.Watermark(p.ch, p.time)
		return t.advance(watermark.Change{Advanced: c.Advanced, Watermark: c.Watermark})
	}
	t.dirty = true
	return t.links[0].process(p.gate, p.batch)
}

// keepReplay adds to a snapshot what was in flight when the task was restored and is still to be taken.
func (t *Task) keepReplay(s *Snapshot) error {
	if len(t.replay.list) > 0 && t.replay.merger != nil {
		s.addInflight(mergerFrame(t.replay.merger, t.replay.merger.Len()))
	}
	for _, p := range t.replay.list {
		var frame []byte
		switch p.kind {
		case frameMerger:
			frame = mergerFrame(p.merger, p.merger.Len())
		case frameWatermark:
			frame = watermarkFrame(p.ch, p.time)
		default:
			route, codec := RouteAny, event.Codec(nil)
			if p.kind == frameKeyed {
				route = RouteKeyed
			}
			_, codec = t.routeOf(p.gate)
			var err error
			if frame, err = rowsFrame(route, p.gate, codec, p.batch); err != nil {
				return err
			}
		}
		s.addInflight(frame)
	}
	return nil
}

// dropReplay releases what was not taken.
func (t *Task) dropReplay() {
	for _, p := range t.replay.list {
		if p.batch != nil {
			p.batch.Release()
		}
	}
	t.replay.list = nil
}
