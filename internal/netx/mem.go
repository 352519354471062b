package netx

import (
	"context"
	"net"
	"strconv"
	"sync"
	"syscall"

	"github.com/weir-stream/weir/internal/clock"
)

const (
	// memBufferBytes is how much a connection holds in each direction before Write blocks.
	memBufferBytes = 64 << 10
	// memBacklog is how many connections wait to be accepted before Dial blocks.
	memBacklog = 128
	// memFirstPort is where the search for a free port starts.
	memFirstPort = 49152
)

// Mem is a network in memory. Every host exists; an empty one is "mem". Construct it with NewMem.
type Mem struct {
	clk clock.Clock
	mu  struct {
		sync.Mutex
		listeners map[string]*memListener
		nextPort  int
	}
}

// NewMem returns an empty network. clk is asked only for deadlines.
func NewMem(clk clock.Clock) *Mem {
	m := &Mem{clk: clk}
	m.mu.listeners = map[string]*memListener{}
	m.mu.nextPort = memFirstPort
	return m
}

// memAddr is the address of one end.
type memAddr string

func (memAddr) Network() string  { return "tcp" }
func (a memAddr) String() string { return string(a) }

// parseMem splits addr and puts Mem's host where it names none.
func parseMem(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	if host == "" {
		host = "mem"
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, &net.AddrError{Err: "invalid port", Addr: addr}
	}
	return host, port, nil
}

// Listen implements Network. Free ports are given out in order, so that a test sees the same ones in each run.
func (m *Mem) Listen(ctx context.Context, addr string) (Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	host, port, err := parseMem(addr)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	name := m.nameOf(host, port)
	for port == 0 {
		name = m.nameOf(host, m.mu.nextPort)
		m.mu.nextPort++
		if m.mu.listeners[name] == nil {
			break
		}
	}
	if m.mu.listeners[name] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: memAddr(name), Err: syscall.EADDRINUSE}
	}
	l := &memListener{network: m, addr: memAddr(name), accept: make(chan *memConn, memBacklog), done: make(chan struct{})}
	m.mu.listeners[name] = l
	return l, nil
}

func (m *Mem) nameOf(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// Dial implements Network. It blocks while the listener's backlog is full.
func (m *Mem) Dial(ctx context.Context, addr string) (Conn, error) {
	host, port, err := parseMem(addr)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	m.mu.Lock()
	to := memAddr(m.nameOf(host, port))
	l := m.mu.listeners[string(to)]
	from := memAddr(m.nameOf("mem", m.mu.nextPort))
	m.mu.nextPort++
	m.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: syscall.ECONNREFUSED}
	if l == nil {
		return nil, refused
	}
	there, back := newStream(m.clk), newStream(m.clk)
	client := &memConn{in: back, out: there, local: from, remote: to}
	server := &memConn{in: there, out: back, local: to, remote: from}
	select {
	case <-l.done:
		return nil, refused
	default:
	}
	select {
	case l.accept <- server:
		return client, nil
	case <-l.done:
		return nil, refused
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: to, Err: ctx.Err()}
	}
}

type memListener struct {
	network *Mem
	addr    memAddr
	accept  chan *memConn
	done    chan struct{}
	once    sync.Once
}

// Accept implements net.Listener.
func (l *memListener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, l.closed()
	default:
	}
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.done:
		return nil, l.closed()
	}
}

func (l *memListener) closed() error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
}

// Close implements net.Listener. Connections that nobody accepted are reset.
func (l *memListener) Close() error {
	err := l.closed()
	l.once.Do(func() {
		err = nil
		l.network.mu.Lock()
		delete(l.network.mu.listeners, string(l.addr))
		l.network.mu.Unlock()
		close(l.done)
		for {
			select {
			case c := <-l.accept:
				c.reset()
			default:
				return
			}
		}
	})
	return err
}

// Addr implements net.Listener.
func (l *memListener) Addr() net.Addr { return l.addr }
