package netx

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/weir-stream/weir/internal/clock"
)

// Faulty wraps a network and spoils the way to addresses. An address is named as the listener's Addr prints it, and all
// connections to it count, seen from either end. Construct it with NewFaulty.
type Faulty struct {
	inner Network
	clk   clock.Clock
	mu    struct {
		sync.Mutex
		links map[string]*link
	}
}

// link is the state of the way to one address, guarded by Faulty.mu.
type link struct {
	cut, stalled bool
	delay        time.Duration
	conns        map[*faultyConn]bool
	changed      chan struct{} // closed and replaced at each change of cut and stalled
}

// NewFaulty wraps inner, without any fault. clk measures delays.
func NewFaulty(inner Network, clk clock.Clock) *Faulty {
	f := &Faulty{inner: inner, clk: clk}
	f.mu.links = map[string]*link{}
	return f
}

// link finds or makes the link of addr. The caller holds mu.
func (f *Faulty) link(addr string) *link {
	l := f.mu.links[addr]
	if l == nil {
		l = &link{conns: map[*faultyConn]bool{}, changed: make(chan struct{})}
		f.mu.links[addr] = l
	}
	return l
}

// change does do with the link of addr and wakes who waits for it.
func (f *Faulty) change(addr string, do func(*link)) (open []*faultyConn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.link(addr)
	do(l)
	close(l.changed)
	l.changed = make(chan struct{})
	for c := range l.conns {
		open = append(open, c)
	}
	return open
}

// Cut resets all connections to addr, on both ends, and refuses new ones until Mend.
func (f *Faulty) Cut(addr string) {
	for _, c := range f.change(addr, func(l *link) { l.cut = true }) {
		c.abort()
	}
}

// Stall lets nothing more through to or from addr until Mend, and tells nobody: writes and dials block, reads find only
// what was under way. This is what a pulled cable looks like.
func (f *Faulty) Stall(addr string) { f.change(addr, func(l *link) { l.stalled = true }) }

// Delay makes each Write to or from addr take d longer.
func (f *Faulty) Delay(addr string, d time.Duration) { f.change(addr, func(l *link) { l.delay = d }) }

// Mend takes back Cut, Stall and Delay. Connections that were cut stay broken; what was stalled goes on.
func (f *Faulty) Mend(addr string) {
	f.change(addr, func(l *link) { l.cut, l.stalled, l.delay = false, false, 0 })
}

// Listen implements Network.
func (f *Faulty) Listen(ctx context.Context, addr string) (Listener, error) {
	l, err := f.inner.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &faultyListener{Listener: l, network: f}, nil
}

// Dial implements Network.
func (f *Faulty) Dial(ctx context.Context, addr string) (Conn, error) {
	for {
		f.mu.Lock()
		l := f.link(addr)
		cut, stalled, changed := l.cut, l.stalled, l.changed
		f.mu.Unlock()
		if cut {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: memAddr(addr), Err: syscall.ECONNREFUSED}
		}
		if !stalled {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: memAddr(addr), Err: ctx.Err()}
		}
	}
	c, err := f.inner.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return f.adopt(c, c.RemoteAddr().String()), nil
}

// adopt wraps one end of a connection to addr.
func (f *Faulty) adopt(c net.Conn, addr string) net.Conn {
	fc := &faultyConn{Conn: c, network: f, addr: addr, done: make(chan struct{}), moved: make(chan struct{})}
	f.mu.Lock()
	l := f.link(addr)
	l.conns[fc] = true
	cut := l.cut
	f.mu.Unlock()
	if cut {
		fc.abort()
	}
	return fc
}

type faultyListener struct {
	net.Listener
	network *Faulty
}

// Accept implements net.Listener.
func (l *faultyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.network.adopt(c, l.Addr().String()), nil
}

type faultyConn struct {
	net.Conn
	network *Faulty
	addr    string
	done    chan struct{} // closed by Close and by a cut
	end     sync.Once

	mu       sync.Mutex // guards the fields below; a leaf
	aborted  bool
	deadline time.Time     // of Write
	moved    chan struct{} // closed and replaced when deadline changes
}

// Read implements net.Conn.
func (c *faultyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.cause("read", err)
}

// Write implements net.Conn.
func (c *faultyConn) Write(p []byte) (int, error) {
	if err := c.pass(); err != nil {
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: c.RemoteAddr(), Err: err}
	}
	n, err := c.Conn.Write(p)
	return n, c.cause("write", err)
}

// cause puts a reset in the place of the error of a connection that was cut.
func (c *faultyConn) cause(op string, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.aborted {
		return &net.OpError{Op: op, Net: "tcp", Addr: c.RemoteAddr(), Err: syscall.ECONNRESET}
	}
	return err
}

// pass waits out stall and delay.
func (c *faultyConn) pass() error {
	waited := false
	for {
		c.network.mu.Lock()
		l := c.network.link(c.addr)
		stalled, delay, changed := l.stalled, l.delay, l.changed
		c.network.mu.Unlock()
		c.mu.Lock()
		deadline, moved, aborted := c.deadline, c.moved, c.aborted
		c.mu.Unlock()
		if aborted {
			return syscall.ECONNRESET
		}
		if !stalled && (waited || delay <= 0) {
			return nil
		}
		var late, over <-chan time.Time
		var timers [2]clock.Timer
		if !deadline.IsZero() {
			timers[0] = c.network.clk.NewTimer(deadline.Sub(c.network.clk.Now()))
			late = timers[0].C()
		}
		if !stalled {
			timers[1] = c.network.clk.NewTimer(delay)
			over = timers[1].C()
		}
		var err error
		select {
		case <-late:
			err = os.ErrDeadlineExceeded
		case <-over:
			waited = true
		case <-changed:
		case <-moved:
		case <-c.done:
			err = c.closedAs()
		}
		for _, t := range timers {
			if t != nil {
				t.Stop()
			}
		}
		if err != nil {
			return err
		}
	}
}

func (c *faultyConn) closedAs() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted {
		return syscall.ECONNRESET
	}
	return net.ErrClosed
}

// abort breaks the connection as the other side's crash would.
func (c *faultyConn) abort() {
	c.mu.Lock()
	c.aborted = true
	c.mu.Unlock()
	switch inner := c.Conn.(type) {
	case *memConn:
		inner.reset()
	case *net.TCPConn:
		// Errors are of no use here: the connection is to be broken, whatever state it is in.
		_ = inner.SetLinger(0)
		_ = inner.Close()
	default:
		_ = inner.Close()
	}
	c.end.Do(func() { close(c.done) })
}

// Close implements net.Conn.
func (c *faultyConn) Close() error {
	c.network.mu.Lock()
	delete(c.network.link(c.addr).conns, c)
	c.network.mu.Unlock()
	c.end.Do(func() { close(c.done) })
	return c.Conn.Close()
}

// SetDeadline implements net.Conn.
func (c *faultyConn) SetDeadline(t time.Time) error {
	c.move(t)
	return c.Conn.SetDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *faultyConn) SetWriteDeadline(t time.Time) error {
	c.move(t)
	return c.Conn.SetWriteDeadline(t)
}

func (c *faultyConn) move(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	close(c.moved)
	c.moved = make(chan struct{})
}
