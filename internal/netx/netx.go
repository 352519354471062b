package netx

import (
	"context"
	"net"
)

// Conn and Listener are those of package net, so that code outside of this package need not import it for their sake.
type (
	Conn     = net.Conn
	Listener = net.Listener
)

// ErrClosed is what the use of a closed connection or listener answers to under errors.Is.
var ErrClosed = net.ErrClosed

// Network connects addresses of the form "host:port". All methods may be called from any goroutine.
type Network interface {
	// Listen takes connections to addr. Port 0 takes a free one, an empty host the form's own; Listener.Addr says
	// which. ctx bounds only the call itself.
	Listen(ctx context.Context, addr string) (Listener, error)
	// Dial connects to addr. It blocks until the connection stands, is refused, or ctx is done; ctx has no effect on
	// the connection afterwards.
	Dial(ctx context.Context, addr string) (Conn, error)
}

// Real is TCP. The zero value is ready.
type Real struct{}

// Listen implements Network. An empty host is 127.0.0.1: who wants to be reached from elsewhere says so.
func (Real) Listen(ctx context.Context, addr string) (Listener, error) {
	addr, err := loopback(addr)
	if err != nil {
		return nil, err
	}
	var l net.ListenConfig
	return l.Listen(ctx, "tcp", addr)
}

// Dial implements Network.
func (Real) Dial(ctx context.Context, addr string) (Conn, error) {
	addr, err := loopback(addr)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// loopback puts the loopback address where addr names no host.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}
