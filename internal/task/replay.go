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
	// chained are rows that were in flight to operators that were heads then and are not now. They come before all others, last
	// operator first, in one go: no cut falls between them.
	chained []replayed
}

// replayed is one event that was in flight.
type replayed struct {
	kind   byte
	at     int               // the operator that takes rows
	gate   int               // of rows
	batch  event.Batch       // rows
	ch     int               // of a watermark
	time   int64             // a watermark
	merger *watermark.Merger // the one for what follows
}

// prepareReplay decodes this subtask's share of what was in flight to the at-th operator.
func (t *Task) prepareReplay(at int, r *OpRestore) error {
	p := preparing{t: t, at: at, same: r.Restored != nil && r.Restored.Parallelism == t.cfg.Parallelism}
	for _, in := range r.Inflight {
		p.line = nil
		for _, frame := range in.Batches {
			if err := p.add(frame); err != nil {
				return errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, t.place, "what was in flight cannot be taken")
			}
		}
		if len(p.line) > 0 {
			p.lines = append(p.lines, p.line)
		}
	}
	if at == 0 && !p.same {
		t.replay.list = interleave(p.lines)
	}
	return nil
}

// interleave brings what was in flight to several subtasks of then in one order: the one that has come least far in event time
// is always the next. So each row finds the watermark that it would have found, and none is late that was not. The
// watermarks become those of one channel, the least of all.
func interleave(lines [][]replayed) []replayed {
	if len(lines) == 0 {
		return nil
	}
	mergers, reached := make([]*watermark.Merger, len(lines)), make([]int64, len(lines))
	for i, line := range lines { // each begins with its merger, or has none
		mergers[i], reached[i] = line[0].merger, watermark.None
		if line[0].kind == frameMerger {
			reached[i] = line[0].merger.Current()
			lines[i] = line[1:]
		}
	}
	out := []replayed{{kind: frameMerger, merger: watermark.NewMerger(1, watermark.None)}}
	last := int64(watermark.None)
	for {
		at := -1
		for i, line := range lines {
			if len(line) > 0 && (at < 0 || reached[i] < reached[at]) {
				at = i
			}
		}
		if at < 0 {
			return out
		}
		if reached[at] > last {
			last = reached[at]
			out = append(out, replayed{kind: frameWatermark, time: last})
		}
		e := lines[at][0]
		lines[at] = lines[at][1:]
		switch e.kind {
		case frameMerger:
			mergers[at] = e.merger
			reached[at] = max(reached[at], e.merger.Current())
		case frameWatermark:
			if c := mergers[at].Watermark(e.ch, e.time); c.Advanced {
				reached[at] = c.Watermark
			}
		default:
			out = append(out, e)
		}
	}
}

type preparing struct {
	t        *Task
	at       int  // the operator
	same     bool // the parallelism of then
	any      int  // frames of rows that any subtask may take
	channels int  // of the last merger

	// At another parallelism: what was in flight to one subtask of then, and to all.
	line  []replayed
	lines [][]replayed
}

// put adds an event to what the head takes.
func (p *preparing) put(r replayed) {
	if p.same {
		p.t.replay.list = append(p.t.replay.list, r)
		return
	}
	p.line = append(p.line, r)
}

func (p *preparing) add(frame []byte) error {
	if len(frame) == 0 {
		return corruptFrame("an empty frame")
	}
	kind, body := frame[0], frame[1:]
	if kind == frameMerger {
		m, err := parseMerger(body)
		if err == nil && p.at == 0 {
			n, _ := binary.Uvarint(body)
			p.channels = int(n)
			p.put(replayed{kind: kind, merger: m})
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
		if len(body) != 8 || p.at == 0 && n >= uint64(p.channels) {
			return corruptFrame("a watermark of channel %d in %d bytes", n, len(body))
		}
		if p.at == 0 { // in a chain the operator in front says how far event time has come
			p.put(replayed{kind: kind, ch: int(n), time: int64(binary.LittleEndian.Uint64(body))})
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
	if p.at > 0 {
		var err error
		if codec, err = p.t.chainedCodec(p.at, gate); err != nil {
			return err
		}
	}
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
	r := replayed{kind: kind, at: p.at, gate: int(gate), batch: b}
	if p.at > 0 {
		p.t.replay.chained = append(p.t.replay.chained, r)
	} else {
		p.put(r)
	}
	return nil
}

// chainedCodec makes the codec of the rows that an operator in the chain takes from the one in front of it, nil if there is
// none.
func (t *Task) chainedCodec(at int, gate uint64) (event.Codec, error) {
	if gate > 0 {
		return nil, nil // operators with several inputs are heads
	}
	for i := range t.cfg.Ops {
		for _, n := range t.cfg.Ops[i].Next {
			if n.To == at && n.Codec != nil {
				return n.Codec()
			}
		}
	}
	return nil, nil
}

// takeChained gives rows in flight to operators that are not the head any more.
func (t *Task) takeChained() error {
	for len(t.replay.chained) > 0 {
		p := t.replay.chained[0]
		t.replay.chained = t.replay.chained[1:]
		t.dirty = true
		if err := t.links[p.at].process(p.gate, p.batch); err != nil {
			return err
		}
	}
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
		if stands, err := t.between(); stands || err != nil {
			if err != nil {
				return err
			}
			continue
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
	for _, p := range t.replay.chained {
		p.batch.Release()
	}
	t.replay.list, t.replay.chained = nil, nil
}
