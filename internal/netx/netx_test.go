package netx_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/netx"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// mustPair listens, dials, and returns the two ends and the address between them.
func mustPair(t *testing.T, network netx.Network) (client, server netx.Conn, addr string) {
	t.Helper()
	l, err := network.Listen(t.Context(), ":0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	addr = l.Addr().String()
	accepted := make(chan netx.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	client, err = network.Dial(t.Context(), addr)
	must(t, err)
	server = <-accepted
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server, addr
}

func TestConformance(t *testing.T) {
	forms := map[string]func() netx.Network{
		"real":        func() netx.Network { return netx.Real{} },
		"mem":         func() netx.Network { return netx.NewMem(clock.Real{}) },
		"faulty mem":  func() netx.Network { return netx.NewFaulty(netx.NewMem(clock.Real{}), clock.Real{}) },
		"faulty real": func() netx.Network { return netx.NewFaulty(netx.Real{}, clock.Real{}) },
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Run("stream", func(t *testing.T) { conformStream(t, form()) })
			t.Run("close", func(t *testing.T) { conformClose(t, form()) })
			t.Run("deadline", func(t *testing.T) { conformDeadline(t, form()) })
			t.Run("listen", func(t *testing.T) { conformListen(t, form()) })
		})
	}
}

// More bytes than any buffer holds go both ways at once and arrive in order.
func conformStream(t *testing.T, network netx.Network) {
	client, server, _ := mustPair(t, network)
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(i * 2654435761 >> 13)
	}
	errs := make(chan error, 4)
	for _, way := range [][2]netx.Conn{{client, server}, {server, client}} {
		go func() {
			for rest := sent; len(rest) > 0; {
				n := min(len(rest), 70_001)
				if _, err := way[0].Write(rest[:n]); err != nil {
					errs <- err
					return
				}
				rest = rest[n:]
			}
			errs <- nil
		}()
		go func() {
			got := make([]byte, len(sent))
			_, err := io.ReadFull(way[1], got)
			if err == nil && !bytes.Equal(got, sent) {
				err = errors.New("other bytes arrived")
			}
			errs <- err
		}()
	}
	for range 4 {
		must(t, <-errs)
	}
}

func conformClose(t *testing.T, network netx.Network) {
	client, server, _ := mustPair(t, network)
	_, err := client.Write([]byte("last words"))
	must(t, err)
	must(t, client.Close())
	got, err := io.ReadAll(server)
	if string(got) != "last words" || err != nil {
		t.Errorf("after the peer's Close: %q, %v", got, err)
	}
	_, err = client.Read(make([]byte, 1))
	wantErr(t, "Read after Close", err, netx.ErrClosed)
	_, err = client.Write([]byte("x"))
	wantErr(t, "Write after Close", err, netx.ErrClosed)
	wantErr(t, "second Close", client.Close(), netx.ErrClosed)

	done := make(chan error, 1)
	client, server, _ = mustPair(t, network)
	go func() {
		_, err := client.Read(make([]byte, 1))
		done <- err
	}()
	must(t, client.Close())
	wantErr(t, "Read that waits at Close", <-done, netx.ErrClosed)
	for err = nil; err == nil; { // the peer's reset may need one round
		_, err = server.Write(make([]byte, 1<<16))
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Write to a closed peer: %v", err)
	}
}

func conformDeadline(t *testing.T, network netx.Network) {
	client, server, _ := mustPair(t, network)
	must(t, client.SetReadDeadline(time.Now().Add(-time.Second)))
	_, err := client.Read(make([]byte, 1))
	wantErr(t, "Read after the deadline", err, os.ErrDeadlineExceeded)
	done := make(chan error, 1)
	must(t, client.SetReadDeadline(time.Time{}))
	go func() {
		_, err := client.Read(make([]byte, 1))
		done <- err
	}()
	must(t, client.SetReadDeadline(time.Now().Add(time.Millisecond)))
	wantErr(t, "Read that waits at the deadline", <-done, os.ErrDeadlineExceeded)
	must(t, client.SetDeadline(time.Now().Add(10*time.Millisecond)))
	for err = nil; err == nil; { // nobody reads: the buffers fill
		_, err = client.Write(make([]byte, 1<<16))
	}
	wantErr(t, "Write that waits at the deadline", err, os.ErrDeadlineExceeded)
	must(t, client.SetDeadline(time.Time{}))
	_, err = server.Write([]byte("x"))
	must(t, err)
	_, err = client.Read(make([]byte, 1))
	must(t, err)
}

func conformListen(t *testing.T, network netx.Network) {
	l, err := network.Listen(t.Context(), ":0")
	must(t, err)
	addr := l.Addr().String()
	_, err = network.Listen(t.Context(), addr)
	wantErr(t, "Listen on a taken port", err, syscall.EADDRINUSE)
	done := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		done <- err
	}()
	must(t, l.Close())
	wantErr(t, "Accept that waits at Close", <-done, netx.ErrClosed)
	_, err = network.Dial(t.Context(), addr)
	wantErr(t, "Dial to a closed listener", err, syscall.ECONNREFUSED)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := network.Dial(ctx, addr); err == nil {
		t.Error("Dial with a cancelled context succeeded")
	}
	for _, bad := range []string{"", "host", "host:port:more", ":-1", ":99999"} {
		if _, err := network.Listen(t.Context(), bad); err == nil {
			t.Errorf("Listen(%q) succeeded", bad)
		}
	}
}

// In a bubble virtual time goes on while both ends wait on the network.
func TestMemWaitsDurably(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, _ := mustPair(t, netx.NewMem(clock.Real{}))
		began := time.Now()
		must(t, client.SetReadDeadline(began.Add(time.Hour)))
		_, err := client.Read(make([]byte, 1))
		wantErr(t, "Read", err, os.ErrDeadlineExceeded)
		must(t, server.SetWriteDeadline(time.Now().Add(time.Hour)))
		n, err := server.Write(make([]byte, 1<<20))
		wantErr(t, "Write", err, os.ErrDeadlineExceeded)
		if n != 64<<10 || time.Since(began) != 2*time.Hour {
			t.Errorf("%d bytes in %v", n, time.Since(began))
		}
	})
}

func TestDeadlineFollowsTheClock(t *testing.T) {
	v := clock.NewVirtual(time.Date(2013, 1, 1, 0, 0, 0, 0, time.UTC))
	client, _, _ := mustPair(t, netx.NewMem(v))
	must(t, client.SetReadDeadline(v.Now().Add(time.Minute)))
	done := make(chan error, 1)
	go func() {
		_, err := client.Read(make([]byte, 1))
		done <- err
	}()
	v.Advance(time.Minute)
	wantErr(t, "Read", <-done, os.ErrDeadlineExceeded)
	must(t, client.Close())
	if n := v.Pending(); n != 0 {
		t.Errorf("%d timers left", n)
	}
}

func TestCut(t *testing.T) {
	for name, inner := range map[string]netx.Network{"mem": netx.NewMem(clock.Real{}), "real": netx.Real{}} {
		t.Run(name, func(t *testing.T) {
			f := netx.NewFaulty(inner, clock.Real{})
			client, server, addr := mustPair(t, f)
			done := make(chan error, 1)
			go func() {
				_, err := client.Read(make([]byte, 1))
				done <- err
			}()
			f.Cut(addr)
			wantErr(t, "the client's Read", <-done, syscall.ECONNRESET)
			_, err := server.Read(make([]byte, 1))
			wantErr(t, "the server's Read", err, syscall.ECONNRESET)
			_, err = server.Write([]byte("x"))
			wantErr(t, "the server's Write", err, syscall.ECONNRESET)
			_, err = f.Dial(t.Context(), addr)
			wantErr(t, "Dial", err, syscall.ECONNREFUSED)
			f.Mend(addr)
			again, err := f.Dial(t.Context(), addr)
			must(t, err)
			must(t, again.Close())
		})
	}
}

func TestStallAndDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := netx.NewFaulty(netx.NewMem(clock.Real{}), clock.Real{})
		client, server, addr := mustPair(t, f)
		f.Stall(addr)
		must(t, client.SetWriteDeadline(time.Now().Add(time.Second)))
		_, err := client.Write([]byte("lost"))
		wantErr(t, "Write under Stall", err, os.ErrDeadlineExceeded)
		must(t, client.SetWriteDeadline(time.Time{}))
		began := time.Now()
		go func() {
			if _, err := client.Write([]byte("held")); err != nil {
				t.Error(err)
			}
		}()
		time.AfterFunc(time.Minute, func() { f.Mend(addr) })
		got := make([]byte, 4)
		_, err = io.ReadFull(server, got)
		must(t, err)
		if string(got) != "held" || time.Since(began) != time.Minute {
			t.Errorf("%q after %v", got, time.Since(began))
		}
		f.Delay(addr, 250*time.Millisecond)
		began = time.Now()
		_, err = server.Write([]byte("slow"))
		must(t, err)
		if d := time.Since(began); d != 250*time.Millisecond {
			t.Errorf("the write took %v", d)
		}
		f.Stall(addr)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = f.Dial(ctx, addr)
		wantErr(t, "Dial under Stall", err, context.DeadlineExceeded)
		go func() {
			time.Sleep(time.Second)
			client.Close()
		}()
		_, err = client.Write([]byte("x"))
		wantErr(t, "Write that waits at Close", err, netx.ErrClosed)
	})
}
