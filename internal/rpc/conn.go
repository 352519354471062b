package rpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/xsync"
)

// Conn is one end of a connection between a master and a worker.
//
// One goroutine at a time may call Send, one at a time Recv; Peer and Close may be called from any. Messages arrive in
// the order they were sent, each once. A message belongs to nobody after Send: it must not be changed by either side.
type Conn interface {
	// Send hands over a message. It blocks while the peer is far behind. An error means that the connection is of no more
	// use, ErrClosed that this end was closed.
	Send(m Message) error
	// Recv returns the next message. io.EOF means that the peer has closed in order and everything it sent was received;
	// ErrClosed that this end was closed; any other error that the connection broke, and messages may be lost.
	Recv() (Message, error)
	// Peer is the name that the other side has proved by its certificate; "" for the in-memory form.
	Peer() string
	// Close ends the connection in order: what was sent still reaches the peer if it keeps receiving (Close waits for that,
	// but not for long). It may be called more than once.
	Close() error
}

// Listener hands out the connections that workers open.
type Listener interface {
	// Accept blocks until a worker has connected. After Close it returns ErrClosed.
	Accept() (Conn, error)
	// Addr is where workers connect to, "" for the in-memory form.
	Addr() string
	// Close ends listening and breaks connections that are still open. It may be called more than once.
	Close() error
}

// ErrClosed is returned by calls on an end that was closed by its own side.
var ErrClosed = errors.New("rpc: the connection was closed by this side")

// pairDepth is the number of messages in flight in one direction of an in-memory connection.
const pairDepth = 64

// Pair returns the two ends of an in-memory connection.
func Pair() (master, worker Conn) {
	toWorker, toMaster := make(chan Message, pairDepth), make(chan Message, pairDepth)
	cut := &cut{c: make(chan struct{})}
	a := &pairConn{out: toWorker, in: toMaster, closed: make(chan struct{}), cut: cut}
	b := &pairConn{out: toMaster, in: toWorker, closed: make(chan struct{}), cut: cut}
	a.peer, b.peer = b, a
	return a, b
}

// pairConn is one end of Pair. Nobody ever closes the message channels; an end that closes shuts its closed channel.
type pairConn struct {
	out    chan<- Message
	in     <-chan Message
	peer   *pairConn
	once   sync.Once
	closed chan struct{}
	cut    *cut // shared by both ends
}

// cut is the break of a connection.
type cut struct {
	once sync.Once
	c    chan struct{}
}

// Send implements Conn.
func (p *pairConn) Send(m Message) error {
	select {
	case <-p.closed:
		return ErrClosed
	case <-p.cut.c:
		return errBroken
	case <-p.peer.closed:
		return errBroken
	default:
	}
	select {
	case p.out <- m:
		return nil
	case <-p.closed:
		return ErrClosed
	case <-p.cut.c:
		return errBroken
	case <-p.peer.closed:
		return errBroken
	}
}

// Recv implements Conn.
func (p *pairConn) Recv() (Message, error) {
	select {
	case <-p.closed:
		return Message{}, ErrClosed
	case <-p.cut.c:
		return Message{}, errBroken
	default:
	}
	select {
	case m := <-p.in:
		return m, nil
	case <-p.closed:
		return Message{}, ErrClosed
	case <-p.cut.c:
		return Message{}, errBroken
	case <-p.peer.closed:
		select { // what the peer sent before it closed
		case m := <-p.in:
			return m, nil
		default:
			return Message{}, io.EOF
		}
	}
}

// Peer implements Conn.
func (p *pairConn) Peer() string { return "" }

// Close implements Conn.
func (p *pairConn) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

var errBroken = errs.New(errs.CodePeerLost, errs.ClassFailTask, "control connection", "the connection broke")

// Break cuts an in-memory connection as the death of the peer's process would: both ends get an error, messages in flight
// may be lost. conn must come from Pair. Tests and the simulation use it.
func Break(conn Conn) {
	c := conn.(*pairConn).cut
	c.once.Do(func() { close(c.c) })
}

// Outbox sends messages from any number of goroutines over one Conn without ever blocking them. It is bounded: if the peer
// lets Limit messages pile up, it is given up with an error. One goroutine (Run) does the sending.
type Outbox struct {
	conn  Conn
	limit int
	wake  chan struct{} // holds one token when there is something to look at
	idle  chan struct{} // closed by Run at its end
	mu    struct {
		xsync.Mutex
		queue  []Message
		latest map[OpRef]int // where in queue a message of PutLatest waits
		closed bool
		err    error
	}
}

// OutboxLimit is the number of messages that a peer may be behind before it is given up.
const OutboxLimit = 1 << 16

// NewOutbox returns an outbox for conn; the caller starts Run. A limit of 0 means OutboxLimit.
func NewOutbox(conn Conn, limit int) *Outbox {
	if limit == 0 {
		limit = OutboxLimit
	}
	o := &Outbox{conn: conn, limit: limit, wake: make(chan struct{}, 1), idle: make(chan struct{})}
	o.mu.latest = map[OpRef]int{}
	return o
}

// Put queues a message. The error is that of the connection, if it has failed; it is the same ever after.
func (o *Outbox) Put(m Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.put(m)
}

// PutLatest queues a message that makes earlier ones of the same operator pointless: one that was queued with PutLatest
// and has not been sent yet is replaced, at its place. So a slow connection carries fewer messages, not older ones.
func (o *Outbox) PutLatest(of OpRef, m Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i, waits := o.mu.latest[of]; waits {
		o.mu.queue[i] = m
		return o.mu.err
	}
	err := o.put(m)
	if err == nil {
		o.mu.latest[of] = len(o.mu.queue) - 1
	}
	return err
}

// put is Put; mu is held.
func (o *Outbox) put(m Message) error {
	switch {
	case o.mu.err != nil:
		return o.mu.err
	case o.mu.closed:
		return ErrClosed
	case len(o.mu.queue) >= o.limit:
		o.mu.err = errs.New(errs.CodeLimit, errs.ClassFailTask, "control connection",
			"the peer has not taken %d messages; it is given up", o.limit)
		o.signal()
		return o.mu.err
	}
	o.mu.queue = append(o.mu.queue, m)
	o.signal()
	return nil
}

func (o *Outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run sends what is put until Close, an error of the connection, or the end of ctx. It returns the error, nil after Close.
// It does not close the connection.
func (o *Outbox) Run(ctx context.Context) error {
	defer close(o.idle)
	var batch []Message
	for {
		o.mu.Lock()
		batch, o.mu.queue = o.mu.queue, batch[:0]
		clear(o.mu.latest)
		closed, err := o.mu.closed, o.mu.err
		o.mu.Unlock()
		if err != nil {
			return err
		}
		if len(batch) == 0 && closed {
			return nil
		}
		for i, m := range batch {
			batch[i] = Message{}
			if err := o.conn.Send(m); err != nil {
				o.mu.Lock()
				o.mu.err = err
				o.mu.Unlock()
				return err
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-o.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close lets Run end once everything that was put before has been sent, and waits for that or for the end of ctx.
func (o *Outbox) Close(ctx context.Context) error {
	o.mu.Lock()
	o.mu.closed = true
	o.mu.Unlock()
	o.signal()
	select {
	case <-o.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
