package exchange

import (
	"bytes"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/weir-stream/weir/internal/event"
)

// The bytes of docs/format/exchange.md. A change here is a new version of the protocol. Checksums were computed with
// another implementation of CRC-32C.
var frameExamples = []struct {
	name, hex string
	h         header
	payload   string
}{
	{"watermark 1000 on channel 258", "04d1444a" + "08000000" + "0201000000000000" + "00000000" + "02000000" + "e803000000000000",
		header{length: 8, channel: 258, kind: frameWatermark}, "e803000000000000"},
	{"unaligned checkpoint barrier 7", "fb15e599" + "1a000000" + "0100000000000000" + "00000000" + "05000000" + "0700000000000000" + "01" + "01" + "e803000000000000" + "8403000000000000",
		header{length: 26, channel: 1, kind: frameBarrier}, "07000000000000000101e8030000000000008403000000000000"},
	{"end", "b2498c8a" + "00000000" + "0100000000000000" + "00000000" + "06000000", header{channel: 1, kind: frameEnd}, ""},
	{"forced batch", "f22bd96a" + "03000000" + "0500000000000000" + "00000000" + "01020000" + "616263",
		header{length: 3, channel: 5, kind: frameBatch, flags: flagForced}, "616263"},
	{"credit of 3 for channel 5 and 1 for 6", "41cf802c" + "18000000" + "0000000000000000" + "00000000" + "07000000" + "050000000000000003000000" + "060000000000000001000000",
		header{length: 24, kind: frameCredit}, "050000000000000003000000060000000000000001000000"},
}

func mustHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFrameBytes(t *testing.T) {
	for _, c := range frameExamples {
		want := mustHex(t, c.hex)
		if got := endFrame(append(beginFrame(nil), mustHex(t, c.payload)...), c.h); !bytes.Equal(got, want) {
			t.Errorf("%s: wrote\n%x, want\n%x", c.name, got, want)
		}
		fr := newFrameReader(bytes.NewReader(append(want, want...)), 1<<10)
		for range 2 {
			if h, payload, err := fr.next(); err != nil || h != c.h || hex.EncodeToString(payload) != c.payload {
				t.Errorf("%s: read %+v %x %v", c.name, h, payload, err)
			}
		}
		if _, _, err := fr.next(); err != io.EOF {
			t.Errorf("%s: at the end: %v", c.name, err)
		}
		for n := 1; n < len(want); n++ {
			if _, _, err := newFrameReader(bytes.NewReader(want[:n]), 1<<10).next(); err != io.ErrUnexpectedEOF {
				t.Errorf("%s cut to %d bytes: %v", c.name, n, err)
			}
		}
		for i := range 8 * len(want) {
			bad := bytes.Clone(want)
			bad[i/8] ^= 1 << (i % 8)
			if h, p, err := newFrameReader(bytes.NewReader(bad), 1<<10).next(); err == nil {
				t.Errorf("%s with bit %d flipped was read as %+v %x", c.name, i, h, p)
			}
		}
	}
}

func TestControlEventsKeepTheirContent(t *testing.T) {
	for _, ev := range []event.Event{
		event.Watermark(-5), event.Watermark(event.MaxTime), event.Idle(), event.Active(), event.End(),
		event.OfBarrier(event.Barrier{Epoch: 1 << 60, Purpose: event.PurposeRescale}),
		event.OfBarrier(event.Barrier{Epoch: 1, Purpose: event.PurposeStop, Unaligned: true, SwitchAt: 1 << 61, Since: 1<<61 - 1}),
	} {
		got, err := parseControl(controlType(ev.Kind), appendControl(nil, ev))
		if err != nil || got != ev {
			t.Errorf("%+v became %+v, %v", ev, got, err)
		}
	}
}

func TestLargeFrames(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var wire []byte
	var sizes []int
	for range 40 {
		n := rnd.IntN(3 * readBuffer)
		payload := bytes.Repeat([]byte{byte(n)}, n)
		sizes = append(sizes, n)
		wire = append(wire, endFrame(append(beginFrame(nil), payload...), header{kind: frameBatch})...)
	}
	fr := newFrameReader(iotest{bytes.NewReader(wire), rnd}, 4*readBuffer)
	for _, n := range sizes {
		_, payload, err := fr.next()
		if err != nil || len(payload) != n || len(bytes.Trim(payload, string([]byte{byte(n)}))) != 0 {
			t.Fatalf("%d bytes of %d, %v", len(payload), n, err)
		}
	}
}

// iotest reads in pieces of random size.
type iotest struct {
	r   io.Reader
	rnd *rand.Rand
}

func (r iotest) Read(p []byte) (int, error) { return r.r.Read(p[:1+r.rnd.IntN(len(p))]) }

func TestFramesThatLie(t *testing.T) {
	batch := func(payload []byte, h header) []byte { return endFrame(append(beginFrame(nil), payload...), h) }
	long := batch(nil, header{kind: frameBatch})
	long[4], long[7] = 1, 0x7f
	for _, c := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"length", long, "more than the 65536 allowed"},
		{"uncompressed length", batch(nil, header{kind: frameBatch, flags: flagCompressed, raw: 1 << 20}), "more than the 65536 allowed"},
		{"type", batch(nil, header{kind: 99}), "unknown type 99"},
		{"flags", batch(nil, header{kind: frameBatch, flags: 0x80}), "unknown flags"},
		{"flags of a watermark", batch(make([]byte, 8), header{kind: frameWatermark, flags: flagForced}), "watermark frame with flags"},
		{"compressed rows of another length", batch(s2.Encode(nil, make([]byte, 100)), header{kind: frameBatch, flags: flagCompressed, raw: 99}), "length 100 that should be 99"},
		{"no compressed rows", batch([]byte{3, 0xff, 0xff}, header{kind: frameBatch, flags: flagCompressed, raw: 3}), "compressed rows"},
	} {
		if _, _, err := newFrameReader(bytes.NewReader(c.frame), 1<<16).next(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A header that claims much must not cost memory before the bytes are there.
func TestMemoryFollowsTheInput(t *testing.T) {
	frame := endFrame(append(beginFrame(nil), make([]byte, 8<<20)...), header{kind: frameBatch})
	fr := newFrameReader(bytes.NewReader(frame[:1000]), 16<<20)
	if _, _, err := fr.next(); err != io.ErrUnexpectedEOF || cap(fr.big) > 2*readBuffer {
		t.Errorf("%v, %d bytes taken for 1000 that came", err, cap(fr.big))
	}
}

func FuzzFrames(f *testing.F) {
	for _, c := range frameExamples {
		f.Add(mustHex(f, c.hex))
	}
	rows := bytes.Repeat([]byte("abcdefgh"), 100)
	f.Add(endFrame(append(beginFrame(nil), s2.Encode(nil, rows)...), header{kind: frameBatch, flags: flagCompressed, raw: uint32(len(rows))}))
	f.Fuzz(func(t *testing.T, in []byte) {
		const frameMax = 1 << 20
		// Checksums are mended, so that the fuzzer gets behind them.
		for at := 0; at+headerLen <= len(in); {
			n := headerLen + int(in[at+4]) + int(in[at+5])<<8
			if at+n > len(in) || in[at+6]|in[at+7] != 0 {
				break
			}
			h := header{channel: ChannelID(in[at+8]), kind: frameType(in[at+20] % byte(frameTypes+1)), flags: in[at+21]}
			h.raw = uint32(in[at+16]) | uint32(in[at+17])<<8
			endFrame(in[at:at+n], h)
			at += n
		}
		fr := newFrameReader(bytes.NewReader(in), frameMax)
		for {
			h, payload, err := fr.next()
			if err != nil {
				return
			}
			if len(payload) > frameMax {
				t.Fatalf("%d bytes", len(payload))
			}
			switch h.kind {
			case frameCredit:
				eachCredit(payload, func(ChannelID, uint32) {})
			case frameWatermark, frameIdle, frameActive, frameBarrier, frameEnd:
				ev, err := parseControl(h.kind, payload)
				if err == nil && !bytes.Equal(appendControl(nil, ev), payload) {
					t.Fatalf("%x reads as %+v", payload, ev)
				}
			}
		}
	})
}

func FuzzHello(f *testing.F) {
	b, err := appendHello(nil, Peer{Job: "j", Generation: 300, Name: "n"}, bytes.NewReader(make([]byte, nonceLen)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		p, raw, err := readHello(bytes.NewReader(in))
		if err != nil {
			return
		}
		again, err := appendHello(nil, p, bytes.NewReader(raw[len(raw)-nonceLen:]))
		if err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%x reads as %+v, which is %x, %v", raw, p, again, err)
		}
	})
}
