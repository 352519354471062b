package event_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weir-stream/weir/column"
	"github.com/weir-stream/weir/internal/clock"
	"github.com/weir-stream/weir/internal/event"
	"github.com/weir-stream/weir/internal/exchange"
	"github.com/weir-stream/weir/internal/netx"
	"github.com/weir-stream/weir/internal/operator"
	"github.com/weir-stream/weir/internal/task"
	"github.com/weir-stream/weir/types"
)

type sale struct {
	ID   int64
	Who  string
	Note types.Null[string]
}

var conv = func() *column.Conv[sale] {
	c, err := column.For[sale]()
	if err != nil {
		panic(err)
	}
	return c
}()

func saleOf(i int64) sale {
	s := sale{ID: i, Who: fmt.Sprintf("who-%d", i%97)}
	if i%3 == 0 {
		s.Note = types.Some("third")
	}
	return s
}

// hashOf stands for the hash of a key: any function with high bits that spread will do.
func hashOf(id int64) uint64 { return uint64(id) * 0x9E3779B97F4A7C15 }

func hash(b event.Batch) {
	c := b.(*event.Columns).B
	ids := column.Values[int64](c.Vector(0))
	c.Hashes = c.Hashes[:0]
	for _, id := range ids {
		c.Hashes = append(c.Hashes, hashOf(id))
	}
}

func newInbox(t *testing.T, name string, channels int) *exchange.Inbox {
	in := exchange.NewInbox(exchange.Config{Name: name, Channels: channels, Now: func() int64 { return time.Now().UnixNano() },
		AfterFunc: func(d time.Duration, f func()) exchange.Timer { return time.AfterFunc(d, f) }})
	t.Cleanup(func() { _ = in.Close() })
	return in
}

// drain reads an inbox to the end of its one channel.
func drain(t *testing.T, in *exchange.Inbox) (rows []sale, marks []int64) {
	for {
		item, ok, err := in.Poll()
		if err != nil {
			t.Error(err)
			return rows, marks
		}
		if !ok {
			if err := in.Wait(exchange.Never); err != nil {
				t.Error(err)
				return rows, marks
			}
			continue
		}
		switch item.Event.Kind {
		case event.KindBatch:
			c := item.Event.Batch.(*event.Columns)
			rows = conv.Rows(c.B, rows)
			c.Release()
		case event.KindWatermark:
			marks = append(marks, item.Event.Time)
		case event.KindEnd:
			return rows, marks
		}
	}
}

// links returns the two ends of a link over a socket.
func links(t *testing.T) (a, b *exchange.Link) {
	listener, err := netx.Real{}.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	config := func(name string, dialed bool) exchange.LinkConfig {
		return exchange.LinkConfig{Self: exchange.Peer{Job: "job", Generation: 1, Name: name}, Dialed: dialed, Secret: []byte("secret"), Rand: rand.Reader,
			AfterFunc: func(d time.Duration, f func()) exchange.Timer { return time.AfterFunc(d, f) }}
	}
	var both sync.WaitGroup
	both.Go(func() {
		conn, err := listener.Accept()
		if err == nil {
			b, err = exchange.NewLink(conn, config("b", false))
		}
		if err != nil {
			t.Error(err)
		}
	})
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err == nil {
		a, err = exchange.NewLink(conn, config("a", true))
	}
	both.Wait()
	if err != nil || t.Failed() {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Abort(nil)
		b.Abort(nil)
		<-a.Done()
		<-b.Done()
	})
	return a, b
}

// Columns go the same ways as typed rows: over every partition, in this process and over a socket.
func TestColumnsThroughTheExchange(t *testing.T) {
	const n = 5000
	for _, form := range []string{"local", "tcp"} {
		for _, part := range []exchange.Partition{exchange.Keyed(), exchange.Broadcast(), exchange.Rebalance(0)} {
			t.Run(form+"/"+part.String(), func(t *testing.T) {
				pool := event.NewColumnPool(conv.Schema(), 64)
				from := newInbox(t, "producer", 0)
				to := []*exchange.Inbox{newInbox(t, "first", 1), newInbox(t, "second", 1)}
				var senders []exchange.Sender
				if form == "local" {
					senders = []exchange.Sender{to[0].Sender(0, from), to[1].Sender(0, from)}
				} else {
					a, b := links(t)
					for i, in := range to {
						if err := b.Receive(exchange.ChannelID(i), in, 0, event.ColumnsCodec(pool)); err != nil {
							t.Fatal(err)
						}
						senders = append(senders, a.Sender(exchange.ChannelID(i), event.ColumnsCodec(pool), from))
					}
				}
				got := make([][]sale, 2)
				var both sync.WaitGroup
				for i, in := range to {
					both.Go(func() { got[i], _ = drain(t, in) })
				}
				out := exchange.NewOutput("edge", part, senders)
				for i := int64(0); i < n; {
					c := pool.Get()
					size := 1 + i%64
					for ; size > 0 && i < n; size-- {
						conv.Append(c.B, []sale{saleOf(i)})
						i++
					}
					if size := c.B.Rows(); size > 3 { // a row that is not live, and that comes again in a batch of its own
						c.B.Live = c.B.Scratch()
						for k := range size - 1 {
							c.B.Live = append(c.B.Live, int32(k))
						}
						i--
					}
					hash(c)
					if err := out.Emit(c); err != nil {
						t.Fatal(err)
					}
				}
				if err := out.Event(event.End()); err != nil {
					t.Fatal(err)
				}
				both.Wait()
				check(t, part.String(), got, n)
			})
		}
	}
}

func check(t *testing.T, part string, got [][]sale, n int64) {
	t.Helper()
	for i := range got {
		for _, s := range got[i] {
			if s != saleOf(s.ID) {
				t.Fatalf("row %+v, want %+v", s, saleOf(s.ID))
			}
			if owner := int(((hashOf(s.ID)>>49+1)*2 - 1) >> 15); part == "keyed" && owner != i {
				t.Fatalf("row %d came to consumer %d, not to %d", s.ID, i, owner)
			}
		}
	}
	whole := [][]sale{slices.Concat(got...)}
	if part == "broadcast" {
		whole = got
	}
	for _, rows := range whole {
		slices.SortFunc(rows, func(a, b sale) int { return int(a.ID - b.ID) })
		if int64(len(rows)) != n || rows[0].ID != 0 || rows[n-1].ID != n-1 {
			t.Fatalf("%d rows came, want %d", len(rows), n)
		}
	}
}

// columnOp is an operator on columns.
type columnOp struct {
	out operator.Collector
	f   func(b *column.Batch)
}

func (o *columnOp) Open(_ *operator.Context, out operator.Collector) error { o.out = out; return nil }
func (o *columnOp) Process(_ int, b event.Batch) error {
	o.f(b.(*event.Columns).B)
	return o.out.Emit(b)
}
func (o *columnOp) Watermark(int64) error { return nil }
func (o *columnOp) Close() error          { return nil }

// Columns flow through a chain of operators that narrow the selection and change values in place, with a consumer at
// the chain's end and a second one behind its first operator, which gets copies.
func TestColumnsThroughATask(t *testing.T) {
	pool := event.NewColumnPool(conv.Schema(), 0)
	in, from := newInbox(t, "task", 1), newInbox(t, "producer", 0)
	evenTo, doubledTo := newInbox(t, "even", 1), newInbox(t, "doubled", 1)
	edge := func(to *exchange.Inbox) task.Output {
		return task.Output{To: exchange.NewOutput("edge", exchange.Forward(), []exchange.Sender{to.Sender(0, in)})}
	}
	even := &columnOp{f: func(b *column.Batch) {
		live := b.Scratch()
		for i, id := range column.Values[int64](b.Vector(0)) {
			if id%2 == 0 {
				live = append(live, int32(i))
			}
		}
		b.Live = live
	}}
	double := &columnOp{f: func(b *column.Batch) {
		ids := column.Values[int64](b.Vector(0))
		for i := range ids {
			ids[i] *= 2
		}
	}}
	run := task.New(task.Config{Job: "job", Vertex: "v", Parallelism: 1, Inbox: in, Gates: []int{0}, Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler),
		Ops: []task.Op{
			{Name: "even", Make: func() operator.Operator { return even }, Next: []task.Next{{To: 1}}, Outputs: []task.Output{edge(evenTo)}},
			{Name: "double", Make: func() operator.Operator { return double }, Outputs: []task.Output{edge(doubledTo)}},
		}})
	var all sync.WaitGroup
	all.Go(func() {
		if err := run.Run(); err != nil {
			t.Error(err)
		}
	})
	var evens, doubled []sale
	var marks []int64
	all.Go(func() { evens, _ = drain(t, evenTo) })
	all.Go(func() { doubled, marks = drain(t, doubledTo) })
	const n = 10_000
	to := in.Sender(0, from)
	for i := int64(0); i < n; {
		c := pool.Get()
		for ; c.Room() > 0 && i < n; i++ {
			conv.Append(c.B, []sale{saleOf(i)})
		}
		if err := to.Send(event.OfBatch(c)); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Send(event.End()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if len(evens) != n/2 || len(doubled) != n/2 {
		t.Fatalf("%d even rows and %d doubled ones, want %d", len(evens), len(doubled), n/2)
	}
	for i := range evens {
		want := saleOf(int64(2 * i))
		if evens[i] != want {
			t.Fatalf("row %d is %+v, want %+v", i, evens[i], want)
		}
		want.ID *= 2
		if doubled[i] != want {
			t.Fatalf("row %d is %+v, want %+v", i, doubled[i], want)
		}
	}
	if !slices.Equal(marks, []int64{event.MaxTime}) {
		t.Errorf("watermarks %v", marks)
	}
	if c := run.Counts(); c[0].RowsIn.Load() != n || c[0].RowsOut.Load() != n/2 || c[1].RowsIn.Load() != n/2 {
		t.Errorf("counted %d in, %d out, %d in", c[0].RowsIn.Load(), c[0].RowsOut.Load(), c[1].RowsIn.Load())
	}
}

// Rubbish instead of a batch is an error, wherever it begins.
func TestColumnsCodecRefusesRubbish(t *testing.T) {
	pool := event.NewColumnPool(conv.Schema(), 8)
	codec := event.ColumnsCodec(pool)
	c := pool.Get()
	conv.Append(c.B, []sale{saleOf(1), saleOf(2), saleOf(3)})
	wire, err := codec.Encode(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range wire {
		if _, err := codec.Decode(wire[:i]); err == nil {
			t.Errorf("%d of %d bytes are taken for a batch", i, len(wire))
		}
		bad := slices.Clone(wire)
		bad[i] ^= 0x80
		if b, err := codec.Decode(bad); err == nil {
			b.Release()
		}
	}
}
