package exchange

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/xsync"
)

const (
	// DefaultMaxQueued bounds the bytes that wait in a link for its connection.
	DefaultMaxQueued = 1 << 20
	// spareFrames bounds the write buffers that a link keeps, spareBytes the size of each.
	spareFrames = 64
	spareBytes  = 256 << 10
	// channelsMax bounds the channels of one direction, so that a broken peer cannot fill the memory with grants.
	channelsMax = 1 << 20
)

// LinkConfig describes one end of a link. Self, Rand and AfterFunc must be set; for the rest zero is the default.
type LinkConfig struct {
	// Self is what the peer is told. Its job and generation must be the peer's too.
	Self Peer
	// Dialed says that this process opened the connection; exactly one of the two ends has.
	Dialed bool
	// Heard is the hello of a peer that has dialed, if it was read already to find out whom the connection is for.
	Heard *Hello
	// Secret is known to the processes of a cluster. Empty is no secret: then the connection must come from the same
	// machine, or be authenticated by TLS.
	Secret []byte
	// Verify may refuse a peer that has proved the secret, for example one whose name is not expected.
	Verify func(Peer) error
	// Rand is a source of unpredictable bytes.
	Rand io.Reader
	// AfterFunc calls f on a goroutine of its own after d.
	AfterFunc func(d time.Duration, f func()) Timer
	// Compression says which batches are compressed.
	Compression Compression
	// MaxFrame bounds the bytes of an encoded batch, MaxQueued what waits for the connection.
	MaxFrame, MaxQueued int
	// HandshakeTimeout bounds the handshake, AliveEvery is how often a link says that it lives,
	// PeerTimeout the silence after which the peer counts as lost, CloseTimeout how long Close waits for the peer.
	HandshakeTimeout, AliveEvery, PeerTimeout, CloseTimeout time.Duration
}

func (cfg *LinkConfig) setDefaults() {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&cfg.HandshakeTimeout, defaultHandshakeTimeout}, {&cfg.AliveEvery, defaultAliveEvery},
		{&cfg.PeerTimeout, defaultPeerTimeout}, {&cfg.CloseTimeout, defaultCloseTimeout},
	} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if cfg.MaxFrame <= 0 {
		cfg.MaxFrame = DefaultMaxFrame
	}
	if cfg.MaxQueued <= 0 {
		cfg.MaxQueued = DefaultMaxQueued
	}
}

// Link carries the channels between two processes over one connection, in both directions.
//
// The reader goroutine never waits for a task: a peer sends a batch only with credit, and credit is room in an inbox. The
// writer goroutine takes everything that waits in one system call, so that a busy link writes large pieces and an idle one
// at once. All methods may be called from any goroutine.
type Link struct {
	cfg  LinkConfig
	conn net.Conn
	peer Peer

	heard  atomic.Bool // since the last tick
	full   atomic.Bool // queued has reached MaxQueued; written under mu
	silent int         // ticks without a sign of the peer; used by tick only
	done   chan struct{}

	mu struct {
		xsync.Mutex
		work      sync.Cond // the writer waits on it
		waiting   bool
		err       error
		frames    [][]byte // to be written
		grants    []byte   // payload of the next credit frame
		queued    int      // bytes of frames, those being written included
		crowded   bool     // a sender found queued too large
		spare     [][]byte
		senders   map[ChannelID]*remoteSender
		receivers map[ChannelID]*receiver
		early     map[ChannelID]*grant // what came for a channel before its Sender was made
		closing   bool                 // a bye is queued: nothing may follow
		byeSent   bool
		byeHeard  bool
		running   int // goroutines
		timer     Timer
	}
	vec net.Buffers // used by the writer only
}

// grant is credit from the peer.
type grant struct {
	credit int
	closed bool
}

// NewLink shakes hands over conn, which belongs to the link from now on, and starts the link's two goroutines; they end
// with Close, Abort or the connection, and Done says when. On error conn is closed.
func NewLink(conn net.Conn, cfg LinkConfig) (*Link, error) {
	cfg.setDefaults()
	peer, err := shake(conn, &cfg)
	if err != nil {
		conn.Close()
		return nil, err
	}
	l := &Link{cfg: cfg, conn: conn, peer: peer, done: make(chan struct{})}
	l.mu.work.L = &l.mu.Mutex
	l.mu.senders = make(map[ChannelID]*remoteSender)
	l.mu.receivers = make(map[ChannelID]*receiver)
	l.mu.early = make(map[ChannelID]*grant)
	l.mu.running = 2
	if cfg.Compression == CompressAuto && loopback(conn) {
		l.cfg.Compression = CompressNever
	}
	l.mu.Lock()
	l.mu.timer = cfg.AfterFunc(cfg.AliveEvery, l.tick)
	l.mu.Unlock()
	go l.readLoop()
	go l.writeLoop()
	return l, nil
}

// Peer returns what the other end said about itself.
func (l *Link) Peer() Peer { return l.peer }

// Done is closed when the link has ended and its goroutines are gone.
func (l *Link) Done() <-chan struct{} { return l.done }

// Err returns why the link ended, or nil if it has not, or has ended by Close of either side.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.mu.err, errLinkClosed) {
		return nil
	}
	return l.mu.err
}

var errLinkClosed = errs.New(errs.CodePeerLost, errs.ClassFailTask, "", "the link was closed")

// Close writes what is queued, says goodbye and waits until the peer has too. Channels that have not ended fail at the
// peer. It may be called twice.
func (l *Link) Close() error {
	l.bye()
	timer := l.cfg.AfterFunc(l.cfg.CloseTimeout, func() { l.Abort(nil) })
	defer timer.Stop()
	<-l.done
	return l.Err()
}

// Abort ends the link at once. Its channels fail with err, as a lost peer if it has no code, or that the link was closed
// if nil.
func (l *Link) Abort(err error) {
	switch {
	case err == nil:
		err = errLinkClosed
	case errs.CodeOf(err) == "":
		err = l.lost(err, "given up")
	}
	l.fail(err)
}

// bye queues the last frame.
func (l *Link) bye() {
	l.mu.Lock()
	if !l.mu.closing && l.mu.err == nil {
		l.mu.closing = true
		l.push(endFrame(beginFrame(l.spare()), header{kind: frameBye}))
	}
	poke := l.wantedSenders()
	l.mu.Unlock()
	for _, in := range poke {
		in.poke()
	}
}

// wantedSenders returns the inboxes of the senders that wait, which are to be poked without the lock.
func (l *Link) wantedSenders() (poke []*Inbox) {
	for _, s := range l.mu.senders {
		if s.wanted {
			s.wanted = false
			poke = append(poke, s.from)
		}
	}
	return poke
}

// fail ends the link with err, and with it every channel that has not ended.
func (l *Link) fail(err error) {
	l.mu.Lock()
	if l.mu.err != nil {
		l.mu.Unlock()
		return
	}
	l.mu.err = err
	l.mu.work.Signal()
	poke := l.wantedSenders()
	broken := l.unfinished()
	l.mu.timer.Stop()
	l.mu.Unlock()
	l.conn.Close()
	for _, in := range poke {
		in.poke()
	}
	for _, r := range broken {
		r.fail(err)
	}
}

// unfinished marks the receivers that still expect something as gone, and returns them.
func (l *Link) unfinished() (rs []*receiver) {
	for _, r := range l.mu.receivers {
		if !r.ended && !r.gone.Load() {
			r.gone.Store(true)
			rs = append(rs, r)
		}
	}
	return rs
}

// lost words an error of the connection.
func (l *Link) lost(err error, what string) error {
	return errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "link to "+l.peer.Name, "%s", what)
}

// spare returns an empty write buffer. The lock is held.
func (l *Link) spare() []byte {
	if n := len(l.mu.spare); n > 0 {
		b := l.mu.spare[n-1]
		l.mu.spare = l.mu.spare[:n-1]
		return b[:0]
	}
	return nil
}

// push queues a frame. The lock is held.
func (l *Link) push(frame []byte) {
	l.mu.frames = append(l.mu.frames, frame)
	l.mu.queued += len(frame)
	l.noteFull()
	l.wakeWriter()
}

// noteFull brings full up to date. The lock is held.
func (l *Link) noteFull() {
	if full := l.mu.queued >= l.cfg.MaxQueued; full != l.full.Load() {
		l.full.Store(full)
	}
}

func (l *Link) wakeWriter() {
	if l.mu.waiting {
		l.mu.waiting = false
		l.mu.work.Signal()
	}
}

// grant lets the peer send n more batches on a channel.
func (l *Link) grant(ch ChannelID, n int) {
	l.mu.Lock()
	l.mu.grants = appendCredit(l.mu.grants, ch, n)
	l.wakeWriter()
	l.mu.Unlock()
}

// refuse tells the peer that a channel's consumer is gone.
func (l *Link) refuse(ch ChannelID) {
	l.mu.Lock()
	if !l.mu.closing {
		l.push(endFrame(beginFrame(l.spare()), header{kind: frameClosed, channel: ch}))
	}
	l.mu.Unlock()
}

func (l *Link) writeLoop() {
	defer l.ended()
	var frames, base [][]byte
	var credit []byte
	for {
		l.mu.Lock()
		for len(l.mu.frames) == 0 && len(l.mu.grants) == 0 && l.mu.err == nil {
			l.mu.waiting = true
			l.mu.work.Wait()
		}
		l.mu.waiting = false
		if l.mu.err != nil {
			l.mu.Unlock()
			return
		}
		frames, l.mu.frames = l.mu.frames, frames[:0]
		credit = append(beginFrame(credit), l.mu.grants...)
		l.mu.grants = l.mu.grants[:0]
		last := l.mu.closing
		l.mu.Unlock()

		base = base[:0]
		if len(credit) > headerLen {
			base = append(base, endFrame(credit, header{kind: frameCredit}))
		}
		base = append(base, frames...)
		l.vec = base
		if _, err := l.vec.WriteTo(l.conn); err != nil {
			l.fail(l.lost(err, "writing"))
			return
		}
		l.written(frames)
		clear(frames)
		if last {
			l.mu.Lock()
			l.mu.byeSent = true
			over := l.mu.byeHeard
			l.mu.Unlock()
			if over {
				l.fail(errLinkClosed)
			}
			return
		}
	}
}

// written takes back the buffers of frames and wakes the senders that found the queue full.
func (l *Link) written(frames [][]byte) {
	var poke []*Inbox
	l.mu.Lock()
	for _, f := range frames {
		l.mu.queued -= len(f)
		if len(l.mu.spare) < spareFrames && cap(f) <= spareBytes {
			l.mu.spare = append(l.mu.spare, f)
		}
	}
	l.noteFull()
	if l.mu.crowded && l.mu.queued <= l.cfg.MaxQueued/2 {
		l.mu.crowded = false
		poke = l.wantedSenders()
	}
	l.mu.Unlock()
	for _, in := range poke {
		in.poke()
	}
}

// ended closes done when the last goroutine goes.
func (l *Link) ended() {
	l.mu.Lock()
	l.mu.running--
	last := l.mu.running == 0
	l.mu.Unlock()
	if last {
		close(l.done)
	}
}

// listener notes that the peer lives with every read, since a large frame takes several.
type listener struct{ l *Link }

func (r listener) Read(p []byte) (int, error) {
	n, err := r.l.conn.Read(p)
	if n > 0 && !r.l.heard.Load() {
		r.l.heard.Store(true)
	}
	return n, err
}

func (l *Link) readLoop() {
	defer l.ended()
	frames := newFrameReader(listener{l}, l.cfg.MaxFrame)
	for {
		h, payload, err := frames.next()
		if err == nil {
			err = l.take(h, payload)
		}
		var bad errFrame
		switch {
		case err == nil:
			continue
		case errors.Is(err, errBye):
			return
		case errors.As(err, &bad):
			l.fail(errs.Wrap(bad.error, errs.CodeWire, errs.ClassFailTask, "link to "+l.peer.Name, "what it sent is no valid frame"))
		case err == io.EOF:
			l.fail(l.lost(err, "it closed the connection without a goodbye; see its log"))
		default:
			l.fail(l.lost(err, "reading"))
		}
		return
	}
}

var errBye = errors.New("bye")

// take acts on one frame.
func (l *Link) take(h header, payload []byte) error {
	switch h.kind {
	case frameAlive:
		return nil
	case frameCredit:
		return l.takeCredit(payload)
	case frameClosed:
		return l.credited(h.channel, 0, true)
	case frameBye:
		return l.takeBye()
	}
	l.mu.Lock()
	r := l.mu.receivers[h.channel]
	l.mu.Unlock()
	if r == nil {
		return errFrame{fmt.Errorf("%s on channel %d, which was not opened", h.kind, h.channel)}
	}
	if r.gone.Load() {
		return nil
	}
	return r.take(h, payload)
}

func (l *Link) takeBye() error {
	l.mu.Lock()
	l.mu.byeHeard = true
	over := l.mu.byeSent
	broken := l.unfinished()
	l.mu.Unlock()
	for _, r := range broken {
		r.fail(l.lost(errLinkClosed, "it said goodbye before the end of the channel"))
	}
	if over {
		l.fail(errLinkClosed)
	} else {
		l.bye()
	}
	return errBye
}

func (l *Link) takeCredit(payload []byte) error {
	var err error
	if bad := eachCredit(payload, func(ch ChannelID, n uint32) {
		if err == nil {
			err = l.credited(ch, n, false)
		}
	}); bad != nil {
		return errFrame{bad}
	}
	return err
}

// credited notes credit or the end of it for a channel.
func (l *Link) credited(ch ChannelID, n uint32, closed bool) error {
	l.mu.Lock()
	var g *grant
	var poke *Inbox
	if s := l.mu.senders[ch]; s != nil {
		g = &s.grant
		if s.wanted {
			s.wanted, poke = false, s.from
		}
	} else if g = l.mu.early[ch]; g == nil {
		if len(l.mu.early) >= channelsMax {
			l.mu.Unlock()
			return errFrame{errors.New("credit for too many channels that do not exist")}
		}
		g = new(grant)
		l.mu.early[ch] = g
	}
	g.credit += int(n)
	over := g.credit > creditMax
	g.closed = g.closed || closed
	if s := l.mu.senders[ch]; s != nil {
		s.note()
	}
	l.mu.Unlock()
	if over {
		return errFrame{fmt.Errorf("credit for %d batches on channel %d", g.credit, ch)}
	}
	if poke != nil {
		poke.poke()
	}
	return nil
}

// creditMax is more batches than any channel has room for.
const creditMax = 1 << 20

// tick looks for signs of life in both directions. It runs on the timer's goroutine, never twice at once.
func (l *Link) tick() {
	if l.heard.Swap(false) {
		l.silent = 0
	} else {
		l.silent++
	}
	if silence := time.Duration(l.silent) * l.cfg.AliveEvery; silence >= l.cfg.PeerTimeout {
		l.fail(errs.New(errs.CodePeerLost, errs.ClassFailTask, "link to "+l.peer.Name,
			"nothing was heard of it for %v; the process hangs or the network between is cut", silence))
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err != nil {
		return
	}
	if len(l.mu.frames) == 0 && !l.mu.closing {
		l.push(endFrame(beginFrame(l.spare()), header{kind: frameAlive}))
	}
	l.mu.timer.Reset(l.cfg.AliveEvery)
}

// Receive leads channel id of the peer into channel ch of in, decoding with codec, and lets the peer send. The link calls
// codec from its reader goroutine only.
func (l *Link) Receive(id ChannelID, in *Inbox, ch int, codec event.Codec) error {
	r := &receiver{link: l, id: id, in: in, ch: ch, codec: codec}
	l.mu.Lock()
	if l.mu.receivers[id] != nil {
		l.mu.Unlock()
		return errs.New(errs.CodeBug, errs.ClassBug, "link to "+l.peer.Name, "channel %d is received twice", id)
	}
	err := l.mu.err
	if err == nil {
		if l.mu.byeHeard {
			err = errLinkClosed
		}
	}
	if err == nil {
		l.mu.receivers[id] = r
	}
	l.mu.Unlock()
	if err != nil {
		return errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "link to "+l.peer.Name, "")
	}
	if depth := in.attach(ch, r, true); depth > 0 {
		l.grant(id, depth)
	} else {
		r.closed()
	}
	return nil
}

// Sender returns the sender for channel id towards the peer, for the task that owns from. It may be made before or after
// the peer calls Receive; until then its Send waits. It calls codec from the task's goroutine only.
func (l *Link) Sender(id ChannelID, codec event.Codec, from *Inbox) Sender {
	s := &remoteSender{link: l, id: id, codec: codec, from: from, press: press{mode: l.cfg.Compression}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.senders[id] != nil {
		panic(fmt.Sprintf("exchange: two senders for channel %d to %s", id, l.peer.Name))
	}
	l.mu.senders[id] = s
	if g := l.mu.early[id]; g != nil {
		delete(l.mu.early, id)
		s.grant = *g
		s.note()
	}
	return s
}
