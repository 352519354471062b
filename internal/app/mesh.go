package app

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/taskmanager"
)

// meshTimeout bounds how long a worker waits for the connections to its peers.
const meshTimeout = 30 * time.Second

// dataPlane is what a worker process has for connections to its peers, over all deployments.
type dataPlane struct {
	network  netx.Network
	listener netx.Listener
	rand     io.Reader
	// conns are those that peers have opened; each deployment takes those that are meant for it. One may come before the
	// deployment that it belongs to.
	conns chan netx.Conn
	// stopped is the mesh of a deployment that a stop has ended; it is kept until the next one, or the end.
	stopped atomic.Pointer[mesh]
}

// linger keeps the mesh of tasks that have stopped, and gives up the one before it. nil only does the latter.
func (d *dataPlane) linger(m *mesh) { d.stopped.Swap(m).abort(errs.Canceled) }

// newDataPlane takes connections until ctx ends.
func newDataPlane(ctx context.Context, p Processes, l netx.Listener) *dataPlane {
	d := &dataPlane{network: p.Network, listener: l, rand: p.Rand, conns: make(chan netx.Conn)}
	go func() {
		defer close(d.conns)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			select {
			case d.conns <- conn:
			case <-ctx.Done():
				conn.Close()
				return
			}
		}
	}()
	return d
}

// mesh is the links of one worker to all the others, by their index.
type mesh struct{ links []*exchange.Link }

// connected is a link that has shaken hands, or why not.
type connected struct {
	at   int
	link *exchange.Link
	err  error
}

// newMesh connects a worker with all the others: of two workers the one with the lower index dials. It blocks until all
// links are there or one cannot be; then none is left.
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
	for at := self + 1; at < len(m.links); at++ {
		under.Go(func() { results <- dialPeer(ctx, plane, cfg, at, d) })
	}
	if self > 0 {
		under.Go(func() { acceptPeers(ctx, plane, cfg, self, d, results) })
	}
	var failed error
	for range len(m.links) - 1 {
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

// acceptPeers takes the connections of all workers with a lower index. Connections of others, also of the same workers for an
// earlier deployment, are dropped by the handshake; none of them holds up another.
func acceptPeers(ctx context.Context, plane *dataPlane, cfg exchange.LinkConfig, self int, d taskmanager.Deployment, results chan<- connected) {
	index := map[string]int{}
	for i, w := range d.Deploy.Workers[:self] {
		index[string(w.Worker)] = i
	}
	cfg.Verify = func(p exchange.Peer) error {
		if _, ok := index[p.Name]; !ok {
			return errs.New(errs.CodePeerLost, errs.ClassFailTask, "data connection", "a peer called %q is not expected", p.Name)
		}
		return nil
	}
	var under sync.WaitGroup
	links := make(chan *exchange.Link)
	ctx, stop := context.WithCancel(ctx)
	defer under.Wait()
	defer stop()
	for left := self; left > 0; {
		select {
		case conn, ok := <-plane.conns:
			if !ok {
				results <- connected{err: errs.New(errs.CodePeerLost, errs.ClassFailTask, "worker "+cfg.Self.Name, "no more data connections can be taken")}
				return
			}
			under.Go(func() {
				link, err := newLink(ctx, conn, cfg)
				if err != nil {
					conn.Close() // somebody else, or a peer that will say itself what went wrong
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
			results <- connected{at: index[link.Peer().Name], link: link}
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
