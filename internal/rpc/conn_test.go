package rpc_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/rpc"
	"github.com/weir-stream/weir/internal/rpc/rpctest"
)

func TestPair(t *testing.T) {
	rpctest.TestConn(t, func(t *testing.T) (rpc.Conn, rpc.Conn) { return rpc.Pair() })
}

func TestPairBreaks(t *testing.T) {
	a, b := rpc.Pair()
	rpc.Break(a)
	for _, c := range []rpc.Conn{a, b} {
		if _, err := c.Recv(); err == nil || errors.Is(err, io.EOF) || errors.Is(err, rpc.ErrClosed) {
			t.Errorf("Recv: %v", err)
		}
		if err := c.Send(rpc.Message{Body: &rpc.Start{}}); err == nil {
			t.Error("Send into a broken connection")
		}
	}
}

// cluster is one secret and one listener.
type cluster struct {
	network   netx.Network
	authority *rpc.Authority
	listener  rpc.Listener
}

func newCluster(t testing.TB, network netx.Network) *cluster {
	t.Helper()
	a, err := rpc.NewAuthority(rand.Reader, clock.Real{}.Now())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := network.Listen(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := rpc.Serve(raw, mustIssue(t, a, rpc.MasterName))
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{network, a, l}
}

func mustIssue(t testing.TB, a *rpc.Authority, name string) rpc.Endpoint {
	t.Helper()
	id, err := a.Issue(name)
	if err != nil {
		t.Fatal(err)
	}
	return rpc.Endpoint{Identity: id, Clock: clock.Real{}}
}

func (c *cluster) pair(t testing.TB) (master, worker rpc.Conn) {
	t.Helper()
	worker, err := rpc.Dial(t.Context(), c.network, c.listener.Addr(), mustIssue(t, c.authority, "w1"))
	if err != nil {
		t.Fatal(err)
	}
	master, err = c.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return master, worker
}

func TestGRPC(t *testing.T) {
	for _, n := range []struct {
		name    string
		network func() netx.Network
	}{
		{"tcp", func() netx.Network { return netx.Real{} }},
		{"memory", func() netx.Network { return netx.NewMem(clock.Real{}) }},
	} {
		t.Run(n.name, func(t *testing.T) {
			c := newCluster(t, n.network())
			defer c.listener.Close()
			rpctest.TestConn(t, func(t *testing.T) (rpc.Conn, rpc.Conn) { return c.pair(t) })
		})
	}
}

// TestGRPCInBubble shows that the whole of it, TLS included, runs on virtual time: an hour passes between two messages.
func TestGRPCInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, netx.NewMem(clock.Real{}))
		master, worker := c.pair(t)
		began := time.Now()
		go func() {
			time.Sleep(time.Hour)
			worker.Send(rpc.Message{Body: &rpc.Heartbeat{}})
		}()
		if m, err := master.Recv(); err != nil {
			t.Errorf("%v %v", m, err)
		}
		if got := time.Since(began); got < time.Hour || got > time.Hour+time.Second {
			t.Errorf("%v passed", got)
		}
		worker.Close()
		master.Close()
		c.listener.Close()
	})
}

func TestGRPCBreaks(t *testing.T) {
	faulty := netx.NewFaulty(netx.Real{}, clock.Real{})
	c := newCluster(t, faulty)
	defer c.listener.Close()
	master, worker := c.pair(t)
	defer master.Close()
	defer worker.Close()
	if master.Peer() != "w1" || worker.Peer() != rpc.MasterName {
		t.Errorf("peers %q and %q", master.Peer(), worker.Peer())
	}
	faulty.Cut(c.listener.Addr())
	for _, conn := range []rpc.Conn{master, worker} {
		if _, err := conn.Recv(); err == nil || errors.Is(err, io.EOF) || errors.Is(err, rpc.ErrClosed) {
			t.Errorf("Recv: %v", err)
		}
	}
}

// TestStrangers: whoever does not hold the cluster's secret gets in neither way.
func TestStrangers(t *testing.T) {
	c, other := newCluster(t, netx.Real{}), newCluster(t, netx.Real{})
	defer c.listener.Close()
	defer other.listener.Close()
	refused := func(name, addr string, e rpc.Endpoint) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		conn, err := rpc.Dial(ctx, c.network, addr, e)
		if err == nil {
			_, err = conn.Recv()
			conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "tls") && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused("a worker of another cluster", c.listener.Addr(), mustIssue(t, other.authority, "w1"))
	// A worker that plays the master: it holds a good certificate, but not the master's name.
	raw, err := c.network.Listen(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	fake, err := rpc.Serve(raw, mustIssue(t, c.authority, "w2"))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	refused("a master that is none", fake.Addr(), mustIssue(t, c.authority, "w1"))
}

func TestIdentity(t *testing.T) {
	a, err := rpc.NewAuthority(rand.Reader, clock.Real{}.Now())
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.Issue("w1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := id.Encode()
	if err != nil || strings.Contains(string(b), "\n") {
		t.Fatalf("%q, %v", b, err)
	}
	if back, err := rpc.ParseIdentity(b); err != nil || string(back.Key) != string(id.Key) {
		t.Errorf("%v, %v", back, err)
	}
	if _, err := rpc.ParseIdentity([]byte("rubbish")); err == nil {
		t.Error("rubbish is an identity")
	}
}

func TestOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := rpc.Pair()
		o := rpc.NewOutbox(a, 1000)
		ran := make(chan error, 1)
		go func() { ran <- o.Run(t.Context()) }()
		put := 0
		for ; o.Put(rpc.Message{Body: &rpc.Side{Seq: uint64(put)}}) == nil; put++ { // nobody receives
			runtime.Gosched()
			if put > 5000 {
				t.Fatal("the outbox knows no bound")
			}
		}
		if put < 1000 {
			t.Errorf("it gave up after %d messages", put)
		}
		go func() {
			for {
				if _, err := b.Recv(); err != nil {
					return
				}
			}
		}()
		if err := <-ran; err == nil {
			t.Error("a peer that is given up must be reported")
		}
		a.Close()
		b.Close()

		c, d := rpc.Pair()
		o = rpc.NewOutbox(c, 0)
		for i := range 500 {
			o.Put(rpc.Message{Body: &rpc.Side{Seq: uint64(i)}})
		}
		go func() { ran <- o.Run(t.Context()) }()
		go func() {
			o.Close(t.Context())
			c.Close()
		}()
		for i := range 500 {
			if m, err := d.Recv(); err != nil || m.Body.(*rpc.Side).Seq != uint64(i) {
				t.Fatalf("message %d: %v, %v", i, m, err)
			}
		}
		if err := <-ran; err != nil {
			t.Error(err)
		}
		d.Close()
	})
}

// TestOutboxLatest: what waits is replaced, what is on its way is not, and other messages keep their places.
func TestOutboxLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := rpc.Pair()
		o := rpc.NewOutbox(a, 0)
		op := func(i int) rpc.OpRef { return rpc.OpRef{Op: int32(i)} }
		progress := func(of int, watermark int64) {
			o.PutLatest(op(of), rpc.Message{Body: &rpc.SourceProgress{Source: op(of), Watermark: watermark}})
		}
		progress(1, 10)
		progress(2, 20)
		o.Put(rpc.Message{Body: &rpc.Heartbeat{}})
		progress(1, 11)
		progress(1, 12)
		go o.Run(t.Context())
		synctest.Wait() // all of it is on its way
		progress(1, 13)
		go func() {
			o.Close(t.Context())
			a.Close()
		}()
		var got []string
		for {
			m, err := b.Recv()
			if err != nil {
				break
			}
			if p, ok := m.Body.(*rpc.SourceProgress); ok {
				got = append(got, fmt.Sprintf("%d:%d", p.Source.Op, p.Watermark))
			} else {
				got = append(got, "heartbeat")
			}
		}
		if want := "1:12 2:20 heartbeat 1:13"; strings.Join(got, " ") != want {
			t.Errorf("got %v, want %s", got, want)
		}
		b.Close()
	})
}
