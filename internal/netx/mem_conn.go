package netx

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/weir-stream/weir/internal/clock"
)

// stream is one direction of a connection in memory: a ring of bytes between a reader and a writer.
//
// Waiting is on a sync.Cond, which a testing/synctest bubble counts as durably blocked; the mutex is held for moments
// only.
type stream struct {
	clk  clock.Clock
	mu   sync.Mutex
	cond *sync.Cond

	// All below is guarded by mu.
	ring         [memBufferBytes]byte
	start, count int
	writerClosed bool // the reader gets io.EOF after what is there
	readerClosed bool // the writer gets EPIPE
	broken       bool // both get ECONNRESET at once
	read, write  deadline
}

// deadline is the reader's or the writer's; generation tells a stale timer from the one in force.
type deadline struct {
	timer      clock.Timer
	generation int
	passed     bool
}

func newStream(clk clock.Clock) *stream {
	s := &stream{clk: clk}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// readSome blocks until there is something to read.
func (s *stream) readSome(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerClosed:
			return 0, net.ErrClosed
		case s.broken:
			return 0, syscall.ECONNRESET
		case s.read.passed:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.count > 0:
			n := copy(p, s.ring[s.start:min(s.start+s.count, len(s.ring))])
			n += copy(p[n:], s.ring[:max(0, s.start+s.count-len(s.ring))])
			s.start = (s.start + n) % len(s.ring)
			s.count -= n
			s.cond.Broadcast()
			return n, nil
		case s.writerClosed:
			return 0, io.EOF
		}
		s.cond.Wait()
	}
}

// writeAll blocks until all of p is in the ring.
func (s *stream) writeAll(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.writerClosed:
			return written, net.ErrClosed
		case s.broken:
			return written, syscall.ECONNRESET
		case s.readerClosed:
			return written, syscall.EPIPE
		case s.write.passed:
			return written, os.ErrDeadlineExceeded
		case len(p) == 0:
			return written, nil
		case s.count < len(s.ring):
			end := (s.start + s.count) % len(s.ring)
			n := copy(s.ring[end:min(len(s.ring), end+len(s.ring)-s.count)], p)
			s.count += n
			written += n
			p = p[n:]
			s.cond.Broadcast()
		default:
			s.cond.Wait()
		}
	}
}

// change does f under the lock and wakes everybody.
func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.cond.Broadcast()
}

// setDeadline makes d, one of s.read and s.write, pass at t; a zero t never.
func (s *stream) setDeadline(d *deadline, t time.Time) {
	wait := time.Duration(0)
	if !t.IsZero() {
		wait = t.Sub(s.clk.Now())
	}
	s.change(func() {
		if d.timer != nil {
			d.timer.Stop()
			d.timer = nil
		}
		d.generation++
		d.passed = !t.IsZero() && wait <= 0
		if wait <= 0 {
			return
		}
		generation := d.generation
		d.timer = s.clk.AfterFunc(wait, func() {
			s.change(func() { d.passed = d.passed || d.generation == generation })
		})
	})
}

// memConn is one end of a connection in memory.
type memConn struct {
	in, out       *stream
	local, remote memAddr
}

func (c *memConn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Read implements net.Conn.
func (c *memConn) Read(p []byte) (int, error) {
	n, err := c.in.readSome(p)
	return n, c.wrap("read", err)
}

// Write implements net.Conn.
func (c *memConn) Write(p []byte) (int, error) {
	n, err := c.out.writeAll(p)
	return n, c.wrap("write", err)
}

// CloseWrite tells the peer that nothing more comes, and leaves the other direction open, as *net.TCPConn does.
func (c *memConn) CloseWrite() error {
	c.out.change(func() { c.out.writerClosed = true })
	return nil
}

// Close implements net.Conn.
func (c *memConn) Close() error {
	var err error
	c.in.change(func() {
		if c.in.readerClosed {
			err = net.ErrClosed
		}
		c.in.readerClosed = true
		c.in.drop(&c.in.read)
	})
	c.out.change(func() {
		c.out.writerClosed = true
		c.out.drop(&c.out.write)
	})
	return c.wrap("close", err)
}

// drop stops the timer of d, so that a closed connection leaves nothing behind. The caller holds mu.
func (s *stream) drop(d *deadline) {
	d.generation++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// reset breaks both directions at once; what is under way is lost.
func (c *memConn) reset() {
	for _, s := range []*stream{c.in, c.out} {
		s.change(func() { s.broken = true })
	}
}

// LocalAddr implements net.Conn.
func (c *memConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *memConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.read, t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.write, t)
	return nil
}
