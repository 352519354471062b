package app

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/taskmanager"
	"github.com/weir-stream/weir/internal/xsync"
)

// meshTimeout bounds how long a worker waits for the connections to its peers.
const meshTimeout = 30 * time.Second

// helloTimeout bounds the wait for what a peer says first on a connection.
const helloTimeout = 10 * time.Second

// dataPlane is what a worker process has for connections to its peers, over all deployments.
type dataPlane struct {
	network  netx.Network
	clock    clock.Clock
	listener netx.Listener
	rand     io.Reader
	life     context.Context // ends with the process's part in the job

	mu struct {
		xsync.Mutex
		// doors are where connections of a generation are taken, or wait to be: one may come before its deployment.
		doors map[uint64]*door
		// stopped are the meshes of deployments that a stop has ended; they are kept until the next one, or the end.
		stopped []*mesh
		closed  bool
	}
}

// door is where the connections of one generation come in.
type door struct {
	conns chan arrival
	open  bool // its deployment is here
}

// arrival is a connection that a peer has opened, and what it has said.
type arrival struct {
	conn  netx.Conn
	hello *exchange.Hello
}

// doorRoom is how many connections of a generation may wait before its deployment comes.
const doorRoom = 1 << 10

// linger keeps the mesh of tasks that have stopped.
func (d *dataPlane) linger(m *mesh) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.stopped = append(d.mu.stopped, m)
}

// leave gives up what lingers.
func (d *dataPlane) leave() {
	d.mu.Lock()
	was := d.mu.stopped
	d.mu.stopped = nil
	d.mu.Unlock()
	for _, m := range was {
		m.abort(errs.Canceled)
	}
}

// newDataPlane takes connections until ctx ends.
func newDataPlane(ctx context.Context, clk clock.Clock, p Processes, l netx.Listener) *dataPlane {
	d := &dataPlane{network: p.Network, clock: clk, listener: l, rand: p.Rand, life: ctx}
	d.mu.doors = map[uint64]*door{}
	go func() {
		defer d.close()
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go d.hear(conn)
		}
	}()
	return d
}

// hear reads whom a connection is for, and leads it there.
func (d *dataPlane) hear(conn netx.Conn) {
	timer := d.clock.AfterFunc(helloTimeout, func() { conn.Close() })
	defer context.AfterFunc(d.life, func() { conn.Close() })()
	hello, err := exchange.ReadHello(conn)
	timer.Stop()
	if err != nil || !d.enter(arrival{conn, hello}) {
		conn.Close() // somebody else, or a peer that will say itself what went wrong
	}
}

func (d *dataPlane) enter(a arrival) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := a.hello.Peer.Generation
	at := d.mu.doors[g]
	if at == nil {
		if d.mu.closed || len(d.mu.doors) >= doorRoom {
			return false
		}
		at = d.door(g)
		d.clock.AfterFunc(meshTimeout, func() { d.shutUnless(g, at) }) // its deployment is over, or never comes
	}
	select {
	case at.conns <- a:
		return true
	default:
		return false
	}
}

// door makes the door of a generation. The lock is held.
func (d *dataPlane) door(g uint64) *door {
	at := &door{conns: make(chan arrival, doorRoom)}
	d.mu.doors[g] = at
	return at
}

// open takes the connections of a generation until shut is called.
func (d *dataPlane) open(g uint64) (conns <-chan arrival, shut func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.mu.doors[g]
	if at == nil {
		at = d.door(g)
	}
	at.open = true
	if d.mu.closed {
		close(at.conns)
	}
	return at.conns, func() { d.shut(g) }
}

func (d *dataPlane) shut(g uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.mu.doors[g]
	delete(d.mu.doors, g)
	at.drain()
}

// shutUnless closes a door that nobody has opened.
func (d *dataPlane) shutUnless(g uint64, at *door) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.doors[g] == at && !at.open {
		delete(d.mu.doors, g)
		at.drain()
	}
}

// drain closes the connections that nobody has taken.
func (at *door) drain() {
	for {
		select {
		case a, ok := <-at.conns:
			if !ok {
				return
			}
			a.conn.Close()
		default:
			return
		}
	}
}

// close lets nobody in any more.
func (d *dataPlane) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.closed = true
	for g, at := range d.mu.doors {
		if at.open {
			close(at.conns)
		} else {
			delete(d.mu.doors, g)
			at.drain()
		}
	}
}

// mesh is the links of one worker to all the others, by their index.
type mesh struct{ links []*exchange.Link }

// connected is a link that has shaken hands, or why not.
type connected struct {
	at   int
	link *exchange.Link
	err  error
}

// newMesh connects a worker with all the others that have tasks of the deployment: of two workers the one with the lower index
// dials. It blocks until all links are there or one cannot be; then none is left. There is no mesh if there is nobody else.
func newMesh(ctx context.Context, clk clock.Clock, plane *dataPlane, d taskmanager.Deployment) (*mesh, error) {
	ctx, cancel := context.WithTimeout(ctx, meshTimeout)
	defer cancel()
	self := int(d.Deploy.Self)
	m := &mesh{links: make([]*exchange.Link, len(d.Deploy.Workers))}
	cfg := exchange.LinkConfig{
		Self:      exchange.Peer{Job: d.Job.String(), Generation: uint64(d.Generation), Name: string(d.Deploy.Workers[self].Worker)},
		Secret:    d.Deploy.Secret,
		Rand:      plane.rand,
		AfterFunc: func(d time.Duration, f func()) exchange.Timer { return clk.AfterFunc(d, f) },
	}
	results := make(chan connected, len(m.links)) // room for all: nobody waits to be heard
	var under sync.WaitGroup
	dialing := map[string]int{} // us, by name
	peers := 0
	for at, member := range d.Deploy.Members() {
		switch {
		case !member || at == self:
			continue
		case at < self:
			dialing[string(d.Deploy.Workers[at].Worker)] = at
		default:
			under.Go(func() { results <- dialPeer(ctx, plane, cfg, at, d) })
		}
		peers++
	}
	if peers == 0 {
		return nil, nil
	}
	if len(dialing) > 0 {
		conns, shut := plane.open(uint64(d.Generation))
		defer shut()
		under.Go(func() { acceptPeers(ctx, conns, cfg, dialing, results) })
	}
	var failed error
	for range peers {
		select {
		case c := <-results:
			if c.err != nil {
				failed = c.err
			} else {
				m.links[c.at] = c.link
			}
		case <-ctx.Done():
			failed = errs.Wrap(context.Cause(ctx), errs.CodePeerLost, errs.ClassFailTask, "worker "+cfg.Self.Name, "not all other workers have connected")
		}
		if failed != nil {
			cancel()
			under.Wait()
			close(results)
			for c := range results { // links that came up meanwhile
				m.links = append(m.links, c.link)
			}
			m.abort(failed)
			return nil, failed
		}
	}
	under.Wait() // they have nothing left to do
	return m, nil
}

func dialPeer(ctx context.Context, plane *dataPlane, cfg exchange.LinkConfig, at int, d taskmanager.Deployment) connected {
	peer := d.Deploy.Workers[at]
	conn, err := plane.network.Dial(ctx, peer.DataAddr)
	if err != nil {
		return connected{err: errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "worker "+string(peer.Worker), "no data connection to %s", peer.DataAddr)}
	}
	cfg.Dialed = true
	link, err := newLink(ctx, conn, cfg)
	return connected{at: at, link: link, err: err}
}

// newLink shakes hands. ctx bounds that, and has no effect on the link afterwards.
func newLink(ctx context.Context, conn netx.Conn, cfg exchange.LinkConfig) (*exchange.Link, error) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return exchange.NewLink(conn, cfg)
}

// acceptPeers takes the connections of the workers that dial this one. Those that cannot prove themselves are dropped; none of
// them holds up another.
func acceptPeers(ctx context.Context, conns <-chan arrival, cfg exchange.LinkConfig, dialing map[string]int, results chan<- connected) {
	cfg.Verify = func(p exchange.Peer) error {
		if _, ok := dialing[p.Name]; !ok {
			return errs.New(errs.CodePeerLost, errs.ClassFailTask, "data connection", "a peer called %q is not expected", p.Name)
		}
		return nil
	}
	var under sync.WaitGroup
	links := make(chan *exchange.Link)
	ctx, stop := context.WithCancel(ctx)
	defer under.Wait()
	defer stop()
	for left := len(dialing); left > 0; {
		select {
		case a, ok := <-conns:
			if !ok {
				results <- connected{err: errs.New(errs.CodePeerLost, errs.ClassFailTask, "worker "+cfg.Self.Name, "no more data connections can be taken")}
				return
			}
			under.Go(func() {
				cfg := cfg
				cfg.Heard = a.hello
				link, err := newLink(ctx, a.conn, cfg)
				if err != nil {
					a.conn.Close() // somebody else, or a peer that will say itself what went wrong
					return
				}
				select {
				case links <- link:
				case <-ctx.Done():
					link.Abort(errs.Canceled)
				}
			})
		case link := <-links:
			left--
			results <- connected{at: dialing[link.Peer().Name], link: link}
		case <-ctx.Done():
			return
		}
	}
}

// close ends the links after what was sent has arrived.
func (m *mesh) close() {
	if m == nil {
		return
	}
	for _, l := range m.links {
		if l != nil {
			_ = l.Close()
		}
	}
}

// abort ends the links at once.
func (m *mesh) abort(err error) {
	if m == nil {
		return
	}
	for _, l := range m.links {
		if l != nil {
			l.Abort(err)
		}
	}
}
