package exchange

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
)

type noCodec struct{ pool *event.Pool[int64] }

func (noCodec) Encode(dst []byte, b event.Batch) ([]byte, error) { return dst, nil }
func (c noCodec) Decode(src []byte) (event.Batch, error) {
	b := c.pool.Get()
	b.Append(int64(len(src)), 0)
	return b, nil
}

// misdeed is what a peer does after a good handshake, and the words of the error that it must end in.
type misdeed struct {
	name   string
	frames [][]byte
	want   string
}

func misdeeds() []misdeed {
	frame := func(payload string, h header) []byte { return endFrame(append(beginFrame(nil), payload...), h) }
	batch := frame("rows", header{kind: frameBatch, channel: 1})
	forced := frame("rows", header{kind: frameBatch, channel: 1, flags: flagForced})
	end := frame("", header{kind: frameEnd, channel: 1})
	many := func(n int, f []byte) [][]byte {
		fs := make([][]byte, n)
		for i := range fs {
			fs[i] = f
		}
		return fs
	}
	return []misdeed{
		{"a batch without credit", many(9, batch), "channel 1: a batch without credit, 8 are queued"},
		{"endless batches ahead of a barrier", many(8+excessMax+1, forced), "256 batches ahead of barriers without credit"},
		{"a channel that nobody opened", [][]byte{frame("", header{kind: frameIdle, channel: 2})}, "idle on channel 2, which was not opened"},
		{"two ends", [][]byte{end, end}, "end after the end"},
		{"rows after the end", [][]byte{end, batch}, "batch after the end"},
		{"a watermark of no length", [][]byte{frame("", header{kind: frameWatermark, channel: 1})}, "a watermark frame of 0 bytes instead of 8"},
		{"a barrier of no purpose", [][]byte{frame("\x01\x00\x00\x00\x00\x00\x00\x00\x63\x00"+strings.Repeat("\x00", 16), header{kind: frameBarrier, channel: 1})}, "purpose 99"},
		{"endless credit", many(2, frame("\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00", header{kind: frameCredit})), "credit for 2097152 batches on channel 5"},
		{"half a grant", [][]byte{frame("\x05\x00", header{kind: frameCredit})}, "a credit frame of 2 bytes"},
		{"rubbish", [][]byte{[]byte(strings.Repeat("rubbish ", 5))}, "is no valid frame"},
		{"a wrong checksum", [][]byte{append([]byte{0, 0, 0, 0}, batch[4:]...)}, "checksum is wrong"},
		{"hanging up within a frame", [][]byte{batch[:20]}, "unexpected EOF"},
	}
}

func TestPeerThatBreaksTheProtocol(t *testing.T) {
	for _, c := range misdeeds() {
		t.Run(c.name, func(t *testing.T) {
			a, b := net.Pipe()
			config := LinkConfig{Self: Peer{Job: "j", Name: "here"}, Rand: rand.NewChaCha8([32]byte{}),
				AfterFunc: func(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }}
			go func() {
				peer := config
				peer.Self.Name, peer.Dialed = "there", true
				peer.setDefaults()
				if _, err := shake(a, &peer); err != nil {
					t.Error(err)
				}
				// The link opens channel 1 and has nothing to say afterwards.
				if _, err := io.ReadFull(a, make([]byte, headerLen+creditLen)); err != nil {
					t.Error(err)
				}
				for _, f := range c.frames {
					if _, err := a.Write(f); err != nil {
						break // it has had enough
					}
				}
				a.Close()
			}()
			in := NewInbox(Config{Name: "task", Channels: 1, Now: func() int64 { return 0 }})
			l, err := newLinkReceiving(b, config, 1, in, noCodec{event.NewPool[int64](16)})
			if err != nil {
				t.Fatal(err)
			}
			<-l.Done()
			err = l.Err()
			code := errs.CodeWire
			if strings.HasPrefix(c.name, "hanging") {
				code = errs.CodePeerLost
			}
			if errs.CodeOf(err) != code || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "there") {
				t.Errorf("the link ended with %v", err)
			}
			if _, _, err := in.Poll(); err == nil && !strings.Contains(c.name, "end") {
				t.Errorf("the task was not told")
			}
			in.Close()
		})
	}
}

// newLinkReceiving returns a link one channel of which was opened before it read anything.
func newLinkReceiving(conn net.Conn, cfg LinkConfig, id ChannelID, in *Inbox, codec event.Codec) (*Link, error) {
	hold := &heldConn{Conn: conn, open: make(chan struct{})}
	l, err := NewLink(hold, cfg)
	if err != nil {
		return nil, err
	}
	err = l.Receive(id, in, 0, codec)
	close(hold.open)
	return l, err
}

// heldConn holds back reads of more than a handshake until open is closed.
type heldConn struct {
	net.Conn
	open chan struct{}
}

func (c *heldConn) Read(p []byte) (int, error) {
	if len(p) >= readBuffer {
		<-c.open
	}
	return c.Conn.Read(p)
}
