package exchange

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/weir-stream/weir/internal/event"
)

// The layout of frames is drawn in docs/format/exchange.md.

const (
	headerLen = 24
	// DefaultMaxFrame bounds a frame's payload, compressed or not.
	DefaultMaxFrame = 16 << 20
	// readBuffer is what one read from a connection takes at most. Frames that fit are decoded where they lie.
	readBuffer = 128 << 10
)

// frameType says what a frame carries.
type frameType uint8

const (
	frameBatch frameType = iota + 1
	frameWatermark
	frameIdle
	frameActive
	frameBarrier
	frameEnd
	frameCredit
	frameClosed
	frameAlive
	frameBye
	frameTypes // one more than the last
)

var frameNames = [...]string{"none", "batch", "watermark", "idle", "active", "barrier", "end", "credit", "closed", "alive", "bye"}

func (t frameType) String() string {
	if int(t) < len(frameNames) {
		return frameNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

const (
	flagCompressed = 1 << iota
	flagForced
	flagsKnown = flagCompressed | flagForced
)

const creditLen = 12

// ChannelID names a channel of a link in the direction in which its data flow. The two directions have ids of their own.
type ChannelID uint64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is the fixed start of a frame, without its checksum.
type header struct {
	length  uint32 // of the payload
	channel ChannelID
	raw     uint32 // length of the payload before compression, 0 if it is not compressed
	kind    frameType
	flags   uint8
}

// beginFrame makes room for a header in the empty buf.
func beginFrame(buf []byte) []byte { return append(buf[:0], make([]byte, headerLen)...) }

// endFrame fills in the header of buf, whose payload is complete.
func endFrame(buf []byte, h header) []byte {
	binary.LittleEndian.PutUint32(buf[4:], uint32(len(buf)-headerLen))
	binary.LittleEndian.PutUint64(buf[8:], uint64(h.channel))
	binary.LittleEndian.PutUint32(buf[16:], h.raw)
	buf[20], buf[21], buf[22], buf[23] = byte(h.kind), h.flags, 0, 0
	binary.LittleEndian.PutUint32(buf, crc32.Update(0, castagnoli, buf[4:]))
	return buf
}

// parseHeader checks what can be checked before the payload is there.
func parseHeader(b []byte, frameMax int) (header, error) {
	h := header{
		length:  binary.LittleEndian.Uint32(b[4:]),
		channel: ChannelID(binary.LittleEndian.Uint64(b[8:])),
		raw:     binary.LittleEndian.Uint32(b[16:]),
		kind:    frameType(b[20]),
		flags:   b[21],
	}
	switch {
	case h.kind == 0 || h.kind >= frameTypes:
		return h, fmt.Errorf("a frame of unknown %s", h.kind)
	case int64(h.length) > int64(frameMax) || int64(h.raw) > int64(frameMax):
		return h, fmt.Errorf("a %s frame of %d bytes, %d uncompressed: more than the %d allowed", h.kind, h.length, h.raw, frameMax)
	case h.flags&^flagsKnown != 0 || b[22] != 0 || b[23] != 0:
		return h, fmt.Errorf("a %s frame with unknown flags %#x", h.kind, b[21:24])
	case h.kind != frameBatch && h.flags != 0, h.flags&flagCompressed == 0 && h.raw != 0:
		return h, fmt.Errorf("a %s frame with flags %#x and uncompressed length %d", h.kind, h.flags, h.raw)
	}
	return h, nil
}

// frameReader reads frames from a connection.
type frameReader struct {
	r        *bufio.Reader
	frameMax int
	big      []byte // holds a frame that is larger than r's buffer
	plain    []byte // holds what was decompressed
	used     int    // bytes of r that the last frame lies in
}

func newFrameReader(r io.Reader, frameMax int) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, readBuffer), frameMax: frameMax}
}

// errFrame marks errors in the bytes, to tell them from those of the connection.
type errFrame struct{ error }

func (e errFrame) Unwrap() error { return e.error }

// next reads a frame. The payload is decompressed and valid until the next call. At the end of the input between two
// frames it returns io.EOF.
func (fr *frameReader) next() (header, []byte, error) {
	if _, err := fr.r.Discard(fr.used); err != nil {
		return header{}, nil, err
	}
	fr.used = 0
	head, err := fr.r.Peek(headerLen)
	if err != nil {
		if len(head) > 0 && err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return header{}, nil, err
	}
	h, err := parseHeader(head, fr.frameMax)
	if err != nil {
		return h, nil, errFrame{err}
	}
	frame, err := fr.whole(headerLen + int(h.length))
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return h, nil, err
	}
	if sum := crc32.Update(0, castagnoli, frame[4:]); sum != binary.LittleEndian.Uint32(frame) {
		return h, nil, errFrame{fmt.Errorf("a %s frame of %d bytes whose checksum is wrong", h.kind, h.length)}
	}
	payload := frame[headerLen:]
	if h.flags&flagCompressed != 0 {
		if payload, err = fr.decompress(payload, int(h.raw)); err != nil {
			return h, nil, errFrame{err}
		}
	}
	return h, payload, nil
}

// whole returns the next n bytes.
func (fr *frameReader) whole(n int) ([]byte, error) {
	if n <= readBuffer {
		fr.used = n
		return fr.r.Peek(n)
	}
	// Memory grows with what has really arrived, not with what the header claims.
	fr.big = fr.big[:0]
	for len(fr.big) < n {
		at := len(fr.big)
		end := min(n, at+max(readBuffer, at))
		if cap(fr.big) < end {
			fr.big = append(make([]byte, 0, end), fr.big...)
		}
		fr.big = fr.big[:end]
		if _, err := io.ReadFull(fr.r, fr.big[at:]); err != nil {
			return nil, err
		}
	}
	return fr.big, nil
}

func (fr *frameReader) decompress(src []byte, raw int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil || n != raw {
		return nil, fmt.Errorf("compressed rows of length %d that should be %d: %w", n, raw, errors.Join(err, errLength))
	}
	if cap(fr.plain) < n {
		fr.plain = make([]byte, n)
	}
	plain, err := s2.Decode(fr.plain[:cap(fr.plain)], src)
	if err != nil {
		return nil, fmt.Errorf("compressed rows: %w", err)
	}
	return plain, nil
}

var errLength = errors.New("wrong length")

// appendControl appends the payload of an event without rows.
func appendControl(dst []byte, ev event.Event) []byte {
	switch ev.Kind {
	case event.KindWatermark:
		dst = binary.LittleEndian.AppendUint64(dst, uint64(ev.Time))
	case event.KindBarrier:
		dst = binary.LittleEndian.AppendUint64(dst, ev.Barrier.Epoch)
		unaligned := byte(0)
		if ev.Barrier.Unaligned {
			unaligned = 1
		}
		dst = append(dst, byte(ev.Barrier.Purpose), unaligned)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(ev.Barrier.SwitchAt))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(ev.Barrier.Since))
	}
	return dst
}

// controlType returns the frame type of an event without rows.
func controlType(k event.Kind) frameType {
	switch k {
	case event.KindWatermark:
		return frameWatermark
	case event.KindIdle:
		return frameIdle
	case event.KindActive:
		return frameActive
	case event.KindBarrier:
		return frameBarrier
	case event.KindEnd:
		return frameEnd
	}
	panic("exchange: no frame for event " + k.String())
}

// parseControl is the inverse of appendControl.
func parseControl(t frameType, p []byte) (event.Event, error) {
	want := 0
	switch t {
	case frameWatermark:
		want = 8
	case frameBarrier:
		want = 26
	}
	if len(p) != want {
		return event.Event{}, fmt.Errorf("a %s frame of %d bytes instead of %d", t, len(p), want)
	}
	switch t {
	case frameWatermark:
		return event.Watermark(int64(binary.LittleEndian.Uint64(p))), nil
	case frameIdle:
		return event.Idle(), nil
	case frameActive:
		return event.Active(), nil
	case frameEnd:
		return event.End(), nil
	case frameBarrier:
		b := event.Barrier{Epoch: binary.LittleEndian.Uint64(p), Purpose: event.Purpose(p[8]), Unaligned: p[9] == 1,
			SwitchAt: time.Duration(binary.LittleEndian.Uint64(p[10:])), Since: time.Duration(binary.LittleEndian.Uint64(p[18:]))}
		if b.Purpose > event.PurposeRescale || p[9] > 1 {
			return event.Event{}, fmt.Errorf("a barrier of purpose %d and form %d", p[8], p[9])
		}
		return event.OfBarrier(b), nil
	}
	return event.Event{}, fmt.Errorf("a %s frame carries no event", t)
}

// eachCredit calls f for every grant of a credit frame.
func eachCredit(p []byte, f func(ch ChannelID, n uint32)) error {
	if len(p)%creditLen != 0 {
		return fmt.Errorf("a credit frame of %d bytes, no multiple of %d", len(p), creditLen)
	}
	for ; len(p) > 0; p = p[creditLen:] {
		f(ChannelID(binary.LittleEndian.Uint64(p)), binary.LittleEndian.Uint32(p[8:]))
	}
	return nil
}

func appendCredit(dst []byte, ch ChannelID, n int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(ch))
	return binary.LittleEndian.AppendUint32(dst, uint32(n))
}
