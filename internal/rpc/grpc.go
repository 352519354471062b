package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/netx"
)

// closeTimeout bounds the wait of Close for what was sent to arrive.
const closeTimeout = 2 * time.Second

// recvDepth is the number of messages read ahead of Recv.
const recvDepth = 16

// The service has one method, a stream in both directions; it needs no generated code.
const (
	serviceName = "weir.control.v1.Control"
	methodName  = "Connect"
)

var streamDesc = grpc.StreamDesc{StreamName: methodName, ServerStreams: true, ClientStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
	return srv.(*grpcListener).serve(s)
}}

// wireCodec lets gRPC carry messages in the encoding of wire.go.
type wireCodec struct{}

func (wireCodec) Name() string { return "weir-control" }

func (wireCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a control message", v)
	}
	b := AppendMessage(nil, *m)
	if len(b) > messageBytesMax {
		return nil, errs.New(errs.CodeLimit, errs.ClassFailJob, "control connection", "a message of %d bytes (%T); at most %d are sent", len(b), m.Body, messageBytesMax)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

func (wireCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*Message)
	if !ok {
		return fmt.Errorf("%T is not a control message", v)
	}
	var err error
	*m, err = ParseMessage(data.Materialize())
	return err
}

// Endpoint is what both ends of a gRPC connection need.
type Endpoint struct {
	Identity Identity
	Clock    clock.Clock
}

// grpcListener is the master's side: a gRPC server whose streams come out of Accept.
type grpcListener struct {
	server  *grpc.Server
	clock   clock.Clock
	addr    string
	accept  chan *streamConn
	closed  chan struct{}
	once    sync.Once
	serving sync.WaitGroup
}

// Serve takes control connections from l, which it closes in the end. It does not block.
func Serve(l netx.Listener, e Endpoint) (Listener, error) {
	conf, err := e.Identity.TLS(e.Clock.Now)
	if err != nil {
		return nil, err
	}
	g := &grpcListener{clock: e.Clock, addr: l.Addr().String(), accept: make(chan *streamConn), closed: make(chan struct{})}
	g.server = grpc.NewServer(grpc.Creds(credentials.NewTLS(conf)), grpc.ForceServerCodecV2(wireCodec{}),
		grpc.MaxRecvMsgSize(messageBytesMax), grpc.MaxSendMsgSize(messageBytesMax), grpc.ConnectionTimeout(20*time.Second),
		grpc.MaxConcurrentStreams(1), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second}))
	g.server.RegisterService(&grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{streamDesc}}, g)
	g.serving.Go(func() { _ = g.server.Serve(l) }) // it returns when the server is stopped
	return g, nil
}

// serve is the life of one stream, on a goroutine of gRPC's. Its return closes the stream after what was sent.
func (g *grpcListener) serve(s grpc.ServerStream) error {
	name := ""
	if p, ok := peer.FromContext(s.Context()); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
			name = info.State.PeerCertificates[0].Subject.CommonName
		}
	}
	c := newStreamConn(s, name, g.clock)
	select {
	case g.accept <- c:
	case <-g.closed:
		return nil
	case <-s.Context().Done():
		return nil
	}
	select {
	case <-c.closed:
	case <-c.read: // the worker has closed; what it sent waits for Recv, and it takes nothing any more
	case <-s.Context().Done(): // broken, or the server is stopped
	}
	close(c.finished)
	return nil
}

// Accept implements Listener.
func (g *grpcListener) Accept() (Conn, error) {
	select {
	case c := <-g.accept:
		return c, nil
	case <-g.closed:
		return nil, ErrClosed
	}
}

// Addr implements Listener.
func (g *grpcListener) Addr() string { return g.addr }

// Close implements Listener.
func (g *grpcListener) Close() error {
	g.once.Do(func() {
		close(g.closed)
		hard := g.clock.AfterFunc(closeTimeout, g.server.Stop)
		g.server.GracefulStop()
		hard.Stop()
		g.serving.Wait()
	})
	return nil
}

// Dial opens a control connection to the master at addr. ctx bounds the call only.
func Dial(ctx context.Context, network netx.Network, addr string, e Endpoint) (Conn, error) {
	conf, err := e.Identity.TLS(e.Clock.Now)
	if err != nil {
		return nil, err
	}
	conf.ServerName = MasterName
	client, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(credentials.NewTLS(conf)), grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return network.Dial(ctx, addr) }),
		grpc.WithDisableServiceConfig(), grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wireCodec{}), grpc.MaxCallRecvMsgSize(messageBytesMax), grpc.MaxCallSendMsgSize(messageBytesMax)))
	if err != nil {
		return nil, err
	}
	streamCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unbind := context.AfterFunc(ctx, cancel)
	s, err := client.NewStream(streamCtx, &streamDesc, "/"+serviceName+"/"+methodName)
	if unbind(); err != nil {
		cancel()
		client.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, errs.Wrap(err, errs.CodePeerLost, errs.ClassRetry, "control connection to "+addr, "no connection to the job's master")
	}
	c := newStreamConn(s, MasterName, e.Clock)
	c.client, c.sender = client, s
	c.cancel = cancel
	return c, nil
}

// stream is what both sides of a gRPC stream have.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// streamConn is one end of a gRPC stream. A goroutine of its own reads the stream until it ends, so that the end is noticed
// and Close can wait for it.
type streamConn struct {
	stream stream
	peer   string
	clock  clock.Clock

	in      chan Message
	recvErr error         // why in was closed; set before
	read    chan struct{} // closed when the reader has ended
	sending chan struct{} // a token is in it while Send runs
	closed  chan struct{}
	once    sync.Once

	finished chan struct{} // server: closed when the handler returns
	client   *grpc.ClientConn
	sender   grpc.ClientStream
	cancel   context.CancelFunc
}

func newStreamConn(s stream, peer string, clk clock.Clock) *streamConn {
	c := &streamConn{stream: s, peer: peer, clock: clk, in: make(chan Message, recvDepth), read: make(chan struct{}), sending: make(chan struct{}, 1),
		closed: make(chan struct{}), finished: make(chan struct{})}
	go c.readAll()
	return c
}

// readAll reads until the stream ends; after Close it throws away what comes.
func (c *streamConn) readAll() {
	defer close(c.read)
	defer close(c.in)
	for {
		var m Message
		if err := c.stream.RecvMsg(&m); err != nil {
			c.recvErr = err
			return
		}
		select {
		case c.in <- m:
		case <-c.closed:
		}
	}
}

// Send implements Conn.
func (c *streamConn) Send(m Message) error {
	c.sending <- struct{}{} // Close must not end the stream in the middle
	defer func() { <-c.sending }()
	if c.isClosed() {
		return ErrClosed
	}
	if err := c.stream.SendMsg(&m); err != nil {
		if c.isClosed() {
			return ErrClosed
		}
		if errors.Is(err, io.EOF) { // gRPC's way to say that the stream has ended
			return errBroken
		}
		return errs.Wrap(err, errs.CodePeerLost, errs.ClassFailTask, "control connection", "the connection broke")
	}
	return nil
}

// Recv implements Conn.
func (c *streamConn) Recv() (Message, error) {
	if c.isClosed() {
		return Message{}, ErrClosed
	}
	select {
	case m, ok := <-c.in:
		switch {
		case ok:
			return m, nil
		case c.isClosed():
			return Message{}, ErrClosed
		case errors.Is(c.recvErr, io.EOF):
			return Message{}, io.EOF
		}
		return Message{}, errs.Wrap(c.recvErr, errs.CodePeerLost, errs.ClassFailTask, "control connection", "the connection broke")
	case <-c.closed:
		return Message{}, ErrClosed
	}
}

func (c *streamConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Peer implements Conn.
func (c *streamConn) Peer() string { return c.peer }

// Close implements Conn.
func (c *streamConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		if c.client == nil { // the handler sees it, and gRPC delivers what was sent
			<-c.finished
			return
		}
		patience := c.clock.NewTimer(closeTimeout)
		defer patience.Stop()
		select {
		case c.sending <- struct{}{}:
			_ = c.sender.CloseSend() // its error is the reader's, too
			select {
			case <-c.read:
			case <-patience.C():
			}
			<-c.sending
		case <-patience.C(): // a Send hangs
		}
		c.cancel()
		<-c.read
		c.client.Close()
	})
	return nil
}
