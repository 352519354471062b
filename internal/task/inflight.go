package task

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/keygroup"
)

// The first byte of what is in flight says what follows: encoded rows, by the way they are routed, or a watermark.
const (
	inflightKeyed     byte = 'k'
	inflightAny       byte = 'a'
	inflightWatermark byte = 'w'
)

// captured is what the task records of its channels for an unaligned epoch.
type captured struct {
	epoch    uint64
	on       []bool // channels that are recorded
	channels int    // how many
	bytes    int64
	frames   [][][]byte // by channel
}

// capture starts to record a channel.
func (t *Task) capture(ch int, epoch uint64) {
	c := &t.align.captured
	if c.on == nil {
		n := len(t.cfg.Gates)
		c.on, c.frames = make([]bool, n), make([][][]byte, n)
	}
	c.epoch = epoch
	if !c.on[ch] {
		c.on[ch] = true
		c.channels++
	}
	t.inbox.Overtake(ch, epoch)
}

// captureEnd records what the barrier has overtaken and ends the recording of a channel.
func (t *Task) captureEnd(ch int, epoch uint64) error {
	c := &t.align.captured
	if c.epoch != epoch || c.channels == 0 || !c.on[ch] {
		return nil // declined
	}
	for _, ev := range t.inbox.Overtaken(ch) {
		if err := t.record(ch, ev); err != nil {
			return err
		}
		if c.channels == 0 {
			return nil
		}
	}
	t.inbox.Overtake(ch, 0)
	c.on[ch] = false
	c.channels--
	return nil
}

// record keeps an event of a channel that is recorded; its batch stays the caller's. A task that cannot keep it declines.
func (t *Task) record(ch int, ev event.Event) error {
	c := &t.align.captured
	var frame []byte
	switch ev.Kind {
	case event.KindWatermark:
		frame = binary.LittleEndian.AppendUint64([]byte{inflightWatermark}, uint64(ev.Time))
	case event.KindBatch:
		var err error
		if frame, err = t.encodeRows(ch, ev.Batch); err != nil {
			return t.declineCapture(errs.Wrap(err, "", 0, t.place, "rows in flight cannot be stored"))
		}
	default:
		return nil
	}
	c.frames[ch] = append(c.frames[ch], frame)
	c.bytes += int64(len(frame))
	most := t.cfg.Checkpoints.InflightMax
	if most <= 0 {
		most = InflightMaxDefault
	}
	if c.bytes > most {
		return t.declineCapture(errs.New(errs.CodeLimit, errs.ClassRetry, t.place,
			"more than %d bytes of rows are in flight: barriers do not come on all channels; see what the tasks in front of it wait for", most))
	}
	return nil
}

func (t *Task) encodeRows(ch int, b event.Batch) ([]byte, error) {
	kind := inflightAny
	if t.cfg.Channels[ch].Route == RouteKeyed {
		kind = inflightKeyed
	}
	return t.cfg.Channels[ch].Codec.Encode([]byte{kind}, b)
}

// declineCapture gives up an epoch whose rows in flight the task cannot keep.
func (t *Task) declineCapture(err error) error {
	epoch := t.align.captured.epoch
	t.dropCapture()
	if s := t.align.cut; s != nil {
		t.align.cut = nil
		s.Release()
	}
	if t.cfg.Checkpoints.OnDeclined == nil {
		return err
	}
	t.cfg.Checkpoints.OnDeclined(epoch, err)
	return nil
}

// dropCapture ends all recording.
func (t *Task) dropCapture() {
	c := &t.align.captured
	for ch, on := range c.on {
		if on {
			t.inbox.Overtake(ch, 0)
		}
		c.on[ch], c.frames[ch] = false, nil
	}
	c.channels, c.bytes, c.epoch = 0, 0, 0
}

// takeCaptured moves what was recorded into the snapshot.
func (t *Task) takeCaptured(s *Snapshot) {
	c := &t.align.captured
	for ch, frames := range c.frames {
		if len(frames) > 0 {
			s.Inflight = append(s.Inflight, Inflight{Subtask: int(t.cfg.ID.Subtask), Gate: t.cfg.Gates[ch], Channel: ch, Batches: frames})
		}
		c.frames[ch] = nil
	}
	c.bytes = 0
}

// replayed is an event that was in flight when the job was cut, and that the head takes before any other.
type replayed struct {
	gate, channel int // channel is -1 if it is none of the present ones
	ev            event.Event
	kind          byte
}

// prepareReplay decodes this subtask's share of what was in flight.
func (t *Task) prepareReplay(r *OpRestore) error {
	same := r.Restored != nil && r.Restored.Parallelism == t.cfg.Parallelism
	number := 0
	for _, f := range r.Inflight {
		codec := t.codecOf(f.Gate)
		if codec == nil {
			return errs.New(errs.CodeSchema, errs.ClassUser, t.place,
				"rows were in flight to input %d, which has none that are routed now: restore with the former edge in front of it, or from a savepoint", f.Gate)
		}
		// A watermark means something only to the channel that it came on.
		own := same && f.Subtask == int(t.cfg.ID.Subtask) && f.Channel < len(t.cfg.Gates) && t.cfg.Gates[f.Channel] == f.Gate
		for _, frame := range f.Batches {
			if len(frame) == 0 {
				return errs.New(errs.CodeCorrupt, errs.ClassFailJob, t.place, "an empty batch in flight")
			}
			p := replayed{gate: f.Gate, channel: -1, kind: frame[0]}
			if own {
				p.channel = f.Channel
			}
			var err error
			switch {
			case p.kind == inflightWatermark && len(frame) == 9:
				if !own {
					continue
				}
				p.ev = event.Watermark(int64(binary.LittleEndian.Uint64(frame[1:])))
			case p.kind == inflightKeyed:
				p.ev, err = t.share(codec, frame[1:], same)
			case p.kind == inflightAny:
				// A channel's batches are dealt out by their number.
				number++
				if !same && (number-1)%t.cfg.Parallelism != int(t.cfg.ID.Subtask) {
					continue
				}
				var b event.Batch
				if b, err = codec.Decode(frame[1:]); err == nil {
					p.ev = event.OfBatch(b)
				}
			default:
				err = errs.New(errs.CodeCorrupt, errs.ClassFailJob, t.place, "something of kind %q in flight", p.kind)
			}
			if err != nil {
				return errs.Wrap(err, errs.CodeCorrupt, errs.ClassFailJob, t.place, "rows in flight cannot be read")
			}
			if p.ev.Kind != event.KindNone {
				t.replay = append(t.replay, p)
			}
		}
	}
	return nil
}

// codecOf returns the codec of an input, or nil.
func (t *Task) codecOf(gate int) event.Codec {
	for ch, c := range t.cfg.Channels {
		if t.cfg.Gates[ch] == gate && c.Codec != nil {
			return c.Codec
		}
	}
	return nil
}

// share decodes rows and leaves those of the subtask's key groups; none is the zero event.
func (t *Task) share(codec event.Codec, frame []byte, all bool) (event.Event, error) {
	b, err := codec.Decode(frame)
	if err != nil {
		return event.Event{}, err
	}
	if all {
		return event.OfBatch(b), nil
	}
	hashes := b.Hashes()
	if hashes == nil {
		b.Release()
		return event.Event{}, errs.New(errs.CodeCorrupt, errs.ClassFailJob, "", "keyed rows without hashes")
	}
	groups := keygroup.RangeOf(int(t.cfg.ID.Subtask), t.cfg.Parallelism)
	var mine []int32
	for i, h := range hashes {
		if groups.Contains(keygroup.Of(h)) {
			mine = append(mine, int32(i))
		}
	}
	if len(mine) == len(hashes) {
		return event.OfBatch(b), nil
	}
	defer b.Release()
	if len(mine) == 0 {
		return event.Event{}, nil
	}
	out := b.New()
	if n := b.CopyTo(out, mine); n != len(mine) {
		out.Release()
		return event.Event{}, errs.New(errs.CodeBug, errs.ClassBug, "", "%d of %d rows in flight fit a batch", n, len(mine))
	}
	return event.OfBatch(out), nil
}

// takeReplay gives the head what was in flight. Mails and barriers that overtake are served between: a cut holds what is left.
func (t *Task) takeReplay() error {
	for len(t.replay) > 0 && !t.leave {
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
	if len(t.replay) == 0 || t.leave || t.stopAt != 0 {
		return nil
	}
	p := t.replay[0]
	t.replay[0] = replayed{}
	if t.replay = t.replay[1:]; len(t.replay) == 0 {
		t.replay = nil
	}
	if p.ev.Kind == event.KindWatermark {
		return t.advance(t.merger.Watermark(p.channel, p.ev.Time))
	}
	t.dirty = true
	return t.links[0].process(p.gate, p.ev.Batch)
}

// keepReplay adds to a snapshot what was in flight when the task was restored and is still to be taken.
func (t *Task) keepReplay(s *Snapshot) error {
	for _, p := range t.replay {
		f := Inflight{Subtask: int(t.cfg.ID.Subtask), Gate: p.gate, Channel: max(0, p.channel)}
		frame := []byte{p.kind}
		if p.ev.Kind == event.KindWatermark {
			frame = binary.LittleEndian.AppendUint64(frame, uint64(p.ev.Time))
		} else {
			var err error
			if frame, err = t.codecOf(p.gate).Encode(frame, p.ev.Batch); err != nil {
				return err
			}
		}
		if n := len(s.Inflight); n > 0 && s.Inflight[n-1].Gate == f.Gate && s.Inflight[n-1].Channel == f.Channel {
			s.Inflight[n-1].Batches = append(s.Inflight[n-1].Batches, frame)
			continue
		}
		f.Batches = [][]byte{frame}
		s.Inflight = append(s.Inflight, f)
	}
	return nil
}

// dropReplay releases what was not taken.
func (t *Task) dropReplay() {
	for _, p := range t.replay {
		if p.ev.Batch != nil {
			p.ev.Batch.Release()
		}
	}
	t.replay = nil
}
