package exchange_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/errs"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/netx"
)

// remote runs a test on every form that has a link.
func remote(t *testing.T, test func(t *testing.T, f form)) {
	for _, f := range forms[1:] {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

// wants fails the test unless err has the code and contains all the words.
func wants(t *testing.T, err error, code errs.Code, words ...string) {
	t.Helper()
	if errs.CodeOf(err) != code {
		t.Errorf("got %v, want code %s", err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not contain %q", err, w)
		}
	}
}

// drain polls until an error comes, and returns it.
func drain(in *exchange.Inbox) error {
	for {
		it, ok, err := in.Poll()
		if err != nil {
			return err
		}
		if it.Event.Batch != nil {
			it.Event.Batch.Release()
		}
		if !ok {
			if err := in.Wait(exchange.Never); err != nil {
				return err
			}
		}
	}
}

func TestBrokenConnectionFailsBothEnds(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		for _, who := range []string{"producer", "consumer"} {
			w, from := newWires(t, f, 2, nil), newInbox("the producer", 0)
			s, done := w.sender(t, 0, from), w.sender(t, 1, from)
			send(t, done, event.End())
			sent := make(chan error, 1)
			go func() {
				for i := int64(0); ; i++ {
					if err := s.Send(w.src.event(0, i, 1)); err != nil {
						sent <- err
						return
					}
				}
			}()
			await(t, "a full channel", func() bool { return w.to.Queued(0) == 3 })
			if who == "producer" {
				w.dialed.Close()
			} else {
				w.accepted.Close()
			}
			wants(t, <-sent, errs.CodePeerLost, "channel 100 from the producer to downstairs")
			wants(t, drain(w.to), errs.CodePeerLost, "channel 0 of consumer from upstairs")
		}
	})
}

func TestFinishedChannelDoesNotCareForTheConnection(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1), event.End())
		await(t, "the batch", func() bool { return w.to.Queued(0) == 1 })
		transcript(t, w.to, 0, "1", "end")
		w.dialed.Close()
		<-w.consumer.Done()
		if _, _, err := w.to.Poll(); err != nil {
			t.Error(err)
		}
	})
}

// bubble returns a link over a network in memory whose faults the test controls, inside a synctest bubble.
func bubble(t *testing.T) (producer, consumer *exchange.Link, faulty *netx.Faulty, addr string) {
	faulty = netx.NewFaulty(netx.NewMem(clock.Real{}), clock.Real{})
	listener, err := faulty.Listen(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	addr = listener.Addr().String()
	got := make(chan net.Conn, 1)
	go func() {
		c, _ := listener.Accept()
		got <- c
	}()
	dialed, err := faulty.Dial(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	producer, consumer = newLinks(t, dialed, <-got, nil)
	listener.Close()
	return producer, consumer, faulty, addr
}

func TestSilentPeerIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		producer, consumer, faulty, addr := bubble(t)
		src := &source{pool: event.NewPool[row](16)}
		in, from := newInbox("consumer", 1), newInbox("producer", 0)
		if err := consumer.Receive(1, in, 0, codec{src}); err != nil {
			t.Fatal(err)
		}
		s := producer.Sender(1, codec{src}, from)
		send(t, s, src.event(0, 1, 1))
		time.Sleep(time.Hour) // nothing is said but that both live
		transcript(t, in, 0, "1")
		if producer.Err() != nil || consumer.Err() != nil {
			t.Fatal(producer.Err(), consumer.Err())
		}
		began := time.Now()
		faulty.Stall(addr)
		sent := make(chan error, 1)
		go func() {
			for i := int64(0); ; i++ {
				if err := s.Send(src.event(0, i, 1)); err != nil {
					sent <- err
					return
				}
			}
		}()
		got, put := drain(in), <-sent
		wants(t, got, errs.CodePeerLost, "upstairs")
		wants(t, put, errs.CodePeerLost, "downstairs")
		// One end gives up first, and its hanging up reaches the other even here.
		if !strings.Contains(got.Error()+put.Error(), "nothing was heard of it for 10s") {
			t.Error(got, put)
		}
		if d := time.Since(began); d < 8*time.Second || d > 14*time.Second {
			t.Errorf("noticed after %v", d)
		}
		<-producer.Done()
		<-consumer.Done()
		in.Close()
	})
}

func TestCloseOfAStalledLinkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		producer, consumer, faulty, addr := bubble(t)
		faulty.Stall(addr)
		began := time.Now()
		producer.Close()
		if d := time.Since(began); d != 5*time.Second {
			t.Errorf("Close took %v", d)
		}
		consumer.Abort(errors.New("test"))
		<-consumer.Done()
	})
}

func TestHandshakeRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		change     func(dialer *exchange.LinkConfig)
		code       errs.Code
		here, peer string
	}{
		{"another secret", func(c *exchange.LinkConfig) { c.Secret = []byte("guess") }, errs.CodeWire, "", "its proof is wrong"},
		{"another job", func(c *exchange.LinkConfig) { c.Self.Job = "x" }, errs.CodeWire, `job "job" generation 7`, `job "x" generation 7`},
		{"an earlier generation", func(c *exchange.LinkConfig) { c.Self.Generation = 6 }, errs.CodeWire, "generation 7", "generation 6"},
	} {
		a, b := net.Pipe()
		config := linkConfig("upstairs", true)
		c.change(&config)
		got := make(chan error, 1)
		go func() {
			_, err := exchange.NewLink(b, linkConfig("downstairs", false))
			got <- err
		}()
		_, err := exchange.NewLink(a, config)
		if err == nil || !strings.Contains(err.Error(), c.here) {
			t.Errorf("%s: dialer: %v", c.name, err)
		}
		err = <-got
		wants(t, err, c.code, c.peer)
	}
}

func TestHandshakeRefusesByIdentity(t *testing.T) {
	a, b := net.Pipe()
	config := linkConfig("downstairs", false)
	config.Verify = func(p exchange.Peer) error { return errors.New("who is " + p.Name + "?") }
	got := make(chan error, 1)
	go func() {
		_, err := exchange.NewLink(b, config)
		got <- err
	}()
	if l, err := exchange.NewLink(a, linkConfig("upstairs", true)); err == nil {
		<-l.Done() // the dialer learns of it when the connection closes
	}
	if err := <-got; err == nil || err.Error() != "who is upstairs?" {
		t.Error(err)
	}
}

func TestHandshakeWithStrangers(t *testing.T) {
	for _, c := range []struct{ name, sent, want string }{
		{"a web client", "GET / HTTP/1.1\r\n\r\n", `no exchange of Weir: it began with "GET / HTTP/1"`},
		{"another version", "WEIREXCH\x09\x00\x00\x00", "speaks version 9"},
		{"a hello too long", "WEIREXCH\x02\x00\xff\xff", "a hello of 65535 bytes"},
		{"a hello that is none", "WEIREXCH\x02\x00\x02\x00\x05j", "the peer's hello: job"},
		{"one who hangs up", "WEIR", `the peer sent "WEIR" and no more`},
	} {
		a, b := net.Pipe()
		go func() {
			a.Write([]byte(c.sent))
			a.Close()
		}()
		if _, err := exchange.NewLink(b, linkConfig("downstairs", false)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		_, b := net.Pipe()
		began := time.Now()
		if _, err := exchange.NewLink(b, linkConfig("downstairs", false)); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("one who says nothing: %v after %v", err, time.Since(began))
		}
	})
}

func TestCloseDeliversWhatWasSent(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1), event.Watermark(1), w.src.event(0, 2, 1), event.End())
		if err := w.producer.Close(); err != nil {
			t.Error(err)
		}
		<-w.consumer.Done()
		if err := w.consumer.Err(); err != nil {
			t.Error(err)
		}
		transcript(t, w.to, 0, "1", "w1", "2", "end")
	})
}

func TestCloseBeforeTheEndFailsTheChannel(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 1, 1))
		if err := w.producer.Close(); err != nil {
			t.Error(err)
		}
		wants(t, drain(w.to), errs.CodePeerLost, "channel 0 of consumer from upstairs", "goodbye before the end")
		wants(t, s.Send(w.src.event(0, 2, 1)), errs.CodePeerLost, "closed")
	})
}

func TestSendWaitsForTheConsumerToStart(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		s := w.producer.Sender(1, codec{w.src}, from)
		go func() {
			for _, ev := range []event.Event{event.Watermark(1), w.src.event(0, 2, 1), event.End()} {
				if err := s.Send(ev); err != nil {
					t.Error(err)
				}
			}
		}()
		blocked(t, from)
		if err := w.consumer.Receive(1, w.to, 0, codec{w.src}); err != nil {
			t.Fatal(err)
		}
		transcript(t, w.to, 0, "w1", "2", "end")
	})
}

func TestReceiveForATaskThatIsGone(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		w.to.Cancel(nil)
		s := w.sender(t, 0, from)
		if err := s.Send(event.Watermark(1)); !errs.IsCanceled(err) {
			t.Error(err)
		}
	})
}

func TestRowsTooLargeForAFrame(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, func(c *exchange.LinkConfig) { c.MaxFrame = 24 * 3 }), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		b := w.src.batch(0, 0, 16)
		b.Live = []int32{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15}
		go func() {
			for _, ev := range []event.Event{event.OfBatch(b), w.src.event(0, 16, 1), event.End()} {
				if err := s.Send(ev); err != nil {
					t.Error(err)
				}
			}
		}()
		var got []int64
		for {
			it := next(t, w.to)
			if it.Event.Kind == event.KindEnd {
				break
			}
			b := it.Event.Batch.(*counted)
			if b.Len() > 3 {
				t.Errorf("a batch of %d rows in a frame for 3", b.Len())
			}
			for _, r := range b.Rows {
				got = append(got, r.N)
			}
			b.Release()
		}
		want := []int64{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 16}
		if len(got) != len(want) {
			t.Fatalf("got %v", got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("got %v", got)
			}
		}
	})
	w, from := newWires(t, forms[1], 1, func(c *exchange.LinkConfig) { c.MaxFrame = 20 }), newInbox("producer", 0)
	s := w.sender(t, 0, from)
	wants(t, s.Send(w.src.event(0, 0, 3)), errs.CodeLimit, "one row takes 24 bytes", "the 20 of a frame")
}

// broken is a codec that cannot read what it wrote.
type broken struct{ codec }

func (broken) Decode([]byte) (event.Batch, error) { return nil, errors.New("rubbish") }

func TestUndecodableBatchFailsItsConsumerOnly(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, nil), newInbox("producer", 0)
		good := w.sender(t, 0, from)
		other := newInbox("other", 1)
		if err := w.consumer.Receive(7, other, 0, broken{codec{w.src}}); err != nil {
			t.Fatal(err)
		}
		bad := w.producer.Sender(7, codec{w.src}, newInbox("producer 2", 0))
		send(t, bad, w.src.event(0, 1, 2))
		wants(t, drain(other), errs.CodeCorrupt, "channel 0 of other from upstairs", "48 bytes could not be decoded", "rubbish")
		await(t, "the producer to learn of it", func() bool { return errs.IsCanceled(bad.Send(event.Watermark(1))) })
		send(t, good, event.Watermark(3))
		transcript(t, w.to, 0, "w3")
	})
}

func TestCompressedRowsArrive(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, func(c *exchange.LinkConfig) { c.Compression = exchange.CompressAlways }), newInbox("producer", 0)
		w.src.pool = event.NewPool[row](200)
		s := w.sender(t, 0, from)
		send(t, s, w.src.event(0, 0, 150), w.src.event(0, 150, 2), event.End())
		for want := int64(0); ; {
			it := next(t, w.to)
			if it.Event.Kind == event.KindEnd {
				if want != 152 {
					t.Errorf("%d rows", want)
				}
				break
			}
			for _, r := range it.Event.Batch.(*counted).Rows {
				if r.N != want {
					t.Fatalf("row %d in place of %d", r.N, want)
				}
				want++
			}
			it.Event.Batch.Release()
		}
	})
}

// A writer that cannot get rid of its bytes holds up producers although they have credit, and they go on afterwards.
func TestLinkQueueIsBounded(t *testing.T) {
	remote(t, func(t *testing.T, f form) {
		w, from := newWires(t, f, 1, func(c *exchange.LinkConfig) { c.MaxQueued = 100 }), newInbox("producer", 0)
		s := w.sender(t, 0, from)
		go func() {
			for i := range int64(500) {
				for !s.Available() {
					if err := from.WaitOutput(exchange.Never); err != nil {
						t.Error(err)
						return
					}
				}
				if err := s.Send(w.src.event(0, i, 16)); err != nil {
					t.Error(err)
					return
				}
				if err := s.Send(event.Watermark(i)); err != nil {
					t.Error(err)
				}
			}
			s.Send(event.End())
		}()
		for n := 0; ; {
			it := next(t, w.to)
			switch it.Event.Kind {
			case event.KindBatch:
				n++
				it.Event.Batch.Release()
			case event.KindEnd:
				if n != 500 {
					t.Errorf("%d batches", n)
				}
				return
			}
		}
	})
}
