package exchange_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/netx"
)

// counted is a batch that counts those not released yet. The suite demands that none is left at the end of a test.
type counted struct {
	*event.Records[row]
	live *atomic.Int64
}

func (c *counted) New() event.Batch {
	c.live.Add(1)
	return &counted{c.Records.New().(*event.Records[row]), c.live}
}

func (c *counted) CopyTo(dst event.Batch, rows []int32) int {
	return c.Records.CopyTo(dst.(*counted).Records, rows)
}

func (c *counted) Release() {
	c.live.Add(-1)
	c.Records.Release()
	c.Records = nil
}

// source makes batches and counts them.
type source struct {
	pool *event.Pool[row]
	live atomic.Int64
}

func newSource(t *testing.T) *source {
	s := &source{pool: event.NewPool[row](16)}
	t.Cleanup(func() {
		if n := s.live.Load(); n != 0 {
			t.Errorf("%d batches were not released", n)
		}
	})
	return s
}

func (s *source) empty() *counted {
	s.live.Add(1)
	return &counted{s.pool.Get(), &s.live}
}

// batch returns n rows numbered from first, each at the time of its number.
func (s *source) batch(from, first int64, n int) *counted {
	b := s.empty()
	for i := range int64(n) {
		b.Append(row{from, first + i}, first+i)
	}
	return b
}

// event is batch as an event.
func (s *source) event(from, first int64, n int) event.Event {
	return event.OfBatch(s.batch(from, first, n))
}

// codec writes a row as 24 bytes: sender, number, time.
type codec struct{ source *source }

func (c codec) Encode(dst []byte, b event.Batch) ([]byte, error) {
	r := b.(*counted)
	put := func(i int) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Rows[i].From))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Rows[i].N))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Times[i]))
	}
	if r.Live == nil {
		for i := range r.Rows {
			put(i)
		}
	}
	for _, i := range r.Live {
		put(int(i))
	}
	return dst, nil
}

func (c codec) Decode(src []byte) (event.Batch, error) {
	if len(src)%24 != 0 || len(src)/24 > c.source.pool.Cap() {
		return nil, fmt.Errorf("%d bytes are no rows", len(src))
	}
	b := c.source.empty()
	for ; len(src) > 0; src = src[24:] {
		b.Append(row{int64(binary.LittleEndian.Uint64(src)), int64(binary.LittleEndian.Uint64(src[8:]))},
			int64(binary.LittleEndian.Uint64(src[16:])))
	}
	return b, nil
}

// form is one way to connect two tasks.
type form struct {
	name string
	// dial returns the two ends of a connection; nil for tasks in one process.
	dial func(t *testing.T) (net.Conn, net.Conn)
}

var forms = []form{
	{"local", nil},
	{"pipe", func(*testing.T) (net.Conn, net.Conn) { return net.Pipe() }},
	{"mem", func(t *testing.T) (net.Conn, net.Conn) { return connect(t, netx.NewMem(clock.Real{})) }},
	{"tcp", func(t *testing.T) (net.Conn, net.Conn) { return connect(t, netx.Real{}) }},
}

// connect opens a connection over a network.
func connect(t testing.TB, network netx.Network) (net.Conn, net.Conn) {
	t.Helper()
	listener, err := network.Listen(context.Background(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	type accepted struct {
		conn net.Conn
		err  error
	}
	got := make(chan accepted, 1)
	go func() {
		c, err := listener.Accept()
		got <- accepted{c, err}
	}()
	dialed, err := network.Dial(context.Background(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a := <-got
	if a.err != nil {
		t.Fatal(a.err)
	}
	return dialed, a.conn
}

func linkConfig(name string, dialed bool) exchange.LinkConfig {
	return exchange.LinkConfig{
		Self: exchange.Peer{Job: "job", Generation: 7, Name: name}, Dialed: dialed,
		Secret: []byte("secret"), Rand: rand.Reader, AfterFunc: afterFunc,
	}
}

// newLinks returns the two ends of a link over the given connection.
func newLinks(t testing.TB, a, b net.Conn, change func(*exchange.LinkConfig)) (producer, consumer *exchange.Link) {
	t.Helper()
	ca, cb := linkConfig("upstairs", true), linkConfig("downstairs", false)
	if change != nil {
		change(&ca)
		change(&cb)
	}
	failed := make(chan error, 1)
	go func() {
		var err error
		consumer, err = exchange.NewLink(b, cb)
		failed <- err
	}()
	producer, err := exchange.NewLink(a, ca)
	if err2 := <-failed; err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return producer, consumer
}

// wires connects producers with one consumer in some form.
type wires struct {
	to                 *exchange.Inbox
	src                *source
	producer, consumer *exchange.Link
	dialed, accepted   net.Conn
}

// newWires returns a consumer with the given number of channels, each 3 batches deep in every form.
func newWires(t *testing.T, f form, channels int, change func(*exchange.LinkConfig)) *wires {
	w := &wires{src: newSource(t)}
	w.to = exchange.NewInbox(exchange.Config{Name: "consumer", Channels: channels, Depth: 3, RemoteDepth: 3, Now: now, AfterFunc: afterFunc})
	if f.dial != nil {
		w.dialed, w.accepted = f.dial(t)
		w.producer, w.consumer = newLinks(t, w.dialed, w.accepted, change)
		t.Cleanup(func() {
			w.producer.Abort(nil)
			w.consumer.Abort(nil)
			<-w.producer.Done()
			<-w.consumer.Done()
			w.to.Close()
		})
	}
	t.Cleanup(func() { w.to.Close() })
	return w
}

// sender connects channel ch with a producer.
func (w *wires) sender(t *testing.T, ch int, from *exchange.Inbox) exchange.Sender {
	t.Helper()
	if w.producer == nil {
		return w.to.Sender(ch, from)
	}
	if err := w.consumer.Receive(exchange.ChannelID(100+ch), w.to, ch, codec{w.src}); err != nil {
		t.Fatal(err)
	}
	return w.producer.Sender(exchange.ChannelID(100+ch), codec{w.src}, from)
}

// await waits until a condition holds that another goroutine brings about.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for start := time.Now(); !cond(); {
		if time.Since(start) > 20*time.Second {
			buf := make([]byte, 1<<20)
			t.Fatalf("waited in vain for: %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// each runs a test on every form.
func each(t *testing.T, test func(t *testing.T, f form)) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

// blocked waits until the task waits for room.
func blocked(t *testing.T, in *exchange.Inbox) {
	t.Helper()
	_, before := in.Times()
	await(t, in.String()+" to be backpressured", func() bool {
		_, back := in.Times()
		return back > before
	})
}
