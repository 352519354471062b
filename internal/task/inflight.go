package task

import (
	"encoding/binary"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/watermark"
)

// captured is what the task records of its channels for an unaligned epoch.
type captured struct {
	epoch    uint64
	on       []bool // channels that are recorded
	channels int    // how many
	bytes    int64
	frames   [][]byte
}

// capture starts to record a channel.
func (t *Task) capture(ch int, epoch uint64) {
	c := &t.align.captured
	if c.on == nil {
		c.on = make([]bool, len(t.cfg.Gates))
	}
	if c.channels == 0 {
		c.frames = append(c.frames[:0:0], mergerFrame(t.merger, len(t.cfg.Gates)))
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
		if err := t.record(ch, ev); err != nil || c.channels == 0 {
			return err
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
		frame = watermarkFrame(ch, ev.Time)
	case event.KindBatch:
		var err error
		x := t.cfg.Channels[ch]
		if frame, err = rowsFrame(x.Route, t.cfg.Gates[ch], x.Codec, ev.Batch); err != nil {
			return t.declineCapture(errs.Wrap(err, "", 0, t.place, "rows in flight cannot be stored"))
		}
	default:
		return nil
	}
	c.frames = append(c.frames, frame)
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
			c.on[ch] = false
		}
	}
	c.channels, c.bytes, c.epoch, c.frames = 0, 0, 0, nil
}

// takeCaptured moves what was recorded into the snapshot, behind what is still to be replayed.
func (t *Task) takeCaptured(s *Snapshot) {
	c := &t.align.captured
	if len(c.frames) > 1 { // the first is the merger
		s.addInflight(c.frames...)
	}
	c.epoch, c.bytes, c.frames = 0, 0, nil
}

func (s *Snapshot) addInflight(frames ...[]byte) {
	if len(s.Inflight) == 0 {
		s.Inflight = []Inflight{{}}
	}
	s.Inflight[0].Batches = append(s.Inflight[0].Batches, frames...)
}

// What is in flight is a list of frames; docs/format/snapshot.md draws them.
const (
	frameKeyed     byte = 'k' // rows that are routed by their key groups
	frameAny       byte = 'a' // rows that any subtask may take
	frameWatermark byte = 'w'
	frameMerger    byte = 'm' // the watermarks of all channels at the cut
)

func rowsFrame(r Route, gate int, codec event.Codec, b event.Batch) ([]byte, error) {
	kind := frameAny
	if r == RouteKeyed {
		kind = frameKeyed
	}
	return codec.Encode(binary.AppendUvarint([]byte{kind}, uint64(gate)), b)
}

func watermarkFrame(ch int, at int64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint([]byte{frameWatermark}, uint64(ch)), uint64(at))
}

const (
	mergerIdle  = 1
	mergerEnded = 2
)

func mergerFrame(m *watermark.Merger, channels int) []byte {
	out := binary.AppendUvarint([]byte{frameMerger}, uint64(channels))
	for ch := range channels {
		at, idle, ended := m.Input(ch)
		flags := byte(0)
		if idle {
			flags |= mergerIdle
		}
		if ended {
			flags |= mergerEnded
		}
		out = binary.LittleEndian.AppendUint64(append(out, flags), uint64(at))
	}
	return out
}

// parseMerger is the inverse of mergerFrame, without its first byte.
func parseMerger(b []byte) (*watermark.Merger, error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n == 0 || n != uint64(len(b)-used)/9 || (len(b)-used)%9 != 0 {
		return nil, corruptFrame("watermarks of channels in %d bytes", len(b))
	}
	m := watermark.NewMerger(int(n), watermark.None)
	for ch := range int(n) {
		x := b[used+9*ch:]
		if at := int64(binary.LittleEndian.Uint64(x[1:])); at != watermark.None {
			m.Watermark(ch, at)
		}
		if x[0]&mergerIdle != 0 {
			m.Idle(ch)
		}
		if x[0]&mergerEnded != 0 {
			m.End(ch)
		}
	}
	return m, nil
}

func corruptFrame(format string, args ...any) error {
	return errs.New(errs.CodeCorrupt, errs.ClassFailJob, "rows in flight", format, args...)
}
